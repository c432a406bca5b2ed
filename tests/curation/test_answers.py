from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from curation.answers import (
    MAX_NOTE_CHARACTERS,
    Ack,
    ClientEvent,
    is_live,
    open_session,
    parse_box,
    record_events,
)
from curation.database import Store
from curation.tables import ClientSession, EventReason, Rater
from tests.curation.small_campaign import act, add_candidates, small_campaign, verdict


def statuses(acks: list[Ack]) -> list[str]:
    return [ack.status for ack in acks]


# --- what is stored -----------------------------------------------------------------------------------------


def test_an_answer_is_stored_with_all_that_came_with_it(record: Store) -> None:
    campaign = small_campaign(record)
    open_session(record, campaign.rater_id, campaign.campaign_id, "tab", user_agent="Firefox", frame_ms=17)
    event = ClientEvent(
        "e" * 36,
        campaign.assignments[0],
        "answer",
        "reject",
        ("cropped", "ambiguous", "cropped"),
        note="zwölf\n☂",
        confidence=3,
        rt_ms=512,
        load_ms=20,
        client_utc="2026-11-30T12:00:00.000Z",
        flags=("slow_load", "blur=yes"),
    )
    assert campaign.send(event, session_id="tab") == [Ack("e" * 36, "stored")]
    (stored,) = campaign.events()
    assert (stored.answer, stored.note, stored.confidence) == ("reject", "zwölf\n☂", 3)
    assert (stored.rt_ms, stored.load_ms, stored.client_utc) == (512, 20, "2026-11-30T12:00:00.000Z")
    assert (stored.flags, stored.session_id, stored.seq) == ("blur=yes,slow_load", "tab", 1)
    with record.read() as session:
        assert sorted(row.reason for row in session.query(EventReason)) == ["ambiguous", "cropped"]
    assert campaign.standing() == {campaign.assignments[0]: "reject"}


def test_events_without_an_answer_leave_what_stands_alone(record: Store) -> None:
    campaign = small_campaign(record, "study")
    first, second, _ = campaign.assignments
    events = [act(first, kind) for kind in ("shown", "interrupted", "shown")]
    events += [replace(verdict(first, "cat"), rt_ms=0), act(first, "shown"), act(second, "timeout")]
    assert statuses(campaign.send(*events)) == ["stored"] * 6
    assert campaign.standing() == {first: "cat"}
    assert [event.seq for event in campaign.events()] == [1, 2, 3, 4, 5, 1]


def test_the_same_event_sent_again_is_stored_once(record: Store) -> None:
    campaign = small_campaign(record)
    event = verdict(campaign.assignments[0])
    assert statuses(campaign.send(event, event)) == ["stored", "duplicate"]
    assert statuses(campaign.send(event)) == ["duplicate"]
    assert len(campaign.events()) == 1


def test_a_duplicate_is_acknowledged_after_the_campaign_was_frozen(record: Store) -> None:
    campaign = small_campaign(record)
    event = verdict(campaign.assignments[0])
    campaign.send(event)
    campaign.set_state("frozen")
    assert statuses(campaign.send(event)) == ["duplicate"]


def test_an_event_id_that_was_used_for_something_else_is_refused(record: Store) -> None:
    campaign, other = small_campaign(record), small_campaign(record)
    event = verdict(campaign.assignments[0], event_id="once")
    campaign.send(event)
    changed = [
        replace(event, answer="unsure"),
        replace(event, assignment=campaign.assignments[1]),
        act(campaign.assignments[0], "later", "once"),
    ]
    refused = [Ack("once", "refused", "this event id was used for something else")]
    assert campaign.send(*changed) == refused * 3
    assert other.send(event) == refused
    assert other.send(replace(event, assignment=other.assignments[0])) == refused
    assert len(campaign.events()) == 1


def test_a_changed_answer_stands_and_names_the_one_it_replaces(record: Store) -> None:
    campaign = small_campaign(record)
    name = campaign.assignments[0]
    campaign.send(verdict(name), verdict(name, "reject"))
    first, second = campaign.events()
    assert (first.supersedes_id, second.supersedes_id) == (None, first.id)
    assert campaign.standing() == {name: "reject"}


