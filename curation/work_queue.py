"""What a rater has to do next, has done, and how far they are; derived from the record alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, Select, exists, func, or_, select

from curation.database import Store
from curation.tables import Assignment, CampaignItem, CurrentAnswer, Event, EventReason, Item

# assignment, item, cue kind, block, choices, primary key of the standing answer's event, the answer
_TaskRow = tuple[str, str, str, int, str, int, str]


@dataclass(frozen=True)
class Task:
    """One thing to answer. It holds what may reach the browser of the rater, and nothing else.

    `assignment` and `item` are opaque ids; `choices` are the options in the order of this rater (a study), or empty;
    `answer` and `reasons` are the rater's own standing answer, if any.
    """

    assignment: str
    item: str
    cue_kind: str
    block: int
    choices: tuple[str, ...] = ()
    answer: str | None = None
    reasons: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Progress:
    """How far a rater is: answered of all, and how many answers they gave today (UTC)."""

    n_answered: int
    n_total: int
    n_today: int


def pending(
    store: Store, rater_id: int, campaign_id: int, limit: int, *, practice: bool = False
) -> list[Task]:
    """Return the next tasks without an answer: in the order of the queue, those put off `later` at the end.

    Pictures that were made again since are left out: nobody should judge what will not go out.
    """
    n_later = (
        select(Event.assignment_id, func.count().label("n_later"))
        .where(Event.rater_id == rater_id, Event.kind == "later")
        .group_by(Event.assignment_id)
        .subquery()
    )
    query = (
        _tasks(rater_id, campaign_id, practice=practice)
        .outerjoin(n_later, n_later.c.assignment_id == Assignment.id)
        .where(CurrentAnswer.assignment_id.is_(None), _not_retired())
        .order_by(Assignment.block, func.coalesce(n_later.c.n_later, 0), Assignment.position)
        .limit(limit)
    )
    return _read(store, query)


def answered(store: Store, rater_id: int, campaign_id: int, limit: int) -> list[Task]:
    """Return what the rater answered, newest first: what an undo goes back to."""
    query = (
        _tasks(rater_id, campaign_id)
        .where(CurrentAnswer.assignment_id.is_not(None))
        .order_by(CurrentAnswer.event_pk.desc())
        .limit(limit)
    )
    return _read(store, query)


def progress(store: Store, rater_id: int, campaign_id: int) -> Progress:
    """Return how far a rater is in a campaign, practice left out."""
    mine = (
        Assignment.rater_id == rater_id,
        Assignment.campaign_id == campaign_id,
        Assignment.role != "practice",
    )
    standing = select(func.count()).select_from(Assignment).join(CurrentAnswer).where(*mine)
    today = datetime.now(UTC).date().isoformat()
    open_or_done = or_(_not_retired(), Assignment.id.in_(select(CurrentAnswer.assignment_id)))
    everything = select(func.count()).select_from(Assignment).where(*mine, open_or_done)
    with store.read() as session:
        return Progress(
            n_answered=session.scalar(standing) or 0,
            n_total=session.scalar(everything) or 0,
            n_today=session.scalar(standing.where(CurrentAnswer.decided_at >= today)) or 0,
        )


def _not_retired() -> ColumnElement[bool]:
    return ~exists().where(
        CampaignItem.campaign_id == Assignment.campaign_id,
        CampaignItem.item_id == Assignment.item_id,
        CampaignItem.role == Assignment.role,
        CampaignItem.retired_at.is_not(None),
    )


def _tasks(rater_id: int, campaign_id: int, *, practice: bool = False) -> Select[*_TaskRow]:
    return (
        select(
            Assignment.public_id,
            Item.public_id,
            Item.cue_kind,
            Assignment.block,
            Assignment.choices_json,
            CurrentAnswer.event_pk,
            CurrentAnswer.answer,
        )
        .join(Item, Item.id == Assignment.item_id)
        .outerjoin(CurrentAnswer, CurrentAnswer.assignment_id == Assignment.id)
        .where(
            Assignment.rater_id == rater_id,
            Assignment.campaign_id == campaign_id,
            Assignment.role == "practice" if practice else Assignment.role != "practice",
        )
    )


def _read(store: Store, query: Select[*_TaskRow]) -> list[Task]:
    with store.read() as session:
        rows = session.execute(query).all()
        pks = [row[5] for row in rows if row[5] is not None]
        notes: dict[int, str] = {}
        reasons: dict[int, list[str]] = {}
        if pks:
            notes = dict(session.execute(select(Event.id, Event.note).where(Event.id.in_(pks))).all())
            given = select(EventReason.event_pk, EventReason.reason).where(EventReason.event_pk.in_(pks))
            for pk, reason in session.execute(given):
                reasons.setdefault(pk, []).append(reason)
        return [
            Task(
                assignment=assignment,
                item=item,
                cue_kind=cue_kind,
                block=block,
                choices=tuple(json.loads(choices)),
                answer=answer,
                reasons=tuple(sorted(reasons.get(pk, ()))),
                note=notes.get(pk, ""),
            )
            for assignment, item, cue_kind, block, choices, pk, answer in rows
        ]
