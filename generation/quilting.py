"""Patches of a photograph, quilted: min-cut seams, no copy of a neighbour, no two cells much alike.

After Efros & Freeman, "Image quilting for texture synthesis and transfer" (SIGGRAPH 2001), with integer
costs, so that every platform cuts the same seams, and with two rules of our own: a cell never continues the
photograph from a neighbouring cell, and two cells share no more than a given part of their pixels.
Cells are laid in waves: the cells of one wave touch none of each other, so a wave is one array operation.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

Image = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]

N_CANDIDATES = 64
N_BEST = 6
MAX_STRIP_SAMPLES = 256
_REFUSED = np.int64(2**62)
_WALL = np.int32(2**30)
# The neighbours of a cell that are laid before it.
_NEIGHBOURS = np.array([(0, -1), (-1, -1), (-1, 0), (-1, 1)])


@dataclass(frozen=True)
class Quilt:
    """A quilt of n x n cells: what it shows and where each pixel came from.

    `image` is (S, S, 3) uint8. `positions` is (n * n, 2) int64: row and column in the source of the patch of
    each cell (its overlap included); `owner` is (S, S) int64: the cell that each pixel belongs to.
    """

    image: Image
    positions: Ints
    owner: Ints


class Random:
    """Bounded integers from the raw stream of PCG64, which NumPy keeps the same for all versions (NEP 19)."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def integers(self, bound: int, size: int) -> Ints:
        """Return `size` integers in [0, bound); the bias of the modulus is below bound / 2**64."""
        return (self._bits.random_raw(size) % np.uint64(bound)).astype(np.int64)


