"""Engines that run a pure function over independent pieces of work."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Literal, Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

EngineName = Literal["serial", "process"]


class WorkerDied:
    """Stands where a result would be: the process that worked on the piece was killed or crashed."""


class Executor(Protocol):
    """Runs a picklable function over pieces of work and yields each piece with its result as it comes."""

    def run(
        self, function: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[tuple[Item, Result | WorkerDied]]:
        """Yield every piece once, in any order. An exception of `function` is raised."""
        ...


class SerialExecutor:
    """One piece after the other in this process."""

    def run(
        self, function: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[tuple[Item, Result | WorkerDied]]:
        """Yield every piece with its result, in order."""
        for item in items:
            yield item, function(item)


class ProcessExecutor:
    """Worker processes, started fresh (`spawn`: ONNX sessions and OpenCV do not survive a fork)."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers

    def run(
        self, function: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[tuple[Item, Result | WorkerDied]]:
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
                    running[pool.submit(function, waiting[-1])] = waiting[-1]
                    waiting.pop()
                done, _ = wait(running, return_when=FIRST_COMPLETED)
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


def _start_worker() -> None:
    # Ctrl-C is the parent's to handle: it ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def executor_for(engine: EngineName, n_workers: int) -> Executor:
    """Return the executor of an engine."""
    return SerialExecutor() if engine == "serial" else ProcessExecutor(n_workers)
