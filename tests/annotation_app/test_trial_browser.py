from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from curation.database import Store, open_store
from curation.tables import Assignment, Event, Item
from tests.annotation_app.people import (
    CHOICES,
    TELLTALE,
    Place,
    Server,
    assignment_ids,
    make_masks,
    make_review,
    make_study,
    reasons_given,
    standing,
    stored_events,
)
from tests.lanes import chromium_path

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, WebSocket

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--disable-dev-shm-usage",
)
LAPTOP = {"width": 1400, "height": 900}
SMALL_LAPTOP = {"width": 1366, "height": 768}
TABLET = {"width": 820, "height": 1180}

pytestmark = pytest.mark.browser

Opened = Callable[..., "Page"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=chromium_path(), args=list(FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One process for all tests, for it takes seconds to come up."""
    folder = tmp_path_factory.mktemp("server")
    made = Server(folder / "database.txt", f"sqlite:///{folder / 'first.db'}")
    made.start()
    yield made
    made.kill()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path / 'people.db'}")
    yield opened
    opened.close()


@pytest.fixture
def server(running: Server, store: Store) -> Server:
    """The server, on the database of this test."""
    running.show(store.url)
    return running


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport=LAPTOP)  # type: ignore[arg-type]
    yield made
    made.close()


@pytest.fixture
def opened(server: Server, context: BrowserContext) -> Iterator[Opened]:
    """Open the page of a person; no page may raise an error."""
    errors: list[str] = []

    def open_page(place: Place, mode: str = "review", wait: str = "ready", **settings: object) -> Page:
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: dialog.accept())
        query = urllib.parse.urlencode(
            {"place": f"{place.campaign_id}-{place.rater_id}", "mode": mode, "settings": json.dumps(settings)}
        )
        page.goto(f"{server.address}/?{query}")
        if wait:
            wait_for(page, wait)
        return page

    yield open_page
    assert errors == []


def wait_for(page: Page, state: str) -> None:
    page.locator(f".trial[data-state={state}]").wait_for(timeout=30_000)


def wait_saved(page: Page) -> None:
    page.locator(".trial[data-unsaved='0'] .light[data-light=saved]").wait_for(timeout=30_000)


def press(page: Page, *keys: str) -> None:
    """Press keys, each once the picture before it was judged and the next one painted."""
    for key in keys:
        wait_for(page, "ready")
        page.keyboard.press(key)


def bottom(locator: Locator) -> float:
    """Return how far down the window something reaches, in CSS px."""
    box = locator.bounding_box()
    assert box is not None
    return box["y"] + box["height"]


def assignment(page: Page) -> str:
    return str(page.locator(".trial").get_attribute("data-assignment"))


def kinds(events: list[Event]) -> list[tuple[str, str | None]]:
    return [(event.kind, event.answer) for event in events]


# --- review -----------------------------------------------------------------------------------------------------


def test_every_key_of_a_review_does_what_it_says(store: Store, opened: Opened, tmp_path: Path) -> None:
    place = make_review(store, tmp_path, 8)
    names = assignment_ids(store, place)
    page = opened(place)
    assert page.locator(".question b").inner_text() == f"{TELLTALE} clock"
    press(page, "a", "s", "l")
    press(page, "x")
    assert page.locator(".strip").is_visible()
    page.keyboard.press("Enter")
    assert "Choose at least one reason" in page.locator(".strip").inner_text()
    page.keyboard.press("2")
    assert "Choose at least one reason" not in page.locator(".strip").inner_text()
    page.keyboard.press("8")
    page.keyboard.press("4")
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    press(page, "x")
    page.keyboard.press("1")
    page.keyboard.press("Escape")
    assert page.locator(".strip").is_hidden()
    assert assignment(page) == names[4]
    press(page, "a", "u")
    wait_for(page, "ready")
    assert page.locator(".said").inner_text() == "You said: accepted"
    press(page, "Backspace")
    wait_for(page, "ready")
    assert assignment(page) == names[3]
    assert page.locator(".said").inner_text() == "You said: rejected (silhouette broken, cropped)"
    wait_saved(page)
    assert standing(store) == ["accept", "unsure", None, None, None, None, None, None]
    assert kinds(stored_events(store)) == [
        ("answer", "accept"), ("answer", "unsure"), ("later", None), ("answer", "reject"), ("answer", "accept"),
        ("undo", None), ("undo", None),
    ]  # fmt: skip
    assert reasons_given(store) == ["cropped", "silhouette_broken"]
    press(page, "u", "u", "u")
    wait_for(page, "ready")
    assert assignment(page) == names[0]
    page.keyboard.press("?")
    assert page.locator("dialog").is_visible()
    page.keyboard.press("a")
    page.keyboard.press("Escape")
    assert page.locator("dialog").is_hidden()
    wait_saved(page)
    assert standing(store) == [None] * 8


def test_answers_carry_times_and_flags(store: Store, opened: Opened, tmp_path: Path) -> None:
    place = make_review(store, tmp_path, 3)
    page = opened(place, too_fast_ms=10_000)
    press(page, "a")
    wait_saved(page)
    (event,) = stored_events(store)
    assert "too_fast" in event.flags.split(",")
    assert event.rt_ms is not None
    assert event.rt_ms >= 0
    assert event.load_ms is not None
    assert event.client_utc is not None


def test_zoom_and_photograph(store: Store, opened: Opened, tmp_path: Path) -> None:
    page = opened(make_review(store, tmp_path, 3))
    frame = page.locator(".stage .frame").first

    def side() -> float:
        return float(frame.locator("img").evaluate("node => node.getBoundingClientRect().width"))

    whole = side()
    for zoom, said in (("2", "200 %"), ("4", "400 %"), ("1", "")):
        press(page, "z")
        assert frame.get_attribute("data-zoom") == zoom
        assert side() == pytest.approx(int(zoom) * whole, abs=1)
        assert page.locator(".stage").get_attribute("data-zoom") == said
    press(page, "v")
    page.locator(".source img").wait_for()
    assert page.locator(".source img").evaluate("node => node.naturalWidth") == 320
    press(page, "v")
    assert page.locator(".source").count() == 0
    press(page, "a")
    wait_saved(page)
    assert stored_events(store)[0].flags.split(",").count("source") == 1


def test_no_key_decides_while_a_note_is_written(store: Store, opened: Opened, tmp_path: Path) -> None:
    place = make_review(store, tmp_path, 3)
    page = opened(place)
    press(page, "n")
    page.keyboard.type("saxaul? 123")
    assert assignment(page) == assignment_ids(store, place)[0]
    page.keyboard.press("Enter")
    assert page.locator(".note").is_hidden()
    assert page.locator(".trial").get_attribute("data-noted") == "true"
    press(page, "a")
    wait_saved(page)
    (event,) = stored_events(store)
    assert (event.answer, event.note) == ("accept", "saxaul? 123")
    assert page.locator(".trial").get_attribute("data-noted") == "false"


def test_that_there_is_nothing_to_undo_is_said_without_moving_the_page(
    store: Store, opened: Opened, tmp_path: Path
) -> None:
    page = opened(make_review(store, tmp_path, 3))
    before = page.locator(".stage").bounding_box()
    press(page, "u")
    assert page.locator(".toast").inner_text() == "There is nothing to undo."
    assert page.locator(".stage").bounding_box() == before
    page.locator(".toast:empty").wait_for(state="attached")


def test_a_held_key_judges_one_picture(store: Store, opened: Opened, tmp_path: Path) -> None:
    page = opened(make_review(store, tmp_path, 12))
    for _ in range(15):
        page.keyboard.down("a")  # the browser marks the second and all others as repeats
    page.keyboard.up("a")
    press(page, "s")
    wait_saved(page)
    assert standing(store)[:3] == ["accept", "unsure", None]


def test_enter_held_on_a_button_judges_one_picture(store: Store, opened: Opened, tmp_path: Path) -> None:
    page = opened(make_review(store, tmp_path, 12))
    page.locator("[data-act=accept]").focus()
    for _ in range(10):
        page.keyboard.down("Enter")
        wait_for(page, "ready")
    page.keyboard.up("Enter")
    wait_saved(page)
    assert len(stored_events(store)) == 1


def test_a_reload_after_each_key_loses_and_doubles_nothing(
    store: Store, opened: Opened, tmp_path: Path
) -> None:
    page = opened(make_review(store, tmp_path, 6))
    for key in "asasa":
        press(page, key)
        page.reload()
        wait_for(page, "ready")
    wait_saved(page)
    assert standing(store) == ["accept", "unsure", "accept", "unsure", "accept", None]
    assert len(stored_events(store)) == 5
    assert page.locator(".count").inner_text() == "83 %"


def test_undo_goes_back_to_what_an_earlier_tab_said(store: Store, opened: Opened, tmp_path: Path) -> None:
    page = opened(make_review(store, tmp_path, 4))
    press(page, "a", "s")
    wait_saved(page)
    page.reload()
    press(page, "u", "u")
    wait_saved(page)
    assert standing(store) == [None] * 4


def test_the_newest_of_two_tabs_goes_on_and_the_older_one_says_so(
    store: Store, opened: Opened, tmp_path: Path
) -> None:
    place = make_review(store, tmp_path, 5)
    older = opened(place)
    press(older, "a")
    wait_saved(older)
    newer = opened(place)
    wait_for(older, "stopped")
    assert "another tab" in older.locator(".message").inner_text()
    older.get_by_text("page: superseded").wait_for()
    older.bring_to_front()
    older.keyboard.press("s")
    newer.bring_to_front()
    press(newer, "s")
    wait_saved(newer)
    assert standing(store) == ["accept", "unsure", None, None, None]


def test_the_page_is_told_once_all_is_answered_and_saved(
    store: Store, opened: Opened, tmp_path: Path
) -> None:
    page = opened(make_review(store, tmp_path, 15))
    press(page, *"a" * 15)
    wait_for(page, "left")
    page.keyboard.press("Enter")
    page.get_by_text("page: finished").wait_for()
    assert standing(store) == ["accept"] * 15


@pytest.mark.parametrize("reloads", [False, True])
def test_the_very_last_answer_can_be_taken_back(
    store: Store, opened: Opened, tmp_path: Path, *, reloads: bool
) -> None:
    page = opened(make_review(store, tmp_path, 2))
    press(page, "a", "a")
    wait_for(page, "left")
    assert "All done" in page.locator(".message").inner_text()
    if reloads:
        page.reload()
        wait_for(page, "left")
    page.keyboard.press("u")
    press(page, "s")
    wait_for(page, "left")
    assert standing(store) == ["accept", "unsure"]


def test_many_at_once_gives_one_event_each(store: Store, opened: Opened, tmp_path: Path) -> None:
    page = opened(make_review(store, tmp_path, 20), grid_size=12)
    press(page, "g")
    page.locator(".thumb").nth(11).wait_for()
    wait_for(page, "ready")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("x")
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    assert page.locator("[data-act=commit]").inner_text().startswith("Reject 1, accept the other 11")
    page.keyboard.press("Enter")
    wait_saved(page)
    events = stored_events(store)
    assert [event.answer for event in events] == ["accept"] * 7 + ["reject"] + ["accept"] * 4
    assert {"mode=grid" in event.flags.split(",") for event in events} == {True}
    press(page, "u")
    wait_saved(page)
    assert standing(store) == [None] * 20
    page.locator(".thumb[aria-pressed=true]").wait_for()
    assert page.locator(".thumb[aria-pressed=true]").count() == 1


def test_the_grid_is_not_there_where_it_is_turned_off(store: Store, opened: Opened, tmp_path: Path) -> None:
    page = opened(make_review(store, tmp_path, 3), grid=False)
    press(page, "g", "a")
    wait_saved(page)
    assert page.locator(".grid, [data-act=grid]").count() == 0
    assert standing(store)[0] == "accept"


def test_a_key_that_was_changed_works_and_its_old_one_does_not(
    store: Store, opened: Opened, tmp_path: Path
) -> None:
    page = opened(make_review(store, tmp_path, 3), keymap={"accept": "j"})
    press(page, "a", "j")
    wait_saved(page)
    assert kinds(stored_events(store)) == [("answer", "accept")]
    assert page.locator("[data-act=accept] kbd").inner_text() == "J"


def test_a_tablet_works_by_touch(store: Store, browser: Browser, server: Server, tmp_path: Path) -> None:
    place = make_review(store, tmp_path, 4)
    context = browser.new_context(viewport=TABLET, has_touch=True)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(f"{server.address}/?place={place.campaign_id}-{place.rater_id}")
    wait_for(page, "ready")
    for button in page.locator(".actions button").all():
        box = button.bounding_box()
        assert box is not None
        assert box["height"] >= 44
        assert box["y"] + box["height"] <= TABLET["height"]
    page.locator("[data-act=source]").tap()
    page.locator(".source img").wait_for()
    stage = page.locator(".stage").bounding_box()
    assert stage is not None
    for frame in page.locator(".stage .frame").all():
        box = frame.bounding_box()
        assert box is not None
        assert box["x"] >= stage["x"]
        assert box["x"] + box["width"] <= stage["x"] + stage["width"]
        assert bottom(frame) <= bottom(page.locator(".stage"))
    assert max(map(bottom, page.locator(".actions button").all())) <= TABLET["height"]
    page.locator("[data-act=accept]").tap()
    wait_for(page, "ready")
    page.locator("[data-act=reject]").tap()
    page.locator("[data-index='0']").tap()
    page.locator("[data-act=strip-confirm]").tap()
    wait_saved(page)
    context.close()
    assert standing(store) == ["accept", "reject", None, None]


def test_the_reasons_can_all_be_seen_at_once_on_a_small_laptop(
    store: Store, opened: Opened, tmp_path: Path
) -> None:
    page = opened(make_review(store, tmp_path, 3))
    page.set_viewport_size(SMALL_LAPTOP)  # type: ignore[arg-type]
    press(page, "x")
    assert bottom(page.locator(".strip")) <= SMALL_LAPTOP["height"]
    assert page.locator(".stage .frame").evaluate("node => node.clientWidth") >= 300


# --- what goes wrong --------------------------------------------------------------------------------------------


def test_answers_outlive_a_server_that_is_killed_and_started_again(
    store: Store, server: Server, opened: Opened, tmp_path: Path
) -> None:
    page = opened(make_review(store, tmp_path, 12))
    press(page, "a", "s")
    server.kill()
    press(page, "a", "s", "a")
    page.locator(".light[data-light=down]").wait_for()
    assert re.search(r"[345] unsaved", page.locator(".light").inner_text())
    server.start()
    wait_saved(page)
    press(page, "s")
    wait_saved(page)
    assert standing(store)[:7] == ["accept", "unsure", "accept", "unsure", "accept", "unsure", None]
    assert len(stored_events(store)) == 6


def test_answers_given_offline_are_sent_when_the_connection_is_back(
    store: Store, context: BrowserContext, opened: Opened, tmp_path: Path
) -> None:
    page = opened(make_review(store, tmp_path, 12))
    context.set_offline(True)
    press(page, "a", "s")
    page.locator(".light[data-light=down]").wait_for()
    assert stored_events(store) == []
    context.set_offline(False)
    wait_saved(page)
    assert standing(store)[:3] == ["accept", "unsure", None]


def test_what_was_unsent_when_the_tab_closed_is_sent_by_the_next_one(
    store: Store, context: BrowserContext, opened: Opened, tmp_path: Path
) -> None:
    place = make_review(store, tmp_path, 6)
    page = opened(place)
    page.route("**/api/events", lambda route: route.abort())
    press(page, "a", "s")
    page.locator(".light[data-light=down]").wait_for()
    page.close()
    assert stored_events(store) == []
    again = opened(place)
    wait_saved(again)
    assert standing(store)[:3] == ["accept", "unsure", None]
    assert assignment(again) == assignment_ids(store, place)[2]


def test_a_full_storage_is_said_and_answers_are_sent_all_the_same(
    store: Store, context: BrowserContext, opened: Opened, tmp_path: Path
) -> None:
    context.add_init_script(
        "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };"
    )
    page = opened(make_review(store, tmp_path, 3))
    page.route("**/api/events", lambda route: route.abort())
    press(page, "a")
    page.get_by_text("keep this tab open until all is saved").wait_for()
    page.unroute("**/api/events")
    wait_saved(page)
    assert standing(store) == ["accept", None, None]


def picture_of(store: Store, number: int) -> Item:
    with store.read() as session:
        item = session.get_one(Item, number + 1)
        session.expunge(item)
        return item


def test_nothing_is_recorded_on_a_picture_that_has_not_come(
    store: Store, context: BrowserContext, opened: Opened, tmp_path: Path
) -> None:
    place = make_review(store, tmp_path, 3)
    held: list[Route] = []
    context.route(f"**/api/media/{picture_of(store, 0).public_id}", lambda route: held.append(route))
    page = opened(place, wait="loading", too_fast_ms=0)
    page.get_by_text("Loading the picture").wait_for()
    page.keyboard.press("a")
    page.locator("[data-act=accept]").click()
    held[0].continue_()
    press(page, "s")
    wait_saved(page)
    (event,) = stored_events(store)
    assert (event.answer, event.flags) == ("unsure", "slow_load")


def test_a_missing_picture_is_said_and_can_be_tried_again_or_left(
    store: Store, opened: Opened, tmp_path: Path
) -> None:
    place = make_review(store, tmp_path, 3)
    path = Path(picture_of(store, 0).file_url)
    content = path.read_bytes()
    path.unlink()
    page = opened(place, wait="missing")
    assert "Nothing is recorded" in page.locator(".message").inner_text()
    for key in "axs":
        page.keyboard.press(key)
    page.locator("[data-act=skip]").click()
    press(page, "a", "a")
    wait_for(page, "missing")
    path.write_bytes(content)
    page.keyboard.press("Enter")
    press(page, "s")
    wait_for(page, "left")
    assert standing(store) == ["unsure", "accept", "accept"]
    events = stored_events(store)
    assert [(event.kind, event.flags) for event in events if event.kind != "answer"] == [
        ("interrupted", "no_picture")
    ]


def test_a_picture_whose_connection_breaks_is_tried_again(
    store: Store, context: BrowserContext, opened: Opened, tmp_path: Path
) -> None:
    place = make_review(store, tmp_path, 2)
    n_asked = 0

    def break_once(route: Route) -> None:
        nonlocal n_asked
        n_asked += 1
        if n_asked == 1:
            route.abort()
        else:
            route.continue_()

    context.route(f"**/api/media/{picture_of(store, 0).public_id}", break_once)
    press(opened(place), "a")
    assert n_asked == 2


# --- study ------------------------------------------------------------------------------------------------------


def test_a_participant_chooses_by_digits_and_mouse_and_takes_nothing_back(
    store: Store, opened: Opened, tmp_path: Path
) -> None:
    place = make_study(store, tmp_path, 5)
    page = opened(place, "study")
    press(page, "3", "0", "u", "Backspace", "a", "l")
    page.get_by_role("button", name="camera").click()
    wait_saved(page)
    answers = stored_events(store, "answer")
    assert [event.answer for event in answers] == [CHOICES[2], CHOICES[9], "camera"]
    assert len({event.assignment_id for event in answers}) == 3
    press(page, "1", "1")
    page.get_by_text("page: finished").wait_for()
    wait_saved(page)
    assert None not in standing(store)
    assert {event.kind for event in stored_events(store)} == {"shown", "answer"}


def test_an_answer_sooner_than_anybody_can_see_counts_for_nothing(
    store: Store, opened: Opened, tmp_path: Path
) -> None:
    page = opened(make_study(store, tmp_path, 3), "study", too_fast_ms=2_000, exposure={"fixation_ms": 0})
    first = assignment(page)
    page.keyboard.press("1")
    page.locator(".trial[data-state=painting], .trial[data-state=exposing]").wait_for()
    page.locator(f".trial[data-painted]:not([data-painted='{first}']):not([data-painted=''])").wait_for()
    page.keyboard.press("2")  # the second tap comes when the next picture is already there
    page.get_by_role("button", name="camera").click()
    press(page, "3")
    wait_saved(page)
    wait_for(page, "ready")
    answers = stored_events(store, "answer")
    assert [event.answer for event in answers] == [CHOICES[0], CHOICES[2]]
    assert all(event.rt_ms is not None and event.rt_ms >= 2_000 for event in answers)


def test_a_cross_comes_before_each_picture_of_a_study(store: Store, opened: Opened, tmp_path: Path) -> None:
    page = opened(make_study(store, tmp_path, 3), "study", exposure={"fixation_ms": 300})
    page.keyboard.press("1")
    page.locator(".stage .cross").wait_for()
    assert page.locator(".stage img").count() == 0
    wait_for(page, "ready")
    assert page.locator(".stage img").count() == 1


def test_all_options_and_the_picture_can_be_seen_at_once_on_a_small_laptop(
    store: Store, opened: Opened, tmp_path: Path
) -> None:
    place = make_study(store, tmp_path, 3)
    with store.write() as session:
        for assigned in session.scalars(select(Assignment)):
            assigned.choices_json = json.dumps([*CHOICES, "none"])
    page = opened(place, "study", option_labels={"none": "None of these, or can't tell"})
    page.set_viewport_size(SMALL_LAPTOP)  # type: ignore[arg-type]
    buttons = page.locator(".actions button")
    assert max(map(bottom, buttons.all())) <= SMALL_LAPTOP["height"]
    assert page.locator(".stage .frame").evaluate("node => node.clientWidth") >= 350
    last, row = buttons.last.bounding_box(), page.locator(".actions").bounding_box()
    assert last is not None
    assert row is not None
    assert last["width"] == row["width"]


def test_a_brief_exposure_takes_answers_only_once_it_is_over(
    store: Store, opened: Opened, tmp_path: Path
) -> None:
    place = make_study(store, tmp_path, 3)
    exposure = {"mode": "brief", "fixation_ms": 300, "stimulus_ms": 300, "mask_ms": 300}
    page = opened(place, "study", wait="exposing", exposure=exposure)
    stages = page.evaluate(
        """async () => {
            const host = document.querySelector('[data-testid=stBidiComponentIsolated]');
            const root = host.shadowRoot.querySelector('.trial');
            const seen = [];
            while (root.dataset.state !== 'ready') {
                const stage = root.dataset.stage;
                const what = root.querySelector('.cross') ? 'cross' : root.querySelector('.frame img') ? 'picture'
                    : root.querySelector('.frame canvas') ? 'noise' : 'nothing';
                if (seen.at(-1) !== what) seen.push(what);
                document.dispatchEvent(new KeyboardEvent('keydown', { key: '2', code: 'Digit2' }));
                document.dispatchEvent(new KeyboardEvent('keyup', { key: '2', code: 'Digit2' }));
                await new Promise(requestAnimationFrame);
            }
            return seen;
        }"""
    )
    assert stages[-3:] == ["picture", "noise", "nothing"]
    press(page, "1")
    wait_saved(page)
    (event,) = stored_events(store, "answer")
    assert event.answer == CHOICES[0]
    assert event.rt_ms is not None
    assert event.rt_ms >= 500  # from the onset of the picture, which mask and picture follow


def test_a_trial_that_is_not_answered_in_time_is_recorded_and_does_not_come_back(
    store: Store, opened: Opened, tmp_path: Path
) -> None:
    place = make_study(store, tmp_path, 2)
    exposure = {"mode": "brief", "fixation_ms": 0, "stimulus_ms": 50, "mask_ms": 0, "response_ms": 300}
    page = opened(place, "study", wait="saving", exposure=exposure)
    wait_saved(page)
    assert [event.kind for event in stored_events(store) if event.kind != "shown"] == ["timeout", "timeout"]
    assert standing(store) == [None, None]


def test_a_reload_during_a_trial_is_recorded_as_an_interruption(
    store: Store, opened: Opened, tmp_path: Path
) -> None:
    place = make_study(store, tmp_path, 3)
    names = assignment_ids(store, place)
    page = opened(place, "study")
    page.reload()
    wait_for(page, "ready")
    assert assignment(page) == names[1]
    press(page, "1", "2", "3")
    page.get_by_text("page: finished").wait_for()
    assert len(stored_events(store, "interrupted")) == 1
    assert standing(store) == [CHOICES[2], CHOICES[0], CHOICES[1]]


def test_the_page_is_told_between_two_blocks(store: Store, opened: Opened, tmp_path: Path) -> None:
    place = make_study(store, tmp_path, 4, n_per_block=2)
    page = opened(place, "study")
    press(page, "1", "2", "3", "4")  # the test page goes on by itself
    page.get_by_text("page: finished").wait_for()
    assert standing(store) == CHOICES[:4]


def test_practice_shows_feedback_before_the_next_trial(store: Store, opened: Opened, tmp_path: Path) -> None:
    place = make_study(store, tmp_path, 2, role="practice")
    page = opened(place, "practice")
    for key in "12":
        press(page, key)
        wait_for(page, "feedback")
        assert page.locator(".actions .message p").inner_text() == "That was right."
        assert page.locator(".stage img").is_visible()
        page.keyboard.press("5")
        page.keyboard.press("Enter")
    page.get_by_text("page: phase").wait_for()
    assert standing(store) == CHOICES[:2]


def test_a_participant_is_sent_no_class_no_path_and_no_role(
    store: Store, opened: Opened, context: BrowserContext, server: Server, tmp_path: Path
) -> None:
    place = make_study(store, tmp_path, 4)
    heard: list[str] = []
    frames: list[str] = []

    def listen(page: Page) -> None:
        page.on("request", lambda request: heard.append(f"{request.url} {request.post_data or ''}"))
        page.on("response", lambda response: heard.append(body_of(response)))
        page.on("websocket", listen_to_socket)

    def listen_to_socket(socket: WebSocket) -> None:
        socket.on("framesent", lambda frame: frames.append(as_text(frame)))
        socket.on("framereceived", lambda frame: frames.append(as_text(frame)))

    def body_of(response: Any) -> str:
        own = "/static/" not in response.url  # Streamlit's own code has every word in it
        return as_text(response.body()) if own and response.status == 200 else response.url

    context.on("page", listen)
    page = opened(place, "study")
    press(page, "1", "2")
    wait_for(page, "ready")
    heard.append(page.content())
    heard.append(page.locator(".trial").evaluate("node => node.outerHTML"))
    heard.append(json.dumps(page.evaluate("({...localStorage})")))
    wait_saved(page)
    assert any("cuebench_trial" in frame for frame in frames)
    heard += frames
    sent = "\n".join(heard)
    assert sent.count("/api/media/") >= 4
    forbidden = [TELLTALE, str(tmp_path), "superclass", "catch", "known_bad", "expected", "cue_kind"]
    own_code = [text for text in heard if "export class" in text or "stBidi" in text]
    answers = [text for text in heard if text not in own_code]
    assert [word for word in forbidden if word in "\n".join(answers)] == []
    assert [word for word in (TELLTALE, str(tmp_path)) if word in sent] == []


def as_text(content: Any) -> str:
    return content.decode("utf-8", "replace") if isinstance(content, bytes) else str(content)


# --- masks ------------------------------------------------------------------------------------------------------


def test_a_mask_is_picked_by_digit_box_or_none(store: Store, opened: Opened, tmp_path: Path) -> None:
    place = make_masks(store, tmp_path, 4)
    page = opened(place, "mask")
    assert page.locator(".candidate").count() == 3
    press(page, "2", "0", "b")
    area = page.locator(".box-stage").bounding_box()
    assert area is not None
    scale = area["width"] / 224
    page.mouse.move(area["x"] + 20 * scale, area["y"] + 30 * scale)
    page.mouse.down()
    page.mouse.move(area["x"] + 120 * scale, area["y"] + 200 * scale)
    page.mouse.up()
    page.keyboard.press("Enter")
    press(page, "b")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Enter")
    wait_for(page, "left")
    answers = [event.answer for event in stored_events(store)]
    assert answers[1] == "none"
    assert answers[0] not in (None, "none")
    x0, y0, x1, y1 = (int(part) for part in str(answers[2]).removeprefix("box:").split(","))
    assert abs(x0 - 20) + abs(y0 - 30) + abs(x1 - 120) + abs(y1 - 200) <= 6
    assert answers[3] == "box:56,56,171,168"
