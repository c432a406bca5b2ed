"""Two negative controls: edges of the whole scene, and a silhouette repeated in rows.

The shape and texture streams of "Teaching CNNs to mimic Human Visual Cognitive Process & regularise Texture-Shape
bias" (Mohla et al., ICASSP 2022, arXiv 2006.14722), as far as published figures show
them; there is no code and there are no parameters.
The one keeps clutter and texture in a cue of shape, the other a silhouette in a cue of texture: gates have to see both.
"""

from __future__ import annotations

import cv2
import numpy as np

from data_manifests.errors import CuebenchError
from generation.peers.pictures import Image, Mask, blend, check_image, check_mask, object_box, resize, white
from generation.peers.tiles import random_cycle, tile_edges
from generation.quilting import Random

LOW_THRESHOLD, HIGH_THRESHOLD = 100.0, 200.0
_GAP_SHARE = 0.06


def scene_edges(image: Image, low: float = LOW_THRESHOLD, high: float = HIGH_THRESHOLD) -> Image:
    """Return Canny edges of the whole scene, its background included: white lines of 1 px on black.

    `low` and `high` are the thresholds of the hysteresis, in OpenCV's units of the Sobel gradient (L1).

    Raises
    ------
    CuebenchError
        If it is no (H, W, 3) uint8 picture, or not 0 <= low <= high.
    """
    check_image(image)
    if not 0 <= low <= high:
        raise CuebenchError(f"thresholds: expected 0 <= low <= high, got {low:g} and {high:g}")
    edges = cv2.Canny(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), low, high)
    return np.asarray(cv2.merge([edges, edges, edges]), np.uint8)


def repeat_silhouette(
    image: Image, mask: Mask, side_px: int, n_columns: int, mosaic: int, seed: int
) -> Image:
    """Return the object, cut out and shrunk, in rows on white; its silhouette stays visible.

    Parameters
    ----------
    image, mask : (H, W, 3) uint8, (H, W) bool
    n_columns : int
        Objects a row; as many rows follow as fit the canvas.
    mosaic : int
        Tiles on the longer side of the object; those that lie wholly inside of it change places. 1: none does.
    seed : int
        Moves the tiles.

    Raises
    ------
    CuebenchError
        If mask or numbers are out of range.
    """
    check_mask(image, mask)
    cell_px = side_px // n_columns if n_columns >= 1 else 0
    if cell_px < 8:
        raise CuebenchError(f"n_columns: expected 1 to {side_px // 8} on {side_px} px, got {n_columns}")
    if mosaic < 1:
        raise CuebenchError(f"mosaic: expected at least 1 tile, got {mosaic}")
    top, left, height, width = object_box(mask)
    box = (slice(top, top + height), slice(left, left + width))
    inside = mask[box]
    tiles = _mosaic(image[box], inside, mosaic, Random(seed))
    scale = (1 - 2 * _GAP_SHARE) * cell_px / max(height, width)
    h, w = max(1, round(height * scale)), max(1, round(width * scale))
    cut_out = resize(blend(tiles, white(height, width), inside.astype(np.float32)), h, w)
    row_px = min(cell_px, h + max(1, round(2 * _GAP_SHARE * cell_px)))
    canvas = white(side_px, side_px)
    margin_y = (side_px - side_px // row_px * row_px) // 2
    margin_x = (side_px - n_columns * cell_px) // 2
    for y in range(side_px // row_px):
        for x in range(n_columns):
            y0 = margin_y + y * row_px + (row_px - h) // 2
            x0 = margin_x + x * cell_px + (cell_px - w) // 2
            canvas[y0 : y0 + h, x0 : x0 + w] = cut_out
    return canvas


def _mosaic(image: Image, inside: Mask, n_tiles: int, random: Random) -> Image:
    tile_px = -(-max(inside.shape) // n_tiles)
    if n_tiles == 1 or tile_px > min(inside.shape):
        return image
    height, width = inside.shape
    places = [
        (y, x)
        for y in tile_edges(height // tile_px * tile_px, height // tile_px)[:-1]
        for x in tile_edges(width // tile_px * tile_px, width // tile_px)[:-1]
        if inside[y : y + tile_px, x : x + tile_px].all()
    ]
    moved = image.copy()
    for (y, x), source in zip(places, random_cycle(random, len(places)), strict=True):
        v, u = places[source]
        moved[y : y + tile_px, x : x + tile_px] = image[v : v + tile_px, u : u + tile_px]
    return moved
