"""The shape of one photograph filled with the texture cue of another.

Not style transfer: the cue-conflict images of Geirhos et al. (2019, arXiv 1811.12231) are made by Gatys' method, which
bends a texture into every edge of the content and needs a network. Here both cues are this project's own, cut and laid
over each other: the silhouette is the shape, the quilt inside of it the texture, and nothing of either leaks elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from data_manifests.errors import CuebenchError
from generation.outcome import Unavailable
from generation.peers.pictures import Image, Mask, blend, white
from generation.shape import ShapeParams, render_shape
from generation.texture import TextureParams, render_texture


@dataclass(frozen=True)
class ConflictParams:
    """`grid` of the texture cue; `line_opacity` of the inner lines, dark over the texture (0: the silhouette alone)."""

    grid: int = 8
    line_opacity: float = 0.0
    shape: ShapeParams = field(default_factory=ShapeParams)
    texture: TextureParams = field(default_factory=TextureParams)

    def __post_init__(self) -> None:
        if not 0 <= self.line_opacity <= 1:
            raise CuebenchError(f"line_opacity: expected 0 to 1, got {self.line_opacity:g}")


def fill_shape(
    shape: tuple[Image, Mask], texture: tuple[Image, Mask], side_px: int, params: ConflictParams, seed: int
) -> Image | Unavailable:
    """Return the silhouette of one photograph's object, filled with the texture of another's, on white.

    Parameters
    ----------
    shape, texture : (H, W, 3) uint8 and (H, W) bool each
    side_px : int
        Side of the stimulus, a multiple of the grid.

    Raises
    ------
    CuebenchError
        If arrays, side or grid do not fit together (see `render_shape` and `render_texture`).
    """
    drawn = render_shape(*shape, side_px, _drawn_as(params, "silhouette"))
    if isinstance(drawn, Unavailable):
        return drawn
    fill = render_texture(*texture, side_px, params.grid, seed, params.texture)
    if isinstance(fill, Unavailable):
        return fill
    filled = fill.image
    if params.line_opacity:
        lines = render_shape(*shape, side_px, _drawn_as(params, "outline+interior"))
        if isinstance(lines, Unavailable):
            return lines
        ink = params.line_opacity * lines.image[..., 0].astype(np.float32) / 255
        filled = blend(np.zeros_like(filled), filled, ink.astype(np.float32))
    covered = drawn.image[..., 0].astype(np.float32) / 255
    return blend(filled, white(side_px, side_px), covered)


def _drawn_as(params: ConflictParams, style: str) -> ShapeParams:
    return params.shape.model_copy(update={"style": style, "polarity": "white-on-black"})
