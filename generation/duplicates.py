"""Which hashes are the same, and which are nearly the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

HASH_BITS = 64
MAX_NEAR_BITS = 16
_BLOCK = 1024


def identical_groups(keys: Sequence[str]) -> list[list[int]]:
    """Return the indices of equal keys, for each key that occurs more than once, in order of the first.

    >>> identical_groups(["a", "b", "a", "c", "b"])
    [[0, 2], [1, 4]]
    """
    places: defaultdict[str, list[int]] = defaultdict(list)
    for index, key in enumerate(keys):
        places[key].append(index)
    return [group for group in places.values() if len(group) > 1]


def nearest_earlier(hashes: npt.NDArray[np.uint64], max_bits: int) -> dict[int, tuple[int, int]]:
    """Return index -> (nearest earlier index, number of differing bits) where those are at most `max_bits`.

    `hashes` is (N,) uint64. Of several equally near ones the earliest counts.

    Two hashes that differ in k bits agree in at least one of k + 1 bands of bits, so that only hashes that
    share a band are compared (Norouzi et al., 2012, "Fast search in Hamming space with multi-index hashing").

    Raises
    ------
    ValueError
        If `max_bits` lies outside of 0 to 16.

    Examples
    --------
    >>> nearest_earlier(np.array([0, 1 << 40, 0b111, 0b011], dtype=np.uint64), max_bits=2)
    {1: (0, 1), 3: (2, 1)}
    """
    if not 0 <= max_bits <= MAX_NEAR_BITS:
        raise ValueError(f"max_bits: expected 0 to {MAX_NEAR_BITS}, got {max_bits}")
    n = len(hashes)
    # One number per index that sorts by bits, then by index; `n` bits stand for "none".
    best = np.full(n, (HASH_BITS + 1) * n, dtype=np.int64)
    for shift, mask in _bands(max_bits + 1):
        band = (hashes >> np.uint64(shift)) & np.uint64(mask)
        for bucket in _buckets(band):
            _improve(best, hashes, bucket)
    found = np.flatnonzero(best < (max_bits + 1) * n)
    return {int(index): (int(best[index] % n), int(best[index] // n)) for index in found}


def _bands(n_bands: int) -> Iterator[tuple[int, int]]:
    """Yield the shift and mask of bands that part 64 bits evenly."""
    edges = [HASH_BITS * band // n_bands for band in range(n_bands + 1)]
    for low, high in pairwise(edges):
        yield low, (1 << (high - low)) - 1


def _buckets(band: npt.NDArray[np.uint64]) -> Iterator[npt.NDArray[np.intp]]:
    """Yield the indices that share a value, ascending."""
    order = np.argsort(band, kind="stable")
    edges = [0, *(np.flatnonzero(np.diff(band[order])) + 1), len(order)]
    for start, end in pairwise(edges):
        if end - start > 1:
            yield order[start:end]


def _improve(
    best: npt.NDArray[np.int64], hashes: npt.NDArray[np.uint64], bucket: npt.NDArray[np.intp]
) -> None:
    """Lower `best` to the nearest earlier hash in the bucket."""
    values = hashes[bucket]
    for start in range(0, len(bucket), _BLOCK):
        rows = slice(start, start + _BLOCK)
        later = bucket[rows]
        earlier = bucket[: start + len(later)]
        bits = np.bitwise_count(values[rows, None] ^ values[None, : len(earlier)])
        bits[later[:, None] <= earlier[None, :]] = HASH_BITS + 1
        nearest = bits.argmin(axis=1)
        n_bits = bits[np.arange(len(later)), nearest].astype(np.int64)
        best[later] = np.minimum(best[later], n_bits * len(best) + earlier[nearest])


def linked_groups(earlier: Mapping[int, tuple[int, int]]) -> list[list[int]]:
    """Return the groups that the links of `nearest_earlier` make, in order of their first index.

    >>> linked_groups({2: (0, 1), 3: (2, 4)})
    [[0, 2, 3]]
    """
    groups: defaultdict[int, list[int]] = defaultdict(list)
    root: dict[int, int] = {}
    for index in sorted(earlier):
        target = earlier[index][0]
        root[index] = root.get(target, target)
        groups[root[index]].append(index)
    return [[first, *groups[first]] for first in sorted(groups)]
