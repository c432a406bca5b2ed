from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image
from pydantic import ValidationError
from scipy.spatial import cKDTree
from skimage.measure import find_contours

from data_manifests.errors import CuebenchError
from generation.outcome import Unavailable
from generation.shape import ShapeCue, ShapeParams, render_shape
from generation.shape_quality import SHAPE_QUALITY, centre_lines
from tests.paths import SHARED_DATA, needs_shared_data

Pixels = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
OUTLINE = ShapeParams(style="outline")


def blank(height: int = 600, width: int = 700) -> Pixels:
    return np.zeros((height, width), np.uint8)


def disk() -> Mask:
    return np.asarray(cv2.circle(blank(), (340, 300), 240, 1, -1) > 0)


def ring() -> Mask:
    return np.asarray(cv2.circle(disk().astype(np.uint8), (360, 310), 110, 0, -1) > 0)


def star() -> Mask:
    angles = np.arange(10) * np.pi / 5
    radii = np.where(np.arange(10) % 2, 120, 280)
    points = np.column_stack([350 + radii * np.sin(angles), 300 - radii * np.cos(angles)])
    return cv2.fillPoly(blank(), [np.rint(points).astype(np.int32)], 1) > 0


def spokes() -> Mask:
    mask = cv2.circle(blank(), (350, 300), 270, 1, 24)
    centre = np.array([350, 300])
    for angle in np.arange(6) * np.pi / 6:
        reach = np.array([np.cos(angle), np.sin(angle)]) * 270
        ends = np.rint([centre - reach, centre + reach]).astype(int).tolist()
        cv2.line(mask, ends[0], ends[1], 1, 14)
    return np.asarray(mask > 0)


def two_objects() -> Mask:
    mask = cv2.circle(blank(), (180, 300), 130, 1, -1)
    return cv2.rectangle(mask, (400, 200), (640, 520), 1, -1) > 0


def at_the_frame() -> Mask:
    return cv2.circle(blank(), (0, 300), 250, 1, -1) > 0


def plain(mask: Mask) -> Pixels:
    image = np.full((*mask.shape, 3), 230, np.uint8)
    image[mask] = (120, 90, 60)
    return image


