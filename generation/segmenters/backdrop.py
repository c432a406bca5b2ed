"""A plain backdrop, as product shots have: what is connected to the frame and coloured like it is no object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import cv2
import numpy as np
import numpy.typing as npt

from generation.masks import MaskCandidate, Probability, propose_from
from generation.photograph import Photograph

# A border around a picture: as wide as that at most, of the shorter side, and the picture fills what it encloses.
MAX_BORDER = 0.05
MIN_PICTURE_FILLED = 0.98
# How far the border's colour is smoothed into the picture.
BLUR_PX = 3


@dataclass(frozen=True)
class BackdropSegmenter:
    """The photograph without the backdrop that its frame shows.

    `tolerance` is the distance in CIE Lab (8 bits a channel) from one pixel of the backdrop to the next and to
    the frame's median colour times `n_tolerances`, so that shading may run over the backdrop; at least
    `min_frame_share` of the frame's pixels must be of the backdrop, or nothing is proposed.
    """

    tolerance: float = 6.0
    n_tolerances: float = 4.0
    min_frame_share: float = 0.7
    name: str = "backdrop"

    def propose(self, photograph: Photograph) -> list[MaskCandidate]:
        """Return what stands before the backdrop; nothing if the frame shows no plain one."""
        return propose_from(self._foreground(photograph.image), self.name)

    def _foreground(self, image: npt.NDArray[np.uint8]) -> Probability:
        """Return 1 on what stands before the backdrop of a photograph, or of the picture within a border."""
        smooth = cv2.GaussianBlur(image, (0, 0), 1.0)
        lab = np.asarray(cv2.cvtColor(smooth, cv2.COLOR_RGB2LAB), np.uint8)
        distance = np.linalg.norm(lab.astype(np.float32) - np.median(_frame(lab), axis=0), axis=2)
        alike = (distance < self.n_tolerances * self.tolerance) & (_steps(lab) < self.tolerance)
        backdrop = _connected_to_frame(alike)
        if _frame(backdrop).mean() < self.min_frame_share:
            return np.zeros(backdrop.shape, np.float32)
        found: Probability = (~backdrop).astype(np.float32)
        picture = _picture_in_border(~backdrop)
        if picture is not None:
            found[:] = 0
            found[picture] = self._foreground(image[picture])
        return found


Pixels = TypeVar("Pixels", bound=np.generic)


def _frame(image: npt.NDArray[Pixels]) -> npt.NDArray[Pixels]:
    """Return the outermost pixels of an image, (n,) or (n, 3)."""
    return np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])


def _picture_in_border(foreground: npt.NDArray[np.bool_]) -> tuple[slice, slice] | None:
    """Return where the picture lies if what stands before the backdrop is one with a border around it."""
    rows, columns = np.flatnonzero(foreground.any(1)), np.flatnonzero(foreground.any(0))
    if not len(rows):
        return None
    top, left, bottom, right = rows[0], columns[0], rows[-1] + 1, columns[-1] + 1
    height, width = foreground.shape
    widest = max(top, left, height - bottom, width - right)
    filled = float(foreground[top:bottom, left:right].mean())
    if widest == 0 or widest > MAX_BORDER * min(height, width) or filled < MIN_PICTURE_FILLED:
        return None
    picture = slice(top + BLUR_PX, bottom - BLUR_PX), slice(left + BLUR_PX, right - BLUR_PX)
    return picture if foreground[picture].size else None


def _steps(lab: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Return how far colours differ within the 3x3 neighbours of each pixel, in Lab."""
    kernel = np.ones((3, 3), np.uint8)
    spread = cv2.dilate(lab, kernel).astype(np.float32) - cv2.erode(lab, kernel)
    steps: npt.NDArray[np.float32] = np.linalg.norm(spread, axis=2) / 2
    return steps


def _connected_to_frame(alike: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    _, labels = cv2.connectedComponents(alike.astype(np.uint8), connectivity=4)
    edge = np.unique(_frame(labels))
    connected: npt.NDArray[np.bool_] = np.isin(labels, edge[edge > 0])
    return connected
