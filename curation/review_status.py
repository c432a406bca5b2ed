"""Where a review stands: per class, per reviewer, and how far reviewers agree with each other and with themselves."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from curation.campaigns import find_campaign
from curation.database import Store
from curation.review_votes import PICTURE_OUTCOMES, Asked, Reviewed, read_asked, read_reviewed
from curation.status_tables import ClassStatus, ReviewerStatus, ReviewStatus
from curation.tables import (
    Assignment,
    Campaign,
    CampaignItem,
    CurrentAnswer,
    EventReason,
    Item,
    Rater,
)

__all__ = ["ReviewStatus", "review_status"]


def review_status(store: Store, slug: str) -> ReviewStatus:
    """Return where a review stands.

    Raises
    ------
    CuebenchError
        If there is no such review.
    """
    with store.read() as session:
        campaign = find_campaign(session, slug, "review")
        asked = read_asked(session, campaign)
        pictures = read_reviewed(session, campaign, asked)
        showings = _read_showings(session, campaign, asked)
        reasons = _read_reasons(session, campaign)
        state = campaign.state
    live = [picture for picture in pictures if not picture.is_retired]
    twice = [picture for picture in live if len(picture.votes) > 1]
    decided = [(p, p.adjudication) for p in live if p.adjudication is not None]
    return ReviewStatus(
        slug=slug,
        state=state,
        classes=_class_rows(pictures),
        reviewers=_reviewer_rows(showings),
        states=_states(pictures),
        n_judged_twice=len(twice),
        n_agreeing=sum(len({vote.answer for vote in picture.votes}) == 1 for picture in twice),
        n_stale_verdicts=sum(row.is_retired and row.answer is not None for row in showings),
        n_adjudicated=dict(sorted(Counter(decision.answer for _, decision in decided).items())),
        n_outdated_decisions=sum(p.votes_sha256 != decision.votes_sha256 for p, decision in decided),
        reasons=reasons,
    )


def _states(pictures: Iterable[Reviewed]) -> dict[str, int]:
    """Count pictures by what came of them; a retired one that nobody judged is no loss, and is not counted."""
    counted = Counter(p.outcome for p in pictures if p.votes or not p.is_retired)
    return {outcome: counted[outcome] for outcome in PICTURE_OUTCOMES}


def _class_rows(pictures: Iterable[Reviewed]) -> list[ClassStatus]:
    classes: defaultdict[tuple[str, str], list[Reviewed]] = defaultdict(list)
    for picture in pictures:
        classes[picture.cue_kind, picture.superclass].append(picture)
    rows = []
    for (kind, superclass), members in sorted(classes.items()):
        live = [picture for picture in members if not picture.is_retired]
        rows.append(
            ClassStatus(
                cue_kind=kind,
                superclass=superclass,
                n_items=len(live),
                n_judged=sum(bool(picture.votes) for picture in live),
                n_judged_twice=sum(len(picture.votes) > 1 for picture in live),
                n_accepted=sum(picture.outcome == "accepted" for picture in live),
                n_adjudicated=sum(picture.adjudication is not None for picture in live),
                states=_states(members),
            )
        )
    return rows


class _Showing(NamedTuple):
    """One assignment with its standing answer."""

    reviewer: str
    item_id: int
    role: str
    is_retired: bool
    answer: str | None


def _read_showings(session: Session, campaign: Campaign, asked: Iterable[Asked]) -> list[_Showing]:
    gone = select(CampaignItem.item_id, CampaignItem.role).where(
        CampaignItem.campaign_id == campaign.id, CampaignItem.retired_at.is_not(None)
    )
    retired = {(item_id, role) for item_id, role in session.execute(gone)}
    reviewers = select(Rater.id, Rater.auth_subject, Rater.public_code).where(
        Rater.id.in_(select(Assignment.rater_id).where(Assignment.campaign_id == campaign.id))
    )
    names = {rater_id: name or code for rater_id, name, code in session.execute(reviewers)}
    return [
        _Showing(
            names[row.rater_id],
            row.item_id,
            row.role,
            (row.item_id, "known_bad" if row.role == "known_bad" else "main") in retired,
            row.answer,
        )
        for row in asked
    ]


def _reviewer_rows(showings: Iterable[_Showing]) -> list[ReviewerStatus]:
    queues: defaultdict[str, list[_Showing]] = defaultdict(list)
    for showing in showings:
        queues[showing.reviewer].append(showing)
    return [_reviewer_row(name, rows) for name, rows in sorted(queues.items())]


def _reviewer_row(name: str, rows: Sequence[_Showing]) -> ReviewerStatus:
    live = [row for row in rows if not row.is_retired]
    answered = [row for row in live if row.answer is not None]
    first = {row.item_id: row.answer for row in answered if row.role == "main"}
    pairs = [
        (first[row.item_id], row.answer) for row in answered if row.role == "repeat" and row.item_id in first
    ]
    bad = [row for row in answered if row.role == "known_bad"]
    n_repeat_answers = sum(row.role == "repeat" for row in answered)
    return ReviewerStatus(
        reviewer=name,
        n_assigned=len(live),
        n_answered=len(answered),
        answers=dict(
            sorted(Counter(row.answer for row in answered if row.answer and row.role == "main").items())
        ),
        n_stale=sum(row.is_retired and row.answer is not None for row in rows),
        n_repeat_answers=n_repeat_answers,
        n_repeats=len(pairs),
        n_same=sum(one == other for one, other in pairs),
        n_known_bad=len(bad),
        n_caught=sum(row.answer == "reject" for row in bad),
    )


def _read_reasons(session: Session, campaign: Campaign) -> dict[str, dict[str, int]]:
    query = (
        select(Item.cue_kind, EventReason.reason)
        .join(CurrentAnswer, CurrentAnswer.event_pk == EventReason.event_pk)
        .join(Assignment, Assignment.id == CurrentAnswer.assignment_id)
        .join(Item, Item.id == Assignment.item_id)
        .join(
            CampaignItem,
            (CampaignItem.item_id == Item.id)
            & (CampaignItem.campaign_id == Assignment.campaign_id)
            & (CampaignItem.role == Assignment.role),
        )
        .where(
            Assignment.campaign_id == campaign.id,
            Assignment.role == "main",
            CampaignItem.retired_at.is_(None),
        )
    )
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for kind, reason in session.execute(query):
        counts[kind][reason] += 1
    return {kind: dict(sorted(counts[kind].items())) for kind in sorted(counts)}
