"""The origin map of a texture: where in the photograph every pixel of the cue came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
import numpy.typing as npt

from generation.texture_sharing import Sharing, count_shared

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

    @cached_property
    def sharing(self) -> Sharing:
        """The working pixels that each two squares of the grid both show."""
        rows, columns = self.working_pixels()
        return count_shared(rows * self.working[1] + columns, self.squares(), len(self.positions))

    def working_pixels(self) -> tuple[Ints, Ints]:
        """Return the row and the column in the working image of every pixel, each (S, S)."""
        side, n = self.owner.shape[0], self.n_cells
        cells, along = np.arange(n * n), np.arange(side)
        from_row = self.positions[:, 0] - cells // n * (side // n) + self.overlap
        from_column = self.positions[:, 1] - cells % n * (side // n) + self.overlap
        return from_row[self.owner] + along[:, None], from_column[self.owner] + along

    def photograph_boxes(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Return top, left, bottom and right (exclusive) of what every pixel shows of the photograph.

        In pixels of the upright photograph, each (S, S); a box of one pixel where nothing was reduced.
        """
        rows, columns = self.working_pixels()
        top, bottom, left, right = self._edges()
        return top[rows], left[columns], bottom[rows], right[columns]

    def _edges(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Return top and bottom of every row of the working image, left and right of every column."""
        top, left, height, width = self.box
        high, wide = self.working
        rows, columns = np.arange(high + 1) * height, np.arange(wide + 1) * width
        return (
            top + rows[:-1] // high,
            top - (-rows[1:] // high),
            left + columns[:-1] // wide,
            left - (-columns[1:] // wide),
        )

    def n_outside(self, inside: npt.NDArray[np.bool_]) -> int:
        """Return how many pixels show any of the photograph outside of an (H, W) bool mask."""
        total = cv2.integral(inside.astype(np.uint8))
        top, bottom, left, right = self._edges()
        covered = (
            total[bottom][:, right] - total[top][:, right] - total[bottom][:, left] + total[top][:, left]
        )
        is_outside = covered != (bottom - top)[:, None] * (right - left)
        return int(np.count_nonzero(is_outside[self.working_pixels()]))

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
