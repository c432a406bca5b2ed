from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generation import duplicates
from generation.duplicates import linked_groups, nearest_earlier


def brute_force(hashes: npt.NDArray[np.uint64], max_bits: int) -> dict[int, tuple[int, int]]:
    values = [int(value) for value in hashes]
    found = {}
    for later, value in enumerate(values):
        n_bits, earlier = min(
            (((value ^ other).bit_count(), index) for index, other in enumerate(values[:later])),
            default=(65, 0),
        )
        if n_bits <= max_bits:
            found[later] = (earlier, n_bits)
    return found


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    values=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=12),
    flips=st.lists(st.tuples(st.integers(0, 11), st.sets(st.integers(0, 63), max_size=7)), max_size=25),
    max_bits=st.integers(0, 16),
)
def test_bands_find_what_comparing_all_pairs_finds(
    values: list[int], flips: list[tuple[int, set[int]]], max_bits: int
) -> None:
    near = [values[index % len(values)] ^ sum(1 << bit for bit in bits) for index, bits in flips]
    hashes = np.array(values + near, dtype=np.uint64)

    assert nearest_earlier(hashes, max_bits) == brute_force(hashes, max_bits)


def test_large_buckets_are_compared_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = np.random.default_rng(1).integers(0, 2**12, 200).astype(np.uint64)
    monkeypatch.setattr(duplicates, "_BLOCK", 7)

    assert nearest_earlier(hashes, 3) == brute_force(hashes, 3)


def test_no_hashes_have_no_near_ones() -> None:
    assert nearest_earlier(np.array([], dtype=np.uint64), 4) == {}


@pytest.mark.parametrize("max_bits", [-1, 17])
def test_a_number_of_bits_that_makes_no_sense_is_refused(max_bits: int) -> None:
    with pytest.raises(ValueError, match=f"max_bits: expected 0 to 16, got {max_bits}"):
        nearest_earlier(np.zeros(2, dtype=np.uint64), max_bits)


def test_links_in_a_chain_make_one_group() -> None:
    assert linked_groups({1: (0, 3), 2: (1, 4), 5: (4, 0), 6: (2, 1)}) == [[0, 1, 2, 6], [4, 5]]
