"""A run folder of cues that are made up, and participants who are simulated, for the tests of the study."""

from __future__ import annotations

import hashlib
import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from curation.answers import ClientEvent, record_events
from curation.campaigns import participant_of, sha256_text
from curation.database import Store
from curation.protocol import NONE_ANSWER, StudyProtocol
from curation.study import current_tasks, end_break, give_consent, participant_phase, pass_check
from curation.tables import Item
from curation.work_queue import Task
from data_manifests.jsonl import write_records
from data_manifests.records import CueKind, CueRecord, SourceRecord

SHAPES = tuple(f"shape_{number}" for number in range(10))
TEXTURES = tuple(f"texture_{number}" for number in range(10))


def digest(*parts: object) -> str:
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()


def write_run(
    folder: Path,
    n_per_class: int,
    shapes: Sequence[str] = SHAPES,
    textures: Sequence[str] = TEXTURES,
    n_photographs_per_class: int = 2,
) -> str:
    """Write cues.jsonl and sources.jsonl of a run with as many cues of every class; return the folder.

    The files of the pictures hold their own names: nothing here looks at pixels.
    """
    cues: list[CueRecord] = []
    sources: list[SourceRecord] = []
    kinds: list[tuple[CueKind, Sequence[str]]] = [("shape", shapes), ("texture", textures)]
    for kind, classes in kinds:
        for name in classes:
            sources += [_source(folder, kind, name, number) for number in range(n_photographs_per_class)]
            cues += [_cue(folder, kind, name, number) for number in range(n_per_class)]
    write_records(str(folder / "cues.jsonl"), cues)
    write_records(str(folder / "sources.jsonl"), sources)
    return str(folder)


def _write(folder: Path, name: str) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(name.encode())
    return hashlib.sha256(name.encode()).hexdigest()


def _cue(folder: Path, kind: CueKind, name: str, number: int) -> CueRecord:
    file_name = f"cues/{kind}/{name}/{number}.png"
    return CueRecord(
        cue_id=digest(file_name)[:32],
        cue_kind=kind,
        superclass=name,
        file_name=file_name,
        sha256=_write(folder, file_name),
        grid=(4, 8, 16, 32)[number % 4] if kind == "texture" else None,
        variant=0 if kind == "texture" else None,
        parent_source_ids=(digest("parent", kind, name, number),),
        recipe_sha256=digest("recipe"),
        generator_version="0",
        seed=0,
    )


def _source(folder: Path, kind: CueKind, name: str, number: int) -> SourceRecord:
    file_name = f"photographs/{kind}/{name}/{number}.jpg"
    return SourceRecord(
        source_id=_write(folder, file_name),
        n_bytes=len(file_name),
        file_name=file_name,
        format="JPEG",
        superclass=name,
        cue_kind=kind,
    )


@dataclass(frozen=True)
class Seen:
    """What a person recognises in an item: its class, and whether it is a plain photograph."""

    superclass: str
    is_photograph: bool


@dataclass(frozen=True)
class Simulated:
    """What a simulated participant answers, given what they see and the options, and how fast (ms)."""

    answer: Callable[[Seen, Sequence[str]], str]
    rt_ms: Callable[[], int]


def confused_with(name: str) -> str:
    kind, _, number = name.rpartition("_")
    return f"{kind}_{(int(number) + 1) % 10}"


def attentive(rng: random.Random) -> Simulated:
    """Of 100 cues 90 right, 8 taken for the next class, 2 for none; a photograph is always right."""

    def answer(seen: Seen, choices: Sequence[str]) -> str:
        options = [seen.superclass, confused_with(seen.superclass), NONE_ANSWER]
        weights = [1, 0, 0] if seen.is_photograph else [90, 8, 2]
        return rng.choices(options, weights)[0]

    return Simulated(answer, lambda: int(rng.lognormvariate(6.8, 0.3)))


def careless(rng: random.Random) -> Simulated:
    """Any option, at a plausible pace."""
    return Simulated(lambda _, choices: rng.choice(list(choices)), lambda: int(rng.lognormvariate(6.5, 0.3)))


def know_everything(store: Store) -> dict[str, Seen]:
    """Return public id of an item -> what people see in it; their browsers never get to know."""
    with store.read() as session:
        query = select(Item.public_id, Item.superclass, Item.cue_id.is_(None))
        return {name: Seen(superclass, photo) for name, superclass, photo in session.execute(query)}


def rater_of(store: Store, link: str) -> int:
    with store.read() as session:
        rater = participant_of(session, link.partition("?p=")[2])
        assert rater is not None
        return rater.id


def enter(store: Store, rater_id: int, protocol: StudyProtocol) -> None:
    """Bring a participant to the practice (or the trials, where there is none), or to `full`."""
    for text in filter(None, (protocol.consent, protocol.instructions)):
        give_consent(store, rater_id, sha256_text(text))
    if protocol.check is not None:
        assert pass_check(store, rater_id, protocol.check.answer)


def answer_tasks(
    store: Store, rater_id: int, tasks: Sequence[Task], person: Simulated, known: dict[str, Seen]
) -> dict[str, str]:
    """Store a person's answers to tasks; return public id of the item -> answer, first answers only."""
    given: dict[str, str] = {}
    events = []
    for task in tasks:
        answer = person.answer(known[task.item], task.choices)
        given.setdefault(task.item, answer)
        events.append(ClientEvent(str(uuid.uuid4()), task.assignment, "answer", answer, rt_ms=person.rt_ms()))
    assert {ack.status for ack in record_events(store, rater_id, None, events)} <= {"stored"}
    return given


def practise(store: Store, rater_id: int, known: dict[str, Seen]) -> None:
    """Pass the practice, with every answer right."""
    sure = Simulated(lambda seen, _: seen.superclass, lambda: 900)
    while participant_phase(store, rater_id).name == "practice":
        answer_tasks(store, rater_id, current_tasks(store, rater_id, 2), sure, known)


def take_part(
    store: Store, rater_id: int, person: Simulated, known: dict[str, Seen], n_trials: int = 10_000
) -> dict[str, str]:
    """Practise and answer until so many trials are done, or all; return public id -> answer, first answers only."""
    practise(store, rater_id, known)
    given: dict[str, str] = {}
    while n_trials > 0 and (phase := participant_phase(store, rater_id)).name in {"trials", "break"}:
        if phase.name == "break":
            end_break(store, rater_id)
        tasks = current_tasks(store, rater_id, min(1_000, n_trials))
        n_trials -= len(tasks)
        given = {**answer_tasks(store, rater_id, tasks, person, known), **given}
    return given
