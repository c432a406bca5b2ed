"""Hashes of pixels: exact (SHA-256 of what was decoded) and perceptual (64 bits that survive re-encoding)."""

from __future__ import annotations

import hashlib
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

PHASH_SIDE_PX = 32
_N_FREQUENCIES = 8
_MODES = {("|b1", 2): "1", ("|u1", 2): "L"}
_CHANNEL_MODES = {3: "RGB", 4: "RGBA"}


def pixel_sha256(pixels: npt.NDArray[Any]) -> str:
    """Return the SHA-256 (hex) of an array: its mode, its shape and its bytes in C order, little-endian.

    The mode of a mask (H, W) bool is `1`, of (H, W) uint8 `L`, of (H, W, 3) uint8 `RGB`, of (H, W, 4) uint8
    `RGBA`; of any other array the NumPy type code (`<i4`). PNG bytes are no such hash: they differ between
    builds of zlib.

    >>> pixel_sha256(np.zeros((2, 3), np.uint8)) == pixel_sha256(np.zeros((3, 2), np.uint8))
    False
    >>> pixel_sha256(np.arange(6, dtype=">i4")) == pixel_sha256(np.arange(6, dtype="<i4"))
    True
    """
    pixels = np.asarray(pixels, dtype=pixels.dtype.newbyteorder("<"), order="C")
    digest = hashlib.sha256(f"{_mode(pixels)}|{'x'.join(map(str, pixels.shape))}|".encode())
    digest.update(pixels.data)
    return digest.hexdigest()


def _mode(pixels: npt.NDArray[Any]) -> str:
    code = pixels.dtype.str
    if code == "|u1" and pixels.ndim == 3 and pixels.shape[2] in _CHANNEL_MODES:
        return _CHANNEL_MODES[pixels.shape[2]]
    return _MODES.get((code, pixels.ndim), code)


def perceptual_hash(image: npt.NDArray[np.uint8]) -> str:
    """Return the 64-bit pHash of an (H, W, 3) uint8 image as 16 hex digits.

    The image is reduced to 32 x 32 grey values; each bit says whether one of the 8 x 8 lowest coefficients of
    their DCT-II lies above the median of the 64 (Zauner, 2010, "Implementation and benchmarking of perceptual
    image hash functions", 3.2.1). Re-encoding and resizing change a few bits, another photograph about half.
    """
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    small = cv2.resize(grey, (PHASH_SIDE_PX, PHASH_SIDE_PX), interpolation=cv2.INTER_AREA)
    basis = _dct_basis()
    # Rounded, so that the last bit of a platform's arithmetic can't lift a coefficient above its equals.
    coefficients = np.round(basis @ small.astype(np.float64) @ basis.T, 6)
    bits = coefficients > np.median(coefficients)
    return np.packbits(bits.ravel()).tobytes().hex()


def _dct_basis() -> npt.NDArray[np.float64]:
    frequency = np.arange(_N_FREQUENCIES)[:, None]
    place = np.arange(PHASH_SIDE_PX)[None, :]
    return np.cos(np.pi * frequency * (2 * place + 1) / (2 * PHASH_SIDE_PX))
