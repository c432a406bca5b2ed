"""Do the chances of a sieve mean what they say: reliability, Brier score, expected calibration error, AUC."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from curation.ratings import FloatArray, IntArray
from curation.sieve_cut import LEVEL, upper_bound

N_REPLICATES = 200
# Of a share of 15 verdicts the interval is .5 wide at most: fewer in a row of the table say nothing.
N_PER_BIN, MAX_BINS = 15, 10


@dataclass(frozen=True)
class Bin:
    """Judged cues of about one chance: how many, their mean chance, the share accepted and its exact interval."""

    n: int
    mean_chance: float
    accepted_share: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Calibration:
    """How good the chances of judged cues are, by models that did not see the verdicts on their photographs.

    `brier_of_base` is the Brier score of saying the share of accepted cues of every cue; (`auc_lower`, `auc_upper`)
    the interval of the area under the ROC curve over draws of photographs.
    """

    bins: tuple[Bin, ...]
    brier: float
    brier_of_base: float
    calibration_error: float
    auc: float
    auc_lower: float
    auc_upper: float


def measure_calibration(
    chance: FloatArray, accepted: FloatArray, photograph: IntArray, seed: int = 0
) -> Calibration:
    """Return how well chances (n,) fit what was accepted, (n,) of 1.0 and 0.0."""
    bins = reliability(chance, accepted)
    lower, upper = _auc_interval(chance, accepted, photograph, seed)
    return Calibration(
        bins=bins,
        brier=float(((chance - accepted) ** 2).mean()),
        brier_of_base=float(accepted.mean() * (1 - accepted.mean())),
        calibration_error=sum(b.n * abs(b.mean_chance - b.accepted_share) for b in bins) / len(chance),
        auc=area_under_curve(chance, accepted),
        auc_lower=lower,
        auc_upper=upper,
    )


def reliability(chance: FloatArray, accepted: FloatArray) -> tuple[Bin, ...]:
    """Return bins of about equally many cues, the lowest chances first."""
    n_bins = int(np.clip(len(chance) // N_PER_BIN, 1, MAX_BINS))
    half = (1 + LEVEL) / 2
    bins = []
    for places in np.array_split(np.argsort(chance, kind="stable"), n_bins):
        n, n_accepted = np.array([float(len(places))]), np.array([accepted[places].sum()])
        bins.append(
            Bin(
                n=len(places),
                mean_chance=float(chance[places].mean()),
                accepted_share=float(accepted[places].mean()),
                lower=float(1 - upper_bound(n - n_accepted, n, half)[0]),
                upper=float(upper_bound(n_accepted, n, half)[0]),
            )
        )
    return tuple(bins)


def area_under_curve(chance: FloatArray, accepted: FloatArray) -> float:
    """Return the chance that an accepted cue ranks above one that is not; ties count half; NaN-free needs both.

    >>> area_under_curve(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0.0, 0.0, 1.0, 1.0]))
    0.75
    """
    n_accepted = accepted.sum()
    n_others = len(accepted) - n_accepted
    ranks = rankdata(chance)[accepted > 0].sum()
    return float((ranks - n_accepted * (n_accepted + 1) / 2) / (n_accepted * n_others))


def _auc_interval(
    chance: FloatArray, accepted: FloatArray, photograph: IntArray, seed: int
) -> tuple[float, float]:
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(photograph == name) for name in np.unique(photograph)]
    areas = []
    for _ in range(N_REPLICATES):
        drawn = rng.integers(len(members), size=len(members))
        places = np.concatenate([members[number] for number in drawn])
        if 0 < accepted[places].sum() < len(places):
            areas.append(area_under_curve(chance[places], accepted[places]))
    lower, upper = np.quantile(areas, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(lower), float(upper)
