"""A photograph, decoded once and safely."""

from __future__ import annotations

import struct
import warnings
import zlib
from dataclasses import dataclass
from io import BytesIO
from typing import Annotated

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError
from pydantic import BaseModel, ConfigDict, Field

from generation.colour import Pixels, srgb_pixels
from generation.hashing import pixel_sha256
from generation.outcome import Unavailable
from generation.sniffing import Content, broken_png_chunk, ends_early, sniff, suffix_disagrees

# Pillow itself refuses pictures of twice its MAX_IMAGE_PIXELS.
PILLOW_MAX_PIXELS = 178_956_970

_ORIENTATION_TAG = 0x0112
_TRANSPOSE = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
# What Pillow's decoders raise on damaged files; found by fuzzing them and in its issues.
_DECODE_ERRORS = (
    OSError,
    EOFError,
    SyntaxError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    ArithmeticError,
    AssertionError,
    RuntimeError,
    struct.error,
    zlib.error,
)


@dataclass(frozen=True)
class Photograph:
    """A decoded photograph.

    `image` is (H, W, 3) uint8 sRGB, upright. `alpha` is (H, W) uint8 where the file carries an informative
    one, else None. `pixel_sha256` is the hash of the decoded pixels (shape, mode, bytes; alpha included).
    `mode` and `format` are those of the file, in Pillow's words.
    """

    file_name: str
    image: npt.NDArray[np.uint8]
    alpha: npt.NDArray[np.uint8] | None
    pixel_sha256: str
    flags: tuple[str, ...] = ()
    mode: str = "RGB"
    format: str = ""


class DecodeLimits(BaseModel):
    """What is still taken for a usable photograph.

    `max_pixels` is width x height by the header, before anything is decoded; `min_side_px` the shorter side
    in pixels; `max_aspect` longer / shorter side; `min_std` the standard deviation, in levels of 0 to 255, of
    the channel that varies most: below it the picture shows nothing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_pixels: Annotated[int, Field(gt=0, le=PILLOW_MAX_PIXELS)] = 100_000_000
    min_side_px: Annotated[int, Field(ge=1)] = 64
    max_aspect: Annotated[float, Field(ge=1)] = 8.0
    min_std: Annotated[float, Field(ge=0)] = 3.0


def decode_photograph(
    data: bytes, file_name: str, limits: DecodeLimits | None = None
) -> Photograph | Unavailable:
    """Return the photograph that a file holds, upright and in sRGB, or why there is none; it never raises.

    Pillow alone decodes (decoders differ by a level or two, and in whether they rotate), from memory, at its
    own strict settings. The first frame of an animation counts.

    Statuses: `not_an_image`, `unsupported_format`, `unsupported_mode`, `unreadable`, `truncated`,
    `too_large`, `too_small`, `extreme_aspect`, `no_foreground` (a constant picture). Flags: those of
    `generation.colour.srgb_pixels`, and `rotated`, `exif_bad`, `animated`, `extension_mismatch`.
    """
    content = sniff(data)
    if content.status != "decodable":
        return Unavailable(content.status, f"the content is: {content.name}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _decode(data, file_name, content, limits or DecodeLimits())
        except (Image.DecompressionBombError, MemoryError) as error:
            return Unavailable("too_large", str(error) or "not enough memory to decode it")
        except _DECODE_ERRORS as error:
            return _failure(data, content, error)


def _failure(data: bytes, content: Content, error: Exception) -> Unavailable:
    # The message of this one holds a memory address, which no two runs share.
    said = "" if isinstance(error, UnidentifiedImageError) else f": {error}"
    if "truncated" in said.lower() or ends_early(data, content):
        return Unavailable("truncated", f"the {content.name} ends early, after {len(data)} bytes{said}")
    return Unavailable("unreadable", f"the {content.name} is damaged{said}")


def _decode(data: bytes, file_name: str, content: Content, limits: DecodeLimits) -> Photograph | Unavailable:
    picture = _open(data, content)
    if isinstance(picture, Unavailable):
        return picture
    refused = _check_size(*picture.size, limits)
    if refused:
        return refused
    if content.format == "PNG" and (chunk := broken_png_chunk(data)):
        return Unavailable("unreadable", f"the PNG is damaged: wrong checksum of chunk {chunk}")
    mode, file_format = picture.mode, picture.format or content.format
    orientation, exif_is_bad = _read_orientation(picture)
    sixteen_bit = _is_sixteen_bit(data, picture)
    picture.load()
    # Pillow turns TIFF upright itself, and only TIFF.
    upright = (
        picture.transpose(_TRANSPOSE[orientation]) if _must_turn(orientation, content) else picture.copy()
    )
    pixels = srgb_pixels(upright)
    if isinstance(pixels, Unavailable):
        return pixels
    std = float(cv2.meanStdDev(pixels.image)[1].max())
    if std < limits.min_std:
        return Unavailable("no_foreground", f"one colour all over: standard deviation {std:.1f} levels")
    own_flags = {
        "rotated": orientation != 1,
        "exif_bad": exif_is_bad,
        "sixteen_bit": sixteen_bit,
        "animated": _is_animated(picture),
        "extension_mismatch": suffix_disagrees(file_name, content),
    }
    flags = tuple(sorted(pixels.flags | {flag for flag, holds in own_flags.items() if holds}))
    return Photograph(file_name, pixels.image, pixels.alpha, _hash(pixels), flags, mode, file_format)


def _open(data: bytes, content: Content) -> Image.Image | Unavailable:
    if content.format != "HEIF":
        return Image.open(BytesIO(data), formats=[content.format])
    try:
        from pillow_heif import HeifImageFile
    except ImportError:
        return Unavailable("unsupported_format", "HEIC needs pillow-heif: pip install 'cuebench[heif]'")
    picture: Image.Image = HeifImageFile(BytesIO(data))
    return picture


def _check_size(width: int, height: int, limits: DecodeLimits) -> Unavailable | None:
    short, long = sorted((width, height))
    if width * height > limits.max_pixels:
        return Unavailable("too_large", f"{width} x {height} pixels, the limit is {limits.max_pixels} in all")
    if short < limits.min_side_px:
        return Unavailable(
            "too_small", f"{width} x {height} pixels, the shorter side must have {limits.min_side_px}"
        )
    if long > limits.max_aspect * short:
        return Unavailable(
            "extreme_aspect", f"{width} x {height} pixels, the sides may differ {limits.max_aspect:g} times"
        )
    return None


def _read_orientation(picture: Image.Image) -> tuple[int, bool]:
    """Return the EXIF orientation (1 to 8; 1 is upright) and whether the EXIF is damaged."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            # A copy of its own: when opening a JPEG, Pillow has read the block already and hushed up damage.
            if block := picture.info.get("exif"):
                Image.Exif().load(block)
            found = picture.getexif().get(_ORIENTATION_TAG, 1)
        except _DECODE_ERRORS:
            found = _orientation_by_hand(picture.info.get("exif", b""))
            return (found if found in _TRANSPOSE else 1), True
    if found == 1 or found in _TRANSPOSE:
        return int(found), bool(caught)
    # 0 is what some cameras write for "unknown".
    return 1, bool(caught) or found != 0


