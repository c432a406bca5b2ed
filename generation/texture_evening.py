"""Large structure taken out of a texture cue: light, shade and patches of colour that would draw an object."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from generation.texture_quality import low_pass_share

Image = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

_N_BLOCKS = 8
_MAX_STEPS = 8
_GOAL = 0.9
# Whole numbers, the same on every platform: block means are kept to 1/64 of a level, strengths and weights to 1/256.
_LEVEL, _STRENGTH, _WEIGHT = 64, 256, 256


def even_out(image: Image, share: float, colour_strength: float) -> Image:
    """Return an (S, S, 3) uint8 cue with a low-pass share of at most `share`, as far as a few steps get.

    What goes is the bilinear surface that has the means of 8 x 8 blocks: of the lightness as much as the share
    calls for, the same from every channel; of the colours, each channel less the lightness, `colour_strength`.
    """
    side = image.shape[0]
    weights, sharpening = _bilinear(side), _sharpening(side)
    # A little less than what may stay: levels are rounded, and cut off at black and white.
    evened, goal = image, _GOAL * share
    for step in range(_MAX_STEPS):
        grey = cv2.cvtColor(evened, cv2.COLOR_RGB2GRAY).astype(np.uint8, copy=False)
        now = low_pass_share(grey.astype(np.float64))
        if now <= share and step > 0:
            break
        # What is left of the large structure, for the rest to keep its variance.
        left = float(np.sqrt(goal * (1 - now) / ((1 - goal) * now))) if now > share else 1.0
        light = _block_deviations(grey)
        taken = [light * round(_STRENGTH * (1 - left))]
        if step == 0:
            strength = round(_STRENGTH * colour_strength)
            taken = [taken[0] + (_block_deviations(plane) - light) * strength for plane in cv2.split(evened)]
        surfaces = [_surface(sharpening @ blocks @ sharpening.T // _WEIGHT**2, weights) for blocks in taken]
        evened = np.clip(evened - np.dstack(surfaces), 0, 255).astype(np.uint8)
    return evened


def _surface(centres: Ints, weights: Ints) -> npt.NDArray[np.int16]:
    """Return the bilinear surface through the values at the centres of 8 x 8 blocks, in levels, (S, S)."""
    # Whole numbers below 2**53, so products in floating point are exact.
    surface = weights.astype(float) @ centres.astype(float) @ weights.T.astype(float)
    surface *= 1 / (_LEVEL * _STRENGTH * (2 * weights.shape[0]) ** 2)
    levels: npt.NDArray[np.int16] = np.rint(surface).astype(np.int16)
    return levels


def _block_deviations(plane: npt.NDArray[np.generic]) -> Ints:
    """Return the means of 8 x 8 blocks less their mean, in 1/64 levels, (8, 8)."""
    edges = np.arange(_N_BLOCKS + 1) * plane.shape[0] // _N_BLOCKS
    sums = cv2.integral(np.asarray(plane, np.uint8))[np.ix_(edges, edges)].astype(np.int64)
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


def _sharpening(side: int) -> Ints:
    """Return what turns block means into the values at block centres whose surface has these means, (8, 8).

    In 1/256. The mean of a bilinear surface over a block is nearer to its neighbours' than the value at its centre.
    """
    edges = np.arange(_N_BLOCKS + 1) * side // _N_BLOCKS
    means = np.add.reduceat(_bilinear(side), edges[:-1]) / (2 * side * np.diff(edges)[:, None])
    sharpening: Ints = np.rint(np.linalg.inv(means) * _WEIGHT).astype(np.int64)
    return sharpening
