"""Disrupted structure: the same texture without the same object, and the trial of three that shows it.

After DiST ("Does resistance to style-transfer equal (Global) Shape Bias?", Wen et al., 2023, arXiv 2310.07555): a
photograph beside two versions of it that keep its texture and lose its global structure; the photograph is the odd
one. Theirs are synthesised by matching the statistics of a network. Ours need none: the tiles of the photograph change
places, every one of them once, so that the statistics of patches are kept whatever the photograph. (Quilting that
looks for the best neighbour lays like beside like, and can rebuild the layout of a photograph of two large regions.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from data_manifests.errors import CuebenchError
from generation.peers.pictures import Image, check_image
from generation.peers.tiles import random_cycle, random_order
from generation.quilt_seams import min_cut
from generation.quilting import Random, overlap_px

_SEED_BOUND = 2**62


@dataclass(frozen=True)
class DisruptionParams:
    """How the grid x grid tiles meet: along the least visible cut of an overlap (`quilt`), or at straight seams."""

    method: Literal["quilt", "permute"] = "quilt"
    grid: int = 8

    def __post_init__(self) -> None:
        if self.method not in ("quilt", "permute"):
            raise CuebenchError(f"method: expected quilt or permute, got {self.method}")
        if self.grid < 2:
            raise CuebenchError(f"grid: expected at least 2 tiles a side, got {self.grid}")


@dataclass(frozen=True)
class OddOneOutTrial:
    """Three pictures of which `odd` (0, 1 or 2) has its global structure."""

    images: tuple[Image, Image, Image]
    odd: int


def disrupt_structure(image: Image, params: DisruptionParams, seed: int) -> Image:
    """Return a picture whose tiles have changed places, none of them where it was, (S, S, 3) uint8.

    Parameters
    ----------
    image : (S, S, 3) uint8
        Its side is a multiple of the grid, 4 px a tile at least.

    Raises
    ------
    CuebenchError
        If it is no square, or its side is no multiple of the grid.
    """
    check_image(image)
    height, width = image.shape[:2]
    if height != width or height % params.grid or height // params.grid < 4:
        raise CuebenchError(
            f"image: expected a square whose side is a multiple of {params.grid} and at least {4 * params.grid} px, "
            f"got {width} x {height}"
        )
    tile_px = height // params.grid
    overlap = overlap_px(tile_px) if params.method == "quilt" else 0
    # A patch reaches over the tiles above and left of it; beyond the picture it is mirrored.
    source = np.pad(image, ((overlap, 0), (overlap, 0), (0, 0)), mode="reflect")
    canvas = np.zeros_like(source)
    for index, place in enumerate(random_cycle(Random(seed), params.grid**2).tolist()):
        (row, column), (y, x) = divmod(index, params.grid), divmod(place, params.grid)
        patch, laid = (
            array[i * tile_px :, j * tile_px :][: tile_px + overlap, : tile_px + overlap]
            for array, i, j in ((source, y, x), (canvas, row, column))
        )
        lay_patch(patch, laid, overlap, cut_left=column > 0, cut_top=row > 0)
    return np.ascontiguousarray(canvas[overlap:, overlap:])


def lay_patch(patch: Image, laid: Image, overlap: int, *, cut_left: bool, cut_top: bool) -> None:
    """Write a patch over what is laid, behind the cheapest cut through the overlap on its left and at its top."""
    new = np.ones(patch.shape[:2], bool)
    if overlap:
        squares = ((patch.astype(np.int32) - laid) ** 2).sum(-1)
        at = np.arange(len(new))
        if cut_left:
            new &= at >= min_cut(squares[None, :, :overlap])[0][:, None]
        if cut_top:
            new &= at[:, None] >= min_cut(squares[None, :overlap].transpose(0, 2, 1))[0]
    laid[new] = patch[new]


def odd_one_out_trial(image: Image, params: DisruptionParams, seed: int) -> OddOneOutTrial:
    """Return a picture and two disrupted versions of it, in random order (see `disrupt_structure`)."""
    random = Random(seed)
    first_seed, second_seed = random.integers(_SEED_BOUND, 2).tolist()
    versions = (
        image,
        disrupt_structure(image, params, first_seed),
        disrupt_structure(image, params, second_seed),
    )
    i, j, k = random_order(random, 3).tolist()
    return OddOneOutTrial((versions[i], versions[j], versions[k]), (i, j, k).index(0))
