"""Contact sheets: a row for each photograph with its mask, its cues and those of others, and what was recognised."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image as Pictures
from PIL import ImageDraw, ImageFont

from benchmarks.cue_quality.cues import WAYS, Cue, Way
from benchmarks.cue_quality.photographs import Photo
from benchmarks.cue_quality.table import worst_photographs
from data_manifests.records import OK, CueKind
from data_manifests.storage import join, read_bytes, write_bytes

Image = npt.NDArray[np.uint8]

TILE_PX, TEXT_PX, GAP_PX = 168, 30, 6
N_ROWS = 8
_RIGHT, _WRONG, _PLAIN = (0, 130, 40), (200, 30, 30), (60, 60, 60)
_OUTLINE = (255, 0, 255)


def write_sheets(photos: Sequence[Photo], cues: Sequence[Cue], folder: str) -> list[str]:
    """Write the sheets of both kinds, class by class with a few photographs on each, and of the worst; return where."""
    written = []
    for kind in WAYS:
        rows = {
            photo.name: _row(photo, [c for c in cues if c.photograph == photo.name and c.kind == kind])
            for photo in sorted(photos, key=lambda p: p.name)
            if photo.source.cue_kind == kind
        }
        names = list(rows)
        sheets = {
            f"{start // N_ROWS + 1:02d}": names[start : start + N_ROWS]
            for start in range(0, len(names), N_ROWS)
        }
        for sheet, shown in {**sheets, "worst": list(worst_photographs(cues, kind))}.items():
            if shown:
                url = join(folder, f"sheet-{kind}-{sheet}.png")
                write_bytes(url, _encoded(_stacked([rows[name] for name in shown])))
                written.append(url)
    return written


def _row(photo: Photo, cues: Sequence[Cue]) -> list[Pictures.Image]:
    kind: CueKind = photo.source.cue_kind
    by_way: Mapping[Way, list[Cue]] = {way: [c for c in cues if c.way == way] for way in WAYS[kind]}
    tiles = [_outlined(photo, by_way["photograph"])]
    for way, own in by_way.items():
        if way not in ("photograph", "published"):
            tiles += [_tile(cue) for cue in sorted(own, key=lambda c: c.grid or 0)]
    return tiles


def _outlined(photo: Photo, own: Sequence[Cue]) -> Pictures.Image:
    """Return the photograph with the outline of its mask."""
    image, mask = photo.image().copy(), photo.mask()
    if mask is not None:
        contours, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
        thickness = max(2, round(3 * max(mask.shape) / TILE_PX))
        cv2.drawContours(image, contours, -1, _OUTLINE, thickness)
    return _captioned(image, photo.name, own[0] if own else None)


def _tile(cue: Cue) -> Pictures.Image:
    name = cue.way if cue.grid is None else f"{cue.way} {cue.grid}x{cue.grid}"
    if cue.status != OK:
        return _captioned(np.full((TILE_PX, TILE_PX, 3), 235, np.uint8), name, cue, cue.status)
    with Pictures.open(io.BytesIO(read_bytes(cue.url))) as picture:
        return _captioned(np.asarray(picture.convert("RGB")), name, cue)


def _captioned(image: Image, title: str, cue: Cue | None, remark: str = "") -> Pictures.Image:
    """Return a tile: a picture in a frame that says whether it is recognised, under two lines of text."""
    answer = cue.answer if cue else None
    colour = _PLAIN if answer is None else _RIGHT if answer.is_right else _WRONG
    said = (
        "" if answer is None else f"yes {answer.probability:.2f}" if answer.is_right else f"no: {answer.seen}"
    )
    tile = Pictures.new("RGB", (TILE_PX + GAP_PX, TILE_PX + TEXT_PX + GAP_PX), "white")
    draw = ImageDraw.Draw(tile)
    font = ImageFont.load_default(11)
    for line, (text, ink) in enumerate(((title, _PLAIN), (said or remark, colour))):
        draw.text((1, 14 * line), shortened(text, font), ink, font)
    scale = (TILE_PX - 4) / max(image.shape[:2])
    size = (max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale)))
    draw.rectangle((0, TEXT_PX, size[0] + 3, TEXT_PX + size[1] + 3), fill=colour)
    tile.paste(Pictures.fromarray(image).resize(size, Pictures.Resampling.LANCZOS), (2, TEXT_PX + 2))
    return tile


def shortened(text: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont) -> str:
    """Return a text as wide as a tile at most: of a longer one the first and the last letters."""
    n_kept = len(text)
    shown = text
    while font.getlength(shown) > TILE_PX and n_kept > 2:
        n_kept -= 1
        shown = f"{text[: n_kept // 2]}..{text[len(text) - (n_kept - n_kept // 2) :]}"
    return shown


def _stacked(rows: Sequence[Sequence[Pictures.Image]]) -> Pictures.Image:
    width, height = rows[0][0].size
    sheet = Pictures.new("RGB", (width * max(map(len, rows)), height * len(rows)), "white")
    for y, row in enumerate(rows):
        for x, tile in enumerate(row):
            sheet.paste(tile, (x * width, y * height))
    return sheet


def _encoded(sheet: Pictures.Image) -> bytes:
    buffer = io.BytesIO()
    sheet.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
