"""The part of a photograph that a texture may be taken from: eroded mask, scale, flattened illumination."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]

EROSION_SHARE = 0.01
MIN_EROSION_PX = 2
FULL_FRAME_SHARE = 0.98
_MIN_BLUR_SIGMA_PX = 6.0
_CUBIC_REACH_PX = 2
_LEVELS = np.arange(256, dtype=np.float32) / 255


@dataclass(frozen=True)
class TextureSource:
    """The crop around a mask, brought to the working scale.

    `image` is (h, w, 3) uint8, `inside` (h, w) bool: pixels whose whole box in
    the photograph lies in the eroded mask. `box` is (top, left, height, width) of the crop in the photograph.
    """

    image: Image
    inside: Mask
    box: tuple[int, int, int, int]

    @property
    def scale(self) -> float:
        """Working pixels per photograph pixel."""
        return float(self.image.shape[1] / self.box[3])


def erode_mask(mask: Mask) -> Mask:
    """Return the mask shrunk by 1 % of the photograph's diagonal (2 px at least).

    The frame counts as background, unless the mask fills the frame: such a texture has no silhouette.
    """
    if not mask.any():
        return mask.copy()
    radius = max(MIN_EROSION_PX, round(EROSION_SHARE * float(np.hypot(*mask.shape))))
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1, 2 * radius + 1))
    fills_frame = mask.mean() >= FULL_FRAME_SHARE
    # Beyond the box around a mask there is nothing to erode.
    box = (slice(None), slice(None)) if fills_frame else _box_around(mask)
    eroded = np.zeros_like(mask)
    eroded[box] = cv2.erode(
        mask[box].astype(np.uint8), kernel, borderType=cv2.BORDER_CONSTANT, borderValue=int(fills_frame)
    )
    return eroded


def crop_source(image: Image, eroded: Mask, scale: float) -> TextureSource:
    """Return the crop around a non-empty eroded mask, resized by `scale`."""
    box = _box_around(eroded)
    crop, inside = np.ascontiguousarray(image[box]), np.ascontiguousarray(eroded[box])
    height, width = inside.shape
    if scale != 1:
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        interpolation = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
        crop = cv2.resize(crop, size, interpolation=interpolation).astype(np.uint8, copy=False)
        inside = _resize_mask(inside, size[1], size[0], 0 if scale < 1 else _CUBIC_REACH_PX)
    return TextureSource(crop, inside, (box[0].start, box[1].start, height, width))


def _box_around(mask: Mask) -> tuple[slice, slice]:
    """Return the rows and columns around a mask that is not empty."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)


def _resize_mask(inside: Mask, height: int, width: int, reach_px: int) -> Mask:
    """Return which pixels of a (height, width) image show nothing but inside.

    What a pixel shows is its box in the photograph, and `reach_px` around it where pixels are interpolated.
    """
    total = cv2.integral(inside.astype(np.uint8))
    top, bottom = _boxes(height, inside.shape[0], reach_px)
    left, right = _boxes(width, inside.shape[1], reach_px)
    bands = total[bottom] - total[top]
    whole: Mask = bands[:, right] - bands[:, left] == (bottom - top)[:, None] * (right - left)
    return whole


def _boxes(n_px: int, n_native: int, reach_px: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    edges = np.arange(n_px + 1, dtype=np.int64)
    first = np.maximum(edges[:-1] * n_native // n_px - reach_px, 0)
    last = np.minimum(-(-edges[1:] * n_native // n_px) + reach_px, n_native)
    return first, last


def flatten_light(source: TextureSource, sigma_px: float, strength: float) -> TextureSource:
    """Take the low-pass of the pixels inside away from the lightness, and 0.7 of as much from the colours.

    `sigma_px` is that of the illumination, in working pixels; `strength` in [0, 1] is how much of it goes.
    """
    if strength == 0 or not source.inside.any():
        return source
    lab = cv2.cvtColor(cv2.LUT(source.image, _LEVELS), cv2.COLOR_RGB2LAB).astype(np.float32, copy=False)
    smooth = _masked_low_pass(lab, source.inside, sigma_px)
    centre = [np.median(plane[source.inside]) for plane in cv2.split(lab)]
    # Rows of interleaved channels: NumPy is slow where the last axis has three elements.
    height, width = source.inside.shape
    lines, smooth_lines = lab.reshape(height, -1), smooth.reshape(height, -1)
    smooth_lines -= np.tile(np.array(centre, np.float32), width)
    smooth_lines *= np.tile(np.array([strength, 0.7 * strength, 0.7 * strength], np.float32), width)
    lines -= smooth_lines
    rgb = cv2.cvtColor(lab, cv2.COLOR_LAB2RGB)
    np.clip(rgb, 0, 1, out=rgb)
    flattened = cv2.convertScaleAbs(rgb, alpha=255).astype(np.uint8, copy=False)
    return replace(source, image=flattened)


def _masked_low_pass(
    values: npt.NDArray[np.float32], inside: Mask, sigma_px: float
) -> npt.NDArray[np.float32]:
    """Return the Gaussian mean of (h, w, 3) values over the pixels inside (normalised convolution)."""
    height, width = inside.shape
    step = max(1.0, sigma_px / _MIN_BLUR_SIGMA_PX)
    size = (max(1, round(width / step)), max(1, round(height / step)))
    # The fourth channel is 1 inside: the weights.
    weighted = cv2.cvtColor(values, cv2.COLOR_RGB2RGBA)
    weighted = cv2.bitwise_and(weighted, weighted, mask=inside.astype(np.uint8))
    blurred = cv2.GaussianBlur(
        cv2.resize(weighted, size, interpolation=cv2.INTER_AREA),
        (0, 0),
        sigma_px / step,
        borderType=cv2.BORDER_CONSTANT,
    )
    mean = blurred[..., :3] / np.maximum(blurred[..., 3:], 1e-4)
    full = cv2.resize(mean, (width, height), interpolation=cv2.INTER_LINEAR)
    return full.astype(np.float32, copy=False)
