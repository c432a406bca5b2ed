"""The origin map of a texture: where in the photograph every pixel of the cue came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class OriginMap:
    """The proof of where a texture cue comes from.

    `positions` is (n * n, 2): row and column of each cell's patch in the working image, placed so that pixel
    (y, x) of cell (i, j) shows working pixel `position + (y - i * cell + overlap, x - j * cell + overlap)`.
    `owner` is (S, S): the cell that each pixel belongs to, row by row. `box` is (top, left, height, width) of
    the working image in the photograph, `working` its (height, width); `overlap` is in pixels.
    """

    positions: Ints
    owner: Ints
    box: tuple[int, int, int, int]
    working: tuple[int, int]
    overlap: int

    @property
    def n_cells(self) -> int:
        """Cells per side."""
        return int(np.sqrt(len(self.positions)))

    def squares(self) -> Ints:
        """Return the square of the grid, counted row by row, that every pixel lies in, (S, S)."""
        n = self.n_cells
        index = np.arange(self.owner.shape[0]) // (self.owner.shape[0] // n)
        squares: Ints = index[:, None] * n + index[None, :]
        return squares

    def working_pixels(self) -> tuple[Ints, Ints]:
        """Return the row and the column in the working image of every pixel, each (S, S)."""
        side, n = self.owner.shape[0], self.n_cells
        cell = side // n
        y, x = np.mgrid[:side, :side]
        rows = self.positions[self.owner, 0] + y - (self.owner // n) * cell + self.overlap
        columns = self.positions[self.owner, 1] + x - (self.owner % n) * cell + self.overlap
        return rows, columns

    def photograph_boxes(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Return top, left, bottom and right (exclusive) of what every pixel shows of the photograph.

        In pixels of the upright photograph, each (S, S); a box of one pixel where nothing was reduced.
        """
        top, left, height, width = self.box
        rows, columns = self.working_pixels()
        high, wide = self.working
        return (
            top + rows * height // high,
            left + columns * width // wide,
            top - (-(rows + 1) * height // high),
            left - (-(columns + 1) * width // wide),
        )

    def n_outside(self, inside: npt.NDArray[np.bool_]) -> int:
        """Return how many pixels show any of the photograph outside of an (H, W) bool mask."""
        total = np.pad(np.cumsum(np.cumsum(inside, 0, dtype=np.int64), 1), ((1, 0), (1, 0)))
        top, left, bottom, right = self.photograph_boxes()
        covered = total[bottom, right] - total[top, right] - total[bottom, left] + total[top, left]
        return int((covered != (bottom - top) * (right - left)).sum())

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the map as small arrays, for storage."""
        return {
            "positions": self.positions.astype(np.int32),
            "owner": self.owner.astype(np.uint16),
            "frame": np.array([*self.box, *self.working, self.overlap], np.int32),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[np.generic]]) -> OriginMap:
        """Return the map that `arrays` stored."""
        top, left, height, width, high, wide, overlap = (int(value) for value in arrays["frame"])
        return cls(
            positions=arrays["positions"].astype(np.int64),
            owner=arrays["owner"].astype(np.int64),
            box=(top, left, height, width),
            working=(high, wide),
            overlap=overlap,
        )
