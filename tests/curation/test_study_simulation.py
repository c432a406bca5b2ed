"""A whole study by the real store: 88 people whose confusions are known, some of them careless, some who leave."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from sqlalchemy import func, select

from curation.database import Store, check_integrity, open_store, utc_now
from curation.protocol import Practice, StudyProtocol, read_protocol
from curation.screening import counted
from curation.study import (
    expire_leases,
    finish,
    invite,
    participant_phase,
    plan_study,
    study_protocol,
    top_up,
)
from curation.study_leases import later
from curation.study_planning import PlanSummary
from curation.study_record import read_responses
from curation.study_staff import ScreenSummary, screen_study, study_status
from curation.tables import Assignment, Item, QcFlag, Rater
from tests.curation.study_run import (
    attentive,
    careless,
    enter,
    know_everything,
    rater_of,
    take_part,
    write_run,
)

N_CARELESS, N_LEAVE_EARLY, N_LEAVE_LATE = 5, 4, 2


@dataclass(frozen=True)
class Ran:
    """A study that is over, and what the simulation knows of it."""

    store: Store
    protocol: StudyProtocol
    plan: PlanSummary
    careless: set[str]
    left_early: set[str]
    left_late: set[str]
    expected: Counter[tuple[str, str]]  # (SHA-256, answer), of those who count
    screening: ScreenSummary


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    """Plan by the default protocol, at a fifth of its trials; invite; answer; screen."""
    folder = tmp_path_factory.mktemp("study")
    store = open_store(f"sqlite:///{folder / 'study.db'}")
    # what happens before the trials is tested elsewhere; here it would cost a commit a person each
    straight_in = {"instructions": "", "check": None, "practice": Practice(n_trials=0, n_correct=0)}
    fewer = {"n_images_per_cue": 88, "n_trials_per_cue": 10, "n_repeats": 2, **straight_in}
    asked = read_protocol("default").model_copy(update=fewer)
    plan = plan_study(store, "fall", write_run(folder / "run", 10), asked, seed=3)
    protocol = study_protocol(store, "fall")
    links = invite(store, "fall", plan.n_invitations, "https://cues.example.org")
    known = know_everything(store)
    rng = random.Random(20261130)  # noqa: S311
    expected: Counter[tuple[str, str]] = Counter()
    with store.read() as session:
        sha256_of = dict(session.execute(select(Item.public_id, Item.sha256)).all())
    groups: dict[str, set[str]] = {"careless": set(), "early": set(), "late": set()}
    waiting: list[int] = []
    for number, (code, link) in enumerate(links):
        rater_id = rater_of(store, link)
        enter(store, rater_id, protocol)
        if participant_phase(store, rater_id).name == "full":
            waiting.append(rater_id)
            continue
        if number < N_LEAVE_EARLY:
            groups["early"].add(code)
            take_part(store, rater_id, attentive(rng), known, n_trials=8)
            continue
        if number < N_LEAVE_EARLY + N_LEAVE_LATE:
            groups["late"].add(code)
            given = take_part(store, rater_id, attentive(rng), known, n_trials=22)
        elif number < N_LEAVE_EARLY + N_LEAVE_LATE + N_CARELESS:
            groups["careless"].add(code)
            take_part(store, rater_id, careless(rng), known)
            assert finish(store, rater_id)
            continue
        else:
            given = take_part(store, rater_id, attentive(rng), known)
            assert finish(store, rater_id)
        expected.update(
            (sha256_of[item], answer) for item, answer in given.items() if not known[item].is_photograph
        )
    assert len(waiting) == plan.n_invitations - plan.n_participants
    assert expire_leases(store, "fall", later(utc_now(), 100_000)) == N_LEAVE_EARLY + N_LEAVE_LATE
    screening = screen_study(store, "fall")
    yield Ran(store, protocol, plan, groups["careless"], groups["early"], groups["late"], expected, screening)
    store.close()


def test_the_plan_is_the_one_of_the_protocol(ran: Ran) -> None:
    assert (ran.plan.n_participants, ran.plan.n_invitations) == (88, 98)
    assert ran.plan.n_images == {"shape": 88, "texture": 88}
    assert ran.plan.n_ratings == {"shape": (10, 10), "texture": (10, 10)}
    assert ran.plan.n_trials == 2 * 10 + 8 + 2
    assert ran.plan.notes == ()


def test_the_screening_finds_exactly_the_careless_and_those_who_left_early(ran: Ran) -> None:
    by_rule: dict[str, set[str]] = {}
    for flag in ran.screening.flags:
        by_rule.setdefault(flag.rule, set()).add(flag.rater)
    assert by_rule == {"catch": ran.careless, "stopped_early": ran.left_early}
    assert ran.screening.is_registered


def test_flags_are_stored_and_every_row_stays(ran: Ran) -> None:
    with ran.store.read() as session:
        rows = session.execute(
            select(Rater.public_code, QcFlag.rule).join(QcFlag, QcFlag.rater_id == Rater.id)
        )
        assert {(code, rule) for code, rule in rows} == {(f.rater, f.rule) for f in ran.screening.flags}
        n_assigned = session.scalar(select(func.count()).select_from(Assignment))
    responses = read_responses(ran.store, "fall")
    assert len(responses) == n_assigned == 88 * 30
    assert {row.rater for row in responses if row.excluded} == ran.careless | ran.left_early


def test_what_is_read_back_is_what_the_simulation_counted(ran: Ran) -> None:
    flagged = set(ran.screening.flagged)
    kept = counted(read_responses(ran.store, "fall"), flagged, ran.protocol.exclusions)
    assert Counter((row.sha256, row.answer) for row in kept) == ran.expected
    assert ran.screening.n_counted == ran.expected.total() > 1_400


def test_the_confusions_are_those_that_were_simulated(ran: Ran) -> None:
    flagged = set(ran.screening.flagged)
    kept = counted(read_responses(ran.store, "fall"), flagged, ran.protocol.exclusions)
    shares = Counter(
        "right" if row.answer == row.superclass else "none" if row.answer == "none" else "next"
        for row in kept
    )
    assert {name: round(n / len(kept), 2) for name, n in shares.items()} == {
        "right": pytest.approx(0.90, abs=0.02),
        "next": pytest.approx(0.08, abs=0.02),
        "none": pytest.approx(0.02, abs=0.01),
    }


def test_nobody_saw_a_picture_twice_but_as_a_repeat(ran: Ran) -> None:
    rows = read_responses(ran.store, "fall")
    main = Counter((row.rater, row.sha256) for row in rows if row.role == "main")
    assert set(main.values()) == {1}
    first = {(row.rater, row.sha256): row.position for row in rows if row.role == "main"}
    again = [row for row in rows if row.role == "repeat"]
    assert len(again) == 88 * 2
    assert min(row.position - first[row.rater, row.sha256] for row in again) >= 10 // 3


def test_slots_of_those_who_left_are_free_or_kept_by_what_they_did(ran: Ran) -> None:
    status = study_status(ran.store, "fall")
    assert status.slots == {"expired": N_LEAVE_LATE, "finished": 82, "open": N_LEAVE_EARLY}
    assert status.participants == {"expired": 6, "finished": 82, "new": 10}
    assert check_integrity(ran.store) == []


def test_a_top_up_asks_for_no_more_than_what_is_missing(ran: Ran) -> None:
    before = study_status(ran.store, "fall").slots["open"]
    added = top_up(ran.store, "fall", 10)
    assert 0 < added.n_slots <= 12
    assert study_status(ran.store, "fall").slots["open"] == before + added.n_slots
    assert top_up(ran.store, "fall", 10).n_slots == 0
    assert added.n_lacking["shape"] > 0
