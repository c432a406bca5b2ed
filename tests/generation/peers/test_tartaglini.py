from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pytest

from data_manifests.errors import CuebenchError
from generation.peers.tartaglini import PUBLISHED, SilhouetteParams, crop_texture, fill_silhouette
from generation.quilting import Random

Pixels = npt.NDArray[np.uint8]
GREY = np.full((30, 30, 3), 90, np.uint8)


def disk(side_px: int = 60) -> npt.NDArray[np.bool_]:
    y, x = np.mgrid[:side_px, :side_px] - (side_px - 1) / 2
    return np.asarray(np.hypot(y, x) < 0.4 * side_px, np.bool_)


def noise(height: int, width: int) -> Pixels:
    return np.random.default_rng(8).integers(0, 256, (height, width, 3), np.uint8)


def test_the_texture_fills_the_silhouette_and_nothing_else() -> None:
    filled = fill_silhouette(disk(), GREY, SilhouetteParams(), 0)
    assert (filled[disk()] == 90).all()
    assert (filled[~disk()] == 255).all()


def test_half_a_pixel_is_half_texture() -> None:
    coverage = np.zeros((4, 4), np.float32)
    coverage[1, 2] = 0.2
    filled = fill_silhouette(coverage, GREY, SilhouetteParams(), 0)
    assert filled[1, 2].tolist() == [222, 222, 222]  # .2 * 90 + .8 * 255
    assert (np.delete(filled.reshape(16, 3), 6, 0) == 255).all()


@pytest.mark.parametrize(
    ("size_share", "small_px"), [(0.2, 45), (0.4, 90), (0.6, 134), (0.8, 179), (1.0, 224)]
)
def test_the_published_sizes_lie_in_the_middle(size_share: float, small_px: int) -> None:
    everything = np.ones((224, 224), bool)
    filled = fill_silhouette(everything, GREY, SilhouetteParams(size_share), 0)
    start = (224 - small_px) // 2
    expected = np.full((224, 224, 3), 255, np.uint8)
    expected[start : start + small_px, start : start + small_px] = 90
    np.testing.assert_array_equal(filled, expected)


def test_a_random_place_keeps_the_whole_silhouette_and_differs_with_the_seed() -> None:
    params = SilhouetteParams(0.4, "random")
    places = set()
    for seed in range(12):
        dark = fill_silhouette(np.ones((50, 50), bool), GREY, params, seed)[..., 0] == 90
        assert dark.sum() == 20 * 20
        places.add(tuple(np.argwhere(dark)[0].tolist()))
    assert len(places) > 8


def test_the_background_shows_by_its_opacity() -> None:
    background = np.full((60, 60, 3), 55, np.uint8)
    for opacity, level in ((0.0, 255), (0.25, 205), (1.0, 55)):
        filled = fill_silhouette(disk(), GREY, SilhouetteParams(opacity=opacity), 0, background)
        assert (filled[~disk()] == level).all()
        assert (filled[disk()] == 90).all()


def test_a_window_is_cut_from_the_texture_at_twice_its_size() -> None:
    texture = np.repeat(np.repeat(noise(8, 12), 10, 0), 10, 1)  # shorter side 80: enlarged 1.5 times for 60
    window = crop_texture(texture, 60, Random(3))
    assert window.shape == (60, 60, 3)
    # Blocks of 10 px are 15 px wide now: their inner pixels are levels of the texture.
    levels = {tuple(level) for level in texture.reshape(-1, 3).tolist()}
    assert sum(tuple(pixel) in levels for pixel in window.reshape(-1, 3).tolist()) > 0.6 * 60 * 60


def test_every_window_of_the_enlarged_texture_can_be_drawn() -> None:
    ramp = np.repeat(np.arange(4, dtype=np.uint8)[None, :, None], 4, 0).repeat(3, 2)
    starts = {int(crop_texture(ramp, 2, Random(seed))[0, 0, 0]) for seed in range(40)}
    assert starts == {0, 1, 2}


def test_the_same_seed_gives_the_same_bytes_and_another_one_others() -> None:
    params, texture = SilhouetteParams(0.6, "random"), noise(40, 40)
    first, again, other = (fill_silhouette(disk(), texture, params, seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_the_published_set_is_five_sizes_in_two_places() -> None:
    assert len(set(PUBLISHED)) == 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size_share": 0.0}, "size_share: expected more than 0 and up to 1, got 0"),
        ({"place": "left"}, "place: expected aligned or random, got left"),
        ({"opacity": 1.1}, "opacity: expected 0 to 1, got 1.1"),
    ],
)
def test_parameters_out_of_range_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(CuebenchError, match=re.escape(message)):
        SilhouetteParams(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("coverage", "opacity", "background", "message"),
    [
        (np.ones((4, 5), bool), 0.0, None, "coverage: expected a square (S, S), got (4, 5)"),
        (np.full((4, 4), 2, np.float32), 0.0, None, "coverage: expected 0 to 1, got 2 to 2"),
        (np.ones((4, 4), bool), 0.5, None, "background: an opacity of 0.5 needs a picture of 4 x 4 px"),
        (np.ones((4, 4), bool), 0.5, GREY, "background: expected (4, 4, 3), got (30, 30, 3)"),
    ],
)
def test_unfit_arrays_are_refused(
    coverage: npt.NDArray[np.bool_], opacity: float, background: Pixels | None, message: str
) -> None:
    with pytest.raises(CuebenchError, match=re.escape(message)):
        fill_silhouette(coverage, GREY, SilhouetteParams(opacity=opacity), 0, background)
