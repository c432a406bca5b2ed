"""How well a model can use a cue: the mean reciprocal rank of the right answer (Shape-Sens, Texture-Sens).

References
----------
.. [1] "On the Reliability of Cue Conflict and Beyond" (REFINED-BIAS), ECCV 2026, arXiv 2603.10834.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from data_manifests.errors import CuebenchError
from evaluation.ranks import FloatArray, Ranks, chance_reciprocal_rank

N_REPLICATES = 2_000
LEVEL = 0.95
DRAWS_AT_ONCE = 4_000_000  # 32 MB


@dataclass(frozen=True)
class Interval:
    """A bootstrap interval of level .95."""

    lower: float
    upper: float


@dataclass(frozen=True)
class ClassScore:
    """One superclass: `sensitivity` is its mean reciprocal rank."""

    superclass: str
    n: int
    sensitivity: float
    top1: float
    top5: float
    median_rank: float
    n_ties: int
    chance: float


@dataclass(frozen=True)
class Sensitivity:
    """The sensitivity to one cue.

    `sensitivity` is the mean over images (micro), `macro` the mean over superclasses; `chance` is what guessing gives
    with the same labels, and `corrected` = (sensitivity - chance) / (1 - chance), None where guessing is always right.
    `replicates` are bootstrap means.
    """

    cue_kind: str
    sensitivity: float
    macro: float
    ci: Interval
    top1: float
    top5: float
    median_rank: float
    n: int
    n_ties: int
    n_labels: int
    chance: float
    corrected: float | None
    per_class: tuple[ClassScore, ...]
    per_grid: Mapping[int, float]
    replicates: FloatArray


def score(
    cue_kind: str,
    ranks: Ranks,
    superclass: Sequence[str],
    members: Mapping[str, Sequence[int]],
    n_labels: int,
    *,
    clusters: Sequence[str] | None = None,
    grids: Sequence[int | None] | None = None,
    seed: int = 0,
) -> Sensitivity:
    """Return the sensitivity that ranks give.

    Parameters
    ----------
    superclass : the N right answers
    members : superclass -> its columns of the label space of `n_labels`
    clusters : the photograph of each image: images of one photograph are drawn together by the bootstrap, which
        draws within each class; by default every image is its own
    grids : the texture grid of each image

    Raises
    ------
    CuebenchError
        If there are no images.
    """
    names = np.asarray(superclass, np.str_)
    if len(names) == 0:
        raise CuebenchError(f"{cue_kind}: there are no images to score")
    classes = tuple(
        _class_score(str(name), ranks, names == name, members, n_labels) for name in np.unique(names)
    )
    value = float(ranks.reciprocal.mean())
    chance = float(sum(row.chance * row.n for row in classes) / len(names))
    # each cue draws by itself: with the same draws, a preference would be too narrow or too wide
    replicates = bootstrap_means(ranks.reciprocal, names, clusters, [seed, *cue_kind.encode()])
    lower, upper = np.quantile(replicates, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Sensitivity(
        cue_kind=cue_kind,
        sensitivity=value,
        macro=float(np.mean([row.sensitivity for row in classes])),
        ci=Interval(float(lower), float(upper)),
        top1=float((ranks.pessimistic == 1).mean()),
        top5=float((ranks.pessimistic <= 5).mean()),
        median_rank=float(np.median(ranks.pessimistic)),
        n=len(names),
        n_ties=int((ranks.ties > 0).sum()),
        n_labels=n_labels,
        chance=chance,
        corrected=(value - chance) / (1 - chance) if chance < 1 else None,
        per_class=classes,
        per_grid=_per_grid(ranks, grids),
        replicates=replicates,
    )


def _class_score(
    name: str,
    ranks: Ranks,
    own: np.ndarray[tuple[int], np.dtype[np.bool_]],
    members: Mapping[str, Sequence[int]],
    n_labels: int,
) -> ClassScore:
    rank = ranks.pessimistic[own]
    return ClassScore(
        superclass=name,
        n=int(own.sum()),
        sensitivity=float(ranks.reciprocal[own].mean()),
        top1=float((rank == 1).mean()),
        top5=float((rank <= 5).mean()),
        median_rank=float(np.median(rank)),
        n_ties=int((ranks.ties[own] > 0).sum()),
        chance=chance_reciprocal_rank(n_labels, len(members[name])),
    )


def _per_grid(ranks: Ranks, grids: Sequence[int | None] | None) -> dict[int, float]:
    if grids is None:
        return {}
    known = sorted({grid for grid in grids if grid is not None})
    table = np.array([-1 if grid is None else grid for grid in grids])
    return {grid: float(ranks.reciprocal[table == grid].mean()) for grid in known}


def bootstrap_means(
    values: FloatArray,
    classes: np.ndarray[tuple[int], np.dtype[np.str_]],
    clusters: Sequence[str] | None = None,
    seed: int | Sequence[int] = 0,
    n_replicates: int = N_REPLICATES,
) -> FloatArray:
    """Return `n_replicates` bootstrap means: within each class, whole clusters are drawn with replacement."""
    own = np.arange(len(values)).astype(np.str_) if clusters is None else np.asarray(clusters, np.str_)
    rng = np.random.default_rng(seed)
    total, n_drawn = np.zeros(n_replicates), np.zeros(n_replicates)
    for name in np.unique(classes):
        mask = classes == name
        _, cluster = np.unique(own[mask], return_inverse=True)
        sums = np.bincount(cluster, weights=values[mask])
        sizes = np.bincount(cluster).astype(np.float64)
        share = np.full(len(sums), 1 / len(sums))
        for part in np.array_split(np.arange(n_replicates), -(-n_replicates * len(sums) // DRAWS_AT_ONCE)):
            drawn = rng.multinomial(len(sums), share, size=len(part))
            total[part] += drawn @ sums
            n_drawn[part] += drawn @ sizes
    return total / n_drawn


@dataclass(frozen=True)
class Preference:
    """The share of one cue in the sum of the sensitivities; for shape and texture S / (S + T), in (0, 1)."""

    value: float
    ci: Interval


def preference(cue: Sensitivity, others: Sequence[Sensitivity]) -> Preference:
    """Return how far a model leans on one cue among several: its sensitivity over the sum of all.

    The interval comes from the bootstrap replicates of each, which are independent.
    """
    everything = [cue, *others]
    value = cue.sensitivity / sum(other.sensitivity for other in everything)
    replicates = cue.replicates / sum(other.replicates for other in everything)
    lower, upper = np.quantile(replicates, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Preference(value, Interval(float(lower), float(upper)))
