"""What a rater has to do next, has done, and how far they are; derived from the record alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

from sqlalchemy import ColumnElement, Select, bindparam, case, exists, func, or_, select

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
    return _read(store, _pending(practice), rater_id, campaign_id, limit)


def answered(store: Store, rater_id: int, campaign_id: int, limit: int) -> list[Task]:
    """Return what the rater answered, newest first: what an undo goes back to."""
    return _read(store, _answered(), rater_id, campaign_id, limit)


def progress(store: Store, rater_id: int, campaign_id: int) -> Progress:
    """Return how far a rater is in a campaign, practice left out."""
    today = datetime.now(UTC).date().isoformat()
    with store.read() as session:
        parameters = {"rater_id": rater_id, "campaign_id": campaign_id, "today": today}
        n_answered, n_total, n_today = session.execute(_counts(), parameters).one()
    return Progress(n_answered, n_total, n_today or 0)


# The queries that run after every answer are made once: putting one together takes longer than running it.


def _mine() -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return (
        Assignment.rater_id == bindparam("rater_id"),
        Assignment.campaign_id == bindparam("campaign_id"),
    )


@cache
def _pending(practice: bool) -> Select[*_TaskRow]:
    n_later = (
        select(Event.assignment_id, func.count().label("n_later"))
        .where(Event.rater_id == bindparam("rater_id"), Event.kind == "later")
        .group_by(Event.assignment_id)
        .subquery()
    )
    return (
        _tasks(practice=practice)
        .outerjoin(n_later, n_later.c.assignment_id == Assignment.id)
        .where(CurrentAnswer.assignment_id.is_(None), _not_retired())
        .order_by(Assignment.block, func.coalesce(n_later.c.n_later, 0), Assignment.position)
        .limit(bindparam("limit"))
    )


@cache
def _answered() -> Select[*_TaskRow]:
    return (
        _tasks(practice=False)
        .where(CurrentAnswer.assignment_id.is_not(None))
        .order_by(CurrentAnswer.event_pk.desc())
        .limit(bindparam("limit"))
    )


@cache
def _counts() -> Select[int, int, int | None]:
    return (
        select(
            func.count(CurrentAnswer.assignment_id),
            func.count(),
            func.sum(case((CurrentAnswer.decided_at >= bindparam("today"), 1), else_=0)),
        )
        .select_from(Assignment)
        .outerjoin(CurrentAnswer, CurrentAnswer.assignment_id == Assignment.id)
        .where(
            *_mine(),
            Assignment.role != "practice",
            or_(_not_retired(), CurrentAnswer.assignment_id.is_not(None)),
        )
    )


def _not_retired() -> ColumnElement[bool]:
    return ~exists().where(
        CampaignItem.campaign_id == Assignment.campaign_id,
        CampaignItem.item_id == Assignment.item_id,
        CampaignItem.role == Assignment.role,
        CampaignItem.retired_at.is_not(None),
    )


def _tasks(*, practice: bool) -> Select[*_TaskRow]:
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
        .where(*_mine(), Assignment.role == "practice" if practice else Assignment.role != "practice")
    )


def _read(store: Store, query: Select[*_TaskRow], rater_id: int, campaign_id: int, limit: int) -> list[Task]:
    with store.read() as session:
        parameters = {"rater_id": rater_id, "campaign_id": campaign_id, "limit": limit}
        rows = session.execute(query, parameters).all()
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
