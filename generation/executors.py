"""Engines that run a pure function over independent pieces of work."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from threading import Thread, current_thread, main_thread
from typing import Literal, Protocol, TypeVar

from data_manifests.errors import CuebenchError

Item = TypeVar("Item")
Result = TypeVar("Result")

# How long to wait before looking whether the pool is alive.
_PATIENCE_S = 2.0

EngineName = Literal["serial", "process"]


class WorkerDied:
    """Stands where a result would be: the process that worked on the piece was killed or crashed."""


class Executor(Protocol):
    """Runs a picklable function over pieces of work and yields each piece with its result as it comes."""

    def run(
        self, function: Callable[[Item], Result], items: Sequence[Item]
    ) -> Generator[tuple[Item, Result | WorkerDied], None, None]:
        """Yield every piece once, in any order. An exception of `function` is raised.

        Closing the generator ends the work that is under way.
        """
        ...


class SerialExecutor:
    """One piece after the other in this process."""

    def run(
        self, function: Callable[[Item], Result], items: Sequence[Item]
    ) -> Generator[tuple[Item, Result | WorkerDied], None, None]:
        """Yield every piece with its result, in order."""
        for item in items:
            yield item, function(item)


class ProcessExecutor:
    """Worker processes, started fresh (`spawn`: ONNX sessions and OpenCV do not survive a fork)."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers

    def run(
        self, function: Callable[[Item], Result], items: Sequence[Item]
    ) -> Generator[tuple[Item, Result | WorkerDied], None, None]:
        """Yield every piece with its result; a piece that kills its worker is yielded as `WorkerDied`."""
        waiting = list(items)
        while waiting:
            suspects, waiting = yield from self._run_pool(function, waiting, self.n_workers)
            # A dead worker takes its whole pool along, and nothing tells which of the pieces at work killed
            # it: each of them runs again in a process of its own, so that only the culprit is given up.
            for item in suspects:
                lost, _ = yield from self._run_pool(function, [item], 1)
                if lost:
                    yield item, WorkerDied()

    @staticmethod
    def _run_pool(
        function: Callable[[Item], Result], items: Sequence[Item], n_workers: int
    ) -> Generator[tuple[Item, Result | WorkerDied], None, tuple[list[Item], list[Item]]]:
        """Yield finished pieces; return those at work when a worker died, and those not yet begun."""
        pool = ProcessPoolExecutor(
            n_workers, mp_context=multiprocessing.get_context("spawn"), initializer=_start_worker
        )
        waiting = list(reversed(items))
        running: dict[Future[Result], Item] = {}
        try:
            while waiting or running:
                # Few pieces are handed out at a time, so that few are suspects when a worker dies.
                while waiting and len(running) < n_workers + 1:
                    with _interrupts_held():
                        running[pool.submit(function, waiting[-1])] = waiting[-1]
                    waiting.pop()
                done = _wait_for_one(pool, running)
                for future in done:
                    result = future.result()
                    yield running.pop(future), result
        except BrokenProcessPool:
            return list(running.values()), waiting[::-1]
        except BaseException:
            for process in list(pool._processes.values()):
                process.terminate()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        return [], []


def _wait_for_one(pool: ProcessPoolExecutor, running: Collection[Future[Result]]) -> set[Future[Result]]:
    """Return the futures that are done, once there is one.

    Raises
    ------
    CuebenchError
        If the thread that serves the pool died, as it does where the system allows no other thread: its
        futures would never be done.
    """
    while True:
        manager: object = pool._executor_manager_thread
        done, _ = wait(running, timeout=_PATIENCE_S, return_when=FIRST_COMPLETED)
        if done:
            return done
        if isinstance(manager, Thread) and not manager.is_alive():
            raise CuebenchError(
                "the worker processes can't be served: no memory or threads left (see `ulimit -a`); "
                "use fewer --workers, or --engine serial"
            )


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back for a moment; processes that are started in it never get it.

    Ctrl-C is the parent's to handle: it ends its workers. One that is still importing would print a traceback,
    and so would one whose start was cut short: another thread may take the signal that this one holds back.
    """
    if not hasattr(signal, "pthread_sigmask") or current_thread() is not main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    held: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if held:
        signal.raise_signal(signal.SIGINT)


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # A parent that was killed can't end its workers, which would wait for work for ever.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def executor_for(engine: EngineName, n_workers: int) -> Executor:
    """Return the executor of an engine."""
    return SerialExecutor() if engine == "serial" else ProcessExecutor(n_workers)
