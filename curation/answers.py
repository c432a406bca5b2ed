"""Storing what people say: events, acknowledged once they are on the disk; the answer that stands is derived.

The rule behind every branch: nothing that a person said is dropped. An answer that can't stand (the campaign was
frozen, the participant had answered already, a newer tab was open) is stored as an event with a flag that says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from curation.answer_checks import (
    BOX,
    FROZEN,
    LATE,
    NO_MASK,
    RESERVED_FLAGS,
    VERDICTS,
    ClientEvent,
    Place,
    Refusal,
    check,
    parse_box,
)
from curation.database import Store, utc_now
from curation.tables import (
    Assignment,
    Campaign,
    ClientSession,
    CurrentAnswer,
    Event,
    EventReason,
    Item,
    Rater,
)

__all__ = [
    "BOX",
    "FROZEN",
    "LATE",
    "NO_MASK",
    "RESERVED_FLAGS",
    "VERDICTS",
    "Ack",
    "ClientEvent",
    "is_live",
    "open_session",
    "parse_box",
    "record_events",
]

MAX_NOTE_CHARACTERS = 2_000
_NAME = re.compile(r"[ -~]{1,36}")
_NOT_TEXT = re.compile("[\x00\ud800-\udfff]")  # a NUL, half of a pair: no database takes them


@dataclass(frozen=True)
class Ack:
    """What became of an event: `stored`, `duplicate` (it was stored before) or `refused` (`detail` says why)."""

    event_id: str
    status: str
    detail: str = ""


def record_events(
    store: Store, rater_id: int, session_id: str | None, events: Sequence[ClientEvent]
) -> list[Ack]:
    """Store events of one rater in one transaction, in their order; return an acknowledgement for each.

    Sending the same events again is harmless: each is stored once. A refused event does not hold up the others.
    """
    with store.write() as session:
        if problem := _refuse_all(session, rater_id, session_id):
            return [Ack(event.event_id, "refused", problem) for event in events]
        names = {event.assignment for event in events if _NAME.fullmatch(event.assignment)}
        if not store.is_sqlite:
            _hold_campaigns(session, names)
        batch = _Batch(session, rater_id, session_id, names, [event.event_id for event in events])
        return [_record(batch, event) for event in events]


class _Batch:
    """What is on record about the events of one call, read at once and kept up to date while they are stored."""

    def __init__(
        self,
        session: Session,
        rater_id: int,
        session_id: str | None,
        names: Iterable[str],
        event_ids: Sequence[str],
    ) -> None:
        self.session, self.rater_id, self.session_id = session, rater_id, session_id
        self.is_newest = session_id is None or _is_newest(session, session_id)
        self.places = _places(session, rater_id, names)
        known = [event_id for event_id in event_ids if _NAME.fullmatch(event_id)]
        stored = session.scalars(select(Event).where(Event.event_id.in_(known)))
        self.stored = {event.event_id: event for event in stored}
        ids = [place.assignment.id for place in self.places.values()]
        standing = session.scalars(select(CurrentAnswer).where(CurrentAnswer.assignment_id.in_(ids)))
        self.standing: dict[int, CurrentAnswer | None] = {row.assignment_id: row for row in standing}
        last = select(Event.assignment_id, func.max(Event.seq)).where(Event.assignment_id.in_(ids))
        self.last_seq = dict(session.execute(last.group_by(Event.assignment_id)).all())


def _refuse_all(session: Session, rater_id: int, session_id: str | None) -> str:
    """Return why nothing of a rater is stored from this tab, '' where it is; they can't withdraw meanwhile."""
    state = session.scalar(select(Rater.state).where(Rater.id == rater_id).with_for_update(read=True))
    if state is None:
        return "no such rater"
    if state == "withdrawn":
        return "you have withdrawn; nothing more is stored"
    if session_id is not None:
        tab = session.get(ClientSession, session_id) if _NAME.fullmatch(session_id) else None
        if tab is None or tab.rater_id != rater_id:
            return "no such session"
    return ""


def _hold_campaigns(session: Session, public_ids: Iterable[str]) -> None:
    """Keep campaigns from being frozen meanwhile, and wait while one is (PostgreSQL; SQLite has one writer)."""
    of_events = select(Assignment.campaign_id).where(Assignment.public_id.in_(public_ids))
    query = select(Campaign.id).where(Campaign.id.in_(of_events)).order_by(Campaign.id)
    session.execute(query.with_for_update(read=True)).all()


