from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pytest

from data_manifests.errors import CuebenchError
from generation.peers.pictures import blend, check_mask, object_box, resize, square_around


def ramp(height: int, width: int) -> npt.NDArray[np.uint8]:
    """Return a picture whose red is the column and whose green is the row."""
    rows, columns = np.mgrid[:height, :width]
    return np.dstack([columns, rows, np.zeros_like(rows)]).astype(np.uint8)


def box_mask(height: int, width: int, box: tuple[int, int, int, int]) -> npt.NDArray[np.bool_]:
    mask = np.zeros((height, width), bool)
    top, left, tall, wide = box
    mask[top : top + tall, left : left + wide] = True
    return mask


@pytest.mark.parametrize(
    ("left", "first_column"),
    [(0, 0), (40, 25), (90, 60)],
)
def test_a_square_stays_in_the_photograph_and_follows_the_object(left: int, first_column: int) -> None:
    mask = box_mask(40, 100, (10, left, 8, 10))
    image, coverage = square_around(ramp(40, 100), mask, 40)
    assert image.shape == (40, 40, 3)
    assert image[0, 0].tolist() == [first_column, 0, 0]
    np.testing.assert_array_equal(coverage > 0.5, mask[:, first_column : first_column + 40])


def test_a_longer_object_is_held_whole_or_cut() -> None:
    mask = box_mask(40, 100, (10, 20, 5, 60))
    image, coverage = square_around(ramp(40, 100), mask, 60)
    assert coverage.sum() == mask.sum()
    assert image[0, 0].tolist() == [20, 0, 0]  # the rows above the photograph repeat its first one
    assert image[-1, 0].tolist() == [20, 39, 0]
    cut, covered = square_around(ramp(40, 100), mask, 40, may_cut=True)
    assert cut[0, 0].tolist() == [30, 0, 0]
    assert covered.sum() == 5 * 40


def test_coverage_is_a_mean_over_the_pixels_that_shrink_into_one() -> None:
    mask = box_mask(8, 8, (0, 0, 3, 4))
    _, coverage = square_around(ramp(8, 8), mask, 4)
    assert coverage[0].tolist() == [1, 1, 0, 0]
    assert coverage[1].tolist() == [0.5, 0.5, 0, 0]


def test_blending_is_linear_and_rounded() -> None:
    over, under = np.full((1, 2, 3), 10, np.uint8), np.full((1, 2, 3), 200, np.uint8)
    mixed = blend(over, under, np.array([[0.25, 1.0]], np.float32))
    assert mixed[0, :, 0].tolist() == [152, 10]  # 152.5 goes to the even one


def test_shrinking_averages() -> None:
    assert resize(np.array([[[0] * 3, [100] * 3]], np.uint8), 1, 1)[0, 0].tolist() == [50, 50, 50]


def test_the_box_of_an_object() -> None:
    assert object_box(box_mask(9, 12, (2, 3, 4, 5))) == (2, 3, 4, 5)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.zeros((4, 5), bool), "mask: no pixel of it is True; expected an object"),
        (np.ones((5, 4), bool), "mask: expected (4, 5) bool, got (5, 4) bool"),
        (np.ones((4, 5), np.uint8), "mask: expected (4, 5) bool, got (4, 5) uint8"),
    ],
)
def test_unfit_masks_are_refused(mask: npt.NDArray[np.bool_], message: str) -> None:
    with pytest.raises(CuebenchError, match=re.escape(message)):
        check_mask(ramp(4, 5), mask)
