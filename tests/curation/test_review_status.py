from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
from sqlalchemy import delete, select, update

from curation.answers import ClientEvent, record_events
from curation.campaigns import new_participant, staff
from curation.database import Store
from curation.review import accepted_hashes, adjudicate, assign, import_review, review_status, splits
from curation.review_votes import verdict_state
from curation.tables import Adjudication, Campaign, CurrentAnswer, Event, Slot
from data_manifests.errors import CuebenchError
from tests.curation.review_run import Showing, answer, showings, write_cues, write_images

PAIR = ["ada", "bo"]


@pytest.fixture
def judge(record: Store, tmp_path: Path) -> int:
    """Begin a review in which everything is judged twice; return the id of a third person."""
    import_review(record, "first", str(write_cues(tmp_path / "run", 5)), overlap=1.0, repeat_share=0)
    assign(record, "first", PAIR)
    with record.write() as session:
        return staff(session, "judge", "adjudicator").id


def of_class(record: Store, superclass: str, reviewer: str | None = None) -> dict[str, list[Showing]]:
    """Return the showings of each picture of a class, by its public id."""
    found: dict[str, list[Showing]] = {}
    for showing in showings(record, "first", reviewer):
        if showing.superclass == superclass and showing.role == "main":
            found.setdefault(showing.item, []).append(showing)
    return dict(sorted(found.items()))


def vote(record: Store, pair: list[Showing], *answers: str) -> None:
    for showing, said in zip(pair, answers, strict=False):
        answer(record, [showing], said)


@pytest.mark.parametrize(
    ("answers", "n_expected", "state"),
    [
        ([], 1, "undecided"),
        (["accept"], 1, "accepted"),
        (["accept"], 2, "undecided"),
        (["reject"], 2, "undecided"),
        (["accept", "accept"], 2, "accepted"),
        (["reject", "reject"], 2, "rejected"),
        (["accept", "reject"], 2, "split"),
        (["accept", "reject"], 3, "split"),
        (["accept", "unsure"], 2, "split"),
        (["reject", "unsure"], 2, "split"),
        (["unsure"], 1, "unsure"),
        (["unsure", "unsure"], 2, "unsure"),
    ],
)
def test_what_verdicts_come_to(answers: list[str], n_expected: int, state: str) -> None:
    assert verdict_state(answers, n_expected) == state


def test_the_states_of_pictures_are_counted_by_class(record: Store, judge: int) -> None:
    pairs = list(of_class(record, "clock").values())
    vote(record, pairs[0], "accept", "accept")
    vote(record, pairs[1], "reject", "reject")
    vote(record, pairs[2], "accept", "reject")
    vote(record, pairs[3], "unsure", "unsure")
    vote(record, pairs[4], "accept")
    status = review_status(record, "first")
    clock, zebra = status.classes
    assert (clock.n_items, clock.n_judged, clock.n_judged_twice, clock.n_accepted) == (5, 5, 4, 1)
    assert clock.states == {
        "undecided": 1, "accepted": 1, "rejected": 1, "unsure": 1, "split": 1, "stale": 0,
    }  # fmt: skip
    assert (zebra.n_items, zebra.n_judged, zebra.states["undecided"]) == (5, 0, 5)
    assert (status.n_judged_twice, status.n_agreeing) == (4, 3)
    assert status.states["undecided"] == 6
    assert status.reasons == {"shape": {"wrong_class": 3}}
    by_hash = accepted_hashes(record, "first")
    assert [by_hash[pair[0].sha256] for pair in pairs] == [
        "accepted",
        "rejected",
        "split",
        "unsure",
        "undecided",
    ]


def test_an_undone_verdict_no_longer_counts(record: Store, judge: int) -> None:
    pair = next(iter(of_class(record, "clock").values()))
    vote(record, pair, "accept", "reject")
    record_events(record, pair[1].rater_id, None, [ClientEvent(str(uuid.uuid4()), pair[1].id, "undo")])
    assert accepted_hashes(record, "first")[pair[0].sha256] == "undecided"
    answer(record, [pair[1]], "accept")
    assert accepted_hashes(record, "first")[pair[0].sha256] == "accepted"


def test_a_second_verdict_that_nobody_was_asked_for_is_not_waited_for(record: Store, tmp_path: Path) -> None:
    import_review(record, "first", str(write_cues(tmp_path / "run", 2)), overlap=1.0)
    assign(record, "first", ["ada"])
    answer(record, showings(record, "first"), "accept")
    assert set(accepted_hashes(record, "first").values()) == {"accepted"}
    assign(record, "first", ["bo"])
    assert set(accepted_hashes(record, "first").values()) == {"undecided"}


