from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from curation.answers import ClientEvent, open_session, record_events
from curation.campaigns import participant_of, sha256_text
from curation.database import Store, check_integrity, utc_now
from curation.protocol import StudyProtocol
from curation.study import (
    claim_slot,
    current_tasks,
    decline,
    end_break,
    expire_leases,
    finish,
    give_consent,
    invite,
    participant_phase,
    pass_check,
    plan_study,
    practice_feedback,
    resume,
    study_protocol,
    top_up,
    withdraw,
)
from curation.study_leases import later
from curation.study_record import read_responses
from curation.study_staff import screen_study, study_status
from curation.tables import Assignment, Campaign, Consent, CurrentAnswer, Event, Rater, Slot, Withdrawal
from data_manifests.errors import CuebenchError
from tests.curation.study_run import (
    Seen,
    Simulated,
    answer_tasks,
    enter,
    know_everything,
    practise,
    rater_of,
    take_part,
    write_run,
)

SURE = Simulated(lambda seen, _: seen.superclass, lambda: 900)
SHAPES, TEXTURES = ("clock", "soccer_ball", "mouse"), ("tiger", "zebra", "honeycomb")
SMALL: dict[str, Any] = {
    "name": "small",
    "n_images_per_cue": 12,
    "n_ratings_per_image": 2,
    "min_ratings_per_image": 2,
    "n_trials_per_cue": 6,
    "n_catch": 2,
    "n_repeats": 2,
    "practice": {"n_trials": 2, "n_correct": 2, "max_rounds": 2},
    "exclusions": {"wrong_cue_min_consistency": None, "same_max_share": None},
}


@dataclass(frozen=True)
class Study:
    """A small planned study: four participants, six trials of each kind."""

    store: Store
    protocol: StudyProtocol
    known: dict[str, Seen]

    def arrive(self) -> int:
        """Invite one participant and return their id."""
        ((_, link),) = invite(self.store, "fall", 1, "https://cues.example.org/")
        return rater_of(self.store, link)

    def start(self) -> int:
        """Return a participant who is past the practice."""
        rater_id = self.arrive()
        enter(self.store, rater_id, self.protocol)
        practise(self.store, rater_id, self.known)
        return rater_id

    def code_of(self, rater_id: int) -> str:
        with self.store.read() as session:
            return session.get_one(Rater, rater_id).public_code

    def tell(self, rater_id: int, assignment: str, kind: str, session_id: str | None = None) -> None:
        event = ClientEvent(str(uuid.uuid4()), assignment, kind)
        (ack,) = record_events(self.store, rater_id, session_id, [event])
        assert ack.status == "stored"


def plan(store: Store, folder: Path, **changes: object) -> Study:
    run = write_run(folder / "run", 6, SHAPES, TEXTURES)
    plan_study(store, "fall", run, StudyProtocol.model_validate({**SMALL, **changes}), seed=1)
    return Study(store, study_protocol(store, "fall"), know_everything(store))


@pytest.fixture
def study(record: Store, tmp_path: Path) -> Study:
    return plan(record, tmp_path)


def test_the_way_of_a_participant_from_consent_to_the_code(study: Study) -> None:
    store, rater_id = study.store, study.arrive()
    phase = participant_phase(store, rater_id)
    assert (phase.name, phase.text, phase.text_sha256) == (
        "consent", study.protocol.consent, sha256_text(study.protocol.consent),
    )  # fmt: skip
    give_consent(store, rater_id, phase.text_sha256)
    phase = participant_phase(store, rater_id)
    assert (phase.name, phase.text) == ("instructions", study.protocol.instructions)
    give_consent(store, rater_id, phase.text_sha256)
    phase = participant_phase(store, rater_id)
    assert study.protocol.check is not None
    assert (phase.name, phase.question, phase.options) == (
        "check", study.protocol.check.question, study.protocol.check.options,
    )  # fmt: skip
    assert current_tasks(store, rater_id, 5) == []
    assert pass_check(store, rater_id, study.protocol.check.answer)
    phase = participant_phase(store, rater_id)
    assert (phase.name, phase.n_done, phase.n_total, phase.n_blocks) == ("practice", 0, 4, 2)
    practise(store, rater_id, study.known)
    phase = participant_phase(store, rater_id)
    assert (phase.name, phase.block, phase.n_done, phase.n_total) == ("trials", 1, 0, 8)
    answer_tasks(store, rater_id, current_tasks(store, rater_id, 100), SURE, study.known)
    phase = participant_phase(store, rater_id)
    assert (phase.name, phase.block, phase.n_done, phase.n_total) == ("break", 2, 0, 8)
    assert current_tasks(store, rater_id, 5) == []
    assert finish(store, rater_id) is None
    end_break(store, rater_id)
    assert participant_phase(store, rater_id).name == "trials"
    answer_tasks(store, rater_id, current_tasks(store, rater_id, 100), SURE, study.known)
    phase = participant_phase(store, rater_id)
    assert (phase.name, phase.completion_code, phase.n_done) == ("finished", None, 16)
    code = finish(store, rater_id)
    assert code is not None
    assert finish(store, rater_id) == code
    assert participant_phase(store, rater_id).completion_code == code
    assert pass_check(store, rater_id, "too late") is True


