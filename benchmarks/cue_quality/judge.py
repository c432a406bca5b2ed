"""The classifier that is shown the cues, through the project's own adapters, cache and ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import softmax

from benchmarks.cue_quality.cues import Answer, Cue, groups
from data_manifests.labels import imagenet_labels
from data_manifests.records import OK, CueKind
from data_manifests.taxonomy import Taxonomy
from evaluation.cue_pictures import CuePicture
from evaluation.logits_file import LogitTable
from evaluation.models import load_model, parse_spec
from evaluation.ranks import rank_rows
from evaluation.run_model import RunSettings, logits_folder, run_model

UNREADABLE = "unreadable"


class Judge:
    """A model, and which of its labels belong to which class."""

    def __init__(self, spec: str, taxonomy: Taxonomy, folder: str | None = None) -> None:
        self.model = load_model(parse_spec(spec))
        self._settings = RunSettings(folder or logits_folder())
        self._taxonomy = taxonomy
        self._class_of = {
            wnid: superclass
            for superclass in taxonomy.superclasses
            for kind in taxonomy.kinds(superclass)
            for wnid in taxonomy.wnids(kind, superclass)
        }

    def answers(self, kind: CueKind, pictures: Sequence[CuePicture]) -> dict[str, Answer]:
        """Return what the model says of pictures of one kind, by file name; one that can't be read is left out."""
        table = run_model(self.model, pictures, self._settings)
        return dict(zip(table.file_names or (), self._told(kind, table), strict=True))

    def _told(self, kind: CueKind, table: LogitTable) -> list[Answer]:
        labels = self.model.labels
        members = labels.members(self._taxonomy, kind)
        ranks = rank_rows(table.logits, table.superclass, members).pessimistic
        logits = np.asarray(table.logits, np.float64)
        shares = softmax(logits, axis=1)
        best = [labels.labels[column] for column in logits.argmax(1)]
        return [
            Answer(int(rank), float(share[members[name]].sum()), self._name(label))
            for rank, share, name, label in zip(ranks, shares, table.superclass, best, strict=True)
        ]

    def _name(self, label: str) -> str:
        return self._class_of.get(label) or imagenet_labels().get(label, label).partition(",")[0]


def judge_cues(judge: Judge, cues: Sequence[Cue], show: Callable[[int, int], None]) -> list[Cue]:
    """Return the cues with the answers to them, in order; one that can't be read is a cue with that status."""
    told: dict[tuple[str, ...], Answer] = {}
    made, n_done = [cue for cue in cues if cue.status == OK], 0
    # Group by group, for logits are kept by the list of pictures: what did not change is not shown again.
    for (_, kind, _), own in groups(made):
        found = judge.answers(kind, [cue.picture() for cue in own])
        told |= {cue.key: found[cue.file_name] for cue in own if cue.file_name in found}
        n_done += len(own)
        show(n_done, len(made))
    judged = []
    for cue in cues:
        answer = told.get(cue.key)
        status = UNREADABLE if cue.status == OK and answer is None else cue.status
        judged.append(replace(cue, answer=answer, status=status))
    return judged
