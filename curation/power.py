"""Simulated studies: how precise kappa is under a design, before anybody is asked.

The people of the model differ, since that is what decides. A picture is easy or hard: an attentive person names its
class with chance `EASY_RIGHT` or `HARD_RIGHT`, and otherwise any other one. A person answers at random with the chance
of their lapse rate, which is exponential for attentive people and `CARELESS_LAPSE` for careless ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from curation.agreement import category_kappas, fleiss_kappa
from curation.agreement_errors import interval, standard_errors
from curation.ratings import FloatArray, IntArray, Ratings
from data_manifests.errors import CuebenchError

EASY_RIGHT = 0.999
HARD_RIGHT = 0.4
LAPSE_MEAN = 0.005
CARELESS_SHARE = 0.05
CARELESS_LAPSE = 0.5
LEVEL = 0.95


@dataclass(frozen=True)
class Design:
    """N pictures with m ratings each, by M people with T trials each: N m = M T (up to rounding)."""

    n_items: int
    n_ratings_per_item: int
    n_raters: int
    n_trials: int


@dataclass(frozen=True)
class Crowd:
    """Whom the model asks: `careless_share` of the people have a lapse rate of `CARELESS_LAPSE`."""

    n_categories: int = 10
    careless_share: float = CARELESS_SHARE

    @property
    def mean_lapse(self) -> float:
        """The lapse rate of a person drawn at random."""
        return (1 - self.careless_share) * LAPSE_MEAN + self.careless_share * CARELESS_LAPSE


@dataclass(frozen=True)
class DesignResult:
    """What a design gives: the spread of kappa, how often its interval holds the truth, and the chance to pass.

    `half_width` is 1.96 times the standard deviation over simulated studies; the coverages are of the 95 % interval
    by the item error alone and by the two-way error; `bound_coverage` is of the one-sided lower bound.
    """

    design: Design
    kappa: float
    sd: float
    half_width: float
    item_coverage: float
    two_way_coverage: float
    bound_coverage: float
    pass_share: float | None
    lowest_class: float


def designs_for(n_raters: int, n_trials: int, n_categories: int) -> list[Design]:
    """Return the designs that spend n_raters x n_trials ratings on few pictures or on many."""
    if n_raters < 3:
        raise CuebenchError(
            f"{n_raters} people: without one of them no two answers to a picture are left, so it can't be told how far "
            "others would differ; expected at least 3"
        )
    total = n_raters * n_trials
    found = []
    for m in (2, 3, 4, 5, 8, 10, 15, 22, 44, 88):
        n_items = total // m
        if m <= n_raters and n_trials <= n_items and n_items >= 2 * n_categories:
            found.append(Design(n_items, m, n_raters, n_trials))
    if not found:
        raise CuebenchError(
            f"{n_raters} people with {n_trials} trials each: no design has a picture that two of them see; expected at "
            "least 3 people, and trials for every class twice"
        )
    return found


def expected_kappa(hard_share: float, crowd: Crowd) -> float:
    """Return the kappa of the model: (E_i sum_k p_ik^2 - 1 / q) / (1 - 1 / q), with the mean lapse mixed into p."""
    q, lapse = crowd.n_categories, crowd.mean_lapse
    agreement = 0.0
    for share, right in ((1 - hard_share, EASY_RIGHT), (hard_share, HARD_RIGHT)):
        p = np.full(q, (1 - right) / (q - 1))
        p[0] = right
        agreement += share * float((((1 - lapse) * p + lapse / q) ** 2).sum())
    return (agreement - 1 / q) / (1 - 1 / q)


def hard_share_for(kappa: float, crowd: Crowd) -> float:
    """Return the share of hard pictures that gives a kappa.

    Raises
    ------
    CuebenchError
        If the model can't have this kappa: the people are too careless for it, or it is below that of hard pictures.
    """
    least, most = expected_kappa(1.0, crowd), expected_kappa(0.0, crowd)
    if not least <= kappa <= most:
        raise CuebenchError(
            f"kappa {kappa}: with {crowd.careless_share:.0%} careless people and {crowd.n_categories} categories the "
            f"model spans {least:.3f} to {most:.3f}; change --careless to reach others"
        )
    return (most - kappa) / (most - least)


def deal(design: Design, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Return who sees what, (R,) items and (R,) raters: every picture equally often, none twice by one person."""
    order: list[int] = []
    for _ in range(design.n_ratings_per_item):
        tail = order[len(order) // design.n_trials * design.n_trials :]
        fresh = rng.permutation(np.setdiff1d(np.arange(design.n_items), tail))
        n_first = (design.n_trials - len(tail)) % design.n_trials
        first, rest = fresh[:n_first], np.concatenate([fresh[n_first:], np.array(tail, np.int64)])
        order += [*first.tolist(), *rng.permutation(rest).tolist()]
    n = min(len(order), design.n_raters * design.n_trials)
    return np.array(order[:n], np.int64), np.arange(n, dtype=np.int64) // design.n_trials


def simulate(design: Design, hard_share: float, crowd: Crowd, rng: np.random.Generator) -> Ratings:
    """Return the ratings of one simulated study."""
    q = crowd.n_categories
    item, rater = deal(design, rng)
    truth = rng.permutation(np.arange(design.n_items) % q)
    hard = rng.random(design.n_items) < hard_share
    careless = rng.random(design.n_raters) < crowd.careless_share
    attentive = np.minimum(rng.exponential(LAPSE_MEAN, design.n_raters), 1.0)
    lapse = np.where(careless, CARELESS_LAPSE, attentive)
    right = rng.random(len(item)) < np.where(hard[item], HARD_RIGHT, EASY_RIGHT)
    slip = (truth[item] + rng.integers(1, q, len(item))) % q
    category = np.where(right, truth[item], slip)
    category = np.where(rng.random(len(item)) < lapse[rater], rng.integers(0, q, len(item)), category)
    return Ratings(
        item,
        rater,
        category.astype(np.int64),
        tuple(map(str, range(design.n_items))),
        tuple(map(str, range(design.n_raters))),
        tuple(f"class {index}" for index in range(q)),
    )


def evaluate_design(
    design: Design, kappa: float, crowd: Crowd, *, n_replications: int, seed: int, bound: float | None = None
) -> DesignResult:
    """Return what `n_replications` simulated studies of a design give.

    Raises
    ------
    CuebenchError
        If the model can't have this kappa.
    """
    hard_share = hard_share_for(kappa, crowd)
    rng = np.random.default_rng([seed, design.n_items, design.n_ratings_per_item])
    rows = np.array(list(_replicate(design, hard_share, crowd, rng, n_replications)))
    value, item_low, item_high, low, high, lower_bound, lowest = rows.T

    def covers(lower: FloatArray, upper: FloatArray) -> float:
        return float(((lower <= kappa) & (kappa <= upper)).mean())

    sd = float(value.std(ddof=1))
    return DesignResult(
        design=design,
        kappa=float(value.mean()),
        sd=sd,
        half_width=1.96 * sd,
        item_coverage=covers(item_low, item_high),
        two_way_coverage=covers(low, high),
        bound_coverage=float((lower_bound <= kappa).mean()),
        pass_share=None if bound is None else float((lower_bound >= bound).mean()),
        lowest_class=float(lowest.mean()),
    )


def _replicate(
    design: Design, hard_share: float, crowd: Crowd, rng: np.random.Generator, n: int
) -> Iterator[tuple[float, ...]]:
    for _ in range(n):
        ratings = simulate(design, hard_share, crowd, rng)
        kappa, se = fleiss_kappa(ratings.counts).value, standard_errors(ratings)
        if kappa is None or se.items is None or se.two_way is None or kappa >= 1:
            raise CuebenchError(
                f"{design.n_items} pictures x {design.n_ratings_per_item} ratings: a simulated study has no "
                "disagreement at all; ask for a lower kappa, or more ratings"
            )
        by_item, both = interval(kappa, se.items, LEVEL), interval(kappa, se.two_way, LEVEL)
        lowest = min(k for k in category_kappas(ratings.counts) if k is not None)
        yield kappa, by_item.lower, by_item.upper, both.lower, both.upper, both.lower_bound, lowest


def recommend(results: list[DesignResult]) -> DesignResult:
    """Return the design with the most ratings of a picture among those with a narrow interval.

    Narrow is at most a quarter wider than the narrowest. More pictures narrow it little once people differ more than
    pictures do, while the agreement on a picture itself, by which pictures are left out, is known only from many
    ratings of it.
    """
    narrowest = min(result.half_width for result in results)
    good = [result for result in results if result.half_width <= 1.25 * narrowest]
    return max(good, key=lambda result: result.design.n_ratings_per_item)
