"""Reading a study back from the database: its protocol, a participant's trials and marks, everybody's responses."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

from sqlalchemy import bindparam, case, func, select
from sqlalchemy.orm import Session

from curation.campaigns import find_campaign, sha256_text
from curation.database import Store, utc_now
from curation.protocol import StudyProtocol
from curation.rating_records import ResponseRecord
from curation.snapshots import read_rows
from curation.tables import Assignment, Campaign, CampaignItem, Consent, CurrentAnswer, Event, Item, Rater
from data_manifests.errors import CuebenchError

N_INTERRUPTIONS = 2  # a trial that was interrupted once comes again at the end of its block, and only once

DECLINED, CHECK_PASSED = "declined", "check passed"


def check_failed(n: int) -> str:
    """Return the mark of the n-th failed comprehension check, from 1."""
    return f"check failed {n}"


def break_over(block: int) -> str:
    """Return the mark that a participant ended the break before a block."""
    return f"break before block {block} over"


def protocol_of(campaign: Campaign) -> StudyProtocol:
    """Return the protocol of a study as it was planned."""
    return _parse(campaign.protocol_json)


@lru_cache(maxsize=32)
def _parse(protocol_json: str) -> StudyProtocol:
    return StudyProtocol.model_validate_json(protocol_json)


def participant(session: Session, rater_id: int, *, hold: bool = False) -> tuple[Rater, Campaign]:
    """Return a participant and their study.

    `hold` makes other transactions about the same participant wait (PostgreSQL; SQLite has one writer): two clicks
    are two requests.

    Raises
    ------
    CuebenchError
        If there is no such participant.
    """
    rater = session.get(Rater, rater_id, with_for_update=True if hold else None)
    if rater is None or rater.campaign_id is None or rater.role != "participant":
        raise CuebenchError(f"rater {rater_id}: not a participant of a study")
    return rater, session.get_one(Campaign, rater.campaign_id)


class Marks:
    """What a participant agreed to, read or did, apart from trials: rows that are only ever added.

    A text is known by its hash; a step without a text by the hash of its name.
    """

    def __init__(self, session: Session, rater: Rater, campaign: Campaign) -> None:
        self._session, self._rater_id, self._campaign_id = session, rater.id, campaign.id
        query = select(Consent.text_sha256).where(
            Consent.rater_id == rater.id, Consent.campaign_id == campaign.id
        )
        self._hashes = set(session.scalars(query))

    def has_text(self, text: str) -> bool:
        """Return whether the participant accepted a text."""
        return sha256_text(text) in self._hashes

    def has(self, step: str) -> bool:
        """Return whether a step is marked."""
        return _step_hash(step) in self._hashes

    @property
    def n_check_failures(self) -> int:
        """How often the comprehension check was failed."""
        n = 0
        while self.has(check_failed(n + 1)):
            n += 1
        return n

    def add_text(self, text: str) -> None:
        """Store that the participant accepted a text."""
        self._add(sha256_text(text))

    def add(self, step: str) -> None:
        """Mark a step."""
        self._add(_step_hash(step))

    def _add(self, digest: str) -> None:
        if digest in self._hashes:
            return
        self._hashes.add(digest)
        row = Consent(
            rater_id=self._rater_id, campaign_id=self._campaign_id, text_sha256=digest, accepted_at=utc_now()
        )
        self._session.add(row)
        self._session.flush()


def _step_hash(step: str) -> str:
    return sha256_text(f"step of a study: {step}")


def n_check_failures(session: Session, campaign: Campaign) -> dict[str, int]:
    """Return participant (public code) -> how often they failed the comprehension check, where they did."""
    hashes: dict[int, set[str]] = defaultdict(set)
    query = select(Consent.rater_id, Consent.text_sha256).where(Consent.campaign_id == campaign.id)
    for rater_id, digest in session.execute(query):
        hashes[rater_id].add(digest)
    codes = dict(session.execute(select(Rater.id, Rater.public_code).where(Rater.id.in_(hashes))).all())
    failures = {}
    for rater_id, known in hashes.items():
        n = 0
        while _step_hash(check_failed(n + 1)) in known:
            n += 1
        if n:
            failures[codes[rater_id]] = n
    return failures


class TrialState(NamedTuple):
    """A trial of a participant and what has become of it."""

    public_id: str
    role: str
    block: int
    position: int
    presentation: int
    cue_expected: str | None
    answer: str | None
    n_events: int
    n_interrupted: int
    n_timeout: int
    item: str
    cue_kind: str
    choices_json: str
    decided_at: str | None

    @property
    def is_over(self) -> bool:
        """Whether it is not shown again: answered, timed out, or interrupted twice."""
        return self.answer is not None or self.n_timeout > 0 or self.n_interrupted >= N_INTERRUPTIONS


# made once: putting it together takes longer than running it, and it runs after every answer
_events = (
    select(
        Event.assignment_id,
        func.count().label("n_events"),
        func.sum(case((Event.kind == "interrupted", 1), else_=0)).label("n_interrupted"),
        func.sum(case((Event.kind == "timeout", 1), else_=0)).label("n_timeout"),
    )
    .where(Event.rater_id == bindparam("rater_id"))
    .group_by(Event.assignment_id)
    .subquery()
)
_TRIALS = (
    select(
        Assignment.public_id,
        Assignment.role,
        Assignment.block,
        Assignment.position,
        Assignment.presentation,
        CampaignItem.expected_answer,
        CurrentAnswer.answer,
        func.coalesce(_events.c.n_events, 0),
        func.coalesce(_events.c.n_interrupted, 0),
        func.coalesce(_events.c.n_timeout, 0),
        Item.public_id,
        Item.cue_kind,
        Assignment.choices_json,
        CurrentAnswer.decided_at,
    )
    .join(Item, Item.id == Assignment.item_id)
    .outerjoin(CurrentAnswer, CurrentAnswer.assignment_id == Assignment.id)
    .outerjoin(_events, _events.c.assignment_id == Assignment.id)
    .outerjoin(
        CampaignItem,
        (CampaignItem.campaign_id == Assignment.campaign_id)
        & (CampaignItem.item_id == Assignment.item_id)
        & (CampaignItem.role == Assignment.role),
    )
    .where(Assignment.rater_id == bindparam("rater_id"), Assignment.campaign_id == bindparam("campaign_id"))
)


def read_trials(session: Session, rater: Rater, campaign: Campaign) -> list[TrialState]:
    """Return the trials of a participant in the order in which they are shown.

    A trial that was interrupted once comes at the end of its block.
    """
    rows = session.execute(_TRIALS, {"rater_id": rater.id, "campaign_id": campaign.id})
    trials = [TrialState(*row) for row in rows]
    return sorted(trials, key=lambda trial: (trial.block, trial.n_interrupted, trial.position))


def read_responses(store: Store, slug: str) -> list[ResponseRecord]:
    """Return every trial of every participant of a study, answered or not.

    Raises
    ------
    CuebenchError
        If there is no such study.
    """
    with store.read() as session:
        campaign = find_campaign(session, slug, "study")
        last = session.scalar(select(func.max(Event.id))) or 0
        rows = read_rows(session, campaign, last)
    return [row for row in rows if isinstance(row, ResponseRecord)]
