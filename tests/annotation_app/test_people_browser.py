"""People at the whole application: the command in a process of its own, and a real browser."""

from __future__ import annotations

import signal
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from curation.database import Store, open_store
from curation.study_record import read_responses
from tests.annotation_app.drawn_campaigns import begin_review, begin_study, write_cues
from tests.annotation_app.people import stored_events
from tests.annotation_app.running_app import PATIENCE_SECONDS, RunningApp, running_app
from tests.annotation_app.test_trial_browser import FLAGS, SMALL_LAPTOP, assignment, bottom, press, wait_for
from tests.lanes import chromium_path

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page, Response

pytestmark = pytest.mark.browser

N_TRIALS = 15
STUDY = {"cue_kinds": ["shape"], "n_images_per_cue": 12, "n_trials_per_cue": 12, "n_repeats": 3}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(str(tmp_path / "record.db"))
    yield opened
    opened.close()


@pytest.fixture
def app(store: Store, tmp_path: Path) -> Iterator[RunningApp]:
    write_cues(tmp_path / "cues", 6)
    with running_app(tmp_path, "--db", str(tmp_path / "record.db")) as running:
        yield running


@pytest.fixture
def context() -> Iterator[BrowserContext]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=list(FLAGS))
        made = browser.new_context(viewport=SMALL_LAPTOP)
        made.set_default_timeout(60_000)
        yield made
        browser.close()


def click(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def to_practice(page: Page, link: str) -> None:
    """Go from the link to the first trial of the practice."""
    page.goto(link)
    click(page, "I agree and take part")
    click(page, "I have read this")
    page.locator("label", has_text="What the pattern belongs to").last.click()
    click(page, "Answer")
    wait_for(page, "ready")


def practise(page: Page, n_trials: int = 2) -> None:
    for _ in range(n_trials):
        press(page, "1")
        wait_for(page, "feedback")
        page.keyboard.press("Enter")


def is_showing(response: Response) -> bool:
    """Return whether the server was just told that a picture is on the screen, and nothing else."""
    told = response.request.post_data or ""
    return '"shown"' in told and not any(kind in told for kind in ('"answer"', '"interrupted"'))


def test_reloads_and_second_tabs_cost_no_trial(
    store: Store, app: RunningApp, context: BrowserContext, tmp_path: Path
) -> None:
    (token,) = begin_study(store, "paper", tmp_path / "cues", 1, **STUDY)
    link = f"{app.url}/?p={token}"
    page = context.new_page()
    to_practice(page, link)
    practise(page)
    page.get_by_role("heading", name="Now it counts").wait_for()
    click(page, "Begin")
    press(page, "1")
    wait_for(page, "ready")
    left = [assignment(page)]
    for _ in range(2):
        page.reload()  # at once, before the server was told of the picture
        wait_for(page, "ready")
        left.append(assignment(page))
    with page.expect_response(is_showing):
        page.reload()
    for _ in range(2):
        left.append(assignment(page))
        with page.expect_response(is_showing):
            page.reload()
    other = context.new_page()
    other.goto(link)
    wait_for(other, "ready")
    page.get_by_role("heading", name="Open in another tab").wait_for()
    page.bring_to_front()  # a page in the background gets few frames
    click(page, "Go on here instead")
    press(page, *"1" * (N_TRIALS - 1))
    page.get_by_text("This is your completion code").wait_for()
    assert len(set(left)) == len(left)
    told = read_responses(store, "paper")
    answers = [response.answer for response in told if response.role != "practice"]
    assert len(answers) == N_TRIALS
    assert None not in answers
    interrupted = [event.assignment_id for event in stored_events(store, "interrupted")]
    assert len(interrupted) == len(set(interrupted)) >= len(left)


def test_who_says_nothing_after_a_brief_picture_has_missing_trials_and_reaches_the_end(
    store: Store, app: RunningApp, context: BrowserContext, tmp_path: Path
) -> None:
    brief = {"mode": "brief", "fixation_ms": 0, "stimulus_ms": 50, "mask_ms": 0, "response_ms": 300}
    (token,) = begin_study(
        store, "paper", tmp_path / "cues", 1, exposure=brief, cue_kinds=["shape"],
        practice={"n_trials": 0, "n_correct": 0},
    )  # fmt: skip
    page = context.new_page()
    page.goto(f"{app.url}/?p={token}")
    click(page, "I agree and take part")
    click(page, "I have read this")
    page.locator("label", has_text="What the pattern belongs to").last.click()
    click(page, "Answer")
    click(page, "Begin")
    page.get_by_text("This is your completion code").wait_for()
    assert len(stored_events(store, "timeout")) == 4
    assert [response.answer for response in read_responses(store, "paper")] == [None] * 4


def test_a_reviewer_needs_no_mouse_and_nothing_is_asked_of_another_host(
    store: Store, app: RunningApp, context: BrowserContext, tmp_path: Path
) -> None:
    begin_review(store, "first", tmp_path / "cues", ["ana"])
    (token,) = begin_study(store, "paper", tmp_path / "cues", 1)
    hosts: set[str | None] = set()
    context.on("request", lambda request: hosts.add(urllib.parse.urlsplit(request.url).hostname))
    context.on(
        "page",
        lambda page: page.on("websocket", lambda ws: hosts.add(urllib.parse.urlsplit(ws.url).hostname)),
    )
    page = context.new_page()
    page.goto(app.url)
    page.locator("input:focus").wait_for()
    page.keyboard.type("ana")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Start").wait_for()
    page.goto(f"{app.url}/?reviewer=ana&page=work&campaign=first")
    page.locator(".st-key-read button:focus").wait_for()
    page.keyboard.press("Enter")
    press(page, "a", "s")
    wait_for(page, "ready")
    assert max(map(bottom, page.locator(".actions button").all())) <= SMALL_LAPTOP["height"]
    participant = context.new_page()
    to_practice(participant, f"{app.url}/?p={token}")
    practise(participant)
    participant.locator(".st-key-begin button:focus").wait_for()
    assert {host for host in hosts if host} == {"127.0.0.1"}
    app.process.send_signal(signal.SIGINT)
    stdout, stderr = app.process.communicate(timeout=PATIENCE_SECONDS)
    assert token not in stdout + stderr
    assert stderr == "Ctrl-C ends it.\n"
