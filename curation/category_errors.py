"""The two-way standard error of each category's kappa, by the delete-one jackknife over items, raters and ratings.

kappa_j = 1 - sum_i n_ij (r_i - n_ij) / r_i / ((R - N) p_j (1 - p_j)) is a function of four sums; leaving something out
subtracts from them. The three variances combine as in `curation.agreement_errors`.
"""

from __future__ import annotations

import numpy as np

from curation.ratings import FloatArray, Ratings


def category_standard_errors(ratings: Ratings) -> list[float | None]:
    """Return the two-way standard error of each category's kappa (None where it can't be computed)."""
    return [_two_way_se(ratings, j) for j in range(len(ratings.categories))]


def _two_way_se(ratings: Ratings, j: int) -> float | None:
    counts = ratings.counts
    r = counts.sum(1).astype(np.float64)
    n = counts[:, j].astype(np.float64)
    # of an item: disagreement on j, surplus ratings (R - N), ratings of j, ratings
    terms = np.stack([_disagreement(n, r), np.maximum(r - 1, 0), n, r])
    total = terms.sum(1, keepdims=True)
    own = (ratings.category == j).astype(np.float64)
    n_i, r_i = n[ratings.item], r[ratings.item]
    change = np.stack(
        [
            _disagreement(n_i - own, r_i - 1) - _disagreement(n_i, r_i),
            -(r_i >= 2).astype(np.float64),
            -own,
            -np.ones_like(own),
        ]
    )
    by_rater = np.stack([np.bincount(ratings.rater, weights=row) for row in change])
    rated = terms[:, r > 0]
    variances = [_jackknife(total - rated), _jackknife(total + by_rater), _jackknife(total + change)]
    item, rater, cell = variances
    if item is None or rater is None or cell is None:
        return None
    return float(np.sqrt(max(item + rater - cell, item, cell)))


def _disagreement(n: FloatArray, r: FloatArray) -> FloatArray:
    return np.divide(n * (r - n), r, out=np.zeros_like(r), where=r > 0)


def _jackknife(sums: FloatArray) -> float | None:
    """Return the delete-one variance of kappa_j, from (4, n) sums of which each column leaves one out."""
    disagreement, surplus, chosen, n_ratings = sums
    with np.errstate(invalid="ignore", divide="ignore"):
        p = chosen / n_ratings
        values = 1 - disagreement / (surplus * p * (1 - p))
    n = len(values)
    if n < 2 or not np.isfinite(values).all():
        return None
    return float((n - 1) / n * ((values - values.mean()) ** 2).sum())
