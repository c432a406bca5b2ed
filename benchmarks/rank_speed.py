"""Time of ranks beside sorting every row and searching the answer in it, and memory for a million rows from disk.

Run: python -m benchmarks.rank_speed
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from data_manifests.labels import imagenet_labels
from data_manifests.taxonomy import read_taxonomy
from evaluation.ranks import rank_rows

N_ROWS, N_LABELS = 6_000, 1_000
N_MANY = 1_000_000

Rows = npt.NDArray[np.float32]
Members = Mapping[str, Sequence[int]]


def paper_members() -> Members:
    """Return the columns of the ten shape classes of the paper."""
    place = {wnid: column for column, wnid in enumerate(imagenet_labels())}
    taxonomy = read_taxonomy("refined-bias-20")
    return {name: [place[wnid] for wnid in wnids] for name, wnids in taxonomy.shape.items()}


def sorted_and_searched(logits: Rows, superclass: Sequence[str], members: Members) -> list[int]:
    """Return the ranks as the published evaluation finds them: sort, name every label, look for the first that fits."""
    name_of = {column: name for name, columns in members.items() for column in columns}
    ranks = []
    for row, answer in zip(logits, superclass, strict=True):
        order = np.flip(np.argsort(row))
        names = [name_of.get(int(column), str(column)) for column in order]
        ranks.append(names.index(answer) + 1)
    return ranks


def seconds(work: Callable[[], object], n_repeats: int) -> float:
    """Return the CPU time of the fastest of a few calls, in s."""
    times = []
    for _ in range(n_repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def print_speed() -> None:
    """Print both times for as many rows as the published set has."""
    members = paper_members()
    logits = np.random.default_rng(0).normal(size=(N_ROWS, N_LABELS)).astype(np.float32)
    names = [sorted(members)[row % len(members)] for row in range(N_ROWS)]
    same = rank_rows(logits, names, members).pessimistic.tolist() == sorted_and_searched(
        logits, names, members
    )
    ours = seconds(lambda: rank_rows(logits, names, members), 5)
    theirs = seconds(lambda: sorted_and_searched(logits, names, members), 2)
    print(
        f"{N_ROWS} x {N_LABELS}: ranks {ours:.3f} s, sort and search {theirs:.2f} s, ratio {theirs / ours:.0f}, "
        f"same {same}"
    )


def rank_from_disk(path: str) -> None:
    """Rank a million rows of a file that is mapped into memory, and print time and peak memory."""
    members = paper_members()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    logits = np.memmap(path, np.float32, "r", shape=(N_MANY, N_LABELS))
    names = np.resize(sorted(members), N_MANY).tolist()
    start = time.perf_counter()
    ranks = rank_rows(logits, names, members)
    elapsed = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{N_MANY} x {N_LABELS} ({N_MANY * N_LABELS * 4 / 1e9:.0f} GB) from disk: {elapsed:.1f} s, peak memory "
        f"{peak / 1e6:.2f} GB ({before / 1e6:.2f} GB before), all tied {bool((ranks.ties > 0).all())}"
    )


def main() -> None:
    """Print speed; then, in a process of its own, memory."""
    if len(sys.argv) == 2:
        rank_from_disk(sys.argv[1])
        return
    print_speed()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "logits.f32"
        with path.open("wb") as stream:  # a sparse file of zeros: no disk is used
            stream.truncate(N_MANY * N_LABELS * 4)
        subprocess.run([sys.executable, "-m", "benchmarks.rank_speed", str(path)], check=True)  # noqa: S603


if __name__ == "__main__":
    main()
