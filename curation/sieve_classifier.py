"""What a classifier makes of the cues of a review: numbers beside those of the pixels."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from curation.sieve_cases import Case
from data_manifests.taxonomy import read_taxonomy
from evaluation.cue_pictures import CuePicture
from evaluation.evaluate import members_of
from evaluation.label_space import label_space
from evaluation.models import Model, Runtime, load_model, parse_spec
from evaluation.ranks import rank_rows
from evaluation.run_model import RunSettings, Show, logits_folder, run_model


@dataclass(frozen=True)
class Classifier:
    """A model by its specification, the taxonomy that says which of its labels a class has, and where weights lie."""

    spec: str
    taxonomy: str = "refined-bias-20"
    weights_folder: str = "."


def classify(cases: Sequence[Case], classifier: Classifier, show: Show | None = None) -> list[Case]:
    """Return the cues with two more numbers: the log rank of the class, and the log odds of its probability.

    Logits are kept as those of `cuebench evaluate` are. A picture that can't be read has no such numbers.

    Raises
    ------
    CuebenchError
        If the model can't be had or run, or a class has no label.
    """
    # Some libraries print that they loaded weights, where results belong.
    with redirect_stdout(sys.stderr):
        model = load_model(parse_spec(classifier.spec), Runtime(weights_folder=classifier.weights_folder))
        found: dict[tuple[str, str], dict[str, float]] = {}
        n_before = 0
        for kind in sorted({case.cue_kind for case in cases}):
            own = [case for case in cases if case.cue_kind == kind]
            numbers = _numbers(model, own, classifier.taxonomy, _from(n_before, len(cases), show))
            found |= {(kind, sha256): row for sha256, row in numbers.items()}
            n_before += len(own)
    return [case.with_numbers(found.get((case.cue_kind, case.sha256), {})) for case in cases]


def _from(n_before: int, n_all: int, show: Show | None) -> Show | None:
    """Return what shows the progress within one kind as that within all cues."""
    return None if show is None else lambda n_done, _: show(n_before + n_done, n_all)


def _numbers(
    model: Model, cases: Sequence[Case], taxonomy: str, show: Show | None
) -> dict[str, dict[str, float]]:
    """Return the SHA-256 of each cue of one kind -> its numbers."""
    pictures = [
        CuePicture(case.cue_kind, case.superclass, case.sha256, case.file_url, sha256=case.sha256)
        for case in cases
    ]
    table = run_model(model, pictures, RunSettings(logits_folder()), show)
    space = label_space(table.logits.shape[1], table.wnids)
    members = members_of(space, read_taxonomy(taxonomy), cases[0].cue_kind)
    logits = np.asarray(table.logits, np.float64)
    ranks = rank_rows(logits, table.superclass, members)
    rows = {}
    for place, name in enumerate(table.file_names or ()):
        own = members[table.superclass[place]]
        inside = logsumexp(logits[place, own])
        outside = logsumexp(np.delete(logits[place], own))
        rows[name] = {
            "classifier_log_rank": float(-np.log(ranks.reciprocal[place])),
            "classifier_log_odds": float(inside - outside),
        }
    return rows
