"""What other processes do in the tests of the store; apart from the tests, so that they start quickly."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from multiprocessing.connection import Connection

from curation.answers import ClientEvent, record_events
from curation.database import Store, open_store


def verdicts(assignments: Sequence[str]) -> list[ClientEvent]:
    return [ClientEvent(str(uuid.uuid4()), name, "answer", "accept") for name in assignments]


def answer_each_twice(store: Store, rater_id: int, assignments: Sequence[str]) -> list[str]:
    """Answer each assignment in a write of its own, send each again, and return the statuses."""
    statuses = []
    for event in verdicts(assignments):
        for _ in range(2):
            (ack,) = record_events(store, rater_id, None, [event])
            statuses.append(ack.status)
    return statuses


def answer_in_a_process(url: str, rater_id: int, assignments: Sequence[str]) -> list[str]:
    """Do the same with a store of one's own."""
    store = open_store(url)
    statuses = answer_each_twice(store, rater_id, assignments)
    store.close()
    return statuses


def answer_until_killed(url: str, rater_id: int, assignments: Sequence[str], told: Connection) -> None:
    """Change answers for ever, and tell the id of each event once it is acknowledged."""
    store = open_store(url)
    while True:
        for event in verdicts(assignments):
            (ack,) = record_events(store, rater_id, None, [event])
            assert ack.status == "stored"
            told.send(event.event_id)