def test_repeats_and_known_bad_pictures_measure_reviewers_and_decide_nothing(
    record: Store, tmp_path: Path
) -> None:
    bad = write_images(tmp_path / "bad", [f"shape/clock/{n}.png" for n in range(4)])
    run = str(write_cues(tmp_path / "run", 20))
    import_review(record, "first", run, overlap=0, repeat_share=0.1, known_bad=str(bad))
    assign(record, "first", ["ada"])
    queue = showings(record, "first")
    answer(record, [s for s in queue if s.role == "main"], "accept")
    repeats = [s for s in queue if s.role == "repeat"]
    answer(record, repeats, lambda showing: "reject" if showing is repeats[0] else "accept")
    caught = [s for s in queue if s.role == "known_bad"]
    answer(record, caught, lambda showing: "unsure" if showing is caught[0] else "reject")
    status = review_status(record, "first")
    row = status.reviewers[0]
    assert (row.n_repeats, row.n_same, row.n_known_bad, row.n_caught) == (4, 3, 4, 3)
    assert (row.n_assigned, row.n_answered, row.answers) == (48, 48, {"accept": 40})
    assert row.n_answered == row.answers["accept"] + row.n_repeat_answers + row.n_known_bad
    assert status.states["accepted"] == 40
    assert status.reasons == {}
    assert set(accepted_hashes(record, "first").values()) == {"accepted"}


def test_verdicts_count_however_the_queue_came_about(record: Store, judge: int) -> None:
    pair = next(iter(of_class(record, "clock").values()))
    vote(record, pair, "accept", "accept")
    before = review_status(record, "first")
    with record.write() as session:
        session.execute(delete(Slot))
    assert review_status(record, "first") == before
    assert accepted_hashes(record, "first")[pair[0].sha256] == "accepted"


def test_the_status_reads_as_tables(record: Store, judge: int) -> None:
    pair = next(iter(of_class(record, "clock").values()))
    vote(record, pair, "accept", "reject")
    lines = review_status(record, "first").to_text().splitlines()
    assert lines[0] == "review first: open"
    assert lines[1].split()[:6] == ["kind", "class", "items", "judged", "twice", "undecided"]
    assert lines[2].split() == ["shape", "clock", "5", "1", "1", "4", "0", "0", "0", "1", "0", "0"]
    assert lines[4].split() == ["all", "10", "1", "1", "9", "0", "0", "0", "1", "0", "0"]
    assert lines[6].split()[:7] == ["reviewer", "answered", "of", "accept", "reject", "unsure", "repeats"]
    assert lines[7].split() == ["ada", "1", "10", "1", "0", "0", "0", "0", "0/0", "0/0"]
    assert lines[10:] == ["judged twice or more: 1, all verdicts alike: 0", "reasons, shape: wrong_class 1"]


def test_the_status_is_plain_json(record: Store, judge: int) -> None:
    content = json.loads(json.dumps(review_status(record, "first").to_json()))
    assert (content["slug"], content["classes"][0]["superclass"]) == ("first", "clock")


def test_splits_show_votes_without_names(record: Store, judge: int) -> None:
    (one, pair), (other, unsure) = list(of_class(record, "clock").items())[:2]
    record_events(
        record, pair[0].rater_id, None,
        [ClientEvent("1", pair[0].id, "answer", "reject", ("cropped", "ambiguous"), note="half of it")],
    )  # fmt: skip
    answer(record, [pair[1]], "accept")
    vote(record, unsure, "unsure", "unsure")
    found = {split.item: split for split in splits(record, "first")}
    assert set(found) == {one, other}
    split = found[one]
    assert (split.cue_kind, split.superclass, split.state) == ("shape", "clock", "split")
    assert [(v.answer, v.reasons, v.note) for v in split.votes] == [
        ("accept", (), ""),
        ("reject", ("ambiguous", "cropped"), "half of it"),
    ]
    assert found[other].state == "unsure"
    assert not {"ada", "bo"} & set(repr(found).split("'"))


def test_an_adjudication_decides_and_leaves_the_votes_as_they_were(record: Store, judge: int) -> None:
    (one, pair), (other, second) = list(of_class(record, "clock").items())[:2]
    vote(record, pair, "accept", "reject")
    vote(record, second, "unsure", "reject")
    with record.read() as session:
        before = (
            session.execute(select(Event.id, Event.answer)).all(),
            session.execute(select(CurrentAnswer.assignment_id, CurrentAnswer.answer)).all(),
        )
    adjudicate(record, "first", one, judge, "accept", " The hands are there. ")
    adjudicate(record, "first", other, judge, "reject", "No clock.")
    with record.read() as session:
        after = (
            session.execute(select(Event.id, Event.answer)).all(),
            session.execute(select(CurrentAnswer.assignment_id, CurrentAnswer.answer)).all(),
        )
        stored = session.execute(
            select(Adjudication.round, Adjudication.rationale, Adjudication.decided_by)
        ).all()
    assert before == after
    assert [tuple(row) for row in stored] == [(1, "The hands are there.", judge), (1, "No clock.", judge)]
    assert splits(record, "first") == []
    states = accepted_hashes(record, "first")
    assert (states[pair[0].sha256], states[second[0].sha256]) == ("accepted", "rejected")
    status = review_status(record, "first")
    assert (status.states["accepted"], status.states["rejected"]) == (1, 1)
    assert (status.classes[0].n_accepted, status.classes[0].n_adjudicated) == (1, 2)
    clock = status.to_text().splitlines()[2].split()
    assert clock == ["shape", "clock", "5", "2", "2", "3", "1", "1", "0", "0", "0", "2"]
    assert status.n_adjudicated == {"accept": 1, "reject": 1}


