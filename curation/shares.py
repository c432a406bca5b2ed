"""The error of a share of answers (such as those that are right) over items and raters, and its lower bound."""

from __future__ import annotations

import numpy as np
from scipy import stats

from curation.agreement_errors import interval
from curation.ratings import FloatArray, IntArray


def two_way_share_error(hits: FloatArray, item: IntArray, rater: IntArray) -> float:
    """Return the two-way clustered standard error of the mean of `hits` (R,).

    V = V_item + V_rater - V_cell, at least V_item and V_cell [1]_; each part is n / (n - 1) times the sum
    over its clusters of (sum of residuals / R)^2, with n the number of clusters.

    References
    ----------
    .. [1] Cameron, Gelbach & Miller (2011), Journal of Business & Economic Statistics 29:238.
    """
    residual = (hits - hits.mean()) / len(hits)

    def part(cluster: IntArray | None) -> float:
        sums = residual if cluster is None else np.bincount(cluster, weights=residual)
        n = len(sums) if cluster is None else len(np.unique(cluster))
        return float(n / max(n - 1, 1) * (sums**2).sum())

    items, single = part(item), part(None)
    return float(np.sqrt(max(items + part(rater) - single, items, single)))


def share_lower_bound(hits: FloatArray, item: IntArray, rater: IntArray, level: float) -> float | None:
    """Return the one-sided lower bound of the mean of `hits`, on the scale log(1 - share), at least 0.

    Where every hit is 1, the bound is that of the items: (1 - level)^(1 / N). None where one rater or one item alone
    can't tell how far others differ.
    """
    share = float(hits.mean())
    if len(np.unique(rater)) < 2 or len(np.unique(item)) < 2:
        return None
    if share >= 1:
        return float((1 - level) ** (1 / len(np.unique(item))))
    bound = interval(share, two_way_share_error(hits, item, rater), level).lower_bound
    return max(0.0, bound)


def binomial_lower_bound(n_hits: int, n: int, level: float) -> float:
    """Return the one-sided Clopper-Pearson lower bound of a share.

    >>> round(binomial_lower_bound(20, 20, .95), 3)
    0.861
    """
    return 0.0 if n_hits == 0 else float(stats.beta.ppf(1 - level, n_hits, n - n_hits + 1))
