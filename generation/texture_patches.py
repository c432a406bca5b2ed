"""Which patches of a photograph may become cells: those inside of the mask that look like the rest of it."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

_MAX_DESCRIBED = 6000


def inside_positions(inside: Mask, patch_px: int) -> Mask:
    """Return (h - p + 1, w - p + 1) bool: where a patch with its corner there lies wholly inside."""
    height, width = inside.shape
    if patch_px > min(height, width):
        return np.zeros((0, 0), bool)
    total = cv2.integral(inside.astype(np.uint8)).astype(np.int64)
    counts = _window_sums(total, patch_px)
    whole: Mask = counts == patch_px * patch_px
    return whole


def typical_positions(image: Image, inside: Mask, patch_px: int, keep_share: float) -> Ints:
    """Return (P, 2) int64 rows and columns of the permitted patches, in raster order.

    Of the patches inside, those stay whose eight descriptors (mean and deviation of the Lab channels, mean
    horizontal and vertical gradient) lie nearest to the median of all, by the largest robust z-score:
    eyes, leaves and stems differ from the bulk of their object.
    """
    allowed = inside_positions(inside, patch_px)
    positions = np.argwhere(allowed).astype(np.int64)
    if keep_share >= 1 or len(positions) < 2:
        return positions
    stride = max(1, patch_px // 8, int(np.sqrt(len(positions) / _MAX_DESCRIBED)))
    described = _describe(image, patch_px, stride)
    sampled = allowed[::stride, ::stride]
    values = described[sampled]
    if len(values) == 0:
        return positions
    median = np.median(values, axis=0)
    spread = 1.4826 * np.median(np.abs(values - median), axis=0)
    # Rounded: the order of two patches must not hang on the last bit of a platform's arithmetic.
    distance = np.round((np.abs(described - median) / np.maximum(spread, 1.0)).max(-1), 4)
    limit = np.quantile(distance[sampled], keep_share, method="higher")
    typical = distance <= limit
    kept: Ints = positions[typical[positions[:, 0] // stride, positions[:, 1] // stride]]
    return kept


def _describe(image: Image, patch_px: int, stride: int) -> npt.NDArray[np.float64]:
    lab = cv2.cvtColor(image, cv2.COLOR_RGB2LAB)
    light = lab[..., 0].astype(np.int16)
    gradients = [np.zeros(light.shape, np.uint8) for _ in range(2)]
    gradients[0][:, 1:] = np.abs(np.diff(light, axis=1))
    gradients[1][1:, :] = np.abs(np.diff(light, axis=0))
    area = patch_px * patch_px
    columns = []
    for channel in range(3):
        sums, squares = cv2.integral2(np.ascontiguousarray(lab[..., channel]))
        mean = _window_sums(sums.astype(np.int64), patch_px, stride) / area
        variance = _window_sums(squares.astype(np.int64), patch_px, stride) / area - mean**2
        columns += [mean, np.sqrt(np.maximum(variance, 0))]
    for gradient in gradients:
        columns.append(_window_sums(cv2.integral(gradient).astype(np.int64), patch_px, stride) / area)
    return np.stack(columns, axis=-1)


def _window_sums(integral: Ints, side: int, stride: int = 1) -> Ints:
    sums: Ints = (
        integral[side:, side:] - integral[:-side, side:] - integral[side:, :-side] + integral[:-side, :-side]
    )
    return sums[::stride, ::stride]
