"""What the verdicts on a picture come to: the one rule that status, adjudication and release share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from curation.campaigns import find_campaign, sha256_text
from curation.database import Store
from curation.tables import Adjudication, Assignment, Campaign, CampaignItem, CurrentAnswer, Item, Slot
from data_manifests.jsonl import canonical_json

# In the order of a table for people.
PICTURE_OUTCOMES = ("undecided", "accepted", "rejected", "unsure", "split", "stale")
OUTCOMES = {"accept": "accepted", "reject": "rejected", "unsure": "unsure"}


class Asked(NamedTuple):
    """One showing of a picture to a reviewer, with the verdict that stands, if any.

    `takes_part` says whether the reviewer still does: nobody waits for the verdict of one who left.
    """

    item_id: int
    rater_id: int
    role: str
    takes_part: bool
    event_pk: int | None
    answer: str | None
    decided_at: str | None


class Vote(NamedTuple):
    """A verdict that stands: first showings only, no repeats and no known-bad pictures."""

    event_pk: int
    answer: str
    decided_at: str


@dataclass(frozen=True)
class Decision:
    """What an adjudication came to; `votes_sha256` names the verdicts that it was about."""

    round: int
    answer: str
    votes_sha256: str


@dataclass
class Reviewed:
    """A picture of a review with what people said about it.

    `n_expected` verdicts decide it: as many as were asked for, and no fewer than the review wants of each picture.
    """

    item_id: int
    public_id: str
    cue_kind: str
    superclass: str
    sha256: str
    is_retired: bool
    n_expected: int
    votes: list[Vote] = field(default_factory=list)
    adjudication: Decision | None = None

    @property
    def votes_sha256(self) -> str:
        """The hash of the standing verdicts, by which an adjudication names what it was about."""
        return sha256_text(canonical_json(sorted([vote.event_pk, vote.answer] for vote in self.votes)))

    @property
    def state(self) -> str:
        """`adjudicated` where somebody decided, whatever the decision; otherwise the outcome."""
        if self.is_retired:
            return "stale"
        if self.adjudication is not None:
            return "adjudicated"
        return verdict_state([vote.answer for vote in self.votes], self.n_expected)

    @property
    def outcome(self) -> str:
        """One of `PICTURE_OUTCOMES`: the state, with `adjudicated` resolved into what was decided."""
        if self.adjudication is not None and not self.is_retired:
            return OUTCOMES[self.adjudication.answer]
        return self.state


def verdict_state(answers: Sequence[str], n_expected: int) -> str:
    """Return what verdicts come to: all alike decide, once all are in; a mix is split from the first moment.

    `unsure` is a verdict like the others: alone it makes `unsure`, which is not accepted, beside another a split.

    >>> verdict_state(["accept", "accept"], 2), verdict_state(["accept"], 2)
    ('accepted', 'undecided')
    >>> verdict_state(["accept", "unsure"], 3), verdict_state(["unsure"], 1)
    ('split', 'unsure')
    """
    given = set(answers)
    if len(given) > 1:
        return "split"
    if not given or len(answers) < n_expected:
        return "undecided"
    return OUTCOMES[given.pop()]


def read_asked(session: Session, campaign: Campaign, item_id: int | None = None) -> list[Asked]:
    """Return every showing of a review, or of one picture."""
    query = (
        select(
            Assignment.item_id,
            Assignment.rater_id,
            Assignment.role,
            Slot.state.is_distinct_from("expired"),
            CurrentAnswer.event_pk,
            CurrentAnswer.answer,
            CurrentAnswer.decided_at,
        )
        .outerjoin(
            Slot, (Slot.campaign_id == Assignment.campaign_id) & (Slot.rater_id == Assignment.rater_id)
        )
        .outerjoin(CurrentAnswer, CurrentAnswer.assignment_id == Assignment.id)
        .where(Assignment.campaign_id == campaign.id)
    )
    if item_id is not None:
        query = query.where(Assignment.item_id == item_id)
    return [Asked(*row) for row in session.execute(query)]


def read_reviewed(session: Session, campaign: Campaign, asked: Iterable[Asked]) -> list[Reviewed]:
    """Return the pictures of a review, known-bad ones left out, with what `asked` says of them."""
    n_raters = int(json.loads(campaign.protocol_json)["n_raters"])
    query = (
        select(
            Item.id,
            Item.public_id,
            Item.cue_kind,
            Item.superclass,
            Item.sha256,
            CampaignItem.retired_at.is_not(None),
        )
        .join(CampaignItem, CampaignItem.item_id == Item.id)
        .where(CampaignItem.campaign_id == campaign.id, CampaignItem.role == "main")
        .order_by(Item.cue_kind, Item.superclass, Item.id)
    )
    found = {row[0]: Reviewed(*row, n_expected=n_raters) for row in session.execute(query)}
    n_asked: Counter[int] = Counter()
    for item_id, _, role, takes_part, event_pk, answer, decided_at in asked:
        if role != "main":
            continue
        if event_pk is not None and answer is not None and decided_at is not None:
            found[item_id].votes.append(Vote(event_pk, answer, decided_at))
            n_asked[item_id] += 1
        elif takes_part:
            n_asked[item_id] += 1
    for item_id, count in n_asked.items():
        found[item_id].n_expected = max(n_raters, count)
    decisions = (
        select(Adjudication.item_id, Adjudication.round, Adjudication.answer, Adjudication.votes_sha256)
        .where(Adjudication.campaign_id == campaign.id)
        .order_by(Adjudication.round)
    )
    for item_id, number, decided, votes_sha256 in session.execute(decisions):
        found[item_id].adjudication = Decision(number, decided, votes_sha256)  # the last round counts
    return list(found.values())


def accepted_hashes(store: Store, slug: str) -> dict[str, str]:
    """Return the SHA-256 of every picture of a review -> what came of it.

    That is `accepted`, `rejected`, `unsure`, `split`, `undecided` or `stale` (the picture was made again); an
    adjudication counts as its decision. A release takes what is `accepted`, and nothing else.

    Raises
    ------
    CuebenchError
        If there is no such review.
    """
    with store.read() as session:
        campaign = find_campaign(session, slug, "review")
        pictures = read_reviewed(session, campaign, read_asked(session, campaign))
    return {picture.sha256: picture.outcome for picture in pictures}
