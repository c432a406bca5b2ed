"""The shape cue: the outline and inner structure of an object as uniform strokes, without its texture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import cv2
import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from data_manifests.errors import CuebenchError
from generation.outcome import Unavailable
from generation.shape_canvas import Canvas, Placement
from generation.shape_lines import (
    Curve,
    skeleton_lines,
    split_where,
    structure_lines,
    trace_lines,
    trace_outline,
)
from generation.shape_quality import measure_shape

MIN_SIDE_PX = 224
MAX_SIDE_PX = 2048
_PAD_PX = 6  # background around the object in the working image
_SPUR_PX = 6.0
_SPECK_SHARE = 0.02  # smaller parts and holes of a mask are its errors, as a share of the object
# Networks recognise a fourth more of the objects drawn in white pixels than of those in soft lines.
_CRISP_PX = 1.5
_SNAPPED_PX = 32.0  # a smaller side would be stretched by more than 2 % to whole pixels


class ShapeParams(BaseModel):
    """How a shape cue is drawn. Lengths are shares, so that a cue looks the same at every size.

    Attributes
    ----------
    style
        What is drawn: the outline with the structure inside, the outline alone, the filled object, or its
        medial axis.
    polarity
        Colours of lines (or object) and background.
    margin_share
        Empty border on each side of the longer side of the object, as a share of the cue's side.
    stroke_share
        Width of a stroke as a share of the cue's side: one pixel at 224. Strokes thinner than 1.5 px are
        crisp: one white pixel wide, not anti-aliased.
    working_px
        Longer side of the object, in pixels, when lines are looked for. The same for every source and cue,
        so that neither the resolution of the photograph nor that of the cue changes the drawing.
    smoothing_share
        Standard deviation of the Gaussian along curves, as a share of `working_px`.
    texture_suppression
        How much an edge among edges is lowered (weight of the surround); 0 keeps texture. At 1.5 checkering
        and grain go; at 2 coarse texture as well, and some of the details by which networks tell objects.
    min_line_share
        Inner lines whose bounding box has a smaller diagonal are left out, as a share of `working_px`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    style: Literal["outline+interior", "outline", "silhouette", "skeleton"] = "outline+interior"
    polarity: Literal["white-on-black", "black-on-white"] = "white-on-black"
    margin_share: Annotated[float, Field(ge=0.0, le=0.4)] = 0.08
    stroke_share: Annotated[float, Field(ge=0.002, le=0.05)] = 1 / 224
    working_px: Annotated[int, Field(ge=128, le=1024)] = 576
    smoothing_share: Annotated[float, Field(ge=0.0, le=0.02)] = 0.002
    texture_suppression: Annotated[float, Field(ge=0.0, le=4.0)] = 1.5
    min_line_share: Annotated[float, Field(ge=0.0, le=0.5)] = 0.015


@dataclass(frozen=True)
class ShapeCue:
    """A rendered shape cue.

    `image` is (S, S, 3) uint8 with three equal channels; `quality` holds the numbers of
    `generation.shape_quality.SHAPE_QUALITY` that apply to its style.
    """

    image: npt.NDArray[np.uint8]
    quality: dict[str, float]


@dataclass(frozen=True)
class _Working:
    """The object at the working size; `source_px` pixels of it are one pixel of the photograph."""

    image: npt.NDArray[np.uint8]
    coverage: npt.NDArray[np.float32]
    photograph: npt.NDArray[np.float64]  # left, top, right, bottom of the photograph in working pixels
    source_px: float


def render_shape(
    image: npt.NDArray[np.uint8], mask: npt.NDArray[np.bool_], side_px: int, params: ShapeParams
) -> ShapeCue | Unavailable:
    """Return the shape cue of an object: the same bytes for the same arguments, whatever the threads.

    Parameters
    ----------
    image
        (H, W, 3) uint8 sRGB.
    mask
        (H, W) bool, True on the object.
    side_px
        Side of the square cue in pixels, 224 to 2048.

    Raises
    ------
    CuebenchError
        If `side_px` is out of range, or image and mask do not have the shapes and types above.
    """
    _check(image, mask, side_px)
    if not mask.any():
        return Unavailable("mask_empty", "the mask has no pixel of the object")
    working = _to_working_size(image, mask, params.working_px)
    # The steps of a mask's pixels are smoothed away where they are larger than the smoothing asked for.
    sigma_px = float(np.hypot(params.smoothing_share * params.working_px, 1.2 * working.source_px))
    outline = trace_outline(working.coverage, sigma_px, min_extent_px=_SPECK_SHARE * params.working_px)
    if not outline:
        return Unavailable("object_too_thin", "no part of the object is wide enough to have an outline")
    at_frame = [_lies_on_frame(curve, working) for curve in outline]
    placement = _placement(working, side_px, params.margin_share)
    is_crisp = params.style != "silhouette" and params.stroke_share * side_px < _CRISP_PX
    canvas = Canvas(side_px, placement, n_fine=1 if is_crisp else None)
    light = _draw(working, outline, at_frame, canvas, params)
    frame = Canvas(side_px, placement, n_fine=1)
    frame.stroke(_pieces(outline, [~hidden for hidden in at_frame]), 1)
    quality = measure_shape(
        light,
        placement.warp(_widened(working.coverage), side_px),
        frame.light() > 0,
        reach_px=params.stroke_share * side_px / 2 + 1 + 3 * sigma_px * placement.scale_x,
        style=params.style,
    )
    quality["border_contact_share"] = float(np.concatenate(at_frame).mean())
    quality["upsample_factor"] = placement.scale_x * working.source_px
    shown = light if params.polarity == "white-on-black" else np.asarray(255 - light, np.uint8)
    return ShapeCue(np.asarray(cv2.merge([shown, shown, shown]), np.uint8), quality)


