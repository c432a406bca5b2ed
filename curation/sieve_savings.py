"""How many looks a sieve saves among the cues that wait, and how sure that number is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from curation.ratings import FloatArray, IntArray
from curation.sieve_cut import LEVEL, CurvePoint, Cut, choose_cut, design_effect, miss_curve

N_REPLICATES = 200
LOOK, ACCEPT, REJECT = "look", "accept", "reject"


@dataclass(frozen=True)
class Chances:
    """What a model says of cues, by models that did not see the verdict on any cue of the same photograph.

    `judged` (n,) and `waiting` (m,) are chances of acceptance, `accepted` (n,) 1.0 or 0.0; photographs are numbered
    over both.
    """

    judged: FloatArray
    accepted: FloatArray
    judged_photograph: IntArray
    waiting: FloatArray
    waiting_photograph: IntArray


@dataclass(frozen=True)
class Savings:
    """The looks that proposals save at a miss rate, among the waiting cues.

    A cut is None where too few verdicts stand to claim the rate. `saved_share` is the share of the waiting cues that
    need no look; (`lower`, `upper`) is its 95 % interval over draws of photographs, with the cuts chosen anew in each
    but not the models: of simulated reviews it held the mean in 8 to 9 of 10 (benchmarks/sieve.py).
    """

    miss_rate: float
    design_effect: float
    accept: Cut | None
    reject: Cut | None
    n_accept: int
    n_reject: int
    n_waiting: int
    lower: float
    upper: float
    accept_curve: tuple[CurvePoint, ...]
    reject_curve: tuple[CurvePoint, ...]

    @property
    def n_saved(self) -> int:
        """The waiting cues for which a proposal would do."""
        return self.n_accept + self.n_reject

    @property
    def saved_share(self) -> float:
        """The same as a share of the waiting cues; 0 where none waits."""
        return self.n_saved / self.n_waiting if self.n_waiting else 0.0


def find_savings(chances: Chances, miss_rate: float, seed: int = 0) -> Savings:
    """Return what proposals at a miss rate would save; each of the two kinds of proposal keeps it by itself."""
    effect = design_effect(chances.accepted - chances.judged, chances.judged_photograph)
    accept, reject = choose_cuts(chances, miss_rate, effect)
    proposed = propose(chances.waiting, accept, reject)
    lower, upper = _interval(chances, miss_rate, effect, seed)
    return Savings(
        miss_rate=miss_rate,
        design_effect=effect,
        accept=accept,
        reject=reject,
        n_accept=proposed.count(ACCEPT),
        n_reject=proposed.count(REJECT),
        n_waiting=len(chances.waiting),
        lower=lower,
        upper=upper,
        accept_curve=miss_curve(chances.judged, 1 - chances.accepted, effect),
        reject_curve=miss_curve(1 - chances.judged, chances.accepted, effect),
    )


def saved_share(chances: Chances, miss_rate: float) -> float:
    """Return the share of the waiting cues that would need no look, 0 where none waits; without an interval."""
    effect = design_effect(chances.accepted - chances.judged, chances.judged_photograph)
    proposed = propose(chances.waiting, *choose_cuts(chances, miss_rate, effect))
    return 1 - proposed.count(LOOK) / len(proposed) if proposed else 0.0


def choose_cuts(
    chances: Chances, miss_rate: float, effect: float, weight: IntArray | None = None
) -> tuple[Cut | None, Cut | None]:
    """Return the cut above which a cue is proposed as accepted, and that of 1 - chance to propose a rejection."""
    return (
        choose_cut(chances.judged, 1 - chances.accepted, miss_rate, effect, weight),
        choose_cut(1 - chances.judged, chances.accepted, miss_rate, effect, weight),
    )


def propose(chance: FloatArray, accept: Cut | None, reject: Cut | None) -> list[str]:
    """Return `accept`, `reject` or `look` for each chance; where both cuts hold, somebody has to look."""
    yes, no = _within(chance, accept), _within(1 - chance, reject)
    proposed: list[str] = np.select([yes & ~no, no & ~yes], [ACCEPT, REJECT], LOOK).tolist()
    return proposed


def _within(chance: FloatArray, cut: Cut | None) -> npt.NDArray[np.bool_]:
    return np.zeros(len(chance), np.bool_) if cut is None else chance >= cut.threshold


def _interval(chances: Chances, miss_rate: float, effect: float, seed: int) -> tuple[float, float]:
    """Return percentiles of the saved share over draws of photographs with replacement."""
    if not len(chances.waiting):
        return 0.0, 0.0
    rng = np.random.default_rng(seed)
    both = np.concatenate([chances.judged_photograph, chances.waiting_photograph])
    n, n_judged = int(both.max()) + 1, len(chances.judged)
    shares = []
    for _ in range(N_REPLICATES):
        times = rng.multinomial(n, np.full(n, 1 / n))[both]
        accept, reject = choose_cuts(chances, miss_rate, effect, times[:n_judged])
        saved = _within(chances.waiting, accept) ^ _within(1 - chances.waiting, reject)
        n_drawn = times[n_judged:].sum()
        shares.append(times[n_judged:] @ saved / n_drawn if n_drawn else 0.0)
    lower, upper = np.quantile(shares, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(lower), float(upper)
