"""Large structure taken out of a texture cue: light and shade that would draw the outline of an object."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from generation.texture_quality import low_pass_share

Image = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

_N_BLOCKS = 8
_MAX_STEPS = 8
# The mean of the surface over a block is nearer to its neighbours' than the mean that it passes through.
_GAIN = 1.25
# Block means are kept to 1/64 of a level, strengths to 1/256: whole numbers, the same on every platform.
_LEVEL, _STRENGTH = 64, 256


def even_out(image: Image, share: float) -> Image:
    """Return an (S, S, 3) uint8 cue with a low-pass share of at most `share`, as far as a few steps get.

    What goes is the bilinear surface through the means of 8 x 8 blocks, the same from every channel, so the
    colours stay; just as much of it goes as the share calls for.
    """
    side = image.shape[0]
    weights = _bilinear(side)
    evened = image
    for _ in range(_MAX_STEPS):
        grey = cv2.cvtColor(evened, cv2.COLOR_RGB2GRAY)
        now = low_pass_share(grey.astype(np.float64))
        if now <= share:
            break
        # What is left of the large structure, for the rest to keep its variance.
        left = np.sqrt(share * (1 - now) / ((1 - share) * now))
        surface = weights @ _block_deviations(grey) @ weights.T
        taken = surface * max(1, round(_STRENGTH * _GAIN * (1 - float(left))))
        unit = _LEVEL * _STRENGTH * (2 * side) ** 2
        levels = (taken + unit // 2) // unit
        evened = np.clip(evened - levels[..., None], 0, 255).astype(np.uint8)
    return evened


def _block_deviations(grey: npt.NDArray[np.generic]) -> Ints:
    """Return the means of 8 x 8 blocks less their mean, in 1/64 levels, (8, 8)."""
    edges = np.arange(_N_BLOCKS + 1) * grey.shape[0] // _N_BLOCKS
    sums = cv2.integral(np.asarray(grey, np.uint8))[np.ix_(edges, edges)].astype(np.int64)
    sums = np.diff(np.diff(sums, axis=0), axis=1)
    size = np.diff(edges)
    means: Ints = sums * _LEVEL // (size[:, None] * size)
    deviations: Ints = means - means.sum() // means.size
    return deviations


def _bilinear(side: int) -> Ints:
    """Return the weights of 8 block centres for every pixel, in 1/(2 side), (side, 8); constant beyond the ends."""
    # The centre of pixel i lies at (2 i + 1) / (2 side) of the side, that of block b at (2 b + 1) / 16.
    at = np.clip((2 * np.arange(side) + 1) * _N_BLOCKS - side, 0, 2 * side * (_N_BLOCKS - 1))
    below = np.minimum(at // (2 * side), _N_BLOCKS - 2)
    weights = np.zeros((side, _N_BLOCKS), np.int64)
    weights[np.arange(side), below] = 2 * side * (below + 1) - at
    weights[np.arange(side), below + 1] = at - 2 * side * below
    return weights