def _places(session: Session, rater_id: int, public_ids: Iterable[str]) -> dict[str, Place]:
    query = (
        select(Assignment, Campaign, Item)
        .join(Campaign, Campaign.id == Assignment.campaign_id)
        .join(Item, Item.id == Assignment.item_id)
        .where(Assignment.public_id.in_(public_ids), Assignment.rater_id == rater_id)
        .order_by(Assignment.id)
        .with_for_update(of=Assignment)  # PostgreSQL: two tabs of one rater take turns
    )
    return {row[0].public_id: Place(*row) for row in session.execute(query)}


def _is_newest(session: Session, session_id: str) -> bool:
    return session.get_one(ClientSession, session_id).closed_reason is None


def _record(batch: _Batch, event: ClientEvent) -> Ack:
    try:
        if not _NAME.fullmatch(event.event_id):
            raise Refusal("the event id has to have 1 to 36 characters of ASCII")
        stored = batch.stored.get(event.event_id)
        if stored is not None:
            return _acknowledge_again(batch, event, stored)
        place = batch.places.get(event.assignment)
        if place is None:
            raise Refusal("no such assignment")
        check(batch.session, event, place)
        batch.stored[event.event_id] = _store(batch, event, place)
    except Refusal as refusal:
        return Ack(event.event_id, "refused", str(refusal))
    return Ack(event.event_id, "stored")


def _acknowledge_again(batch: _Batch, event: ClientEvent, stored: Event) -> Ack:
    assignment = batch.session.get_one(Assignment, stored.assignment_id)
    same = (assignment.public_id, stored.kind, stored.answer) == (event.assignment, event.kind, event.answer)
    if stored.rater_id != batch.rater_id or not same:
        raise Refusal("this event id was used for something else")
    return Ack(event.event_id, "duplicate")


def _store(batch: _Batch, event: ClientEvent, place: Place) -> Event:
    assignment = place.assignment
    current = batch.standing.get(assignment.id)
    if event.kind == "undo" and current is None:
        raise Refusal("there is no answer to undo")
    flags = list(event.flags)
    if event.kind in {"answer", "undo"}:
        if place.campaign.state != "open":
            flags.append(FROZEN)
        elif current is not None and (place.campaign.kind == "study" or not batch.is_newest):
            flags.append(LATE)
    seq = batch.last_seq.get(assignment.id, 0) + 1
    row = Event(
        event_id=event.event_id,
        assignment_id=assignment.id,
        rater_id=batch.rater_id,
        session_id=batch.session_id,
        seq=seq,
        kind=event.kind,
        answer=event.answer,
        confidence=event.confidence,
        note=_NOT_TEXT.sub("\N{REPLACEMENT CHARACTER}", event.note)[:MAX_NOTE_CHARACTERS],
        rt_ms=event.rt_ms,
        load_ms=event.load_ms,
        client_utc=event.client_utc,
        server_utc=utc_now(),
        flags=",".join(sorted(set(flags))),
        supersedes_id=current.event_pk if current is not None and event.kind in {"answer", "undo"} else None,
    )
    batch.session.add(row)
    batch.session.flush()
    batch.last_seq[assignment.id] = seq
    reasons = sorted(set(event.reasons))
    batch.session.add_all(EventReason(event_pk=row.id, reason=reason) for reason in reasons)
    if not RESERVED_FLAGS & set(flags):
        batch.standing[assignment.id] = _derive(batch.session, row, current)
    batch.session.flush()
    return row


def _derive(session: Session, row: Event, current: CurrentAnswer | None) -> CurrentAnswer | None:
    """Bring the answer that stands in line with the newest event, and return it."""
    if row.kind == "undo" and current is not None:
        session.delete(current)
        return None
    if row.kind == "answer" and row.answer is not None:
        if current is None:
            current = CurrentAnswer(assignment_id=row.assignment_id)
            session.add(current)
        current.event_pk, current.answer, current.decided_at = row.id, row.answer, row.server_utc
    return current


def open_session(
    store: Store, rater_id: int, campaign_id: int, session_id: str, **client: str | int | None
) -> None:
    """Register a browser tab; the tabs that the rater had open in this campaign before are told to stop."""
    with store.write() as session:
        session.scalar(select(Rater.id).where(Rater.id == rater_id).with_for_update())
        if session.get(ClientSession, session_id) is not None:
            return
        query = select(ClientSession).where(
            ClientSession.rater_id == rater_id,
            ClientSession.campaign_id == campaign_id,
            ClientSession.closed_reason.is_(None),
        )
        for older in session.scalars(query):
            older.closed_reason = "newer_tab"
        session.add(
            ClientSession(
                id=session_id, rater_id=rater_id, campaign_id=campaign_id, opened_at=utc_now(), **client
            )
        )


def is_live(store: Store, session_id: str) -> bool:
    """Return whether a tab is the newest of its rater, and so may go on."""
    with store.read() as session:
        tab = session.get(ClientSession, session_id)
        return tab is not None and tab.closed_reason is None
