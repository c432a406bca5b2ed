"""The queues of reviewers as the database holds them: who takes part, and what each of them is to judge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from curation.campaigns import find_campaign, staff
from curation.item_placement import in_parts
from curation.review_dealing import Card
from curation.tables import (
    Assignment,
    Campaign,
    CampaignItem,
    ClientSession,
    CurrentAnswer,
    Event,
    Item,
    Rater,
    Slot,
)
from data_manifests.errors import CuebenchError

# A tab holds up to 12 tasks: what a reviewer who has begun may have on the screen is not moved.
N_KEPT_AHEAD = 24


@dataclass(frozen=True)
class QueueRow:
    """An assignment, with whether its answer stands and whether anything was ever recorded for it."""

    id: int
    reviewer: str
    rater_id: int
    item_id: int
    role: str
    block: int
    position: int
    is_answered: bool
    has_events: bool


def open_for_work(session: Session, slug: str) -> Campaign:
    """Return a review or mask campaign that may still be changed.

    Raises
    ------
    CuebenchError
        If there is no such campaign, it is a study, or it is frozen or closed.
    """
    campaign = find_campaign(session, slug)
    session.refresh(campaign, with_for_update=True)  # PostgreSQL: two at once take turns
    if campaign.kind == "study":
        raise CuebenchError(f"campaign {slug}: a study has participants, no reviewers; see `cuebench study`")
    if campaign.state not in {"draft", "open"}:
        raise CuebenchError(
            f"campaign {slug}: it is {campaign.state}, nothing in it changes; begin another one"
        )
    return campaign


def read_places(session: Session, campaign: Campaign) -> dict[str, Slot]:
    """Return the place of every reviewer who ever took part; one who left has an expired one."""
    query = (
        select(Rater.auth_subject, Slot)
        .join(Slot, Slot.rater_id == Rater.id)
        .where(Slot.campaign_id == campaign.id)
        .order_by(Slot.design_row)
    )
    return {name or "": place for name, place in session.execute(query)}


def take_places(
    session: Session, campaign: Campaign, reviewers: Iterable[str], release: Iterable[str]
) -> dict[str, int]:
    """Let reviewers join and leave; return name -> rater id of those who take part now."""
    places = read_places(session, campaign)
    for name in dict.fromkeys(reviewers):
        if name not in places:
            rater = staff(session, name)
            places[name] = Slot(campaign_id=campaign.id, design_row=len(places), rater_id=rater.id)
            session.add(places[name])
        places[name].state = "claimed"
    for name in release:
        places[name].state = "expired"
    session.flush()
    return {n: place.rater_id for n, place in places.items() if place.state == "claimed" and place.rater_id}


def read_rows(session: Session, campaign: Campaign) -> list[QueueRow]:
    """Return the assignments of a campaign, in the order of each queue."""
    with_events = set(
        session.scalars(
            select(Event.assignment_id)
            .join(Assignment, Assignment.id == Event.assignment_id)
            .where(Assignment.campaign_id == campaign.id)
            .distinct()
        )
    )
    query = (
        select(
            Assignment.id,
            Rater.auth_subject,
            Assignment.rater_id,
            Assignment.item_id,
            Assignment.role,
            Assignment.block,
            Assignment.position,
            CurrentAnswer.assignment_id,
        )
        .join(Rater, Rater.id == Assignment.rater_id)
        .outerjoin(CurrentAnswer, CurrentAnswer.assignment_id == Assignment.id)
        .where(Assignment.campaign_id == campaign.id)
        .order_by(Assignment.rater_id, Assignment.block, Assignment.position)
    )
    return [
        QueueRow(
            pk, name or "", rater_id, item_id, role, block, position, answered is not None, pk in with_events
        )
        for pk, name, rater_id, item_id, role, block, position, answered in session.execute(query)
    ]


def on_screen(session: Session, campaign: Campaign, rows: Iterable[QueueRow]) -> set[int]:
    """Return the ids of the next pictures of everybody who has opened a tab: answers to them may be on their way."""
    begun = set(
        session.scalars(select(ClientSession.rater_id).where(ClientSession.campaign_id == campaign.id))
    )
    ahead: defaultdict[int, list[int]] = defaultdict(list)
    for row in rows:
        if row.rater_id in begun and not row.is_answered:
            ahead[row.rater_id].append(row.id)
    return {pk for ids in ahead.values() for pk in ids[:N_KEPT_AHEAD]}


def drop_rows(session: Session, rows: Iterable[QueueRow]) -> None:
    """Delete assignments for which nothing was recorded."""
    for part in in_parts(row.id for row in rows):
        session.execute(delete(Assignment).where(Assignment.id.in_(part)))


def read_cards(session: Session, campaign: Campaign, role: str) -> list[Card]:
    """Return the pictures of a role that still count."""
    query = (
        select(Item.id, Item.cue_kind, Item.superclass, Item.sha256)
        .join(CampaignItem, CampaignItem.item_id == Item.id)
        .where(
            CampaignItem.campaign_id == campaign.id,
            CampaignItem.role == role,
            CampaignItem.retired_at.is_(None),
        )
        .order_by(Item.id)
    )
    return [Card(*row) for row in session.execute(query)]
