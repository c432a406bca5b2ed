"""How much of its accuracy a model keeps when a feature is suppressed, and whether the suppression did its work.

relative accuracy = accuracy under suppression / accuracy without, in the label space of the data set [1]_. The numbers
that validate a suppression compare a picture before and after it: a texture filter is to lower the first two and to
leave the third near 1.

References
----------
.. [1] Burgert et al. (2025), "ImageNet-trained CNNs are not biased towards texture", arXiv 2509.20234; its published
   code (`parallel_metrics_computation.py` for the numbers, window and radius 11).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.ndimage import uniform_filter

from data_manifests.errors import CuebenchError
from evaluation.sensitivity import LEVEL, N_REPLICATES, Interval

Image = npt.NDArray[np.uint8]
FloatArray = npt.NDArray[np.float64]

WINDOW_PX = 11
RADIUS_PX = 11
_LUMA = np.array([0.2125, 0.7154, 0.0721])  # of Rec. 709, as scikit-image's rgb2gray


@dataclass(frozen=True)
class Reliance:
    """What a suppression leaves of an accuracy.

    `relative` = suppressed / plain, with a bootstrap interval over images (the same ones in both). `corrected` takes
    chance from both: 0 is guessing, 1 unharmed; None where the plain accuracy is not above chance.
    """

    n: int
    plain: float
    suppressed: float
    relative: float
    ci: Interval
    corrected: float | None


def relative_accuracy(
    plain: Sequence[bool], suppressed: Sequence[bool], *, chance: float = 0.0, seed: int = 0
) -> Reliance:
    """Return the relative accuracy of answers to the same images, in one order.

    Parameters
    ----------
    plain, suppressed : N answers each, True where right
    chance : accuracy of guessing, 1 / number of classes where they are equally frequent

    Raises
    ------
    CuebenchError
        If the numbers of answers differ, no plain one is right, or chance is out of [0, 1).

    Examples
    --------
    >>> relative_accuracy([True, True, True, False], [True, False, True, False], chance=0.25).relative
    0.6666666666666666
    """
    before, after = np.asarray(plain, np.bool_), np.asarray(suppressed, np.bool_)
    if len(before) != len(after):
        raise CuebenchError(
            f"suppressed: expected an answer to each of the {len(before)} images, got {len(after)}"
        )
    if not before.any():
        raise CuebenchError("plain: no answer is right, so there is no accuracy to be relative to")
    if not 0 <= chance < 1:
        raise CuebenchError(f"chance: expected 0 or more and below 1, got {chance:g}")
    accuracy, left = float(before.mean()), float(after.mean())
    lower, upper = np.quantile(_replicates(before, after, seed), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Reliance(
        n=len(before),
        plain=accuracy,
        suppressed=left,
        relative=left / accuracy,
        ci=Interval(float(lower), float(upper)),
        corrected=(left - chance) / (accuracy - chance) if accuracy > chance else None,
    )


def _replicates(before: npt.NDArray[np.bool_], after: npt.NDArray[np.bool_], seed: int) -> FloatArray:
    """Return bootstrap replicates of the ratio: images fall into four cells, so their counts are multinomial."""
    cells = np.bincount(2 * before + after, minlength=4)  # neither, only after, only before, both
    drawn = np.random.default_rng(seed).multinomial(len(before), cells / len(before), size=N_REPLICATES)
    n_before, n_after = drawn[:, 2] + drawn[:, 3], drawn[:, 1] + drawn[:, 3]
    valid = n_before > 0  # a draw without a right answer has no ratio
    ratios: FloatArray = n_after[valid] / n_before[valid]
    return ratios


@dataclass(frozen=True)
class SuppressionQuality:
    """A picture after a suppression over the picture before it.

    `local_variance` and `high_frequency` are ratios (None where the picture before has none), `gradient_correlation`
    lies in [-1, 1] (None where one of the two is flat).
    """

    local_variance: float | None
    high_frequency: float | None
    gradient_correlation: float | None


def suppression_quality(before: Image, after: Image) -> SuppressionQuality:
    """Return the numbers that say what a suppression did.

    Parameters
    ----------
    before, after : (H, W, 3) uint8 of one size, 11 px a side at least

    Raises
    ------
    CuebenchError
        If sizes or types differ, or a picture is smaller than the window.
    """
    a, b = _grey(before), _grey(after)
    if a.shape != b.shape:
        raise CuebenchError(f"after: expected the size of before, {a.shape}, got {b.shape}")
    return SuppressionQuality(
        local_variance=_ratio(mean_local_variance(b), mean_local_variance(a)),
        high_frequency=_ratio(high_frequency_share(b), high_frequency_share(a)),
        gradient_correlation=gradient_correlation(a, b),
    )


def _grey(image: Image) -> FloatArray:
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise CuebenchError(f"image: expected (H, W, 3) uint8, got {image.shape} {image.dtype}")
    grey: FloatArray = image / 255 @ _LUMA
    return grey


def _ratio(value: float, to: float) -> float | None:
    return value / to if to > 0 else None


def mean_local_variance(grey: FloatArray, window_px: int = WINDOW_PX) -> float:
    """Return the mean over all windows that lie in the picture of the variance inside of each.

    Raises
    ------
    CuebenchError
        If a side of the picture is smaller than the window.
    """
    if min(grey.shape) < window_px:
        raise CuebenchError(f"image: expected sides of at least {window_px} px, got {grey.shape}")
    centred = grey - grey.mean()  # or the difference of the squares would lose digits
    half = window_px // 2
    inside = tuple(slice(half, length - (window_px - 1 - half)) for length in grey.shape)
    mean = uniform_filter(centred, window_px)[inside]
    squares = uniform_filter(centred**2, window_px)[inside]
    return float(np.maximum(squares - mean**2, 0).mean())


def high_frequency_share(grey: FloatArray, radius_px: int = RADIUS_PX) -> float:
    """Return the part of the power spectrum, its mean included, that lies `radius_px` or more from its middle.

    0 for a black picture.
    """
    power = np.abs(np.fft.fft2(grey)) ** 2
    y, x = (np.fft.fftfreq(length, 1 / length) for length in grey.shape)
    far = y[:, None] ** 2 + x[None, :] ** 2 >= radius_px**2
    total = float(power.sum())
    return float(power[far].sum()) / total if total > 0 else 0.0


def gradient_correlation(a: FloatArray, b: FloatArray) -> float | None:
    """Return the mean of the correlations of the vertical and of the horizontal central differences.

    None where a gradient is the same everywhere, so that it has no correlation.
    """
    correlations = []
    for mine, other in zip(np.gradient(a), np.gradient(b), strict=True):
        if np.ptp(mine) == 0 or np.ptp(other) == 0:
            return None
        correlations.append(np.corrcoef(mine.ravel(), other.ravel())[0, 1])
    return float(np.mean(correlations))
