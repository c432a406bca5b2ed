"""Agreement between raters beyond chance: Fleiss' kappa in its three forms, and the coefficients beside it.

Everything is computed from the (N, q) table of counts, so that time grows with the number of ratings. The formulas
with their sources are in the docstrings. What can't be computed is None, never NaN.

References
----------
.. [1] Fleiss (1971), Psychological Bulletin 76:378. Equal numbers of raters.
.. [2] Gwet (2014), Handbook of Inter-Rater Reliability, 4th ed. Unequal numbers; every item weighs the same.
.. [3] Fleiss & Cuzick (1979), Applied Psychological Measurement 3:537. Unequal numbers; as Stata's `kappa`.
.. [4] Krippendorff (2011), Computing Krippendorff's Alpha-Reliability.
.. [5] Conger (1980), Psychological Bulletin 88:322.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from curation.ratings import FloatArray, IntArray, Ratings
from data_manifests.errors import CuebenchError

Estimator = Literal["gwet", "cuzick", "fleiss"]
ESTIMATORS: tuple[Estimator, ...] = ("gwet", "cuzick", "fleiss")


@dataclass(frozen=True)
class Kappa:
    """A kappa with what it is made of: `value` = (p_observed - p_expected) / (1 - p_expected).

    `value` is None where it is undefined, and `status` says why: `ok`, `undefined_single_category` (everybody chose
    one category, 0 / 0) or `undefined_no_pairs` (no item was rated twice).
    """

    value: float | None
    p_observed: float | None
    p_expected: float | None
    status: str = "ok"


def chance_corrected(p_observed: float | None, p_expected: float | None) -> Kappa:
    """Return the coefficient of an observed and an expected agreement."""
    if p_observed is None or p_expected is None:
        return Kappa(None, p_observed, p_expected, "undefined_no_pairs")
    if p_expected >= 1 - 1e-15:
        return Kappa(None, p_observed, p_expected, "undefined_single_category")
    return Kappa((p_observed - p_expected) / (1 - p_expected), p_observed, p_expected)


def observed_agreement(counts: IntArray) -> float | None:
    """Return p_a: the share of agreeing pairs of an item, averaged over the items with two or more ratings [2]_."""
    n_ratings = counts.sum(1)
    used = n_ratings >= 2
    if not used.any():
        return None
    r = n_ratings[used]
    agreeing = (counts[used] * (counts[used] - 1)).sum(1)
    return float((agreeing / (r * (r - 1))).mean())


def prevalence(counts: IntArray) -> FloatArray:
    """Return pi (q,): the share of a category within an item, averaged over the items with a rating [2]_."""
    n_ratings = counts.sum(1)
    rated = n_ratings >= 1
    shares: FloatArray = (counts[rated] / n_ratings[rated, None]).mean(0)
    return shares


def fleiss_kappa(
    counts: IntArray, estimator: Estimator = "gwet", items: Sequence[str] | None = None
) -> Kappa:
    """Return Fleiss' kappa of a (N, q) table of counts.

    Parameters
    ----------
    estimator : `gwet` weighs every item the same [2]_; `cuzick` weighs every rating [3]_; `fleiss` [1]_ demands
        equal numbers of ratings, where all three coincide
    items : the names of the rows, for the message; by default their numbers

    Raises
    ------
    CuebenchError
        If counts are negative, or `fleiss` meets unequal numbers of ratings.

    Examples
    --------
    >>> round(fleiss_kappa(np.array([[3, 0], [0, 3], [2, 1]])).value, 6)
    0.55
    """
    _check_counts(counts)
    if estimator == "cuzick":
        return _cuzick_kappa(counts)
    if estimator == "fleiss":
        _check_equal(counts, items)
    p_expected = float((prevalence(counts) ** 2).sum())
    return chance_corrected(observed_agreement(counts), p_expected)


def _cuzick_kappa(counts: IntArray) -> Kappa:
    """Return 1 - sum_i (r_i - sum_k n_ik^2 / r_i) / ((R - N) (1 - sum_k p_k^2)), equation 8 of [3]_ summed over k."""
    rated = counts[counts.sum(1) >= 1]
    r = rated.sum(1)
    n_pairs = int(r.sum()) - len(r)
    if n_pairs == 0:
        return Kappa(None, None, None, "undefined_no_pairs")
    disagreement = float((r - (rated**2).sum(1) / r).sum()) / n_pairs
    return chance_corrected(1 - disagreement, float(((rated.sum(0) / r.sum()) ** 2).sum()))


def _check_counts(counts: IntArray) -> None:
    if counts.ndim != 2 or counts.size == 0:
        raise CuebenchError(f"expected a table of counts, items by categories, got shape {counts.shape}")
    if (counts < 0).any():
        raise CuebenchError(f"row {int(np.argwhere(counts < 0)[0][0])} of the counts: expected 0 or more")


def _check_equal(counts: IntArray, items: Sequence[str] | None) -> None:
    r = counts.sum(1)
    usual = int(np.bincount(r).argmax())
    if (r != usual).any():
        row = int(np.flatnonzero(r != usual)[0])
        name = row if items is None else items[row]
        raise CuebenchError(
            f"item {name}: {int(r[row])} ratings where most items have {usual}; Fleiss' kappa of 1971 demands equal "
            "numbers: use the estimator gwet or cuzick"
        )


def category_kappas(counts: IntArray) -> list[float | None]:
    """Return the kappa of each category against all others, over all items.

    kappa_j = 1 - sum_i n_ij (r_i - n_ij) / r_i / ((R - N) p_j (1 - p_j)) [3]_; None where nobody, or everybody,
    chose j. Their mean with the weights p_j (1 - p_j) is the overall kappa (`cuzick`).
    """
    rated = counts[counts.sum(1) >= 1]
    r = rated.sum(1, keepdims=True)
    p = rated.sum(0) / r.sum()
    disagreement = (rated * (r - rated) / r).sum(0)
    expected = (r.sum() - len(r)) * p * (1 - p)
    return [float(1 - d / e) if e > 0 else None for d, e in zip(disagreement, expected, strict=True)]


def ac1(counts: IntArray) -> Kappa:
    """Return Gwet's AC1: p_e = sum_k pi_k (1 - pi_k) / (q - 1) [2]_."""
    q, pi = counts.shape[1], prevalence(counts)
    return chance_corrected(
        observed_agreement(counts), float((pi * (1 - pi)).sum() / (q - 1)) if q > 1 else 1.0
    )


