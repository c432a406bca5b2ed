from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from sqlalchemy import select
from starlette.applications import Starlette

from annotation_app.api import MAX_BODY_BYTES, MAX_EVENTS, api_routes
from annotation_app.payloads import StudyHooks, queue_state
from annotation_app.trial_assets import modules, version
from curation.campaigns import new_public_id
from curation.database import Store, open_store
from curation.study import resume
from curation.tables import Event, Item, Rater
from tests.annotation_app.people import (
    TELLTALE,
    Client,
    assignment_ids,
    free_port,
    make_masks,
    make_review,
    make_study,
    open_tab,
    reasons_given,
    set_state,
    standing,
    stored_events,
)

PHASES: dict[int, str] = {}  # rater -> the phase that the tests say they are in


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path / 'people.db'}")
    yield opened
    opened.close()
    PHASES.clear()


@pytest.fixture
def api(store: Store) -> Iterator[Client]:
    """The routes, on a server of this process."""
    hooks = StudyHooks(
        state=lambda store, tab, n, practice: queue_state(
            store, tab, n, practice, PHASES.get(tab.rater_id, "")
        ),
        feedback=lambda _store, _rater_id, name: f"feedback on {name}",
    )
    port = free_port()
    config = uvicorn.Config(
        Starlette(routes=api_routes(lambda: store, hooks)),
        port=port,
        log_level="error",
        ws="none",
        lifespan="off",
    )
    server = uvicorn.Server(config)
    started = threading.Event()
    original = server.startup

    async def startup(*args: Any, **kwargs: Any) -> None:
        await original(*args, **kwargs)
        started.set()

    server.startup = startup  # type: ignore[method-assign]
    thread = threading.Thread(target=server.run)
    thread.start()
    assert started.wait(30)
    yield Client(port)
    server.should_exit = True
    thread.join(30)


def answer(assignment: str, answer: str | None = "accept", **more: Any) -> dict[str, Any]:
    return {"event_id": new_public_id(), "assignment": assignment, "kind": "answer", "answer": answer, **more}


def test_an_answer_is_stored_acknowledged_and_followed_by_what_comes_next(
    api: Client, store: Store, tmp_path: Path
) -> None:
    place = make_review(store, tmp_path, 20)
    names = assignment_ids(store, place)
    tab = open_tab(store, place)
    event = answer(names[0], rt_ms=812, load_ms=4, note="fine", flags=["slow_load"])
    reply = api.post(tab, [event])
    assert reply["acks"] == [{"event_id": event["event_id"], "status": "stored", "detail": ""}]
    assert [task["id"] for task in reply["tasks"]] == names[1:13]
    assert (reply["live"], reply["open"], reply["phase"]) == (True, True, "")
    assert reply["progress"] == {"n_answered": 1, "n_total": 20, "n_today": 1}
    (row,) = stored_events(store)
    assert (row.answer, row.rt_ms, row.load_ms, row.note, row.flags) == (
        "accept",
        812,
        4,
        "fine",
        "slow_load",
    )


def test_the_same_events_again_are_stored_once(api: Client, store: Store, tmp_path: Path) -> None:
    place = make_review(store, tmp_path, 3)
    tab = open_tab(store, place)
    events = [answer(name) for name in assignment_ids(store, place)]
    api.post(tab, events)
    again = api.post(tab, events)
    assert {ack["status"] for ack in again["acks"]} == {"duplicate"}
    assert len(stored_events(store)) == 3


def test_what_is_on_its_way_is_left_out_of_the_tasks(api: Client, store: Store, tmp_path: Path) -> None:
    place = make_review(store, tmp_path, 6)
    names = assignment_ids(store, place)
    reply = api.post(open_tab(store, place), [], in_flight=names[:2], n_tasks=3)
    assert [task["id"] for task in reply["tasks"]] == names[2:5]


def test_a_tab_that_starts_gets_its_own_answers_and_the_reasons(
    api: Client, store: Store, tmp_path: Path
) -> None:
    place = make_review(store, tmp_path, 4)
    names = assignment_ids(store, place)
    tab = open_tab(store, place)
    api.post(tab, [answer(names[0]), answer(names[1], "reject", reasons=["cropped"], note="left edge")])
    state = api.get("/api/tasks?n_tasks=1", tab)
    assert [task["id"] for task in state["tasks"]] == [names[2]]
    newest = state["answered"][0]
    assert (newest["id"], newest["answer"], newest["reasons"]) == (names[1], "reject", ["cropped"])
    assert newest["note"] == "left edge"
    assert ["cropped", "cropped"] in state["reasons"]["shape"]
    assert state["tasks"][0]["label"] == f"{TELLTALE}_ipod"
    assert reasons_given(store) == ["cropped"]


