"""Standard errors over items by Gwet's linearisation, for every coefficient of the form (p_a - p_e) / (1 - p_e).

With p_e|i the part of item i in the chance agreement, and N' the number of items with two or more ratings [1]_,

    kappa_i  = (N / N') (p_a|i - p_e) / (1 - p_e), 0 for an item with one rating,
    kappa*_i = kappa_i - 2 (1 - kappa) (p_e|i - p_e) / (1 - p_e),   V = sum (kappa*_i - kappa)^2 / (N (N - 1)).

The coefficients differ in p_e|i alone. Without N / N' the variance would fall short where many items have one rating.

References
----------
.. [1] Gwet (2008), British Journal of Mathematical and Statistical Psychology 61:29; (2014) Handbook, 4th ed.
"""

from __future__ import annotations

import numpy as np

from curation.agreement import Kappa, ac1, conger_kappa, prevalence, randolph
from curation.ratings import FloatArray, IntArray, Ratings


def linearised_variance(
    counts: IntArray, kappa: Kappa, expected: FloatArray, *, scaled: bool = True
) -> float | None:
    """Return V over items with a rating; None where the coefficient is undefined or there are fewer than two items.

    Parameters
    ----------
    counts : (N, q) of items that have a rating
    kappa : the coefficient of these counts
    expected : (N,) p_e|i
    scaled : whether kappa_i has the factor N / N'
    """
    if kappa.value is None or kappa.p_expected is None or len(counts) < 2:
        return None
    r = counts.sum(1)
    paired = (r >= 2).astype(np.float64)
    agreeing, pairs = (counts * (counts - 1)).sum(1), r * (r - 1)
    agreement = np.divide(agreeing, pairs, out=np.zeros(len(r)), where=pairs > 0)
    n, p_e = len(counts), kappa.p_expected
    own = (n / paired.sum() if scaled else 1.0) * (agreement - p_e * paired) / (1 - p_e)
    linear = own - 2 * (1 - kappa.value) * (expected - p_e) / (1 - p_e)
    return float(linear.var(ddof=1) / n)


def ac1_se(counts: IntArray) -> float | None:
    """Return the standard error of AC1 over items: p_e|i = sum_k (1 - pi_k) n_ik / r_i / (q - 1)."""
    rated = counts[counts.sum(1) >= 1]
    q = rated.shape[1]
    expected = (rated @ (1 - prevalence(rated))) / rated.sum(1) / max(q - 1, 1)
    return _root(linearised_variance(rated, ac1(rated), expected))


def randolph_se(counts: IntArray) -> float | None:
    """Return the standard error of Randolph's (Brennan & Prediger's) coefficient over items: p_e|i = 1 / q."""
    rated = counts[counts.sum(1) >= 1]
    expected = np.full(len(rated), 1 / rated.shape[1])
    return _root(linearised_variance(rated, randolph(rated), expected))


def conger_se(ratings: Ratings) -> float | None:
    """Return the standard error of Conger's kappa over items.

    p_e = sum_k (pbar_k^2 - s_k^2 / M) has the slope w_ak = 2 (M pbar_k - p_ak) / (M (M - 1)) in the share p_ak of
    category k among the n_a ratings of rater a, so p_e|i - p_e = N / 2 sum_a (w_ak(i) - sum_k p_ak w_ak) / n_a over the
    raters of item i, with k(i) what they chose.
    """
    kappa = conger_kappa(ratings)
    if kappa.p_expected is None:
        return None
    n_items, n_raters, q = len(ratings.items), len(ratings.raters), len(ratings.categories)
    table = np.bincount(ratings.rater * q + ratings.category, minlength=n_raters * q).reshape(n_raters, q)
    n_ratings = table.sum(1)
    shares = table / n_ratings[:, None]
    slope = 2 * (n_raters * shares.mean(0) - shares) / (n_raters * (n_raters - 1))
    centre = (shares * slope).sum(1)
    influence = (slope[ratings.rater, ratings.category] - centre[ratings.rater]) / n_ratings[ratings.rater]
    of_item = np.bincount(ratings.item, influence, minlength=n_items).astype(np.float64)
    expected: FloatArray = kappa.p_expected + n_items / 2 * of_item
    return _root(linearised_variance(ratings.counts, kappa, expected))


def _root(variance: float | None) -> float | None:
    return None if variance is None else float(np.sqrt(variance))
