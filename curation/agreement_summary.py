"""What is said about the agreement of a set of ratings: the numbers of `cuebench kappa`, in one place."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from curation.agreement import (
    COEFFICIENTS,
    Estimator,
    Kappa,
    category_kappas,
    conger_kappa,
    fleiss_kappa,
    landis_koch_band,
)
from curation.agreement_errors import Interval, StandardErrors, interval, perfect_interval, standard_errors
from curation.category_errors import category_standard_errors
from curation.linearised_errors import ac1_se, conger_se, randolph_se
from curation.ratings import Ratings
from data_manifests.errors import CuebenchError


@dataclass(frozen=True)
class CategoryKappa:
    """The kappa of one category against all others; None where nobody, or everybody, chose it."""

    category: str
    n_ratings: int
    kappa: float | None
    se: float | None


@dataclass(frozen=True)
class AgreementSummary:
    """Fleiss' kappa with errors and interval, category by category, and other coefficients beside it.

    `se_beside` holds the standard errors of AC1, Randolph and Conger over items.
    """

    estimator: Estimator
    kappa: Kappa
    se: StandardErrors
    ci: Interval | None
    band: str | None
    n_items: int
    n_items_used: int
    n_raters: int
    n_ratings: int
    n_missing: int
    per_category: tuple[CategoryKappa, ...]
    ac1: float | None
    alpha: float | None
    randolph: float | None
    conger: float | None
    se_beside: dict[str, float | None]
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the object that `cuebench kappa --format json` prints."""
        return {
            "estimator": self.estimator,
            "status": self.kappa.status,
            "kappa": self.kappa.value,
            "p_observed": self.kappa.p_observed,
            "p_expected": self.kappa.p_expected,
            "se": vars(self.se),
            "ci": {
                "level": self.ci.level if self.ci else None,
                "lower": self.ci.lower if self.ci else None,
                "upper": self.ci.upper if self.ci else None,
            },
            "lower_bound": self.ci.lower_bound if self.ci else None,
            "band": self.band,
            "n_items": self.n_items,
            "n_items_used": self.n_items_used,
            "n_raters": self.n_raters,
            "n_ratings": self.n_ratings,
            "n_missing": self.n_missing,
            "n_categories": len(self.per_category),
            "per_category": [vars(entry) for entry in self.per_category],
            "ac1": self.ac1,
            "alpha": self.alpha,
            "randolph": self.randolph,
            "conger": self.conger,
            "se_beside": self.se_beside,
            "warnings": list(self.warnings),
        }


def summarise_agreement(
    ratings: Ratings, estimator: Estimator = "gwet", level: float = 0.95
) -> AgreementSummary:
    """Return everything that is said about the agreement of ratings.

    Raises
    ------
    CuebenchError
        If the estimator is `fleiss` and the numbers of ratings differ, or the level is none.
    """
    if not 0.5 <= level < 1:
        raise CuebenchError(
            f"level {level}: expected a level of confidence from 0.5 to below 1, such as 0.95"
        )
    counts = ratings.counts
    kappa = fleiss_kappa(counts, estimator, ratings.items)
    se = standard_errors(ratings, estimator)
    bounds = agreement_interval(ratings, kappa, se, level)
    others = {name: coefficient(counts).value for name, coefficient in COEFFICIENTS.items()}
    categories = zip(
        ratings.categories,
        counts.sum(0),
        category_kappas(counts),
        category_standard_errors(ratings),
        strict=True,
    )
    return AgreementSummary(
        estimator=estimator,
        kappa=kappa,
        se=se,
        ci=bounds,
        band=landis_koch_band(bounds.lower_bound) if bounds else None,
        n_items=len(ratings.items),
        n_items_used=int((counts.sum(1) >= 2).sum()),
        n_raters=len(ratings.raters),
        n_ratings=ratings.n_ratings,
        n_missing=ratings.n_missing,
        per_category=tuple(CategoryKappa(name, int(n), value, error) for name, n, value, error in categories),
        **others,
        conger=conger_kappa(ratings).value,
        se_beside={"ac1": ac1_se(counts), "randolph": randolph_se(counts), "conger": conger_se(ratings)},
        warnings=tuple(_warnings(ratings, kappa, se, others["ac1"])),
    )


def agreement_interval(ratings: Ratings, kappa: Kappa, se: StandardErrors, level: float) -> Interval | None:
    """Return the interval of a kappa: by its two-way error, or exact where no disagreement was observed."""
    if kappa.value is None:
        return None
    if kappa.p_observed is not None and kappa.p_observed >= 1 - 1e-15:
        return perfect_interval(ratings.counts, level)
    return None if se.two_way is None else interval(kappa.value, se.two_way, level)


def _warnings(ratings: Ratings, kappa: Kappa, se: StandardErrors, ac1: float | None) -> list[str]:
    found = []
    r = ratings.counts.sum(1)
    if kappa.status == "undefined_single_category":
        found.append(
            "kappa is undefined: every rating is of one category; see p_observed and the categories offered"
        )
    if kappa.status == "undefined_no_pairs":
        found.append("kappa is undefined: no item has two ratings")
    if n_single := int((r == 1).sum()):
        found.append(f"{n_single} of {len(r)} items have one rating: they count for chance agreement only")
    if n_single > len(r) / 5 and se.two_way is not None:
        found.append("so many items with one rating make the two-way error up to a tenth too small")
    if r.min() != r.max():
        found.append(f"items have {r.min()} to {r.max()} ratings")
    if se.two_way is None and kappa.value is not None and kappa.value < 1:
        found.append("no standard error: leaving out one rater or item leaves a kappa that is undefined")
    if len(ratings.raters) < 5 and kappa.value is not None:
        found.append(
            f"{len(ratings.raters)} raters: the numbers hold for these people more than for others; a few raters "
            "cannot certify kappa to better than about .1, however many items they rate"
        )
    spellings = Counter(name.casefold() for name in ratings.categories)
    if alike := [name for name in ratings.categories if spellings[name.casefold()] > 1]:
        found.append(f"categories that differ in case only are counted as different: {', '.join(alike)}")
    if kappa.value is not None and ac1 is not None and abs(kappa.value - ac1) > 0.05:
        found.append(
            f"kappa {kappa.value:.3f} and AC1 {ac1:.3f} differ by more than .05: the categories are used very "
            "unequally, and kappa is not the number to look at alone"
        )
    return found
