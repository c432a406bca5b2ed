"""Pictures cut into a grid of tiles, and their tiles moved about or turned."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import cv2
import numpy as np
import numpy.typing as npt

from data_manifests.errors import CuebenchError
from generation.peers.pictures import Image, check_image
from generation.quilting import Random

Ints = npt.NDArray[np.int64]

_DRAW_BOUND = 2**62


def random_order(random: Random, n: int) -> Ints:
    """Return a random permutation of 0 ... n - 1, the same on every platform."""
    return np.argsort(random.integers(_DRAW_BOUND, n), kind="stable").astype(np.int64)


def random_cycle(random: Random, n: int) -> Ints:
    """Return a random permutation of one cycle: where n > 1, nothing stays in its place."""
    order = random_order(random, n)
    cycle = np.empty(n, np.int64)
    cycle[order] = np.roll(order, 1)
    return cycle


def tile_edges(length_px: int, grid: int) -> list[int]:
    """Return the grid + 1 edges of tiles whose sizes differ by a pixel at most.

    >>> tile_edges(224, 6)
    [0, 37, 74, 112, 149, 186, 224]
    """
    if not 1 <= grid <= length_px:
        raise CuebenchError(f"grid: expected 1 to {length_px} tiles on {length_px} px, got {grid}")
    return [index * length_px // grid for index in range(grid + 1)]


def shuffle_tiles(image: Image, grid: int, random: Random, *, may_stay: bool = True) -> Image:
    """Return the picture with its grid x grid tiles permuted, each among those of its own size.

    With `may_stay` every permutation is as likely; without it, no tile that has a partner keeps its place.

    Raises
    ------
    CuebenchError
        If the grid does not fit, or no tile has a partner of its size.
    """
    check_image(image)
    rows, columns = (tile_edges(length, grid) for length in image.shape[:2])
    groups: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for top, bottom in pairwise(rows):
        for left, right in pairwise(columns):
            groups[bottom - top, right - left].append((top, left))
    if grid > 1 and max(map(len, groups.values())) == 1:
        height, width = image.shape[:2]
        raise CuebenchError(
            f"no two of {grid} x {grid} tiles of {width} x {height} px are of one size, so none can move; use sides "
            f"that are multiples of {grid}"
        )
    moved = image.copy()
    permute = random_order if may_stay else random_cycle
    for (height, width), places in sorted(groups.items()):
        for (top, left), source in zip(places, permute(random, len(places)), strict=True):
            y, x = places[source]
            moved[top : top + height, left : left + width] = image[y : y + height, x : x + width]
    return moved


def rotate_tiles(image: Image, grid: int, random: Random) -> Image:
    """Return the picture with every tile turned by 0, 90, 180 or 270 degrees.

    A picture that is no square of `grid` equal tiles is stretched to one first, and back afterwards.
    """
    check_image(image)
    height, width = image.shape[:2]
    tile_edges(min(height, width), grid)
    side = -(-max(height, width) // grid) * grid
    turned = _stretched(image, side, side)
    tile_px = side // grid
    for index, n_quarters in enumerate(random.integers(4, grid * grid).tolist()):
        top, left = (tile_px * at for at in divmod(index, grid))
        tile = turned[top : top + tile_px, left : left + tile_px]
        tile[:] = np.rot90(tile, n_quarters).copy()
    return _stretched(turned, height, width)


def _stretched(image: Image, height: int, width: int) -> Image:
    if image.shape[:2] == (height, width):
        return image.copy()
    return np.asarray(cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR), np.uint8)