def test_a_block_holds_one_cue_kind_and_choices_in_one_order(study: Study) -> None:
    rater_id = study.start()
    first = current_tasks(study.store, rater_id, 100)
    assert len({task.cue_kind for task in first}) == 1
    assert len({task.choices for task in first}) == 1
    names = SHAPES if first[0].cue_kind == "shape" else TEXTURES
    assert sorted(first[0].choices) == sorted([*names, "none"])
    assert first[0].choices[-1] == "none"
    assert current_tasks(study.store, rater_id, 3) == first[:3]


def test_practice_tells_right_from_wrong_and_goes_a_second_round(study: Study) -> None:
    store, rater_id = study.store, study.arrive()
    enter(store, rater_id, study.protocol)
    first = current_tasks(store, rater_id, 2)
    answer_tasks(store, rater_id, first[:1], SURE, study.known)
    answer_tasks(store, rater_id, first[1:], Simulated(lambda *_: "none", lambda: 900), study.known)
    assert practice_feedback(store, rater_id, first[0].assignment) == "Right."
    wrong = study.known[first[1].item].superclass.replace("_", " ")
    assert practice_feedback(store, rater_id, first[1].assignment) == f"Not quite: this was {wrong}."
    assert participant_phase(store, rater_id).name == "practice"
    second = current_tasks(store, rater_id, 9)
    assert {task.item for task in second} == {task.item for task in first}
    answer_tasks(store, rater_id, second, SURE, study.known)
    assert participant_phase(store, rater_id).name == "trials"
    with pytest.raises(CuebenchError, match="no answered trial of practice of this name"):
        practice_feedback(store, rater_id, current_tasks(store, rater_id, 1)[0].assignment)


def test_a_failed_practice_ends_the_study_for_them(study: Study) -> None:
    rater_id = study.arrive()
    enter(study.store, rater_id, study.protocol)
    wrong = Simulated(lambda *_: "none", lambda: 900)
    answer_tasks(study.store, rater_id, current_tasks(study.store, rater_id, 9), wrong, study.known)
    phase = participant_phase(study.store, rater_id)
    assert (phase.name, phase.text) == (
        "expired", "The practice did not work out, so we can't go on. Thank you for your time.",
    )  # fmt: skip
    assert expire_leases(study.store, "fall", later(utc_now(), 1_000)) == 1
    assert participant_phase(study.store, rater_id) == phase
    assert study_status(study.store, "fall").slots == {"open": 4}


def test_a_check_failed_twice_ends_the_study_and_is_flagged(study: Study) -> None:
    store, rater_id = study.store, study.arrive()
    for text in (study.protocol.consent, study.protocol.instructions):
        give_consent(store, rater_id, sha256_text(text))
    assert not pass_check(store, rater_id, "The colour that I like best")
    assert participant_phase(store, rater_id).n_failures == 1
    assert not pass_check(store, rater_id, "The colour that I like best")
    assert participant_phase(store, rater_id).name == "expired"
    assert "not what the instructions ask for" in participant_phase(store, rater_id).text
    with pytest.raises(CuebenchError, match="not at the check, but at: expired"):
        pass_check(store, rater_id, "What the pattern belongs to")
    assert not claim_slot(store, rater_id)
    (flag,) = screen_study(store, "fall").flags
    assert (flag.rater, flag.rule, flag.value) == (study.code_of(rater_id), "comprehension", "2")
    assert study_status(store, "fall").participants == {"failed check": 1}


