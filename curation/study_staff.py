"""The staff's side of a study: status, leases, screening, and participants who withdraw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from sqlalchemy import Select, delete, func, select, update
from sqlalchemy.orm import Session

from curation.campaigns import find_campaign
from curation.database import Store, utc_now
from curation.rating_records import ResponseRecord
from curation.screening import ExclusionRules, Flag, counted, screen
from curation.study_leases import expire_slots, free
from curation.study_record import DECLINED, Marks, n_check_failures, protocol_of, read_responses
from curation.tables import (
    Campaign,
    CampaignItem,
    ClientSession,
    CurrentAnswer,
    Event,
    EventReason,
    Item,
    QcFlag,
    Rater,
    Slot,
    Withdrawal,
)
from data_manifests.errors import CuebenchError


def expire_leases(store: Store, slug: str, now: str | None = None) -> int:
    """Free the slots of participants who stayed away for longer than the protocol allows; return how many."""
    with store.write() as session:
        return expire_slots(session, find_campaign(session, slug, "study"), now or utc_now())


def withdraw(store: Store, rater_code: str, reason: str = "") -> int:
    """Remove what a rater said, at their wish; return how many events were redacted.

    Their rows stay, without answers, notes, times and browsers, so that the record shows that something was
    removed; the slot is free again unless the study takes no more answers. Withdrawing again is harmless.

    Raises
    ------
    CuebenchError
        If there is no such rater.
    """
    with store.write() as session:
        rater = session.scalar(
            select(Rater).where(Rater.public_code == rater_code.strip().upper()).with_for_update()
        )
        if rater is None:
            raise CuebenchError(f"rater {rater_code}: no such code; it has 8 letters and digits")
        known = session.get(Withdrawal, rater.id)
        if known is not None:
            return known.n_redacted
        mine = select(Event.id).where(Event.rater_id == rater.id)
        n_redacted = session.scalar(select(func.count()).select_from(mine.subquery())) or 0
        # The triggers of the database let answers go only once the withdrawal is on record.
        row = Withdrawal(rater_id=rater.id, withdrawn_at=utc_now(), reason=reason, n_redacted=n_redacted)
        session.add(row)
        session.flush()
        session.execute(delete(CurrentAnswer).where(CurrentAnswer.event_pk.in_(mine)))
        session.execute(delete(EventReason).where(EventReason.event_pk.in_(mine)))
        blank = {"answer": None, "note": "", "confidence": None, "rt_ms": None, "load_ms": None}
        session.execute(
            update(Event).where(Event.rater_id == rater.id).values(**blank, client_utc=None, flags="")
        )
        session.execute(
            update(ClientSession)
            .where(ClientSession.rater_id == rater.id)
            .values(user_agent="", viewport="", device_pixel_ratio="", closed_reason="withdrawn")
        )
        rater.state = "withdrawn"
        _leave_slots(session, rater)
        return n_redacted


def _leave_slots(session: Session, rater: Rater) -> None:
    """Free the slot of a study that is open; of a review, let nobody wait for the rest of the verdicts."""
    query = (
        select(Slot, Campaign)
        .join(Campaign, Campaign.id == Slot.campaign_id)
        .where(Slot.rater_id == rater.id)
    )
    for slot, campaign in session.execute(query).all():
        if campaign.kind == "study" and campaign.state == "open":
            free(slot)
        else:
            slot.state, slot.lease_until = "expired", None


@dataclass(frozen=True)
class ImageCounts:
    """How many ratings the images of a cue kind have: images, fewest, median, most, and images below the minimum."""

    n_images: int
    fewest: int
    median: float
    most: int
    n_below: int


@dataclass(frozen=True)
class StudyStatus:
    """How far a study is. `images` are per cue kind, over responses that count before any screening."""

    slug: str
    state: str
    protocol: str
    participants: dict[str, int]
    slots: dict[str, int]
    images: dict[str, ImageCounts]
    min_ratings_per_image: int

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    def to_text(self) -> str:
        """Return lines for people."""
        lines = [
            f"study {self.slug}: {self.state}, protocol {self.protocol}",
            "participants: " + _listed(self.participants),
            "slots: " + _listed(self.slots),
        ]
        for kind, counts in self.images.items():
            lines.append(
                f"{kind}: {counts.n_images} images with {counts.fewest} to {counts.most} ratings (median "
                f"{counts.median:g}), {counts.n_below} below {self.min_ratings_per_image}"
            )
        return "\n".join(lines)


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{n} {name}" for name, n in counts.items()) or "none"


def study_status(store: Store, slug: str) -> StudyStatus:
    """Return how far a study is.

    Raises
    ------
    CuebenchError
        If there is no such study.
    """
    responses = read_responses(store, slug)
    with store.read() as session:
        campaign = find_campaign(session, slug, "study")
        protocol = protocol_of(campaign)
        planned = _planned_images(session, campaign)
        kept = counted(responses, set(), protocol.exclusions)
        return StudyStatus(
            slug=slug,
            state=campaign.state,
            protocol=protocol.name,
            participants=_participants(session, campaign),
            slots=_counts(session, select(Slot.state).where(Slot.campaign_id == campaign.id)),
            images=image_counts(planned, kept, protocol.min_ratings_per_image),
            min_ratings_per_image=protocol.min_ratings_per_image,
        )


def image_counts(
    planned: Iterable[tuple[str, str]], kept: Sequence[ResponseRecord], minimum: int
) -> dict[str, ImageCounts]:
    """Return the ratings of the images by cue kind; `planned` are (cue kind, SHA-256) of all images."""
    n_of: Counter[tuple[str, str]] = Counter((row.cue_kind, row.sha256) for row in kept)
    by_kind: dict[str, list[int]] = {}
    for key in sorted(planned):
        by_kind.setdefault(key[0], []).append(n_of[key])
    return {
        kind: ImageCounts(len(n), min(n), median(n), max(n), sum(each < minimum for each in n))
        for kind, n in by_kind.items()
    }


def _planned_images(session: Session, campaign: Campaign) -> list[tuple[str, str]]:
    query = (
        select(Item.cue_kind, Item.sha256)
        .join(CampaignItem, CampaignItem.item_id == Item.id)
        .where(CampaignItem.campaign_id == campaign.id, CampaignItem.role == "main")
    )
    return [(kind, sha256) for kind, sha256 in session.execute(query)]


def _participants(session: Session, campaign: Campaign) -> dict[str, int]:
    """Return how many participants are in each state; who declined is not counted as expired."""
    raters = session.scalars(select(Rater).where(Rater.campaign_id == campaign.id).order_by(Rater.id))
    states = Counter(
        "declined" if Marks(session, rater, campaign).has(DECLINED) else rater.state for rater in raters
    )
    return dict(sorted(states.items()))


def _counts(session: Session, query: Select[str]) -> dict[str, int]:
    return dict(sorted(Counter(session.scalars(query)).items()))


@dataclass(frozen=True)
class ScreenSummary:
    """What the screening found: every flag, and the ratings per image that are left."""

    slug: str
    rules_sha256: str
    is_registered: bool
    n_raters: int
    n_counted: int
    flags: tuple[Flag, ...]
    images: dict[str, ImageCounts]

    @property
    def flagged(self) -> list[str]:
        """The public codes of the raters who met a rule."""
        return sorted({flag.rater for flag in self.flags})

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "flagged": self.flagged}

    def to_text(self) -> str:
        """Return lines for people."""
        kind = (
            "those of the protocol" if self.is_registered else "NOT those of the protocol: nothing is stored"
        )
        lines = [
            f"study {self.slug}: rules {self.rules_sha256[:12]}, {kind}",
            f"{len(self.flagged)} of {self.n_raters} raters flagged; {self.n_counted} responses count",
        ]
        lines += [f"{flag.rater}: {flag.rule}: {flag.value} ({flag.threshold})" for flag in self.flags]
        lines += [
            f"{kind}: {counts.fewest} to {counts.most} ratings an image (median {counts.median:g})"
            for kind, counts in self.images.items()
        ]
        return "\n".join(lines)


def screen_study(store: Store, slug: str, rules: ExclusionRules | None = None) -> ScreenSummary:
    """Flag the raters who meet a rule of exclusion; their rows stay. The flags of an earlier screening go.

    Parameters
    ----------
    rules : by default those of the protocol, which were fixed when the study was planned; what others find is
        returned and not stored, for reports and the gate go by the registered ones

    Raises
    ------
    CuebenchError
        If there is no such study.
    """
    responses = read_responses(store, slug)
    with store.write() as session:
        campaign = find_campaign(session, slug, "study")
        protocol = protocol_of(campaign)
        rules = rules or protocol.exclusions
        flags = screen(responses, n_check_failures(session, campaign), rules)
        if rules == protocol.exclusions:
            _store_flags(session, campaign, flags, rules)
        planned = _planned_images(session, campaign)
    kept = counted(responses, {flag.rater for flag in flags}, rules)
    return ScreenSummary(
        slug=slug,
        rules_sha256=rules.sha256,
        is_registered=rules == protocol.exclusions,
        n_raters=len({row.rater for row in responses}),
        n_counted=len(kept),
        flags=tuple(flags),
        images=image_counts(planned, kept, protocol.min_ratings_per_image),
    )


def _store_flags(session: Session, campaign: Campaign, flags: Sequence[Flag], rules: ExclusionRules) -> None:
    session.execute(delete(QcFlag).where(QcFlag.campaign_id == campaign.id))
    query = select(Rater.public_code, Rater.id).where(Rater.campaign_id == campaign.id)
    codes = dict(session.execute(query).all())
    session.add_all(
        QcFlag(
            campaign_id=campaign.id,
            rater_id=codes[flag.rater],
            rule=flag.rule,
            value=flag.value,
            threshold=flag.threshold,
            rules_sha256=rules.sha256,
            flagged_at=utc_now(),
        )
        for flag in flags
    )
