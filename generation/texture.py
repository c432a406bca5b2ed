"""The texture cue: the surface of an object without its outline, a quilt of patches from inside its mask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from data_manifests.errors import CuebenchError
from generation.outcome import Unavailable
from generation.quilting import Guide, Random, lay_quilt, overlap_px
from generation.texture_evening import even_out
from generation.texture_origin import OriginMap
from generation.texture_patches import covered_by, inside_positions, typical_positions
from generation.texture_quality import texture_quality
from generation.texture_source import TextureSource, crop_source, erode_mask, flatten_light

Image = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

MAX_SHARED_SHARE = 0.5
# Squares of cells are held further apart than pixels have to be: the seams move pixels between cells.
_PLACED_SHARES = (0.5, 0.42, 0.34)
_SCALE_STEP = 1.25
# Enlarging shows a texture better up to here; further it only goes for want of texture.
_BEST_UPSAMPLE = 1.5
# Cells a side of the quilts that finer ones follow: the first that the photograph has patches for.
_GUIDE_GRIDS = (4, 8)
# Cells of grids up to this one have room for an eye or a leaf, and show shades that outline an object.
_COARSE_GRID = 4
_RANDOM_PACKING = 0.547
# Below this share of the cells that the estimate calls for, no quilt was ever completed.
_WORTH_TRYING = 0.75


class TextureParams(BaseModel):
    """Parameters of a texture cue.

    `method` is `quilt` (min-cut seams, typical patches, nothing copied) or `shuffle`, the way of the paper:
    random crops of a canvas no larger than the cue, with hard seams. `flatten` is the share of the uneven
    illumination that goes, `flatten_coarse` that on grids of up to four cells a side, `flatten_share` the
    width (sigma) of what counts as illumination, as a share of the side; `keep_share` is the share of patches
    that count as typical. `spare` is how many times the area of the cue the photograph is to offer: the
    photograph is reduced, or enlarged up to one and a half times, to this. Where a grid still finds too little
    texture it is enlarged further, by `max_upsample` at most. `low_pass` is the low-pass share that is left in
    a cue at most, `even_colours` the share of patches of colour that goes from it. All but `method` belong to
    `quilt`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: Literal["quilt", "shuffle"] = "quilt"
    flatten: Annotated[float, Field(ge=0, le=1)] = 0.25
    flatten_coarse: Annotated[float, Field(ge=0, le=1)] = 0.7
    flatten_share: Annotated[float, Field(gt=0, le=1)] = 0.12
    keep_share: Annotated[float, Field(gt=0, le=1)] = 0.7
    spare: Annotated[float, Field(ge=1, le=100)] = 2.0
    max_upsample: Annotated[float, Field(ge=1, le=4)] = 3.0
    low_pass: Annotated[float, Field(gt=0, le=1)] = 0.05
    even_colours: Annotated[float, Field(ge=0, le=1)] = 1.0


@dataclass(frozen=True)
class TextureCue:
    """A texture: `image` (S, S, 3) uint8, its origin map and its quality numbers (see `TEXTURE_QUALITY`)."""

    image: Image
    origin: OriginMap
    quality: dict[str, float]


