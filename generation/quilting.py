"""Patches of a photograph, quilted: min-cut seams, no copy of a neighbour, no two cells much alike.

After Efros & Freeman, "Image quilting for texture synthesis and transfer" (SIGGRAPH 2001), with integer
costs, so that every platform cuts the same seams, and with two rules of our own: a cell never continues the
photograph from a neighbouring cell, and two cells share no more than a given part of their pixels.
Small cells follow a guide, a quilt of larger ones, as in the second half of that paper: so stripes run on
over many cells that each come from another place than what they follow.
Cells are laid in waves: the cells of one wave touch none of each other, so a wave is one array operation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from generation.patch_costs import Samples, box_means, pixel_words, strip_samples
from generation.quilt_seams import min_cut, squared_differences

Image = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]

N_CANDIDATES = 10000
GUIDE_WEIGHT = 3
# A cell is compared with the guide by the means of about as many boxes a side.
N_BOXES = 7
_REFUSED = np.int32(2**31 - 1)
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


@dataclass(frozen=True)
class Guide:
    """What a quilt is to look like: `image` (S, S, 3) uint8, and the source `rows` and `columns` it shows, (S, S)."""

    image: Image
    rows: Ints
    columns: Ints


class Random:
    """Bounded integers from the raw stream of PCG64, which NumPy keeps the same for all versions (NEP 19)."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def integers(self, bound: int, size: int) -> Ints:
        """Return `size` integers in [0, bound); the bias of the modulus is below bound / 2**64."""
        return (self._bits.random_raw(size) % np.uint64(bound)).astype(np.int64)


def overlap_px(cell_px: int) -> int:
    """Return how far a patch reaches over the cells above and left of it: a sixth of a cell and 3 px."""
    return 3 + cell_px // 6


def guide_box_px(cell_px: int) -> int:
    """Return the side of the boxes by which a cell is compared with the guide: seven a side, ten at most."""
    return max(1, round(cell_px / N_BOXES))


