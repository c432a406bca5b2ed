"""What is known of the cues of a review: numbers stored with each, or measured, and what came of it so far."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp
from sqlalchemy import select
from sqlalchemy.orm import Session

from curation.audit_files import AuditFile
from curation.audit_pictures import measure_picture
from curation.review_votes import Reviewed, read_asked, read_reviewed
from curation.tables import Campaign, CampaignItem, Item
from data_manifests.errors import CuebenchError
from data_manifests.records import OK, CueKind
from data_manifests.taxonomy import read_taxonomy
from evaluation.cue_pictures import CuePicture
from evaluation.evaluate import members_of
from evaluation.label_space import label_space
from evaluation.models import Model, Runtime, load_model, parse_spec
from evaluation.ranks import rank_rows
from evaluation.run_model import RunSettings, Show, logits_folder, run_model


@dataclass(frozen=True)
class Case:
    """One cue of a review that still counts.

    `numbers` are what its manifest measured (quality, scores of the mask) and its size, all finite; `flags` what it
    doubted. `is_measured` says whether a manifest measured anything. `photograph` names what it was made from, or
    itself; `is_accepted` is None while nobody has judged it.
    """

    item_id: int
    sha256: str
    cue_id: str
    cue_kind: CueKind
    superclass: str
    grid: int | None
    photograph: str
    file_url: str
    numbers: Mapping[str, float]
    flags: tuple[str, ...] = ()
    is_accepted: bool | None = None
    is_measured: bool = True

    def with_numbers(self, more: Mapping[str, float]) -> Case:
        """Return the case with further numbers."""
        return replace(self, numbers=_finite({**self.numbers, **more}))


def _finite(numbers: Mapping[str, float | None]) -> dict[str, float]:
    """Return the numbers that are numbers: one that could not be measured is one that is not there."""
    return {
        name: float(value) for name, value in numbers.items() if value is not None and math.isfinite(value)
    }


def read_cases(session: Session, campaign: Campaign) -> list[Case]:
    """Return the live cues of a review, known-bad ones left out, in the order of their hashes."""
    reviewed = read_reviewed(session, campaign, read_asked(session, campaign))
    said = {picture.item_id: is_accepted(picture) for picture in reviewed if not picture.is_retired}
    items = session.scalars(
        select(Item)
        .join(CampaignItem, CampaignItem.item_id == Item.id)
        .where(CampaignItem.campaign_id == campaign.id, CampaignItem.role == "main")
    )
    cases = [_case(item, said[item.id]) for item in items if item.id in said]
    return sorted(cases, key=lambda case: (case.sha256, case.cue_kind))


def is_accepted(picture: Reviewed) -> bool | None:
    """Return whether a picture would go out by what was said so far, None where nobody said anything.

    A decision counts instead of the verdicts; without one a single verdict that is no `accept` keeps it back.
    """
    if picture.adjudication is not None:
        return picture.adjudication.answer == "accept"
    return all(vote.answer == "accept" for vote in picture.votes) if picture.votes else None


def _case(item: Item, accepted: bool | None) -> Case:
    meta = json.loads(item.meta_json)
    parents = meta.get("parent_source_ids") or [item.sha256]
    mask = {f"mask_{name}": value for name, value in meta.get("mask", {}).items()}
    size = {"width_px": item.width, "height_px": item.height}
    return Case(
        item_id=item.id,
        sha256=item.sha256,
        cue_id=item.cue_id or "",
        cue_kind="shape" if item.cue_kind == "shape" else "texture",
        superclass=item.superclass,
        grid=item.grid,
        photograph=" ".join(parents),
        file_url=item.file_url,
        numbers=_finite({**meta.get("quality", {}), **mask, **size}),
        flags=tuple(meta.get("flags", ())),
        is_accepted=accepted,
        is_measured=bool(meta.get("quality")),
    )


def measure_missing(cases: Sequence[Case], show: Show | None = None) -> list[Case]:
    """Return the cues, those that came without a manifest with what the audit measures of their pixels.

    A picture that can't be read any more has its size only; the audit says what is wrong with it.
    """
    n_missing = sum(not case.is_measured for case in cases)
    n_done = 0
    found = []
    for case in cases:
        found.append(case if case.is_measured else _measured(case))
        n_done += not case.is_measured
        if show is not None and not case.is_measured:
            show(n_done, n_missing)
    return found


def _measured(case: Case) -> Case:
    file = AuditFile(case.sha256, case.file_url, case.cue_kind, case.superclass, case.grid)
    picture = measure_picture(file)
    if picture.status != OK:
        return case
    return case.with_numbers({**picture.quality, "is_grey": float(picture.mode == "L")})


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
            numbers = _class_numbers(model, own, classifier.taxonomy, _from(n_before, len(cases), show))
            found |= {(kind, sha256): row for sha256, row in numbers.items()}
            n_before += len(own)
    return [case.with_numbers(found.get((case.cue_kind, case.sha256), {})) for case in cases]


def _from(n_before: int, n_all: int, show: Show | None) -> Show | None:
    """Return what shows the progress within one kind as that within all cues."""
    return None if show is None else lambda n_done, _: show(n_before + n_done, n_all)


def _class_numbers(
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
    try:
        ranks = rank_rows(logits, table.superclass, members)
    except CuebenchError as error:
        raise CuebenchError(f"{model.name}: {error}") from error
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
