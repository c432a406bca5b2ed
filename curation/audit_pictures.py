"""What one file of a cue set holds: whether it can be read, its hashes, and the numbers its pixels tell."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import cv2
import numpy as np
import numpy.typing as npt

from curation.audit_files import AuditFile
from curation.audit_tiles import MIN_TILE_PX, find_grid, measure_tiles, sample_pieces
from data_manifests import storage
from data_manifests.errors import CuebenchError
from data_manifests.records import OK
from generation.hashing import pixel_sha256
from generation.outcome import Unavailable
from generation.photograph import DecodeLimits, Photograph, decode_photograph
from generation.shape_quality import (
    LIT_LEVEL,
    centre_lines,
    light_cut_share,
    lit_pixels,
    n_components,
    stroke_cv,
    stroke_px,
)
from generation.texture_quality import low_pass_share, seam_ratio

Image = npt.NDArray[np.uint8]

# Of a picture that is judged, nothing is asked but that it can be decoded, and that measuring it takes seconds:
# twice the largest side of a recipe.
_ANY_PICTURE = DecodeLimits(max_pixels=4096 * 4096, min_side_px=1, max_aspect=1e9, min_std=0)
LOOK_SIDE_PX, _LOOK_SIGMA_PX = 56, 1.0
BLANK_STD = 3.0

# Numbers that a run measured with masks and origin maps, which are surer than what pixels alone tell.
FROM_ORIGIN = frozenset({"max_shared_share", "reassembly_share", "unique_cell_share"})


@dataclass(frozen=True)
class Picture:
    """One audited file; all but `file`, `status` and `detail` are as they are where `status` is not `ok`.

    `mode` and `grid` are of the file (the grid found in the pixels where nothing else tells it); `look` is
    (56 * 56,) float32 of mean 0 and length 1, so that the product of two is their correlation; `pieces` (N,)
    uint64 are hashes of pieces of a texture. `line_level` is the median brightness of a shape's centre lines.
    """

    file: AuditFile
    status: str
    detail: str = ""
    width: int = 0
    height: int = 0
    mode: str = ""
    grid: int | None = None
    sha256: str = ""
    pixel_sha256: str = ""
    is_blank: bool = False
    line_level: float = 0.0
    quality: dict[str, float] = field(default_factory=dict)
    look: npt.NDArray[np.float32] | None = None
    pieces: npt.NDArray[np.uint64] | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.width, self.height


def measure_picture(file: AuditFile) -> Picture:
    """Return what a file holds; a file that can't be used is a picture whose status says why.

    Statuses: `missing`, `changed` (not the bytes of its row of the manifest), and those of
    `generation.photograph.decode_photograph`.
    """
    try:
        data = storage.read_bytes(file.url)
    except CuebenchError as error:
        return Picture(file, "missing", str(error))
    sha256 = hashlib.sha256(data).hexdigest()
    if file.record and file.record.sha256 not in (None, sha256):
        return Picture(file, "changed", "the SHA-256 is not that of its row in the manifest", sha256=sha256)
    photograph = decode_photograph(data, file.name, _ANY_PICTURE)
    if isinstance(photograph, Unavailable):
        return Picture(file, photograph.status, photograph.detail, sha256=sha256)
    return _measure(file, photograph, sha256)


def _measure(file: AuditFile, photograph: Photograph, sha256: str) -> Picture:
    image = photograph.image
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.uint8, copy=False)
    light = as_light(grey)
    grid = _grid_of(file, grey)
    return Picture(
        file=file,
        status=OK,
        width=image.shape[1],
        height=image.shape[0],
        mode=photograph.mode,
        grid=grid,
        sha256=sha256,
        # Of the decoded picture: the same whether a grey picture is stored with one channel or three.
        pixel_sha256=pixel_sha256(image),
        is_blank=float(grey.std()) < BLANK_STD,
        line_level=_line_level(light) if file.kind == "shape" else 0.0,
        quality=_quality(file, image, grey, grid),
        look=_look(grey),
        pieces=sample_pieces(image, grid) if file.kind == "texture" else None,
    )


def _grid_of(file: AuditFile, grey: Image) -> int | None:
    """Return the grid that the manifest or the name says, if the picture can have it, else one with seams."""
    if file.kind != "texture":
        return None
    height, width = grey.shape
    if file.grid is None:
        return find_grid(grey)
    fits = height == width and height % file.grid == 0 and height // file.grid >= MIN_TILE_PX
    return file.grid if fits else None


def _quality(file: AuditFile, image: Image, grey: Image, grid: int | None) -> dict[str, float]:
    if file.kind is None:
        return {}
    measured = shape_numbers(as_light(grey)) if file.kind == "shape" else texture_numbers(image, grey, grid)
    known = file.record.quality if file.record else {}
    surer = {name: known[name] for name in FROM_ORIGIN if name in known}
    return {**known, **measured, **surer}


def as_light(grey: Image) -> Image:
    """Return a shape cue as light on black: inverted if its frame is mostly bright."""
    frame = np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])
    return cv2.bitwise_not(grey).astype(np.uint8, copy=False) if np.median(frame) > 127 else grey


def shape_numbers(light: Image) -> dict[str, float]:
    """Return those numbers of `SHAPE_QUALITY` that need no mask, of (H, W) uint8 light on black.

    Strokes are measured on the centre lines of all that is brighter than 32 (of a rendered cue: than 128), for
    strokes thinner than a pixel, reduced from a larger drawing, have no brighter pixels.
    """
    lit = lit_pixels(light)
    lines = _lines(light)
    return {
        "peak": float(light.max()),
        "lit_share": lit.size / light.size,
        "lit_median": float(np.median(lit)) if lit.size else 0.0,
        "lit_mean": float(lit.mean()) if lit.size else 0.0,
        "light_cut_share": _light_lost(light),
        "n_components": float(n_components(light)),
        "stroke_px": stroke_px(light, lines),
        "stroke_cv": stroke_cv(light, lines),
    }


def _lines(light: Image) -> npt.NDArray[np.bool_]:
    return centre_lines(np.where(light > LIT_LEVEL, 255, 0).astype(np.uint8))


def _line_level(light: Image) -> float:
    on_lines = light[_lines(light)]
    return float(np.median(on_lines)) if on_lines.size else 0.0


def _light_lost(light: Image) -> float:
    """Return the share of the light that Resize(256) and CenterCrop(224) lose, of (H, W) light."""
    height, width = light.shape
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    square = np.ascontiguousarray(light[top : top + side, left : left + side])
    total = int(light.sum(dtype=np.int64))
    # Resizing the shorter side keeps the middle square, of which the crop then takes the middle.
    kept = int(square.sum(dtype=np.int64)) * (1 - light_cut_share(square)) if side >= 16 else total
    return 1 - kept / total if total else 0.0


def texture_numbers(image: Image, grey: Image, grid: int | None) -> dict[str, float]:
    """Return those numbers of `TEXTURE_QUALITY` that the pixels tell; those of tiles only where there is a grid.

    `overlap_share`, the share of tiles that share an eighth of their pixels with another one, is added.
    """
    levels = grey.astype(np.float64)
    numbers = {"low_pass_share": low_pass_share(levels), "contrast_std": float(levels.std())}
    if grid is None:
        return numbers
    tiles = measure_tiles(image, grid)
    return {
        **numbers,
        "seam_ratio": seam_ratio(grey, grid),
        "unique_cell_share": tiles.unique_share,
        "overlap_share": tiles.overlap_share,
        "reassembly_share": tiles.joined_share,
        "max_shared_share": tiles.largest_share,
    }


def _look(grey: Image) -> npt.NDArray[np.float32] | None:
    """Return the blurred picture of 56 x 56 px as a vector of mean 0 and length 1; None if it is constant."""
    size = (LOOK_SIDE_PX, LOOK_SIDE_PX)
    reduced = cv2.resize(grey, size, interpolation=cv2.INTER_AREA)
    blurred = cv2.GaussianBlur(reduced.astype(np.float32), (0, 0), _LOOK_SIGMA_PX).ravel()
    centred = blurred - blurred.mean()
    length = float(np.linalg.norm(centred))
    return (centred / length).astype(np.float32) if length > 1 else None
