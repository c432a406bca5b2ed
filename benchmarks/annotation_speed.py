"""How fast the trial loop is: from a key to the next picture on the screen, and for many people at once.

`python -m benchmarks.annotation_speed [key] [load]`: both by default. `key` needs chromium. Targets: 30 ms at the
median and 60 ms at p95 from key to paint; p95 of storing an answer 60 ms for 50 people and 250 ms for 100, no error.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

import numpy as np
from sqlalchemy import func, select

from curation.answers import open_session
from curation.campaigns import create_campaign, new_participant, new_public_id
from curation.database import Store, open_store
from curation.item_placement import place_items
from curation.tables import Assignment, Event
from tests.annotation_app.people import CHOICES, Server, make_review, new_items

N_PRESSES = 60
KEY_TARGET_MS = (30.0, 60.0)
LOAD_TARGETS_MS = {50: 60.0, 100: 250.0}
THINK_S = 2.5
SECONDS = 20.0
N_ITEMS = 40

PAINT_SCRIPT = """async (key) => {
    const root = document.querySelector('[data-testid=stBidiComponentIsolated]').shadowRoot.querySelector('.trial');
    const before = root.dataset.assignment;
    const code = 'Key' + key.toUpperCase();
    const start = performance.now();
    document.dispatchEvent(new KeyboardEvent('keydown', { key, code, bubbles: true }));
    document.dispatchEvent(new KeyboardEvent('keyup', { key, code, bubbles: true }));
    while (root.dataset.painted === before || root.dataset.state !== 'ready') await new Promise(requestAnimationFrame);
    return performance.now() - start;
}"""


def main(arguments: list[str]) -> int:
    """Print both tables; return 1 where a target was missed."""
    parts = arguments or ["key", "load"]
    held = []
    if "key" in parts:
        held.append(measure_keys())
    if "load" in parts:
        held.extend(measure_load(n_people) for n_people in LOAD_TARGETS_MS)
    return 0 if all(held) else 1


def measure_keys() -> bool:
    """Time key to paint in chromium, and say whether the targets are met."""
    from playwright.sync_api import sync_playwright

    from tests.annotation_app.test_trial_browser import FLAGS
    from tests.lanes import chromium_path

    with tempfile.TemporaryDirectory() as folder:
        store, server = serve(Path(folder))
        place = make_review(store, Path(folder), N_PRESSES + 10)
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=chromium_path(), args=list(FLAGS))
            page = chromium.new_page(viewport={"width": 1400, "height": 900})
            page.goto(f"{server.address}/?place={place.campaign_id}-{place.rater_id}")
            page.locator(".trial[data-state=ready]").wait_for(timeout=30_000)
            page.wait_for_timeout(2000)  # the page itself comes to rest
            times = []
            for _ in range(N_PRESSES):
                times.append(float(page.evaluate(PAINT_SCRIPT, "a")))
                page.wait_for_timeout(150)
            chromium.close()
        server.kill()
        n_rows = count_answers(store)
        store.close()
    p50, p95 = np.percentile(times, [50, 95])
    print(
        f"key -> next picture painted, {N_PRESSES} presses: p50 {p50:.1f} ms, p95 {p95:.1f} ms, max {max(times):.1f} ms"
    )
    print(f"  rows {n_rows} of {N_PRESSES}; target {KEY_TARGET_MS[0]:.0f} / {KEY_TARGET_MS[1]:.0f} ms")
    return bool(p50 <= KEY_TARGET_MS[0] and p95 <= KEY_TARGET_MS[1] and n_rows == N_PRESSES)


def measure_load(n_people: int) -> bool:
    """Let people answer over HTTP for a while, and say whether the target is met."""
    with tempfile.TemporaryDirectory() as folder:
        store, server = serve(Path(folder))
        people = [Participant(server.port, tab) for tab in plan_people(store, Path(folder), n_people)]
        end = time.monotonic() + SECONDS
        cpu_before = server.cpu_seconds()
        threads = [threading.Thread(target=person.work, args=(end,)) for person in people]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        cpu_s = server.cpu_seconds() - cpu_before
        server.kill()
        n_rows = count_answers(store)
        store.close()
    times = [ms for person in people for ms in person.answer_ms]
    pictures = [ms for person in people for ms in person.picture_ms]
    errors = [error for person in people for error in person.errors]
    if not times or not pictures:
        print(f"{n_people} people: nothing was answered; errors {errors[:3]}")
        return False
    p50, p95 = np.percentile(times, [50, 95])
    print(
        f"{n_people} people, {THINK_S} s to think, {SECONDS:.0f} s: {len(times)} answers, p50 {p50:.1f} ms, "
        f"p95 {p95:.1f} ms, max {max(times):.1f} ms; picture p95 {np.percentile(pictures, 95):.1f} ms; "
        f"CPU of the server {1000 * cpu_s / len(times):.0f} ms an answer, load of the machine {os.getloadavg()[0]:.1f}"
    )
    print(
        f"  errors {len(errors)} {errors[:3]}, rows {n_rows} of {len(times)}; "
        f"target p95 {LOAD_TARGETS_MS[n_people]:.0f} ms"
    )
    return bool(p95 <= LOAD_TARGETS_MS[n_people] and not errors and n_rows == len(times))


def serve(folder: Path) -> tuple[Store, Server]:
    """Return a new database and a server that shows it."""
    store = open_store(f"sqlite:///{folder / 'speed.db'}")
    server = Server(folder / "database.txt", store.url)
    server.start()
    return store, server


def count_answers(store: Store) -> int:
    """Return how many answers are stored."""
    with store.read() as session:
        return session.scalar(select(func.count()).select_from(Event).where(Event.kind == "answer")) or 0


def plan_people(store: Store, folder: Path, n_people: int) -> list[str]:
    """Make a study in which everybody sees all pictures; return the session ids of their tabs."""
    items = new_items(folder, N_ITEMS)
    raters = []
    with store.write() as session:
        campaign = create_campaign(session, "speed", "study", {}, seed=1)
        campaign.state = "open"
        ids = place_items(session, campaign, items).new
        for _ in range(n_people):
            rater, _token = new_participant(session, campaign)
            raters.append(rater.id)
            session.add_all(
                Assignment(
                    public_id=new_public_id(), campaign_id=campaign.id, rater_id=rater.id, item_id=item_id,
                    position=position, choices_json=json.dumps(CHOICES),
                )
                for position, item_id in enumerate(ids)
            )  # fmt: skip
        campaign_id = campaign.id
    tabs = [new_public_id() for _ in raters]
    for rater_id, tab in zip(raters, tabs, strict=True):
        open_session(store, rater_id, campaign_id, tab)
    return tabs


class Participant:
    """One person's browser, as the server sees it: pictures ahead, then an answer every few seconds."""

    def __init__(self, port: int, tab: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.tab = tab
        self.random = random.Random(tab)  # noqa: S311
        self.answer_ms: list[float] = []
        self.picture_ms: list[float] = []
        self.errors: list[str] = []

    def work(self, end: float) -> None:
        """Answer until the time is over."""
        try:
            time.sleep(self.random.uniform(0, THINK_S))
            tasks = json.loads(self._ask("GET", "/api/tasks"))["tasks"]
            loaded: set[str] = set()
            while tasks and time.monotonic() < end:
                self._load(tasks[:8], loaded)
                time.sleep(self.random.uniform(0.5, 1.5) * THINK_S)
                tasks = self._answer(tasks[0])
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.errors.append(repr(error))
        finally:
            self.connection.close()

    def _load(self, tasks: list[dict[str, str]], loaded: set[str]) -> None:
        for name in [task["item"] for task in tasks if task["item"] not in loaded]:
            start = time.perf_counter()
            self._ask("GET", f"/api/media/{name}")
            self.picture_ms.append((time.perf_counter() - start) * 1000)
            loaded.add(name)

    def _answer(self, task: dict[str, str]) -> list[dict[str, str]]:
        common = {"assignment": task["id"]}
        events = [
            {**common, "event_id": str(uuid.uuid4()), "kind": "shown"},
            {**common, "event_id": str(uuid.uuid4()), "kind": "answer", "answer": CHOICES[0], "rt_ms": 700},
        ]
        body = json.dumps({"events": events, "in_flight": [task["id"]]})
        start = time.perf_counter()
        reply = json.loads(self._ask("POST", "/api/events", body))
        self.answer_ms.append((time.perf_counter() - start) * 1000)
        self.errors.extend(ack["detail"] for ack in reply["acks"] if ack["status"] != "stored")
        tasks: list[dict[str, str]] = reply["tasks"]
        return tasks

    def _ask(self, method: str, path: str, body: str | None = None) -> bytes:
        self.connection.request(method, path, body, {"X-Cuebench-Session": self.tab})
        answer = self.connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise ValueError(f"{path}: status {answer.status}")
        return content


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
