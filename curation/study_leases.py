"""Slots that were taken and left: who stayed away for longer than the protocol allows loses the place."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from curation.campaigns import new_code
from curation.protocol import StudyProtocol
from curation.study_record import TrialState, protocol_of, read_trials
from curation.tables import Campaign, Event, Rater, Slot


def later(time: str, minutes: float) -> str:
    """Return a time as UTC text, some minutes later.

    >>> later("2026-11-30T23:30:00.000Z", 45)
    '2026-12-01T00:15:00.000Z'
    """
    moved = datetime.fromisoformat(time) + timedelta(minutes=minutes)
    return moved.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def lease_is_over(session: Session, slot: Slot, protocol: StudyProtocol, now: str) -> bool:
    """Return whether a participant was away for longer than the window: since the claim and since the last event."""
    if slot.state != "claimed" or slot.lease_until is None or slot.lease_until >= now:
        return False
    last = session.scalar(select(func.max(Event.server_utc)).where(Event.rater_id == slot.rater_id))
    return last is None or later(last, protocol.resume_window_min) < now


def expire_slots(session: Session, campaign: Campaign, now: str) -> int:
    """Take the slots of participants who stayed away, in the caller's transaction; return how many.

    One who did the share of the trials that the rules of exclusion ask for keeps the answers and the slot, and
    `top_up` makes good for the rest; otherwise the slot is free again. One who did all of them, and only never
    came to the last page, is through.
    """
    protocol = protocol_of(campaign)
    query = (
        select(Slot, Rater)
        .join(Rater, Rater.id == Slot.rater_id)
        .where(Slot.campaign_id == campaign.id, Slot.state == "claimed", Slot.lease_until < now)
        .order_by(Slot.id)
    )
    n_expired = 0
    for slot, rater in session.execute(query).all():
        if not lease_is_over(session, slot, protocol, now):
            continue
        trials = [trial for trial in read_trials(session, rater, campaign) if trial.role != "practice"]
        if all(trial.is_over for trial in trials):
            stop(rater, slot, now, new_code())
            continue
        n_expired += 1
        rater.state = "expired"
        if _share_done(trials) >= (protocol.exclusions.done_min_share or 0):
            slot.state = "expired"
        else:
            free(slot)
        session.flush()
    return n_expired


def _share_done(trials: list[TrialState]) -> float:
    return sum(trial.n_events > 0 for trial in trials) / len(trials)


def stop(rater: Rater, slot: Slot, now: str, completion_code: str) -> None:
    """Set a participant through, with their code."""
    rater.state, rater.finished_at, rater.completion_code = "finished", now, completion_code
    slot.state, slot.lease_until = "finished", None


def free(slot: Slot) -> None:
    """Make a slot free for somebody else."""
    slot.state, slot.rater_id, slot.lease_until = "open", None, None
