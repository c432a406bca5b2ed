"""What a classifier is shown of a photograph: windows of it, a cut-out, and the photograph without an object."""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np
import numpy.typing as npt

from generation.masks import Mask
from generation.segmenters.grabcut import Box

Image = npt.NDArray[np.uint8]

SIDE_PX = 256
GREY = 127
# Sides of the windows as shares of the photograph's shorter side, and the step as a share of a window's side.
WINDOW_SCALES = (1.0, 0.6, 0.36)
WINDOW_STEP = 0.5
# Of the side of a window those within it have so much.
SUB_SCALE = 0.6
MIN_WINDOW_PX = 32
# A cut-out's margin on each side, as a share of the object's longer side. Most preprocessings cut an eighth off.
MARGIN = 0.15
# How far around an object its surroundings go with it, as a share of the photograph's diagonal.
RIM = 0.01


def windows(height: int, width: int) -> list[Box]:
    """Return square windows that cover a photograph at several scales, the largest first, half overlapping."""
    found: dict[Box, None] = {}
    for scale in WINDOW_SCALES:
        side = min(height, width, max(MIN_WINDOW_PX, round(scale * min(height, width))))
        for top in _starts(height, side):
            found.update({(left, top, left + side, top + side): None for left in _starts(width, side)})
    return list(found)


def _starts(length: int, side: int) -> list[int]:
    n_steps = math.ceil((length - side) / (WINDOW_STEP * side))
    return [round(step * (length - side) / max(1, n_steps)) for step in range(n_steps + 1)]


def sub_windows(box: Box) -> list[Box]:
    """Return 3x3 square windows within a window; none within one that is as small as windows get."""
    left, top, right, _ = box
    side = max(MIN_WINDOW_PX, round(SUB_SCALE * (right - left)))
    room = right - left - side
    if room <= 0:
        return []
    steps = [round(room * step / 2) for step in range(3)]
    return [(left + x, top + y, left + x + side, top + y + side) for y in steps for x in steps]


def crop(image: Image, box: Box) -> Image:
    """Return the pixels of an image within a box, a copy."""
    left, top, right, bottom = box
    return np.ascontiguousarray(image[top:bottom, left:right])


def shown(image: Image) -> Image:
    """Return a picture as the classifier is shown it: (SIDE_PX, SIDE_PX, 3) uint8, squashed."""
    shrinks = min(image.shape[:2]) > SIDE_PX
    size = (SIDE_PX, SIDE_PX)
    return np.asarray(
        cv2.resize(image, size, interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_CUBIC), np.uint8
    )


def bounds(mask: Mask) -> Box:
    """Return the box around a mask that is not empty."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def cut_out(image: Image, mask: Mask) -> Image:
    """Return the object alone on neutral grey, in the middle of a square with a margin around it."""
    box = bounds(mask)
    pixels, inside = crop(image, box), mask[box[1] : box[3], box[0] : box[2]]
    height, width = inside.shape
    side = math.ceil(max(height, width) * (1 + 2 * MARGIN))
    canvas = np.full((side, side, 3), GREY, np.uint8)
    top, left = (side - height) // 2, (side - width) // 2
    canvas[top : top + height, left : left + width][inside] = pixels[inside]
    return shown(canvas)


def without(image: Image, mask: Mask, boxes: Sequence[Box]) -> list[Image]:
    """Return the pictures that boxes cut from an image in which the object, with a rim, is neutral grey."""
    radius = max(1, round(RIM * math.hypot(*mask.shape)))
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1, 2 * radius + 1))
    gone = image.copy()
    gone[cv2.dilate(mask.astype(np.uint8), kernel).astype(bool)] = GREY
    return [shown(crop(gone, box)) for box in boxes]


def overlap(one: Box, other: Box) -> float:
    """Return the intersection over union of two boxes."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    both = max(0, width) * max(0, height)
    return both / (_area(one) + _area(other) - both)


def widened(box: Box, factor: float, height: int, width: int) -> Box:
    """Return a box scaled about its centre, within a photograph."""
    left, top, right, bottom = box
    by_x, by_y = round((right - left) * (factor - 1) / 2), round((bottom - top) * (factor - 1) / 2)
    return max(0, left - by_x), max(0, top - by_y), min(width, right + by_x), min(height, bottom + by_y)


def _area(box: Box) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])
