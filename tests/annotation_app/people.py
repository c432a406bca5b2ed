"""A database with pictures, people and what they have to answer, and a server that shows it."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from sqlalchemy import select

from curation.answers import open_session
from curation.campaigns import NewItem, create_campaign, new_participant, new_public_id, staff
from curation.database import Store
from curation.item_placement import place_items
from curation.tables import Assignment, Campaign, CurrentAnswer, Event, EventReason, Item, MaskCandidate
from tests.repository import ROOT

STREAMLIT_OPTIONS = {
    "STREAMLIT_RUNNER_POST_SCRIPT_GC": "false",
    "STREAMLIT_BROWSER_GATHER_USAGE_STATS": "false",
    "STREAMLIT_SERVER_FILE_WATCHER_TYPE": "none",
    "STREAMLIT_CLIENT_TOOLBAR_MODE": "minimal",
    "STREAMLIT_LOGGER_LEVEL": "error",
}
TELLTALE = (
    "zzsecret"  # begins the name of every class, so that it can be looked for in what a participant gets
)
CHOICES = [
    "clock",
    "hourglass",
    "ipod",
    "mouse",
    "camera",
    "cassette",
    "balloon",
    "elephant",
    "book",
    "zebra",
]


@dataclass(frozen=True)
class Place:
    """A campaign and one person in it."""

    campaign_id: int
    rater_id: int


def draw_cue(path: Path, number: int, side_px: int = 224) -> str:
    """Write a picture that no other number has; return the SHA-256 of the file."""
    random = np.random.Generator(np.random.PCG64(number))
    rows, columns = np.mgrid[0:side_px, 0:side_px]
    centre = side_px / 2 + random.uniform(-20, 20, 2)
    angle = np.arctan2(rows - centre[0], columns - centre[1])
    lobes = 1 + 0.25 * np.sin(angle * random.integers(3, 9) + random.uniform(0, 6))
    inside = np.hypot(rows - centre[0], columns - centre[1]) < side_px * 0.33 * lobes
    image = np.where(inside[..., None], 20, 235).astype(np.uint8).repeat(3, axis=2)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).save(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def new_items(folder: Path, n_items: int, first: int = 0, kind: str = "shape") -> list[NewItem]:
    """Draw cues and their photographs, and return them as items."""
    items = []
    for number in range(first, first + n_items):
        name = f"{TELLTALE}_{CHOICES[number % len(CHOICES)]}"
        path = folder / name / f"{number}.png"
        digest = draw_cue(path, number)
        source = folder / "photographs" / f"{number}.png"
        draw_cue(source, 1_000_000 + number, 320)
        items.append(
            NewItem(
                kind, name, digest, str(path), f"{number:064}", source_url=str(source), width=224, height=224
            )
        )
    return items


def make_review(
    store: Store, folder: Path, n_items: int = 12, reviewer: str = "ana", slug: str = "look"
) -> Place:
    """Make an open review in which one person judges every picture, in order."""
    return _make(store, slug, "review", reviewer, new_items(folder, n_items), roles=["main"] * n_items)


def make_study(
    store: Store,
    folder: Path,
    n_items: int = 12,
    slug: str = "study",
    n_per_block: int = 100,
    role: str = "main",
) -> Place:
    """Make an open study with one participant, whose last trial is a catch trial."""
    roles = [role] * (n_items - 1) + ["catch" if role == "main" else role]
    items = new_items(folder, n_items)
    return _make(store, slug, "study", None, items, roles=roles, n_per_block=n_per_block)


def make_masks(store: Store, folder: Path, n_items: int = 3, slug: str = "masks") -> Place:
    """Make an open round of mask picking; every photograph has two candidates."""
    place = _make(store, slug, "mask", "ana", new_items(folder, n_items), roles=["main"] * n_items)
    with store.write() as session:
        for item in list(session.scalars(select(Item).order_by(Item.id))):
            for position in range(2):
                mask = np.zeros((224, 224), np.uint8)
                mask[30 : 120 + 70 * position, 40:180] = 255
                path = folder / "masks" / f"{item.id}_{position}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(mask).save(path)
                session.add(
                    MaskCandidate(
                        public_id=new_public_id(), item_id=item.id, position=position, segmenter="folder",
                        mask_sha256=f"{item.id * 10 + position:064}", file_url=str(path),
                    )
                )  # fmt: skip
    return place


def _make(
    store: Store, slug: str, kind: str, subject: str | None, items: list[NewItem], *, roles: list[str],
    n_per_block: int = 100,
) -> Place:  # fmt: skip
    with store.write() as session:
        campaign = create_campaign(session, slug, kind, {}, seed=1)
        campaign.state = "open"
        rater = staff(session, subject) if subject else new_participant(session, campaign)[0]
        ids = [
            place_items(session, campaign, [item], role).new[0]
            for item, role in zip(items, roles, strict=True)
        ]
        choices = json.dumps(CHOICES) if kind == "study" else "[]"
        session.add_all(
            Assignment(
                public_id=new_public_id(), campaign_id=campaign.id, rater_id=rater.id, item_id=item_id, role=role,
                position=position, block=position // n_per_block, choices_json=choices,
            )
            for position, (item_id, role) in enumerate(zip(ids, roles, strict=True))
        )  # fmt: skip
        return Place(campaign.id, rater.id)


def open_tab(store: Store, place: Place) -> str:
    """Open a tab as a page does; return its session id."""
    session_id = new_public_id()
    open_session(store, place.rater_id, place.campaign_id, session_id)
    return session_id


def set_state(store: Store, place: Place, state: str) -> None:
    """Open, freeze or close the campaign."""
    with store.write() as session:
        session.get_one(Campaign, place.campaign_id).state = state


def assignment_ids(store: Store, place: Place) -> list[str]:
    """Return the public ids of the assignments in their order."""
    query = select(Assignment.public_id).where(
        Assignment.rater_id == place.rater_id, Assignment.campaign_id == place.campaign_id
    )
    with store.read() as session:
        return list(session.scalars(query.order_by(Assignment.position)))


def stored_events(store: Store, kind: str | None = None) -> list[Event]:
    """Return the events in the order in which they were stored."""
    query = select(Event).order_by(Event.id)
    with store.read() as session:
        events = list(session.scalars(query if kind is None else query.where(Event.kind == kind)))
        session.expunge_all()
        return events


def standing(store: Store) -> list[str | None]:
    """Return the answers that stand, in the order of the assignments; None where there is none."""
    query = (
        select(CurrentAnswer.answer)
        .select_from(Assignment)
        .outerjoin(CurrentAnswer, CurrentAnswer.assignment_id == Assignment.id)
        .order_by(Assignment.rater_id, Assignment.position)
    )
    with store.read() as session:
        return list(session.scalars(query))


def reasons_given(store: Store) -> list[str]:
    """Return all reasons of all rejections."""
    with store.read() as session:
        return sorted(session.scalars(select(EventReason.reason)))


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Client:
    """Sends requests to the routes, as the component does."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.address = f"http://127.0.0.1:{port}"

    def request(
        self, path: str, session_id: str = "", body: bytes | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers (lower case) and body of one request."""
        headers = {"X-Cuebench-Session": session_id} if session_id else {}
        asked = urllib.request.Request(f"{self.address}{path}", body, headers)  # noqa: S310
        try:
            with urllib.request.urlopen(asked, timeout=30) as answer:  # noqa: S310
                return answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, {k.lower(): v for k, v in error.headers.items()}, error.read()

    def get(self, path: str, session_id: str = "") -> Any:
        """Return the JSON of a request that succeeds."""
        status, _, body = self.request(path, session_id)
        assert status == 200, body
        return json.loads(body)

    def post(self, session_id: str, events: list[dict[str, Any]], **more: object) -> Any:
        """Send events and return the JSON of the answer."""
        status, _, body = self.request(
            "/api/events", session_id, json.dumps({"events": events, **more}).encode()
        )
        assert status == 200, body
        return json.loads(body)


class Server(Client):
    """The app of `trial_page` in a process of its own, which can be killed and started again."""

    def __init__(self, pointer: Path, url: str) -> None:
        super().__init__(free_port())
        self.pointer = pointer
        self.log = pointer.with_suffix(".log")
        self.show(url)
        self.process: subprocess.Popen[bytes] | None = None

    def show(self, url: str) -> None:
        """Have the server look at another database from now on."""
        self.pointer.write_text(url, encoding="utf-8")

    def start(self) -> None:
        """Start, and return once it answers."""
        command = [sys.executable, "-m", "tests.annotation_app.trial_page", str(self.pointer), str(self.port)]
        with self.log.open("ab") as log:  # a pipe that nobody reads would stop the server once it is full
            self.process = subprocess.Popen(
                command, cwd=ROOT, stderr=log, env={**os.environ, **STREAMLIT_OPTIONS}
            )
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.address}/healthz", timeout=5) as answer:  # noqa: S310
                    assert json.load(answer) == {"status": "ok"}
                    return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.05)  # the process has to come up; nothing tells when
        self.kill()
        raise RuntimeError(f"the server did not come up on port {self.port}")

    def cpu_seconds(self) -> float:
        """Return the CPU time that the process has used (Linux)."""
        assert self.process is not None
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        """End the process at once, as a power cut does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)
            self.process = None
            errors = self.log.read_text(encoding="utf-8")
            assert "Traceback" not in errors, errors