def overlap_px(cell_px: int) -> int:
    """Return how far a patch reaches over the cells above and left of it."""
    return max(2, cell_px // 6)


def lay_quilt(
    source: Image, positions: Ints, n_cells: int, cell_px: int, max_share: float, random: Random
) -> Quilt | None:
    """Quilt n x n cells from the patches at `positions`; None where they run out.

    Parameters
    ----------
    source : (h, w, 3) uint8
    positions : (P, 2) int64
        Row and column of the permitted patches, (cell + overlap) px on a side, in raster order.
    max_share : float
        The part of a cell's square that a later cell may share with it.
    """
    work = _Work(source, positions, n_cells, cell_px, max_share)
    for wave in range(3 * n_cells - 2):
        rows = np.arange(max(0, (wave - n_cells + 2) // 2), min(n_cells - 1, wave // 2) + 1)
        if not work.lay(rows, wave - 2 * rows, random):
            return None
    return work.quilt()


class _Work:
    """The canvas while it is laid; it has a margin of one overlap above and left of the first cells.

    Pixels are kept as one 32-bit word each, and a place in the source as row * width + column.
    """

    def __init__(self, source: Image, positions: Ints, n_cells: int, cell_px: int, max_share: float) -> None:
        self.n_cells, self.cell_px, self.overlap = n_cells, cell_px, overlap_px(cell_px)
        self.patch_px = cell_px + self.overlap
        height, self.width = source.shape[:2]
        words = np.dstack([source, np.zeros((height, self.width), np.uint8)]).view(np.uint32)[..., 0]
        self.source = words.ravel()
        self.source_patches = sliding_window_view(words, (self.patch_px, self.patch_px))
        side = n_cells * cell_px + self.overlap
        self.canvas, self.owner = np.zeros((side, side), np.uint32), np.full((side, side), -1, np.int32)
        patch = (self.patch_px, self.patch_px)
        self.canvas_patches: Words = sliding_window_view(self.canvas, patch, writeable=True)[
            ::cell_px, ::cell_px
        ]
        self.owner_patches = sliding_window_view(self.owner, patch, writeable=True)[::cell_px, ::cell_px]
        self.placed = np.full((n_cells, n_cells, 2), -1, np.int64)
        self.permitted: npt.NDArray[np.bool_] = np.zeros((height, self.width), bool)
        self.permitted[positions[:, 0], positions[:, 1]] = True
        self.different = _different_enough(cell_px, max_share)
        self.strip = _strip_offsets(self.patch_px, self.overlap)

    def quilt(self) -> Quilt:
        """Return what is laid, without the margin."""
        pixels = self.canvas[self.overlap :, self.overlap :, None].view(np.uint8)
        owner = self.owner[self.overlap :, self.overlap :].astype(np.int64)
        return Quilt(np.ascontiguousarray(pixels[..., :3]), self.placed.reshape(-1, 2), owner)

    def lay(self, rows: Ints, columns: Ints, random: Random) -> bool:
        """Choose and stitch a patch for every cell of a wave; False where one finds none."""
        places = np.flatnonzero(self.permitted)
        if len(places) == 0:
            return False
        n = len(rows)
        drawn = places[random.integers(len(places), n * N_CANDIDATES)].reshape(n, N_CANDIDATES)
        laid = self.canvas_patches[rows, columns]
        costs = self._costs(rows, columns, drawn, laid)
        order = np.argsort(costs, axis=1, kind="stable")
        n_free = (costs < _REFUSED).sum(1)
        start = np.minimum(random.integers(N_BEST, n), n_free // 4)
        for index in range(n):
            best = self._choose(drawn[index, order[index, : n_free[index]]], int(start[index]))
            if best is None:
                return False
            self.placed[rows[index], columns[index]] = divmod(best, self.width)
            self._refuse_around(best)
        self._stitch(rows, columns, laid)
        return True

    def _choose(self, ranked: Ints, start: int) -> int | None:
        """Return the first of some ranked places, from `start` on and then before it, that is still free."""
        (free,) = self.permitted.ravel()[ranked].nonzero()
        if len(free) == 0:
            return None
        return int(ranked[free[free.searchsorted(start) % len(free)]])

    def _refuse_around(self, place: int) -> None:
        reach = len(self.different) // 2
        row, column = divmod(place, self.width)
        y0, x0 = max(0, row - reach), max(0, column - reach)
        around = self.permitted[y0 : row + reach + 1, x0 : column + reach + 1]
        top, left = y0 - (row - reach), x0 - (column - reach)
        around &= self.different[top : top + around.shape[0], left : left + around.shape[1]]

    def _costs(self, rows: Ints, columns: Ints, drawn: Ints, laid: Words) -> npt.NDArray[np.int64]:
        """Return the squared difference to the canvas in the overlap, (n, K) int64; too high if refused."""
        down, right, is_top, is_left = self.strip
        offsets = down * self.width + right
        strips = np.ascontiguousarray(laid[:, down, right])
        costs = np.empty(drawn.shape, np.int64)
        for index, (row, column) in enumerate(zip(rows, columns, strict=True)):
            patches, strip = self.source.take(drawn[index, :, None] + offsets), strips[index]
            if row == 0 or column == 0:
                # A first row has no overlap above, a first column none to its left.
                unused = (is_top & (row == 0)) | (is_left & (column == 0))
                patches[:, unused], strip[unused] = 0, 0
            # Sorted by cost, with the index of each; at most 256 x 3 x 255**2, well inside of 32 bits.
            sorted_costs, which = cv2.batchDistance(
                strip[None].view(np.uint8),
                patches.view(np.uint8),
                cv2.CV_32S,
                normType=cv2.NORM_L2SQR,
                K=N_CANDIDATES,
            )
            costs[index, which[0]] = sorted_costs[0]
        costs[self._continues_neighbour(rows, columns, drawn)] = _REFUSED
        return costs

    def _continues_neighbour(self, rows: Ints, columns: Ints, drawn: Ints) -> npt.NDArray[np.bool_]:
        tolerance = max(4, self.cell_px // 4)
        y, x = np.divmod(drawn, self.width)
        i, j = rows + _NEIGHBOURS[:, :1], columns + _NEIGHBOURS[:, 1:]
        known = (i >= 0) & (j >= 0) & (j < self.n_cells)
        neighbour = self.placed[np.where(known, i, 0), np.where(known, j, 0)]
        natural = neighbour - _NEIGHBOURS[:, None] * self.cell_px
        near = np.abs(y - natural[..., :1]) <= tolerance
        near &= np.abs(x - natural[..., 1:]) <= tolerance
        copies: npt.NDArray[np.bool_] = (near & known[..., None]).any(0)
        return copies

    def _stitch(self, rows: Ints, columns: Ints, laid: Words) -> None:
        placed = self.placed[rows, columns]
        patches = self.source_patches[placed[:, 0], placed[:, 1]]
        # The strips on the left, and those on the top, turned.
        strips, laid_strips = (
            np.concatenate([of[:, :, : self.overlap], of[:, : self.overlap].transpose(0, 2, 1)])
            for of in (patches, laid)
        )
        cuts = min_cut(_squares(strips, laid_strips))
        left_cut = np.where(columns[:, None] > 0, cuts[: len(rows)], 0)
        top_cut = np.where(rows[:, None] > 0, cuts[len(rows) :], 0)
        size = np.arange(self.patch_px)
        new = (size >= left_cut[:, :, None]) & (size[:, None] >= top_cut[:, None, :])
        # Patches of one wave do not overlap each other, so all of them are written at once.
        self.canvas_patches[rows, columns] = np.where(new, patches, laid)
        index = (rows * self.n_cells + columns).astype(np.int32)
        self.owner_patches[rows, columns] = np.where(
            new, index[:, None, None], self.owner_patches[rows, columns]
        )


def _different_enough(cell_px: int, max_share: float) -> npt.NDArray[np.bool_]:
    """Return which places around a cell share no more than allowed with it, the cell's in the middle."""
    reach = np.arange(cell_px)
    shared = (cell_px - reach)[:, None] * (cell_px - reach)[None, :]
    alike = shared > max_share * cell_px**2
    n = max(1, int(alike[0].sum()))
    quarter = ~alike[:n, :n]
    half = np.concatenate([quarter[:0:-1], quarter])
    return np.concatenate([half[:, :0:-1], half], axis=1)


def _squares(a: Words, b: Words) -> npt.NDArray[np.int32]:
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


def _strip_offsets(
    patch_px: int, overlap: int
) -> tuple[Ints, Ints, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return the pixels of the L-shaped overlap (fewer of a large one), and whether each is above or left.

    The corner belongs to neither: it is compared only where there is a cell both above and to the left.
    """
    y, x = np.mgrid[:patch_px, :patch_px]
    in_strip = (y < overlap) | (x < overlap)
    y, x = y[in_strip], x[in_strip]
    step = -(-len(y) // MAX_STRIP_SAMPLES)
    y, x = y[::step].astype(np.int64), x[::step].astype(np.int64)
    return y, x, y < overlap, x < overlap
