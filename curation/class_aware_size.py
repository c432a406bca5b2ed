"""Large photographs are judged at a smaller size, and the masks found there are enlarged to their own."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import cv2
import numpy as np

from generation.masks import Mask, MaskCandidate, Segmenter
from generation.photograph import Photograph
from generation.segmenters.folder import FolderSegmenter

# What a classifier is shown has 256 x 256 pixels, and a cue a side of 2,048 at most.
MAX_PIXELS = 4_000_000


@dataclass(frozen=True)
class _Shrunk:
    """Masks that were made for the size of the photograph, at the size at which it is judged."""

    segmenter: FolderSegmenter
    photograph: Photograph

    @property
    def name(self) -> str:
        return self.segmenter.name

    def propose(self, photograph: Photograph) -> list[MaskCandidate]:
        height, width = photograph.image.shape[:2]
        found = self.segmenter.propose(self.photograph)
        return [replace(each, mask=resized_mask(each.mask, height, width)) for each in found]


def shrunk(photograph: Photograph) -> Photograph:
    """Return a photograph with `MAX_PIXELS` pixels at most."""
    height, width = photograph.image.shape[:2]
    scale = math.sqrt(MAX_PIXELS / (height * width))
    if scale >= 1:
        return photograph
    size = (max(1, int(width * scale)), max(1, int(height * scale)))
    image = np.asarray(cv2.resize(photograph.image, size, interpolation=cv2.INTER_AREA), np.uint8)
    alpha = photograph.alpha
    if alpha is not None:
        alpha = np.asarray(cv2.resize(alpha, size, interpolation=cv2.INTER_AREA), np.uint8)
    return replace(photograph, image=image, alpha=alpha)


def shrunk_segmenter(segmenter: Segmenter, photograph: Photograph) -> Segmenter:
    """Return a segmenter for a shrunk photograph: one that reads masks still reads those of the full size."""
    return _Shrunk(segmenter, photograph) if isinstance(segmenter, FolderSegmenter) else segmenter


def resized_mask(mask: Mask, height: int, width: int) -> Mask:
    """Return a mask (H, W) at another size, its contour straight between its pixels."""
    if mask.shape == (height, width):
        return mask
    values = cv2.resize(mask.astype(np.float32), (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(values > 0.5)