def _orientation_by_hand(exif: object) -> int:
    """Return the orientation in the first directory of an EXIF block that Pillow refuses, else 1."""
    tiff = exif.removeprefix(b"Exif\x00\x00") if isinstance(exif, bytes) else b""
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    if order is None or len(tiff) < 8:
        return 1
    (start,) = struct.unpack_from(f"{order}I", tiff, 4)
    for place in range(start + 2, len(tiff) - 11, 12):
        tag, _, _, value = struct.unpack_from(f"{order}HHIH", tiff, place)
        if tag == _ORIENTATION_TAG:
            return int(value)
    return 1


def _must_turn(orientation: int, content: Content) -> bool:
    return orientation != 1 and content.format != "TIFF"


def _is_sixteen_bit(data: bytes, picture: Image.Image) -> bool:
    """Return whether channels have 16 bits (PNG: the depth byte of IHDR; TIFF: BitsPerSample)."""
    if picture.format == "PNG":
        return data[24:25] == b"\x10"
    bits = getattr(picture, "tag_v2", {}).get(258, ())
    return 16 in (bits if isinstance(bits, tuple) else (bits,))


def _is_animated(picture: Image.Image) -> bool:
    # Several pictures in an MPO (a camera's preview) or TIFF (pages) are no animation.
    if picture.format in ("MPO", "TIFF"):
        return False
    try:
        return bool(getattr(picture, "is_animated", False))
    except _DECODE_ERRORS:
        return False


def _hash(pixels: Pixels) -> str:
    return pixel_sha256(
        pixels.image if pixels.alpha is None else np.dstack([pixels.image, pixels.alpha[..., None]])
    )