def test_an_undo_takes_the_answer_back_and_an_answer_may_follow(record: Store) -> None:
    campaign = small_campaign(record)
    name = campaign.assignments[0]
    campaign.send(verdict(name), act(name, "undo"))
    assert campaign.standing() == {}
    answer, undo = campaign.events()
    assert undo.supersedes_id == answer.id
    campaign.send(verdict(name, "unsure"))
    assert campaign.standing() == {name: "unsure"}


def test_an_answer_put_off_is_no_answer(record: Store) -> None:
    campaign = small_campaign(record)
    assert statuses(campaign.send(act(campaign.assignments[0], "later"))) == ["stored"]
    assert campaign.standing() == {}


def test_a_second_answer_of_a_participant_is_kept_as_a_late_one(record: Store) -> None:
    campaign = small_campaign(record, "study")
    name = campaign.assignments[0]
    assert statuses(campaign.send(verdict(name, "cat"), verdict(name, "dog"))) == ["stored", "stored"]
    assert campaign.standing() == {name: "cat"}
    assert [(event.answer, event.flags) for event in campaign.events()] == [
        ("cat", ""),
        ("dog", "late_answer"),
    ]


@pytest.mark.parametrize("kind", ["review", "study"])
def test_answers_after_the_freeze_are_kept_but_do_not_stand(record: Store, kind: str) -> None:
    campaign = small_campaign(record, kind)
    answer, other = ("cat", "dog") if kind == "study" else ("accept", "unsure")
    first, second, _ = campaign.assignments
    campaign.send(verdict(first, answer))
    campaign.set_state("frozen")
    campaign.send(verdict(first, other), verdict(second, answer))
    campaign.set_state("closed")
    campaign.send(verdict(second, other))
    assert campaign.standing() == {first: answer}
    assert [event.flags for event in campaign.events()] == ["", *["after_freeze"] * 3]


def test_an_undo_after_the_freeze_does_not_count(record: Store) -> None:
    campaign = small_campaign(record)
    name = campaign.assignments[0]
    campaign.send(verdict(name))
    campaign.set_state("frozen")
    assert statuses(campaign.send(act(name, "undo"))) == ["stored"]
    assert campaign.standing() == {name: "accept"}


def test_an_older_tab_changes_no_answer_but_gives_one_where_there_is_none(record: Store) -> None:
    campaign = small_campaign(record)
    first, second, _ = campaign.assignments
    for tab in ("old", "new"):
        open_session(record, campaign.rater_id, campaign.campaign_id, tab)
    assert (is_live(record, "old"), is_live(record, "new"), is_live(record, "none")) == (False, True, False)
    campaign.send(verdict(first), session_id="new")
    campaign.send(verdict(first, "unsure"), act(first, "undo"), verdict(second), session_id="old")
    assert campaign.standing() == {first: "accept", second: "accept"}
    assert [event.flags for event in campaign.events()] == ["", "late_answer", "late_answer", ""]
    campaign.send(verdict(first, "unsure"), session_id="new")
    assert campaign.standing()[first] == "unsure"


def test_a_tab_that_is_opened_again_stays_the_newest(record: Store) -> None:
    campaign, other = small_campaign(record), small_campaign(record)
    open_session(record, campaign.rater_id, campaign.campaign_id, "tab")
    open_session(record, campaign.rater_id, other.campaign_id, "another campaign")
    open_session(record, other.rater_id, campaign.campaign_id, "another rater")
    open_session(record, campaign.rater_id, campaign.campaign_id, "tab")
    assert is_live(record, "tab")
    with record.read() as session:
        assert {tab.closed_reason for tab in session.query(ClientSession)} == {None}


