"""A model's sensitivity to each cue and the cue it leans on: the numbers of `cuebench evaluate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from data_manifests.errors import CuebenchError
from data_manifests.labels import imagenet_labels
from data_manifests.records import CueKind
from data_manifests.taxonomy import Taxonomy
from evaluation.label_space import LabelSpace, label_space
from evaluation.logits_file import LogitTable
from evaluation.ranks import TieRule, rank_rows
from evaluation.sensitivity import Preference, Sensitivity, preference, score


@dataclass(frozen=True)
class Evaluation:
    """The sensitivities of one model, and its preference for each cue among all of them.

    `restricted` holds the same in the label space of the taxonomy's own labels: easier, and for comparison only.
    `imagenet_1k` holds the same over those of the 1,000 labels of ImageNet-1k that the network has: what compares
    between a head of more labels and one of 1,000, for which it is the same as `cues`.
    """

    taxonomy: str
    label_space: str
    tie_rule: TieRule
    cues: Mapping[str, Sensitivity]
    preferences: Mapping[str, Preference]
    restricted: Mapping[str, Sensitivity]
    imagenet_1k: Mapping[str, Sensitivity]

    @property
    def has_more_than_1k(self) -> bool:
        """Whether scores over ImageNet-1k alone are others than those over all labels."""
        return any(self.imagenet_1k[kind] is not self.cues[kind] for kind in self.imagenet_1k)

    def to_json(self) -> dict[str, Any]:
        """Return the object that `cuebench evaluate --format json` prints."""
        flat: dict[str, Any] = {f"{kind}_sensitivity": cue.sensitivity for kind, cue in self.cues.items()}
        flat |= {f"{kind}_preference": found.value for kind, found in self.preferences.items()}
        return {
            "taxonomy": self.taxonomy,
            "label_space": self.label_space,
            "tie_rule": self.tie_rule,
            **flat,
            "intervals": {
                **{f"{kind}_sensitivity": vars(cue.ci) for kind, cue in self.cues.items()},
                **{f"{kind}_preference": vars(found.ci) for kind, found in self.preferences.items()},
            },
            "n_labels": max(cue.n_labels for cue in self.cues.values()),
            "top1": {kind: cue.top1 for kind, cue in self.cues.items()},
            "n_ties": {kind: cue.n_ties for kind, cue in self.cues.items()},
            "chance": {kind: cue.chance for kind, cue in self.cues.items()},
            "cues": {kind: _cue_json(cue) for kind, cue in self.cues.items()},
            "restricted": {kind: _cue_json(cue) for kind, cue in self.restricted.items()},
            "imagenet_1k": {kind: _cue_json(cue) for kind, cue in self.imagenet_1k.items()},
        }


def _cue_json(cue: Sensitivity) -> dict[str, Any]:
    plain = {
        name: value for name, value in vars(cue).items() if name not in {"replicates", "ci", "per_class"}
    }
    return {
        **plain,
        "ci": vars(cue.ci),
        "per_class": {
            row.superclass: {k: v for k, v in vars(row).items() if k != "superclass"} for row in cue.per_class
        },
        "per_grid": {str(grid): value for grid, value in cue.per_grid.items()},
    }


def evaluate(
    tables: Mapping[str, LogitTable], taxonomy: Taxonomy, *, ties: TieRule = "pessimistic", seed: int = 0
) -> Evaluation:
    """Return the sensitivity to each cue, over the full label space and over the taxonomy's own labels.

    Parameters
    ----------
    tables : cue kind -> logits. Kinds other than shape and texture take their superclasses from both

    Raises
    ------
    CuebenchError
        If a label space is unknown or differs between the cues, a superclass has no label, or a logit is not finite.
    """
    spaces = {kind: label_space(table.logits.shape[1], table.wnids) for kind, table in tables.items()}
    if len({space.labels for space in spaces.values()}) > 1:
        sizes = ", ".join(f"{kind} {len(space)}" for kind, space in spaces.items())
        raise CuebenchError(f"the cues have different label spaces ({sizes}): scores compare within one only")
    cues, restricted, in_1k = {}, {}, {}
    for kind, table in tables.items():
        members = members_of(spaces[kind], taxonomy, kind)
        cues[kind] = _score(kind, table, members, None, ties, seed)
        restricted[kind] = _score(kind, table, members, own_labels(spaces[kind], taxonomy), ties, seed)
        columns = spaces[kind].restricted(list(imagenet_labels()))
        if len(columns) == len(spaces[kind]):
            in_1k[kind] = cues[kind]
        elif all(set(columns).intersection(own) for own in members.values()):
            in_1k[kind] = _score(kind, table, members, columns, ties, seed)
    everything = list(cues.values())
    preferences = {
        kind: preference(cue, [other for other in everything if other is not cue])
        for kind, cue in cues.items()
        if len(cues) > 1
    }
    name = next(iter(spaces.values())).name
    return Evaluation(taxonomy.name, name, ties, cues, preferences, restricted, in_1k)


def members_of(space: LabelSpace, taxonomy: Taxonomy, kind: str) -> dict[str, list[int]]:
    """Return superclass -> columns for a cue kind; for kinds that the taxonomy does not know, those of all kinds."""
    kinds = [known for known in get_args(CueKind) if known == kind] or list(get_args(CueKind))
    found: dict[str, list[int]] = {}
    for known in kinds:
        for name, own in space.members(taxonomy, known).items():
            found[name] = sorted({*found.get(name, ()), *own})
    return found


def own_labels(space: LabelSpace, taxonomy: Taxonomy) -> list[int]:
    """Return the columns of all labels that the taxonomy names."""
    wnids = [wnid for kind in get_args(CueKind) for ids in taxonomy.of_kind(kind).values() for wnid in ids]
    return space.restricted(wnids)


def _score(
    kind: str,
    table: LogitTable,
    members: Mapping[str, Sequence[int]],
    columns: Sequence[int] | None,
    ties: TieRule,
    seed: int,
) -> Sensitivity:
    logits = table.logits
    if columns is not None:
        place = {column: index for index, column in enumerate(columns)}
        members = {
            name: [place[column] for column in own if column in place] for name, own in members.items()
        }
        logits = np.ascontiguousarray(logits[:, list(columns)])
    try:
        ranks = rank_rows(logits, table.superclass, members, ties)
    except CuebenchError as error:
        raise CuebenchError(f"{table.where}: {error}") from error
    return score(
        kind,
        ranks,
        table.superclass,
        members,
        logits.shape[1],
        clusters=table.sources,
        grids=table.grids,
        seed=seed,
    )