def test_the_outbox_has_one_name_for_all_tabs_of_a_person_and_another_for_others(
    api: Client, store: Store, tmp_path: Path
) -> None:
    ana = make_review(store, tmp_path, 1)
    ben = make_review(store, tmp_path, 1, reviewer="ben", slug="other")
    keys = [api.get("/api/tasks", open_tab(store, place))["outbox_key"] for place in (ana, ana, ben)]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize("path", ["/api/tasks", "/api/media/x", "/api/source/x"])
def test_without_a_known_session_nothing_is_said(api: Client, path: str) -> None:
    for session_id in ("", new_public_id()):
        status, headers, body = api.request(path, session_id)
        assert status == 401
        assert "no such session; open the page again" in json.loads(body)["error"]
        assert headers["cache-control"] == "no-store"
    assert api.request("/api/events", new_public_id(), b'{"events": []}')[0] == 401


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"{", 400, "expected JSON"),
        (b"[" * 100_000, 400, "expected JSON"),
        (b"[]", 400, 'expected {"events": [...]}'),
        (b'{"events": [], "in_flight": 3}', 400, "expected a list in in_flight"),
        (
            json.dumps({"events": [{}] * (MAX_EVENTS + 1)}).encode(),
            400,
            "expected at most 100 events, got 101",
        ),
        (b" " * (MAX_BODY_BYTES + 1), 413, "expected at most 1000000 bytes"),
    ],
    ids=["cut", "deep", "list", "in_flight", "many", "long"],
)
def test_a_request_that_makes_no_sense_is_refused(
    api: Client, store: Store, tmp_path: Path, body: bytes, status: int, message: str
) -> None:
    tab = open_tab(store, make_review(store, tmp_path, 1))
    got, _, text = api.request("/api/events", tab, body)
    assert (got, json.loads(text)["error"]) == (status, message)


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"rt_ms": -1}, "rt_ms"),
        ({"rt_ms": 10**12}, "rt_ms"),
        ({"rt_ms": 1.5}, "rt_ms"),
        ({"event_id": "x" * 37}, "event_id"),
        ({"event_id": None}, "event_id"),
        ({"flags": ["a,b"]}, "flags.0"),
        ({"client_utc": "x" * 30}, "client_utc"),
        ({"answer": "a\0"}, "answer"),
        ({"superclass": "zebra"}, "superclass"),
    ],
)
def test_an_event_that_cannot_be_understood_is_refused_and_holds_up_no_other(
    api: Client, store: Store, tmp_path: Path, more: dict[str, Any], place: str
) -> None:
    where = make_review(store, tmp_path, 2)
    names = assignment_ids(store, where)
    wrong = {**answer(names[0]), **more}
    reply = api.post(open_tab(store, where), [wrong, answer(names[1])])
    assert [ack["status"] for ack in reply["acks"]] == ["refused", "stored"]
    assert reply["acks"][0]["detail"].startswith(f"{place}: ")
    assert standing(store) == [None, "accept"]


def test_an_event_that_is_no_object_is_refused(api: Client, store: Store, tmp_path: Path) -> None:
    tab = open_tab(store, make_review(store, tmp_path, 1))
    status, _, body = api.request("/api/events", tab, b'{"events": [3, null, []]}')
    assert status == 200
    assert [ack["status"] for ack in json.loads(body)["acks"]] == ["refused"] * 3


def test_a_note_cut_within_a_character_is_stored_all_the_same(
    api: Client, store: Store, tmp_path: Path
) -> None:
    place = make_review(store, tmp_path, 1)
    body = json.dumps({"events": [answer(assignment_ids(store, place)[0], note="half: \ud83d, none: \0")]})
    assert api.request("/api/events", open_tab(store, place), body.encode())[0] == 200
    assert stored_events(store)[0].note == "half: ?, none: "


