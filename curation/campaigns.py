"""Campaigns, the items that they show and the people who answer."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from curation.database import utc_now
from curation.tables import Campaign, Rater
from data_manifests.errors import CuebenchError
from data_manifests.jsonl import canonical_json
from data_manifests.shipped import nearest

CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # nothing that is read as something else


def sha256_text(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 bytes, hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def new_public_id() -> str:
    """Return a random name of 128 bits that tells nothing."""
    return secrets.token_hex(16)


def new_code(n_characters: int = 8) -> str:
    """Return a random code that a person can type."""
    return "".join(secrets.choice(CODE_ALPHABET) for _ in range(n_characters))


def create_campaign(session: Session, slug: str, kind: str, protocol: dict[str, Any], seed: int) -> Campaign:
    """Make a campaign in state `draft`.

    Raises
    ------
    CuebenchError
        If there is one of this name.
    """
    if session.scalar(select(Campaign).where(Campaign.slug == slug)) is not None:
        raise CuebenchError(f"campaign {slug}: exists already; choose another name")
    text = canonical_json(protocol)
    campaign = Campaign(
        slug=slug,
        kind=kind,
        protocol_json=text,
        protocol_sha256=sha256_text(text),
        seed=seed,
        created_at=utc_now(),
    )
    session.add(campaign)
    session.flush()
    return campaign


def find_campaign(session: Session, slug: str, kind: str | None = None) -> Campaign:
    """Return the campaign of a name.

    Raises
    ------
    CuebenchError
        If there is none, or it is not of the kind.
    """
    campaign = session.scalar(select(Campaign).where(Campaign.slug == slug))
    if campaign is None:
        known = list(session.scalars(select(Campaign.slug).order_by(Campaign.slug)))
        listed = f"there are: {', '.join(known)}" if known else "the database has none"
        raise CuebenchError(f"campaign {slug}: no such campaign{nearest(slug, known)}; {listed}")
    if kind is not None and campaign.kind != kind:
        raise CuebenchError(f"campaign {slug}: expected a {kind} campaign, got a {campaign.kind} campaign")
    return campaign


@dataclass(frozen=True)
class NewItem:
    """A picture to be shown. The fields are those of `curation.tables.Item`."""

    cue_kind: str
    superclass: str
    sha256: str
    file_url: str
    lineage: str
    pixel_sha256: str | None = None
    cue_id: str | None = None
    grid: int | None = None
    source_url: str | None = None
    width: int | None = None
    height: int | None = None
    meta: dict[str, Any] = field(default_factory=dict)


def staff(session: Session, auth_subject: str, role: str = "reviewer") -> Rater:
    """Return the member of staff of an identity (an e-mail address, or a name), made on first sight."""
    rater = session.scalar(select(Rater).where(Rater.auth_subject == auth_subject))
    if rater is None:
        rater = Rater(public_code=new_code(), auth_subject=auth_subject, role=role, created_at=utc_now())
        session.add(rater)
        session.flush()
    return rater


def new_participant(session: Session, campaign: Campaign) -> tuple[Rater, str]:
    """Make a participant of a study; return them and their token, which is stored as a hash only."""
    token = secrets.token_urlsafe(24)
    rater = Rater(
        public_code=new_code(),
        token_sha256=sha256_text(token),
        campaign_id=campaign.id,
        role="participant",
        created_at=utc_now(),
    )
    session.add(rater)
    session.flush()
    return rater, token


def participant_of(session: Session, token: str) -> Rater | None:
    """Return the participant to whom a token belongs, if any."""
    return session.scalar(select(Rater).where(Rater.token_sha256 == sha256_text(token)))
