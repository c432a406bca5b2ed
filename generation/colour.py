"""Any mode and colour profile that Pillow opens, as 8-bit sRGB."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageCms

from generation.outcome import Unavailable

BACKGROUND = 128
INFORMATIVE_SHARE = 0.01

_SIXTEEN_BIT = ("I;16", "I;16B", "I;16L", "I;16N")
_GREY = ("1", "L", "LA", "La")
_WITH_ALPHA = ("LA", "La", "PA", "RGBA", "RGBa")
_OTHER = ("P", "RGB", "RGBX", "CMYK", "YCbCr", "LAB")
_PROFILE_SPACES = {"L": "GRAY", "RGB": "RGB", "CMYK": "CMYK"}
_PROFILE_ERRORS = (ImageCms.PyCMSError, OSError, ValueError, TypeError)
# The same colours stored twice differ by rounding alone.
_SRGB_TOLERANCE = 1


@dataclass(frozen=True)
class Pixels:
    """`image` is (H, W, 3) uint8 sRGB; `alpha` (H, W) uint8 where it tells anything, else None."""

    image: npt.NDArray[np.uint8]
    alpha: npt.NDArray[np.uint8] | None
    flags: frozenset[str]


def srgb_pixels(picture: Image.Image) -> Pixels | Unavailable:
    """Return the pixels of a loaded picture as sRGB, upright or not as they are.

    16-bit grey keeps its upper 8 bits; a colour profile is applied (relative colorimetric) unless it is sRGB
    or can't be used; transparent pixels are laid on neutral grey (128), so that no hidden colour shows.

    The flags are `gray`, `sixteen_bit`, `cmyk`, `lab`, `icc_converted`, `icc_ignored`, `alpha` (1 to 99 % of
    the pixels are opaque, `alpha` is given) and `alpha_ignored` (there is transparency, but it outlines
    nothing). The one failure is `unsupported_mode`: values without a defined black and white.
    """
    flags: set[str] = set()
    profile = picture.info.get("icc_profile")
    if picture.mode in (*_SIXTEEN_BIT, "I"):
        levels = np.asarray(picture)
        if levels.min() < 0 or levels.max() > 0xFFFF:
            return Unavailable("unsupported_mode", f"32-bit values from {levels.min()} to {levels.max()}")
        flags.add("sixteen_bit")
        picture = Image.fromarray((levels >> 8).astype(np.uint8))
    if picture.mode not in (*_GREY, *_WITH_ALPHA, *_OTHER):
        return Unavailable("unsupported_mode", f"mode {picture.mode} has no defined grey or colour range")
    flags.update({"CMYK": {"cmyk"}, "LAB": {"lab"}}.get(picture.mode, set()))
    colour, alpha = _split_alpha(picture)
    rgb, profile_flag = _apply_profile(colour, profile)
    image = np.array(rgb.convert("RGB"))
    if alpha is not None:
        image = _flatten(image, alpha)
        opaque_share = float(np.mean(alpha >= 128))
        informative = INFORMATIVE_SHARE <= opaque_share <= 1 - INFORMATIVE_SHARE
        flags.add("alpha" if informative else "alpha_ignored")
        alpha = alpha if informative else None
    if _is_grey(image):
        flags.add("gray")
    return Pixels(image, alpha, frozenset(flags | profile_flag))


def _split_alpha(picture: Image.Image) -> tuple[Image.Image, npt.NDArray[np.uint8] | None]:
    """Return the picture without transparency (L, RGB, CMYK or LAB), and its alpha unless all is opaque."""
    is_grey = picture.mode in _GREY
    if picture.mode in _WITH_ALPHA or "transparency" in picture.info:
        bands = picture.convert("LA" if is_grey else "RGBA").split()
        alpha = np.array(bands[-1])
        colour = bands[0] if is_grey else Image.merge("RGB", bands[:3])
        return colour, None if alpha.min() == 255 else alpha
    if is_grey:
        return picture.convert("L"), None
    return picture if picture.mode in ("RGB", "CMYK", "LAB") else picture.convert("RGB"), None


def _flatten(image: npt.NDArray[np.uint8], alpha: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    weight = alpha[..., None].astype(np.uint32)
    return ((image * weight + BACKGROUND * (255 - weight) + 127) // 255).astype(np.uint8)


def _is_grey(image: npt.NDArray[np.uint8]) -> bool:
    red, green, blue = np.moveaxis(image, 2, 0)
    return bool(np.array_equal(red, green) and np.array_equal(green, blue))


def _apply_profile(colour: Image.Image, profile: object) -> tuple[Image.Image, set[str]]:
    """Return the picture in sRGB by its ICC profile, or as it is, and the flag that says so."""
    if not profile or colour.mode == "LAB":
        return colour, set()
    try:
        source = ImageCms.ImageCmsProfile(BytesIO(profile))  # type: ignore[arg-type]
        space = source.profile.xcolor_space.strip()
        if colour.mode == "L" and space == "RGB":
            colour = colour.convert("RGB")
        if space != _PROFILE_SPACES[colour.mode]:
            return colour, {"icc_ignored"}
        transform = ImageCms.buildTransform(
            source,
            ImageCms.createProfile("sRGB"),
            colour.mode,
            "RGB",
            renderingIntent=ImageCms.Intent.RELATIVE_COLORIMETRIC,
        )
        if _changes_nothing(transform, colour.mode):
            return colour, set()
        converted = ImageCms.applyTransform(colour, transform)
    except _PROFILE_ERRORS:
        return colour, {"icc_ignored"}
    return (colour, {"icc_ignored"}) if converted is None else (converted, {"icc_converted"})


def _changes_nothing(transform: ImageCms.ImageCmsTransform, mode: str) -> bool:
    """Return whether a transform to sRGB leaves a probe of all grey or 729 evenly spaced colours as it is.

    sRGB profiles come under many names ("sRGB IEC61966-2.1", "c2", "uRGB"); what they do tells them.
    """
    if mode == "CMYK":
        return False
    steps = np.linspace(0, 255, 9).astype(np.uint8)
    cube = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(1, -1, 3)
    probe = Image.fromarray(cube if mode == "RGB" else np.arange(256, dtype=np.uint8)[None])
    converted = ImageCms.applyTransform(probe, transform)
    if converted is None:
        return False
    change = np.asarray(probe.convert("RGB"), dtype=np.int16) - np.asarray(converted, dtype=np.int16)
    return int(np.abs(change).max()) <= _SRGB_TOLERANCE
