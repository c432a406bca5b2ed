"""Time of kappa with its two-way error, beside statsmodels and (where it is installed) irrCAC.

Run: python -m benchmarks.agreement_speed
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_kappa

from curation.agreement import fleiss_kappa
from curation.agreement_errors import standard_errors
from curation.agreement_summary import summarise_agreement
from curation.power import Crowd, Design, simulate
from curation.ratings import Ratings

DESIGNS = (Design(440, 10, 88, 50), Design(10_000, 10, 1_000, 100), Design(100_000, 10, 10_000, 100))
IRRCAC_MAX_RATINGS = 100_000


def seconds(work: Callable[[], object], n_repeats: int = 3) -> float:
    """Return the wall time of the fastest of a few calls, in s."""
    times = []
    for _ in range(n_repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def irrcac_seconds(ratings: Ratings) -> float | None:
    """Return the time of irrCAC's Fleiss kappa (items and raters as a table), or None where it is not installed."""
    if find_spec("irrCAC") is None or ratings.n_ratings > IRRCAC_MAX_RATINGS:
        return None
    table = np.full((len(ratings.items), len(ratings.raters)), np.nan)
    table[ratings.item, ratings.rater] = ratings.category
    cac = import_module("irrCAC.raw").CAC
    frame = pd.DataFrame(table)
    return seconds(lambda: cac(frame).fleiss(), 1)


def fresh(ratings: Ratings) -> Ratings:
    """Return the ratings without their cached counts."""
    return Ratings(
        ratings.item, ratings.rater, ratings.category, ratings.items, ratings.raters, ratings.categories
    )


def main() -> None:
    """Print the table: seconds, and how many times longer the others take for the estimate alone."""
    print(
        f"{'ratings':>9}{'kappa ms':>10}{'+ two-way ms':>14}{'all ms':>9}{'statsmodels x':>15}{'irrCAC x':>10}"
    )
    for design in DESIGNS:
        ratings = simulate(design, 0.1, Crowd(), np.random.default_rng(0))
        alone = seconds(lambda r=ratings: fleiss_kappa(fresh(r).counts))  # type: ignore[misc]
        both = seconds(lambda r=ratings: standard_errors(fresh(r)))  # type: ignore[misc]
        everything = seconds(lambda r=ratings: summarise_agreement(fresh(r)), 1)  # type: ignore[misc]
        counts = ratings.counts
        reference = seconds(lambda c=counts: statsmodels_kappa(c)) / seconds(lambda c=counts: fleiss_kappa(c))  # type: ignore[misc]
        other = irrcac_seconds(ratings)
        ratio = "-" if other is None else f"{other / both:.0f}"
        print(
            f"{ratings.n_ratings:>9}{alone * 1e3:>10.1f}{both * 1e3:>14.1f}{everything * 1e3:>9.1f}"
            f"{reference:>15.1f}{ratio:>10}"
        )


if __name__ == "__main__":
    main()
