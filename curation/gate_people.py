"""Who answered, and how long it took: what a report shows of the people, by their codes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from curation.rating_records import ResponseRecord
from curation.screening import is_right

STEP_MS = 250
N_STEPS = 16


@dataclass(frozen=True)
class RaterEvidence:
    """One participant who counts: answers, the share that names the intended class, the median time of an answer."""

    rater: str
    n_ratings: int
    accuracy: float
    median_rt_ms: float | None


@dataclass(frozen=True)
class TimeEvidence:
    """How long answers took: the three quartiles, and how many answers lie in each step of `step_ms`.

    The last step holds all that took longer, too.
    """

    quartiles_ms: tuple[float, float, float]
    step_ms: int
    counts: tuple[int, ...]


def rater_evidence(used: Sequence[ResponseRecord]) -> tuple[RaterEvidence, ...]:
    """Return the participants of responses that count, sorted by code."""
    by_rater: dict[str, list[ResponseRecord]] = defaultdict(list)
    for row in used:
        by_rater[row.rater].append(row)
    return tuple(
        RaterEvidence(
            rater=rater,
            n_ratings=len(rows),
            accuracy=sum(map(is_right, rows)) / len(rows),
            median_rt_ms=float(np.median(times)) if (times := _times_ms(rows)) else None,
        )
        for rater, rows in sorted(by_rater.items())
    )


def time_evidence(used: Sequence[ResponseRecord]) -> TimeEvidence | None:
    """Return how long answers took; None where no answer has a time."""
    times = _times_ms(used)
    if not times:
        return None
    low, middle, high = (float(value) for value in np.quantile(times, [0.25, 0.5, 0.75]))
    steps = np.minimum(np.array(times) // STEP_MS, N_STEPS - 1)
    counts = np.bincount(steps, minlength=N_STEPS)
    return TimeEvidence((low, middle, high), STEP_MS, tuple(int(n) for n in counts))


def _times_ms(rows: Sequence[ResponseRecord]) -> list[int]:
    return [row.rt_ms for row in rows if row.rt_ms is not None]
