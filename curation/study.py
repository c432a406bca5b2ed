"""A participant's way through a study: consent, instructions, check, practice, trials, end.

Where a participant stands is derived from the database alone, so a reload, another device or a restarted server goes
on where they were. The functions that a page calls are all here; planning and the staff's side are imported.
"""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from curation.answers import ClientEvent, record_events
from curation.campaigns import find_campaign, new_code, new_participant, new_public_id, sha256_text
from curation.database import Store, utc_now
from curation.protocol import StudyProtocol
from curation.study_leases import expire_slots, later, stop
from curation.study_phase import (
    Phase,
    find_phase,
    find_phase_and_trials,
    gates_passed,
    is_done,
    participant_phase,
    slot_of,
)
from curation.study_planning import plan_study
from curation.study_record import (
    CHECK_PASSED,
    DECLINED,
    Marks,
    break_over,
    check_failed,
    participant,
    protocol_of,
    read_trials,
)
from curation.study_staff import expire_leases
from curation.study_top_up import top_up
from curation.study_withdrawal import withdraw
from curation.tables import Assignment, Campaign, CampaignItem, CurrentAnswer, Event, Rater, Slot
from curation.work_queue import Progress, Task
from data_manifests.errors import CuebenchError

__all__ = [
    "ParticipantState",
    "Phase",
    "claim_slot",
    "current_tasks",
    "decline",
    "end_break",
    "expire_leases",
    "finish",
    "give_consent",
    "invite",
    "participant_phase",
    "participant_state",
    "pass_check",
    "plan_study",
    "practice_feedback",
    "resume",
    "study_protocol",
    "top_up",
    "withdraw",
]


def study_protocol(store: Store, slug: str) -> StudyProtocol:
    """Return the protocol of a study as it was planned: exposure, labels and texts for its pages."""
    with store.read() as session:
        return protocol_of(find_campaign(session, slug, "study"))


def invite(store: Store, slug: str, n: int, base_url: str) -> list[tuple[str, str]]:
    """Make n participants; return (public code, link) of each. The tokens in the links are stored nowhere.

    The first invitations open the study.

    Raises
    ------
    CuebenchError
        If there is no such study, it takes no more answers, or the URL is none that a browser opens.
    """
    if not re.fullmatch(r"https?://[^/\s?#]+[^\s?#]*", base_url):
        raise CuebenchError(
            f"base URL {base_url}: expected http://... or https://..., where the app is reached"
        )
    with store.write() as session:
        campaign = find_campaign(session, slug, "study")
        if campaign.state not in {"draft", "open"}:
            raise CuebenchError(f"campaign {slug}: {campaign.state}; it takes no more participants")
        campaign.state = "open"
        made = [new_participant(session, campaign) for _ in range(n)]
        return [(rater.public_code, f"{base_url.rstrip('/')}/?p={token}") for rater, token in made]


def give_consent(store: Store, rater_id: int, text_sha256: str) -> None:
    """Store that a participant agreed to the consent text, or has read the instructions, whichever the hash is of.

    Raises
    ------
    CuebenchError
        If the hash is of neither, or the participant declined before.
    """
    with store.write() as session:
        rater, campaign = participant(session, rater_id, hold=True)
        protocol, marks = protocol_of(campaign), Marks(session, rater, campaign)
        if marks.has(DECLINED):
            raise CuebenchError(f"participant {rater.public_code}: declined before")
        text = {sha256_text(t): t for t in (protocol.consent, protocol.instructions)}.get(text_sha256)
        if text is None:
            raise CuebenchError("this is not the text of the study; load the page again")
        marks.add_text(text)
        _take_slot(session, rater, campaign, marks)


def decline(store: Store, rater_id: int) -> None:
    """Store that a participant does not take part; nothing else about them is."""
    with store.write() as session:
        rater, campaign = participant(session, rater_id, hold=True)
        marks = Marks(session, rater, campaign)
        if marks.has_text(protocol_of(campaign).consent):
            raise CuebenchError(f"participant {rater.public_code}: agreed before; they may withdraw")
        marks.add(DECLINED)
        rater.state = "expired"


