"""Reading the record as of a moment: snapshots, and the long tables that exports, reports and the gate read.

A snapshot names the last event that it holds, so it can be read again at any time, whatever was answered since, and
the hash of its table shows that it is the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from curation.answers import FROZEN, LATE
from curation.campaigns import find_campaign
from curation.database import Store, check_integrity, utc_now
from curation.rating_records import AdjudicationRecord, RatingRecord, ResponseRecord, VerdictRecord
from curation.tables import (
    Adjudication,
    Assignment,
    Campaign,
    CampaignItem,
    Event,
    EventReason,
    Item,
    QcFlag,
    Rater,
    Snapshot,
)
from data_manifests.errors import CuebenchError, ProblemsError
from data_manifests.jsonl import dump_records


@dataclass(frozen=True)
class SnapshotTable:
    """The rows of a snapshot; `sha256` is of their canonical JSONL."""

    snapshot_id: int
    campaign: str
    kind: str
    taken_at: str
    last_event_pk: int
    sha256: str
    rows: tuple[RatingRecord, ...]


def take_snapshot(store: Store, slug: str, *, freeze: bool = False) -> SnapshotTable:
    """Take a snapshot of a campaign (and let it take no more answers, with `freeze`) and return its table.

    Where the latest one has the same last event and the same table, that one is returned: nothing happened since.

    Raises
    ------
    ProblemsError
        If the database is damaged.
    CuebenchError
        If there is no such campaign, or it is one of mask picking.
    """
    if problems := check_integrity(store):
        raise ProblemsError(f"{store.url}: damaged; go back to a backup", problems)
    with store.write() as session:
        campaign = find_campaign(session, slug)
        # PostgreSQL: wait for whoever is storing answers to it, so that no event before the last one comes later
        session.refresh(campaign, with_for_update={"key_share": True})
        last = session.scalar(select(func.max(Event.id))) or 0
        rows = read_rows(session, campaign, last)
        digest = hashlib.sha256(dump_records(rows)).hexdigest()
        snapshot = _latest(session, campaign)
        if snapshot is None or (snapshot.last_event_pk, snapshot.table_sha256) != (last, digest):
            snapshot = Snapshot(
                campaign_id=campaign.id,
                taken_at=utc_now(),
                last_event_pk=last,
                table_sha256=digest,
                n_rows=len(rows),
            )
            session.add(snapshot)
        if freeze:
            campaign.state = "frozen"
        session.flush()
        return SnapshotTable(snapshot.id, slug, campaign.kind, snapshot.taken_at, last, digest, tuple(rows))


def _latest(session: Session, campaign: Campaign) -> Snapshot | None:
    query = select(Snapshot).where(Snapshot.campaign_id == campaign.id).order_by(Snapshot.id.desc()).limit(1)
    return session.scalar(query)


def read_snapshot(store: Store, snapshot_id: int) -> SnapshotTable:
    """Return an earlier snapshot's table, read again.

    Raises
    ------
    CuebenchError
        If there is no such snapshot, or the record gives other rows today (a participant withdrew, more was dealt).
    """
    with store.read() as session:
        snapshot = session.get(Snapshot, snapshot_id)
        if snapshot is None:
            raise CuebenchError(f"snapshot {snapshot_id}: no such snapshot")
        campaign = session.get_one(Campaign, snapshot.campaign_id)
        rows = read_rows(session, campaign, snapshot.last_event_pk)
        digest = hashlib.sha256(dump_records(rows)).hexdigest()
        if digest != snapshot.table_sha256:
            raise CuebenchError(
                f"snapshot {snapshot_id}: its table has changed since {snapshot.taken_at} (a withdrawal, a flag of "
                "the screening, a picture made again, or work dealt since); take a new one"
            )
        return SnapshotTable(
            snapshot.id,
            campaign.slug,
            campaign.kind,
            snapshot.taken_at,
            snapshot.last_event_pk,
            digest,
            tuple(rows),
        )


def read_rows(session: Session, campaign: Campaign, last_event_pk: int) -> list[RatingRecord]:
    """Return the rows of a campaign as of an event: one for each assignment, in canonical order.

    Raises
    ------
    CuebenchError
        If the campaign is one of mask picking, whose picks are written as masks.
    """
    if campaign.kind == "mask":
        raise CuebenchError(
            f"campaign {campaign.slug}: picks of masks are no ratings; write them with `review masks picks`"
        )
    events = _events(session, campaign, last_event_pk)
    reasons = _reasons(session, campaign)
    excluded = _excluded(session, campaign)
    query = (
        select(Assignment, Item, Rater.public_code, CampaignItem)
        .join(Item, Item.id == Assignment.item_id)
        .join(Rater, Rater.id == Assignment.rater_id)
        .outerjoin(
            CampaignItem,
            (CampaignItem.campaign_id == Assignment.campaign_id)
            & (CampaignItem.item_id == Assignment.item_id)
            & (CampaignItem.role == Assignment.role),
        )
        .where(Assignment.campaign_id == campaign.id)
    )
    rows = [
        _row(campaign, assignment, item, code, link, events.get(assignment.id, ()), reasons, excluded)
        for assignment, item, code, link in session.execute(query)
    ]
    return sorted(rows, key=lambda row: row.sort_key)


def read_adjudications(session: Session, campaign: Campaign) -> list[AdjudicationRecord]:
    """Return every decision on a split of a review, in canonical order."""
    query = (
        select(Adjudication, Item, Rater.public_code)
        .join(Item, Item.id == Adjudication.item_id)
        .join(Rater, Rater.id == Adjudication.decided_by)
        .where(Adjudication.campaign_id == campaign.id)
    )
    rows = [
        AdjudicationRecord.model_validate(
            {
                "campaign": campaign.slug,
                "sha256": item.sha256,
                "cue_kind": item.cue_kind,
                "round": decision.round,
                "adjudicator": code,
                "answer": decision.answer,
                "rationale": decision.rationale,
                "votes_sha256": decision.votes_sha256,
                "decided_at": decision.decided_at,
            }
        )
        for decision, item, code in session.execute(query)
    ]
    return sorted(rows, key=lambda row: row.sort_key)


def _events(session: Session, campaign: Campaign, last_event_pk: int) -> dict[int, list[Event]]:
    query = (
        select(Event)
        .join(Assignment, Assignment.id == Event.assignment_id)
        .where(Assignment.campaign_id == campaign.id, Event.id <= last_event_pk)
        .order_by(Event.assignment_id, Event.seq)
    )
    events: dict[int, list[Event]] = {}
    for event in session.scalars(query):
        events.setdefault(event.assignment_id, []).append(event)
    return events


def _reasons(session: Session, campaign: Campaign) -> dict[int, list[str]]:
    query = (
        select(EventReason.event_pk, EventReason.reason)
        .join(Event, Event.id == EventReason.event_pk)
        .join(Assignment, Assignment.id == Event.assignment_id)
        .where(Assignment.campaign_id == campaign.id)
    )
    reasons: dict[int, list[str]] = {}
    for pk, reason in session.execute(query):
        reasons.setdefault(pk, []).append(reason)
    return reasons


def _excluded(session: Session, campaign: Campaign) -> dict[int, list[str]]:
    query = select(QcFlag.rater_id, QcFlag.rule).where(QcFlag.campaign_id == campaign.id)
    excluded: dict[int, list[str]] = {}
    for rater_id, rule in session.execute(query):
        excluded.setdefault(rater_id, []).append(rule)
    return excluded


def standing(events: Sequence[Event]) -> Event | None:
    """Return the answer that stands after events in their order, by the rule of `curation.answers`."""
    current = None
    for event in events:
        if {LATE, FROZEN} & set(event.flags.split(",")):
            continue
        if event.kind == "undo":
            current = None
        elif event.kind == "answer" and event.answer is not None:
            current = event
    return current


def _row(
    campaign: Campaign,
    assignment: Assignment,
    item: Item,
    code: str,
    link: CampaignItem | None,
    events: Sequence[Event],
    reasons: dict[int, list[str]],
    excluded: dict[int, list[str]],
) -> RatingRecord:
    answer = standing(events)
    fields: dict[str, Any] = {
        "campaign": campaign.slug,
        "protocol_sha256": campaign.protocol_sha256,
        "rater": code,
        "sha256": item.sha256,
        "pixel_sha256": item.pixel_sha256,
        "cue_id": item.cue_id,
        "cue_kind": item.cue_kind,
        "superclass": item.superclass,
        "grid": item.grid,
        "role": assignment.role,
        "block": assignment.block,
        "position": assignment.position,
        "presentation": assignment.presentation,
        "n_events": len(events),
        "flags": tuple(sorted({flag for event in events for flag in event.flags.split(",") if flag})),
        "stale": link is not None and link.retired_at is not None,
    }
    if answer is not None:
        fields |= {
            "answer": answer.answer,
            "note": answer.note,
            "rt_ms": answer.rt_ms,
            "load_ms": answer.load_ms,
            "client_utc": answer.client_utc,
            "server_utc": answer.server_utc,
            "session": _tab_name(answer.session_id),
            "event_id": answer.event_id,
        }
    if campaign.kind == "review":
        return VerdictRecord(**fields, reasons=tuple(sorted(reasons.get(answer.id, ()))) if answer else ())
    return ResponseRecord(
        **fields,
        choices=tuple(json.loads(assignment.choices_json)),
        expected=(link.expected_answer if link else None) or item.superclass,
        reached=bool(events),
        excluded=tuple(sorted(excluded.get(assignment.rater_id, ()))),
    )


def _tab_name(session_id: str | None) -> str | None:
    """Return a name for a browser tab that does not let anyone answer in its place."""
    return None if session_id is None else hashlib.sha256(session_id.encode()).hexdigest()[:16]
