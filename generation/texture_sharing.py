"""What the cells of a texture cue have in common: the pixels of the photograph that two of them both show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Sharing:
    """Pairs of cells that show the same pixels.

    `first`, `second` and `n_px` are (K,): two cells and how many pixels of the working image both show;
    `cell_px` is (n * n,): how many different ones each cell shows.
    """

    first: Ints
    second: Ints
    n_px: Ints
    cell_px: Ints

    @property
    def largest_share(self) -> float:
        """The largest share of its pixels that a cell has in common with another one."""
        if len(self.n_px) == 0:
            return 0.0
        smaller = np.minimum(self.cell_px[self.first], self.cell_px[self.second])
        return float((self.n_px / smaller).max())


def count_shared(pixels: Ints, cells: Ints, n_cells: int) -> Sharing:
    """Return what cells share, from the working pixel that every pixel of a cue shows and its cell, (S, S)."""
    fits = (int(pixels.max()) + 1) * n_cells <= np.iinfo(np.uint32).max
    # One entry for each working pixel and cell that shows it, pixel by pixel; 32 bits sort twice as fast.
    keys = np.sort((pixels * n_cells + cells).ravel().astype(np.uint32 if fits else np.uint64))
    keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
    shown = keys // keys.dtype.type(n_cells)
    by = (keys - shown * keys.dtype.type(n_cells)).astype(np.int64)
    pairs = []
    step = 1
    while step < len(shown) and (same := shown[step:] == shown[:-step]).any():
        pairs.append(by[:-step][same] * n_cells + by[step:][same])
        step += 1
    pair, n_px = np.unique(np.concatenate(pairs) if pairs else np.empty(0, np.int64), return_counts=True)
    return Sharing(
        first=pair // n_cells,
        second=pair % n_cells,
        n_px=n_px.astype(np.int64),
        cell_px=np.bincount(by, minlength=n_cells).astype(np.int64),
    )
