"""Storing what people say: events, acknowledged once they are on the disk; the answer that stands is derived.

The rule behind every branch: nothing that a person said is dropped. An answer that can't stand (the campaign was
frozen, the participant had answered already, a newer tab was open) is stored as an event with a flag that says why.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from curation.database import Store, utc_now
from curation.reasons import REASONS
from curation.tables import (
    EVENT_KINDS,
    Assignment,
    Campaign,
    ClientSession,
    CurrentAnswer,
    Event,
    EventReason,
    Item,
    MaskCandidate,
    Rater,
)

VERDICTS = ("accept", "reject", "unsure")
NO_MASK = "none"
BOX = "box:"

LATE = "late_answer"  # another answer stood already
FROZEN = "after_freeze"  # the campaign no longer takes answers
MAX_NOTE_CHARACTERS = 2_000


@dataclass(frozen=True)
class ClientEvent:
    """One thing that happened in a browser.

    `event_id` is a UUID made there; `assignment` the public id of an assignment; `reasons` belong to a rejection;
    `rt_ms` is from the paint of the picture to the key, by the browser's clock; `client_utc` the browser's time.
    """

    event_id: str
    assignment: str
    kind: str
    answer: str | None = None
    reasons: tuple[str, ...] = ()
    note: str = ""
    confidence: int | None = None
    rt_ms: int | None = None
    load_ms: int | None = None
    client_utc: str | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ack:
    """What became of an event: `stored`, `duplicate` (it was stored before) or `refused` (`detail` says why)."""

    event_id: str
    status: str
    detail: str = ""


class _Refusal(Exception):  # noqa: N818
    """An event that makes no sense; its text goes into the acknowledgement."""


@dataclass(frozen=True)
class _Place:
    """Where an event belongs."""

    assignment: Assignment
    campaign: Campaign
    item: Item


def record_events(
    store: Store, rater_id: int, session_id: str | None, events: Sequence[ClientEvent]
) -> list[Ack]:
    """Store events of one rater in one transaction, in their order; return an acknowledgement for each.

    Sending the same events again is harmless: each is stored once. A refused event does not hold up the others.
    """
    with store.write() as session:
        places = _places(session, rater_id, [event.assignment for event in events])
        newest = session_id is None or _is_newest(session, rater_id, session_id)
        return [_record(session, event, rater_id, session_id, places, newest=newest) for event in events]


def _places(session: Session, rater_id: int, public_ids: Iterable[str]) -> dict[str, _Place]:
    query = (
        select(Assignment, Campaign, Item)
        .join(Campaign, Campaign.id == Assignment.campaign_id)
        .join(Item, Item.id == Assignment.item_id)
        .where(Assignment.public_id.in_(set(public_ids)), Assignment.rater_id == rater_id)
        .order_by(Assignment.id)
        .with_for_update(of=Assignment)  # PostgreSQL: two tabs of one rater take turns
    )
    return {row[0].public_id: _Place(*row) for row in session.execute(query)}


def _is_newest(session: Session, rater_id: int, session_id: str) -> bool:
    tab = session.get(ClientSession, session_id)
    return tab is not None and tab.rater_id == rater_id and tab.closed_reason is None


def _record(
    session: Session,
    event: ClientEvent,
    rater_id: int,
    session_id: str | None,
    places: dict[str, _Place],
    *,
    newest: bool,
) -> Ack:
    try:
        stored = session.scalar(select(Event).where(Event.event_id == event.event_id))
        if stored is not None:
            return _acknowledge_again(session, event, stored, rater_id)
        place = places.get(event.assignment)
        if place is None:
            raise _Refusal("no such assignment")
        _check(session, event, place)
        _store(session, event, place, rater_id, session_id, newest=newest)
    except _Refusal as refusal:
        return Ack(event.event_id, "refused", str(refusal))
    return Ack(event.event_id, "stored")


def _acknowledge_again(session: Session, event: ClientEvent, stored: Event, rater_id: int) -> Ack:
    assignment = session.get_one(Assignment, stored.assignment_id)
    same = (assignment.public_id, stored.kind, stored.answer) == (event.assignment, event.kind, event.answer)
    if stored.rater_id != rater_id or not same:
        raise _Refusal("this event id was used for something else")
    return Ack(event.event_id, "duplicate")


def _check(session: Session, event: ClientEvent, place: _Place) -> None:
    kind = place.campaign.kind
    if not 1 <= len(event.event_id) <= 36:
        raise _Refusal("the event id has to have 1 to 36 characters")
    if event.kind not in EVENT_KINDS:
        raise _Refusal(f"no such kind of event: {event.kind}")
    if place.campaign.state == "draft":
        raise _Refusal("the campaign is not open yet")
    if kind == "study" and event.kind in {"undo", "later"}:
        raise _Refusal(f"a study has no {event.kind}")
    if event.kind != "answer":
        if event.answer is not None or event.reasons:
            raise _Refusal(f"{event.kind} comes without an answer and reasons")
        return
    _check_answer(session, event, place)


def _check_answer(session: Session, event: ClientEvent, place: _Place) -> None:
    if place.campaign.kind == "study":
        allowed: Sequence[str] = json.loads(place.assignment.choices_json)
    elif place.campaign.kind == "review":
        allowed = VERDICTS
        _check_reasons(event, place.item.cue_kind)
    else:
        query = select(MaskCandidate.public_id).where(MaskCandidate.item_id == place.item.id)
        allowed = [NO_MASK, *session.scalars(query)]
        if event.answer is not None and event.answer.startswith(BOX):
            parse_box(event.answer, place.item.width, place.item.height)
            return
    if event.answer not in allowed:
        raise _Refusal(f"no such answer: {event.answer}")


def _check_reasons(event: ClientEvent, cue_kind: str) -> None:
    if event.answer == "reject" and not event.reasons:
        raise _Refusal("a rejection needs at least one reason")
    if event.answer != "reject" and event.reasons:
        raise _Refusal("only a rejection has reasons")
    if unknown := [reason for reason in event.reasons if reason not in REASONS[cue_kind]]:
        raise _Refusal(f"no such reason for a {cue_kind} cue: {', '.join(unknown)}")


def parse_box(answer: str, width: int | None, height: int | None) -> tuple[int, int, int, int]:
    """Return the box of an answer `box:x0,y0,x1,y1` in px of the photograph (x1 and y1 exclusive).

    >>> parse_box("box:1,2,30,40", 100, 100)
    (1, 2, 30, 40)
    """
    try:
        x0, y0, x1, y1 = (int(part) for part in answer.removeprefix(BOX).split(","))
    except ValueError:
        raise _Refusal(f"expected box:x0,y0,x1,y1 in px, got {answer}") from None
    inside = width is None or height is None or (x1 <= width and y1 <= height)
    if not (0 <= x0 < x1 and 0 <= y0 < y1 and inside):
        raise _Refusal(f"the box {answer} does not lie in the photograph ({width} x {height} px)")
    return x0, y0, x1, y1


def _store(
    session: Session,
    event: ClientEvent,
    place: _Place,
    rater_id: int,
    session_id: str | None,
    *,
    newest: bool,
) -> None:
    assignment = place.assignment
    current = session.get(CurrentAnswer, assignment.id)
    if event.kind == "undo" and current is None:
        raise _Refusal("there is no answer to undo")
    flags = list(event.flags)
    if event.kind in {"answer", "undo"}:
        if place.campaign.state != "open":
            flags.append(FROZEN)
        elif current is not None and (place.campaign.kind == "study" or not newest):
            flags.append(LATE)
    last = session.scalar(select(func.max(Event.seq)).where(Event.assignment_id == assignment.id)) or 0
    row = Event(
        event_id=event.event_id,
        assignment_id=assignment.id,
        rater_id=rater_id,
        session_id=session_id,
        seq=last + 1,
        kind=event.kind,
        answer=event.answer,
        confidence=event.confidence,
        note=event.note[:MAX_NOTE_CHARACTERS],
        rt_ms=event.rt_ms,
        load_ms=event.load_ms,
        client_utc=event.client_utc,
        server_utc=utc_now(),
        flags=",".join(sorted(set(flags))),
        supersedes_id=current.event_pk if current is not None and event.kind in {"answer", "undo"} else None,
    )
    session.add(row)
    session.flush()
    session.add_all(EventReason(event_pk=row.id, reason=reason) for reason in sorted(set(event.reasons)))
    if not {FROZEN, LATE} & set(flags):
        _derive(session, row, current)
    session.flush()


def _derive(session: Session, row: Event, current: CurrentAnswer | None) -> None:
    """Bring the answer that stands in line with the newest event."""
    if row.kind == "undo" and current is not None:
        session.delete(current)
    elif row.kind == "answer" and row.answer is not None:
        if current is None:
            session.add(
                CurrentAnswer(
                    assignment_id=row.assignment_id,
                    event_pk=row.id,
                    answer=row.answer,
                    decided_at=row.server_utc,
                )
            )
        else:
            current.event_pk, current.answer, current.decided_at = row.id, row.answer, row.server_utc


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
