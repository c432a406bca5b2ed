"""What a member of staff may see of their own work: campaigns, counts and pace, never another person's."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from sqlalchemy import func, select

from curation.database import Store
from curation.tables import Assignment, Campaign, CampaignItem, CurrentAnswer, Item

PAUSE_SECONDS = 120.0  # a longer gap between two answers is a pause, not work
PACE_ANSWERS = 200  # the pace is that of so many latest answers


@dataclass(frozen=True)
class CampaignRow:
    """A campaign as one rater sees it; both counts are their own.

    `measures_agreement` says whether some pictures of a review are judged by more than one person.
    """

    id: int
    slug: str
    kind: str
    state: str
    cue_kinds: tuple[str, ...]
    n_answered: int
    n_total: int
    measures_agreement: bool = False

    @property
    def answered_percent(self) -> str:
        """How much of their work is answered; counts would tell a reviewer how many pictures come twice."""
        return f"{100 * self.n_answered // max(1, self.n_total)} %"


def campaigns_of(store: Store, rater_id: int, *, every: bool = False) -> list[CampaignRow]:
    """Return the campaigns in which a rater has work, newest first; with `every`, the others too."""
    mine = (
        select(
            Assignment.campaign_id,
            func.count().label("n_total"),
            func.count(CurrentAnswer.assignment_id).label("n_answered"),
        )
        .outerjoin(CurrentAnswer, CurrentAnswer.assignment_id == Assignment.id)
        .where(Assignment.rater_id == rater_id, Assignment.role != "practice")
        .group_by(Assignment.campaign_id)
        .subquery()
    )
    query = (
        select(Campaign, mine.c.n_answered, mine.c.n_total)
        .join(mine, mine.c.campaign_id == Campaign.id, isouter=every)
        .order_by(Campaign.id.desc())
    )
    kinds = (
        select(CampaignItem.campaign_id, Item.cue_kind).join(Item, Item.id == CampaignItem.item_id).distinct()
    )
    with store.read() as session:
        shown: dict[int, list[str]] = {}
        for campaign_id, kind in session.execute(kinds):
            shown.setdefault(campaign_id, []).append(kind)
        return [
            CampaignRow(
                id=campaign.id,
                slug=campaign.slug,
                kind=campaign.kind,
                state=campaign.state,
                cue_kinds=tuple(sorted(shown.get(campaign.id, ()))),
                n_answered=n_answered or 0,
                n_total=n_total or 0,
                measures_agreement=_measures_agreement(campaign),
            )
            for campaign, n_answered, n_total in session.execute(query)
        ]


def _measures_agreement(campaign: Campaign) -> bool:
    settings = json.loads(campaign.protocol_json)
    return campaign.kind == "review" and (settings["n_raters"] > 1 or settings["overlap"] > 0)


def answers_per_hour(times_utc: Iterable[str]) -> float | None:
    """Return the pace of answers given at these times (UTC text), pauses left out; None for fewer than two.

    >>> answers_per_hour(["2026-11-30T12:00:00.000Z", "2026-11-30T12:00:03.000Z", "2026-11-30T13:00:00.000Z"])
    1200.0
    """
    times = sorted(datetime.fromisoformat(each) for each in times_utc)
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
    worked = [gap for gap in gaps if gap <= PAUSE_SECONDS]
    return len(worked) * 3600.0 / sum(worked) if sum(worked) > 0 else None


def pace_of(store: Store, rater_id: int, campaign_id: int) -> float | None:
    """Return how many answers an hour a rater gave lately in a campaign, or None while there are too few."""
    query = (
        select(CurrentAnswer.decided_at)
        .join(Assignment, Assignment.id == CurrentAnswer.assignment_id)
        .where(Assignment.rater_id == rater_id, Assignment.campaign_id == campaign_id)
        .order_by(CurrentAnswer.decided_at.desc())
        .limit(PACE_ANSWERS)
    )
    with store.read() as session:
        return answers_per_hour(session.scalars(query))
