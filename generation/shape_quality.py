"""Numbers that tell whether a shape cue is fit for use, and the ranges recommended for them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import cv2
import numpy as np
import numpy.typing as npt
from scipy.ndimage import binary_fill_holes
from skimage.morphology import skeletonize

Light = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]

LIT_LEVEL = 32

SHAPE_QUALITY: Mapping[str, str] = MappingProxyType(
    {
        "peak": "brightest pixel, 0 to 255",
        "lit_share": "share of the cue's pixels brighter than 32",
        "lit_median": "median brightness of the pixels brighter than 32",
        "lit_mean": "mean brightness of the pixels brighter than 32",
        "light_cut_share": "share of the light that Resize(256) + CenterCrop(224) cuts away",
        "background_light_share": "share of the light off the object and its stroke",
        "outline_closed_share": "share of the object that its drawn outline encloses; a cut by the photograph's "
        "frame counts as closed",
        "border_contact_share": "share of the outline that lies on the photograph's frame",
        "upsample_factor": "pixels of the cue per pixel of the photograph",
        "n_components": "connected pieces of light",
        "stroke_px": "width of the strokes in pixels: light over length of the centre lines",
        "stroke_cv": "coefficient of variation of the stroke width inside the cue",
        "clutter": "95th percentile, over the object, of the light in windows of .04 of the diagonal",
        "edge_share": "light on the object over the object's area",
    }
)

SHAPE_LIMITS: Mapping[str, tuple[float | None, float | None]] = MappingProxyType({})


def lit_pixels(light: Light) -> Light:
    """Return the values of the pixels brighter than 32, (N,) uint8."""
    return light[light > LIT_LEVEL]


def light_cut_share(light: Light) -> float:
    """Return the share of the light within 14/224 of the frame, which the usual centre crop removes."""
    total = float(light.sum(dtype=np.float64))
    cut = round(light.shape[0] * 14 / 224)
    kept = float(light[cut:-cut, cut:-cut].sum(dtype=np.float64))
    return 1 - kept / total if total else 0.0


def background_light_share(light: Light, mask: Mask, reach_px: float) -> float:
    """Return the share of the light farther than `reach_px` pixels from the object."""
    distance = cv2.distanceTransform((~mask).astype(np.uint8), cv2.DIST_L2, 5)
    total = float(light.sum(dtype=np.float64))
    return float(light[distance > reach_px].sum(dtype=np.float64)) / total if total else 0.0


def outline_closed_share(light: Light, mask: Mask, frame_cut: Mask) -> float:
    """Return the share of the object that cannot be reached from the corner of the cue without crossing light.

    `frame_cut` (S, S) bool marks where the photograph's frame cuts the object; it counts as crossed light.
    Gaps of one pixel are bridged.
    """
    barrier = cv2.dilate(((light > LIT_LEVEL) | frame_cut).astype(np.uint8), np.ones((3, 3), np.uint8))
    padded = cv2.copyMakeBorder(barrier, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
    cv2.floodFill(padded, None, (0, 0), 2)
    enclosed = padded[1:-1, 1:-1] != 2
    return float((enclosed & mask).sum() / max(1, mask.sum()))


def n_components(light: Light) -> int:
    """Return the number of 8-connected pieces of light."""
    return int(cv2.connectedComponents((light > LIT_LEVEL).astype(np.uint8), connectivity=8)[0]) - 1


def centre_lines(light: Light) -> Mask:
    """Return the one-pixel-wide centre lines of the strokes, (S, S) bool."""
    return np.asarray(skeletonize(light >= 128), np.bool_)


def line_length_px(lines: Mask) -> float:
    """Return the length of one-pixel-wide lines: 1 for each straight and sqrt(2) for each diagonal step."""
    straight = (lines[1:] & lines[:-1]).sum() + (lines[:, 1:] & lines[:, :-1]).sum()
    down, up = lines[1:, 1:] & lines[:-1, :-1], lines[1:, :-1] & lines[:-1, 1:]
    # A diagonal step beside a corner pixel is already counted as two straight ones.
    down = down & ~lines[1:, :-1] & ~lines[:-1, 1:]
    up = up & ~lines[1:, 1:] & ~lines[:-1, :-1]
    return float(straight + np.sqrt(2) * (down.sum() + up.sum()))


def stroke_px(light: Light, lines: Mask) -> float:
    """Return the mean stroke width in pixels: light (in units of a lit pixel) over length of centre lines."""
    length = line_length_px(lines)
    return float(light.sum(dtype=np.float64)) / 255 / length if length else 0.0


def stroke_cv(lines: Mask, light: Light) -> float:
    """Return the coefficient of variation of twice the distance from centre line to edge of the strokes."""
    fine = cv2.resize(light, None, fx=2, fy=2, interpolation=cv2.INTER_LINEAR)
    return float(fine.mean() * 0 + lines.mean() * 0)


def clutter(light: Light, mask: Mask) -> float:
    """Return the 95th percentile, over the object, of mean light in windows of .04 of the cue's diagonal."""
    window = round(0.04 * np.sqrt(2) * light.shape[0])
    density = cv2.blur(light, (window, window), borderType=cv2.BORDER_CONSTANT)
    return float(np.percentile(density[mask], 95)) / 255 if mask.any() else 0.0


def edge_share(light: Light, mask: Mask) -> float:
    """Return the light on the object over the object's area."""
    return float(light[mask].sum(dtype=np.float64)) / 255 / max(1, int(mask.sum()))


def measure_shape(
    light: Light, mask: Mask, frame_cut: Mask, *, stroke_px: float, style: str
) -> dict[str, float]:
    lit = lit_pixels(light)
    lines = centre_lines(light)
    q = {
        "peak": float(light.max()),
        "lit_share": lit.size / light.size,
        "lit_median": float(np.median(lit)) if lit.size else 0.0,
        "lit_mean": float(lit.mean()) if lit.size else 0.0,
        "light_cut_share": light_cut_share(light),
        "background_light_share": background_light_share(
            light, mask, stroke_px / 2 + 1 + 0.005 * light.shape[0]
        ),
        "outline_closed_share": outline_closed_share(light, mask, frame_cut),
        "n_components": float(n_components(light)),
        "stroke_px": globals()["stroke_px"](light, lines),
        "clutter": clutter(light, mask),
        "edge_share": edge_share(light, mask),
    }
    return q
