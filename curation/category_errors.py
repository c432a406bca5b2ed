"""The two-way standard error of each category's kappa, by the delete-one jackknife over items, raters and ratings.

kappa_j = 1 - sum_i n_ij (r_i - n_ij) / r_i / ((R - N) p_j (1 - p_j)) is a function of four sums; leaving something out
subtracts from them. The three variances combine as in `curation.agreement_errors`.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from curation.ratings import FloatArray, IntArray, Ratings


def category_standard_errors(ratings: Ratings) -> list[float | None]:
    """Return the two-way standard error of each category's kappa (None where it can't be computed)."""
    rated = _who_rated(ratings, np.arange(ratings.n_ratings))
    return [_two_way_se(ratings, rated, j) for j in range(len(ratings.categories))]


def _who_rated(ratings: Ratings, kept: IntArray) -> sparse.csr_array:
    """Return the (M, N) array that is 1 where a rater rated an item, of the ratings with these indices."""
    where = (ratings.rater[kept], ratings.item[kept])
    return sparse.csr_array((np.ones(len(kept)), where), shape=(len(ratings.raters), len(ratings.items)))


def _two_way_se(ratings: Ratings, rated: sparse.csr_array, j: int) -> float | None:
    r = ratings.counts.sum(1).astype(np.float64)
    n = ratings.counts[:, j].astype(np.float64)
    terms = _terms(n, r)
    total = terms.sum(1, keepdims=True)
    # what leaving out one rating of an item does, where it is of another category and where it is of j
    other, own = _terms(n, r - 1) - terms, _terms(n - 1, r - 1) - terms
    chose_j = _who_rated(ratings, np.flatnonzero(ratings.category == j))
    by_rater = (rated @ other.T + chose_j @ (own - other).T).T
    item = _jackknife(total - terms, (r > 0).astype(np.float64))
    rater = _jackknife(total + by_rater, np.ones(len(ratings.raters)))
    cell = _jackknife(total + np.hstack([other, own]), np.concatenate([r - n, n]))
    if item is None or rater is None or cell is None:
        return None
    return float(np.sqrt(max(item + rater - cell, item, cell)))


def _terms(n: FloatArray, r: FloatArray) -> FloatArray:
    """Return the (4, N) terms of the items: disagreement on j, surplus ratings (R - N), ratings of j, ratings."""
    disagreement = np.divide(n * (r - n), r, out=np.zeros_like(r), where=r > 0)
    return np.stack([disagreement, np.maximum(r - 1, 0), n, r])


def _jackknife(sums: FloatArray, n_times: FloatArray) -> float | None:
    """Return the delete-one variance of kappa_j, from (4, n) sums with one left out, each of which occurs n_times."""
    disagreement, surplus, chosen, n_ratings = sums[:, n_times > 0]
    times = n_times[n_times > 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        p = chosen / n_ratings
        values = 1 - disagreement / (surplus * p * (1 - p))
    n = times.sum()
    if n < 2 or not np.isfinite(values).all():
        return None
    return float((n - 1) / n * (times @ (values - times @ values / n) ** 2))
