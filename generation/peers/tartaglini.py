"""Silhouettes filled with a texture, on white or on a background: the stimuli of the triplet test.

After "A Developmentally-Inspired Examination of Shape versus Texture Bias in Machines" (Tartaglini, Vong & Lake,
CogSci 2022, arXiv 2202.08340): sizes of 20 to 100 % of the canvas, in its middle or
anywhere, backgrounds of any opacity; textures are random windows of a picture enlarged to twice the canvas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from data_manifests.errors import CuebenchError
from generation.peers.pictures import Coverage, Image, Mask, blend, check_image, resize, white
from generation.quilting import Random

SIDE_PX = 224
SIZE_SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
TEXTURE_ENLARGEMENT = 2


@dataclass(frozen=True)
class SilhouetteParams:
    """How a filled silhouette lies on its canvas.

    `size_share` is the side of the silhouette's own canvas over that of the stimulus; `place` says where it
    goes: in the middle (`aligned`) or anywhere it fits (`random`). `opacity` is the background's over white.
    """

    size_share: float = 1.0
    place: Literal["aligned", "random"] = "aligned"
    opacity: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.size_share <= 1:
            raise CuebenchError(f"size_share: expected more than 0 and up to 1, got {self.size_share:g}")
        if self.place not in ("aligned", "random"):
            raise CuebenchError(f"place: expected aligned or random, got {self.place}")
        if not 0 <= self.opacity <= 1:
            raise CuebenchError(f"opacity: expected 0 to 1, got {self.opacity:g}")


PUBLISHED: tuple[SilhouetteParams, ...] = tuple(
    SilhouetteParams(size, place) for size in SIZE_SHARES for place in ("aligned", "random")
)


def crop_texture(texture: Image, side_px: int, random: Random) -> Image:
    """Return a random (S, S, 3) window of a texture whose shorter side is enlarged to twice the window."""
    check_image(texture)
    height, width = texture.shape[:2]
    scale = TEXTURE_ENLARGEMENT * side_px / min(height, width)
    large = resize(texture, *(max(side_px, round(length * scale)) for length in (height, width)))
    top, left = (int(random.integers(length - side_px + 1, 1)[0]) for length in large.shape[:2])
    return large[top : top + side_px, left : left + side_px]


def fill_silhouette(
    coverage: Coverage | Mask,
    texture: Image,
    params: SilhouetteParams,
    seed: int,
    background: Image | None = None,
) -> Image:
    """Return a silhouette filled with a window of a texture.

    Parameters
    ----------
    coverage : (S, S) bool, or float32 in [0, 1]
        How much of each pixel the object covers.
    texture : (h, w, 3) uint8
        Of any size; its window is shrunk together with the silhouette.
    seed : int
        Moves the window, then the place.
    background : (S, S, 3) uint8
        Wanted where `params.opacity` is above 0.

    Raises
    ------
    CuebenchError
        If the coverage is no square or leaves [0, 1], or the background is of another size or missing.
    """
    shape = _checked(coverage)
    side_px, random = len(shape), Random(seed)
    fill = crop_texture(texture, side_px, random)
    under = _background(background, side_px, params.opacity)
    small_px = max(1, round(params.size_share * side_px))
    free = side_px - small_px
    top, left = (free // 2,) * 2 if params.place == "aligned" else random.integers(free + 1, 2).tolist()
    area = (slice(top, top + small_px), slice(left, left + small_px))
    small = np.asarray(
        resize(np.repeat(np.rint(shape * 255).astype(np.uint8)[..., None], 3, 2), small_px, small_px)
    )
    covered = small[..., 0].astype(np.float32) / 255
    under[area] = blend(resize(fill, small_px, small_px), under[area], covered)
    return under


def _checked(coverage: Coverage | Mask) -> Coverage:
    if coverage.ndim != 2 or coverage.shape[0] != coverage.shape[1]:
        raise CuebenchError(f"coverage: expected a square (S, S), got {coverage.shape}")
    shape = coverage.astype(np.float32)
    if not ((shape >= 0) & (shape <= 1)).all():
        raise CuebenchError(f"coverage: expected 0 to 1, got {shape.min():g} to {shape.max():g}")
    return shape


def _background(background: Image | None, side_px: int, opacity: float) -> Image:
    blank = white(side_px, side_px)
    if opacity == 0:
        return blank
    if background is None:
        raise CuebenchError(
            f"background: an opacity of {opacity:g} needs a picture of {side_px} x {side_px} px"
        )
    check_image(background)
    if background.shape != blank.shape:
        raise CuebenchError(f"background: expected {blank.shape}, got {background.shape}")
    return blend(background, blank, opacity)
