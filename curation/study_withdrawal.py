"""People who withdraw: what they said is removed, at their wish."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from curation.database import Store, utc_now
from curation.study_leases import free
from curation.tables import (
    Campaign,
    ClientSession,
    CurrentAnswer,
    Event,
    EventReason,
    Rater,
    Slot,
    Withdrawal,
)
from data_manifests.errors import CuebenchError


@dataclass(frozen=True)
class WhoWithdraws:
    """What is on record of a person before they withdraw; `withdrawn_at` is set where they did so already."""

    code: str
    role: str
    study: str | None
    state: str
    n_answers: int
    withdrawn_at: str | None

    def to_text(self) -> str:
        """Return who it is, for the question whether to go on."""
        of_study = f" of study {self.study}" if self.study else ""
        return f"{self.role} {self.code}{of_study} ({self.state}, {self.n_answers} answers)"


def who_withdraws(store: Store, rater_code: str) -> WhoWithdraws:
    """Return what is on record of a person.

    Raises
    ------
    CuebenchError
        If there is no such rater.
    """
    with store.read() as session:
        rater = _find_rater(session, rater_code)
        mine = select(func.count()).where(Event.rater_id == rater.id, Event.kind == "answer")
        known = session.get(Withdrawal, rater.id)
        study = session.get(Campaign, rater.campaign_id) if rater.campaign_id is not None else None
        return WhoWithdraws(
            rater.public_code,
            rater.role,
            study.slug if study else None,
            rater.state,
            session.scalar(mine) or 0,
            known.withdrawn_at if known else None,
        )


def _find_rater(session: Session, rater_code: str, *, hold: bool = False) -> Rater:
    query = select(Rater).where(Rater.public_code == rater_code.strip().upper())
    rater = session.scalar(query.with_for_update() if hold else query)
    if rater is None:
        raise CuebenchError(f"rater {rater_code}: no such code; it has 8 letters and digits")
    return rater


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
        rater = _find_rater(session, rater_code, hold=True)
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
