"""Broken and unusual photographs, made in code: what ingest must take without a traceback.

Every case says which status and which flags it must get. `row` is the condition it stands for.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image
from PIL.PngImagePlugin import PngInfo

Pixels = npt.NDArray[np.uint8]

WIDTH, HEIGHT = 120, 90
MAX_BYTES = 50_000

# The picture stored in a file of this orientation comes from the upright one by this operation.
STORED_BY_ORIENTATION = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}

# Colorants (columns X, Y, Z) adapted to D50, as in the profiles of their makers.
ADOBE_RGB = ((0.60974, 0.31111, 0.01947), (0.20528, 0.62567, 0.06087), (0.14919, 0.06322, 0.74457))
DISPLAY_P3 = ((0.51512, 0.24120, -0.00105), (0.29198, 0.69225, 0.04189), (0.15710, 0.06657, 0.78407))
SRGB = ((0.43607, 0.22249, 0.01392), (0.38515, 0.71687, 0.09708), (0.14307, 0.06061, 0.71410))


@dataclass(frozen=True)
class Case:
    """A file with what ingest must say of it."""

    file_name: str
    data: bytes
    status: str = "ok"
    flags: frozenset[str] = frozenset()
    row: str = ""


def scene(seed: int, width: int = WIDTH, height: int = HEIGHT) -> Pixels:
    """Return a smooth random picture, (height, width, 3) uint8, unlike that of any other seed."""
    rng = np.random.Generator(np.random.PCG64(seed))
    coarse = rng.integers(0, 256, (6, 8, 3), dtype=np.uint8)
    return np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC))


def encoded(pixels: npt.NDArray[Any] | Image.Image, file_format: str, **options: Any) -> bytes:
    """Return the bytes of a picture in a format."""
    picture = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    stream = BytesIO()
    picture.save(stream, file_format, **options)
    return stream.getvalue()


def exif_of(orientation: int) -> bytes:
    """Return an EXIF block that says nothing but the orientation."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif.tobytes()


def oriented(upright: Pixels, orientation: int, file_format: str, **options: Any) -> bytes:
    """Return a file whose stored pixels need the orientation to be `upright`."""
    stored = Image.fromarray(upright).transpose(STORED_BY_ORIENTATION[orientation])
    return encoded(stored, file_format, exif=exif_of(orientation), **options)


def _tags(tags: dict[bytes, bytes]) -> bytes:
    table, body = struct.pack(">I", len(tags)), b""
    start = 128 + 4 + 12 * len(tags)
    for name, content in tags.items():
        content += b"\x00" * (-len(content) % 4)
        table += name + struct.pack(">II", start + len(body), len(content))
        body += content
    return table + body


def _profile(space: bytes, device: bytes, pcs: bytes, tags: dict[bytes, bytes]) -> bytes:
    """Return an ICC version 2 profile (ICC.1:2001-04, 6)."""
    body = _tags(tags)
    d50 = struct.pack(">iii", 63190, 65536, 54061)
    header = struct.pack(">I4sI4s4s4s", 128 + len(body), b"none", 0x02400000, device, space, pcs)
    header += struct.pack(">6H", 2001, 4, 1, 0, 0, 0) + b"acsp" + b"\x00" * 28 + d50
    return header.ljust(128, b"\x00") + body


def _curve(gamma: float) -> bytes:
    return b"curv\x00\x00\x00\x00" + struct.pack(">IH", 1, round(gamma * 256))


