"""Where a participant of a study stands, derived from the database alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from curation.campaigns import sha256_text
from curation.database import Store, utc_now
from curation.protocol import StudyProtocol
from curation.study_leases import lease_is_over
from curation.study_record import (
    CHECK_PASSED,
    DECLINED,
    Marks,
    TrialState,
    break_over,
    participant,
    protocol_of,
    read_trials,
)
from curation.tables import Campaign, Rater, Slot

PhaseName = Literal[
    "consent",
    "declined",
    "instructions",
    "check",
    "practice",
    "trials",
    "break",
    "finished",
    "full",
    "expired",
    "withdrawn",
]

_TEXTS: dict[str, str] = {
    "declined": "You chose not to take part. Only that is stored, and nothing about you. You may close this page.",
    "full": "All places are taken just now. Please come back later: a place may become free.",
    "closed": "This study is closed. Thank you for your interest.",
    "expired": "Your place was given to somebody else, because you were away for long. Thank you for your time.",
    "check": "That was not what the instructions ask for, so we can't go on. Thank you for your time.",
    "practice": "The practice did not work out, so we can't go on. Thank you for your time.",
    "withdrawn": "Your answers were removed. Thank you for your time.",
}


@dataclass(frozen=True)
class Phase:
    """Where a participant stands, and what its page needs.

    Attributes
    ----------
    text : what the page says: the consent, the instructions, or why it ends here
    text_sha256 : what `give_consent` takes for the consent and the instructions
    question, options, n_failures : of the comprehension check
    block, n_blocks : number of the block of trials, from 1 (on a break: the one that comes next)
    n_done, n_total : trials of this block, or of the practice; on other pages of the whole study
    completion_code : once `finish` gave it; phase `finished` without it means that `finish` is to be called
    """

    name: PhaseName
    text: str = ""
    text_sha256: str = ""
    question: str = ""
    options: tuple[str, ...] = ()
    n_failures: int = 0
    block: int = 0
    n_blocks: int = 0
    n_done: int = 0
    n_total: int = 0
    completion_code: str | None = None


def participant_phase(store: Store, rater_id: int, now: str | None = None) -> Phase:
    """Return where a participant stands, from the database alone; nothing is changed.

    Raises
    ------
    CuebenchError
        If there is no such participant.
    """
    with store.read() as session:
        rater, campaign = participant(session, rater_id)
        return find_phase(session, rater, campaign, now or utc_now())


def find_phase(session: Session, rater: Rater, campaign: Campaign, now: str) -> Phase:
    """Return where a participant stands, in the caller's transaction."""
    return find_phase_and_trials(session, rater, campaign, now)[0]


def find_phase_and_trials(
    session: Session, rater: Rater, campaign: Campaign, now: str
) -> tuple[Phase, list[TrialState]]:
    """Return where a participant stands, and their trials as far as there are any."""
    protocol, marks = protocol_of(campaign), Marks(session, rater, campaign)
    ended = _phase_at_end(session, rater, campaign, marks)
    if ended is not None:
        return ended, []
    slot = slot_of(session, rater, campaign)
    trials = read_trials(session, rater, campaign) if slot is not None else []
    if trials and all(map(is_done, trials)):  # whatever happened meanwhile, they did their part
        return _phase_of_trials(protocol, marks, trials), trials
    if campaign.state != "open":
        return Phase("full", _TEXTS["closed"]), trials
    before = _phase_before_slot(protocol, marks)
    if before is not None:
        return before, trials
    if slot is None:
        return Phase("full", _TEXTS["full"]), trials
    if lease_is_over(session, slot, protocol, now):
        return Phase("expired", _TEXTS["expired"]), trials
    return _phase_of_trials(protocol, marks, trials), trials


def _phase_at_end(session: Session, rater: Rater, campaign: Campaign, marks: Marks) -> Phase | None:
    """Return the phase of a participant who is through, or can't go on."""
    if rater.state == "withdrawn":
        return Phase("withdrawn", _TEXTS["withdrawn"])
    if rater.state == "finished":
        return Phase("finished", completion_code=rater.completion_code)
    if marks.has(DECLINED):
        return Phase("declined", _TEXTS["declined"])
    if rater.state == "expired":
        reason = _reason_to_stop(session, rater, campaign, protocol_of(campaign), marks)
        return Phase("expired", _TEXTS[reason])
    return None


def _reason_to_stop(
    session: Session, rater: Rater, campaign: Campaign, protocol: StudyProtocol, marks: Marks
) -> str:
    if not gates_passed(protocol, marks):
        return "check"
    practice = [t for t in read_trials(session, rater, campaign) if t.role == "practice"]
    failed = practice and all(t.is_over for t in practice) and not practice_passed(practice, protocol)
    return "practice" if failed else "expired"


def _phase_before_slot(protocol: StudyProtocol, marks: Marks) -> Phase | None:
    """Return the first step before the trials that is still to be taken."""
    for name, text in (("consent", protocol.consent), ("instructions", protocol.instructions)):
        if text and not marks.has_text(text):
            return Phase("consent" if name == "consent" else "instructions", text, sha256_text(text))
    check = protocol.check
    if check is not None and not marks.has(CHECK_PASSED):
        return Phase(
            "check",
            protocol.instructions,
            question=check.question,
            options=check.options,
            n_failures=marks.n_check_failures,
        )
    return None


def gates_passed(protocol: StudyProtocol, marks: Marks) -> bool:
    """Return whether a participant took every step before the trials."""
    return _phase_before_slot(protocol, marks) is None


def is_done(trial: TrialState) -> bool:
    """Return whether a trial holds nobody up: it is over, or of the practice."""
    return trial.role == "practice" or trial.is_over


def _phase_of_trials(protocol: StudyProtocol, marks: Marks, trials: Sequence[TrialState]) -> Phase:
    practice = [trial for trial in trials if trial.role == "practice"]
    main = [trial for trial in trials if trial.role != "practice"]
    blocks = sorted({trial.block for trial in main})
    if not practice_passed(practice, protocol):
        n_over = sum(trial.is_over for trial in practice)
        if n_over == len(practice):
            return Phase("expired", _TEXTS["practice"])
        return Phase("practice", n_blocks=len(blocks), n_done=n_over, n_total=len(practice))
    for block in blocks:
        of_block = [trial for trial in main if trial.block == block]
        n_over = sum(trial.is_over for trial in of_block)
        if n_over == len(of_block):
            continue
        begun = any(trial.n_events for trial in of_block) or marks.has(break_over(block))
        name: PhaseName = "trials" if begun or block == blocks[0] else "break"
        return Phase(name, block=block, n_blocks=len(blocks), n_done=n_over, n_total=len(of_block))
    return Phase("finished", n_blocks=len(blocks), n_done=len(main), n_total=len(main))


def practice_passed(practice: Sequence[TrialState], protocol: StudyProtocol) -> bool:
    """Return whether, at any moment, enough of the last trials of practice were right.

    As many trials as a round has are looked back at; a round smaller than planned (few pictures) lowers the
    number of right ones to all of it.
    """
    size = sum(trial.presentation == 1 for trial in practice)
    needed = min(protocol.practice.n_correct, size)
    right = [t.answer == t.cue_expected for t in sorted(practice, key=lambda t: t.position) if t.is_over]
    return any(sum(right[end - size : end]) >= needed for end in range(size, len(right) + 1))


def slot_of(session: Session, rater: Rater, campaign: Campaign) -> Slot | None:
    """Return the slot that a participant took, if any."""
    query = select(Slot).where(Slot.campaign_id == campaign.id, Slot.rater_id == rater.id)
    return session.scalar(query)
