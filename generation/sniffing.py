"""What a file is, told from its first bytes; its name is only compared."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

ContentStatus = Literal["decodable", "unsupported_format", "not_an_image"]


@dataclass(frozen=True)
class Content:
    """What the first bytes say: a `name` for people, and the `format` in Pillow's words if it decodes it."""

    name: str
    status: ContentStatus = "not_an_image"
    format: str = ""


# (offset, first bytes, content); the first that fits counts
_MAGIC: tuple[tuple[int, bytes, Content], ...] = (
    (0, b"\xff\xd8\xff", Content("JPEG", "decodable", "JPEG")),
    (0, b"\x89PNG\r\n\x1a\n", Content("PNG", "decodable", "PNG")),
    (0, b"GIF87a", Content("GIF", "decodable", "GIF")),
    (0, b"GIF89a", Content("GIF", "decodable", "GIF")),
    (8, b"WEBP", Content("WebP", "decodable", "WEBP")),
    (0, b"II*\x00", Content("TIFF", "decodable", "TIFF")),
    (0, b"MM\x00*", Content("TIFF", "decodable", "TIFF")),
    (0, b"II+\x00", Content("BigTIFF", "decodable", "TIFF")),
    (0, b"MM\x00+", Content("BigTIFF", "decodable", "TIFF")),
    (0, b"\x00\x00\x00\x0cjP  ", Content("JPEG 2000", "decodable", "JPEG2000")),
    (0, b"\xff\x4f\xff\x51", Content("JPEG 2000", "decodable", "JPEG2000")),
    (0, b"\x00\x00\x00\x0cJXL ", Content("JPEG XL", "unsupported_format")),
    (0, b"\xff\x0a", Content("JPEG XL", "unsupported_format")),
    (0, b"8BPS", Content("Photoshop document", "unsupported_format")),
    (0, b"%PDF", Content("PDF document")),
    (0, b"PK\x03\x04", Content("ZIP archive")),
    (0, b"\x1f\x8b", Content("gzip archive")),
    (0, b"version https://git-lfs", Content("Git LFS pointer (the file itself was never fetched)")),
)
_AVIF = Content("AVIF", "decodable", "AVIF")
_HEIC = Content("HEIC", "decodable", "HEIF")
_AVIF_BRANDS = (b"avif", b"avis")
_HEIC_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs", b"mif1", b"msf1")
_BMP_HEADER_SIZES = (12, 40, 52, 56, 64, 108, 124)
_HEAD_BYTES = 1024

_SUFFIXES: dict[str, tuple[str, ...]] = {
    "JPEG": (".jpg", ".jpeg", ".jpe", ".jfif", ".mpo"),
    "PNG": (".png", ".apng"),
    "GIF": (".gif",),
    "WEBP": (".webp",),
    "TIFF": (".tif", ".tiff"),
    "BMP": (".bmp", ".dib"),
    "AVIF": (".avif", ".avifs"),
    "HEIF": (".heic", ".heif", ".hif"),
    "JPEG2000": (".jp2", ".j2k", ".jpc", ".jpf", ".jpx"),
}
_IMAGE_SUFFIXES = frozenset(suffix for suffixes in _SUFFIXES.values() for suffix in suffixes) | {
    ".jxl",
    ".psd",
}
_IGNORED_NAMES = frozenset({"thumbs.db", "desktop.ini", "__macosx"})


def sniff(data: bytes) -> Content:
    """Return what the content of a file is.

    >>> sniff(b"<!doctype html><p>404").name
    'HTML page'
    """
    if not data:
        return Content("empty file (0 bytes)")
    for offset, magic, content in _MAGIC:
        if data.startswith(magic, offset):
            return content
    if data.startswith(b"BM") and int.from_bytes(data[14:18], "little") in _BMP_HEADER_SIZES:
        return Content("BMP", "decodable", "BMP")
    if data.startswith(b"ftyp", 4):
        return _sniff_boxes(data)
    return _sniff_text(data)


def _sniff_boxes(data: bytes) -> Content:
    """Tell AVIF, HEIC and video apart by the brands of the first box (ISO/IEC 14496-12, 4.3)."""
    box = data[: min(int.from_bytes(data[:4], "big"), 256)]
    brands = [box[8:12], *(box[start : start + 4] for start in range(16, len(box), 4))]
    # `mif1` only says "a still image"; the other brands say of which codec.
    if any(brand in _AVIF_BRANDS for brand in brands):
        return _AVIF
    if any(brand in _HEIC_BRANDS for brand in brands):
        return _HEIC
    return Content("video or audio (ISO media)")


def _sniff_text(data: bytes) -> Content:
    head = data[:_HEAD_BYTES].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if b"<svg" in head:
        return Content("SVG drawing")
    if head.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return Content("HTML page")
    if head.startswith(b"<?xml"):
        return Content("XML document")
    if head and all(byte >= 32 or byte in b"\t\r\n" for byte in head):
        return Content("text")
    return Content(f"unknown content, first bytes {data[:8].hex(' ')}")


def suffix_disagrees(file_name: str, content: Content) -> bool:
    """Return whether the file's extension names another format than its content; none disagrees with nothing.

    >>> suffix_disagrees("clock/1.JPG", sniff(b"GIF89a")), suffix_disagrees("clock/1", sniff(b"GIF89a"))
    (True, False)
    """
    suffix = PurePosixPath(file_name).suffix.lower()
    return bool(suffix) and suffix not in _SUFFIXES.get(content.format, (suffix,))


def has_image_suffix(file_name: str) -> bool:
    """Return whether the file claims by its extension to be a picture."""
    return PurePosixPath(file_name).suffix.lower() in _IMAGE_SUFFIXES


def is_hidden(file_name: str) -> bool:
    """Return whether a path belongs to the system rather than to the user (`.DS_Store`, `Thumbs.db`)."""
    parts = PurePosixPath(file_name).parts
    return any(part.startswith(".") or part.lower() in _IGNORED_NAMES for part in parts)


def ends_early(data: bytes, content: Content) -> bool:
    """Return whether the mark that ends a file of this format is missing."""
    if content.format == "JPEG":
        return b"\xff\xd9" not in data[-_HEAD_BYTES:]
    if content.format == "PNG":
        return b"IEND" not in data[-_HEAD_BYTES:]
    if content.format == "WEBP":
        return int.from_bytes(data[4:8], "little") + 8 > len(data)
    if content.format == "GIF":
        return not data.rstrip(b"\x00").endswith(b";")
    return False


def broken_png_chunk(data: bytes) -> str:
    """Return the name of the first chunk of a PNG whose checksum is wrong, or nothing.

    Pillow checks those of the header only, so that damaged pixels could pass.
    """
    start = 8
    while start + 12 <= len(data):
        end = start + 8 + int.from_bytes(data[start : start + 4], "big")
        checksum = data[end : end + 4]
        # A chunk that the file ends in has none: that is a matter of truncation.
        if len(checksum) == 4 and zlib.crc32(data[start + 4 : end]) != int.from_bytes(checksum, "big"):
            return data[start + 4 : start + 8].decode("latin-1")
        if data.startswith(b"IEND", start + 4):
            break
        start = end + 4
    return ""
