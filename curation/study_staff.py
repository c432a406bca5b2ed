"""The staff's side of a study: status, leases and screening."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from sqlalchemy import Select, delete, select
from sqlalchemy.orm import Session

from curation.campaigns import find_campaign
from curation.database import Store, utc_now
from curation.rating_records import ResponseRecord
from curation.screening import ExclusionRules, Flag, counted, screen
from curation.study_leases import expire_slots
from curation.study_record import CHECK_PASSED, DECLINED, Marks, n_check_failures, protocol_of, read_responses
from curation.tables import (
    Campaign,
    CampaignItem,
    Item,
    QcFlag,
    Rater,
    Slot,
)


def expire_leases(store: Store, slug: str, now: str | None = None) -> int:
    """Free the slots of participants who stayed away for longer than the protocol allows; return how many."""
    with store.write() as session:
        return expire_slots(session, find_campaign(session, slug, "study"), now or utc_now())


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
                f"{counts.median:g}), {counts.n_below} below {self.min_ratings_per_image}, before any screening"
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
    """Return how many participants are in each state; `expired` are those only who stayed away."""
    raters = session.scalars(select(Rater).where(Rater.campaign_id == campaign.id).order_by(Rater.id))
    return dict(sorted(Counter(_participant_state(session, rater, campaign) for rater in raters).items()))


def _participant_state(session: Session, rater: Rater, campaign: Campaign) -> str:
    marks = Marks(session, rater, campaign)
    if marks.has(DECLINED):
        return "declined"
    if rater.state == "expired" and marks.n_check_failures and not marks.has(CHECK_PASSED):
        return "failed check"
    return rater.state


def _counts(session: Session, query: Select[str]) -> dict[str, int]:
    return dict(sorted(Counter(session.scalars(query)).items()))


@dataclass(frozen=True)
class ScreenSummary:
    """What the screening found: every flag, and the ratings per image that are left.

    `n_raters` are those with trials and those who failed the check and never got any.
    """

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
        failures = n_check_failures(session, campaign)
        flags = screen(responses, failures, rules)
        if rules == protocol.exclusions:
            _store_flags(session, campaign, flags, rules)
        planned = _planned_images(session, campaign)
    kept = counted(responses, {flag.rater for flag in flags}, rules)
    return ScreenSummary(
        slug=slug,
        rules_sha256=rules.sha256,
        is_registered=rules == protocol.exclusions,
        n_raters=len({row.rater for row in responses} | set(failures)),
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