def test_who_failed_the_check_is_among_the_raters_that_are_screened(study: Study) -> None:
    store = study.store
    take_part(store, rater_id := study.start(), Simulated(lambda *_: "none", lambda: 300), study.known)
    assert finish(store, rater_id)
    failed = study.arrive()
    for text in (study.protocol.consent, study.protocol.instructions):
        give_consent(store, failed, sha256_text(text))
    for _ in range(2):
        assert not pass_check(store, failed, "The colour that I like best")
    found = screen_study(store, "fall")
    assert found.flagged == sorted([study.code_of(rater_id), study.code_of(failed)])
    assert "2 of 2 raters flagged; 0 responses count" in found.to_text()


def test_declining_stores_nothing_but_that(study: Study) -> None:
    store, rater_id = study.store, study.arrive()
    decline(store, rater_id)
    assert participant_phase(store, rater_id).name == "declined"
    assert study_status(store, "fall").participants == {"declined": 1}
    with store.read() as session:
        assert session.scalar(select(func.count()).select_from(Consent)) == 1
    with pytest.raises(CuebenchError, match="declined before"):
        give_consent(store, rater_id, sha256_text(study.protocol.consent))
    agreed = study.start()
    with pytest.raises(CuebenchError, match="agreed before; they may withdraw"):
        decline(store, agreed)


def test_consent_to_another_text_is_refused(study: Study) -> None:
    with pytest.raises(CuebenchError, match="this is not the text of the study; load the page again"):
        give_consent(study.store, study.arrive(), sha256_text("an older text"))


def test_a_reviewer_is_no_participant(study: Study) -> None:
    with pytest.raises(CuebenchError, match="rater 999: not a participant of a study"):
        participant_phase(study.store, 999)


def test_more_participants_than_slots_find_the_study_full_until_one_is_free(study: Study) -> None:
    started = [study.start() for _ in range(4)]
    late = study.arrive()
    enter(study.store, late, study.protocol)
    assert participant_phase(study.store, late).name == "full"
    assert not claim_slot(study.store, late)
    withdraw(study.store, study.code_of(started[2]))
    assert claim_slot(study.store, late)
    assert claim_slot(study.store, late)
    assert participant_phase(study.store, late).name == "practice"
    with study.store.read() as session:
        rows = session.execute(select(Slot.rater_id, Slot.state).order_by(Slot.design_row)).all()
    assert [tuple(row) for row in rows] == [(r, "claimed") for r in (*started[:2], late, started[3])]


def test_nobody_takes_a_slot_before_the_check(study: Study) -> None:
    rater_id = study.arrive()
    give_consent(study.store, rater_id, sha256_text(study.protocol.consent))
    assert not claim_slot(study.store, rater_id)


def test_an_interrupted_trial_comes_again_at_the_end_of_the_block_once(study: Study) -> None:
    store, rater_id = study.store, study.start()
    with store.read() as session:
        campaign_id = session.scalars(select(Campaign.id)).one()
    order = [task.assignment for task in current_tasks(store, rater_id, 100)]
    for number, expected in enumerate([[*order[1:], order[0]], order[1:]]):
        open_session(store, rater_id, campaign_id, f"tab {number}")
        study.tell(rater_id, order[0], "shown", f"tab {number}")
        assert resume(store, rater_id, f"tab {number}") == 0  # the tab's own trial
        open_session(store, rater_id, campaign_id, f"next tab {number}")
        assert resume(store, rater_id, f"next tab {number}") == 1
        assert resume(store, rater_id, f"next tab {number}") == 0
        assert [task.assignment for task in current_tasks(store, rater_id, 100)] == expected
        assert [task.assignment for task in current_tasks(store, rater_id, 2)] == expected[:2]
    with store.read() as session:
        kinds = session.scalars(
            select(Event.kind)
            .join(Assignment, Assignment.id == Event.assignment_id)
            .where(Assignment.public_id == order[0])
            .order_by(Event.seq)
        ).all()
    assert kinds == ["shown", "interrupted"] * 2
    take_part(store, rater_id, SURE, study.known)
    assert finish(store, rater_id)


def test_an_answer_that_comes_after_the_interruption_counts(study: Study) -> None:
    store, rater_id = study.store, study.start()
    first = current_tasks(store, rater_id, 1)
    study.tell(rater_id, first[0].assignment, "shown")
    with store.read() as session:
        campaign_id = session.scalars(select(Campaign.id)).one()
    open_session(store, rater_id, campaign_id, "a new tab")
    assert resume(store, rater_id, "a new tab") == 1
    answer_tasks(store, rater_id, first, SURE, study.known)
    assert first[0].assignment not in {task.assignment for task in current_tasks(store, rater_id, 100)}


