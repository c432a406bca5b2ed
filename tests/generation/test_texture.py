from __future__ import annotations

import re
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from pydantic import ValidationError

from data_manifests.errors import CuebenchError
from generation.outcome import Unavailable
from generation.quilting import Quilt, lay_quilt
from generation.texture import TextureCue, TextureParams, n_placeable, render_texture
from generation.texture_evening import even_out
from generation.texture_patches import inside_positions, typical_positions
from generation.texture_quality import TEXTURE_QUALITY
from generation.texture_source import crop_source, erode_mask, flatten_light

Pixels = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
QUILT, SHUFFLE = TextureParams(), TextureParams(method="shuffle")


def noise(mask: Mask, seed: int = 1, sigma_px: float = 1.2) -> Pixels:
    raw = np.random.Generator(np.random.PCG64(seed)).integers(0, 256, (*mask.shape, 3), np.uint8)
    soft = cv2.GaussianBlur(raw, (0, 0), sigma_px).astype(np.float64)
    return np.clip(128 + 3 * (soft - 128), 0, 255).astype(np.uint8)


def disk(side_px: int, radius_px: int) -> Mask:
    blank = np.zeros((side_px, side_px), np.uint8)
    return np.asarray(cv2.circle(blank, (side_px // 2, side_px // 2), radius_px, 1, -1) > 0)


def ring(side_px: int, radius_px: int, width_px: int) -> Mask:
    return disk(side_px, radius_px) & ~disk(side_px, radius_px - width_px)


def render(
    image: Pixels,
    mask: Mask,
    side_px: int = 128,
    grid: int = 8,
    seed: int = 0,
    params: TextureParams = QUILT,
) -> TextureCue:
    cue = render_texture(image, mask, side_px, grid, seed, params)
    assert isinstance(cue, TextureCue), cue
    return cue


# The last number says how many cue pixels show one of the photograph: native, enlarged, reduced.
CASES = [
    pytest.param(disk(300, 106), 8, QUILT, 1.0, id="native"),
    pytest.param(disk(300, 60), 8, QUILT, 1.5, id="enlarged"),
    pytest.param(disk(500, 235), 16, QUILT, 0.45, id="reduced"),
    pytest.param(disk(420, 200), 2, QUILT, 0.53, id="large cells"),
    pytest.param(ring(420, 200, 32), 16, QUILT, 1.35, id="thin ring"),
    pytest.param(disk(300, 120), 8, SHUFFLE, 0.5, id="shuffle"),
]


@pytest.mark.parametrize(("mask", "grid", "params", "scale"), CASES)
def test_every_cue_pixel_comes_from_inside_of_the_eroded_mask(
    mask: Mask, grid: int, params: TextureParams, scale: float
) -> None:
    cue, eroded = render(noise(mask), mask, grid=grid, params=params), erode_mask(mask)
    assert cue.image.shape == (128, 128, 3)
    assert set(cue.quality) == set(TEXTURE_QUALITY)
    assert all(np.isfinite(value) for value in cue.quality.values())
    assert cue.quality["native_scale"] == pytest.approx(scale, rel=0.15)
    assert cue.quality["n_outside_px"] == 0
    top, left, bottom, right = cue.origin.photograph_boxes()
    for corner in ((top, left), (top, right - 1), (bottom - 1, left), (bottom - 1, right - 1)):
        assert eroded[corner].all()


@pytest.mark.parametrize(("mask", "grid", "params", "scale"), CASES)
@pytest.mark.parametrize("outside", ["black", "other noise"])
def test_nothing_outside_of_the_eroded_mask_moves_a_byte(
    mask: Mask, grid: int, params: TextureParams, scale: float, outside: str
) -> None:
    image = noise(mask)
    other = np.zeros_like(image) if outside == "black" else noise(mask, seed=77)
    altered = np.where(erode_mask(mask)[..., None], image, other)
    first, second = (render(pixels, mask, grid=grid, params=params) for pixels in (image, altered))
    np.testing.assert_array_equal(second.image, first.image)
    assert second.quality == first.quality


@pytest.mark.parametrize("params", [QUILT, SHUFFLE])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_same_arguments_give_the_same_bytes_with_any_number_of_threads(
    params: TextureParams, n_threads: int
) -> None:
    mask, before = disk(300, 120), cv2.getNumThreads()
    first = render(noise(mask), mask, params=params)
    cv2.setNumThreads(n_threads)
    try:
        again, other = (render(noise(mask), mask, seed=seed, params=params) for seed in (0, 1))
    finally:
        cv2.setNumThreads(before)
    np.testing.assert_array_equal(again.image, first.image)
    np.testing.assert_array_equal(again.origin.positions, first.origin.positions)
    assert again.quality == first.quality
    assert not np.array_equal(other.image, first.image)


# With the grid of 4 and the seed 5, seams move more than half of a cell into another at the first try.
@pytest.mark.parametrize(("grid", "seed"), [(4, 0), (4, 5), (8, 0), (8, 1), (16, 0)])
def test_nothing_is_copied_from_a_neighbour_and_no_two_cells_share_more_than_half(
    grid: int, seed: int
) -> None:
    mask = disk(360, 150)
    quality = render(noise(mask), mask, grid=grid, seed=seed).quality
    assert quality["copy_share"] == 0
    assert 0 < quality["max_shared_share"] <= 0.5
    assert quality["unique_cell_share"] == 1


def test_seams_are_hard_in_a_shuffle_and_gone_in_a_quilt() -> None:
    mask = np.ones((400, 400), bool)
    smooth = noise(mask, sigma_px=5)
    shuffled, quilted = (render(smooth, mask, params=params).quality for params in (SHUFFLE, QUILT))
    assert shuffled["seam_ratio"] > 1.5
    assert shuffled["cut_ratio"] == shuffled["seam_ratio"]
    assert quilted["seam_ratio"] < 1.3


def test_a_shuffle_shows_square_crops_of_the_reduced_photograph() -> None:
    mask = np.ones((400, 400), bool)
    image, side_px, grid = noise(mask), 200, 8
    cue = render(image, mask, side_px, grid, params=SHUFFLE)
    reduced = cv2.resize(image, (side_px, side_px), interpolation=cv2.INTER_AREA)
    for (i, j), (y, x) in zip(np.ndindex(grid, grid), cue.origin.positions.tolist(), strict=True):
        cell = cue.image[i * 25 : i * 25 + 25, j * 25 : j * 25 + 25]
        np.testing.assert_array_equal(cell, reduced[y : y + 25, x : x + 25])


@pytest.mark.parametrize(
    ("mask", "side_px", "grid", "params", "reason"),
    [
        (disk(300, 4), 128, 8, QUILT, "nothing of the mask is left after its edge was taken off"),
        (
            disk(300, 20),
            128,
            4,
            QUILT,
            r"16 different cells of 32 px need .* \(\d+ places for a patch\); use a larger",
        ),
        (ring(300, 140, 12), 128, 4, QUILT, r"\(0 places for a patch\)"),
        (ring(300, 140, 12), 128, 4, SHUFFLE, "no square of 32 px lies inside of the mask"),
    ],
)
def test_a_grid_that_cannot_be_served_is_an_outcome_with_its_reason(
    mask: Mask, side_px: int, grid: int, params: TextureParams, reason: str
) -> None:
    found = render_texture(noise(mask), mask, side_px, grid, 0, params)
    assert isinstance(found, Unavailable)
    assert found.status == "grid_unavailable"
    assert re.search(reason, found.detail)


@pytest.mark.parametrize(
    ("image", "mask", "side_px", "grid", "message"),
    [
        (
            np.zeros((9, 9), np.uint8),
            disk(9, 3),
            64,
            4,
            r"image: expected \(H, W, 3\) uint8, got \(9, 9\) uint8",
        ),
        (np.zeros((9, 9, 4), np.uint8), disk(9, 3), 64, 4, r"got \(9, 9, 4\) uint8"),
        (np.zeros((9, 9, 3), np.float32), disk(9, 3), 64, 4, r"got \(9, 9, 3\) float32"),
        (
            np.zeros((9, 9, 3), np.uint8),
            disk(8, 3),
            64,
            4,
            r"mask: expected \(9, 9\) bool, got \(8, 8\) bool",
        ),
        (np.zeros((9, 9, 3), np.uint8), np.ones((9, 9), np.uint8), 64, 4, r"got \(9, 9\) uint8"),
        (np.zeros((9, 9, 3), np.uint8), disk(9, 3), 64, 1, "grid: expected at least 2 cells a side, got 1"),
        (np.zeros((9, 9, 3), np.uint8), disk(9, 3), 65, 4, "multiple of 4 and at least 16 px, got 65"),
        (np.zeros((9, 9, 3), np.uint8), disk(9, 3), 24, 8, "multiple of 8 and at least 32 px, got 24"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    image: Pixels, mask: Mask, side_px: int, grid: int, message: str
) -> None:
    with pytest.raises(CuebenchError, match=message):
        render_texture(image, mask, side_px, grid, 0, QUILT)


@pytest.mark.parametrize(
    "wrong", [{"flatten": 1.5}, {"keep_share": 0}, {"spare": 0.5}, {"low_pass": 0}, {"overlap": 3}]
)
def test_parameters_out_of_range_or_unknown_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        TextureParams.model_validate(wrong)


def test_the_edge_taken_off_is_one_percent_of_the_diagonal_and_the_frame_counts_as_background() -> None:
    mask = np.zeros((300, 400), bool)
    mask[100:, 50:350] = True
    eroded = erode_mask(mask)
    expected = np.zeros_like(mask)
    expected[105:295, 55:345] = True
    np.testing.assert_array_equal(eroded, expected)


@pytest.mark.parametrize("place", [(0, 0), (30, 40), (100, 150)])
def test_only_the_box_around_a_mask_is_eroded_and_the_frame_is_background(place: tuple[int, int]) -> None:
    mask = np.zeros((200, 300), bool)
    mask[place[0] : place[0] + 100, place[1] : place[1] + 150] = True
    mask[place[0] + 50, place[1] + 60] = False
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (9, 9))  # 1 % of the diagonal
    whole = cv2.erode(mask.astype(np.uint8), kernel, borderType=cv2.BORDER_CONSTANT, borderValue=0)
    np.testing.assert_array_equal(erode_mask(mask), whole > 0)
    assert not erode_mask(np.zeros((200, 300), bool)).any()


def test_an_eroded_mask_at_hand_gives_the_same_cue() -> None:
    mask = ring(200, 90, 60)
    image = noise(mask)
    arguments = (image, mask, 224, 8, 1, TextureParams())
    one, other = render_texture(*arguments), render_texture(*arguments, erode_mask(mask))
    assert isinstance(one, TextureCue)
    assert isinstance(other, TextureCue)
    np.testing.assert_array_equal(one.image, other.image)
    assert one.quality == other.quality


def test_a_mask_that_fills_the_frame_keeps_its_edge() -> None:
    assert erode_mask(np.ones((200, 300), bool)).all()


@pytest.mark.parametrize("scale", [1.0, 0.37, 0.8, 1.25, 1.9])
def test_resizing_a_crop_counts_as_inside_only_what_shows_nothing_else(scale: float) -> None:
    eroded = erode_mask(ring(200, 90, 60))
    white = np.where(eroded[..., None], np.uint8(200), np.uint8(0)).repeat(3, axis=2)
    source = crop_source(white, eroded, scale)
    assert source.inside.shape == source.image.shape[:2]
    assert source.scale == pytest.approx(scale, abs=0.01)
    assert 0.3 < source.inside.mean() < eroded[eroded.any(1)][:, eroded.any(0)].mean() + 1e-9
    assert (source.image[source.inside] == 200).all()


def test_flattening_takes_a_gradient_of_light_away_and_leaves_the_texture() -> None:
    mask = np.ones((240, 240), bool)
    ramp = np.linspace(0.4, 1.2, 240)[None, :, None]
    lit = np.clip(noise(mask, sigma_px=1) * ramp, 0, 255).astype(np.uint8)
    flat = flatten_light(crop_source(lit, mask, 1.0), 12, 1.0).image
    before, after = (np.ptp(image.mean((0, 2)).reshape(6, 40).mean(1)) for image in (lit, flat))
    assert before > 60
    assert after < 0.15 * before
    assert flat[:, 100:140].std() > 0.8 * lit[:, 100:140].std()


def test_no_flattening_leaves_every_pixel() -> None:
    mask = disk(100, 40)
    source = crop_source(noise(mask), mask, 1.0)
    assert flatten_light(source, 12, 0.0) is source


def test_patches_lie_wholly_inside() -> None:
    inside = ring(60, 28, 14)
    whole = inside_positions(inside, 7)
    expected = [[inside[y : y + 7, x : x + 7].all() for x in range(54)] for y in range(54)]
    np.testing.assert_array_equal(whole, expected)
    assert inside_positions(inside, 61).shape == (0, 0)


@pytest.mark.parametrize("patch_px", [7, 24])
def test_patches_unlike_the_rest_are_left_out(patch_px: int) -> None:
    mask = disk(200, 95)
    image = noise(mask)
    # An eye on a textured body: flat, red, in 4 % of it.
    cv2.circle(image, (120, 90), 20, (250, 0, 0), -1)
    eye = cv2.circle(np.zeros(mask.shape, np.uint8), (120, 90), 20, 1, -1) > 0
    kept = typical_positions(image, mask, patch_px, 0.7)
    of_eye = np.array([eye[y : y + patch_px, x : x + patch_px].mean() for y, x in kept])
    assert len(kept) == pytest.approx(0.7 * 0.8 * inside_positions(mask, patch_px).sum(), rel=0.1)
    assert of_eye.max() < 0.7
    np.testing.assert_array_equal(kept, kept[np.lexsort((kept[:, 1], kept[:, 0]))])


def test_the_plainest_patches_are_left_out() -> None:
    mask = np.ones((120, 200), bool)
    image = noise(mask)
    # A tenth of it is bare, of the mean colour.
    image[:, :20] = 128
    kept = typical_positions(image, mask, 8, 0.99)
    assert kept[:, 1].min() > 8


def test_every_patch_counts_as_typical_where_all_are_to_be_kept() -> None:
    mask = disk(80, 35)
    np.testing.assert_array_equal(
        typical_positions(noise(mask), mask, 9, 1.0), np.argwhere(inside_positions(mask, 9))
    )
    assert len(typical_positions(noise(mask), mask, 75, 0.7)) == 0


def test_places_end_at_the_density_of_random_packing() -> None:
    # Cells of 1 px that may share nothing keep one place each; of 2 px sharing at most half of one, a cross of five.
    assert n_placeable(1000, 1, 0.5) == pytest.approx(0.547 * 1000 * 4)
    assert n_placeable(1000, 2, 0.49) == pytest.approx(0.547 * 1000 * 4 / 5)


def test_a_photograph_is_enlarged_until_enough_typical_patches_are_found() -> None:
    mask = disk(300, 42)
    all_kept, few_kept = (
        render(noise(mask), mask, params=TextureParams(keep_share=share)).quality for share in (1.0, 0.2)
    )
    assert 1.45 < all_kept["native_scale"] < few_kept["native_scale"]
    assert few_kept["n_outside_px"] == 0


def test_a_photograph_is_enlarged_where_a_quilt_runs_out_of_patches(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[bool] = []

    def lay_or_run_out(source: Pixels, *arguments: Any) -> Quilt | None:
        quilt = lay_quilt(source, *arguments) if ended else None
        ended.append(quilt is not None)
        return quilt

    monkeypatch.setattr("generation.texture.lay_quilt", lay_or_run_out)
    mask = disk(300, 60)
    # A grid of 4 has no guide.
    cue = render(noise(mask), mask, grid=4, params=TextureParams(keep_share=1.0))
    assert ended == [False, True]
    assert cue.quality["native_scale"] == pytest.approx(1.5 * 1.25, abs=0.02)


def test_stripes_run_on_over_many_small_cells() -> None:
    # Stripes of 12 px: three times as wide as a cell.
    mask = np.ones((300, 300), bool)
    stripes = np.where(np.arange(300) % 24 < 12, 40, 210)[:, None, None]
    image = np.clip(stripes + noise(mask).astype(int) // 8, 0, 255).astype(np.uint8)
    cue = render(image, mask, side_px=128, grid=32)
    rows = cue.image[..., 1].mean(1)
    assert rows.std() > 0.7 * cue.image[..., 1].std()
    assert cue.quality["copy_share"] == 0


def test_a_cue_keeps_no_more_large_structure_than_asked_for() -> None:
    mask = np.ones((400, 400), bool)
    # Light and dark patches of 60 px under a fine texture.
    patches = 60 * np.sin(np.arange(400) / 19)[:, None, None] * np.sin(np.arange(400) / 19)[None, :, None]
    image = np.clip(noise(mask) + patches, 0, 255).astype(np.uint8)
    kept, evened = (
        render(image, mask, grid=4, params=TextureParams(flatten_coarse=0, low_pass=share)).quality[
            "low_pass_share"
        ]
        for share in (1.0, 0.05)
    )
    assert kept > 0.1
    assert evened <= 0.05


def test_evening_out_takes_a_ramp_away_and_leaves_what_is_even() -> None:
    fine = noise(np.ones((224, 224), bool))
    ramp = np.linspace(-50, 50, 224)[None, :, None]
    lit = np.clip(fine * 0.5 + 64 + ramp, 0, 255).astype(np.uint8)
    flat = even_out(lit, 0.02, 0)
    columns = flat.mean((0, 2)).reshape(8, 28).mean(1)
    assert np.ptp(columns) < 0.35 * np.ptp(lit.mean((0, 2)).reshape(8, 28).mean(1))
    np.testing.assert_array_equal(even_out(fine, 0.5, 0), fine)
    blank = np.full((64, 64, 3), 90, np.uint8)
    np.testing.assert_array_equal(even_out(blank, 0.1, 1), blank)


def test_evening_out_takes_patches_of_colour_away_and_leaves_their_lightness() -> None:
    fine = noise(np.ones((224, 224), bool)) // 2 + 64
    # From red on the left to blue on the right.
    tinted = np.clip(fine + np.linspace(-40, 40, 224)[None, :, None] * np.array([1, 0, -1]), 0, 255).astype(
        np.uint8
    )
    evened = even_out(tinted, 0.5, 1)

    def tint(image: Pixels) -> float:
        halves = (image[..., 0].astype(float) - image[..., 2]).mean(0)
        return float(np.ptp(halves.reshape(8, 28).mean(1)))

    assert tint(evened) < 0.1 * tint(tinted)
    assert tint(even_out(tinted, 0.5, 0.5)) == pytest.approx(0.5 * tint(tinted), rel=0.1)
    np.testing.assert_allclose(evened.mean((0, 1)), tinted.mean((0, 1)), atol=1)
    lightness, before = (
        cv2.resize(
            cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(float), (8, 8), interpolation=cv2.INTER_AREA
        )
        for image in (evened, tinted)
    )
    np.testing.assert_allclose(lightness, before, atol=2)


def test_a_patch_with_an_odd_quarter_is_left_out_by_quarters() -> None:
    mask = np.ones((200, 200), bool)
    image = noise(mask)
    # A leaf too small to change the mean of a patch of 60 px by much.
    image[90:110, 90:110] = (60, 190, 60)
    kept = typical_positions(image, mask, 60, 0.7, by_quarters=True)
    of_leaf = [image[y : y + 60, x : x + 60][..., 1] == 190 for y, x in kept]
    assert np.mean([leaf.sum() > 300 for leaf in of_leaf]) < 0.1
