from __future__ import annotations

import re

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from scipy.ndimage import label

from data_manifests.errors import CuebenchError
from generation.peers.mohla import repeat_silhouette, scene_edges
from tests.generation.photographs import draw_photograph

Pixels = npt.NDArray[np.uint8]


def ellipse() -> tuple[Pixels, npt.NDArray[np.bool_]]:
    """Return a wide object of two colours on white, 80 x 40 px."""
    mask = np.zeros((100, 120), np.uint8)
    cv2.ellipse(mask, (60, 50), (40, 20), 0, 0, 360, 1, -1)
    image = np.full((100, 120, 3), 255, np.uint8)
    image[mask > 0] = (200, 40, 40)
    image[:, 60:][mask[:, 60:] > 0] = (40, 40, 200)
    return image, mask > 0


def test_edges_of_a_square_on_a_plain_ground_are_its_outline() -> None:
    image = np.full((40, 40, 3), 20, np.uint8)
    image[10:30, 10:30] = 220
    edges = scene_edges(image)
    assert set(np.unique(edges).tolist()) == {0, 255}
    on = np.argwhere(edges[..., 0] > 0)
    distance = np.abs(np.abs(on - 19.5).max(1) - 10)
    assert distance.max() <= 1.5
    assert 60 <= len(on) <= 84


def test_edges_show_the_background_too_and_fewer_with_higher_thresholds() -> None:
    image = draw_photograph(1)
    image[:12, :] = np.random.default_rng(0).integers(0, 256, (12, 240, 1))
    assert scene_edges(image)[:12].any()
    assert (scene_edges(image, 400, 800) > 0).sum() < (scene_edges(image, 50, 100) > 0).sum()
    np.testing.assert_array_equal(
        scene_edges(image)[..., 0], cv2.Canny(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), 100, 200)
    )


def test_rows_of_the_object_stand_on_white() -> None:
    canvas = repeat_silhouette(*ellipse(), 224, 4, 1, 0)
    assert canvas.shape == (224, 224, 3)
    assert (canvas[[0, -1]] == 255).all()
    assert (canvas[:, [0, -1]] == 255).all()
    parts, n_parts = label((canvas < 250).any(2))
    # Cells of 56 px hold objects of 49 x 25 px; rows of 32 px: 7 of them.
    assert n_parts == 4 * 7
    areas = np.bincount(parts.ravel())[1:]
    assert set(areas.tolist()) == {int(areas[0])}
    assert abs(areas[0] / (np.pi / 4 * 49 * 25) - 1) < 0.1


def test_a_mosaic_moves_the_inside_and_keeps_the_silhouette() -> None:
    image, mask = ellipse()
    plain, mosaic, again = (repeat_silhouette(image, mask, 224, 2, n, 5) for n in (1, 16, 16))
    np.testing.assert_array_equal(mosaic, again)
    shown, shown_too = ((canvas < 250).any(2) for canvas in (plain, mosaic))
    np.testing.assert_array_equal(shown, shown_too)
    assert (plain != mosaic).any()
    red = [(canvas[..., 0] > canvas[..., 2]).sum() for canvas in (plain, mosaic)]
    assert abs(red[0] - red[1]) < 0.1 * red[0]


def test_an_object_too_narrow_for_a_tile_keeps_its_inside() -> None:
    image = np.full((50, 50, 3), 255, np.uint8)
    mask = np.zeros((50, 50), bool)
    mask[5:45, 20:23] = True
    image[mask] = np.random.default_rng(1).integers(0, 200, (int(mask.sum()), 3))
    plain, mosaic = (repeat_silhouette(image, mask, 64, 2, n, 5) for n in (1, 4))
    np.testing.assert_array_equal(plain, mosaic)


@pytest.mark.parametrize(
    ("n_columns", "mosaic", "message"),
    [
        (0, 1, "n_columns: expected 1 to 28 on 224 px, got 0"),
        (29, 1, "n_columns: expected 1 to 28 on 224 px, got 29"),
        (4, 0, "mosaic: expected at least 1 tile, got 0"),
    ],
)
def test_numbers_out_of_range_are_refused(n_columns: int, mosaic: int, message: str) -> None:
    with pytest.raises(CuebenchError, match=re.escape(message)):
        repeat_silhouette(*ellipse(), 224, n_columns, mosaic, 0)


def test_thresholds_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(CuebenchError, match="thresholds: expected 0 <= low <= high, got 200 and 100"):
        scene_edges(ellipse()[0], 200, 100)
