"""A square canvas on which curves become anti-aliased strokes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from generation.shape_lines import Curve, Points

_FINE_PX = 2048  # smallest side of the raster in which strokes are drawn before it is reduced
_SHIFT = 4  # binary digits of a pixel's fraction in OpenCV's drawing functions


@dataclass(frozen=True)
class Placement:
    """Maps pixels of a working array to a canvas: `scale` times, then moved (pixels are unit squares)."""

    scale_x: float
    scale_y: float
    offset_x: float
    offset_y: float

    def apply(self, points: Points) -> Points:
        """Return (N, 2) points on the canvas, in units in which a pixel's centre is at .5."""
        return (points + 0.5) * (self.scale_x, self.scale_y) + (self.offset_x, self.offset_y)

    def warp(self, coverage: npt.NDArray[np.float32], side_px: int) -> npt.NDArray[np.bool_]:
        """Return the (S, S) bool mask of a (H, W) float32 coverage on the canvas."""
        matrix = np.array(
            [
                [self.scale_x, 0, self.offset_x + 0.5 * self.scale_x - 0.5],
                [0, self.scale_y, self.offset_y + 0.5 * self.scale_y - 0.5],
            ]
        )
        return np.asarray(cv2.warpAffine(coverage, matrix, (side_px, side_px)) >= 0.5, np.bool_)


class Canvas:
    """Light on a dark square.

    Drawn on a finer raster and reduced by area, so that it is anti-aliased; with `n_fine` 1 on the square
    itself, so that each pixel of a stroke is white.
    """

    def __init__(self, side_px: int, placement: Placement, n_fine: int | None = None) -> None:
        self.side_px = side_px
        self._placement = placement
        self._factor = n_fine or max(1, _FINE_PX // side_px)
        self._line_type = cv2.LINE_AA if n_fine is None and self._factor < 4 else cv2.LINE_8
        self._fine = np.zeros((side_px * self._factor,) * 2, np.uint8)

    def stroke(self, curves: Sequence[Curve], width_px: float) -> None:
        """Draw curves (in pixels of the working array) `width_px` pixels of the canvas wide."""
        # OpenCV's lines are an odd number of pixels wide: an even thickness gives one more.
        thickness = max(1, 2 * round((width_px * self._factor - 1) / 2))
        for closed in (False, True):
            paths = self._paths([curve for curve in curves if curve.closed == closed])
            cv2.polylines(self._fine, paths, closed, 255, thickness, self._line_type, _SHIFT)

    def fill(self, curves: Sequence[Curve]) -> None:
        """Fill closed curves by the even-odd rule: a curve inside another one is a hole."""
        cv2.fillPoly(self._fine, self._paths(curves), 255, cv2.LINE_AA, _SHIFT)

    def light(self) -> npt.NDArray[np.uint8]:
        """Return the canvas, (S, S) uint8."""
        if self._factor == 1:
            return self._fine.copy()
        # A window of one and a half pixels: a line is less bright or dark for where it lies between pixels.
        soft = cv2.blur(self._fine, (self._factor // 2 | 1,) * 2)
        return np.asarray(cv2.resize(soft, (self.side_px,) * 2, interpolation=cv2.INTER_AREA), np.uint8)

    def _paths(self, curves: Sequence[Curve]) -> Sequence[npt.NDArray[np.int32]]:
        if not curves:
            return []
        fine = self._placement.apply(np.vstack([curve.points for curve in curves])) * self._factor - 0.5
        ends = np.cumsum([len(curve.points) for curve in curves])
        return np.split(np.rint(fine * (1 << _SHIFT)).astype(np.int32), ends[:-1])
