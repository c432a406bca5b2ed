"""Which patches of a photograph may become cells: those inside of the mask that look like the rest of it."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Grey = npt.NDArray[np.float64]

_MAX_DESCRIBED = 6000
# Of the typical patches, the share with the least gradient goes: blank ones between others look like objects.
_PLAIN_SHARE = 0.2


def inside_positions(inside: Mask, patch_px: int) -> Mask:
    """Return (h - p + 1, w - p + 1) bool: where a patch with its corner there lies wholly inside."""
    height, width = inside.shape
    if patch_px > min(height, width):
        return np.zeros((0, 0), bool)
    total = cv2.integral(inside.astype(np.uint8))
    counts = total[patch_px:, patch_px:] - total[:-patch_px, patch_px:]
    counts -= total[patch_px:, :-patch_px]
    counts += total[:-patch_px, :-patch_px]
    whole: Mask = counts == patch_px * patch_px
    return whole


def typical_positions(image: Image, inside: Mask, patch_px: int, keep_share: float) -> Ints:
    """Return (P, 2) int64 rows and columns of the permitted patches, in raster order.

    Of the patches inside, those stay whose eight descriptors (mean and deviation of the Lab channels, mean
    horizontal and vertical gradient) lie nearest to the median of all, by the largest robust z-score:
    eyes, leaves and stems differ from the bulk of their object. Of those the plainest fifth goes. One
    patch, the first, speaks for all that begin in the same small block of pixels; no pixel outside has a say.
    """
    positions = np.argwhere(inside_positions(inside, patch_px)).astype(np.int64)
    if keep_share >= 1 or len(positions) < 2:
        return positions
    stride = max(1, patch_px // 8, int(np.sqrt(len(positions) / _MAX_DESCRIBED)))
    spokesmen, block = _first_of_blocks(positions, stride)
    described = _describe(image, positions[spokesmen], patch_px)
    median = np.median(described, axis=0)
    spread = 1.4826 * np.median(np.abs(described - median), axis=0)
    # Rounded: the order of two patches must not hang on the last bit of a platform's arithmetic.
    distance = np.round((np.abs(described - median) / np.maximum(spread, 1.0)).max(-1), 4)
    limit = np.quantile(distance, keep_share, method="higher")
    typical, gradient = distance <= limit, np.round(described[:, 6:].sum(1), 4)
    structured = gradient >= np.quantile(gradient[typical], _PLAIN_SHARE, method="higher")
    kept: Ints = positions[(typical & structured)[block]]
    return kept


def _first_of_blocks(positions: Ints, stride: int) -> tuple[Ints, Ints]:
    """Return the first position of each block with any, (B,), and the block of each position, (P,)."""
    blocks = positions // stride
    keys = blocks[:, 0] * (int(blocks[:, 1].max()) + 1) + blocks[:, 1]
    first = np.full(int(keys.max()) + 1, -1, np.int64)
    # The last assignment to a place counts, so the positions are written from the end.
    first[keys[::-1]] = np.arange(len(keys))[::-1]
    taken = first >= 0
    return first[taken], (np.cumsum(taken) - 1)[keys]


def _describe(image: Image, positions: Ints, patch_px: int) -> Grey:
    """Return the descriptors of the patches at (B, 2) positions, (B, 8)."""
    lab = cv2.cvtColor(image, cv2.COLOR_RGB2LAB)
    area = patch_px * patch_px
    columns = []
    for channel in cv2.split(lab):
        sums, squares = cv2.integral2(channel, sdepth=cv2.CV_64F, sqdepth=cv2.CV_64F)
        mean = _window_sums(np.asarray(sums, float), positions, patch_px, patch_px) / area
        mean_square = _window_sums(np.asarray(squares, float), positions, patch_px, patch_px) / area
        columns += [mean, np.sqrt(np.maximum(mean_square - mean**2, 0))]
    light = lab[..., 0]
    # The steps between the pixels of a patch: one column or one row fewer than pixels.
    for steps, height, width in (
        (cv2.absdiff(light[:, 1:], light[:, :-1]), patch_px, patch_px - 1),
        (cv2.absdiff(light[1:], light[:-1]), patch_px - 1, patch_px),
    ):
        total = np.asarray(cv2.integral(steps, sdepth=cv2.CV_64F), float)
        columns.append(_window_sums(total, positions, height, width) / area)
    return np.stack(columns, axis=-1)


def _window_sums(integral: Grey, positions: Ints, height: int, width: int) -> Grey:
    """Return the sums over the windows at (B, 2) positions; whole numbers, so exact."""
    top, left = positions.T
    bottom, right = top + height, left + width
    sums: Grey = integral[bottom, right] - integral[top, right] - integral[bottom, left] + integral[top, left]
    return sums