def test_a_trial_that_timed_out_is_over_and_missing(study: Study) -> None:
    store, rater_id = study.store, study.start()
    first, second = current_tasks(store, rater_id, 2)
    study.tell(rater_id, first.assignment, "timeout")
    assert current_tasks(store, rater_id, 1) == [second]
    take_part(store, rater_id, SURE, study.known)
    assert finish(store, rater_id)
    missing = [row for row in read_responses(store, "fall") if row.reached and row.answer is None]
    assert len(missing) == 1


def test_who_stays_away_loses_the_place_and_who_answers_keeps_it(study: Study) -> None:
    store, rater_id = study.store, study.start()
    window = study.protocol.resume_window_min
    assert participant_phase(store, rater_id, later(utc_now(), window - 1)).name == "trials"
    away = later(utc_now(), window + 1)
    assert participant_phase(store, rater_id, away).name == "expired"
    assert expire_leases(store, "fall", later(utc_now(), window - 1)) == 0
    assert expire_leases(store, "fall", away) == 1
    assert participant_phase(store, rater_id).text.startswith("Your place was given to somebody else")
    assert study_status(store, "fall").slots == {"open": 4}
    assert finish(store, rater_id) is None
    assert not claim_slot(store, rater_id)


def test_who_did_half_keeps_the_answers_and_who_did_all_is_through(study: Study) -> None:
    half, whole = study.start(), study.start()
    take_part(study.store, half, SURE, study.known, n_trials=8)
    take_part(study.store, whole, SURE, study.known)
    assert expire_leases(study.store, "fall", later(utc_now(), 10_000)) == 1
    assert study_status(study.store, "fall").slots == {"expired": 1, "finished": 1, "open": 2}
    assert participant_phase(study.store, whole).completion_code is not None
    assert screen_study(study.store, "fall").flagged == []


def test_withdrawing_removes_the_answers_and_nothing_else(study: Study) -> None:
    store = study.store
    gone, stays = study.start(), study.start()
    for rater_id in (gone, stays):
        take_part(store, rater_id, SURE, study.known, n_trials=5)
    n_rows = len(read_responses(store, "fall"))
    code = study.code_of(gone)
    n_redacted = withdraw(store, code.lower(), "by mail")
    assert n_redacted == 2 + 5
    assert withdraw(store, code) == n_redacted
    assert participant_phase(store, gone).name == "withdrawn"
    with store.read() as session:
        events = session.scalars(select(Event).where(Event.rater_id == gone)).all()
        assert len(events) == n_redacted
        assert {(e.answer, e.note, e.rt_ms, e.client_utc) for e in events} == {(None, "", None, None)}
        standing = select(func.count()).select_from(CurrentAnswer).join(Assignment)
        assert session.scalar(standing.where(Assignment.rater_id == gone)) == 0
        assert session.scalar(standing.where(Assignment.rater_id == stays)) == n_redacted
        row = session.get_one(Withdrawal, gone)
        assert (row.reason, row.n_redacted) == ("by mail", n_redacted)
    assert len(read_responses(store, "fall")) == n_rows
    assert study_status(store, "fall").slots == {"claimed": 1, "open": 3}
    assert check_integrity(store) == []
    with pytest.raises(CuebenchError, match="rater 22222222: no such code"):
        withdraw(store, "22222222")


def test_only_the_rules_of_the_protocol_leave_flags(study: Study) -> None:
    store, rater_id = study.store, study.start()
    take_part(store, rater_id, Simulated(lambda *_: "none", lambda: 300), study.known)
    first = screen_study(store, "fall")
    assert {flag.rule for flag in first.flags} == {"catch", "median_rt"}
    assert first.is_registered
    assert first.rules_sha256 == study.protocol.exclusions.sha256
    lenient = study.protocol.exclusions.model_copy(update={"median_min_rt_ms": None})
    second = screen_study(store, "fall", lenient)
    assert {flag.rule for flag in second.flags} == {"catch"}
    assert not second.is_registered
    assert "NOT those of the protocol" in second.to_text()
    for _ in range(2):
        assert {row.excluded for row in read_responses(store, "fall")} == {("catch", "median_rt")}
        assert screen_study(store, "fall") == first


