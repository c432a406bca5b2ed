"""The numbers of cues as a table for a model, and how doubtful a cue is by its numbers alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from curation.ratings import FloatArray
from curation.sieve_cases import Case

# A number that lies this far out is as odd as any farther: one outlier must not outweigh all else.
MOST_ODD = 4.0
# The median absolute deviation of a normal distribution is its standard deviation / 1.4826.
_MAD_TO_STD = 1.4826


def feature_table(cases: Sequence[Case]) -> tuple[tuple[str, ...], FloatArray]:
    """Return names and values (n, k) of what a model may see of cues; NaN where a number was not measured.

    The numbers of shapes and textures are columns of their own, for the same number may be good in one and bad in
    the other. Columns that are the same for all cues are left out.
    """
    rows = [_features(case) for case in cases]
    names = sorted({name for row in rows for name in row})
    table = np.array([[row.get(name, _absent(name)) for name in names] for row in rows]).reshape(
        len(rows), len(names)
    )
    varies = [bool(np.unique(column).size > 1) for column in table.T]
    return tuple(name for name, kept in zip(names, varies, strict=True) if kept), table[:, varies]


def _features(case: Case) -> dict[str, float]:
    kind = case.cue_kind
    features = {f"{kind}:{name}": value for name, value in case.numbers.items()}
    features |= {f"flag:{name}": 1.0 for name in case.flags}
    features |= {f"class:{case.superclass}": 1.0, f"kind:{kind}": 1.0}
    if case.grid is not None:
        features[f"{kind}:grid_octaves"] = float(np.log2(case.grid))
    return features


def _absent(name: str) -> float:
    return 0.0 if name.startswith(("flag:", "class:", "kind:")) else np.nan


def doubt(cases: Sequence[Case]) -> FloatArray:
    """Return how doubtful each cue is by its flags and numbers, (n,): what orders a queue before there are verdicts.

    The number of flags, plus the mean distance of its numbers from the median of the cues of its kind and grid, in
    robust standard deviations, at most `MOST_ODD`.
    """
    doubts = np.array([float(len(case.flags)) for case in cases])
    groups: defaultdict[tuple[str, int | None], list[int]] = defaultdict(list)
    for place, case in enumerate(cases):
        groups[case.cue_kind, case.grid].append(place)
    for places in groups.values():
        doubts[places] += _oddness([cases[place].numbers for place in places])
    return doubts


def _oddness(rows: Sequence[Mapping[str, float]]) -> FloatArray:
    names = sorted(set.intersection(*(set(row) for row in rows)))
    if not names:
        return np.zeros(len(rows))
    table = np.array([[row[name] for name in names] for row in rows])
    away = np.abs(table - np.median(table, axis=0))
    spread = _MAD_TO_STD * np.median(away, axis=0)
    # Where more than half are alike, the mean distance tells which are not.
    spread = np.where(spread > 0, spread, away.mean(axis=0))
    odd: FloatArray = np.divide(away, spread, out=np.zeros_like(away), where=spread > 0)
    mean: FloatArray = np.minimum(odd, MOST_ODD).mean(axis=1)
    return mean