def test_a_note_keeps_what_a_database_can_hold(record: Store) -> None:
    campaign = small_campaign(record)
    notes = ["a\x00b\ud800c", "n" * (MAX_NOTE_CHARACTERS + 1)]
    events = [
        replace(verdict(name), note=note) for name, note in zip(campaign.assignments, notes, strict=False)
    ]
    assert statuses(campaign.send(*events)) == ["stored", "stored"]
    assert [event.note for event in campaign.events()] == ["a�b�c", "n" * MAX_NOTE_CHARACTERS]


# --- masks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["none", "box:0,0,100,80", "box:3,4,5,6"])
def test_a_box_in_the_photograph_or_no_mask_is_an_answer(record: Store, answer: str) -> None:
    campaign = small_campaign(record, "mask")
    assert statuses(campaign.send(verdict(campaign.assignments[0], answer))) == ["stored"]


def test_a_candidate_is_an_answer_for_its_own_photograph_only(record: Store) -> None:
    campaign = small_campaign(record, "mask")
    candidate = add_candidates(campaign)[1]
    first, second, _ = campaign.assignments
    acks = campaign.send(verdict(first, candidate), verdict(second, candidate))
    assert [(ack.status, ack.detail) for ack in acks] == [
        ("stored", ""),
        ("refused", f"no such answer: {candidate}"),
    ]


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        ("box:", "expected box:x0,y0,x1,y1 in px, got box:"),
        ("box:1,2,3", "expected box:x0,y0,x1,y1 in px, got box:1,2,3"),
        ("box:1,2,3,4,5", "expected box:x0,y0,x1,y1 in px, got box:1,2,3,4,5"),
        ("box:1,2,3,four", "expected box:x0,y0,x1,y1 in px, got box:1,2,3,four"),
        ("box: 1,2,3,4", "expected box:x0,y0,x1,y1 in px, got box: 1,2,3,4"),
        ("box:1_0,2,30,4", "expected box:x0,y0,x1,y1 in px, got box:1_0,2,30,4"),
        ("box:3,2,3,4", "the box box:3,2,3,4 does not lie in the photograph (100 x 80 px)"),
        ("box:-1,2,3,4", "the box box:-1,2,3,4 does not lie in the photograph (100 x 80 px)"),
        ("box:0,0,101,80", "the box box:0,0,101,80 does not lie in the photograph (100 x 80 px)"),
        ("box:0,0,100,81", "the box box:0,0,100,81 does not lie in the photograph (100 x 80 px)"),
        ("mask", "no such answer: mask"),
    ],
)
def test_a_box_that_is_none_is_refused(shared_record: Store, answer: str, detail: str) -> None:
    campaign = small_campaign(shared_record, "mask", n_items=1)
    (ack,) = campaign.send(verdict(campaign.assignments[0], answer))
    assert (ack.status, ack.detail) == ("refused", detail)