def test_a_top_up_counts_who_is_under_way_and_leaves_out_who_is_flagged(study: Study) -> None:
    store = study.store
    assert top_up(store, "fall").n_slots == 0
    assert top_up(store, "fall", 3).n_slots == 2
    for _ in range(6):
        take_part(store, rater_id := study.start(), SURE, study.known)
        assert finish(store, rater_id)
    counts = study_status(store, "fall").images
    assert {(c.n_images, c.fewest, c.most, c.n_below) for c in counts.values()} == {(12, 3, 3, 0)}
    assert top_up(store, "fall", 3).n_slots == 0
    added = top_up(store, "fall", 4)
    assert (added.n_slots, added.n_lacking) == (2, {"shape": 12, "texture": 12})
    again = top_up(store, "fall", 4)
    assert (again.n_slots, again.n_below, again.n_lacking) == (
        0, {"shape": 12, "texture": 12}, {"shape": 0, "texture": 0},
    )  # fmt: skip
    take_part(store, rater_id := study.start(), Simulated(lambda *_: "none", lambda: 300), study.known)
    assert finish(store, rater_id)
    assert top_up(store, "fall", 4).n_slots == 1


def test_a_study_that_is_frozen_takes_nobody(study: Study) -> None:
    rater_id = study.arrive()
    with study.store.write() as session:
        session.scalars(select(Campaign)).one().state = "frozen"
    phase = participant_phase(study.store, rater_id)
    assert (phase.name, phase.text) == ("full", "This study is closed. Thank you for your interest.")
    with pytest.raises(CuebenchError, match="campaign fall: frozen; it takes no more participants"):
        invite(study.store, "fall", 1, "https://cues.example.org")
    with pytest.raises(CuebenchError, match="campaign fall: frozen; it takes no more answers"):
        top_up(study.store, "fall")


def test_who_did_all_gets_the_code_even_of_a_study_that_is_frozen(study: Study) -> None:
    done, begun = study.start(), study.start()
    take_part(study.store, done, SURE, study.known)
    with study.store.write() as session:
        session.scalars(select(Campaign)).one().state = "frozen"
    assert participant_phase(study.store, done, later(utc_now(), 10_000)).name == "finished"
    assert finish(study.store, done)
    assert participant_phase(study.store, begun).name == "full"
    assert current_tasks(study.store, begun, 5) == []


def test_links_are_made_once_and_stored_as_hashes(study: Study) -> None:
    links = invite(study.store, "fall", 3, "https://cues.example.org/")
    tokens = [link.removeprefix("https://cues.example.org/?p=") for _, link in links]
    assert len(set(tokens)) == 3
    with study.store.read() as session:
        assert all(participant_of(session, token) is not None for token in tokens)
        stored = session.scalars(select(Rater.token_sha256)).all()
    assert not set(stored) & set(tokens)
    assert set(stored) == {sha256_text(token) for token in tokens}


@pytest.mark.parametrize(
    "url", ["notaurl", "cues.example.org", "ftp://cues.example.org", "https://", "https:///x"]
)
def test_a_link_that_no_browser_opens_is_refused(study: Study, url: str) -> None:
    with pytest.raises(CuebenchError, match=r"base URL .*: expected http://\.\.\. or https://\.\.\."):
        invite(study.store, "fall", 1, url)
    assert study_status(study.store, "fall").participants == {}


def test_a_slot_goes_to_one_of_many_who_ask_at_the_same_time(study: Study) -> None:
    waiting = [study.arrive() for _ in range(12)]
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda rater_id: enter(study.store, rater_id, study.protocol), waiting))
    phases = [participant_phase(study.store, rater_id).name for rater_id in waiting]
    assert sorted(phases) == ["full"] * 8 + ["practice"] * 4


def test_withdrawing_after_the_end_frees_no_place(study: Study) -> None:
    rater_id = study.start()
    take_part(study.store, rater_id, SURE, study.known)
    assert finish(study.store, rater_id)
    with study.store.write() as session:
        session.scalars(select(Campaign)).one().state = "frozen"
    withdraw(study.store, study.code_of(rater_id))
    assert study_status(study.store, "fall").slots == {"expired": 1, "open": 3}
    assert {row.answer for row in read_responses(study.store, "fall")} == {None}
