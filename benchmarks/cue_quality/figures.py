"""The share of cues that are recognised: of a class, and as the mean over classes with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.cue_quality.cues import Cue
from data_manifests.records import OK
from evaluation.sensitivity import LEVEL, bootstrap_means

Floats = npt.NDArray[np.float64]

SEED = 0


@dataclass(frozen=True)
class Figure:
    """A mean over classes with its interval, on `n` cues; `n_missing` more were not to be had."""

    value: float
    lower: float
    upper: float
    n: int
    n_missing: int


def class_weights(classes: Sequence[str]) -> Floats:
    """Return weights (N,) with which the mean of N values is the mean of their means by class.

    >>> class_weights(["a", "a", "a", "b"])
    array([0.66666667, 0.66666667, 0.66666667, 2.        ])
    """
    names, place, n = np.unique(np.asarray(classes, np.str_), return_inverse=True, return_counts=True)
    weights: Floats = len(classes) / (len(names) * n[place])
    return weights


def macro(classes: Sequence[str], values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean over classes of the means of their values, and the ends of its bootstrap interval.

    Photographs are drawn within classes; a class of one photograph adds nothing to the width. NaN where there are
    no values.
    """
    if not values:
        return (float("nan"),) * 3
    weighted = class_weights(classes) * np.asarray(values, np.float64)
    replicates = bootstrap_means(weighted, np.asarray(classes, np.str_), seed=SEED)
    lower, upper = np.quantile(replicates, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(weighted.mean()), float(lower), float(upper)


def recognised(cues: Sequence[Cue], *, missing_count: bool) -> Figure:
    """Return how many cues of one way, kind and grid are recognised, with those that are missing as misses, or not.

    Without them a class that has no cue at all is left out of the mean.
    """
    made = [cue for cue in cues if cue.status == OK]
    counted = cues if missing_count else made
    found = macro([cue.superclass for cue in counted], [float(cue.is_right) for cue in counted])
    return Figure(*found, n=len(made), n_missing=len(cues) - len(made))


def recognised_at_all_grids(cues: Sequence[Cue]) -> Figure:
    """Return the mean over grids, missing cues as misses; the bootstrap draws a photograph with all its grids."""
    by_photograph: dict[tuple[str, str], list[float]] = {}
    for cue in cues:
        by_photograph.setdefault((cue.superclass, cue.photograph), []).append(float(cue.is_right))
    found = macro([name for name, _ in by_photograph], [float(np.mean(v)) for v in by_photograph.values()])
    n_made = sum(cue.status == OK for cue in cues)
    return Figure(*found, n=n_made, n_missing=len(cues) - n_made)


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the 5th percentile, the median and the 95th percentile of some values."""
    low, middle, high = np.percentile(np.asarray(values, np.float64), [5, 50, 95])
    return float(low), float(middle), float(high)
