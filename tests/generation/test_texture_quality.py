from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from generation.texture_origin import OriginMap
from generation.texture_quality import (
    TEXTURE_QUALITY,
    copy_share,
    cut_ratio,
    low_pass_share,
    reassembly_share,
    seam_ratio,
    silhouette_correlation,
    texture_quality,
)
from generation.texture_sharing import count_shared

Pixels = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
CELL_PX = 16


def squares(n: int, cell_px: int = CELL_PX) -> Ints:
    return np.kron(np.arange(n * n).reshape(n, n), np.ones((cell_px, cell_px), np.int64))


def origin_of(positions: list[tuple[int, int]] | Ints, working: tuple[int, int] = (400, 400)) -> OriginMap:
    """Return the map of a cue whose cells are whole squares of the photograph at the positions."""
    at = np.asarray(positions, np.int64)
    n = int(np.sqrt(len(at)))
    return OriginMap(at, squares(n), (0, 0, *working), working, 0)


def crops_a_step_apart(n: int, step_px: int, seed: int | None = None) -> Ints:
    """Return n x n places on a grid of the photograph, in order or shuffled."""
    places = np.argwhere(np.ones((n, n), bool)) * step_px
    return places if seed is None else np.random.Generator(np.random.PCG64(seed)).permutation(places)


def steps_of(*levels: int) -> Pixels:
    """Return an image whose columns have the levels, square."""
    return np.tile(np.array(levels, np.uint8), (len(levels), 1))


@pytest.mark.parametrize(
    ("grey", "n_cells", "expected"),
    [
        pytest.param(steps_of(*[90] * 8), 2, 1.0, id="constant"),
        pytest.param(np.indices((8, 8)).sum(0).astype(np.uint8) % 2 * 200, 2, 1.0, id="checkerboard"),
        pytest.param(np.arange(64, dtype=np.uint8).reshape(8, 8) % 8, 4, 1.0, id="ramp"),
        # 8 steps of 10 over 16 places on the grid, 8 steps of 2 over 96 elsewhere: 5 / (1 / 6).
        pytest.param(
            steps_of(0, 0, 2, 2, 12, 12, 12, 12), 2, 30.0, id="a step on the grid and one beside it"
        ),
        # 8 steps of 4 over 96 places elsewhere, none on the grid.
        pytest.param(steps_of(0, 4, 4, 4, 4, 4, 4, 4), 2, 0.0, id="a step beside the grid"),
        # Nothing to compare the seam with.
        pytest.param(steps_of(0, 0, 0, 0, 9, 9, 9, 9), 2, 1.0, id="a single step on the grid"),
    ],
)
def test_seam_ratio_of_arrays_worked_by_hand(grey: Pixels, n_cells: int, expected: float) -> None:
    assert seam_ratio(grey, n_cells) == pytest.approx(expected)
    assert seam_ratio(grey.T, n_cells) == pytest.approx(expected)


def test_seam_ratio_and_cut_ratio_agree_with_plain_means_over_the_steps() -> None:
    grey = np.random.Generator(np.random.PCG64(4)).integers(0, 256, (48, 48), np.uint8)
    owner = squares(3)
    owner[14:17, 5:9] = 4
    across, along = (np.abs(np.diff(grey.astype(float), axis=axis)) for axis in (1, 0))
    for cells, found in ((squares(3), seam_ratio(grey, 3)), (owner, cut_ratio(grey, owner))):
        on = [steps[np.diff(cells, axis=axis) != 0] for steps, axis in ((across, 1), (along, 0))]
        off = [steps[np.diff(cells, axis=axis) == 0] for steps, axis in ((across, 1), (along, 0))]
        assert found == np.concatenate(on).mean() / np.concatenate(off).mean()


def test_a_cue_of_a_single_patch_has_no_cut() -> None:
    assert cut_ratio(steps_of(0, 7, 9, 1), np.zeros((4, 4), np.int64)) == 1.0


