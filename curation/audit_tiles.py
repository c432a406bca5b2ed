"""What the tiles of a texture cue have in common, told by the pixels alone.

A tile is a square of the grid. Pieces of two tiles that are equal pixel by pixel come from the same place of
the photograph, and say how the two lie there: a cue whose tiles overlap can be put together again.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

Image = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

SCANNED_GRIDS = (4, 8, 16, 32)
# Of 120 published cues all have the grid of their name at these, and no quilt of 16 has any.
_SEAM_RATIO, _SEAM_SHARE = 1.15, 0.55
MIN_TILE_PX = 4

# Pieces that two cues of one photograph may share: 7 px fit into the finest tiles, and 5 of them are no chance.
PIECE_PX = 7
_ONE_PIECE_OF = 8  # that many are hashed for one that is kept; which ones, their hash decides
# Plain pieces (a white ground, a black shadow) are equal wherever they come from.
_MIN_LEVELS = 4
_SHARED_PART = 8  # tiles are linked where they share 1/8 of their pixels, as in `reassembly_share`


@dataclass(frozen=True)
class Tiles:
    """What the tiles of one cue share; shares of the tiles in [0, 1].

    `unique_share`: different tiles; `overlap_share`: tiles that share at least 1/8 of their pixels with another
    one; `joined_share`: tiles in the largest group linked so; `largest_share`: the largest part that a tile has
    in common with one that is not its exact copy. Where three tiles and more show the same piece, each is
    compared with the next one only: the groups stay the same, the largest part may be a little larger.
    """

    unique_share: float
    overlap_share: float
    joined_share: float
    largest_share: float


def find_grid(grey: Image) -> int | None:
    """Return the finest grid of 4, 8, 16 or 32 tiles a side with seams of its own; None where none shows.

    Every second line of a grid belongs to the next coarser one: the others are where its own seams lie. A seam
    is a line with a larger mean gradient than the two lines on either side of it.
    """
    side = grey.shape[0]
    if side != grey.shape[1] or side < SCANNED_GRIDS[0] * MIN_TILE_PX:
        return None
    across, along = cv2.absdiff(grey[:, 1:], grey[:, :-1]), cv2.absdiff(grey[1:], grey[:-1])
    gradients = np.stack([across.mean(axis=0), along.mean(axis=1)])
    for grid in reversed(SCANNED_GRIDS):
        tile = side // grid
        if side % grid or tile < MIN_TILE_PX:
            continue
        own = np.arange(tile - 1, side - 1, 2 * tile if grid > SCANNED_GRIDS[0] else tile)
        beside = np.stack([gradients[:, np.clip(own + step, 0, side - 2)] for step in (-2, -1, 1, 2)])
        is_seam = gradients[:, own] > beside.max(axis=0)
        if is_seam.mean() >= _SEAM_SHARE and gradients[:, own].mean() >= _SEAM_RATIO * beside.mean():
            return grid
    return None


def measure_tiles(image: Image, grid: int) -> Tiles:
    """Return what the grid x grid tiles of an (S, S, 3) uint8 cue share; S is a multiple of `grid`."""
    n_tiles, tile = grid * grid, image.shape[0] // grid
    tiles = _cut(image, grid)
    unique = len({one.tobytes() for one in tiles})
    piece = int(np.clip(round(tile / np.sqrt(_SHARED_PART)), 4, 8))
    first, second, n_shared, is_copy = _overlaps(image, tiles, grid, piece)
    enough = n_shared * _SHARED_PART >= tile * tile
    linked = np.unique(np.concatenate([first[enough], second[enough]]))
    links = coo_matrix(
        (np.ones(int(enough.sum())), (first[enough], second[enough])), shape=(n_tiles, n_tiles)
    )
    _, group = connected_components(links, directed=False)
    parts = n_shared[~is_copy] / (tile * tile)
    return Tiles(
        unique_share=unique / n_tiles,
        overlap_share=len(linked) / n_tiles,
        joined_share=float(np.bincount(group).max() / n_tiles),
        largest_share=float(parts.max()) if parts.size else 0.0,
    )


def _cut(image: Image, grid: int) -> Image:
    """Return the tiles row by row, (grid * grid, T, T, 3)."""
    tile = image.shape[0] // grid
    parts = image.reshape(grid, tile, grid, tile, 3).swapaxes(1, 2)
    return np.ascontiguousarray(parts).reshape(grid * grid, tile, tile, 3)


def _overlaps(
    image: Image, tiles: Image, grid: int, piece: int
) -> tuple[Ints, Ints, Ints, npt.NDArray[np.bool_]]:
    """Return pairs of tiles, how many pixels they share at their best offset, and whether they are copies."""
    tile = image.shape[0] // grid
    hashes, row, column = piece_hashes(image, piece, tile)
    order = np.argsort(hashes, kind="stable")
    at = order[np.flatnonzero(hashes[order][1:] == hashes[order][:-1])[:, None] + [0, 1]]
    index = (row // tile) * grid + column // tile
    one, two = index[at[:, 0]], index[at[:, 1]]
    down = row[at[:, 0]] % tile - row[at[:, 1]] % tile
    right = column[at[:, 0]] % tile - column[at[:, 1]] % tile
    apart = one != two
    # One number for each pair and offset: sorting rows of four takes ten times as long.
    shape = (grid * grid, grid * grid, 2 * tile, 2 * tile)
    keys = np.ravel_multi_index((one[apart], two[apart], down[apart] + tile, right[apart] + tile), shape)
    found = np.stack(np.unravel_index(np.unique(keys), shape), axis=1) - [0, 0, tile, tile]
    n_shared = np.array([_n_equal(tiles[a], tiles[b], dy, dx) for a, b, dy, dx in found.tolist()], np.int64)
    is_copy = (found[:, 2] == 0) & (found[:, 3] == 0) & (n_shared == tile * tile)
    return found[:, 0], found[:, 1], n_shared, is_copy


def _n_equal(one: Image, two: Image, down: int, right: int) -> int:
    """Return how many pixels of a tile equal those of another one that lies (down, right) of it."""
    size = one.shape[0]
    upper = one[max(0, down) : size + min(0, down), max(0, right) : size + min(0, right)]
    lower = two[max(0, -down) : size + min(0, -down), max(0, -right) : size + min(0, -right)]
    return int((upper == lower).all(-1).sum())


def piece_hashes(image: Image, piece: int, tile: int) -> tuple[Hashes, Ints, Ints]:
    """Return hash, row and column (of the corner) of each piece x piece square that lies in one tile.

    Plain squares are left out. Each of the three is (N,); equal pixels have equal hashes, in every cue.
    """
    height, width = image.shape[:2]
    rows, columns = np.arange(height - piece + 1), np.arange(width - piece + 1)
    inside = (rows % tile <= tile - piece)[:, None] & (columns % tile <= tile - piece)[None, :]
    inside &= _is_rich(image, piece)
    row, column = np.nonzero(inside)
    return _rolling_hash(image, piece)[row, column], row.astype(np.int64), column.astype(np.int64)


def _is_rich(image: Image, piece: int) -> npt.NDArray[np.bool_]:
    """Return where the pixels of a square vary by more than a few levels, by its upper left corner."""
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    kernel = np.ones((piece, piece), np.uint8)
    corner = (0, 0)
    spread = cv2.subtract(cv2.dilate(grey, kernel, anchor=corner), cv2.erode(grey, kernel, anchor=corner))
    rich: npt.NDArray[np.bool_] = (
        spread[: grey.shape[0] - piece + 1, : grey.shape[1] - piece + 1] > _MIN_LEVELS
    )
    return rich


def _rolling_hash(image: Image, piece: int) -> Hashes:
    """Return a polynomial hash, modulo 2^64, of every piece x piece square, by its upper left corner."""
    # Odd multipliers with well mixed bits: the fractions of the golden ratio and of pi, as in SplitMix64.
    along, down = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
    packed = image.astype(np.uint64) @ np.array([1, 1 << 8, 1 << 16], np.uint64)
    values = _mixed(packed + np.uint64(1))
    lines = _windowed(values, piece, along)
    return _mixed(_windowed(lines.T, piece, down).T)


def _windowed(values: Hashes, piece: int, base: np.uint64) -> Hashes:
    n = values.shape[1] - piece + 1
    total = values[:, :n].copy()
    for step in range(1, piece):
        total *= base
        total += values[:, step : step + n]
    return total


def _mixed(values: Hashes) -> Hashes:
    """Return the values with every bit depending on every other (the finaliser of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def sample_pieces(image: Image, grid: int | None) -> Hashes:
    """Return the hashes of an eighth of the 7 x 7 pieces of a cue, each once, (N,).

    Which pieces are kept depends on their pixels alone: two cues of one photograph keep the same ones.
    """
    tile = image.shape[0] // grid if grid else max(image.shape[:2])
    if min(tile, *image.shape[:2]) < PIECE_PX:
        return np.empty(0, np.uint64)
    hashes, _, _ = piece_hashes(image, PIECE_PX, tile)
    return np.unique(hashes[hashes % np.uint64(_ONE_PIECE_OF) == 0])
