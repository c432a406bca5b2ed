"""Patches of a photograph, quilted: min-cut seams, no copy of a neighbour, no two cells much alike.

After Efros & Freeman, "Image quilting for texture synthesis and transfer" (SIGGRAPH 2001), with integer
costs, so that every platform cuts the same seams, and with two rules of our own: a cell never continues the
photograph from a neighbouring cell, and two cells share no more than a given part of their pixels.
Cells are laid in waves: the cells of one wave touch none of each other, so a wave is one array operation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

N_CANDIDATES = 64
N_BEST = 6
MAX_STRIP_SAMPLES = 256
_REFUSED = np.int64(2**62)


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
    work = _Work(source, n_cells, cell_px, max_share)
    for wave in range(3 * n_cells - 2):
        positions = positions[~work.refused[positions[:, 0], positions[:, 1]]]
        rows = np.arange(max(0, (wave - n_cells + 2) // 2), min(n_cells - 1, wave // 2) + 1)
        if len(positions) == 0:
            return None
        if not work.lay(rows, wave - 2 * rows, positions, random):
            return None
    overlap = work.overlap
    owner = np.ascontiguousarray(work.owner[overlap:, overlap:])
    return Quilt(np.ascontiguousarray(work.canvas[overlap:, overlap:]), work.placed.reshape(-1, 2), owner)


class _Work:
    """The canvas while it is laid; it has a margin of one overlap above and left of the first cells."""

    def __init__(self, source: Image, n_cells: int, cell_px: int, max_share: float) -> None:
        self.source = source
        self.n_cells, self.cell_px, self.overlap = n_cells, cell_px, overlap_px(cell_px)
        self.patch_px = cell_px + self.overlap
        side = n_cells * cell_px + self.overlap
        self.canvas = np.zeros((side, side, 3), np.uint8)
        self.owner = np.full((side, side), -1, np.int64)
        self.placed = np.full((n_cells, n_cells, 2), -1, np.int64)
        self.refused: npt.NDArray[np.bool_] = np.zeros(source.shape[:2], bool)
        reach = np.abs(np.arange(1 - cell_px, cell_px))
        shared = (cell_px - reach)[:, None] * (cell_px - reach)[None, :]
        self.too_alike = shared > max_share * cell_px**2
        self.strip = _strip_offsets(self.patch_px, self.overlap)

    def lay(self, rows: Ints, columns: Ints, positions: Ints, random: Random) -> bool:
        """Choose and stitch a patch for every cell of a wave; False where one finds none."""
        n = len(rows)
        drawn = positions[random.integers(len(positions), n * N_CANDIDATES)].reshape(n, N_CANDIDATES, 2)
        costs = self._costs(rows, columns, drawn)
        start = random.integers(N_BEST, n)
        chosen = np.empty((n, 2), np.int64)
        for index in range(n):
            best = self._choose(costs[index], drawn[index], int(start[index]))
            if best is None:
                return False
            chosen[index] = best
            self._refuse_around(best)
        self.placed[rows, columns] = chosen
        self._stitch(rows, columns, chosen)
        return True

    def _choose(self, costs: Ints, drawn: Ints, start: int) -> Ints | None:
        order = np.argsort(costs, kind="stable")
        n_free = int((costs < _REFUSED).sum())
        start = min(start, max(0, n_free // 4))
        for pick in [*order[start:n_free], *order[:start]]:
            if costs[pick] < _REFUSED and not self.refused[drawn[pick, 0], drawn[pick, 1]]:
                place: Ints = drawn[pick]
                return place
        return None

    def _refuse_around(self, position: Ints) -> None:
        reach = self.cell_px - 1
        top, left = int(position[0]) - reach, int(position[1]) - reach
        height, width = self.source.shape[:2]
        y0, x0, y1, x1 = (
            max(0, top),
            max(0, left),
            min(height, top + 2 * reach + 1),
            min(width, left + 2 * reach + 1),
        )
        self.refused[y0:y1, x0:x1] |= self.too_alike[y0 - top : y1 - top, x0 - left : x1 - left]

    def _costs(self, rows: Ints, columns: Ints, drawn: Ints) -> Ints:
        """Return the squared difference to the canvas in the overlap, (n, K) int64; too high if refused."""
        down, right, is_top, is_left = self.strip
        # A first row has no overlap above, a first column none to its left.
        used = (~is_top | (rows[:, None] > 0)) & (~is_left | (columns[:, None] > 0))
        laid = self.canvas[rows[:, None] * self.cell_px + down, columns[:, None] * self.cell_px + right]
        corners = drawn[..., 0] * self.source.shape[1] + drawn[..., 1]
        pixels = corners[..., None] + (down * self.source.shape[1] + right)
        patches = np.take(self.source.reshape(-1, 3), pixels, axis=0)
        difference = patches.astype(np.int32) - laid[:, None]
        difference *= used[:, None, :, None]
        difference = difference.reshape(*drawn.shape[:2], -1)
        # At most 256 samples x 3 channels x 255**2: well inside of 32 bits.
        costs: Ints = np.einsum("nkx,nkx->nk", difference, difference).astype(np.int64)
        costs[self._continues_neighbour(rows, columns, drawn)] = _REFUSED
        return costs

    def _continues_neighbour(self, rows: Ints, columns: Ints, drawn: Ints) -> npt.NDArray[np.bool_]:
        tolerance = max(4, self.cell_px // 4)
        copies = np.zeros(drawn.shape[:2], bool)
        for di, dj in ((0, -1), (-1, -1), (-1, 0), (-1, 1)):
            i, j = rows + di, columns + dj
            known = (i >= 0) & (j >= 0) & (j < self.n_cells)
            neighbour = self.placed[np.where(known, i, 0), np.where(known, j, 0)]
            natural = neighbour - np.array([di, dj]) * self.cell_px
            near = (np.abs(drawn - natural[:, None]) <= tolerance).all(-1)
            copies |= near & known[:, None]
        return copies

    def _stitch(self, rows: Ints, columns: Ints, chosen: Ints) -> None:
        size = np.arange(self.patch_px)
        ys, xs = size[None, :, None], size[None, None, :]
        at = (rows[:, None, None] * self.cell_px + ys, columns[:, None, None] * self.cell_px + xs)
        patches = self.source[chosen[:, 0, None, None] + ys, chosen[:, 1, None, None] + xs]
        o = self.overlap
        left = _squares(patches[:, :, :o], self.canvas[at[0], at[1][:, :, :o]])
        top = _squares(patches[:, :o, :], self.canvas[at[0][:, :o], at[1]]).transpose(0, 2, 1)
        cuts = min_cut(np.concatenate([left, top]))
        left_cut = np.where(columns[:, None] > 0, cuts[: len(rows)], 0)
        top_cut = np.where(rows[:, None] > 0, cuts[len(rows) :], 0)
        new = (xs >= left_cut[:, :, None]) & (ys >= top_cut[:, None, :])
        index = rows * self.n_cells + columns
        # Patches of one wave do not overlap each other, so all of them are written at once.
        wave, y, x = np.nonzero(new)
        y_at, x_at = rows[wave] * self.cell_px + y, columns[wave] * self.cell_px + x
        self.canvas[y_at, x_at] = patches[wave, y, x]
        self.owner[y_at, x_at] = index[wave]


def _squares(a: Image, b: Image) -> Ints:
    difference = a.astype(np.int32) - b.astype(np.int32)
    squares: Ints = np.einsum("nyxc,nyxc->nyx", difference, difference).astype(np.int64)
    return squares


def min_cut(costs: Ints) -> Ints:
    """Return the column of the cheapest top-to-bottom path through each (n, H, W) int64 strip, as (n, H).

    From one row to the next a path moves by at most one column; ties go to the leftmost.
    """
    n, height, width = costs.shape
    total = np.full((n, height, width + 2), _REFUSED)
    total[:, 0, 1:-1] = costs[:, 0]
    for row in range(1, height):
        above = total[:, row - 1]
        best = np.minimum(np.minimum(above[:, :-2], above[:, 1:-1]), above[:, 2:])
        total[:, row, 1:-1] = costs[:, row] + best
    path = np.empty((n, height), np.int64)
    path[:, -1] = total[:, -1, 1:-1].argmin(1)
    which = np.arange(n)
    steps = np.arange(3)
    for row in range(height - 2, -1, -1):
        column = path[:, row + 1]
        near = total[which[:, None], row, column[:, None] + steps]
        path[:, row] = column + near.argmin(1) - 1
    return path


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
