"""Do the chances of a sieve mean what they say: reliability, Brier score, expected calibration error, AUC."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from curation.ratings import FloatArray, IntArray
from curation.sieve_cut import draw_photographs, exact_interval, middle_of

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
    """Return how well chances (n,) fit what was accepted, (n,) of 1.0 and 0.0, both of them present."""
    bins = reliability(chance, accepted)
    drawn = draw_photographs(photograph, seed)
    is_mixed = (times for times in drawn if 0 < accepted @ times < times.sum())
    auc_lower, auc_upper = middle_of([area_under_curve(chance, accepted, times) for times in is_mixed])
    return Calibration(
        bins=bins,
        brier=float(((chance - accepted) ** 2).mean()),
        brier_of_base=float(accepted.mean() * (1 - accepted.mean())),
        calibration_error=sum(b.n * abs(b.mean_chance - b.accepted_share) for b in bins) / len(chance),
        auc=area_under_curve(chance, accepted),
        auc_lower=auc_lower,
        auc_upper=auc_upper,
    )


def reliability(chance: FloatArray, accepted: FloatArray) -> tuple[Bin, ...]:
    """Return bins of about equally many cues, the lowest chances first."""
    n_bins = int(np.clip(len(chance) // N_PER_BIN, 1, MAX_BINS))
    bins = []
    for places in np.array_split(np.argsort(chance, kind="stable"), n_bins):
        n, n_accepted = len(places), float(accepted[places].sum())
        bins.append(Bin(n, float(chance[places].mean()), n_accepted / n, *exact_interval(n_accepted, n)))
    return tuple(bins)


def area_under_curve(chance: FloatArray, accepted: FloatArray, times: IntArray | None = None) -> float:
    """Return how often an accepted cue has a higher chance than one that is not; ties count half.

    `times` (n,) says how often each cue counts, by default once.
    """
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(accepted, chance, sample_weight=times))
