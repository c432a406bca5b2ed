"""How pictures are stored: PNG files, named and hashed by what they show."""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt
from PIL import Image


def encode_png(array: npt.NDArray[np.uint8]) -> bytes:
    """Return (H, W) or (H, W, 3) uint8 pixels as PNG without any metadata."""
    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, format="PNG", compress_level=6)
    return buffer.getvalue()


def encode_arrays(**arrays: npt.NDArray[np.generic]) -> bytes:
    """Return named arrays as a compressed npz; the same arrays give the same bytes."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()