def _check(image: npt.NDArray[np.uint8], mask: npt.NDArray[np.bool_], side_px: int) -> None:
    if not MIN_SIDE_PX <= side_px <= MAX_SIDE_PX:
        raise CuebenchError(f"side_px: expected {MIN_SIDE_PX} to {MAX_SIDE_PX}, got {side_px}")
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise CuebenchError(f"image: expected (H, W, 3) uint8, got {image.shape} {image.dtype}")
    if mask.shape != image.shape[:2] or mask.dtype != np.bool_:
        raise CuebenchError(
            f"mask: expected {image.shape[:2]} bool like the image, got {mask.shape} {mask.dtype}"
        )


def _to_working_size(image: npt.NDArray[np.uint8], mask: npt.NDArray[np.bool_], working_px: int) -> _Working:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    top, bottom, left, right = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    scale = working_px / max(bottom - top, right - left)
    size = (max(1, round((right - left) * scale)), max(1, round((bottom - top) * scale)))
    shrinks = scale < 1
    pixels = cv2.resize(
        np.ascontiguousarray(image[top:bottom, left:right]),
        size,
        interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_CUBIC,
    )
    coverage = cv2.resize(
        mask[top:bottom, left:right].astype(np.uint8) * 255,
        size,
        interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR,
    )
    pad = (_PAD_PX,) * 4
    covered = cv2.copyMakeBorder(coverage.astype(np.float32) / 255, *pad, cv2.BORDER_CONSTANT, value=0)
    scale_x, scale_y = size[0] / (right - left), size[1] / (bottom - top)
    height, width = mask.shape
    return _Working(
        np.asarray(cv2.copyMakeBorder(pixels, *pad, cv2.BORDER_REPLICATE), np.uint8),
        np.asarray(covered, np.float32),
        np.array([-left * scale_x, -top * scale_y, (width - left) * scale_x, (height - top) * scale_y])
        + (_PAD_PX - 0.5),
        scale,
    )


def _lies_on_frame(curve: Curve, working: _Working) -> npt.NDArray[np.bool_]:
    # A segmenter's mask often ends a pixel before the frame that cuts the object.
    tolerance = 1 + working.source_px
    low, high = working.photograph[:2], working.photograph[2:]
    return np.asarray(((curve.points - low < tolerance) | (high - curve.points < tolerance)).any(axis=1))


def _placement(working: _Working, side_px: int, margin_share: float) -> Placement:
    """Return the map that centres the object and makes its longer side fill the cue but for the margins.

    Both sides are whole pixels and start at the centre of one: the straight sides of a box have the same
    brightness in every cue, instead of the one that chance gives to a line between two rows of pixels.
    """
    height, width = working.coverage.shape
    low, extent = float(_PAD_PX), np.array([width, height]) - 2 * _PAD_PX
    scale = np.floor((1 - 2 * margin_share) * side_px) / extent.max()
    size = np.maximum(1, np.rint(extent * scale))
    scales = size / extent if extent.min() * scale >= _SNAPPED_PX else np.full(2, scale)
    offset = np.floor((side_px - size) / 2) + 0.5 - scales * low
    return Placement(float(scales[0]), float(scales[1]), float(offset[0]), float(offset[1]))


def _widened(coverage: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    # By a working pixel (half a pixel at 224): thinner parts would fall between the pixels of the cue.
    return np.asarray(cv2.dilate(coverage, np.ones((3, 3), np.uint8)), np.float32)


def _pieces(outline: list[Curve], hidden: list[npt.NDArray[np.bool_]]) -> list[Curve]:
    return [piece for curve, at in zip(outline, hidden, strict=True) for piece in split_where(curve, at)]


def _inside(outline: list[Curve], working: _Working) -> npt.NDArray[np.bool_]:
    inside = np.zeros(working.coverage.shape, np.uint8)
    return np.asarray(cv2.fillPoly(inside, [np.rint(c.points).astype(np.int32) for c in outline], 1) > 0)


def _draw(
    working: _Working,
    outline: list[Curve],
    at_frame: list[npt.NDArray[np.bool_]],
    canvas: Canvas,
    params: ShapeParams,
) -> npt.NDArray[np.uint8]:
    stroke_px = params.stroke_share * canvas.side_px
    sigma_px = params.smoothing_share * params.working_px
    if params.style == "silhouette":
        canvas.fill(outline)
    elif params.style == "skeleton":
        axis = trace_lines(
            skeleton_lines(_inside(outline, working)), sigma_px, max_spur_px=0.03 * params.working_px
        )
        canvas.stroke(axis, stroke_px)
    else:
        canvas.stroke(_pieces(outline, at_frame), stroke_px)
    if params.style == "outline+interior":
        min_extent_px = params.min_line_share * params.working_px
        lines = structure_lines(
            working.image, working.coverage >= 0.5, params.texture_suppression, min_extent_px
        )
        inner = trace_lines(lines, sigma_px, max_spur_px=_SPUR_PX)
        canvas.stroke(inner, stroke_px)
    return canvas.light()
