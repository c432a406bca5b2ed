"""A small run and its review, for the tests of reviews: no picture is rendered, each is a few grey squares."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from sqlalchemy import select

from curation.answers import ClientEvent, record_events
from curation.database import Store
from curation.tables import Assignment, Campaign, Item, Rater
from data_manifests.jsonl import write_records
from data_manifests.records import CueKind, CueRecord, SourceRecord
from generation.cue_files import encode_png
from generation.hashing import pixel_sha256

CLASSES: dict[str, CueKind] = {"clock": "shape", "zebra": "texture"}
SIDE_PX = 8


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def draw(name: str) -> np.typing.NDArray[np.uint8]:
    """Return an (8, 8, 3) picture that its name gives."""
    squares = np.frombuffer(hashlib.sha256(name.encode()).digest()[:16], np.uint8).reshape(4, 4)
    return np.repeat(np.kron(squares, np.ones((2, 2), np.uint8))[..., None], 3, axis=2)


def write_cues(
    run: Path,
    n_per_class: int,
    classes: Mapping[str, CueKind] = CLASSES,
    *,
    again: Sequence[int] = (),
    failed: Sequence[int] = (),
) -> Path:
    """Write a run of `n_per_class` photographs of each class, one cue each.

    The cues of the photographs in `again` look otherwise than those of a run without it; those in `failed` gave
    no picture.
    """
    cues, sources = [], []
    for superclass, kind in classes.items():
        for number in range(n_per_class):
            name = f"{kind}/{superclass}/{number}"
            source_id = sha256(f"photograph {name}")
            sources.append(_source(source_id, kind, superclass, number))
            version = "rendered again" if number in again else "first"
            fields: dict[str, object] = {
                "cue_id": sha256(name + version)[:32],
                "cue_kind": kind,
                "superclass": superclass,
                "grid": 8 if kind == "texture" else None,
                "variant": 0 if kind == "texture" else None,
                "parent_source_ids": (source_id,),
                "recipe_sha256": sha256("recipe"),
                "generator_version": "0.1.0",
                "seed": 1,
            }
            if number in failed:
                fields["status"] = "mask_empty"
            else:
                fields.update(
                    _picture(run, f"cues/{name}-{version.replace(' ', '-')}.png", draw(name + version))
                )
            cues.append(CueRecord.model_validate(fields))
    write_records(str(run / "cues.jsonl"), cues)
    write_records(str(run / "sources.jsonl"), sources)
    return run


def _source(source_id: str, kind: CueKind, superclass: str, number: int) -> SourceRecord:
    return SourceRecord(
        source_id=source_id,
        n_bytes=1,
        file_name=f"../photos/{superclass}/{number}.jpg",
        superclass=superclass,
        cue_kind=kind,
    )


def _picture(run: Path, name: str, image: np.typing.NDArray[np.uint8]) -> dict[str, object]:
    data = encode_png(image)
    path = run / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return {
        "file_name": name,
        "sha256": hashlib.sha256(data).hexdigest(),
        "pixel_sha256": pixel_sha256(image),
        "width": SIDE_PX,
        "height": SIDE_PX,
    }


def write_images(folder: Path, names: Sequence[str]) -> Path:
    """Write a picture for each name, which has to end in .png."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode_png(draw(name)))
    return folder


class Showing:
    """One assignment of a reviewer, as a test sees it."""

    def __init__(self, assignment: Assignment, item: Item, reviewer: str) -> None:
        self.id = assignment.public_id
        self.role = assignment.role
        self.presentation = assignment.presentation
        self.block = assignment.block
        self.position = assignment.position
        self.rater_id = assignment.rater_id
        self.reviewer = reviewer
        self.item = item.public_id
        self.item_id = item.id
        self.kind = item.cue_kind
        self.superclass = item.superclass
        self.sha256 = item.sha256


def showings(store: Store, slug: str, reviewer: str | None = None) -> list[Showing]:
    """Return the queues of a campaign, or of one reviewer, in their order."""
    query = (
        select(Assignment, Item, Rater.auth_subject)
        .join(Item, Item.id == Assignment.item_id)
        .join(Rater, Rater.id == Assignment.rater_id)
        .join(Campaign, Campaign.id == Assignment.campaign_id)
        .where(Campaign.slug == slug)
        .order_by(Assignment.rater_id, Assignment.block, Assignment.position)
    )
    with store.read() as session:
        found = [Showing(assignment, item, name or "") for assignment, item, name in session.execute(query)]
    return [showing for showing in found if reviewer in (None, showing.reviewer)]


def answer(store: Store, shown: Sequence[Showing], verdict: str | Callable[[Showing], str]) -> None:
    """Give a verdict on each of the showings."""
    for rater_id in dict.fromkeys(showing.rater_id for showing in shown):
        events = []
        for showing in (showing for showing in shown if showing.rater_id == rater_id):
            said = verdict if isinstance(verdict, str) else verdict(showing)
            reasons = ("wrong_class",) if said == "reject" else ()
            events.append(ClientEvent(str(uuid.uuid4()), showing.id, "answer", said, reasons))
        acks = record_events(store, rater_id, None, events)
        assert {ack.status for ack in acks} == {"stored"}, acks
