"""GrabCut: no weights, good on plain backgrounds."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from data_manifests.errors import CuebenchError
from generation.masks import MaskCandidate, propose_from
from generation.photograph import Photograph

Box = tuple[int, int, int, int]


def check_box(box: Box, photograph: Photograph) -> None:
    """Refuse a box that has no area or does not lie within the photograph.

    Raises
    ------
    CuebenchError
        If it is such a box.
    """
    height, width = photograph.image.shape[:2]
    left, top, right, bottom = box
    if not (0 <= left < right <= width and 0 <= top < bottom <= height):
        raise CuebenchError(
            f"{photograph.file_name}: no box (left, top, right, bottom) within {width}x{height} pixels: {box}"
        )


@dataclass(frozen=True)
class GrabCutSegmenter:
    """GrabCut (Rother et al., SIGGRAPH 2004) from a box, by default the inner 90 % of the frame.

    `box` is (left, top, right, bottom) in pixels of the photograph. Works at `max_side_px` at most, which
    bounds its time.
    """

    box: Box | None = None
    n_iterations: int = 5
    max_side_px: int = 512
    name: str = "grabcut"

    def propose(self, photograph: Photograph) -> list[MaskCandidate]:
        """Return the foreground; nothing if GrabCut leaves none.

        Raises
        ------
        CuebenchError
            If the box has no area or does not lie within the photograph.
        """
        if self.box is not None:
            check_box(self.box, photograph)
        height, width = photograph.image.shape[:2]
        scale = min(1.0, self.max_side_px / max(height, width))
        size = (max(3, round(width * scale)), max(3, round(height * scale)))
        small = cv2.resize(photograph.image, size, interpolation=cv2.INTER_AREA)
        left, top, right, bottom = self.box or (
            round(0.05 * width), round(0.05 * height), round(0.95 * width), round(0.95 * height),
        )  # fmt: skip
        x, y = round(left * scale), round(top * scale)
        rectangle = (x, y, max(1, round(right * scale) - x), max(1, round(bottom * scale) - y))
        labels = np.zeros(size[::-1], np.uint8)
        models = np.zeros((1, 65)), np.zeros((1, 65))
        # GrabCut draws from OpenCV's global generator: without this, two calls differ.
        cv2.setRNGSeed(0)
        bgr = cv2.cvtColor(small, cv2.COLOR_RGB2BGR)
        try:
            cv2.grabCut(bgr, labels, rectangle, *models, self.n_iterations, cv2.GC_INIT_WITH_RECT)
        except cv2.error:
            # All pixels alike on one side of the box: there is nothing to model.
            return []
        found = ((labels == cv2.GC_FGD) | (labels == cv2.GC_PR_FGD)).astype(np.float32)
        return propose_from(cv2.resize(found, (width, height), interpolation=cv2.INTER_LINEAR), self.name)
