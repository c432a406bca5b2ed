from __future__ import annotations

import os
import signal
from threading import Event, Thread

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


def test_ctrl_c_that_another_thread_takes_waits_for_the_start_of_a_process() -> None:
    begun, over, started = Event(), Event(), False
    other = Thread(target=lambda: (begun.set(), over.wait()))
    other.start()
    begun.wait()
    try:
        with pytest.raises(KeyboardInterrupt), _interrupts_held():
            # The other thread does not hold the signal back, so it is the one that takes it.
            os.kill(os.getpid(), signal.SIGINT)
            started = sum(range(100_000)) > 0
    finally:
        over.set()
        other.join()
    assert started
