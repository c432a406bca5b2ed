from __future__ import annotations

import re
from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest
from scipy.spatial.distance import cdist

from data_manifests.errors import CuebenchError
from evaluation.triplets import (
    MEASURES,
    Measure,
    build_triplets,
    draw_equal,
    odd_one_out,
    shape_matches,
    similarity,
)

Features = npt.NDArray[np.float64]
ONE = np.array([[0, 1, 2]])


def random_features(*shape: int) -> Features:
    return np.random.default_rng(3).normal(size=shape)


@pytest.mark.parametrize(
    ("measure", "n_shape"),
    [("cosine", 1), ("dot", 0), ("euclidean", 1)],
)
def test_a_triplet_by_hand(measure: Measure, n_shape: int) -> None:
    # The shape match points almost where the anchor does; the texture match is far away, but long.
    features = np.array([[1.0, 0.0], [0.9, 0.1], [3.0, 4.0]])
    found = shape_matches(features, ONE, measure)
    assert (found.n_shape, found.n_texture, found.n_ties) == (n_shape, 1 - n_shape, 0)
    assert found.value == n_shape


@pytest.mark.parametrize(("measure", "metric"), [("cosine", "cosine"), ("euclidean", "euclidean")])
def test_similarities_are_the_distances_of_scipy(measure: Measure, metric: str) -> None:
    a, b = random_features(2, 30, 8)
    distances = np.diag(cdist(a, b, metric))
    expected = 1 - distances if measure == "cosine" else -distances
    np.testing.assert_allclose(similarity(a, b, measure), expected)


def test_a_model_of_shape_alone_and_one_of_texture_alone() -> None:
    shapes, textures = zip(*[(s, t) for s in "abcd" for t in "uvwx"], strict=True)
    triplets = build_triplets(shapes, textures)
    by_shape = np.array([[shape == s for s in "abcd"] for shape in shapes], float)
    by_texture = np.array([[texture == t for t in "uvwx"] for texture in textures], float)
    for measure in MEASURES:
        assert shape_matches(by_shape, triplets, measure).value == 1
        assert shape_matches(by_texture, triplets, measure).value == 0


def test_noise_is_even_and_ties_count_for_neither() -> None:
    shapes, textures = zip(*[(s, t) for s in range(12) for t in range(12)], strict=True)
    triplets = build_triplets([str(s) for s in shapes], [str(t) for t in textures])
    value = shape_matches(random_features(144, 16), triplets).value
    assert value == pytest.approx(0.5, abs=0.06)
    tied = shape_matches(np.ones((3, 4)), ONE)
    assert (tied.n, tied.n_ties, tied.value) == (1, 1, None)


def test_triplets_are_all_pairs_of_a_shape_match_and_a_texture_match() -> None:
    shapes = ["cat1", "cat1", "cat1", "dog2", "dog2"]
    textures = ["oven1", "boat2", "oven1", "oven1", "boat2"]
    expected = {
        (a, s, t)
        for a in range(5)
        for s in range(5)
        for t in range(5)
        if shapes[s] == shapes[a] and textures[s] != textures[a]
        if textures[t] == textures[a] and shapes[t] != shapes[a]
    }
    triplets = build_triplets(shapes, textures)
    assert {tuple(row) for row in triplets.tolist()} == expected
    assert len(triplets) == len(expected)


def test_every_anchor_keeps_as_many_triplets() -> None:
    triplets = np.array([[0, 1, k] for k in range(9)] + [[1, 0, k] for k in range(4)])
    drawn = draw_equal(triplets, 1)
    assert Counter(drawn[:, 0].tolist()) == {0: 4, 1: 4}
    assert len({tuple(row) for row in drawn.tolist()}) == 8
    np.testing.assert_array_equal(drawn, draw_equal(triplets, 1))
    assert any((draw_equal(triplets, seed) != drawn).any() for seed in range(2, 5))


def test_the_odd_one_is_left_over_by_the_nearest_pair() -> None:
    near, also_near, far = [1.0, 0.0], [0.9, 0.2], [0.0, 1.0]
    trials = np.array([[far, near, also_near], [near, far, also_near], [near, also_near, far]])
    for measure in MEASURES:
        assert odd_one_out(trials, [0, 1, 2], measure).accuracy == 1
        assert odd_one_out(trials, [1, 2, 0], measure).accuracy == 0


def test_a_tie_is_lost_and_counted() -> None:
    found = odd_one_out(np.ones((2, 3, 4)), [0, 1])
    assert (found.n, found.n_ties, found.accuracy) == (2, 2, 0)


def test_guessing_finds_one_in_three() -> None:
    odd = np.random.default_rng(1).integers(0, 3, 3000).tolist()
    assert odd_one_out(random_features(3000, 3, 6), odd).accuracy == pytest.approx(1 / 3, abs=0.03)


def test_half_precision_does_not_overflow() -> None:
    features = np.array([[300.0, 0], [300, 1], [0, 300]], np.float16)
    assert shape_matches(features, ONE, "dot").n_shape == 1


@pytest.mark.parametrize(
    ("features", "triplets", "message"),
    [
        (np.ones((3, 2)), np.zeros((0, 3), int), "triplets: expected (T, 3) with T > 0, got (0, 3)"),
        (np.ones((3, 2)), np.zeros((2, 2), int), "triplets: expected (T, 3) with T > 0, got (2, 2)"),
        (np.ones((2, 2)), ONE, "triplets: expected rows 0 to 1 of the features, got 0 to 2"),
        (np.ones((3, 2)), -ONE, "triplets: expected rows 0 to 2 of the features, got -2 to 0"),
        (np.array([[1.0], [np.nan], [1.0]]), ONE, "features: a value is not finite"),
        (np.array([[1.0], [0.0], [1.0]]), ONE, "features: row 0 is zero, which has no cosine"),
    ],
)
def test_unfit_triplets_and_features_are_refused(
    features: Features, triplets: npt.NDArray[np.int64], message: str
) -> None:
    with pytest.raises(CuebenchError, match=re.escape(message)):
        shape_matches(features, triplets)


def test_images_that_give_no_triplet_are_refused() -> None:
    with pytest.raises(
        CuebenchError, match="none of the 2 images has both a shape match and a texture match"
    ):
        build_triplets(["a", "a"], ["u", "v"])
    with pytest.raises(CuebenchError, match="textures: expected one for each of the 2 shapes, got 1"):
        build_triplets(["a", "a"], ["u"])


@pytest.mark.parametrize(
    ("features", "odd", "message"),
    [
        (np.ones((2, 3, 4)), [0], "features: expected (T, 3, D) for 1 trials (T > 0), got (2, 3, 4)"),
        (np.ones((0, 3, 4)), [], "features: expected (T, 3, D) for 0 trials (T > 0), got (0, 3, 4)"),
        (np.ones((1, 2, 4)), [0], "features: expected (T, 3, D) for 1 trials (T > 0), got (1, 2, 4)"),
        (np.ones((1, 3, 4)), [3], "odd: expected 0, 1 or 2, got 3 to 3"),
    ],
)
def test_unfit_trials_are_refused(features: Features, odd: list[int], message: str) -> None:
    with pytest.raises(CuebenchError, match=re.escape(message)):
        odd_one_out(features, odd)
