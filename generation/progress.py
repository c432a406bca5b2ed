"""The bar that a verb shows while it works through files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(verb: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function that shows how many of all files are done, with rate and time left, on stderr."""
    from tqdm import tqdm

    with tqdm(desc=verb, unit=unit, dynamic_ncols=True, disable=sys.stderr is None) as bar:

        def show(n_done: int, n_all: int) -> None:
            bar.total = n_all
            bar.update(n_done - bar.n)

        yield show
