"""Topping a study up: new slots for the images that lack ratings, because participants left or were screened out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from curation.campaigns import find_campaign
from curation.database import Store
from curation.protocol import StudyProtocol
from curation.screening import counted, screen
from curation.study_blocks import Block, Pool, plan_blocks
from curation.study_design import Picture, deal
from curation.study_planning import add_slots, item_ids
from curation.study_record import n_check_failures, protocol_of, read_responses
from curation.tables import Campaign, CampaignItem, Item, Rater, Slot
from data_manifests.errors import CuebenchError
from data_manifests.records import CueKind


@dataclass(frozen=True)
class TopUpSummary:
    """What a top-up added.

    `n_below` images (per cue kind) have fewer ratings that count, by those who are through, than the wanted number;
    of them `n_lacking` would, even once the places that were open or taken before are answered.
    """

    n_slots: int
    n_wanted: int
    n_below: dict[str, int]
    n_lacking: dict[str, int]

    def to_text(self) -> str:
        """Return lines for people."""
        now, then = (
            ", ".join(f"{n} {kind}" for kind, n in counts.items())
            for counts in (self.n_below, self.n_lacking)
        )
        return (
            f"{self.n_slots} {'place' if self.n_slots == 1 else 'places'} added\n"
            f"images below {self.n_wanted} ratings, after screening: {now}\n"
            f"expected after the places that were open or taken: {then}"
        )


def top_up(store: Store, slug: str, n_ratings: int | None = None) -> TopUpSummary:
    """Add slots until every image can reach a number of ratings that count, the least-filled images first.

    An answer counts if the screening counts it and its rater is through; open and taken slots count as if they
    were answered. Run it once nobody is under way any more, for fewest new slots.

    Parameters
    ----------
    n_ratings : the wanted number; default: `min_ratings_per_image` of the protocol

    Raises
    ------
    CuebenchError
        If there is no such study, or it takes no more answers.
    """
    responses = read_responses(store, slug)
    with store.write() as session:
        campaign = find_campaign(session, slug, "study")
        if campaign.state not in {"draft", "open"}:
            raise CuebenchError(f"campaign {slug}: {campaign.state}; it takes no more answers")
        protocol = protocol_of(campaign)
        wanted = n_ratings or protocol.min_ratings_per_image
        failures = n_check_failures(session, campaign)
        flagged = {flag.rater for flag in screen(responses, failures, protocol.exclusions)}
        under_way, planned = _slots_under_way(session, campaign)
        kept = counted(responses, flagged | under_way, protocol.exclusions)
        given: Counter[tuple[str, str]] = Counter((row.cue_kind, row.sha256) for row in kept)
        planned.update(given)
        main = _pictures(session, campaign, protocol, "main")
        below, lacking = (_count_below(main, counts, wanted) for counts in (given, planned))
        rows = _new_rows(session, campaign, protocol, main, planned, wanted)
        if rows:
            add_slots(session, campaign, rows, item_ids(session, campaign))
    return TopUpSummary(len(rows), wanted, below, lacking)


def _count_below(
    main: Mapping[CueKind, Sequence[Picture]], counts: Mapping[tuple[str, str], int], wanted: int
) -> dict[str, int]:
    return {k: sum(counts.get((k, p.key), 0) < wanted for p in group) for k, group in main.items()}


def _slots_under_way(session: Session, campaign: Campaign) -> tuple[set[str], Counter[tuple[str, str]]]:
    """Return the raters who are under way, and how often open and taken slots show each picture."""
    query = (
        select(Slot.design_json, Rater.public_code)
        .outerjoin(Rater, Rater.id == Slot.rater_id)
        .where(Slot.campaign_id == campaign.id, Slot.state.in_(("open", "claimed")))
    )
    name_of = {item_id: key for key, item_id in item_ids(session, campaign).items()}
    raters: set[str] = set()
    n_shown: Counter[tuple[str, str]] = Counter()
    for design, code in session.execute(query):
        raters.update([code] if code else [])
        trials = (trial for block in json.loads(design) for trial in block["trials"])
        n_shown.update(name_of[item_id] for item_id, role, _ in trials if role == "main")
    return raters, n_shown


def _pictures(
    session: Session, campaign: Campaign, protocol: StudyProtocol, role: str
) -> dict[CueKind, list[Picture]]:
    query = (
        select(Item)
        .join(CampaignItem, CampaignItem.item_id == Item.id)
        .where(
            CampaignItem.campaign_id == campaign.id,
            CampaignItem.role == role,
            CampaignItem.retired_at.is_(None),
        )
        .order_by(Item.sha256)
    )
    found: dict[CueKind, list[Picture]] = {kind: [] for kind in protocol.cue_kinds}
    for kind, item in ((kind, i) for i in session.scalars(query) for kind in found if kind == i.cue_kind):
        sources = tuple(json.loads(item.meta_json).get("parent_source_ids", ()))
        found[kind].append(Picture(item.sha256, item.superclass, sources=sources))
    return found


def _new_rows(
    session: Session,
    campaign: Campaign,
    protocol: StudyProtocol,
    main: Mapping[CueKind, Sequence[Picture]],
    planned: Counter[tuple[str, str]],
    wanted: int,
) -> list[tuple[int, list[Block]]]:
    practice = _pictures(session, campaign, protocol, "practice")
    catch = _pictures(session, campaign, protocol, "catch")
    pools = {kind: Pool(tuple(practice[kind]), tuple(catch[kind])) for kind in main}
    last = session.scalar(select(func.max(Slot.design_row)).where(Slot.campaign_id == campaign.id))
    number = 0 if last is None else last + 1
    rows: list[tuple[int, list[Block]]] = []
    while any(planned[kind, p.key] < wanted for kind, group in main.items() for p in group):
        seen: dict[CueKind, list[Picture]] = {}
        for kind, group in main.items():
            already = {picture.key: planned[kind, picture.key] for picture in group}
            n_trials = min(protocol.n_trials_per_cue or len(group), len(group))
            keys = set(deal(group, 1, n_trials, campaign.seed + number, already).seen[0])
            seen[kind] = [picture for picture in group if picture.key in keys]
            planned.update((kind, key) for key in keys)
        rows.append((number, plan_blocks(protocol, campaign.seed, number, seen, pools)))
        number += 1
    return rows