def loud(shape: tuple[int, ...], seed: int = 3) -> Pixels:
    """Return random black and white squares of 6 pixels."""
    height, width = shape
    small = (
        np.random.default_rng(seed).integers(0, 2, (height // 6 + 1, width // 6 + 1), dtype=np.uint8) * 255
    )
    large = np.kron(small, np.ones((6, 6), np.uint8))[:height, :width]
    return np.repeat(large[..., None], 3, axis=2)


def render(
    mask: Mask, params: ShapeParams = OUTLINE, side_px: int = 224, image: Pixels | None = None
) -> ShapeCue:
    cue = render_shape(plain(mask) if image is None else image, mask, side_px, params)
    assert isinstance(cue, ShapeCue)
    return cue


def light_of(cue: ShapeCue) -> Pixels:
    return cue.image[..., 0]


def true_outline(mask: Mask, side_px: int) -> npt.NDArray[np.float64]:
    """Return the points (N, 2) of the mask's boundary where the documented placement puts them."""
    rings = find_contours(mask.astype(np.float64), 0.5)  # type: ignore[no-untyped-call]
    points = np.vstack([np.vstack([ring, (ring[1:] + ring[:-1]) / 2]) for ring in rings])[:, ::-1] + 0.5
    rows, columns = np.nonzero(mask)
    low = np.array([columns.min(), rows.min()])
    size = np.array([np.ptp(columns), np.ptp(rows)]) + 1
    scale = 0.84 * side_px / size.max()
    return np.asarray((points - low - size / 2) * scale + side_px / 2)


def agreement(mask: Mask, side_px: int, tolerance_px: float) -> tuple[float, float]:
    """Return the shares of drawn and of true outline within the tolerance of the other."""
    light = light_of(render(mask, side_px=side_px))
    middle, drawn = (np.argwhere(where)[:, ::-1] + 0.5 for where in (centre_lines(light), light >= 128))
    truth = true_outline(mask, side_px)
    to_truth, _ = cKDTree(truth).query(middle)
    to_drawn, _ = cKDTree(drawn).query(truth)
    return float((to_truth <= tolerance_px).mean()), float((to_drawn <= tolerance_px).mean())


@pytest.mark.parametrize("make", [disk, ring, star, spokes, two_objects])
@pytest.mark.parametrize("side_px", [224, 512])
def test_outline_follows_the_mask_holes_included(make: Callable[[], Mask], side_px: int) -> None:
    # Centring on whole pixels moves the drawing by up to half a pixel.
    precision, recall = agreement(make(), side_px, tolerance_px=1.25)
    assert precision >= 0.98
    assert recall >= 0.98


@pytest.mark.parametrize("make", [disk, ring, star, two_objects])
def test_silhouette_is_the_mask(make: Callable[[], Mask]) -> None:
    mask = make()
    light = light_of(render(mask, ShapeParams(style="silhouette"), side_px=1024)) >= 128
    rows, columns = np.nonzero(light)
    found = light[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    rows, columns = np.nonzero(mask)
    true = mask[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1].astype(np.float32)
    expected = cv2.resize(true, found.shape[::-1], interpolation=cv2.INTER_LINEAR) >= 0.5
    assert (found & expected).sum() / (found | expected).sum() >= 0.98


def test_object_fills_the_cue_but_for_the_margins() -> None:
    rows, columns = np.nonzero(light_of(render(disk(), ShapeParams(style="silhouette"))) >= 128)
    assert np.ptp(columns) + 1 == pytest.approx(188, abs=1)
    assert columns.min() == pytest.approx(18, abs=1)
    assert rows.min() == pytest.approx(18, abs=1)


def test_wider_margin_shrinks_the_object() -> None:
    params = ShapeParams(style="silhouette", margin_share=0.25)
    _, columns = np.nonzero(light_of(render(disk(), params)) >= 128)
    assert np.ptp(columns) + 1 == pytest.approx(112, abs=1)


def test_outline_on_the_frame_of_the_photograph_is_not_drawn() -> None:
    cue = render(at_the_frame())
    rows, columns = np.nonzero(light_of(cue))
    # The half disk is 188 px high; its straight side would be 188 px of light on the left.
    left = light_of(cue)[:, columns.min() : columns.min() + 4]
    assert (left > 128).any(axis=1).sum() < 40
    assert cue.quality["border_contact_share"] == pytest.approx(2 / (2 + np.pi), abs=0.02)
    assert cue.quality["outline_closed_share"] >= 0.99
    assert np.ptp(rows) > 180


def test_object_inside_the_photograph_does_not_touch_its_frame() -> None:
    cue = render(disk())
    assert cue.quality["border_contact_share"] == 0
    assert cue.quality["outline_closed_share"] >= 0.99


def test_loud_background_leaves_no_light() -> None:
    mask = disk()
    image = loud(mask.shape)
    image[mask] = 128
    cue = render(mask, ShapeParams(), image=image)
    assert cue.quality["background_light_share"] == 0
    assert np.array_equal(cue.image, render(mask).image)


def test_cue_does_not_depend_on_the_background() -> None:
    mask = disk()
    image = plain(mask)
    cv2.rectangle(image, (280, 220), (420, 380), (250, 250, 250), -1)
    elsewhere = np.where(mask[..., None], image, loud(mask.shape))
    cues = [render(mask, ShapeParams(), image=picture) for picture in (image, elsewhere)]
    assert np.array_equal(cues[0].image, cues[1].image)


def test_inner_structure_is_drawn() -> None:
    mask = disk()
    image = plain(mask)
    cv2.rectangle(image, (280, 220), (420, 380), (250, 250, 250), -1)
    inside = light_of(render(mask, ShapeParams(), image=image)).astype(int) - light_of(render(mask))
    corners = np.array([[280, 220], [420, 220], [420, 380], [280, 380]])
    place = (corners - [340, 300]) * 188 / 481 + 112
    expected = cv2.polylines(np.zeros((224, 224), np.uint8), [np.rint(place).astype(np.int32)], True, 1) > 0
    near_light = cv2.dilate((inside > 128).astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    near_truth = cv2.dilate(expected.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    assert near_light[expected].mean() >= 0.95
    assert near_truth[inside > 128].mean() >= 0.98


@pytest.mark.parametrize(("width", "n_lines"), [(1, 1), (12, 2)])
def test_bar_is_drawn_by_both_edges_unless_they_would_touch(width: int, n_lines: int) -> None:
    mask = disk()
    image = plain(mask)
    cv2.line(image, (220, 300), (460, 300), (250, 250, 250), width)
    inside = light_of(render(mask, ShapeParams(), image=image)).astype(int) - light_of(render(mask))
    assert inside[:, 112][inside[:, 112] > 0].tolist() == [255] * n_lines


def checkering(shape: tuple[int, ...]) -> Pixels:
    rows, columns = np.indices(shape)
    grey = 100 + 40 * ((rows + columns) % 14 < 4) + 40 * ((rows - columns) % 14 < 4)
    return np.repeat(grey[..., None], 3, axis=2).astype(np.uint8)


def grain(shape: tuple[int, ...]) -> Pixels:
    grey = np.random.default_rng(0).normal(120, 20, shape).clip(0, 255)
    return np.repeat(grey[..., None], 3, axis=2).astype(np.uint8)


@pytest.mark.parametrize(
    ("texture", "params"),
    [
        (checkering(disk().shape), ShapeParams()),
        (grain(disk().shape), ShapeParams()),
        (loud(disk().shape) // 6 + 80, ShapeParams(texture_suppression=2.0)),
    ],
    ids=["checkering", "grain", "squares"],
)
def test_texture_on_the_object_is_suppressed(texture: Pixels, params: ShapeParams) -> None:
    mask = disk()
    image = np.where(mask[..., None], texture, 230).astype(np.uint8)
    outline = render(mask).quality["edge_share"]
    kept = render(mask, ShapeParams(texture_suppression=0.0), image=image).quality["edge_share"] - outline
    left = render(mask, params, image=image).quality["edge_share"] - outline
    assert kept > 0.05
    assert left < kept / 4


def test_short_lines_are_left_out() -> None:
    mask = disk()
    image = plain(mask)
    cv2.circle(image, (340, 300), 30, (250, 250, 250), -1)
    assert not np.array_equal(render(mask, ShapeParams(), image=image).image, render(mask).image)
    strict = ShapeParams(min_line_share=0.4)
    assert np.array_equal(render(mask, strict, image=image).image, render(mask).image)


def test_specks_and_pinholes_of_a_mask_are_not_drawn() -> None:
    mask = disk()
    mask[300:303, 340:343] = False
    mask[520:524, 560:564] = True
    assert np.array_equal(render(mask).image, render(disk()).image)


def test_unsmoothed_lines_are_drawn_too() -> None:
    mask = disk()
    image = plain(mask)
    cv2.rectangle(image, (280, 220), (420, 380), (250, 250, 250), -1)
    rough = render(mask, ShapeParams(smoothing_share=0.0), image=image)
    smooth = render(mask, ShapeParams(), image=image)
    assert rough.quality["edge_share"] == pytest.approx(smooth.quality["edge_share"], rel=0.1)


def test_skeleton_of_a_bar_is_its_middle_line() -> None:
    mask = cv2.rectangle(blank(), (100, 270), (600, 330), 1, -1) > 0
    light = light_of(render(mask, ShapeParams(style="skeleton")))
    rows, columns = np.nonzero(light > 128)
    middle = rows[(columns > 50) & (columns < 174)]
    assert abs(middle - 111.5).max() <= 1.5
    assert np.ptp(columns) > 150


def test_skeleton_of_a_ring_is_closed() -> None:
    mask = cv2.circle(blank(), (350, 300), 220, 1, 40) > 0
    lines = centre_lines(light_of(render(mask, ShapeParams(style="skeleton"))))
    rows, columns = np.nonzero(lines)
    assert np.hypot(rows - 112, columns - 112) == pytest.approx(94 * 220 / 240, abs=2)


def test_styles_report_the_numbers_that_apply() -> None:
    numbers = {
        style: set(render(ring(), ShapeParams(style=style)).quality)
        for style in ("outline+interior", "outline", "silhouette", "skeleton")
    }
    assert numbers["outline+interior"] == numbers["outline"] == set(SHAPE_QUALITY)
    assert numbers["skeleton"] == set(SHAPE_QUALITY) - {"outline_closed_share"}
    assert set(SHAPE_QUALITY) - numbers["silhouette"] == {
        "outline_closed_share",
        "stroke_px",
        "stroke_cv",
        "clutter",
        "edge_share",
        "fragment_share",
        "text_like",
    }


def test_black_on_white_is_the_inverse() -> None:
    white = render(star())
    black = render(star(), ShapeParams(style="outline", polarity="black-on-white"))
    assert np.array_equal(black.image, 255 - white.image)
    assert black.quality == white.quality


@pytest.mark.parametrize("side_px", [224, 225, 512, 2048])
def test_cue_has_the_asked_size_and_equal_channels(side_px: int) -> None:
    image = render(star(), ShapeParams(), side_px).image
    assert image.shape == (side_px, side_px, 3)
    assert image.dtype == np.uint8
    assert np.array_equal(image[..., 0], image[..., 1])
    assert np.array_equal(image[..., 0], image[..., 2])
    assert image.max() == 255


@pytest.mark.parametrize("side_px", [512, 1024, 2048])
def test_stroke_scales_with_the_canvas(side_px: int) -> None:
    large = render(star(), side_px=side_px)
    assert large.quality["stroke_px"] == pytest.approx(side_px / 224, rel=0.1)


@pytest.mark.parametrize("side_px", [224, 300])
def test_thin_strokes_are_one_white_pixel_wide(side_px: int) -> None:
    light = light_of(render(star(), side_px=side_px))
    assert set(np.unique(light)) == {0, 255}
    assert cv2.erode(light, np.ones((2, 2), np.uint8)).sum() <= 0.01 * light.sum()


def test_wider_strokes_are_soft() -> None:
    cue = render(star(), ShapeParams(style="outline", stroke_share=0.01))
    assert len(np.unique(light_of(cue))) > 100
    assert cue.quality["stroke_px"] == pytest.approx(2.24, rel=0.1)


def test_large_cue_reduced_looks_like_the_small_one() -> None:
    small = light_of(render(spokes(), side_px=256)).astype(np.float64)
    large = light_of(render(spokes(), side_px=1024))
    reduced = cv2.resize(large, (256, 256), interpolation=cv2.INTER_AREA).astype(np.float64)
    assert np.corrcoef(cv2.blur(small, (3, 3)).ravel(), cv2.blur(reduced, (3, 3)).ravel())[0, 1] > 0.96


@pytest.mark.parametrize("make", [disk, star, spokes])
def test_half_the_photograph_gives_the_same_stroke_and_brightness(make: Callable[[], Mask]) -> None:
    mask = make()
    image = plain(mask)
    cv2.circle(image, (350, 300), 60, (250, 250, 250), -1)
    half = np.asarray(cv2.resize(image, (350, 300), interpolation=cv2.INTER_AREA), np.uint8)
    full_cue, half_cue = (
        render(mask, ShapeParams(), image=image),
        render(mask[::2, ::2], ShapeParams(), image=half),
    )
    for number in ("stroke_px", "lit_mean", "lit_share"):
        assert half_cue.quality[number] == pytest.approx(full_cue.quality[number], rel=0.1)
    assert half_cue.quality["upsample_factor"] == pytest.approx(
        2 * full_cue.quality["upsample_factor"], rel=0.02
    )


@pytest.fixture
def _threads() -> Iterator[None]:
    before = cv2.getNumThreads()
    yield
    cv2.setNumThreads(before)


@pytest.mark.usefixtures("_threads")
def test_bytes_are_the_same_for_every_call_and_number_of_threads() -> None:
    mask = spokes()
    image = loud(mask.shape)
    cues = []
    for n_threads in (1, 4, 2, 1):
        cv2.setNumThreads(n_threads)
        cues.append(render(mask, ShapeParams(), 512, image))
    assert len({cue.image.tobytes() for cue in cues}) == 1
    assert cues[0].quality == cues[1].quality == cues[2].quality


def test_arguments_are_left_as_they_were() -> None:
    mask = star()
    image = plain(mask)
    before = image.copy(), mask.copy()
    render(mask, ShapeParams(), image=image)
    assert np.array_equal(image, before[0])
    assert np.array_equal(mask, before[1])


def test_empty_mask_has_no_cue() -> None:
    mask = np.zeros((50, 60), np.bool_)
    cue = render_shape(plain(mask), mask, 224, ShapeParams())
    assert cue == Unavailable("mask_empty", "the mask has no pixel of the object")


@pytest.mark.parametrize("style", ["outline+interior", "outline", "silhouette", "skeleton"])
@pytest.mark.parametrize("box", [np.s_[20:21, 30:31], np.s_[20:22, 3:58], np.s_[0:50, 30:31], np.s_[:, :]])
def test_tiny_thin_and_full_masks_give_a_cue(style: str, box: tuple[slice, slice]) -> None:
    mask = np.zeros((50, 60), np.bool_)
    mask[box] = True
    cue = render_shape(loud(mask.shape), mask, 224, ShapeParams(style=style))
    assert isinstance(cue, ShapeCue)
    assert all(np.isfinite(value) for value in cue.quality.values())


def test_object_of_specks_has_no_cue() -> None:
    mask = np.zeros((2000, 2000), np.bool_)
    mask[10, 10] = mask[1990, 1990] = True
    cue = render_shape(np.zeros((2000, 2000, 3), np.uint8), mask, 224, ShapeParams())
    assert isinstance(cue, Unavailable)
    assert cue.status == "object_too_thin"


@pytest.mark.parametrize("side_px", [223, 2049, 0])
def test_side_out_of_range_is_refused(side_px: int) -> None:
    with pytest.raises(CuebenchError, match=f"side_px: expected 224 to 2048, got {side_px}"):
        render(disk(), side_px=side_px)


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((600, 700), np.uint8),
        np.zeros((600, 700, 4), np.uint8),
        np.zeros((600, 700, 3), np.float32),
    ],
)
def test_image_of_another_kind_is_refused(image: Pixels) -> None:
    with pytest.raises(CuebenchError, match=r"image: expected \(H, W, 3\) uint8, got \(600, 700"):
        render(disk(), image=image)


@pytest.mark.parametrize("mask", [np.ones((600, 701), np.bool_), np.ones((600, 700), np.uint8)])
def test_mask_of_another_shape_or_type_is_refused(mask: Mask) -> None:
    with pytest.raises(
        CuebenchError, match=r"mask: expected \(600, 700\) bool like the image, got \(600, 70"
    ):
        render(mask, image=np.zeros((600, 700, 3), np.uint8))


@pytest.mark.parametrize("key", ["style", "polarity", "margin_share", "stroke_share", "strokes"])
def test_parameters_out_of_range_are_refused(key: str) -> None:
    with pytest.raises(ValidationError, match=key):
        ShapeParams.model_validate({key: 0.9})


@needs_shared_data
def test_real_photographs_meet_the_targets() -> None:
    folder = SHARED_DATA / "photos"
    with (folder / "sources.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["cue"] == "shape"]
    numbers = [_inscribed_ellipse_cue(folder / row["file_name"]).quality for row in rows[::6]]
    assert len(numbers) >= 8
    assert min(number["peak"] for number in numbers) >= 230
    assert np.median([number["lit_median"] for number in numbers]) >= 140
    assert max(number["light_cut_share"] for number in numbers) <= 0.005
    widths = [number["stroke_px"] for number in numbers]
    assert np.std(widths) / np.mean(widths) <= 0.12


def _inscribed_ellipse_cue(path: Path) -> ShapeCue:
    """Return the cue of the middle of a photograph, cut out by an ellipse: no model is needed."""
    with Image.open(path) as photograph:
        image = np.asarray(photograph.convert("RGB"))
    height, width = image.shape[:2]
    centre, axes = (width // 2, height // 2), (width // 2 - 8, height // 2 - 8)
    mask = cv2.ellipse(np.zeros((height, width), np.uint8), centre, axes, 0, 0, 360, 1, -1) > 0
    return render(mask, ShapeParams(), image=image)
