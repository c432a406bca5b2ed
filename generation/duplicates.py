"""Which hashes are the same, and which are nearly the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

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


def near_links(hashes: npt.NDArray[np.uint64], max_bits: int) -> list[tuple[int, int, int]]:
    """Return links (earlier index, later index, number of differing bits) between near hashes, sorted.

    Any two different hashes that differ in at most `max_bits` bits (0 to 16) are linked through the first
    index of each; an index that repeats an earlier hash is linked to its first. So the groups are complete, and
    every index that has a near one before it is the later one of some link.

    Two hashes that differ in k bits agree in at least one of k + 1 bands of bits, so that only hashes that
    share a band are compared.

    Raises
    ------
    ValueError
        If `max_bits` lies outside of 0 to 16.
    """
    if not 0 <= max_bits <= MAX_NEAR_BITS:
        raise ValueError(f"max_bits: expected 0 to {MAX_NEAR_BITS}, got {max_bits}")
    distinct, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    owner = first[inverse]
    repeats = np.flatnonzero(owner != np.arange(len(hashes)))
    links = {(int(owner[index]), int(index), 0) for index in repeats}
    for shift, mask in _bands(max_bits + 1):
        band = (distinct >> np.uint64(shift)) & np.uint64(mask)
        for bucket in _buckets(band):
            links.update(_links_within(distinct, first, bucket, max_bits))
    return sorted(links)


def _bands(n_bands: int) -> Iterator[tuple[int, int]]:
    """Yield the shift and mask of bands that part 64 bits evenly."""
    edges = [HASH_BITS * band // n_bands for band in range(n_bands + 1)]
    for low, high in pairwise(edges):
        yield low, (1 << (high - low)) - 1


def _buckets(band: npt.NDArray[np.uint64]) -> Iterator[npt.NDArray[np.intp]]:
    order = np.argsort(band, kind="stable")
    ends = np.flatnonzero(np.diff(band[order])) + 1
    for bucket in np.split(order, ends):
        if len(bucket) > 1:
            yield bucket


def _links_within(
    distinct: npt.NDArray[np.uint64], first: npt.NDArray[np.intp], bucket: npt.NDArray[np.intp], max_bits: int
) -> Iterator[tuple[int, int, int]]:
    values = distinct[bucket]
    for start in range(0, len(bucket), _BLOCK):
        bits = np.bitwise_count(values[start : start + _BLOCK, None] ^ values[None, start:])
        for row, column in zip(*np.nonzero(bits <= max_bits), strict=True):
            if row < column:
                one, other = int(first[bucket[start + row]]), int(first[bucket[start + column]])
                yield min(one, other), max(one, other), int(bits[row, column])


def linked_groups(links: Sequence[tuple[int, int, int]], n: int) -> list[list[int]]:
    """Return the groups of indices (below `n`) that links connect, in order of their first index.

    >>> linked_groups([(0, 2, 1), (2, 3, 4)], n=5)
    [[0, 2, 3]]
    """
    if not links:
        return []
    one, other, _ = zip(*links, strict=True)
    graph = coo_array((np.ones(len(links)), (one, other)), shape=(n, n))
    _, labels = connected_components(graph, directed=False)
    return identical_groups([str(label) for label in labels])
