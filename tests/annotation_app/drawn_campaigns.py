"""A review, a round of mask picking and a study of drawn pictures, for tests of the pages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw
from sqlalchemy import select

from curation.answers import ClientEvent, record_events
from curation.campaigns import NewItem, create_campaign, new_public_id, sha256_text, staff
from curation.database import Store
from curation.item_placement import place_items
from curation.protocol import parse_protocol
from curation.review import assign, import_review
from curation.study import invite, plan_study
from curation.tables import Campaign, MaskCandidate
from curation.work_queue import pending

CLASSES = {"shape": ("balloon", "clock", "turtle"), "texture": ("corn", "honeycomb", "zebra")}
SIDE_PX = 224
_MASK_SETTINGS = {"n_raters": 1, "overlap": 0.0, "repeat_share": 0.0}
_PROTOCOL = {
    "name": "tiny",
    "n_images_per_cue": 6,
    "n_ratings_per_image": 2,
    "min_ratings_per_image": 1,
    "n_trials_per_cue": 4,
    "n_catch": 0,
    "n_repeats": 0,
    "over_recruit_share": 0.0,
    "practice": {"n_trials": 2, "n_correct": 0, "max_rounds": 1},
}


def write_cues(folder: Path, n_per_class: int = 4) -> Path:
    """Write drawn pictures as `<kind>/<superclass>/<number>.png`, all different."""
    for kind, names in CLASSES.items():
        for place, name in enumerate(names):
            (folder / kind / name).mkdir(parents=True, exist_ok=True)
            for number in range(n_per_class):
                picture = _draw_shape(place, number) if kind == "shape" else _draw_texture(place, number)
                picture.save(folder / kind / name / f"{number:02}.png")
    return folder


def _draw_shape(place: int, number: int) -> Image.Image:
    picture = Image.new("RGB", (SIDE_PX, SIDE_PX), "white")
    draw = ImageDraw.Draw(picture)
    radius = SIDE_PX / 2 - 30 - 6 * number
    draw.regular_polygon((SIDE_PX / 2, SIDE_PX / 2, radius), 3 + 2 * place, fill="black")
    return picture


def _draw_texture(place: int, number: int) -> Image.Image:
    y, x = np.mgrid[:SIDE_PX, :SIDE_PX]
    period = 12 + 4 * number
    across, down = np.sin(x * 2 * np.pi / period), np.sin(y * 2 * np.pi / period)
    wave = (across, across * down, np.sin((x + y) / period))[place]
    grey = ((wave + 1) * 127).astype(np.uint8)
    return Image.fromarray(np.stack([grey, grey, (grey // 2 + 60).astype(np.uint8)], axis=2))


def begin_review(store: Store, slug: str, cues: Path, reviewers: list[str], *, overlap: float = 0.0) -> int:
    """Begin a review of drawn cues and deal it out; return its id."""
    import_review(store, slug, str(cues), overlap=overlap, repeat_share=0.0)
    assign(store, slug, reviewers)
    return campaign_id(store, slug)


def begin_masks(store: Store, slug: str, photographs: Path, reviewers: list[str]) -> int:
    """Begin a round of mask picking on drawn pictures, each its own photograph and its own only candidate."""
    files = sorted(photographs.glob("shape/*/*.png"))
    with store.write() as session:
        campaign = create_campaign(session, slug, "mask", _MASK_SETTINGS, 0)
        items = [
            NewItem(
                cue_kind="shape",
                superclass=path.parent.name,
                sha256=sha256_text(str(path)),
                file_url=str(path),
                lineage=str(path)[-64:],
                width=SIDE_PX,
                height=SIDE_PX,
            )
            for path in files
        ]
        for path, item_id in zip(files, place_items(session, campaign, items).new, strict=True):
            session.add(
                MaskCandidate(
                    public_id=new_public_id(),
                    item_id=item_id,
                    position=0,
                    mask_sha256="0" * 64,
                    segmenter="drawn",
                    file_url=str(path),
                )
            )
    assign(store, slug, reviewers)
    return campaign_id(store, slug)


def begin_study(store: Store, slug: str, cues: Path, n_invited: int, **protocol: object) -> list[str]:
    """Plan a study of three participants with eight trials each and open it; return the tokens of the links."""
    plan_study(store, slug, str(cues), parse_protocol({**_PROTOCOL, **protocol}, "tiny"))
    return [link.partition("?p=")[2] for _, link in invite(store, slug, n_invited, "http://127.0.0.1:8501")]


def campaign_id(store: Store, slug: str) -> int:
    """Return the id of a campaign."""
    with store.read() as session:
        return session.scalars(select(Campaign.id).where(Campaign.slug == slug)).one()


def staff_id(store: Store, name: str, role: str = "reviewer") -> int:
    """Return the id of a member of staff, made on first sight."""
    with store.write() as session:
        return staff(session, name, role).id


def answer(
    store: Store, rater_id: int, campaign: int, verdicts: Mapping[str, str] | str, n: int = 1_000
) -> int:
    """Give verdicts on the next tasks of a queue, all alike or by the item's public id; return how many."""
    events = []
    for number, task in enumerate(pending(store, rater_id, campaign, n)):
        verdict = verdicts if isinstance(verdicts, str) else verdicts.get(task.item, "accept")
        events.append(
            ClientEvent(
                event_id=new_public_id(),
                assignment=task.assignment,
                kind="answer",
                answer=verdict,
                reasons=("wrong_class",) if verdict == "reject" else (),
                rt_ms=900 + 40 * number,
            )
        )
    acks = record_events(store, rater_id, None, events)
    return sum(ack.status == "stored" for ack in acks)


def answer_trials(
    store: Store, rater_id: int, campaign: int, *, practice: bool = False, n: int = 1_000
) -> int:
    """Give the first option on the next trials of a participant; return how many."""
    tasks = pending(store, rater_id, campaign, n, practice=practice)
    events = [
        ClientEvent(new_public_id(), task.assignment, "answer", answer=task.choices[0], rt_ms=800)
        for task in tasks
    ]
    return sum(ack.status == "stored" for ack in record_events(store, rater_id, None, events))
