"""Numbers that tell whether a shape cue is fit for use, and the ranges recommended for them.

`light` is (S, S) uint8, white lines on black, whatever the polarity of the cue; `mask` is (S, S) bool, the
object where it lies on the cue; `lines` is (S, S) bool, one-pixel-wide centre lines of the strokes. Shares
lie in [0, 1].
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import cv2
import numpy as np
import numpy.typing as npt
from cv2.typing import MatLike
from skimage.morphology import skeletonize

Light = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]

LIT_LEVEL = 32
_CUT_SHARE = 14 / 224  # Resize(256) then CenterCrop(224) keeps the middle 7/8 of each side
_CLUTTER_SHARE = 0.04
_STROKE_WINDOW_SHARE = 0.06
_FRAGMENT_SHARE = 0.06
_LETTER_SHARE = 0.1  # largest letter, as a share of the cue's side
_OPPOSITE_COSINE = -0.94  # 160 degrees

SHAPE_QUALITY: Mapping[str, str] = MappingProxyType(
    {
        "peak": "brightest pixel, 0 to 255",
        "lit_share": "share of the cue's pixels brighter than 32",
        "lit_median": "median brightness of the pixels brighter than 32, 0 to 255",
        "lit_mean": "mean brightness of the pixels brighter than 32, 0 to 255",
        "light_cut_share": "share of the light that Resize(256) and CenterCrop(224) cut away",
        "background_light_share": "share of the light that is neither on the object nor in its outline",
        "outline_closed_share": "share of the object that its outline (or the frame that cuts it) encloses",
        "border_contact_share": "share of the outline that lies on the photograph's frame and is not drawn",
        "upsample_factor": "pixels of the cue per pixel of the photograph",
        "n_components": "connected pieces of light",
        "stroke_px": "mean stroke width in pixels: light over length of the centre lines",
        "stroke_cv": "coefficient of variation of the local stroke width inside the cue",
        "clutter": "95th percentile, over the object, of the light in windows of .04 of the cue's diagonal",
        "edge_share": "light on the object over the object's area",
        "fragment_share": "share of the light in pieces shorter than .06 of the object: surface texture",
        "text_like": "pieces of light with a neighbour of their size close on both sides: letters, patterns",
    }
)


def measure_shape(
    light: Light, mask: Mask, frame_cut: Mask, *, reach_px: float, style: str
) -> dict[str, float]:
    """Return the numbers of `SHAPE_QUALITY` that apply to a style and that the pixels tell.

    `border_contact_share` and `upsample_factor` are the renderer's to add. `reach_px` is how far from the
    object its outline's stroke may reach, in pixels; `frame_cut` is as for `outline_closed_share`.
    """
    lit = lit_pixels(light)
    quality = {
        "peak": float(light.max()),
        "lit_share": lit.size / light.size,
        "lit_median": float(np.median(lit)) if lit.size else 0.0,
        "lit_mean": float(lit.mean()) if lit.size else 0.0,
        "light_cut_share": light_cut_share(light),
        "background_light_share": background_light_share(light, mask, reach_px),
        "n_components": float(n_components(light)),
    }
    if style in ("outline", "outline+interior"):
        quality["outline_closed_share"] = outline_closed_share(light, mask, frame_cut)
    if style != "silhouette":
        lines = centre_lines(light)
        quality["stroke_px"] = stroke_px(light, lines)
        quality["stroke_cv"] = stroke_cv(light, lines)
        quality["clutter"] = clutter(light, mask)
        quality["edge_share"] = edge_share(light, mask)
        quality["fragment_share"] = fragment_share(light, mask)
        quality["text_like"] = float(text_like(light))
    return quality


def lit_pixels(light: Light) -> Light:
    """Return the values of the pixels brighter than 32, (N,) uint8."""
    return light[light > LIT_LEVEL]


def light_cut_share(light: Light) -> float:
    """Return the share of the light within 14/224 of the frame, which the usual centre crop removes."""
    total = _sum(light)
    cut = round(light.shape[0] * _CUT_SHARE)
    return 1 - _sum(light[cut:-cut, cut:-cut]) / total if total else 0.0


def _sum(values: Light) -> float:
    return float(values.sum(dtype=np.int64))


def background_light_share(light: Light, mask: Mask, reach_px: float) -> float:
    """Return the share of the light farther than `reach_px` pixels from the object."""
    total = _sum(light)
    distance = cv2.distanceTransform((~mask).astype(np.uint8), cv2.DIST_L2, 5)
    return _sum(light[distance > reach_px]) / total if total else 0.0


def outline_closed_share(light: Light, mask: Mask, frame_cut: Mask) -> float:
    """Return the share of the object that cannot be reached from outside without crossing light.

    `frame_cut` (S, S) bool marks where the photograph's frame cuts the object: it stops as light does. Gaps
    of up to two pixels are bridged.
    """
    stops = cv2.dilate(((light > LIT_LEVEL) | frame_cut).astype(np.uint8), np.ones((3, 3), np.uint8))
    stops = cv2.copyMakeBorder(stops, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
    cv2.floodFill(stops, None, (0, 0), 2)
    enclosed = stops[1:-1, 1:-1] != 2
    return float((enclosed & mask).sum()) / max(1, int(mask.sum()))


def n_components(light: Light) -> int:
    """Return the number of 8-connected pieces of pixels brighter than 32."""
    return int(cv2.connectedComponents((light > LIT_LEVEL).astype(np.uint8), connectivity=8)[0]) - 1


def centre_lines(light: Light) -> Mask:
    """Return the one-pixel-wide centre lines of the strokes (thinning of Zhang and Suen, 1984)."""
    return np.asarray(skeletonize(light >= 128), np.bool_)  # type: ignore[no-untyped-call]


def line_lengths(lines: Mask) -> npt.NDArray[np.float32]:
    """Return the length of the lines in each pixel, (S, S) float32 in pixels.

    Each step between two neighbours is 1 long, or sqrt(2) if diagonal, and belongs half to either. A diagonal
    step beside a corner pixel is left out: the corner's two straight ones are there.
    """
    lengths = np.zeros(lines.shape, np.float32)
    n_rows, n_columns = lines.shape
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        here = np.s_[: n_rows - down, max(0, -right) : n_columns - max(0, right)]
        there = np.s_[down:, max(0, right) : n_columns + min(0, right)]
        step = lines[here] & lines[there]
        if down and right:
            step &= ~lines[here[0], there[1]] & ~lines[there[0], here[1]]
        half = step * np.float32(np.hypot(down, right) / 2)
        lengths[here] += half
        lengths[there] += half
    return lengths


def stroke_px(light: Light, lines: Mask) -> float:
    """Return the mean stroke width in pixels: light, in white pixels, over the length of the centre lines."""
    length = float(line_lengths(lines).sum(dtype=np.float64))
    return _sum(light) / 255 / length if length else 0.0


def stroke_cv(light: Light, lines: Mask) -> float:
    """Return the coefficient of variation of the stroke width in windows of .06 of the side."""
    window = (2 * round(_STROKE_WINDOW_SHARE * light.shape[0] / 2) + 1,) * 2
    area = cv2.boxFilter(light, cv2.CV_32F, window, normalize=False, borderType=cv2.BORDER_CONSTANT) / 255
    length = cv2.boxFilter(
        line_lengths(lines), cv2.CV_32F, window, normalize=False, borderType=cv2.BORDER_CONSTANT
    )
    on_lines = lines & (length >= 1)
    widths = area[on_lines].astype(np.float64) / length[on_lines]
    return float(widths.std() / widths.mean()) if widths.size else 0.0


def clutter(light: Light, mask: Mask) -> float:
    """Return the 95th percentile, over the object, of mean light in windows of .04 of the cue's diagonal."""
    window = (round(_CLUTTER_SHARE * np.sqrt(2) * light.shape[0]),) * 2
    density = cv2.blur(light, window, borderType=cv2.BORDER_CONSTANT)
    return float(np.percentile(density[mask], 95)) / 255 if mask.any() else 0.0


