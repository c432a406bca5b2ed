"""What a review knows of its cues: the numbers that were stored with each, and what came of it so far."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from curation.review_votes import Reviewed, read_asked, read_reviewed
from curation.tables import Campaign, CampaignItem, Item
from data_manifests.records import CueKind


@dataclass(frozen=True)
class Case:
    """One cue of a review that still counts.

    `numbers` are what its manifest measured (quality, scores of the mask) and its size; `flags` what it doubted.
    `is_measured` says whether a manifest measured anything. `photograph` names what it was made from, or itself;
    `is_accepted` is None while nobody has judged it.
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
        return replace(self, numbers={**self.numbers, **more})


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
    numbers = {**meta.get("quality", {}), **mask, **size}
    return Case(
        item_id=item.id,
        sha256=item.sha256,
        cue_id=item.cue_id or "",
        cue_kind="shape" if item.cue_kind == "shape" else "texture",
        superclass=item.superclass,
        grid=item.grid,
        photograph=" ".join(parents),
        file_url=item.file_url,
        numbers={name: float(value) for name, value in numbers.items() if value is not None},
        flags=tuple(meta.get("flags", ())),
        is_accepted=accepted,
        is_measured=bool(meta.get("quality")),
    )
