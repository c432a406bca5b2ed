from __future__ import annotations

import re

import numpy as np
import pytest

from data_manifests.errors import CuebenchError
from data_manifests.records import CueKind
from evaluation.pairs import pair_score


def scored(*cues: tuple[str, CueKind, bool]) -> tuple[list[str], list[CueKind], list[bool]]:
    sources, kinds, correct = zip(*cues, strict=True)
    return list(sources), list(kinds), list(correct)


def test_a_pair_counts_only_if_both_are_right() -> None:
    found = pair_score(
        *scored(
            ("a", "shape", True), ("a", "texture", True),
            ("b", "shape", True), ("b", "texture", False),
            ("c", "shape", False), ("c", "texture", True),
            ("d", "shape", False), ("d", "texture", False),
        )
    )  # fmt: skip
    assert (found.n_both, found.n_shape_only, found.n_texture_only, found.n_neither) == (1, 1, 1, 1)
    assert (found.value, found.expected) == (0.25, 0.25)


def test_every_texture_of_a_photograph_has_to_be_right() -> None:
    found = pair_score(
        *scored(("a", "texture", True), ("a", "shape", True), ("a", "texture", False), ("a", "texture", True))
    )
    assert (found.n_pairs, found.n_both, found.n_shape_only) == (1, 0, 1)


def test_photographs_of_one_kind_are_left_out_and_counted() -> None:
    found = pair_score(
        *scored(("a", "shape", True), ("a", "texture", True), ("b", "shape", False), ("c", "texture", True))
    )
    assert (found.n_pairs, found.n_unpaired, found.value) == (1, 2, 1)


def test_independent_answers_give_what_is_expected_and_equal_ones_more() -> None:
    rng = np.random.default_rng(2)
    sources = [str(number) for number in range(4000)]
    shape, texture = (rng.random((2, 4000)) < 0.6).tolist()
    kinds: list[CueKind] = ["shape" if number < 4000 else "texture" for number in range(8000)]
    apart = pair_score(sources * 2, kinds, shape + texture)
    assert apart.value == pytest.approx(apart.expected, abs=0.02)
    together = pair_score(sources * 2, kinds, shape + shape)
    assert together.value == np.mean(shape)
    assert together.expected == pytest.approx(together.value**2)


def test_the_counts_are_those_of_the_pairs() -> None:
    rng = np.random.default_rng(4)
    sources, kinds = (
        [str(n) for n in rng.integers(0, 40, 300)],
        rng.choice(["shape", "texture"], 300).tolist(),
    )
    found = pair_score(sources, kinds, (rng.random(300) < 0.8).tolist())
    assert found.n_both + found.n_shape_only + found.n_texture_only + found.n_neither == found.n_pairs
    assert found.n_pairs + found.n_unpaired == len(set(sources))


def test_cues_without_a_pair_are_refused() -> None:
    with pytest.raises(CuebenchError, match="none of the 2 photographs has both a shape and a texture cue"):
        pair_score(*scored(("a", "shape", True), ("b", "texture", True)))
    with pytest.raises(CuebenchError, match="none of the 0 photographs"):
        pair_score([], [], [])


def test_lists_of_different_lengths_are_refused() -> None:
    message = "expected as many sources, kinds and answers, got 2, 1 and 1"
    with pytest.raises(CuebenchError, match=re.escape(message)):
        pair_score(["a", "b"], ["shape"], [True])
