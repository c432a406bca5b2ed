"""People made by a program, who go through the real record: for the demo, and to try a protocol beforehand.

They know what a picture is meant to show, and slip now and then. Every event of theirs is flagged as simulated, for
everything that rests on it has to say so.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterable, Sequence

from sqlalchemy import select

from curation.answers import ClientEvent, record_events
from curation.campaigns import find_campaign, participant_of, sha256_text, staff
from curation.database import Store
from curation.rating_records import SIMULATED_FLAG
from curation.study import (
    current_tasks,
    end_break,
    finish,
    give_consent,
    invite,
    participant_phase,
    pass_check,
    study_protocol,
)
from curation.tables import Assignment, Item
from curation.work_queue import Task, pending
from data_manifests.errors import CuebenchError

SLIP_SHARE = 0.03
N_AT_ONCE = 1_000


def simulate_review(store: Store, slug: str, reviewers: Sequence[str]) -> int:
    """Have reviewers accept every cue and reject what is known to be bad; return the number of verdicts."""
    n_verdicts = 0
    for name in reviewers:
        with store.write() as session:
            campaign_id, rater_id = find_campaign(session, slug, "review").id, staff(session, name).id
        roles = _roles(store, rater_id)
        while tasks := pending(store, rater_id, campaign_id, N_AT_ONCE):
            _record(store, rater_id, (_verdict(task, roles[task.assignment]) for task in tasks))
            n_verdicts += len(tasks)
    return n_verdicts


def _roles(store: Store, rater_id: int) -> dict[str, str]:
    with store.read() as session:
        query = select(Assignment.public_id, Assignment.role).where(Assignment.rater_id == rater_id)
        return dict(session.execute(query).all())


def _verdict(task: Task, role: str) -> ClientEvent:
    if role == "known_bad":
        return _event(task, "reject", 1_500, ("wrong_class",))
    return _event(task, "accept", 1_200)


def _event(task: Task, answer: str, rt_ms: int, reasons: tuple[str, ...] = ()) -> ClientEvent:
    name = str(uuid.uuid4())
    return ClientEvent(name, task.assignment, "answer", answer, reasons, rt_ms=rt_ms, flags=(SIMULATED_FLAG,))


def _record(store: Store, rater_id: int, events: Iterable[ClientEvent]) -> None:
    acks = record_events(store, rater_id, None, list(events))
    if refused := [ack.detail for ack in acks if ack.status == "refused"]:
        raise CuebenchError(f"a simulated answer was refused: {refused[0]}")


def simulate_study(store: Store, slug: str, n_participants: int, seed: int = 0) -> int:
    """Invite people and have them take part, until the study is full; return how many finished."""
    rng = random.Random(seed)  # noqa: S311
    with store.read() as session:
        seen = dict(session.execute(select(Item.public_id, Item.superclass)).all())
    n_finished = 0
    for _code, link in invite(store, slug, n_participants, "http://localhost"):
        with store.read() as session:
            participant = participant_of(session, link.partition("?p=")[2])
            rater_id = participant.id if participant else 0
        _enter(store, slug, rater_id)
        _take_part(store, rater_id, seen, rng)
        n_finished += finish(store, rater_id) is not None
    return n_finished


def _enter(store: Store, slug: str, rater_id: int) -> None:
    protocol = study_protocol(store, slug)
    for text in filter(None, (protocol.consent, protocol.instructions)):
        give_consent(store, rater_id, sha256_text(text))
    if protocol.check is not None:
        pass_check(store, rater_id, protocol.check.answer)


def _take_part(store: Store, rater_id: int, seen: dict[str, str], rng: random.Random) -> None:
    while (phase := participant_phase(store, rater_id).name) in {"practice", "trials", "break"}:
        if phase == "break":
            end_break(store, rater_id)
        slip = 0.0 if phase == "practice" else SLIP_SHARE
        tasks = current_tasks(store, rater_id, N_AT_ONCE)
        answers = [rng.choice(task.choices) if rng.random() < slip else seen[task.item] for task in tasks]
        _record(
            store,
            rater_id,
            (
                _event(task, answer, int(rng.lognormvariate(6.8, 0.3)))
                for task, answer in zip(tasks, answers, strict=True)
            ),
        )