def randolph(counts: IntArray) -> Kappa:
    """Return Randolph's free-marginal kappa (Brennan & Prediger): p_e = 1 / q, q the categories offered."""
    return chance_corrected(observed_agreement(counts), 1 / counts.shape[1])


def krippendorff_alpha(counts: IntArray) -> Kappa:
    """Return Krippendorff's alpha for nominal data, 1 - D_o / D_e over the items with two or more ratings [4]_."""
    paired = counts[counts.sum(1) >= 2]
    if len(paired) == 0:
        return Kappa(None, None, None, "undefined_no_pairs")
    r, n_k = paired.sum(1), paired.sum(0)
    n = int(r.sum())
    p_observed = float(((paired * (paired - 1)).sum(1) / (r - 1)).sum() / n)
    return chance_corrected(p_observed, float((n_k * (n_k - 1)).sum() / (n * (n - 1))))


def conger_kappa(ratings: Ratings) -> Kappa:
    """Return Conger's exact kappa: chance agreement takes away the variance between the raters' marginals [5]_.

    With missing ratings as in [2]_: p_e = sum_k (pbar_k^2 - s_k^2 / M), with p_ak the share of k among the ratings
    of rater a, pbar_k and s_k^2 (M - 1 in its denominator) its mean and variance over the M raters.
    """
    n_raters, q = len(ratings.raters), len(ratings.categories)
    if n_raters < 2:
        return Kappa(None, None, None, "undefined_no_pairs")
    table = np.bincount(ratings.rater * q + ratings.category, minlength=n_raters * q).reshape(n_raters, q)
    shares = table / table.sum(1, keepdims=True)
    p_expected = (shares.mean(0) ** 2 - shares.var(0, ddof=1) / n_raters).sum()
    return chance_corrected(observed_agreement(ratings.counts), float(p_expected))


def cohen_kappa(table: IntArray) -> Kappa:
    """Return Cohen's kappa of the (q, q) cross table of two raters."""
    shares = table / table.sum()
    return chance_corrected(float(np.trace(shares)), float(shares.sum(1) @ shares.sum(0)))


def specific_agreement(table: IntArray) -> tuple[float | None, float | None]:
    """Return the agreement on `yes` and on `no` of a (2, 2) cross table: 2a / (2a + b + c), 2d / (2d + b + c).

    >>> specific_agreement(np.array([[96, 2], [2, 0]]))
    (0.9795918367346939, 0.0)
    """
    (a, b), (c, d) = table
    yes, no = 2 * a + b + c, 2 * d + b + c
    return (float(2 * a / yes) if yes else None, float(2 * d / no) if no else None)


COEFFICIENTS: dict[str, Callable[[IntArray], Kappa]] = {
    "ac1": ac1,
    "alpha": krippendorff_alpha,
    "randolph": randolph,
}

# Landis & Koch (1977); right-closed
_BANDS = ((0.0, "poor"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))


def landis_koch_band(kappa: float) -> str:
    """Return the word of Landis & Koch (1977) for a kappa. Give it the lower bound, not the estimate.

    >>> landis_koch_band(.80), landis_koch_band(.81), landis_koch_band(-.01), landis_koch_band(0)
    ('substantial', 'almost perfect', 'poor', 'slight')
    """
    if kappa < 0:
        return "poor"
    return next((word for upper, word in _BANDS[1:] if kappa <= upper), "almost perfect")
