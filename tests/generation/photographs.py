"""Small photographs drawn in code, with objects whose masks are known."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage

Image = npt.NDArray[np.uint8]


def draw_photograph(seed: int, side_px: int = 240) -> Image:
    """Return a speckled disk with a bar on a plain background, (side, side, 3) uint8."""
    noise = np.random.Generator(np.random.PCG64(seed)).integers(0, 90, (side_px, side_px, 3))
    image = np.full((side_px, side_px, 3), 235, np.uint8)
    inside = np.zeros((side_px, side_px), np.uint8)
    cv2.circle(inside, (side_px // 2, side_px // 2), int(side_px * 0.42), 1, -1)
    speckled = (noise + np.array([60, 20 + 13 * (seed % 7), 30])).astype(np.uint8)
    image[inside == 1] = speckled[inside == 1]
    cv2.rectangle(
        image, (side_px // 3, side_px // 2), (side_px * 2 // 3, side_px // 2 + 12), (250, 250, 60), -1
    )
    return image


def write_photographs(folder: Path, n_shape: int, n_texture: int) -> None:
    """Write photographs for the classes `clock` (shape) and `zebra` (texture)."""
    for superclass, count, first in (("clock", n_shape, 0), ("zebra", n_texture, 100)):
        target = folder / superclass
        target.mkdir(parents=True)
        for number in range(first, first + count):
            PillowImage.fromarray(draw_photograph(number)).save(target / f"{number}.png")
