"""Quality numbers of a texture cue: seams, large structure left, and how much its cells share."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

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
    "reassembly_share": "share of the cells in the largest group linked by shared pieces (1/8 of a cell)",
    "unique_cell_share": "share of cells with a place of their own in the photograph",
    "n_outside_px": "pixels that show anything outside of the eroded mask",
    "native_scale": "cue pixels per photograph pixel",
}

_COPY_TOLERANCE_PX = 3
_POSE_SIDE_PX = 32
_N_BLOCKS = 8


@dataclass(frozen=True)
class _Sharing:
    """What cells have in common: pairs of cells with the number of photograph pixels both show."""

    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]
    n_px: npt.NDArray[np.int64]
    cell_px: npt.NDArray[np.int64]


def texture_quality(
    image: Image, origin: OriginMap, mask: Mask, eroded: Mask, scale: float
) -> dict[str, float]:
    """Return every quality number of an (S, S, 3) uint8 cue; the (H, W) masks are those of the photograph."""
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.float64)
    sharing = _sharing(origin)
    return {
        "seam_ratio": seam_ratio(grey, origin.n_cells),
        "cut_ratio": cut_ratio(grey, origin.owner),
        "low_pass_share": low_pass_share(grey),
        "contrast_std": float(grey.std()),
        "silhouette_correlation": silhouette_correlation(grey, mask),
        "copy_share": copy_share(origin),
        "max_shared_share": _max_shared_share(sharing),
        "reassembly_share": _reassembly_share(sharing),
        "unique_cell_share": len(np.unique(origin.positions, axis=0)) / len(origin.positions),
        "n_outside_px": float(origin.n_outside(eroded)),
        "native_scale": scale,
    }


def max_shared_share(origin: OriginMap) -> float:
    """Return the largest share of its pixels that a cell has in common with another one."""
    return _max_shared_share(_sharing(origin))


def seam_ratio(grey: Grey, n_cells: int) -> float:
    """Return the mean gradient across the lines of the grid over the mean gradient elsewhere; 1: no grid.

    Measured on an (S, S) grey image; a constant one has the ratio 1.
    """
    cell = grey.shape[0] // n_cells
    on, off = [], []
    for steps in (np.abs(np.diff(grey, axis=1)), np.abs(np.diff(grey, axis=0)).T):
        is_seam = np.zeros(steps.shape[1], bool)
        is_seam[cell - 1 :: cell] = True
        on.append(steps[:, is_seam].ravel())
        off.append(steps[:, ~is_seam].ravel())
    return _ratio(np.concatenate(on), np.concatenate(off))


def cut_ratio(grey: Grey, owner: npt.NDArray[np.int64]) -> float:
    """Return the mean gradient across the cuts between patches over the mean gradient elsewhere."""
    across, along = np.abs(np.diff(grey, axis=1)), np.abs(np.diff(grey, axis=0))
    cut_across, cut_along = np.diff(owner, axis=1) != 0, np.diff(owner, axis=0) != 0
    on = np.concatenate([across[cut_across], along[cut_along]])
    return _ratio(on, np.concatenate([across[~cut_across], along[~cut_along]]))


def _ratio(on: Grey, off: Grey) -> float:
    if on.size == 0 or off.size == 0 or off.mean() == 0:
        return 1.0
    return float(on.mean() / off.mean())


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


def _sharing(origin: OriginMap) -> _Sharing:
    """Count the photograph pixels that each two cells both show."""
    rows, columns = origin.working_pixels()
    n_cells = len(origin.positions)
    # One entry for each pixel of the photograph and cell that shows it, pixel by pixel.
    keys = np.sort(((rows * origin.working[1] + columns) * n_cells + origin.squares()).ravel())
    keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
    pixels, cells = np.divmod(keys, n_cells)
    pairs = []
    step = 1
    while step < len(pixels) and (same := pixels[step:] == pixels[:-step]).any():
        pairs.append(cells[:-step][same] * n_cells + cells[step:][same])
        step += 1
    pair, n_px = np.unique(np.concatenate(pairs) if pairs else np.empty(0, np.int64), return_counts=True)
    return _Sharing(
        first=pair // n_cells,
        second=pair % n_cells,
        n_px=n_px.astype(np.int64),
        cell_px=np.bincount(cells, minlength=n_cells).astype(np.int64),
    )


def _max_shared_share(sharing: _Sharing) -> float:
    if len(sharing.n_px) == 0:
        return 0.0
    smaller = np.minimum(sharing.cell_px[sharing.first], sharing.cell_px[sharing.second])
    return float((sharing.n_px / smaller).max())


def _reassembly_share(sharing: _Sharing) -> float:
    n_cells = len(sharing.cell_px)
    linked = sharing.n_px * 8 * n_cells >= sharing.cell_px.sum()
    links = (np.ones(int(linked.sum())), (sharing.first[linked], sharing.second[linked]))
    _, group = connected_components(coo_matrix(links, shape=(n_cells, n_cells)), directed=False)
    return float(np.bincount(group).max() / n_cells)
