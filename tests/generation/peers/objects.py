"""An object and a texture, drawn in code."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from tests.generation.photographs import draw_photograph

Picture = tuple[npt.NDArray[np.uint8], npt.NDArray[np.bool_]]


def disk_picture(side_px: int = 240) -> Picture:
    """Return a photograph of a disk with its mask."""
    mask = np.zeros((side_px, side_px), np.uint8)
    cv2.circle(mask, (side_px // 2, side_px // 2), int(side_px * 0.42), 1, -1)
    return draw_photograph(1, side_px), mask > 0


def speckled_frame(side_px: int = 300) -> Picture:
    """Return a texture that fills its frame."""
    noise = np.random.default_rng(6).integers(0, 256, (side_px, side_px, 3), np.uint8)
    return np.asarray(cv2.GaussianBlur(noise, (0, 0), 1.5), np.uint8), np.ones((side_px, side_px), bool)
