"""What may be concluded from the scores of several models, and what may not.

Every result names its number of models and carries a note where it can't be computed or says less than it seems: one
model, equal values, models that are variants of each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from data_manifests.errors import CuebenchError

FloatArray = npt.NDArray[np.float64]

LEVEL = 0.95
NUMBERS_AT_ONCE = 4_000_000  # 32 MB: of 1,000 models, Kendall's tau takes half a million differences
N_RESAMPLES = 10_000  # permutations; a fifth of it for bootstrap intervals


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p values corrected for their number by Holm (1979); a missing one stays missing and does not count.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    known = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for place, (p, index) in enumerate(known):
        largest = max(largest, min(1.0, p * (len(known) - place)))
        corrected[index] = largest
    return corrected


@dataclass(frozen=True)
class OneSample:
    """A one-sample two-sided t-test of a mean against a value.

    `difference` is the mean less the value, with its sign; `effect_size` is Cohen's d = difference / sd (with n - 1).
    Fields are None where they can't be computed; `note` says why.
    """

    n: int
    mean: float
    difference: float
    sd: float | None
    effect_size: float | None
    t: float | None
    p: float | None
    lower: float | None
    upper: float | None
    note: str = ""


def one_sample(values: Sequence[float], against: float) -> OneSample:
    """Return the t-test of values against one value.

    Raises
    ------
    CuebenchError
        If there are no values, or one is not finite.
    """
    array = _finite(values)
    mean = float(array.mean())
    if len(array) == 1:
        return _no_test(1, mean, against, None, "one model: no test is possible")
    if _is_constant(array):  # whose standard deviation is often not 0 but 1e-17, and t then astronomical
        return _no_test(len(array), mean, against, 0.0, "all values are equal: no test is possible")
    return one_sample_of_summary(mean, float(array.std(ddof=1)), len(array), against)


def _is_constant(array: FloatArray) -> bool:
    """Return whether all values are equal, but for rounding."""
    return bool(np.ptp(array) <= 1e-12 * np.abs(array).max())


def _no_test(n: int, mean: float, against: float, sd: float | None, note: str) -> OneSample:
    return OneSample(n, mean, mean - against, sd, None, None, None, None, None, note)


def one_sample_of_summary(mean: float, sd: float, n: int, against: float) -> OneSample:
    """Return the t-test of a published mean and standard deviation (n - 1) of n models."""
    se = sd / np.sqrt(n)
    t = (mean - against) / se
    half = float(stats.t.ppf((1 + LEVEL) / 2, n - 1) * se)
    return OneSample(
        n=n,
        mean=mean,
        difference=mean - against,
        sd=sd,
        effect_size=(mean - against) / sd,
        t=float(t),
        p=float(2 * stats.t.sf(abs(t), n - 1)),
        lower=mean - half,
        upper=mean + half,
        note="fewer than five models: the test leans on their scores being normal" if n < 5 else "",
    )


@dataclass(frozen=True)
class FamilyEffect:
    """A family of models against the baseline; `p_holm` is corrected for the number of families."""

    family: str
    test: OneSample
    p_holm: float | None


def family_effects(families: Mapping[str, Sequence[float]], baseline: float) -> list[FamilyEffect]:
    """Return the test of each family's scores against the baseline's single score."""
    tests = {family: one_sample(values, baseline) for family, values in families.items()}
    corrected = holm([test.p for test in tests.values()])
    return [FamilyEffect(family, test, p) for (family, test), p in zip(tests.items(), corrected, strict=True)]


@dataclass(frozen=True)
class Coefficient:
    """A correlation with its interval, its p value by theory and by permutation; None where undefined."""

    name: str
    value: float | None
    lower: float | None
    upper: float | None
    p: float | None
    p_permutation: float | None


@dataclass(frozen=True)
class Correlation:
    """Pearson's r, Spearman's rho and Kendall's tau-b of two scores over n models, in `n_clusters` clusters."""

    n: int
    n_clusters: int
    pearson: Coefficient
    spearman: Coefficient
    kendall: Coefficient
    notes: tuple[str, ...]


