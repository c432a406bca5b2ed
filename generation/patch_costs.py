"""How much the patches of a photograph differ from what is laid already: exact sums over some of their pixels."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]

# A cue gains more by more candidates than by more samples of each. Of up to 113, three sums of 3 * 128**2 a pixel stay
# below 2**24, so that float32 products are exact in any order of summation.
MAX_SAMPLES = 24


class Samples:
    """Some pixels of every candidate, for the squared difference to as many of other patches.

    Values are centred, so that products summed in float32 are whole numbers below 2**24: exact.
    """

    def __init__(self, words: Words, candidates: Ints, at: Ints) -> None:
        """Take the pixels `at`, (2, F): row and column in the patch."""
        self.at = at
        offsets = at[0] * words.shape[1] + at[1]
        places = candidates[:, 0] * words.shape[1] + candidates[:, 1]
        # (K, F, 3), with the padding byte of the words cut off.
        values = _centred(words.ravel()[places[:, None] + offsets])
        squares = np.einsum("kfc,kfc->kf", values, values)
        # The sum of w (x - y)^2 less that of w y^2 is one product: w, w y with x^2, -2 x.
        self._table = np.ascontiguousarray(np.hstack([squares, -2 * values.reshape(len(places), -1)]).T)

    def differences(self, patches: Words, used: npt.NDArray[np.bool_] | None = None) -> npt.NDArray[np.int32]:
        """Return the squared differences to (n, p, p) patches less the squares of these, (n, K).

        `used`, (n, F), says which pixels count for each patch.
        """
        values = _centred(patches[:, self.at[0], self.at[1]])
        weights = np.ones(values.shape[:2], np.float32) if used is None else used.astype(np.float32)
        values *= weights[..., None]
        differences: npt.NDArray[np.float32] = (
            np.hstack([weights, values.reshape(len(values), -1)]) @ self._table
        )
        return differences.astype(np.int32)


def pixel_words(image: Image) -> Words:
    """Return (H, W, 3) pixels as one word each, (H, W)."""
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2RGBA)).view(np.uint32)[..., 0]


def _centred(words: Words) -> npt.NDArray[np.float32]:
    channels = np.ascontiguousarray(words)[..., None].view(np.uint8)[..., :3]
    return channels.astype(np.float32) - np.float32(128)


def box_means(image: Image, box_px: int) -> Image:
    """Return the means, rounded down, of the boxes that begin at each pixel of (H, W, 3); cut off at the edges."""
    if box_px == 1:
        return image
    corner, outside = (0, 0), cv2.BORDER_CONSTANT
    sums = cv2.boxFilter(
        image, cv2.CV_32S, (box_px, box_px), None, corner, normalize=False, borderType=outside
    )
    return (sums // box_px**2).astype(np.uint8)


def strip_samples(patch_px: int, overlap: int) -> Ints:
    """Return row and column of the pixels of the L-shaped overlap (fewer of a large one), (2, F).

    The corner belongs to both arms: it is compared only where there is a cell both above and to the left.
    """
    y, x = np.mgrid[:patch_px, :patch_px]
    in_strip = (y < overlap) | (x < overlap)
    at: Ints = np.stack([y[in_strip], x[in_strip]])
    step = -(-at.shape[1] // MAX_SAMPLES)
    return at[:, step // 2 :: step]
