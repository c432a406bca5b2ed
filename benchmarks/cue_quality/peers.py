"""The ways of others, on the same photographs and masks: Canny edges for shapes, shuffled crops for textures.

The published shapes are Canny edges of tightly cropped pictures, 1 px wide and then shrunk; the published textures
are random crops side by side (reference: measured on the published cues).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import cv2
import numpy as np
import numpy.typing as npt

from benchmarks.cue_quality.cues import Cue, Way
from benchmarks.cue_quality.photographs import Photo
from data_manifests.storage import join, write_bytes
from generation.cue_files import encode_png
from generation.outcome import Unavailable
from generation.peers.mohla import scene_edges
from generation.peers.pictures import object_box, resize
from generation.shape_quality import measure_shape
from generation.texture import TextureParams, render_texture

Image = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Place = Callable[[Image], Image]

NO_MASK = "no_mask"
# Canny's lines lie up to this many px beside the contour of a mask.
_BESIDE_PX = 3
# How far from the mask light may lie and still be its outline, as a share of the side: 4 px at 224.
_REACH_SHARE = 4 / 224


def draw_scene(image: Image, side_px: int) -> Image:
    """Return Canny edges of the whole photograph, looked for at its own size, shrunk after and put on a square.

    Of five ways (shrunk before or after, stretched, cut or put on a square) it was recognised best, with stretching.
    """
    return fit_box(scene_edges(image), np.ones(image.shape[:2], np.bool_), side_px)


def draw_crop(image: Image, mask: Mask, side_px: int, *, only_object: bool = False) -> Image:
    """Return Canny edges of the box around an object, looked for at the photograph's own size and shrunk after.

    With `only_object` those that are not on the mask or beside it are taken away.
    """
    edges = scene_edges(image)
    if only_object:
        reach = np.ones((2 * _BESIDE_PX + 1,) * 2, np.uint8)
        edges[cv2.dilate(mask.astype(np.uint8), reach) == 0] = 0
    return fit_box(edges, mask, side_px)


def fit_box(image: Image, mask: Mask, side_px: int) -> Image:
    """Return the box around a mask, cut from (H, W) or (H, W, 3) and centred on a black square of a side."""
    top, left, height, width = object_box(mask)
    side = max(height, width)
    square = np.zeros((side, side, *image.shape[2:]), np.uint8)
    y, x = (side - height) // 2, (side - width) // 2
    square[y : y + height, x : x + width] = image[top : top + height, left : left + width]
    return resize(square, side_px, side_px)


def largest_square(image: Image, mask: Mask) -> Image:
    """Return the largest square of a photograph that lies within a mask: its texture, untouched and without an outline.

    How well it is recognised says what a texture cue of this object may hope for.
    """
    inside = np.pad(mask, 1).astype(np.uint8)
    reach = cv2.distanceTransform(inside, cv2.DIST_C, 3)[1:-1, 1:-1]
    y, x = np.unravel_index(int(reach.argmax()), reach.shape)
    near = max(0, round(float(reach[y, x])) - 1)
    return np.ascontiguousarray(image[y - near : y + near + 1, x - near : x + near + 1])


def line_numbers(image: Image, mask: Mask, place: Place) -> dict[str, float]:
    """Return the quality numbers of a drawing of lines, with the mask of its photograph put `place` where it lies."""
    at_frame = mask.copy()
    at_frame[1:-1, 1:-1] = False
    levels = [place(part.astype(np.uint8) * 255) for part in (mask, at_frame)]
    return measure_shape(
        np.ascontiguousarray(image[..., 0]),
        levels[0] > 127,
        levels[1] > 0,
        reach_px=_REACH_SHARE * image.shape[0],
        style="outline+interior",
    )


def peers_of(photo: Photo, side_px: int, folder: str) -> Iterator[Cue]:
    """Yield the photograph itself and the cues that the ways of others make of it, written below a folder."""
    image, mask = photo.image(), photo.mask()
    yield _stored(photo, "photograph", resize(image, side_px, side_px), folder)
    if photo.source.cue_kind == "shape":
        yield from _shapes(photo, image, mask, side_px, folder)
        return
    if mask is None:
        yield _missing(photo, "interior", None, NO_MASK)
    else:
        yield _stored(photo, "interior", resize(largest_square(image, mask), side_px, side_px), folder)
    for row in photo.cues:
        if row.grid is None or mask is None:
            yield _missing(photo, "shuffled", row.grid, NO_MASK)
            continue
        params = TextureParams(method="shuffle")
        cue = render_texture(image, mask, side_px, row.grid, row.seed, params)
        if isinstance(cue, Unavailable):
            yield _missing(photo, "shuffled", row.grid, cue.status)
        else:
            yield _stored(photo, "shuffled", cue.image, folder, row.grid, cue.quality)


def _shapes(photo: Photo, image: Image, mask: Mask | None, side_px: int, folder: str) -> Iterator[Cue]:
    scene = draw_scene(image, side_px)

    def whole(array: Image) -> Image:
        return fit_box(array, np.ones(array.shape[:2], np.bool_), side_px)

    numbers = {} if mask is None else line_numbers(scene, mask, whole)
    yield _stored(photo, "scene Canny", scene, folder, numbers=numbers)
    ways: tuple[tuple[Way, bool], ...] = (("crop Canny", False), ("object Canny", True))
    for way, only_object in ways:
        if mask is None:
            yield _missing(photo, way, None, NO_MASK)
            continue
        drawn = draw_crop(image, mask, side_px, only_object=only_object)
        numbers = line_numbers(drawn, mask, lambda array, mask=mask: fit_box(array, mask, side_px))  # type: ignore[misc]
        yield _stored(photo, way, drawn, folder, numbers=numbers)


def _missing(photo: Photo, way: Way, grid: int | None, status: str) -> Cue:
    source = photo.source
    return Cue(way, source.cue_kind, source.superclass, photo.name, photo.half, grid, status=status)


def _stored(
    photo: Photo,
    way: Way,
    image: Image,
    folder: str,
    grid: int | None = None,
    numbers: dict[str, float] | None = None,
) -> Cue:
    source = photo.source
    name = photo.name + (f"_{grid}x{grid}" if grid else "")
    url = join(folder, f"{way.replace(' ', '_')}/{source.cue_kind}/{name}.png")
    write_bytes(url, encode_png(image))
    return Cue(
        way, source.cue_kind, source.superclass, photo.name, photo.half, grid, url, numbers=numbers or {}
    )