def correlate(
    x: Sequence[float],
    y: Sequence[float],
    *,
    clusters: Sequence[str] | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> Correlation:
    """Return how two scores go together over models.

    Pearson's interval is Fisher's; those of the rank coefficients are bootstrap intervals over models, or over whole
    clusters where models are variants of each other (none for a perfect order, or fewer than three clusters). The
    permutation moves clusters as wholes where all have one size, and single models otherwise (a note says so).

    Raises
    ------
    CuebenchError
        If the lengths differ or a value is not finite.
    """
    a, b = _finite(x), _finite(y)
    if len(a) != len(b):
        raise CuebenchError(f"expected as many scores of one kind as of the other, got {len(a)} and {len(b)}")
    groups = np.arange(len(a)).astype(np.str_) if clusters is None else np.asarray(clusters, np.str_)
    n_clusters = len(np.unique(groups))
    notes = _correlation_notes(a, b, n_clusters)
    if len(a) < 3 or _is_constant(a) or _is_constant(b):
        r, rho, tau = (
            Coefficient(name, None, None, None, None, None) for name in ("pearson", "spearman", "kendall")
        )
        return Correlation(len(a), n_clusters, r, rho, tau, tuple(notes))
    rng = np.random.default_rng(seed)
    orders = _permutations(groups, n_resamples, rng, notes)
    samples = _bootstrap_indices(groups, n_resamples // 5, rng)
    pearson, spearman, kendall = (
        _coefficient(name, a, b, orders, samples) for name in ("pearson", "spearman", "kendall")
    )
    return Correlation(len(a), n_clusters, pearson, spearman, kendall, tuple(notes))


def _cosine(u: FloatArray, v: FloatArray) -> float:
    return float((u * v).sum() / np.sqrt((u * u).sum() * (v * v).sum()))


def _coefficient(
    name: str, a: FloatArray, b: FloatArray, orders: npt.NDArray[np.intp], samples: list[npt.NDArray[np.intp]]
) -> Coefficient:
    """Return one coefficient: each is a cosine, of values, of ranks, or of the signs of all differences (tau-b)."""
    if name == "spearman":
        a, b = stats.rankdata(a), stats.rankdata(b)
    measure = stats.kendalltau if name == "kendall" else stats.pearsonr
    u, v = _vector(name, a), _vector(name, b)
    value = _cosine(u, v)
    n_parts = -(-len(orders) * len(u) // NUMBERS_AT_ONCE)
    permuted = np.concatenate([_vector(name, b[part]) @ u for part in np.array_split(orders, n_parts)])
    as_extreme = int((np.abs(permuted) >= abs(u @ v) * (1 - 1e-12)).sum())
    lower: float | None = None
    upper: float | None = None
    if name == "pearson":
        lower, upper = fisher_interval(value, len(a))
    elif samples and abs(value) < 1 - 1e-12:  # no sample of a perfect order is anything else
        drawn = [_resampled(name, a[rows], b[rows]) for rows in _varied(a, b, samples)]
        lower, upper = (float(q) for q in np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
    return Coefficient(
        name, value, lower, upper, float(measure(a, b).pvalue), (as_extreme + 1) / (len(orders) + 1)
    )


def _vector(name: str, values: FloatArray) -> FloatArray:
    """Return what the cosine is taken of, along the last axis: centred values, or the signs of all differences."""
    if name != "kendall":
        centred: FloatArray = values - values.mean(-1, keepdims=True)
        return centred
    i, j = np.triu_indices(values.shape[-1], 1)
    signs: FloatArray = np.sign(values[..., i] - values[..., j])
    return signs


def _resampled(name: str, a: FloatArray, b: FloatArray) -> float:
    if name == "spearman":
        a, b = stats.rankdata(a), stats.rankdata(b)
    return _cosine(_vector(name, a), _vector(name, b))


def _varied(
    a: FloatArray, b: FloatArray, samples: list[npt.NDArray[np.intp]]
) -> Iterator[npt.NDArray[np.intp]]:
    """Yield the samples in which neither score is constant."""
    return (rows for rows in samples if not _is_constant(a[rows]) and not _is_constant(b[rows]))


def fisher_interval(r: float, n: int) -> tuple[float | None, float | None]:
    """Return Fisher's 95 % interval of a Pearson correlation over n pairs; None below four pairs or at 1.

    >>> lower, upper = fisher_interval(-.473, 20)
    >>> round(lower, 3), round(upper, 3)
    (-0.757, -0.039)
    """
    if n < 4 or abs(r) >= 1:
        return None, None
    half = stats.norm.ppf((1 + LEVEL) / 2) / np.sqrt(n - 3)
    return float(np.tanh(np.arctanh(r) - half)), float(np.tanh(np.arctanh(r) + half))


def pearson_p(r: float, n: int) -> float:
    """Return the two-sided p value of a Pearson correlation over n pairs.

    >>> f"{pearson_p(-.927, 32):.1e}"
    '2.6e-14'
    """
    t = r * np.sqrt((n - 2) / (1 - r**2))
    return float(2 * stats.t.sf(abs(t), n - 2))


def _correlation_notes(a: FloatArray, b: FloatArray, n_clusters: int) -> list[str]:
    notes = []
    if len(a) < 3:
        notes.append(f"{len(a)} models: no correlation can be computed")
    elif _is_constant(a) or _is_constant(b):
        notes.append("all values of one score are equal: no correlation is defined")
    elif len(a) < 10:
        notes.append(f"{len(a)} models: the interval is wide, and its form an approximation")
    if n_clusters < len(a):
        notes.append(
            f"{len(a)} models in {n_clusters} clusters of variants: p by theory takes them for independent, and is "
            "too small"
        )
    return notes


def _permutations(
    groups: npt.NDArray[np.str_], n: int, rng: np.random.Generator, notes: list[str]
) -> npt.NDArray[np.intp]:
    names, sizes = np.unique(groups, return_counts=True)
    if (sizes == sizes[0]).all():  # whole clusters change places
        members = np.argsort(groups, kind="stable").reshape(len(names), sizes[0])
        orders = np.empty((n, len(groups)), np.intp)
        orders[:, members.ravel()] = members[
            rng.permuted(np.tile(np.arange(len(names)), (n, 1)), axis=1)
        ].reshape(n, -1)
        return orders
    notes.append(
        "clusters of different sizes: the permutation moves single models, and its p value is too small"
    )
    return rng.permuted(np.tile(np.arange(len(groups)), (n, 1)), axis=1)


def _bootstrap_indices(
    groups: npt.NDArray[np.str_], n: int, rng: np.random.Generator
) -> list[npt.NDArray[np.intp]]:
    members = [np.flatnonzero(groups == name) for name in np.unique(groups)]
    if len(members) < 3:  # too few to draw from
        return []
    return [
        np.concatenate([members[index] for index in rng.integers(0, len(members), len(members))])
        for _ in range(n)
    ]


@dataclass(frozen=True)
class NoPreference:
    """The test of preferences against .5; `unit` says what was counted: models, classes or images."""

    unit: str
    test: OneSample


def against_no_preference(values: Sequence[float], unit: str) -> NoPreference:
    """Return the t-test of preferences against .5, over units that are named with the result."""
    return NoPreference(unit, one_sample(values, 0.5))


def _finite(values: Sequence[float]) -> FloatArray:
    array = np.asarray(values, np.float64)
    if array.size == 0:
        raise CuebenchError("there are no scores")
    if not np.isfinite(array).all():
        raise CuebenchError(f"score {int(np.flatnonzero(~np.isfinite(array))[0])}: expected a finite number")
    return array