def test_an_older_tab_is_told_to_stop_and_what_it_sends_is_kept(
    api: Client, store: Store, tmp_path: Path
) -> None:
    place = make_review(store, tmp_path, 3)
    older, newer = open_tab(store, place), open_tab(store, place)
    reply = api.post(older, [answer(assignment_ids(store, place)[0])])
    assert (reply["live"], reply["tasks"]) == (False, [])
    assert api.get("/api/tasks", older)["live"] is False
    assert api.get("/api/tasks", newer)["live"] is True
    assert standing(store) == ["accept", None, None]


def test_a_frozen_campaign_gives_no_tasks_and_keeps_what_comes(
    api: Client, store: Store, tmp_path: Path
) -> None:
    place = make_review(store, tmp_path, 2)
    tab = open_tab(store, place)
    set_state(store, place, "frozen")
    reply = api.post(tab, [answer(assignment_ids(store, place)[0])])
    assert (reply["open"], reply["tasks"]) == (False, [])
    assert reply["acks"][0]["status"] == "stored"
    assert stored_events(store)[0].flags == "after_freeze"


def test_nothing_more_is_stored_of_who_withdrew(api: Client, store: Store, tmp_path: Path) -> None:
    place = make_study(store, tmp_path, 2)
    tab = open_tab(store, place)
    with store.write() as session:
        session.get_one(Rater, place.rater_id).state = "withdrawn"
    reply = api.post(tab, [answer(assignment_ids(store, place)[0], "clock")])
    assert reply["acks"][0]["detail"] == "you have withdrawn; nothing more is stored"
    assert reply["tasks"] == []
    assert stored_events(store) == []


def test_an_assignment_of_somebody_else_is_refused(api: Client, store: Store, tmp_path: Path) -> None:
    ana = make_review(store, tmp_path, 1)
    ben = make_review(store, tmp_path, 1, reviewer="ben", slug="other")
    reply = api.post(open_tab(store, ben), [answer(assignment_ids(store, ana)[0])])
    assert reply["acks"][0]["detail"] == "no such assignment"


def item_named(store: Store, number: int) -> Item:
    with store.read() as session:
        item = session.scalars(select(Item).order_by(Item.id).offset(number)).first()
        assert item is not None
        session.expunge(item)
        return item


def test_a_picture_is_given_as_its_original_bytes(api: Client, store: Store, tmp_path: Path) -> None:
    place = make_review(store, tmp_path, 1)
    item = item_named(store, 0)
    status, headers, body = api.request(f"/api/media/{item.public_id}", open_tab(store, place))
    assert (status, body) == (200, Path(item.file_url).read_bytes())
    assert headers["content-type"] == "image/png"
    assert headers["cache-control"] == "private, max-age=86400, immutable"
    assert headers["x-content-type-options"] == "nosniff"


def test_the_photograph_is_shown_in_a_review_only(api: Client, store: Store, tmp_path: Path) -> None:
    review = make_review(store, tmp_path, 1)
    study = make_study(store, tmp_path / "study", 2)
    item = item_named(store, 0)
    status, _, body = api.request(f"/api/source/{item.public_id}", open_tab(store, review))
    assert (status, body) == (200, Path(str(item.source_url)).read_bytes())
    status, _, body = api.request(f"/api/source/{item.public_id}", open_tab(store, study))
    assert (status, json.loads(body)["error"]) == (404, "there is no photograph to show")


def test_pictures_of_others_and_missing_ones_look_alike_and_name_no_path(
    api: Client, store: Store, tmp_path: Path
) -> None:
    ana = make_review(store, tmp_path, 2)
    ben = make_review(store, tmp_path / "b", 1, reviewer="ben", slug="other")
    tab = open_tab(store, ben)
    Path(item_named(store, 1).file_url).unlink()
    foreign = api.request(f"/api/media/{item_named(store, 1).public_id}", tab)
    missing = api.request(f"/api/media/{item_named(store, 1).public_id}", open_tab(store, ana))
    unknown = api.request(f"/api/media/{new_public_id()}", tab)
    assert foreign[::2] == missing[::2] == unknown[::2]
    assert foreign[0] == 404
    assert str(tmp_path).encode() not in missing[2]
    assert TELLTALE.encode() not in missing[2]


