"""Which patches of a photograph may become cells: those inside of the mask that look like the rest of it."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Grey = npt.NDArray[np.float64]

_MAX_DESCRIBED = 3000
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


def covered_by(positions: Ints, patch_px: int, shape: tuple[int, ...]) -> Mask:
    """Return the pixels, (h, w) bool, that lie in any of the patches at (P, 2) positions."""
    corners = np.zeros((shape[0] - patch_px + 1, shape[1] - patch_px + 1), np.uint8)
    corners[tuple(positions.T)] = 1
    # A pixel is covered where a corner lies in the square of a patch's side that ends there.
    padded = cv2.integral(np.pad(corners, patch_px - 1))
    counts = padded[patch_px:, patch_px:] - padded[:-patch_px, patch_px:]
    covered: Mask = counts - padded[patch_px:, :-patch_px] + padded[:-patch_px, :-patch_px] > 0
    return covered


def typical_positions(
    image: Image, inside: Mask, patch_px: int, keep_share: float, *, by_quarters: bool = False
) -> Ints:
    """Return (P, 2) int64 rows and columns of the permitted patches, in raster order.

    Of the patches inside, those stay whose eight descriptors (mean and deviation of the Lab channels, mean
    horizontal and vertical gradient) lie nearest to the median of all, by the largest robust z-score, their
    own or, `by_quarters`, that of a quarter among all quarters: eyes, leaves and stems differ from the
    bulk of their object. Of those that stay the plainest fifth goes. One patch, the first, speaks for all
    that begin in the same small block of pixels; no pixel outside has a say.
    """
    positions = np.argwhere(inside_positions(inside, patch_px)).astype(np.int64)
    if keep_share >= 1 or len(positions) < 2:
        return positions
    stride = max(1, patch_px // 8, int(np.sqrt(len(positions) / _MAX_DESCRIBED)))
    spokesmen, block = _first_of_blocks(positions, stride)
    windows = [(positions[spokesmen], patch_px)]
    if by_quarters:
        far, half = patch_px - patch_px // 2, patch_px // 2
        corners = np.array([(0, 0), (0, far), (far, 0), (far, far)])
        windows.append(((positions[spokesmen] + corners[:, None]).reshape(-1, 2), half))
    described, *quarters = _describe(image, windows)
    distance = _atypicality(described)
    for quarter in quarters:
        distance = np.maximum(distance, _atypicality(quarter).reshape(4, -1).max(0))
    limit = np.quantile(distance, keep_share, method="higher")
    typical, gradient = distance <= limit, np.round(described[:, 6:].sum(1), 4)
    structured = gradient >= np.quantile(gradient[typical], _PLAIN_SHARE, method="higher")
    kept: Ints = positions[(typical & structured)[block]]
    return kept


def _atypicality(described: Grey) -> Grey:
    """Return the largest robust z-score of each row of (B, 8) descriptors, (B,)."""
    median = np.median(described, axis=0)
    spread = 1.4826 * np.median(np.abs(described - median), axis=0)
    # Rounded: the order of two patches must not hang on the last bit of a platform's arithmetic.
    distance: Grey = np.round((np.abs(described - median) / np.maximum(spread, 1.0)).max(-1), 4)
    return distance


def _first_of_blocks(positions: Ints, stride: int) -> tuple[Ints, Ints]:
    """Return the first position of each block with any, (B,), and the block of each position, (P,)."""
    blocks = positions // stride
    keys = blocks[:, 0] * (int(blocks[:, 1].max()) + 1) + blocks[:, 1]
    first = np.full(int(keys.max()) + 1, -1, np.int64)
    # The last assignment to a place counts, so the positions are written from the end.
    first[keys[::-1]] = np.arange(len(keys))[::-1]
    taken = first >= 0
    return first[taken], (np.cumsum(taken) - 1)[keys]


def _describe(image: Image, windows: Sequence[tuple[Ints, int]]) -> list[Grey]:
    """Return the descriptors of the patches at (B, 2) positions for each list of these and its patch side, (B, 8)."""
    lab = cv2.cvtColor(image, cv2.COLOR_RGB2LAB)
    light = lab[..., 0]
    columns: list[list[Grey]] = [[] for _ in windows]
    for channel in cv2.split(lab):
        sums, squares = (np.asarray(total, float) for total in cv2.integral2(channel, sqdepth=cv2.CV_64F))
        for (positions, side), column in zip(windows, columns, strict=True):
            mean = _window_sums(sums, positions, side, side) / side**2
            mean_square = _window_sums(squares, positions, side, side) / side**2
            column += [mean, np.sqrt(np.maximum(mean_square - mean**2, 0))]
    # The steps between the pixels of a patch: one column or one row fewer than pixels.
    for steps, down, right in (
        (cv2.absdiff(light[:, 1:], light[:, :-1]), 0, 1),
        (cv2.absdiff(light[1:], light[:-1]), 1, 0),
    ):
        total = np.asarray(cv2.integral(steps), float)
        for (positions, side), column in zip(windows, columns, strict=True):
            column.append(_window_sums(total, positions, side - down, side - right) / side**2)
    return [np.stack(column, axis=-1) for column in columns]


def _window_sums(integral: Grey, positions: Ints, height: int, width: int) -> Grey:
    """Return the sums over the windows at (B, 2) positions; whole numbers, so exact."""
    top, left = positions.T
    bottom, right = top + height, left + width
    sums: Grey = integral[bottom, right] - integral[top, right] - integral[bottom, left] + integral[top, left]
    return sums
