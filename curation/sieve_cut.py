"""How many cues need no look: cuts in the chance of acceptance that keep a stated miss rate, and what they save.

A *miss* is a proposal that is wrong: the reviewers answer the other way. The *miss rate* of a cut is the share of
misses among all that it proposes: what would lie wrongly in a release that took the proposals unseen. It is not the
share of all unfit cues that slip through.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from curation.ratings import FloatArray, IntArray
from curation.sieve_model import Chances

LEVEL = 0.95
N_SIZES = 40
N_REPLICATES = 200
LOOK, ACCEPT, REJECT = "look", "accept", "reject"


@dataclass(frozen=True)
class Cut:
    """A cut that holds: cues with a chance of at least `threshold` are proposed.

    Of the judged cues it proposes `n_proposed`, of which `n_missed` are misses; `upper` is the one-sided bound of the
    miss rate at the level of `LEVEL`, and (`rate_lower`, `rate_upper`) its two-sided interval. Both are
    of the rate in the long run: of a few waiting cues chance alone may make more or fewer misses.
    """

    threshold: float
    n_proposed: int
    n_missed: int
    upper: float
    rate_lower: float
    rate_upper: float

    @property
    def miss_rate(self) -> float:
        """The share of misses among the judged cues that are proposed."""
        return self.n_missed / self.n_proposed


def upper_bound(n_missed: FloatArray, n: FloatArray, level: float) -> FloatArray:
    """Return the one-sided Clopper-Pearson upper bounds of shares of misses (k,); counts may be effective ones.

    >>> upper_bound(np.array([0.0, 3.0]), np.array([59.0, 100.0]), 0.95).round(4)
    array([0.0495, 0.0757])
    """
    bound: FloatArray = betaincinv(n_missed + 1, np.maximum(n - n_missed, 1e-9), level)
    return bound


def exact_interval(n_hits: float, n: float) -> tuple[float, float]:
    """Return the two-sided exact (Clopper-Pearson) interval of a share at `LEVEL`; counts may be effective ones."""
    hits, counts = np.array([n_hits, n - n_hits]), np.array([n, n])
    upper, of_others = upper_bound(hits, counts, (1 + LEVEL) / 2)
    return float(1 - of_others), float(upper)


def fewest_proposed(miss_rate: float, design_effect: float = 1.0, level: float = LEVEL) -> int:
    """Return how many judged cues without a miss are needed to claim a miss rate: log(1 - level) / log(1 - rate).

    >>> fewest_proposed(0.05), fewest_proposed(0.02)
    (59, 149)
    """
    return int(np.ceil(design_effect * np.log(1 - level) / np.log1p(-miss_rate)))


def design_effect(residual: FloatArray, photograph: IntArray) -> float:
    """Return by what verdicts on cues of one photograph are worth less than independent ones; at least 1.

    1 + (m - 1) * r: m is the mean number of cues beside a cue on its photograph, itself included, and r the
    intraclass correlation of what the chances leave unexplained, by analysis of variance [1]_. Counts divided by it
    are those of the exact interval of a clustered share [2]_.

    References
    ----------
    .. [1] Donner & Koval (1980), Biometrics 36:19.
    .. [2] Korn & Graubard (1998), Survey Methodology 24:193.
    """
    size = np.bincount(photograph).astype(float)
    size = size[size > 0]
    n, k = len(photograph), len(size)
    if k in (1, n):
        return 1.0
    names = np.unique(photograph, return_inverse=True)[1]
    mean = np.bincount(names, weights=residual) / size
    between = float((size * (mean - residual.mean()) ** 2).sum() / (k - 1))
    within = float(((residual - mean[names]) ** 2).sum() / (n - k))
    usual = (n - (size**2).sum() / n) / (k - 1)
    spread = between + (usual - 1) * within
    correlation = max(0.0, (between - within) / spread) if spread > 0 else 0.0
    return float(1 + ((size**2).sum() / n - 1) * correlation)


@dataclass(frozen=True)
class CurvePoint:
    """What a cut would do: the share of the judged cues that it proposes, its misses, and their one-sided bound."""

    proposed_share: float
    miss_rate: float
    upper: float


def miss_curve(chance: FloatArray, is_miss: FloatArray, effect: float) -> tuple[CurvePoint, ...]:
    """Return what cuts of all sizes would do, each bound by itself: for a look, not to choose by."""
    order = np.argsort(-chance, kind="stable")
    sizes, counts = _nested(chance[order], np.ones(len(chance), np.int64))
    missed = np.cumsum(is_miss[order])[sizes - 1]
    bounds = upper_bound(missed / effect, counts / effect, LEVEL)
    rows = zip(counts / len(chance), missed / counts, bounds, strict=True)
    return tuple(CurvePoint(float(share), float(rate), float(bound)) for share, rate, bound in rows)


def choose_cut(
    chance: FloatArray,
    is_miss: FloatArray,
    miss_rate: float,
    effect: float = 1.0,
    weight: IntArray | None = None,
) -> Cut | None:
    """Return the cut that proposes most with a miss rate of at most `miss_rate`, surely enough; None if none does.

    Cuts are tested in an order that the chances alone fix, from the one that they promise most for to those that
    propose more, each at the full level, until the first that fails: a fixed sequence, so that trying many cuts costs
    no certainty [1]_. The test is the exact upper bound of the miss rate at the level `LEVEL`.

    Parameters
    ----------
    chance : (n,) of judged cues, by models that did not see their verdicts; 1 - chance is what is expected of misses
    is_miss : (n,) 1.0 where the verdict is against the proposal, else 0.0
    effect : by what counts are divided (see `design_effect`)
    weight : (n,) how often each cue counts, for the bootstrap

    References
    ----------
    .. [1] Angelopoulos, Bates, Candès, Jordan & Lei (2025), Learn then test, Annals of Applied Statistics 19:1641.
    """
    weight = np.ones(len(chance), np.int64) if weight is None else weight
    order = np.argsort(-chance, kind="stable")
    sizes, counts = _nested(chance[order], weight[order])
    enough = counts >= fewest_proposed(miss_rate, effect)
    if not enough.any():
        return None
    sizes, counts = sizes[enough], counts[enough]
    expected = np.cumsum((1 - chance[order]) * weight[order])[sizes - 1]
    missed = np.cumsum(is_miss[order] * weight[order])[sizes - 1]
    start = int(np.argmin(upper_bound(expected / effect, counts / effect, LEVEL)))
    bounds = upper_bound(missed[start:] / effect, counts[start:] / effect, LEVEL)
    fails = bounds > miss_rate
    n_passed = int(np.argmax(fails)) if fails.any() else len(fails)
    if n_passed == 0:
        return None
    last = start + n_passed - 1
    return _cut(float(chance[order][sizes[last] - 1]), int(counts[last]), int(missed[last]), effect)


def _nested(chance: FloatArray, weight: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the numbers of rows of the cuts that are tried, and of the cues in them; equal chances stay together."""
    ends = np.flatnonzero(np.append(chance[1:] < chance[:-1], True)) + 1
    places = np.unique(np.linspace(0, len(ends) - 1, N_SIZES).astype(int))
    sizes = ends[places].astype(np.int64)
    counts: FloatArray = np.cumsum(weight)[sizes - 1].astype(float)
    return sizes, counts


