"""What the systems share: checks of arrays, a square cut around an object, blending."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from data_manifests.errors import CuebenchError

Image = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Coverage = npt.NDArray[np.float32]

WHITE = 255


def check_image(image: Image) -> None:
    """Refuse what is no (H, W, 3) uint8 picture.

    Raises
    ------
    CuebenchError
        If shape or type differ.
    """
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise CuebenchError(f"image: expected (H, W, 3) uint8, got {image.shape} {image.dtype}")


def check_mask(image: Image, mask: Mask) -> None:
    """Refuse a mask that is not (H, W) bool of the image's size, or that shows no object.

    Raises
    ------
    CuebenchError
        If it is of another size or type, or empty.
    """
    check_image(image)
    if mask.shape != image.shape[:2] or mask.dtype != np.bool_:
        raise CuebenchError(f"mask: expected {image.shape[:2]} bool, got {mask.shape} {mask.dtype}")
    if not mask.any():
        raise CuebenchError("mask: no pixel of it is True; expected an object")


def object_box(mask: Mask) -> tuple[int, int, int, int]:
    """Return top, left, height and width of the box around a mask that is not empty.

    >>> object_box(np.array([[False, False, False], [False, True, True]]))
    (1, 1, 1, 2)
    """
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    top, left = int(rows[0]), int(columns[0])
    return top, left, int(rows[-1]) + 1 - top, int(columns[-1]) + 1 - left


def square_around(image: Image, mask: Mask, side_px: int, *, may_cut: bool = False) -> tuple[Image, Coverage]:
    """Return a square of the photograph around the object, and how much of each of its pixels the object covers.

    It is the largest that fits into the photograph, centred on the object as far as it can be. An object that is
    longer is cut (`may_cut`), or else the square is as long as it, and goes on with the photograph's outermost pixels.

    Returns
    -------
    image : (S, S, 3) uint8
    coverage : (S, S) float32 in [0, 1]
    """
    check_mask(image, mask)
    top, left, height, width = object_box(mask)
    side = min(mask.shape) if may_cut else max(min(mask.shape), height, width)
    y, x = (
        _start(at, size, whole, side)
        for at, size, whole in ((top, height, mask.shape[0]), (left, width, mask.shape[1]))
    )
    pad = ((side, side), (side, side))
    wide = np.pad(image, (*pad, (0, 0)), mode="edge")[y + side :, x + side :][:side, :side]
    covered = np.pad(mask, pad)[y + side :, x + side :][:side, :side].astype(np.float32)
    return resize(wide, side_px, side_px), np.asarray(_resized(covered, side_px, side_px), np.float32)


def _start(at: int, size: int, whole: int, side: int) -> int:
    """Return where a side begins that is centred on the object, and moved into the photograph if it fits."""
    start = at + (size - side) // 2
    return min(max(start, 0), whole - side) if side <= whole else start


def resize(image: Image, height: int, width: int) -> Image:
    """Return the image resized: by area where it shrinks, bilinear where it grows."""
    return np.asarray(_resized(image, height, width), np.uint8)


def _resized(array: npt.NDArray[np.generic], height: int, width: int) -> npt.NDArray[np.generic]:
    if array.shape[:2] == (height, width):
        return array
    shrinks = height * width < array.shape[0] * array.shape[1]
    method = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(np.ascontiguousarray(array), (width, height), interpolation=method))


def blend(over: Image, under: Image, share: npt.NDArray[np.floating] | float) -> Image:
    """Return share * over + (1 - share) * under, rounded; `share` is one number or (H, W), in [0, 1].

    >>> blend(np.full((1, 1, 3), 255, np.uint8), np.zeros((1, 1, 3), np.uint8), 0.2)[0, 0].tolist()
    [51, 51, 51]
    """
    weight = np.asarray(share, np.float32)
    weight = weight[..., None] if weight.ndim else weight
    mixed = weight * over.astype(np.float32) + (1 - weight) * under.astype(np.float32)
    return np.asarray(np.rint(mixed), np.uint8)


def white(height: int, width: int) -> Image:
    """Return a white picture, (height, width, 3) uint8."""
    return np.full((height, width, 3), WHITE, np.uint8)
