"""The small model of a sieve: from what is known of a cue to the chance that reviewers accept it.

Every chance is said by models that saw no verdict on any cue of the same photograph: photographs are dealt to folds,
and a cue that waits gets the mean of what the folds' models say, so that its chance compares with those of the judged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from curation.ratings import FloatArray, IntArray
from curation.sieve_cases import Case

if TYPE_CHECKING:
    from sklearn.base import ClassifierMixin

# On cues of broken masks (benchmarks/sieve.py) chances by 30 verdicts were no better than the share of accepted cues
# (Brier score .238 against .232), by 60 they were (.221 against .230), by 120 clearly (.198 against .226).
MIN_JUDGED = 60
MIN_OF_EACH = 8
N_FOLDS = 5
# The inverse strength of the penalty of the logistic regression, and where standardised numbers are cut off.
PENALTY_C = 0.3
MOST_DEVIATIONS = 3.0
# A number that lies this far out is as odd as any farther: one outlier must not outweigh all else.
MOST_ODD = 4.0
# The median absolute deviation of a normal distribution is its standard deviation / 1.4826.
_MAD_TO_STD = 1.4826


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


def feature_table(cases: Sequence[Case]) -> tuple[tuple[str, ...], FloatArray]:
    """Return names and values (n, k) of what a model may see of cues; NaN where a number was not measured.

    The numbers of shapes and textures are columns of their own, for the same number may be good in one and bad in
    the other. Columns that are the same for all cues are left out.
    """
    table = pd.DataFrame([_features(case) for case in cases])
    table = table[sorted(table.columns)]
    is_yes_or_no = table.columns.str.startswith(("flag:", "class:", "kind:"))
    table.loc[:, is_yes_or_no] = table.loc[:, is_yes_or_no].fillna(0.0)
    table = table.loc[:, table.nunique(dropna=False) > 1]
    return tuple(table.columns), table.to_numpy(np.float64)


def _features(case: Case) -> dict[str, float]:
    kind = case.cue_kind
    features = {f"{kind}:{name}": value for name, value in case.numbers.items()}
    features |= {f"flag:{name}": 1.0 for name in case.flags}
    features |= {f"class:{case.superclass}": 1.0, f"kind:{kind}": 1.0}
    if case.grid is not None:
        features[f"{kind}:grid_octaves"] = float(np.log2(case.grid))
    return features


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
    """Return the mean distance of each row's numbers from the medians, (n,); 0 of a row without numbers."""
    table = pd.DataFrame(rows, dtype=float)
    table = table[sorted(table.columns)]
    away = (table - table.median()).abs()
    spread = _MAD_TO_STD * away.median()
    # Where more than half are alike, the mean distance tells which are not.
    spread = spread.where(spread > 0, away.mean())
    odd = (away / spread.where(spread > 0, 1.0)).clip(upper=MOST_ODD)
    return odd.mean(axis=1).fillna(0.0).to_numpy(np.float64)


def is_enough(cases: Sequence[Case]) -> bool:
    """Return whether the verdicts are enough for a model: 60 cues, and 8 photographs with each answer."""
    judged = [case for case in cases if case.is_accepted is not None]
    of_each = [{case.photograph for case in judged if case.is_accepted is said} for said in (True, False)]
    return len(judged) >= MIN_JUDGED and min(map(len, of_each)) >= MIN_OF_EACH


def photograph_numbers(cases: Sequence[Case]) -> IntArray:
    """Return the number of each cue's photograph, from 0, (n,)."""
    return np.unique([case.photograph for case in cases], return_inverse=True)[1].astype(np.int64)


def estimate_chances(cases: Sequence[Case], table: FloatArray | None = None, seed: int = 0) -> Chances:
    """Return the chances of acceptance of all cues, in their order, the judged and the waiting apart.

    Parameters
    ----------
    cases : with verdicts that are enough (see `is_enough`)
    table : (n, k) what the model sees of the cues, NaN where a number is missing; default: all that there is
    """
    table = feature_table(cases)[1] if table is None else table
    photograph = photograph_numbers(cases)
    is_judged = np.array([case.is_accepted is not None for case in cases])
    accepted = np.array([float(bool(case.is_accepted)) for case in cases])[is_judged]
    judged, waiting = table[is_judged], table[~is_judged]
    chance, of_waiting = np.empty(len(judged)), np.zeros(len(waiting))
    folds = deal_folds(accepted, photograph[is_judged], seed)
    n_folds = int(folds.max()) + 1
    for number in range(n_folds):
        is_test = folds == number
        model = fit_model(judged[~is_test], accepted[~is_test], photograph[is_judged][~is_test], seed)
        chance[is_test] = _chance(model, judged[is_test])
        of_waiting += _chance(model, waiting) / n_folds
    return Chances(chance, accepted, photograph[is_judged], of_waiting, photograph[~is_judged])


def deal_folds(accepted: FloatArray, photograph: IntArray, seed: int) -> IntArray:
    """Return the fold of each cue, (n,): photographs stay whole, and the answers are spread over the folds.

    There are `N_FOLDS`, or as many as there are cues with the rarer answer.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    n_folds = int(min(N_FOLDS, accepted.sum(), (1 - accepted).sum()))
    splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    folds = np.empty(len(accepted), np.int64)
    for number, (_, test) in enumerate(splitter.split(accepted[:, None], accepted, photograph)):
        folds[test] = number
    return folds


def fit_model(table: FloatArray, accepted: FloatArray, photograph: IntArray, seed: int) -> ClassifierMixin:
    """Return a calibrated logistic regression on standardised numbers; a missing number counts as the mean one."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    cut_off = {"a_min": -MOST_DEVIATIONS, "a_max": MOST_DEVIATIONS}
    pipeline = make_pipeline(
        SimpleImputer(strategy="mean", keep_empty_features=True),
        StandardScaler(),
        FunctionTransformer(np.clip, kw_args=cut_off),
        LogisticRegression(C=PENALTY_C, max_iter=5_000),
    )
    folds = deal_folds(accepted, photograph, seed)
    splits = [(np.flatnonzero(folds != n), np.flatnonzero(folds == n)) for n in np.unique(folds)]
    return CalibratedClassifierCV(pipeline, method="sigmoid", cv=splits, ensemble=False).fit(table, accepted)


def _chance(model: ClassifierMixin, table: FloatArray) -> FloatArray:
    if not len(table):
        return np.empty(0)
    chance: FloatArray = model.predict_proba(table)[:, 1]
    return chance