def edge_share(light: Light, mask: Mask) -> float:
    """Return the light on the object, in white pixels, over the object's area."""
    return _sum(light[mask]) / 255 / max(1, int(mask.sum()))


def fragment_share(light: Light, mask: Mask) -> float:
    """Return the share of the light in connected pieces shorter than .06 of the object's longer side.

    Structure is drawn in long lines that meet; grain, checkering, fur and print break into short ones.
    """
    if not mask.any():
        return 0.0
    _, labels, stats, _ = cv2.connectedComponentsWithStats((light > LIT_LEVEL).astype(np.uint8))
    longer_side = max(np.ptp(np.flatnonzero(mask.any(axis=axis))) + 1 for axis in (0, 1))
    is_fragment = np.hypot(*_sizes(stats).T) < _FRAGMENT_SHARE * longer_side
    is_fragment[0] = False
    return _sum(light[is_fragment[labels]]) / max(1.0, _sum(light))


def text_like(light: Light) -> int:
    """Return the number of pieces of light that stand in a row: the inner letters of straight or bent words.

    Such a piece is at most .1 of the side large and has two neighbours on opposite sides, at most twice its
    size away and neither half nor double its size.
    """
    _, _, stats, centres = cv2.connectedComponentsWithStats((light > LIT_LEVEL).astype(np.uint8))
    sizes = _sizes(stats[1:]).max(axis=1, initial=0)
    is_small = sizes <= _LETTER_SHARE * light.shape[0]
    sizes, centres = sizes[is_small], centres[1:][is_small]
    steps = centres[None] - centres[:, None]
    distances = np.hypot(steps[..., 0], steps[..., 1])
    ratios = sizes[None] / sizes[:, None]
    is_near = (distances > 0) & (distances <= 2 * sizes[:, None]) & (ratios > 0.5) & (ratios < 2)
    directions = steps / np.maximum(distances, 1e-6)[..., None]
    rows = (own[near] for own, near in zip(directions, is_near, strict=True) if near.any())
    return sum(bool((near @ near.T).min() < _OPPOSITE_COSINE) for near in rows)


def _sizes(stats: MatLike) -> npt.NDArray[np.float64]:
    return np.asarray(stats[:, [cv2.CC_STAT_WIDTH, cv2.CC_STAT_HEIGHT]], np.float64)