def srgb_curve(value: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the linear light, 0 to 1, of sRGB values, 0 to 1 (IEC 61966-2-1)."""
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def _sampled_srgb_curve() -> bytes:
    samples = np.round(srgb_curve(np.arange(256) / 255) * 65535).astype(">u2")
    return b"curv\x00\x00\x00\x00" + struct.pack(">I", 256) + samples.tobytes()


def _xyz(values: tuple[float, ...]) -> bytes:
    return b"XYZ \x00\x00\x00\x00" + struct.pack(">iii", *(round(value * 65536) for value in values))


def rgb_profile(colorants: tuple[tuple[float, ...], ...], gamma: float | None) -> bytes:
    """Return the ICC profile of an RGB space; `gamma` None stands for the curve of sRGB."""
    curve = _sampled_srgb_curve() if gamma is None else _curve(gamma)
    tags = {name: _xyz(xyz) for name, xyz in zip((b"rXYZ", b"gXYZ", b"bXYZ"), colorants, strict=True)}
    tags |= dict.fromkeys((b"rTRC", b"gTRC", b"bTRC"), curve)
    return _profile(b"RGB ", b"mntr", b"XYZ ", tags | {b"wtpt": _xyz((0.9642, 1.0, 0.8249))})


def grey_profile(gamma: float) -> bytes:
    """Return the ICC profile of a grey space."""
    tags = {b"kTRC": _curve(gamma), b"wtpt": _xyz((0.9642, 1.0, 0.8249))}
    return _profile(b"GRAY", b"mntr", b"XYZ ", tags)


def cmyk_profile() -> bytes:
    """Return the ICC profile of a printer whose cyan, magenta and yellow all give the same grey of Lab 50."""
    grid = np.zeros((2, 2, 2, 2, 3), dtype=np.uint8)
    grid[..., 1:] = 128
    for inks in np.ndindex(2, 2, 2, 2):
        grid[inks][0] = 0 if inks[3] else 255 - 128 * max(inks)
    ramp = bytes(range(256))
    identity = struct.pack(">9i", 65536, 0, 0, 0, 65536, 0, 0, 0, 65536)
    lut = b"mft1\x00\x00\x00\x00" + bytes([4, 3, 2, 0]) + identity + ramp * 4 + grid.tobytes() + ramp * 3
    return _profile(b"CMYK", b"prtr", b"Lab ", {b"A2B0": lut, b"wtpt": _xyz((0.9642, 1.0, 0.8249))})


def png_chunk(name: bytes, content: bytes) -> bytes:
    """Return a PNG chunk with its length and CRC."""
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png_of_size(width: int, height: int) -> bytes:
    """Return a PNG whose header promises a size, and that has hardly any pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = png_chunk(b"IHDR", header) + png_chunk(b"IDAT", zlib.compress(b"\x00" * 64))
    return b"\x89PNG\r\n\x1a\n" + chunks + png_chunk(b"IEND", b"")


def png_of_sixteen_bit_colour(pixels: Pixels) -> bytes:
    """Return a PNG with 16 bits a channel, which Pillow can't write."""
    height, width, _ = pixels.shape
    wide = (pixels.astype(">u2") << 8).astype(">u2").reshape(height, -1)
    lines = b"".join(b"\x00" + line.tobytes() for line in wide)
    header = struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0)
    chunks = png_chunk(b"IHDR", header) + png_chunk(b"IDAT", zlib.compress(lines))
    return b"\x89PNG\r\n\x1a\n" + chunks + png_chunk(b"IEND", b"")


def with_bad_crc(png: bytes) -> bytes:
    """Return a PNG with one bit of the CRC of its pixels turned."""
    start = png.index(b"IDAT")
    (length,) = struct.unpack(">I", png[start - 4 : start])
    damaged = bytearray(png)
    damaged[start + 4 + length] ^= 1
    return bytes(damaged)


