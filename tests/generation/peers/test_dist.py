from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import wasserstein_distance

from data_manifests.errors import CuebenchError
from generation.peers.dist import DisruptionParams, disrupt_structure, lay_patch, odd_one_out_trial
from generation.quilting import overlap_px
from tests.generation.photographs import draw_photograph

Pixels = npt.NDArray[np.uint8]
PERMUTE = DisruptionParams("permute", 8)


def two_halves(side_px: int = 224) -> Pixels:
    """Return dark speckles above bright ones: a texture each, and a global structure."""
    noise = np.random.default_rng(4).integers(0, 90, (side_px, side_px, 3))
    noise[side_px // 2 :] += 150
    return noise.astype(np.uint8)


def test_a_permutation_keeps_every_pixel_and_moves_every_tile() -> None:
    image = draw_photograph(2, 96)
    moved = disrupt_structure(image, PERMUTE, 1)
    np.testing.assert_array_equal(np.sort(moved.reshape(-1, 3), 0), np.sort(image.reshape(-1, 3), 0))
    numbers = np.kron(np.arange(64, dtype=np.uint8).reshape(8, 8), np.ones((4, 4), np.uint8))
    coloured = np.repeat(numbers[..., None], 3, 2)
    assert (disrupt_structure(coloured, PERMUTE, 1) != coloured).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_quilt_keeps_the_levels_and_loses_the_structure(seed: int) -> None:
    image = two_halves()
    quilt = disrupt_structure(image, DisruptionParams("quilt", 8), seed)
    assert quilt.shape == image.shape
    assert wasserstein_distance(quilt.ravel(), image.ravel()) < 5
    lightness = quilt.mean(2)
    assert abs(lightness[:112].mean() - lightness[112:].mean()) < 50  # 150 in the picture


def test_the_middle_of_every_tile_of_a_quilt_is_that_of_its_tile() -> None:
    image, tile_px = draw_photograph(4, 96), 12
    overlap = overlap_px(tile_px)
    quilt = disrupt_structure(image, DisruptionParams("quilt", 8), 6)
    hard = disrupt_structure(image, PERMUTE, 6)
    own = np.arange(96) % tile_px < tile_px - overlap
    np.testing.assert_array_equal(quilt[own][:, own], hard[own][:, own])
    assert (quilt != hard).any()


def test_a_patch_begins_where_it_agrees_with_what_is_laid() -> None:
    patch = np.full((8, 8, 3), 9, np.uint8)
    patch[:, 2], patch[1, :] = 0, 0
    for cut_left, cut_top in ((True, False), (False, True), (True, True), (False, False)):
        laid = np.zeros((8, 8, 3), np.uint8)
        lay_patch(patch, laid, 4, cut_left=cut_left, cut_top=cut_top)
        expected = patch.copy()
        expected[:, : 2 if cut_left else 0] = 0
        expected[: 1 if cut_top else 0] = 0
        np.testing.assert_array_equal(laid, expected)


def test_a_plain_picture_stays_plain() -> None:
    plain = np.full((64, 64, 3), 91, np.uint8)
    np.testing.assert_array_equal(disrupt_structure(plain, DisruptionParams(), 3), plain)


def test_of_three_pictures_the_odd_one_is_the_photograph() -> None:
    image = draw_photograph(3, 64)
    places = set()
    for seed in range(12):
        trial = odd_one_out_trial(image, PERMUTE, seed)
        same = [(picture == image).all() for picture in trial.images]
        assert same == [index == trial.odd for index in range(3)]
        first, second = (trial.images[index] for index in range(3) if index != trial.odd)
        assert (first != second).any()
        places.add(trial.odd)
    assert places == {0, 1, 2}


def test_the_same_seed_gives_the_same_bytes() -> None:
    image = draw_photograph(3, 224)
    first, again = (disrupt_structure(image, DisruptionParams(), 9) for _ in range(2))
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DisruptionParams("melt"), "method: expected quilt or permute, got melt"),  # type: ignore[arg-type]
        (lambda: DisruptionParams("quilt", 1), "grid: expected at least 2 tiles a side, got 1"),
        (
            lambda: disrupt_structure(np.zeros((60, 64, 3), np.uint8), PERMUTE, 0),
            "expected a square whose side is a multiple of 8 and at least 32 px, got 64 x 60",
        ),
        (
            lambda: disrupt_structure(np.zeros((60, 60, 3), np.uint8), PERMUTE, 0),
            "expected a square whose side is a multiple of 8 and at least 32 px, got 60 x 60",
        ),
    ],
)
def test_unfit_arguments_are_refused(make: type[DisruptionParams], message: str) -> None:
    with pytest.raises(CuebenchError, match=re.escape(message)):
        make()
