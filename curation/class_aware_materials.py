"""The materials under a mask: regions alike in colour and contrast, to take a texture from one of them alone."""

from __future__ import annotations

import math
from collections.abc import Iterator

import cv2
import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from curation.class_aware_pictures import Image
from curation.class_aware_size import resized_mask
from generation.masks import Mask, MaskCandidate, score_mask

Floats = npt.NDArray[np.float32]

# All lengths are shares of the side of a square as large as the mask, which is looked at with this side.
SIDE_PX = 240
BLUR, GRAIN = 1 / 24, 1 / 60
NS_MATERIALS = (2, 3)
# What deviates less, in 8-bit levels, is of one material.
MIN_DEVIATION = 1.0
N_FITTED = 4000
# Of the lightness, against the two colours: shade is no material.
LIGHT_WEIGHT = 0.5


def material_masks(image: Image, mask: Mask, name: str) -> Iterator[MaskCandidate]:
    """Yield the regions of two and of three materials under a mask, and of each two of three together.

    A material is a cluster (k-means) of what pixels have around them: mean and deviation of lightness and colours.
    Their names are that of the mask with `/material1of2`, or `/not1of3` for the two others.
    """
    height, width = mask.shape
    scale = min(1.0, SIDE_PX / math.sqrt(max(1, int(mask.sum()))))
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    small = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
    inside = resized_mask(mask, size[1], size[0])
    side = math.sqrt(int(inside.sum()))
    if side < 1 / GRAIN:
        return
    described = _describe(small, inside, side * BLUR)[inside]
    if described.std(0).max() < MIN_DEVIATION:
        return
    for n in NS_MATERIALS:
        material = np.full(inside.shape, -1, np.int64)
        material[inside] = _clusters(described, n)
        for number in range(n):
            regions = [(f"material{number + 1}of{n}", material == number)]
            if n > len(regions) + 1:
                regions.append((f"not{number + 1}of{n}", inside & (material != number)))
            for suffix, region in regions:
                found = resized_mask(_without_grain(region, side), height, width) & mask
                if found.any():
                    yield MaskCandidate(found, f"{name}/{suffix}", score_mask(found))


def _clusters(described: Floats, n: int) -> npt.NDArray[np.int64]:
    """Return the cluster of each pixel, (P,); the same for any number of threads."""
    from sklearn.cluster import KMeans

    with threadpool_limits(1):  # sums of several threads are rounded otherwise
        fitted = KMeans(n, n_init=4, random_state=0).fit(described[:: math.ceil(len(described) / N_FITTED)])
        clusters: npt.NDArray[np.int64] = fitted.predict(described).astype(np.int64)
    return clusters


def _describe(image: Image, inside: Mask, sigma: float) -> Floats:
    """Return the mean and the deviation of the Lab channels around each pixel, of pixels inside alone, (H, W, 6)."""
    lab = cv2.cvtColor(image, cv2.COLOR_RGB2LAB).astype(np.float32)
    lab[..., 0] *= LIGHT_WEIGHT
    weight = inside.astype(np.float32)
    total = cv2.GaussianBlur(weight, (0, 0), sigma)[..., None] + np.float32(1e-6)
    mean = cv2.GaussianBlur(lab * weight[..., None], (0, 0), sigma) / total
    square = cv2.GaussianBlur(lab**2 * weight[..., None], (0, 0), sigma) / total
    described: Floats = np.dstack([mean, np.sqrt(np.maximum(square - mean**2, 0))]).astype(np.float32)
    return described


def _without_grain(region: Mask, side: float) -> Mask:
    """Return a region without gaps and spots that are narrower than its grain."""
    radius = max(1, round(GRAIN * side))
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1, 2 * radius + 1))
    padded = np.pad(region.astype(np.uint8), 2 * radius)
    for operation in (cv2.MORPH_CLOSE, cv2.MORPH_OPEN):
        padded = np.asarray(cv2.morphologyEx(padded, operation, kernel), np.uint8)
    return padded[2 * radius : -2 * radius, 2 * radius : -2 * radius] > 0