def test_deciding_again_is_one_more_round_and_the_last_counts(record: Store, judge: int) -> None:
    one, pair = next(iter(of_class(record, "clock").items()))
    vote(record, pair, "accept", "reject")
    adjudicate(record, "first", one, judge, "accept", "It is one.")
    adjudicate(record, "first", one, judge, "reject", "On second thoughts, no.")
    assert accepted_hashes(record, "first")[pair[0].sha256] == "rejected"
    with record.read() as session:
        assert list(session.scalars(select(Adjudication.round))) == [1, 2]


def test_a_decision_whose_verdicts_changed_since_is_pointed_out(record: Store, judge: int) -> None:
    one, pair = next(iter(of_class(record, "clock").items()))
    vote(record, pair, "accept", "reject")
    adjudicate(record, "first", one, judge, "accept", "It is one.")
    assert review_status(record, "first").n_outdated_decisions == 0
    answer(record, [pair[0]], "reject")
    status = review_status(record, "first")
    assert status.n_outdated_decisions == 1
    assert "adjudications whose verdicts changed since: 1" in status.to_text()
    assert accepted_hashes(record, "first")[pair[0].sha256] == "accepted"


def test_an_adjudication_of_a_picture_that_was_made_again_is_stale(
    record: Store, judge: int, tmp_path: Path
) -> None:
    for one, pair in of_class(record, "clock").items():
        vote(record, pair, "accept", "reject")
        adjudicate(record, "first", one, judge, "accept", "It is one.")
    import_review(record, "first", str(write_cues(tmp_path / "again", 5, again=range(5))))
    assert sorted(set(accepted_hashes(record, "first").values())) == ["stale", "undecided"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"answer": "unsure"}, "adjudication: expected accept or reject, got unsure"),
        ({"rationale": "  "}, "adjudication: a decision needs its reason, in 1 to 2,000 characters"),
        ({"rationale": "x" * 2001}, "adjudication: a decision needs its reason, in 1 to 2,000 characters"),
        ({"item": "nothing"}, "first: no such picture: nothing"),
        ({"item": "agreed"}, "first: the picture is accepted; only a split or an unsure one is decided on"),
        ({"item": "open"}, "first: the picture is undecided; only a split or an unsure one is decided on"),
        ({"rater": "nobody"}, "first: only a member of staff decides on a split picture"),
        ({"rater": "participant"}, "first: only a member of staff decides on a split picture"),
        ({"slug": "second"}, "second: no such campaign"),
    ],
)
def test_a_decision_that_makes_no_sense_is_refused(
    record: Store, judge: int, changed: dict[str, str], message: str
) -> None:
    pictures = list(of_class(record, "clock").items())
    vote(record, pictures[0][1], "accept", "reject")
    vote(record, pictures[1][1], "accept", "accept")
    with record.write() as session:
        participant = new_participant(session, session.scalars(select(Campaign)).one())[0].id
    names = {"split": pictures[0][0], "agreed": pictures[1][0], "open": pictures[2][0]}
    raters = {"judge": judge, "nobody": 10_000, "participant": participant}
    item = changed.get("item", "split")
    with pytest.raises(CuebenchError, match=message):
        adjudicate(
            record,
            changed.get("slug", "first"),
            names.get(item, item),
            raters[changed.get("rater", "judge")],
            changed.get("answer", "accept"),
            changed.get("rationale", "It is one."),
        )
    with record.read() as session:
        assert session.scalars(select(Adjudication)).all() == []


def test_a_known_bad_picture_is_not_decided_on(record: Store, tmp_path: Path) -> None:
    bad = write_images(tmp_path / "bad", ["shape/clock/bad.png"])
    import_review(record, "first", str(write_cues(tmp_path / "run", 1)), known_bad=str(bad))
    assign(record, "first", ["ada"])
    shown = next(s for s in showings(record, "first") if s.role == "known_bad")
    with pytest.raises(CuebenchError, match=f"first: no such picture: {shown.item}"):
        adjudicate(record, "first", shown.item, shown.rater_id, "accept", "It is one.")


def test_a_frozen_review_takes_no_decision(record: Store, judge: int) -> None:
    one, pair = next(iter(of_class(record, "clock").items()))
    vote(record, pair, "accept", "reject")
    with record.write() as session:
        session.execute(update(Campaign).values(state="frozen"))
    with pytest.raises(CuebenchError, match="first: it is frozen, nothing in it changes"):
        adjudicate(record, "first", one, judge, "accept", "It is one.")


@pytest.mark.parametrize("read", [review_status, splits, accepted_hashes])
def test_what_is_no_review_has_no_status(record: Store, judge: int, read: object) -> None:
    assert callable(read)
    with pytest.raises(
        CuebenchError, match=r"fist: no such campaign \(did you mean `first`\?\); there are: first"
    ):
        read(record, "fist")
    with record.write() as session:
        session.execute(update(Campaign).values(kind="mask"))
    with pytest.raises(CuebenchError, match="first: expected a review campaign, got a mask campaign"):
        read(record, "first")