def pass_check(store: Store, rater_id: int, answer: str) -> bool:
    """Return whether an answer to the comprehension check is right; a right one takes a slot, if any is left.

    Whoever is wrong as often as the rules of exclusion say can't go on.

    Raises
    ------
    CuebenchError
        If the participant is not at the check.
    """
    with store.write() as session:
        rater, campaign = participant(session, rater_id, hold=True)
        protocol, marks = protocol_of(campaign), Marks(session, rater, campaign)
        phase = find_phase(session, rater, campaign, utc_now())
        if marks.has(CHECK_PASSED):
            return True
        if phase.name != "check" or protocol.check is None:
            raise CuebenchError(f"participant {rater.public_code}: not at the check, but at: {phase.name}")
        if answer == protocol.check.answer:
            marks.add(CHECK_PASSED)
            _take_slot(session, rater, campaign, marks)
            return True
        marks.add(check_failed(phase.n_failures + 1))
        limit = protocol.exclusions.check_min_failed
        if limit is not None and phase.n_failures + 1 >= limit:
            rater.state = "expired"
        return False


def claim_slot(store: Store, rater_id: int) -> bool:
    """Return whether a participant has a slot, taking one if one is free; its trials become theirs.

    Slots of participants who stayed away are freed first. To be called again in phase `full`.
    """
    with store.write() as session:
        rater, campaign = participant(session, rater_id, hold=True)
        return _take_slot(session, rater, campaign, Marks(session, rater, campaign))


