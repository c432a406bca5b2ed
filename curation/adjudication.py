"""Deciding on pictures about which reviewers do not agree. Votes are shown without names, and stay as they were."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from curation.campaigns import find_campaign
from curation.database import Store, utc_now
from curation.item_placement import in_parts
from curation.queue_rows import open_for_work
from curation.review_votes import Reviewed, read_asked, read_reviewed
from curation.tables import Adjudication, Event, EventReason, Item, Rater
from data_manifests.errors import CuebenchError

DECISIONS = ("accept", "reject")
TO_DECIDE = ("split", "unsure")
MAX_RATIONALE_CHARACTERS = 2_000


@dataclass(frozen=True)
class AnonymousVote:
    """A verdict without its reviewer."""

    answer: str
    reasons: tuple[str, ...]
    note: str
    decided_at: str


@dataclass(frozen=True)
class Split:
    """A picture to decide on: reviewers differ, or all of them were unsure.

    `item` is its public id; `state` is `split` or `unsure`; `votes` are sorted by answer and time.
    """

    item: str
    cue_kind: str
    superclass: str
    state: str
    votes: tuple[AnonymousVote, ...]


def splits(store: Store, slug: str) -> list[Split]:
    """Return what waits for a decision, by cue kind and class.

    Raises
    ------
    CuebenchError
        If there is no such review.
    """
    with store.read() as session:
        campaign = find_campaign(session, slug, "review")
        pictures = read_reviewed(session, campaign, read_asked(session, campaign))
        found = [picture for picture in pictures if picture.state in TO_DECIDE]
        told = _read_told(session, (vote.event_pk for picture in found for vote in picture.votes))
    return [_split(picture, told) for picture in found]


def _split(picture: Reviewed, told: dict[int, tuple[str, tuple[str, ...]]]) -> Split:
    votes = [
        AnonymousVote(vote.answer, told[vote.event_pk][1], told[vote.event_pk][0], vote.decided_at)
        for vote in picture.votes
    ]
    votes.sort(key=lambda vote: (vote.answer, vote.decided_at))
    return Split(picture.public_id, picture.cue_kind, picture.superclass, picture.state, tuple(votes))


def _read_told(session: Session, event_pks: Iterable[int]) -> dict[int, tuple[str, tuple[str, ...]]]:
    """Return event -> its note and its reasons."""
    notes: dict[int, str] = {}
    reasons: defaultdict[int, list[str]] = defaultdict(list)
    for part in in_parts(event_pks):
        for event_pk, note in session.execute(select(Event.id, Event.note).where(Event.id.in_(part))):
            notes[event_pk] = note
        query = select(EventReason.event_pk, EventReason.reason).where(EventReason.event_pk.in_(part))
        for event_pk, reason in session.execute(query):
            reasons[event_pk].append(reason)
    return {event_pk: (note, tuple(sorted(reasons[event_pk]))) for event_pk, note in notes.items()}


def adjudicate(
    store: Store, slug: str, item_public_id: str, rater_id: int, answer: str, rationale: str
) -> None:
    """Decide on a split picture, `accept` or `reject`; deciding again is one more round, and the last one counts.

    Raises
    ------
    CuebenchError
        If the answer is no decision, there is no rationale, the picture is not split, the review is over, or the
        person is no member of staff.
    """
    if answer not in DECISIONS:
        raise CuebenchError(f"adjudication: expected accept or reject, got {answer}")
    rationale = rationale.strip()
    if not 1 <= len(rationale) <= MAX_RATIONALE_CHARACTERS:
        raise CuebenchError(
            f"adjudication: a decision needs its reason, in 1 to {MAX_RATIONALE_CHARACTERS:,} characters"
        )
    with store.write() as session:
        find_campaign(session, slug, "review")
        campaign = open_for_work(session, slug)
        item_id = session.scalar(select(Item.id).where(Item.public_id == item_public_id))
        asked = read_asked(session, campaign, item_id) if item_id is not None else []
        picture = next((p for p in read_reviewed(session, campaign, asked) if p.item_id == item_id), None)
        if picture is None:
            raise CuebenchError(f"campaign {slug}: no such picture: {item_public_id}")
        if picture.state not in (*TO_DECIDE, "adjudicated"):
            raise CuebenchError(
                f"campaign {slug}: the picture is {picture.state}; only a split or an unsure one is decided on"
            )
        rater = session.get(Rater, rater_id)
        if rater is None or rater.role == "participant":
            raise CuebenchError(f"campaign {slug}: only a member of staff decides on a split picture")
        session.add(
            Adjudication(
                campaign_id=campaign.id,
                item_id=picture.item_id,
                round=picture.adjudication.round + 1 if picture.adjudication else 1,
                decided_by=rater_id,
                answer=answer,
                rationale=rationale,
                votes_sha256=picture.votes_sha256,
                decided_at=utc_now(),
            )
        )