def _cut(threshold: float, n: int, n_missed: int, effect: float) -> Cut:
    missed, counts = n_missed / effect, n / effect
    upper = upper_bound(np.array([missed]), np.array([counts]), LEVEL)[0]
    rate_lower, rate_upper = exact_interval(missed, counts)
    return Cut(threshold, n, n_missed, float(upper), rate_lower, rate_upper)


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
    effect = effect_of(chances)
    accept, reject = choose_cuts(chances, miss_rate, effect)
    proposed = propose(chances.waiting, accept, reject)
    both = np.concatenate([chances.judged_photograph, chances.waiting_photograph])
    shares = [saved_share(chances, miss_rate, effect, times) for times in draw_photographs(both, seed)]
    lower, upper = middle_of(shares)
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


def effect_of(chances: Chances) -> float:
    """Return the design effect of what the chances of judged cues leave unexplained."""
    return design_effect(chances.accepted - chances.judged, chances.judged_photograph)


def saved_share(chances: Chances, miss_rate: float, effect: float, times: IntArray | None = None) -> float:
    """Return the share of the waiting cues that would need no look, 0 where none waits.

    `times` (n + m,) says how often each judged and each waiting cue counts, by default once.
    """
    n_judged = len(chances.judged)
    times = np.ones(n_judged + len(chances.waiting), np.int64) if times is None else times
    accept, reject = choose_cuts(chances, miss_rate, effect, times[:n_judged])
    is_saved = within(chances.waiting, accept) ^ within(1 - chances.waiting, reject)
    n_waiting = times[n_judged:].sum()
    return float(times[n_judged:] @ is_saved / n_waiting) if n_waiting else 0.0


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
    yes, no = within(chance, accept), within(1 - chance, reject)
    proposed: list[str] = np.select([yes & ~no, no & ~yes], [ACCEPT, REJECT], LOOK).tolist()
    return proposed


def within(chance: FloatArray, cut: Cut | None) -> npt.NDArray[np.bool_]:
    """Return which chances (n,) a cut proposes."""
    return np.zeros(len(chance), np.bool_) if cut is None else chance >= cut.threshold


def draw_photographs(photograph: IntArray, seed: int) -> Iterator[IntArray]:
    """Yield how often each cue counts, (n,), in `N_REPLICATES` draws of photographs with replacement."""
    rng = np.random.default_rng(seed)
    names, place = np.unique(photograph, return_inverse=True)
    for _ in range(N_REPLICATES):
        yield rng.multinomial(len(names), np.full(len(names), 1 / len(names)))[place]


def middle_of(values: list[float]) -> tuple[float, float]:
    """Return the percentiles between which the middle `LEVEL` of values lies."""
    lower, upper = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(lower), float(upper)
