"""The tables of the record: campaigns, items, raters, assignments, and the append-only events of what people said.

Times are UTC text (`2026-11-30T12:00:00.000Z`), durations are integer milliseconds. Rows of `event`, `event_reason`,
`adjudication` and `snapshot` are never changed or deleted: triggers of the database refuse it (see
`curation.migrations`), except for the redaction of a rater who withdrew.
"""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

CAMPAIGN_KINDS = ("review", "study", "mask")
CAMPAIGN_STATES = ("draft", "open", "frozen", "closed")
ITEM_ROLES = ("main", "practice", "catch", "repeat", "known_bad")
RATER_ROLES = ("reviewer", "adjudicator", "participant", "admin")
RATER_STATES = ("new", "started", "finished", "expired", "withdrawn")
SLOT_STATES = ("open", "claimed", "finished", "expired")
EVENT_KINDS = ("shown", "answer", "undo", "later", "timeout", "interrupted")


def one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    """Return the constraint that a text column holds one of the values."""
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


class Table(DeclarativeBase):
    """The base of all tables; every constraint has a name, so that a migration can find it."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class Campaign(Table):
    """One review, one study or one round of mask picking. `protocol_json` holds all of its settings, canonical."""

    __tablename__ = "campaign"
    __table_args__ = (one_of("kind", CAMPAIGN_KINDS), one_of("state", CAMPAIGN_STATES))
    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str] = mapped_column(String(80), unique=True)
    kind: Mapped[str] = mapped_column(String(16))
    protocol_json: Mapped[str] = mapped_column(Text)
    protocol_sha256: Mapped[str] = mapped_column(String(64))
    seed: Mapped[int]
    state: Mapped[str] = mapped_column(String(16), default="draft")
    created_at: Mapped[str] = mapped_column(String(24))


class Item(Table):
    """What is looked at: a cue, or the photograph of a mask campaign. Identified by its content.

    `lineage` names what the picture was made from (photograph, kind, grid, variant): a picture made again has the
    same lineage and other hashes. `public_id` is random and the only name that a browser ever sees.
    """

    __tablename__ = "item"
    __table_args__ = (UniqueConstraint("cue_kind", "sha256"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    public_id: Mapped[str] = mapped_column(String(32), unique=True)
    cue_kind: Mapped[str] = mapped_column(String(16))
    superclass: Mapped[str] = mapped_column(String(80))
    grid: Mapped[int | None]
    cue_id: Mapped[str | None] = mapped_column(String(64))
    lineage: Mapped[str] = mapped_column(String(64), index=True)
    sha256: Mapped[str] = mapped_column(String(64))
    pixel_sha256: Mapped[str | None] = mapped_column(String(64))
    file_url: Mapped[str] = mapped_column(Text)
    source_url: Mapped[str | None] = mapped_column(Text)
    width: Mapped[int | None]
    height: Mapped[int | None]
    meta_json: Mapped[str] = mapped_column(Text, default="{}")


class MaskCandidate(Table):
    """One mask found in the photograph of a mask campaign; `public_id` is what a browser sees."""

    __tablename__ = "mask_candidate"
    __table_args__ = (UniqueConstraint("item_id", "mask_sha256"), UniqueConstraint("item_id", "position"))
    id: Mapped[int] = mapped_column(primary_key=True)
    public_id: Mapped[str] = mapped_column(String(32), unique=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id"))
    position: Mapped[int]
    mask_sha256: Mapped[str] = mapped_column(String(64))
    segmenter: Mapped[str] = mapped_column(String(200))
    file_url: Mapped[str] = mapped_column(Text)
    scores_json: Mapped[str] = mapped_column(Text, default="{}")


class CampaignItem(Table):
    """An item in a campaign. `retired_at` is set once the picture was made again: verdicts on it are stale."""

    __tablename__ = "campaign_item"
    __table_args__ = (one_of("role", ITEM_ROLES),)
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id"), primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id"), primary_key=True, index=True)
    role: Mapped[str] = mapped_column(String(16), primary_key=True, default="main")
    expected_answer: Mapped[str | None] = mapped_column(String(80))
    retired_at: Mapped[str | None] = mapped_column(String(24))


class Rater(Table):
    """A person who answers: a reviewer, an adjudicator or a participant (or an admin, who does not).

    Staff are known by `auth_subject` (what the identity provider says), participants by the SHA-256 of their token.
    """

    __tablename__ = "rater"
    __table_args__ = (one_of("role", RATER_ROLES), one_of("state", RATER_STATES))
    id: Mapped[int] = mapped_column(primary_key=True)
    public_code: Mapped[str] = mapped_column(String(16), unique=True)
    auth_subject: Mapped[str | None] = mapped_column(String(200), unique=True)
    token_sha256: Mapped[str | None] = mapped_column(String(64), unique=True)
    campaign_id: Mapped[int | None] = mapped_column(ForeignKey("campaign.id"), index=True)
    role: Mapped[str] = mapped_column(String(16))
    state: Mapped[str] = mapped_column(String(16), default="new")
    created_at: Mapped[str] = mapped_column(String(24))
    finished_at: Mapped[str | None] = mapped_column(String(24))
    completion_code: Mapped[str | None] = mapped_column(String(16))


class Consent(Table):
    """What a rater agreed to or had read: a consent text, a guideline, an instruction, by its hash."""

    __tablename__ = "consent"
    rater_id: Mapped[int] = mapped_column(ForeignKey("rater.id"), primary_key=True)
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id"), primary_key=True)
    text_sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    accepted_at: Mapped[str] = mapped_column(String(24))


class Slot(Table):
    """A place in a campaign: the trials of one participant before anybody has taken them, or one reviewer's seat."""

    __tablename__ = "slot"
    __table_args__ = (
        one_of("state", SLOT_STATES),
        UniqueConstraint("campaign_id", "design_row"),
        Index(
            "uq_slot_rater",
            "campaign_id",
            "rater_id",
            unique=True,
            sqlite_where=text("rater_id IS NOT NULL"),
            postgresql_where=text("rater_id IS NOT NULL"),
        ),
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id"))
    design_row: Mapped[int]
    rater_id: Mapped[int | None] = mapped_column(ForeignKey("rater.id"))
    state: Mapped[str] = mapped_column(String(16), default="open")
    lease_until: Mapped[str | None] = mapped_column(String(24))
    design_json: Mapped[str] = mapped_column(Text, default="{}")


class Assignment(Table):
    """One item to be answered once by one rater, at a position of their queue. `public_id` is what a browser sees.

    `presentation` is 1 for the first showing and more for a hidden repeat; `choices_json` is the order in which
    this rater sees the options.
    """

    __tablename__ = "assignment"
    __table_args__ = (
        UniqueConstraint("campaign_id", "rater_id", "position"),
        UniqueConstraint("campaign_id", "rater_id", "item_id", "role", "presentation"),
        CheckConstraint("presentation >= 1", name="presentation_positive"),
        one_of("role", ITEM_ROLES),
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    public_id: Mapped[str] = mapped_column(String(32), unique=True)
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id"))
    rater_id: Mapped[int] = mapped_column(ForeignKey("rater.id"), index=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id"), index=True)
    role: Mapped[str] = mapped_column(String(16), default="main")
    block: Mapped[int] = mapped_column(default=0)
    position: Mapped[int]
    presentation: Mapped[int] = mapped_column(default=1)
    choices_json: Mapped[str] = mapped_column(Text, default="[]")


class ClientSession(Table):
    """One opened browser tab. The newest of a rater in a campaign is the one that may answer."""

    __tablename__ = "client_session"
    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    rater_id: Mapped[int] = mapped_column(ForeignKey("rater.id"))
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id"))
    opened_at: Mapped[str] = mapped_column(String(24))
    closed_reason: Mapped[str | None] = mapped_column(String(40))
    user_agent: Mapped[str] = mapped_column(String(400), default="")
    viewport: Mapped[str] = mapped_column(String(40), default="")
    device_pixel_ratio: Mapped[str] = mapped_column(String(16), default="")
    frame_ms: Mapped[int | None]
    app_version: Mapped[str] = mapped_column(String(40), default="")


class Event(Table):
    """What happened, append-only. `event_id` is made by the client, so that a message sent twice counts once.

    `answer` belongs to kind `answer`; `seq` counts the events of an assignment from 1; `supersedes_id` is the
    answer that an undo or a changed answer replaces.
    """

    __tablename__ = "event"
    __table_args__ = (
        UniqueConstraint("assignment_id", "seq"),
        one_of("kind", EVENT_KINDS),
        CheckConstraint("rt_ms IS NULL OR rt_ms >= 0", name="rt_ms_positive"),
        CheckConstraint("kind = 'answer' OR answer IS NULL", name="answer_only_of_answers"),
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    event_id: Mapped[str] = mapped_column(String(36), unique=True)
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignment.id"))
    rater_id: Mapped[int] = mapped_column(ForeignKey("rater.id"), index=True)
    session_id: Mapped[str | None] = mapped_column(ForeignKey("client_session.id"))
    seq: Mapped[int]
    kind: Mapped[str] = mapped_column(String(16))
    answer: Mapped[str | None] = mapped_column(String(80))
    confidence: Mapped[int | None]
    note: Mapped[str] = mapped_column(Text, default="")
    rt_ms: Mapped[int | None]
    load_ms: Mapped[int | None]
    client_utc: Mapped[str | None] = mapped_column(String(24))
    server_utc: Mapped[str] = mapped_column(String(24))
    flags: Mapped[str] = mapped_column(String(200), default="")
    supersedes_id: Mapped[int | None] = mapped_column(ForeignKey("event.id"))


class EventReason(Table):
    """One reason of a rejection; the closed lists are in `curation.reasons`."""

    __tablename__ = "event_reason"
    event_pk: Mapped[int] = mapped_column(ForeignKey("event.id"), primary_key=True)
    reason: Mapped[str] = mapped_column(String(40), primary_key=True)


class CurrentAnswer(Table):
    """The answer that stands, at most one an assignment; derived from the events in the same transaction."""

    __tablename__ = "current_answer"
    assignment_id: Mapped[int] = mapped_column(
        ForeignKey("assignment.id"), primary_key=True, autoincrement=False
    )
    event_pk: Mapped[int] = mapped_column(ForeignKey("event.id"), unique=True)
    answer: Mapped[str] = mapped_column(String(80), index=True)
    decided_at: Mapped[str] = mapped_column(String(24))


class Adjudication(Table):
    """The decision on an item on which reviewers were split; the votes stay as they were given."""

    __tablename__ = "adjudication"
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id"), primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id"), primary_key=True)
    round: Mapped[int] = mapped_column(primary_key=True)
    decided_by: Mapped[int] = mapped_column(ForeignKey("rater.id"))
    answer: Mapped[str] = mapped_column(String(16))
    rationale: Mapped[str] = mapped_column(Text)
    votes_sha256: Mapped[str] = mapped_column(String(64))
    decided_at: Mapped[str] = mapped_column(String(24))


class QcFlag(Table):
    """A pre-registered exclusion rule that a rater met: flagged, the rows stay."""

    __tablename__ = "qc_flag"
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id"), primary_key=True)
    rater_id: Mapped[int] = mapped_column(ForeignKey("rater.id"), primary_key=True)
    rule: Mapped[str] = mapped_column(String(40), primary_key=True)
    value: Mapped[str] = mapped_column(String(80))
    threshold: Mapped[str] = mapped_column(String(80))
    rules_sha256: Mapped[str] = mapped_column(String(64))
    flagged_at: Mapped[str] = mapped_column(String(24))


class Snapshot(Table):
    """A frozen reading: the last event it holds and the hash of its table, so that a report can name it."""

    __tablename__ = "snapshot"
    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id"))
    taken_at: Mapped[str] = mapped_column(String(24))
    last_event_pk: Mapped[int]
    table_sha256: Mapped[str] = mapped_column(String(64))
    n_rows: Mapped[int]


class Withdrawal(Table):
    """A rater withdrew: their answers may be redacted from now on, and only theirs."""

    __tablename__ = "withdrawal"
    rater_id: Mapped[int] = mapped_column(ForeignKey("rater.id"), primary_key=True, autoincrement=False)
    withdrawn_at: Mapped[str] = mapped_column(String(24))
    reason: Mapped[str] = mapped_column(Text, default="")
    n_redacted: Mapped[int] = mapped_column(default=0)
