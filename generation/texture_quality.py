"""Quality numbers of a texture cue: seams, large structure left, and how much its cells share."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from generation.texture_origin import OriginMap

Image = npt.NDArray[np.uint8]
Grey = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

TEXTURE_QUALITY = {
    "seam_ratio": "mean gradient across the cell grid / mean gradient elsewhere",
    "cut_ratio": "mean gradient across the cuts between patches / mean gradient elsewhere",
    "low_pass_share": "variance of the means of 8 x 8 blocks of the cue / variance of its pixels, grey",
    "contrast_std": "standard deviation of the grey values, in levels of 255",
    "silhouette_correlation": "largest |Pearson r| of the 32x32 low-pass with the 32x32 mask, over 8 poses",
    "copy_share": "share of neighbouring cells that continue each other in the photograph within 3 px",
    "max_shared_share": "largest share of its pixels that a square of the grid has in common with another",
    "reassembly_share": "share of the cells in the largest group linked by shared pieces (1/8 of a cell) or edges",
    "unique_cell_share": "share of cells with a place of their own in the photograph",
    "n_outside_px": "pixels that show anything outside of the eroded mask",
    "native_scale": "cue pixels per photograph pixel",
}

_COPY_TOLERANCE_PX = 3
_POSE_SIDE_PX = 32
_N_BLOCKS = 8


def texture_quality(
    image: Image, origin: OriginMap, mask: Mask, eroded: Mask, scale: float
) -> dict[str, float]:
    """Return every quality number of an (S, S, 3) uint8 cue; the (H, W) masks are those of the photograph."""
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.uint8, copy=False)
    levels = grey.astype(np.float64)
    return {
        "seam_ratio": seam_ratio(grey, origin.n_cells),
        "cut_ratio": cut_ratio(grey, origin.owner),
        "low_pass_share": low_pass_share(levels),
        "contrast_std": float(levels.std()),
        "silhouette_correlation": silhouette_correlation(levels, mask),
        "copy_share": copy_share(origin),
        "max_shared_share": origin.sharing.largest_share,
        "reassembly_share": reassembly_share(origin),
        "unique_cell_share": len(np.unique(origin.positions, axis=0)) / len(origin.positions),
        "n_outside_px": float(origin.n_outside(eroded)),
        "native_scale": scale,
    }


def seam_ratio(grey: Image, n_cells: int) -> float:
    """Return the mean gradient across the lines of the grid over the mean gradient elsewhere; 1: no grid.

    Measured on an (S, S) uint8 image; a constant one has the ratio 1.
    """
    cell = grey.shape[0] // n_cells
    across, along = _gradients(grey)
    return _ratio((across, along), (across[:, cell - 1 :: cell], along[cell - 1 :: cell]))


def cut_ratio(grey: Image, owner: npt.NDArray[np.int64]) -> float:
    """Return the mean gradient across the cuts between patches over the mean gradient elsewhere."""
    across, along = _gradients(grey)
    cuts = across[owner[:, 1:] != owner[:, :-1]], along[owner[1:] != owner[:-1]]
    return _ratio((across, along), cuts)


def _gradients(grey: Image) -> tuple[Image, Image]:
    across, along = cv2.absdiff(grey[:, 1:], grey[:, :-1]), cv2.absdiff(grey[1:], grey[:-1])
    return across.astype(np.uint8, copy=False), along.astype(np.uint8, copy=False)


def _ratio(steps: tuple[Image, Image], on: tuple[Image, Image]) -> float:
    """Return the mean of the steps on a line over the mean of all others; whole numbers, so exact."""
    n_on, n_off = sum(part.size for part in on), sum(part.size for part in steps)
    sum_on, sum_off = (sum(int(part.sum(dtype=np.int64)) for part in parts) for parts in (on, steps))
    n_off, sum_off = n_off - n_on, sum_off - sum_on
    if n_on == 0 or sum_off == 0:
        return 1.0
    return (sum_on / n_on) / (sum_off / n_off)


def low_pass_share(grey: Grey) -> float:
    """Return the variance of 8 x 8 block means over the variance of the pixels, in [0, 1].

    The blocks part the cue into 8 by 8 (28 px each at 224), so the number asks how much of the contrast is
    structure larger than an eighth of the side; it is that of the published cues' statistics.
    """
    means = cv2.resize(grey, (_N_BLOCKS, _N_BLOCKS), interpolation=cv2.INTER_AREA)
    variance = grey.var()
    return float(means.var() / variance) if variance > 0 else 0.0


def silhouette_correlation(grey: Grey, mask: Mask) -> float:
    """Return the largest |Pearson r| of cue and mask at 32x32 over 8 flips and turns; 0 if one is flat."""
    size = (_POSE_SIDE_PX, _POSE_SIDE_PX)
    small = cv2.resize(grey, size, interpolation=cv2.INTER_AREA)
    silhouette = cv2.resize(mask.astype(np.float64), size, interpolation=cv2.INTER_AREA)
    if small.std() == 0 or silhouette.std() == 0:
        return 0.0
    small = (small - small.mean()) / small.std()
    silhouette = (silhouette - silhouette.mean()) / silhouette.std()
    poses = [np.rot90(view, turn) for view in (silhouette, silhouette.T) for turn in range(4)]
    return float(max(abs((small * pose).mean()) for pose in poses))


def copy_share(origin: OriginMap) -> float:
    """Return the share of adjacent pairs of cells (8 neighbours) that lie in the photograph as in the cue."""
    n = origin.n_cells
    cell = origin.owner.shape[0] // n
    at = origin.positions.reshape(n, n, 2)
    n_pairs = n_copies = 0
    for di, dj in ((0, 1), (1, 0), (1, 1), (1, -1)):
        first = at[: n - di, max(0, -dj) : n - max(0, dj)]
        second = at[di:, max(0, dj) : n + min(0, dj)]
        error = np.abs(second - first - np.array([di * cell, dj * cell]))
        n_copies += int((error <= _COPY_TOLERANCE_PX).all(-1).sum())
        n_pairs += first.shape[0] * first.shape[1]
    return n_copies / n_pairs


def reassembly_share(origin: OriginMap) -> float:
    """Return the share of the cells in the largest group that could be put together again, like a jigsaw.

    Two cells are linked where they share a piece of the photograph as large as 1/8 of a cell, or where one
    continues the other across a whole edge (to 1/16 of a cell, 3 px at most), wherever in the cue the two are.
    """
    sharing, n_cells = origin.sharing, len(origin.positions)
    cell = origin.owner.shape[0] // origin.n_cells
    shared = sharing.n_px * 8 * n_cells >= sharing.cell_px.sum()
    first, second = [sharing.first[shared]], [sharing.second[shared]]
    places = cKDTree(origin.positions)
    for step in ((0, cell), (cell, 0)):
        # The nearest is enough: all that are as near share most of their pixels with it.
        distance, nearest = places.query(origin.positions + np.array(step), p=np.inf)
        continued = np.flatnonzero(distance <= min(_COPY_TOLERANCE_PX, cell // 16))
        first.append(continued)
        second.append(nearest[continued])
    ends = (np.concatenate(first), np.concatenate(second))
    links = coo_matrix((np.ones(len(ends[0])), ends), shape=(n_cells, n_cells))
    _, group = connected_components(links, directed=False)
    return float(np.bincount(group).max() / n_cells)