def _take_slot(session: Session, rater: Rater, campaign: Campaign, marks: Marks) -> bool:
    """Take the first free slot in the caller's transaction; only after every step before it."""
    if slot_of(session, rater, campaign) is not None:
        return True
    protocol, now = protocol_of(campaign), utc_now()
    allowed = campaign.state == "open" and rater.state in {"new", "started"} and not marks.has(DECLINED)
    if not allowed or not gates_passed(protocol, marks):
        return False
    expire_slots(session, campaign, now)
    slot = session.scalar(
        select(Slot)
        .where(Slot.campaign_id == campaign.id, Slot.state == "open")
        .order_by(Slot.design_row)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    if slot is None:
        return False
    slot.state, slot.rater_id = "claimed", rater.id
    slot.lease_until = later(now, protocol.resume_window_min)
    rater.state = "started"
    session.flush()
    session.execute(insert(Assignment), _assignments(slot, rater, campaign))
    return True


def _assignments(slot: Slot, rater: Rater, campaign: Campaign) -> list[dict[str, object]]:
    """Return the rows of a slot's trials: practice round by round in block 0, then the blocks from 1."""
    rows: list[dict[str, object]] = []
    n_blocks = 0
    for block in json.loads(slot.design_json):
        n_blocks += any(role != "practice" for _, role, _ in block["trials"])
        for item_id, role, presentation in block["trials"]:
            rows.append(
                {
                    "public_id": new_public_id(),
                    "campaign_id": campaign.id,
                    "rater_id": rater.id,
                    "item_id": item_id,
                    "role": role,
                    "block": 0 if role == "practice" else n_blocks,
                    "presentation": presentation,
                    "choices_json": json.dumps(block["choices"]),
                }
            )
    rows.sort(key=lambda row: (row["block"], row["presentation"] if row["block"] == 0 else 0))
    return [{**row, "position": position} for position, row in enumerate(rows)]


@dataclass(frozen=True)
class ParticipantState:
    """Where a participant stands, what they are to be shown next, and how many trials (practice aside) are over."""

    phase: Phase
    tasks: list[Task]
    progress: Progress


def participant_state(store: Store, rater_id: int, limit: int) -> ParticipantState:
    """Return where a participant stands with the next tasks: practice, or the block that they are in.

    There are no tasks on a break, nor before and after the trials.

    Raises
    ------
    CuebenchError
        If there is no such participant.
    """
    with store.read() as session:
        rater, campaign = participant(session, rater_id)
        phase, trials = find_phase_and_trials(session, rater, campaign, utc_now())
    main = [trial for trial in trials if trial.role != "practice"]
    today = utc_now()[:10]
    progress = Progress(
        n_answered=sum(trial.is_over for trial in main),
        n_total=len(main),
        n_today=sum((trial.decided_at or "")[:10] == today for trial in main),
    )
    block = {"practice": 0, "trials": phase.block}.get(phase.name)
    due = [trial for trial in trials if trial.block == block and not trial.is_over]
    tasks = [
        Task(trial.public_id, trial.item, trial.cue_kind, trial.block, tuple(json.loads(trial.choices_json)))
        for trial in due[:limit]
    ]
    return ParticipantState(phase, tasks, progress)


def current_tasks(store: Store, rater_id: int, limit: int) -> list[Task]:
    """Return what a participant is to be shown next."""
    return participant_state(store, rater_id, limit).tasks


def practice_feedback(store: Store, rater_id: int, assignment_public_id: str) -> str:
    """Return what a participant is told after a trial of practice.

    Raises
    ------
    CuebenchError
        If it is not an answered trial of practice of this participant.
    """
    with store.read() as session:
        query = (
            select(CurrentAnswer.answer, CampaignItem.expected_answer)
            .join(Assignment, Assignment.id == CurrentAnswer.assignment_id)
            .join(
                CampaignItem,
                (CampaignItem.campaign_id == Assignment.campaign_id)
                & (CampaignItem.item_id == Assignment.item_id)
                & (CampaignItem.role == Assignment.role),
            )
            .where(
                Assignment.public_id == assignment_public_id,
                Assignment.rater_id == rater_id,
                Assignment.role == "practice",
            )
        )
        row = session.execute(query).one_or_none()
    if row is None:
        raise CuebenchError("no answered trial of practice of this name")
    return "Right." if row[0] == row[1] else f"Not quite: this was {str(row[1]).replace('_', ' ')}."


def end_break(store: Store, rater_id: int) -> None:
    """Store that a participant goes on after a break; nothing happens in any other phase."""
    with store.write() as session:
        rater, campaign = participant(session, rater_id, hold=True)
        phase = find_phase(session, rater, campaign, utc_now())
        if phase.name == "break":
            Marks(session, rater, campaign).add(break_over(phase.block))


def resume(store: Store, rater_id: int, session_id: str) -> int:
    """Mark the trial that an earlier tab left on the screen as interrupted; return how many there were.

    To be called once a new tab is open. An interrupted trial comes again at the end of its block, once; an answer
    that the earlier tab still delivers counts.
    """
    with store.read() as session:
        rater, _ = participant(session, rater_id)
        query = (
            select(Assignment.public_id, Event.kind, Event.session_id)
            .join(Event, Event.assignment_id == Assignment.id)
            .outerjoin(CurrentAnswer, CurrentAnswer.assignment_id == Assignment.id)
            .where(Assignment.rater_id == rater.id, CurrentAnswer.assignment_id.is_(None))
            .order_by(Event.seq)
        )
        last = {name: (kind, tab) for name, kind, tab in session.execute(query)}
    left = [name for name, (kind, tab) in last.items() if kind == "shown" and tab != session_id]
    events = [ClientEvent(str(uuid.uuid4()), name, "interrupted") for name in left]
    acks = record_events(store, rater_id, session_id, events)
    return sum(ack.status == "stored" for ack in acks)


def finish(store: Store, rater_id: int) -> str | None:
    """Return the completion code of a participant, made once every trial is over; None before that."""
    with store.write() as session:
        rater, campaign = participant(session, rater_id, hold=True)
        if rater.state == "finished":
            return rater.completion_code
        slot = slot_of(session, rater, campaign)
        if slot is None or slot.state != "claimed":
            return None
        trials = read_trials(session, rater, campaign)
        if not all(map(is_done, trials)):
            return None
        stop(rater, slot, utc_now(), new_code())
        return rater.completion_code
