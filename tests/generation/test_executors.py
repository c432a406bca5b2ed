from __future__ import annotations

import os
import signal

import pytest

from data_manifests.errors import CuebenchError
from generation.executors import Executor, WorkerDied, _interrupts_held, executor_for


def square_unless_seven(number: int) -> int:
    if number == 7:
        os._exit(9)
    return number * number


def fail_on_three(number: int) -> int:
    if number == 3:
        raise ValueError("three")
    return number


@pytest.mark.parametrize("executor", [executor_for("serial", 1), executor_for("process", 2)])
def test_every_piece_is_yielded_once(executor: Executor) -> None:
    items = list(range(6))
    assert dict(executor.run(square_unless_seven, items)) == {n: n * n for n in items}


def test_a_piece_that_kills_its_worker_costs_no_other_piece() -> None:
    results = dict(executor_for("process", 2).run(square_unless_seven, list(range(12))))
    assert {n for n, result in results.items() if isinstance(result, WorkerDied)} == {7}
    assert {n: result for n, result in results.items() if n != 7} == {n: n * n for n in range(12) if n != 7}


@pytest.mark.parametrize("executor", [executor_for("serial", 1), executor_for("process", 1)])
def test_an_exception_reaches_the_caller(executor: Executor) -> None:
    with pytest.raises(ValueError, match="three"):
        list(executor.run(fail_on_three, [1, 2, 3, 4]))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_system_without_threads_left_is_told_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("multiprocessing.queues.Queue._start_thread", refuse)
    with pytest.raises(CuebenchError, match="use fewer --workers, or --engine serial"):
        list(executor_for("process", 1).run(fail_on_three, [1, 2]))


def start_while_interrupted(started: list[str]) -> None:
    with _interrupts_held():
        # What Python does once any thread has taken the signal, also one that does not hold it back.
        handler = signal.getsignal(signal.SIGINT)
        assert callable(handler)
        handler(signal.SIGINT, None)
        started.append("whole")


def test_ctrl_c_waits_until_a_process_is_started() -> None:
    started: list[str] = []
    # In the background, where shells start children deaf to Ctrl-C, Python leaves it so.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            start_while_interrupted(started)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert started == ["whole"]