def test_a_box_of_a_photograph_of_unknown_size_only_has_to_be_one() -> None:
    assert parse_box("box:0,0,9000,9000", None, None) == (0, 0, 9000, 9000)


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "changed", "detail"),
    [
        ("review", {"event_id": ""}, "the event id has to have 1 to 36 characters of ASCII"),
        ("review", {"event_id": "e" * 37}, "the event id has to have 1 to 36 characters of ASCII"),
        ("review", {"event_id": "\ud800"}, "the event id has to have 1 to 36 characters of ASCII"),
        ("review", {"assignment": "nothing"}, "no such assignment"),
        ("review", {"assignment": "nul\x00"}, "no such assignment"),
        ("review", {"kind": "guess"}, "no such kind of event: guess"),
        ("review", {"kind": "later"}, "later comes without an answer and reasons"),
        (
            "review",
            {"kind": "shown", "answer": None, "reasons": ("x",)},
            "shown comes without an answer and reasons",
        ),
        ("review", {"kind": "undo", "answer": None}, "there is no answer to undo"),
        ("review", {"answer": "maybe"}, "no such answer: maybe"),
        ("review", {"answer": None}, "no such answer: None"),
        ("review", {"answer": "reject"}, "a rejection needs at least one reason"),
        ("review", {"reasons": ("cropped",)}, "only a rejection has reasons"),
        (
            "review",
            {"answer": "reject", "reasons": ("seams", "cropped", "x")},
            "no such reason for a shape cue: seams, x",
        ),
        ("review", {"rt_ms": -1}, "expected rt_ms from 0 to 2147483647, got -1"),
        ("review", {"load_ms": 2**31}, "expected load_ms from 0 to 2147483647, got 2147483648"),
        ("review", {"confidence": 2**70}, f"expected confidence from -2147483647 to 2147483647, got {2**70}"),
        ("review", {"client_utc": "2026\x00"}, "expected client_utc as UTC text of at most 24 characters"),
        ("review", {"client_utc": "0" * 25}, "expected client_utc as UTC text of at most 24 characters"),
        ("review", {"flags": ("a,b",)}, "expected flags of a-z, 0-9, _ and =, 180 characters at most"),
        (
            "review",
            {"flags": tuple("abcdefghij"[n] * 20 for n in range(10))},
            "expected flags of a-z, 0-9, _ and =, 180 characters at most",
        ),
        (
            "review",
            {"flags": ("late_answer", "after_freeze")},
            "only the record sets the flag after_freeze, late_answer",
        ),
        ("study", {"answer": "horse"}, "no such answer: horse"),
        ("study", {"kind": "undo", "answer": None}, "a study has no undo"),
        ("study", {"kind": "later", "answer": None}, "a study has no later"),
    ],
)
def test_what_makes_no_sense_is_refused_and_holds_up_nothing_else(
    shared_record: Store, kind: str, changed: Mapping[str, Any], detail: str
) -> None:
    campaign = small_campaign(shared_record, kind, n_items=2)
    good = "cat" if kind == "study" else "accept"
    first, second = campaign.assignments
    acks = campaign.send(replace(verdict(first, good), **changed), verdict(second, good))
    assert [(ack.status, ack.detail) for ack in acks] == [("refused", detail), ("stored", "")]
    assert campaign.standing() == {second: good}


def test_an_assignment_of_somebody_else_is_no_assignment(record: Store) -> None:
    campaign, other = small_campaign(record), small_campaign(record)
    (ack,) = campaign.send(verdict(other.assignments[0]))
    assert (ack.status, ack.detail) == ("refused", "no such assignment")
    assert other.standing() == {}


def test_a_campaign_that_is_not_open_yet_takes_nothing(record: Store) -> None:
    campaign = small_campaign(record, state="draft")
    acks = campaign.send(verdict(campaign.assignments[0]), act(campaign.assignments[0], "shown"))
    assert {(ack.status, ack.detail) for ack in acks} == {("refused", "the campaign is not open yet")}
    assert campaign.events() == []


@pytest.mark.parametrize("tab", ["unknown", "somebody else's", "nul\x00"])
def test_events_from_a_tab_that_is_not_the_raters_are_refused(shared_record: Store, tab: str) -> None:
    campaign, other = small_campaign(shared_record), small_campaign(shared_record)
    open_session(shared_record, other.rater_id, other.campaign_id, "somebody else's")
    (ack,) = campaign.send(verdict(campaign.assignments[0]), session_id=tab)
    assert (ack.status, ack.detail) == ("refused", "no such session")


def test_a_rater_who_is_not_there_is_refused(record: Store) -> None:
    campaign = small_campaign(record)
    (ack,) = record_events(record, 987_654, None, [verdict(campaign.assignments[0])])
    assert (ack.status, ack.detail) == ("refused", "no such rater")


def test_nothing_more_is_stored_of_a_person_who_withdrew(record: Store) -> None:
    campaign = small_campaign(record, "study")
    with record.write() as session:
        session.get_one(Rater, campaign.rater_id).state = "withdrawn"
    (ack,) = campaign.send(verdict(campaign.assignments[0], "cat"))
    assert (ack.status, ack.detail) == ("refused", "you have withdrawn; nothing more is stored")
    assert campaign.events() == []