def render_texture(
    image: Image,
    mask: Mask,
    side_px: int,
    grid: int,
    seed: int,
    params: TextureParams,
    eroded: Mask | None = None,
) -> TextureCue | Unavailable:
    """Render the texture of the object under a mask on a grid of `grid` x `grid` cells.

    Parameters
    ----------
    image : (H, W, 3) uint8
        Upright photograph, sRGB.
    mask : (H, W) bool
        True on the object.
    side_px : int
        Side of the cue in pixels, a multiple of `grid`.
    seed : int
        Moves every random choice; the same arguments give the same bytes.
    eroded : (H, W) bool
        `erode_mask(mask)`, where it is at hand: of a large photograph it takes seconds.

    Raises
    ------
    CuebenchError
        If the arrays do not fit together, the grid is too small or the side is no multiple of it.
    """
    _check(image, mask, side_px, grid)
    eroded = erode_mask(mask) if eroded is None else eroded
    if not eroded.any():
        return Unavailable("grid_unavailable", "nothing of the mask is left after its edge was taken off")
    render = _shuffle if params.method == "shuffle" else _quilt
    found = render(image, eroded, grid, side_px // grid, Random(seed), params)
    if isinstance(found, Unavailable):
        return found
    source, pixels, origin = found
    return TextureCue(pixels, origin, texture_quality(pixels, origin, mask, eroded, source.scale))


def _check(image: Image, mask: Mask, side_px: int, grid: int) -> None:
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise CuebenchError(f"image: expected (H, W, 3) uint8, got {image.shape} {image.dtype}")
    if mask.shape != image.shape[:2] or mask.dtype != np.bool_:
        raise CuebenchError(f"mask: expected {image.shape[:2]} bool, got {mask.shape} {mask.dtype}")
    if grid < 2:
        raise CuebenchError(f"grid: expected at least 2 cells a side, got {grid}")
    if side_px % grid or side_px // grid < 4:
        raise CuebenchError(
            f"a grid of {grid} cells needs a side that is a multiple of {grid} and at least {4 * grid} px, "
            f"got {side_px}"
        )


def _quilt(
    image: Image, eroded: Mask, grid: int, cell_px: int, random: Random, params: TextureParams
) -> tuple[TextureSource, Image, OriginMap] | Unavailable:
    needed, patch_px = _WORTH_TRYING * grid * grid, cell_px + overlap_px(cell_px)
    side_px, most = grid * cell_px, 0
    for scale in _scales(eroded, side_px, params):
        source = crop_source(image, eroded, scale)
        n_inside = int(np.count_nonzero(inside_positions(source.inside, patch_px)))
        most = max(most, n_inside)
        if n_placeable(n_inside, cell_px, _PLACED_SHARES[0]) < needed:
            continue
        strength = params.flatten_coarse if grid <= _COARSE_GRID else params.flatten
        source = flatten_light(source, params.flatten_share * side_px, strength)
        coarse = _coarse(source, grid, side_px, random, params)
        found = _fill(source, grid, cell_px, coarse, random, params)
        if found is not None:
            pixels, origin = found
            return source, even_out(pixels, params.low_pass, params.even_colours), origin
    return Unavailable(
        "grid_unavailable",
        f"{grid * grid} different cells of {cell_px} px need more texture than there is inside of the mask "
        f"({most} places for a patch); use a larger photograph, a finer grid or a smaller side",
    )


def _fill(
    source: TextureSource,
    grid: int,
    cell_px: int,
    coarse: _Coarse | None,
    random: Random,
    params: TextureParams,
) -> tuple[Image, OriginMap] | None:
    """Return a quilt of the source in which no two squares share more than allowed; None if there is none."""
    patch_px = cell_px + overlap_px(cell_px)
    if coarse is None:
        by_quarters = grid <= _COARSE_GRID
        positions = typical_positions(
            source.image, source.inside, patch_px, params.keep_share, by_quarters=by_quarters
        )
    else:
        # What is typical of a few pixels is the blank between seeds: larger patches say what belongs to a texture.
        positions = np.argwhere(inside_positions(coarse.typical, patch_px)).astype(np.int64)
    for share in _PLACED_SHARES:
        if n_placeable(len(positions), cell_px, share) < _WORTH_TRYING * grid * grid:
            break
        found = _lay(source, positions, grid, cell_px, share, random, coarse.guide if coarse else None)
        if found is None or found[1].sharing.largest_share <= MAX_SHARED_SHARE:
            return found
    return None


def _lay(
    source: TextureSource,
    positions: Ints,
    grid: int,
    cell_px: int,
    share: float,
    random: Random,
    guide: Guide | None = None,
) -> tuple[Image, OriginMap] | None:
    quilt = lay_quilt(source.image, positions, grid, cell_px, share, random, guide)
    if quilt is None:
        return None
    overlap = overlap_px(cell_px)
    return quilt.image, OriginMap(quilt.positions, quilt.owner, source.box, source.inside.shape, overlap)


@dataclass(frozen=True)
class _Coarse:
    """A quilt of larger cells for a finer one to follow, and the pixels, (h, w) bool, that its patches come from."""

    guide: Guide
    typical: Mask


def _coarse(
    source: TextureSource, grid: int, side_px: int, random: Random, params: TextureParams
) -> _Coarse | None:
    for n_cells in (n_cells for n_cells in _GUIDE_GRIDS if n_cells < grid):
        cell_px = -(-side_px // n_cells)
        patch_px = cell_px + overlap_px(cell_px)
        positions = typical_positions(source.image, source.inside, patch_px, params.keep_share)
        found = _lay(source, positions, n_cells, cell_px, MAX_SHARED_SHARE, random)
        if found is not None:
            typical = covered_by(positions, patch_px, source.inside.shape)
            return _Coarse(Guide(found[0], *found[1].working_pixels()), typical)
    return None


def n_placeable(n_positions: int, cell_px: int, share: float) -> float:
    """Return about how many cells find a place when no two may share more than a part of their squares.

    Places are taken at random, so they end at the jamming density of random sequential packing, .547 of the
    area that each cell keeps for itself.
    """
    reach = np.abs(np.arange(1 - cell_px, cell_px))
    kept = int(((cell_px - reach)[:, None] * (cell_px - reach)[None, :] > share * cell_px**2).sum())
    return _RANDOM_PACKING * n_positions / (kept / 4)


def _scales(eroded: Mask, side_px: int, params: TextureParams) -> Iterator[float]:
    """Yield the scales to try, smallest first, up to `max_upsample`."""
    most = params.max_upsample
    scale = min(_BEST_UPSAMPLE, most, side_px * (params.spare / np.count_nonzero(eroded)) ** 0.5)
    while scale < most:
        yield scale
        scale *= _SCALE_STEP
    yield most


def _shuffle(
    image: Image,
    eroded: Mask,
    grid: int,
    cell_px: int,
    random: Random,
    params: TextureParams,  # noqa: ARG001
) -> tuple[TextureSource, Image, OriginMap] | Unavailable:
    """Draw crops with replacement from a canvas no larger than the cue (REFINED-BIAS, as published)."""
    scale = min(1.0, grid * cell_px / max(eroded.shape))
    source = crop_source(image, eroded, scale)
    places = np.argwhere(inside_positions(source.inside, cell_px)).astype(np.int64)
    if len(places) == 0:
        return Unavailable("grid_unavailable", f"no square of {cell_px} px lies inside of the mask")
    positions = places[random.integers(len(places), grid * grid)]
    cells = np.arange(grid * grid).reshape(grid, grid)
    owner = np.repeat(np.repeat(cells, cell_px, 0), cell_px, 1).astype(np.int64)
    origin = OriginMap(positions, owner, source.box, source.inside.shape, 0)
    return source, source.image[origin.working_pixels()], origin