def test_a_round_of_masks_shows_the_candidates_to_who_picks(
    api: Client, store: Store, tmp_path: Path
) -> None:
    place = make_masks(store, tmp_path, 2)
    tab = open_tab(store, place)
    task = api.get("/api/tasks", tab)["tasks"][0]
    assert (len(task["candidates"]), task["width"], task["height"]) == (2, 224, 224)
    assert api.request(f"/api/media/{task['candidates'][1]}", tab)[0] == 200
    other = open_tab(store, make_review(store, tmp_path / "r", 1, reviewer="ben"))
    assert api.request(f"/api/media/{task['candidates'][1]}", other)[0] == 404
    events = [answer(task["id"], task["candidates"][1])]
    assert api.post(tab, events)["acks"][0]["status"] == "stored"


def test_a_participant_is_told_ids_and_options_only(api: Client, store: Store, tmp_path: Path) -> None:
    place = make_study(store, tmp_path, 3)
    tab = open_tab(store, place)
    state = api.get("/api/tasks", tab)
    assert {frozenset(task) for task in state["tasks"]} == {frozenset({"id", "item", "block", "choices"})}
    assert set(state) == {"live", "open", "phase", "progress", "tasks", "outbox_key", "kind", "interrupted"}
    text = json.dumps(state)
    assert not [
        word for word in (TELLTALE, str(tmp_path), "catch", "main", "expected", "shape") if word in text
    ]


def test_a_tab_that_starts_is_told_of_the_trial_that_was_noted_as_interrupted_when_it_opened(
    api: Client, store: Store, tmp_path: Path
) -> None:
    place = make_study(store, tmp_path, 3)
    first = assignment_ids(store, place)[0]
    older = open_tab(store, place)
    api.post(older, [{"event_id": new_public_id(), "assignment": first, "kind": "shown"}])
    newer = open_tab(store, place)
    assert resume(store, place.rater_id, newer) == 1
    assert api.get("/api/tasks", newer)["interrupted"] == [first]
    assert api.get("/api/tasks", open_tab(store, place))["interrupted"] == []


@pytest.mark.parametrize(
    ("phase", "n_tasks"), [("trials", 3), ("break", 3), ("consent", 0), ("practice", 0), ("finished", 0)]
)
def test_the_phase_decides_which_trials_are_given(
    api: Client, store: Store, tmp_path: Path, phase: str, n_tasks: int
) -> None:
    place = make_study(store, tmp_path, 3)
    PHASES[place.rater_id] = phase
    for asked in ("", "?practice=1"):
        state = api.get(f"/api/tasks{asked}", open_tab(store, place))
        assert (state["phase"], len(state["tasks"])) == (phase, n_tasks)


def test_practice_trials_come_with_feedback(api: Client, store: Store, tmp_path: Path) -> None:
    place = make_study(store, tmp_path, 3, role="practice")
    names = assignment_ids(store, place)
    tab = open_tab(store, place)
    assert len(api.get("/api/tasks?practice=1", tab)["tasks"]) == 3
    wrong = answer(names[1], "no option")
    reply = api.post(tab, [answer(names[0], "clock"), wrong], practice=True)
    assert reply["feedback"] == {names[0]: f"feedback on {names[0]}"}


def test_the_server_says_that_it_is_well(api: Client) -> None:
    assert api.get("/healthz") == {"status": "ok"}


def test_the_modules_are_served_under_their_version_only(api: Client) -> None:
    status, headers, body = api.request(f"/api/trial/{version()}/main.js")
    assert (status, body) == (200, modules()["main.js"])
    assert headers["content-type"].startswith("text/javascript")
    assert "immutable" in headers["cache-control"]
    assert api.request("/api/trial/0123456789abcdef/main.js")[0] == 404
    assert api.request(f"/api/trial/{version()}/trial.css")[0] == 404
    assert api.request(f"/api/trial/{version()}/..%2fapi.py")[0] == 404


def test_a_browser_can_not_say_that_its_answers_are_simulated(
    api: Client, store: Store, tmp_path: Path
) -> None:
    place = make_review(store, tmp_path, 1)
    tab = open_tab(store, place)
    (task,) = api.get("/api/tasks", tab)["tasks"]
    event = {"event_id": "e-1", "assignment": task["id"], "kind": "answer", "answer": "accept"}
    reply = api.post(tab, [{**event, "flags": ["simulated", "too_fast"]}])
    assert reply["acks"][0]["status"] == "stored"
    with store.read() as session:
        assert session.scalar(select(Event.flags)) == "too_fast"