@pytest.mark.parametrize(
    ("grey", "expected"),
    [
        pytest.param(np.full((32, 32), 77.0), 0.0, id="constant"),
        pytest.param(np.indices((32, 32)).sum(0) % 2 * 200.0, 0.0, id="fine checkerboard"),
        pytest.param((np.indices((32, 32)) // 4).sum(0) % 2 * 200.0, 1.0, id="checkerboard of 8 x 8"),
        pytest.param(np.repeat([[0.0, 200.0]], 16, axis=1).repeat(32, axis=0), 1.0, id="single step"),
        # Halves of +-10 with a checkerboard of +-10 on top: half of the variance is large.
        pytest.param(
            np.repeat([[0.0, 20.0]], 16, axis=1).repeat(32, axis=0) + np.indices((32, 32)).sum(0) % 2 * 20,
            0.5,
            id="step and checkerboard",
        ),
    ],
)
def test_low_pass_share_of_arrays_worked_by_hand(grey: npt.NDArray[np.float64], expected: float) -> None:
    assert low_pass_share(grey) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("turn", range(4))
@pytest.mark.parametrize("flip", [False, True])
def test_a_silhouette_in_the_cue_is_found_in_every_pose_and_in_negative(turn: int, flip: bool) -> None:
    mask = np.zeros((128, 128), bool)
    mask[16:112, 24:56] = mask[16:40, 24:104] = True
    shown = np.rot90(mask[:, ::-1] if flip else mask, turn)
    assert silhouette_correlation(np.where(shown, 180.0, 60.0), mask) == pytest.approx(1, abs=1e-9)
    assert silhouette_correlation(np.where(shown, 60.0, 180.0), mask) == pytest.approx(1, abs=1e-9)


def test_noise_shows_no_silhouette_and_neither_does_a_flat_cue_or_mask() -> None:
    noise = np.random.Generator(np.random.PCG64(6)).integers(0, 256, (128, 128)).astype(np.float64)
    mask = cv2.circle(np.zeros((128, 128), np.uint8), (64, 64), 40, 1, -1) > 0
    assert silhouette_correlation(noise, mask) < 0.15
    assert silhouette_correlation(np.full((128, 128), 9.0), mask) == 0
    assert silhouette_correlation(noise, np.ones((128, 128), bool)) == 0


def test_a_cut_up_photograph_in_order_is_all_copies_and_shuffled_it_is_few() -> None:
    assert copy_share(origin_of(crops_a_step_apart(4, CELL_PX))) == 1
    assert copy_share(origin_of(crops_a_step_apart(4, CELL_PX, seed=3))) < 0.1


@pytest.mark.parametrize(("shift_px", "expected"), [(3, 1 / 6), (4, 0.0)])
def test_a_neighbour_counts_as_a_copy_within_three_pixels(shift_px: int, expected: float) -> None:
    # One of the six pairs of neighbours in a cue of 2 x 2 cells: two across, two down, two diagonal.
    origin = origin_of([(0, 0), (shift_px, CELL_PX - shift_px), (200, 90), (90, 200)])
    assert copy_share(origin) == pytest.approx(expected)


def test_cells_share_the_pixels_that_both_of_them_show() -> None:
    # The first and the second overlap by 4 x 16, the second and the third by 16 x 6, the last stands alone.
    sharing = origin_of([(0, 0), (12, 0), (12, 10), (300, 300)]).sharing
    pairs = zip(sharing.first.tolist(), sharing.second.tolist(), sharing.n_px.tolist(), strict=True)
    assert list(pairs) == [(0, 1, 64), (0, 2, 4 * 6), (1, 2, 96)]
    assert sharing.cell_px.tolist() == [256] * 4
    assert sharing.largest_share == 96 / 256


def test_cells_with_nothing_in_common_share_nothing() -> None:
    sharing = origin_of(crops_a_step_apart(3, CELL_PX)).sharing
    assert len(sharing.n_px) == 0
    assert sharing.largest_share == 0


@pytest.mark.parametrize("first_pixel", [0, 2**33])
def test_sharing_agrees_with_sets_of_pixels(first_pixel: int) -> None:
    random = np.random.Generator(np.random.PCG64(8))
    pixels, cells = first_pixel + random.integers(0, 60, (12, 12)), squares(3, 4)
    shown = [set(pixels[cells == cell].tolist()) for cell in range(9)]
    expected = [
        (a, b, len(shown[a] & shown[b])) for a in range(9) for b in range(a + 1, 9) if shown[a] & shown[b]
    ]
    sharing = count_shared(pixels, cells, 9)
    assert list(zip(sharing.first, sharing.second, sharing.n_px, strict=True)) == expected
    assert sharing.cell_px.tolist() == [len(pixels_of) for pixels_of in shown]
    smaller = [n / min(len(shown[a]), len(shown[b])) for a, b, n in expected]
    assert sharing.largest_share == max(smaller)


@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize("step_px", [CELL_PX, CELL_PX // 2])
def test_consecutive_crops_reassemble_whole_in_any_order(step_px: int, seed: int | None) -> None:
    assert reassembly_share(origin_of(crops_a_step_apart(5, step_px, seed))) == 1


def test_places_that_only_touch_corners_or_lie_apart_do_not_reassemble() -> None:
    assert reassembly_share(origin_of(crops_a_step_apart(4, CELL_PX + 2, seed=1))) == 1 / 16
    assert reassembly_share(origin_of([(16 * k, 16 * k) for k in range(9)])) == 1 / 9


def test_random_places_in_a_large_photograph_hardly_reassemble() -> None:
    places = np.random.Generator(np.random.PCG64(2)).integers(0, 3000, (64, 2))
    assert reassembly_share(origin_of(places, (3016, 3016))) < 0.1


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        pytest.param((14, 0), 0.5, id="two rows of 16 shared"),
        pytest.param((14, 1), 0.25, id="two rows of 15 shared"),
        pytest.param((15, 1), 0.5, id="an edge continued to within a pixel"),
        pytest.param((16, 2), 0.25, id="an edge missed by two pixels"),
    ],
)
def test_cells_are_linked_by_an_eighth_of_their_pixels_or_by_an_edge(
    place: tuple[int, int], expected: float
) -> None:
    # The second of four cells may be linked to the first, the others lie far away.
    assert reassembly_share(origin_of([(0, 0), place, (100, 200), (200, 100)])) == expected


def test_the_origin_names_the_box_of_the_photograph_behind_every_pixel() -> None:
    # A working image of 4 x 6 pixels that shows 10 x 9 of the photograph, from (2, 1).
    at = np.zeros((4, 2), np.int64)
    origin = OriginMap(at, squares(2, 2), (2, 1, 10, 9), (4, 6), 0)
    top, left, bottom, right = origin.photograph_boxes()
    assert top[:, 0].tolist() == [2, 4, 2, 4]
    assert bottom[:, 0].tolist() == [5, 7, 5, 7]
    assert left[0].tolist() == [1, 2, 1, 2]
    assert right[0].tolist() == [3, 4, 3, 4]


def test_pixels_that_show_anything_outside_are_counted() -> None:
    origin = OriginMap(np.zeros((4, 2), np.int64), squares(2, 2), (2, 1, 10, 9), (4, 6), 0)
    inside = np.zeros((20, 20), bool)
    inside[2:7, 1:4] = True
    assert origin.n_outside(inside) == 0
    # Only the first pixel of each of the four cells shows the corner.
    inside[2, 1] = False
    assert origin.n_outside(inside) == 4
    assert origin.n_outside(np.zeros((20, 20), bool)) == 16


def test_an_origin_map_survives_storage() -> None:
    owner = squares(2)
    owner[15, 3] = 2
    origin = OriginMap(np.array([(5, 6), (7, 80), (90, 1), (33, 2)]), owner, (3, 4, 200, 150), (100, 75), 2)
    again = OriginMap.from_arrays(origin.arrays())
    for first, second in zip(again.working_pixels(), origin.working_pixels(), strict=True):
        np.testing.assert_array_equal(first, second)
    assert (again.box, again.working, again.overlap) == (origin.box, origin.working, origin.overlap)
    # Cell 2 owns the pixel above its square: one row above its place, within the overlap of 2.
    assert [int(at[15, 3]) for at in origin.working_pixels()] == [90 + 15 - 16 + 2, 1 + 3 + 2]


def test_the_quality_of_a_cue_has_every_documented_number() -> None:
    image = np.random.Generator(np.random.PCG64(1)).integers(0, 256, (64, 64, 3), np.uint8)
    origin, mask = origin_of(crops_a_step_apart(4, CELL_PX)), np.ones((400, 400), bool)
    quality = texture_quality(image, origin, mask, mask, 0.5)
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    assert list(quality) == list(TEXTURE_QUALITY)
    assert quality["contrast_std"] == grey.std()
    assert quality["native_scale"] == 0.5
    assert quality["unique_cell_share"] == 1
    assert quality["n_outside_px"] == 0
    assert quality["copy_share"] == quality["reassembly_share"] == 1
