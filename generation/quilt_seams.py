"""The cheapest cut through the overlap of two patches, in whole numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]

_WALL = np.int32(2**30)


def squared_differences(a: Words, b: Words) -> npt.NDArray[np.int32]:
    """Return the squared differences of contiguous (n, H, W) pixels."""
    difference = a[..., None].view(np.uint8).astype(np.int32) - b[..., None].view(np.uint8)
    squares: npt.NDArray[np.int32] = np.einsum("nyxc,nyxc->nyx", difference, difference)
    return squares


def min_cut(costs: npt.NDArray[np.integer]) -> Ints:
    """Return the column of the cheapest top-to-bottom path through each (n, H, W) strip, as (n, H).

    From one row to the next a path moves by at most one column; ties go to the leftmost. No path may cost
    2**30 or more, which takes a strip of more than 5,000 rows of squared RGB differences.
    """
    n, height, width = costs.shape
    # The strips lie side by side in one line for each row, a wall before and after each of them.
    padded = np.full((height, n, width + 1), _WALL)
    padded[:, :, 1:] = costs.transpose(1, 0, 2)
    total = np.full((height, n * (width + 1) + 1), _WALL)
    total[:, :-1] = padded.reshape(height, -1)
    left, middle, right = total[:-1, :-2], total[:-1, 1:-1], total[:-1, 2:]
    best = np.empty(total.shape[1] - 2, np.int32)
    for above_left, above, above_right, row in zip(left, middle, right, total[1:, 1:-1], strict=True):
        np.minimum(above_left, above, out=best)
        np.minimum(best, above_right, out=best)
        row += best
    # Where the cheapest path to each pixel comes from: its place in the line above.
    came_from = np.where(left <= np.minimum(middle, right), 0, np.where(middle <= right, 1, 2))
    came_from += np.arange(len(best)) - 1
    starts = np.arange(n) * (width + 1)
    path = np.empty((height, n), np.int64)
    path[-1] = total[-1, :-1].reshape(n, width + 1)[:, 1:].argmin(1) + starts
    for row_index in range(height - 2, -1, -1):
        path[row_index] = came_from[row_index].take(path[row_index + 1])
    columns: Ints = (path - starts).T
    return columns