def disk_alpha() -> Pixels:
    """Return the alpha of a disk, (HEIGHT, WIDTH) uint8 of 0 and 255."""
    alpha = np.zeros((HEIGHT, WIDTH), dtype=np.uint8)
    cv2.circle(alpha, (WIDTH // 2, HEIGHT // 2), 30, 255, -1)
    return alpha


def damaged_exif(orientation: int) -> bytes:
    """Return an EXIF block with an orientation, in a directory that promises entries it does not have."""
    entries = struct.pack("<HHIHH", 0x0112, 3, 1, orientation, 0) + struct.pack("<HHII", 0x010F, 2, 900, 9000)
    return b"Exif\x00\x00" + b"II*\x00" + struct.pack("<IH", 8, 40) + entries


def torture_cases() -> list[Case]:
    """Return all cases; no two of them show the same picture."""
    makers: tuple[Callable[[], Iterator[Case]], ...] = (
        _orientations,
        _colour_modes,
        _depths,
        _transparency,
        _profiles,
        _animations,
        _damaged,
        _bombs,
        _not_images,
        _names_and_sizes,
    )
    return [case for maker in makers for case in maker()]


def _orientations() -> Iterator[Case]:
    rotated = frozenset({"rotated"})
    formats: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("JPEG", "jpg", {"quality": 90}),
        ("PNG", "png", {}),
        ("WEBP", "webp", {"lossless": True}),
        ("TIFF", "tif", {"compression": "tiff_lzw"}),
    )
    for number, (file_format, suffix, options) in enumerate(formats):
        for orientation in STORED_BY_ORIENTATION:
            data = oriented(scene(100 + 10 * number + orientation), orientation, file_format, **options)
            yield Case(f"orientation_{orientation}.{suffix}", data, flags=rotated, row="1")
    bad = frozenset({"exif_bad"})
    yield Case(
        "exif_garbage.jpg",
        encoded(scene(150), "JPEG", exif=b"Exif\x00\x00no tiff at all"),
        flags=bad,
        row="2",
    )
    stored = Image.fromarray(scene(151)).transpose(STORED_BY_ORIENTATION[6])
    yield Case(
        "exif_damaged_rotated.jpg",
        encoded(stored, "JPEG", exif=damaged_exif(6)),
        flags=bad | rotated,
        row="2",
    )
    yield Case("orientation_99.jpg", encoded(scene(152), "JPEG", exif=exif_of(99)), flags=bad, row="2")
    yield Case("orientation_0.jpg", encoded(scene(153), "JPEG", exif=exif_of(0)), row="2")


def _colour_modes() -> Iterator[Case]:
    cmyk = Image.fromarray(scene(200)).convert("CMYK")
    grey = Image.fromarray(scene(201)).convert("L")
    yield Case("cmyk_adobe_inverted.jpg", encoded(cmyk, "JPEG"), flags=frozenset({"cmyk"}), row="4")
    yield Case("grey.jpg", encoded(grey, "JPEG"), flags=frozenset({"gray"}), row="8")
    noise = np.random.Generator(np.random.PCG64(202)).integers(0, 2, (HEIGHT, WIDTH)).astype(bool)
    yield Case("one_bit.png", encoded(noise, "PNG"), flags=frozenset({"gray"}), row="8")
    grey_as_rgb = Image.fromarray(scene(203)).convert("L").convert("RGB")
    yield Case("grey_stored_as_rgb.png", encoded(grey_as_rgb, "PNG"), flags=frozenset({"gray"}), row="8")
    lab = Image.fromarray(scene(204)).convert("LAB")
    yield Case("lab.tif", encoded(lab, "TIFF"), flags=frozenset({"lab"}), row="11")
    palette = Image.fromarray(scene(205)).quantize(64)
    yield Case("palette.png", encoded(palette, "PNG"), row="7")
    yield Case("plain.bmp", encoded(scene(206), "BMP"))
    yield Case("plain.avif", encoded(scene(207), "AVIF"), row="19")
    yield Case("plain.jp2", encoded(scene(208), "JPEG2000"))


def _depths() -> Iterator[Case]:
    flags = frozenset({"gray", "sixteen_bit"})
    levels = [scene(210 + number)[..., 0].astype(np.uint16) << 8 for number in range(4)]
    yield Case("sixteen_bit_grey.png", encoded(levels[0], "PNG"), flags=flags, row="5")
    yield Case("sixteen_bit_grey.tif", encoded(levels[1], "TIFF"), flags=flags, row="5")
    big_endian = Image.frombytes("I;16B", (WIDTH, HEIGHT), levels[2].astype(">u2").tobytes())
    yield Case("sixteen_bit_big_endian.tif", encoded(big_endian, "TIFF"), flags=flags, row="5")
    yield Case("thirty_two_bit_grey.tif", encoded(levels[3].astype(np.int32), "TIFF"), flags=flags, row="5")
    too_wide = levels[0].astype(np.int32) * 1000
    yield Case("thirty_two_bit_range.tif", encoded(too_wide, "TIFF"), "unsupported_mode", row="5")
    colour = png_of_sixteen_bit_colour(scene(214))
    yield Case("sixteen_bit_colour.png", colour, flags=frozenset({"sixteen_bit"}), row="5")
    yield Case("float.tif", encoded(levels[0].astype(np.float32), "TIFF"), "unsupported_mode", row="6")


def _transparency() -> Iterator[Case]:
    alpha = frozenset({"alpha"})
    cut_out = np.dstack([scene(220), disk_alpha()])
    yield Case("rgba_cut_out.png", encoded(cut_out, "PNG"), flags=alpha, row="7")
    yield Case(
        "rgba_cut_out.webp", encoded(np.dstack([scene(221), disk_alpha()]), "WEBP"), flags=alpha, row="7"
    )
    opaque = np.full((HEIGHT, WIDTH), 255, dtype=np.uint8)
    yield Case("rgba_all_opaque.png", encoded(np.dstack([scene(222), opaque]), "PNG"), row="7")
    almost = opaque.copy()
    almost[0, :20] = 0
    ignored = frozenset({"alpha_ignored"})
    yield Case(
        "rgba_a_few_holes.png", encoded(np.dstack([scene(223), almost]), "PNG"), flags=ignored, row="7"
    )
    hidden = encoded(np.dstack([scene(224), np.zeros_like(opaque)]), "PNG")
    yield Case("rgba_all_transparent.png", hidden, "no_foreground", row="7")
    grey = encoded(np.dstack([scene(225)[..., 0], disk_alpha()]), "PNG")
    yield Case("la_cut_out.png", grey, flags=alpha | {"gray"}, row="7")
    indexed = Image.fromarray(
        np.where(disk_alpha() > 0, 1 + scene(226)[..., 0] // 16, 0).astype(np.uint8), "L"
    )
    indexed.putpalette([value for index in range(17) for value in (index * 15, 255 - index * 15, 99)])
    yield Case("palette_trns.png", encoded(indexed, "PNG", transparency=0), flags=alpha, row="7")
    yield Case("transparent.gif", encoded(indexed.rotate(180), "GIF", transparency=0), flags=alpha, row="7")
    keyed = scene(227).copy()
    keyed[disk_alpha() == 0] = (1, 2, 3)
    yield Case("rgb_trns.png", encoded(keyed, "PNG", transparency=(1, 2, 3)), flags=alpha, row="7")


def _profiles() -> Iterator[Case]:
    converted, ignored = frozenset({"icc_converted"}), frozenset({"icc_ignored"})
    adobe, p3, srgb = (
        rgb_profile(ADOBE_RGB, 2.19921875),
        rgb_profile(DISPLAY_P3, None),
        rgb_profile(SRGB, None),
    )
    yield Case("adobe_rgb.jpg", encoded(scene(230), "JPEG", icc_profile=adobe), flags=converted, row="9")
    yield Case("display_p3.png", encoded(scene(231), "PNG", icc_profile=p3), flags=converted, row="9")
    yield Case("srgb_profile.png", encoded(scene(232), "PNG", icc_profile=srgb), row="9")
    yield Case(
        "profile_garbage.jpg", encoded(scene(233), "JPEG", icc_profile=b"x" * 200), flags=ignored, row="10"
    )
    cmyk = Image.fromarray(scene(234)).convert("CMYK")
    yield Case(
        "rgb_profile_on_cmyk.jpg", encoded(cmyk, "JPEG", icc_profile=p3), flags=ignored | {"cmyk"}, row="10"
    )
    cmyk = Image.fromarray(scene(235)).convert("CMYK")
    printed = encoded(cmyk, "JPEG", icc_profile=cmyk_profile())
    yield Case("cmyk_profile.jpg", printed, flags=converted | {"cmyk", "gray"}, row="4")
    grey = encoded(scene(236)[..., 0], "PNG", icc_profile=grey_profile(1.0))
    yield Case("grey_profile.png", grey, flags=converted | {"gray"}, row="9")
    grey = encoded(scene(237)[..., 0], "PNG", icc_profile=srgb)
    yield Case("srgb_profile_on_grey.png", grey, flags=frozenset({"gray"}), row="10")
    cut_out = encoded(np.dstack([scene(238), disk_alpha()]), "PNG", icc_profile=adobe)
    yield Case("adobe_rgb_cut_out.png", cut_out, flags=converted | {"alpha"}, row="9")
    wrong = encoded(scene(239), "PNG", icc_profile=grey_profile(2.2))
    yield Case("grey_profile_on_rgb.png", wrong, flags=ignored, row="10")


def _animations() -> Iterator[Case]:
    flags = frozenset({"animated"})
    for number, (file_format, suffix) in enumerate((("GIF", "gif"), ("WEBP", "webp"), ("PNG", "png"))):
        frames = [Image.fromarray(scene(240 + 2 * number + frame)) for frame in range(2)]
        data = encoded(frames[0], file_format, save_all=True, append_images=frames[1:], duration=100)
        yield Case(f"animated.{suffix}", data, flags=flags, row="12")
    pages = [Image.fromarray(scene(246 + page)).quantize(32) for page in range(2)]
    data = encoded(pages[0], "TIFF", save_all=True, append_images=pages[1:], compression="tiff_lzw")
    yield Case("two_pages.tif", data, row="12")
    data = encoded(
        Image.fromarray(scene(248)), "MPO", save_all=True, append_images=[Image.fromarray(scene(249))]
    )
    yield Case("camera_preview.jpg", data, row="12")


def _damaged() -> Iterator[Case]:
    for name, options in (("baseline", {}), ("progressive", {"progressive": True})):
        data = encoded(scene(250), "JPEG", quality=95, **options)
        yield Case(f"truncated_{name}.jpg", data[: len(data) * 6 // 10], "truncated", row="13")
    yield Case("truncated_header.jpg", encoded(scene(250), "JPEG")[:40], "truncated", row="13")
    yield Case("truncated.png", encoded(scene(250), "PNG")[:3000], "truncated", row="13")
    yield Case("truncated.webp", encoded(scene(250), "WEBP", quality=95)[:900], "truncated", row="13")
    yield Case("truncated.gif", encoded(scene(250), "GIF")[:2000], "truncated", row="13")
    yield Case("bad_crc.png", with_bad_crc(encoded(scene(250), "PNG")), "unreadable", row="15")
    yield Case(
        "no_image_in_tiff.tif", b"II*\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00", "unreadable", row="14"
    )


def _bombs() -> Iterator[Case]:
    yield Case("bomb.png", png_of_size(60_000, 60_000), "too_large", row="16")
    yield Case("just_over_the_limit.png", png_of_size(10_001, 10_000), "too_large", row="16")
    header = b"GIF89a" + struct.pack("<HHBBB", 65_535, 65_535, 0x80, 0, 0) + b"\x00" * 6
    gif = header + b"," + struct.pack("<HHHHB", 0, 0, 65_535, 65_535, 0) + b"\x02\x02\x44\x01\x00;"
    yield Case("bomb.gif", gif, "too_large", row="16")
    text = PngInfo()
    text.add_text("comment", "x" * 2_000_000, zip=True)
    yield Case("text_bomb.png", encoded(scene(260), "PNG", pnginfo=text), "unreadable", row="17")


def _not_images() -> Iterator[Case]:
    yield Case("empty.jpg", b"", "not_an_image", row="18")
    yield Case(
        "page.jpg", b"<!DOCTYPE html><html><body>404 Not Found</body></html>", "not_an_image", row="18"
    )
    svg = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
    yield Case("drawing.png", svg, "not_an_image", row="18")
    yield Case("pointer.jpg", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "not_an_image")
    yield Case("noise.jpg", bytes(range(1, 250)), "not_an_image", row="18")
    heic = struct.pack(">I4s4sI4s4s", 24, b"ftyp", b"heic", 0, b"mif1", b"heic") + b"\x00" * 64
    heic_status = "unreadable" if find_spec("pillow_heif") else "unsupported_format"
    yield Case("phone.jpg", heic, heic_status, row="19")
    yield Case("modern.jxl", b"\xff\x0a" + b"\x00" * 64, "unsupported_format", row="19")
    clip = struct.pack(">I4s4sI4s", 20, b"ftyp", b"isom", 0, b"mp42") + b"\x00" * 64
    yield Case("clip.jpg", clip, "not_an_image", row="18")


def _names_and_sizes() -> Iterator[Case]:
    mismatch = frozenset({"extension_mismatch"})
    yield Case("really_a_png.jpg", encoded(scene(270), "PNG"), flags=mismatch, row="20")
    yield Case("really_a_jpeg.txt", encoded(scene(271), "JPEG"), row="20", flags=mismatch)
    yield Case("no_extension", encoded(scene(272), "PNG"), row="20")
    yield Case("UPPER CASE.JPG", encoded(scene(273), "JPEG"), row="21")
    yield Case("ñandú 東京 \N{TIGER FACE}.jpg", encoded(scene(274), "JPEG"), row="21")
    yield Case("n" * 240 + ".jpg", encoded(scene(275), "JPEG"), row="21")
    yield Case("one_pixel.png", encoded(scene(276)[:1, :1], "PNG"), "too_small", row="22")
    yield Case("a_line.png", encoded(scene(277, 2000, 1), "PNG"), "too_small", row="22")
    yield Case("a_strip.png", encoded(scene(278, 64, 640), "PNG"), "extreme_aspect", row="22")
    yield Case("constant.png", encoded(np.full((90, 120, 3), 77, np.uint8), "PNG"), "no_foreground", row="23")
    dark = (scene(279) // 128).astype(np.uint8)
    yield Case("nearly_black.png", encoded(dark, "PNG"), "no_foreground", row="23")


def plant(folder: Path) -> dict[str, Case]:
    """Write all cases into a folder; returns them by file name."""
    folder.mkdir(parents=True, exist_ok=True)
    cases = {case.file_name: case for case in torture_cases()}
    for name, case in cases.items():
        (folder / name).write_bytes(case.data)
    return cases