def lay_quilt(
    source: Image,
    positions: Ints,
    n_cells: int,
    cell_px: int,
    max_share: float,
    random: Random,
    guide: Guide | None = None,
) -> Quilt | None:
    """Quilt n x n cells from the patches at `positions`; None where they run out.

    Every cell takes the patch that differs least from what is laid already, in the overlap, and from the
    guide, in the cell; of two as good, the first. What the guide itself shows there is refused.

    Parameters
    ----------
    source : (h, w, 3) uint8
    positions : (P, 2) int64
        Row and column of the permitted patches, (cell + overlap) px on a side, in raster order.
    max_share : float
        The part of a cell's square that a later cell may share with it.
    """
    if len(positions) == 0:
        return None
    work = _Work(source, draw_candidates(positions, random), n_cells, cell_px, max_share, guide)
    work.first = int(random.integers(len(work.candidates), 1)[0])
    for wave in range(3 * n_cells - 2):
        rows = np.arange(max(0, (wave - n_cells + 2) // 2), min(n_cells - 1, wave // 2) + 1)
        if not work.lay(rows, wave - 2 * rows):
            return None
    return work.quilt()


def draw_candidates(positions: Ints, random: Random) -> Ints:
    """Return all of some (P, 2) positions, or one at random of each of `N_CANDIDATES` runs of them."""
    if len(positions) <= N_CANDIDATES:
        return positions
    edges = np.arange(N_CANDIDATES + 1) * len(positions) // N_CANDIDATES
    # The runs differ in length by one at most.
    drawn: Ints = positions[edges[:-1] + random.integers(int(np.diff(edges).min()), N_CANDIDATES)]
    return drawn


class _Work:
    """The canvas while it is laid; it has a margin of one overlap above and left of the first cells.

    Pixels are kept as one 32-bit word each, and a patch as its number among the candidates.
    """

    def __init__(
        self,
        source: Image,
        candidates: Ints,
        n_cells: int,
        cell_px: int,
        max_share: float,
        guide: Guide | None,
    ) -> None:
        self.n_cells, self.cell_px, self.overlap = n_cells, cell_px, overlap_px(cell_px)
        self.patch_px, self.first = cell_px + self.overlap, 0
        words = pixel_words(source)
        patch = (self.patch_px, self.patch_px)
        self.source_patches = sliding_window_view(words, patch)
        side = n_cells * cell_px + self.overlap
        self.canvas, self.owner = np.zeros((side, side), np.uint32), np.full((side, side), -1, np.int32)
        self.canvas_patches: Words = sliding_window_view(self.canvas, patch, writeable=True)[
            ::cell_px, ::cell_px
        ]
        self.owner_patches = sliding_window_view(self.owner, patch, writeable=True)[::cell_px, ::cell_px]
        self.placed = np.full((n_cells, n_cells, 2), -1, np.int64)
        self.candidates = candidates
        self.free = np.ones(len(candidates), bool)
        self.number = np.full(words.shape, -1, np.int32)
        self.number[candidates[:, 0], candidates[:, 1]] = np.arange(len(candidates))
        self.different = _different_enough(cell_px, max_share)
        strip = strip_samples(self.patch_px, self.overlap)
        self.is_top, self.is_left = strip[0] < self.overlap, strip[1] < self.overlap
        self.strips = Samples(words, candidates, strip)
        self.guide = guide
        if guide is not None:
            box_px = guide_box_px(cell_px)
            inner = np.arange(self.overlap, self.patch_px - box_px + 1, box_px)
            at = np.stack(np.meshgrid(inner, inner, indexing="ij")).reshape(2, -1)
            cells = Samples(pixel_words(box_means(source, box_px)), candidates, at)
            margin = ((self.overlap, 0), (self.overlap, 0))
            guided = np.pad(pixel_words(box_means(guide.image, box_px)), margin)
            patches = sliding_window_view(guided, patch)[::cell_px, ::cell_px].reshape(-1, *patch)
            self.guide_costs = (GUIDE_WEIGHT * cells.differences(patches)).reshape(n_cells, n_cells, -1)

    def quilt(self) -> Quilt:
        """Return what is laid, without the margin."""
        pixels = self.canvas[self.overlap :, self.overlap :, None].view(np.uint8)
        owner = self.owner[self.overlap :, self.overlap :].astype(np.int64)
        return Quilt(np.ascontiguousarray(pixels[..., :3]), self.placed.reshape(-1, 2), owner)

    def lay(self, rows: Ints, columns: Ints) -> bool:
        """Choose and stitch a patch for every cell of a wave; False where one finds none."""
        laid = self.canvas_patches[rows, columns]
        for row, column, costs in zip(
            rows.tolist(), columns.tolist(), self._costs(rows, columns, laid), strict=True
        ):
            costs[~self.free] = _REFUSED
            best = self._choose(costs, list(self._refused(row, column)))
            if best is None:
                return False
            self.placed[row, column] = self.candidates[best]
            self._refuse_around(best)
        self._stitch(rows, columns, laid)
        return True

    def _choose(self, costs: npt.NDArray[np.int32], refused: list[tuple[int, int]]) -> int | None:
        """Return the cheapest candidate that lies near none of the refused places."""
        reach = max(4, self.cell_px // 4)
        while True:
            best = int(costs.argmin())
            if costs[best] == _REFUSED:
                return None
            row, column = self.candidates[best].tolist()
            if not any(abs(row - y) <= reach and abs(column - x) <= reach for y, x in refused):
                return best
            costs[best] = _REFUSED

    def _refuse_around(self, best: int) -> None:
        reach = len(self.different) // 2
        row, column = self.candidates[best].tolist()
        top, left = max(0, row - reach), max(0, column - reach)
        numbers = self.number[top : row + reach + 1, left : column + reach + 1]
        down, right = np.nonzero(numbers >= 0)
        self.free[numbers[down, right]] &= self.different[
            down + (top - row + reach), right + (left - column + reach)
        ]

    def _costs(self, rows: Ints, columns: Ints, laid: Words) -> npt.NDArray[np.int32]:
        """Return how much each candidate differs, (n, K) int32, up to a constant for each cell.

        At most 3 * (1 + 3) * 100 * 3 * 128**2 in absolute value: well inside of 32 bits.
        """
        unused = (self.is_top & (rows == 0)[:, None]) | (self.is_left & (columns == 0)[:, None])
        costs = self.strips.differences(laid, ~unused)
        if self.guide is not None:
            costs += self.guide_costs[rows, columns]
        elif rows[0] == columns[0] == 0:
            costs[0, self.first] = -1
        return costs

    def _refused(self, row: int, column: int) -> Iterator[tuple[int, int]]:
        """Yield the places that would continue a neighbour or show what the guide shows."""
        for down, right in _NEIGHBOURS:
            i, j = row + down, column + right
            if i >= 0 and 0 <= j < self.n_cells:
                y, x = self.placed[i, j].tolist()
                yield y - down * self.cell_px, x - right * self.cell_px
        if self.guide is not None:
            half = self.cell_px // 2
            middle = row * self.cell_px + half, column * self.cell_px + half
            yield (
                int(self.guide.rows[middle]) - half - self.overlap,
                int(self.guide.columns[middle]) - half - self.overlap,
            )

    def _stitch(self, rows: Ints, columns: Ints, laid: Words) -> None:
        placed = self.placed[rows, columns]
        patches = self.source_patches[placed[:, 0], placed[:, 1]]
        # The strips on the left, and those on the top, turned.
        strips, laid_strips = (
            np.concatenate([of[:, :, : self.overlap], of[:, : self.overlap].transpose(0, 2, 1)])
            for of in (patches, laid)
        )
        cuts = min_cut(squared_differences(strips, laid_strips))
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
