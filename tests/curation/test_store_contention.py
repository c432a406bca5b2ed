"""Many writers at once, and writers that are killed: nothing fails, nothing is lost, nothing is stored twice."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import func, select

from curation.answers import ClientEvent, record_events
from curation.campaigns import new_code
from curation.database import Store, check_integrity, open_store, utc_now
from curation.snapshots import read_snapshot, take_snapshot
from curation.tables import CurrentAnswer, Event, Rater
from tests.curation.small_campaign import SmallCampaign, deal, small_campaign, verdict
from tests.curation.store_workers import answer_each_twice, answer_in_a_process, answer_until_killed

N_WRITES = 20


def add_raters(campaign: SmallCampaign, n_raters: int) -> dict[int, Sequence[str]]:
    """Return rater -> assignments, for raters who are all dealt every picture of a campaign."""
    with campaign.store.write() as session:
        raters = [
            Rater(public_code=new_code(), role="reviewer", created_at=utc_now()) for _ in range(n_raters)
        ]
        session.add_all(raters)
        session.flush()
        ids = [rater.id for rater in raters]
    return {
        rater_id: deal(campaign.store, campaign.campaign_id, rater_id, list(campaign.item_ids))
        for rater_id in ids
    }


def count_rows(store: Store) -> tuple[int, int]:
    """Return the numbers of events and of answers that stand."""
    with store.read() as session:
        events = session.scalar(select(func.count()).select_from(Event)) or 0
        return events, session.scalar(select(func.count()).select_from(CurrentAnswer)) or 0


def test_50_threads_lose_nothing_and_double_nothing(record: Store) -> None:
    campaign = small_campaign(record, n_items=N_WRITES)
    queues = add_raters(campaign, 50)
    with ThreadPoolExecutor(50) as pool:
        found = list(pool.map(lambda rater: answer_each_twice(record, rater, queues[rater]), queues))
    assert Counter(status for statuses in found for status in statuses) == {
        "stored": 50 * N_WRITES,
        "duplicate": 50 * N_WRITES,
    }
    assert count_rows(record) == (50 * N_WRITES, 50 * N_WRITES)
    assert check_integrity(record) == []


def test_50_threads_on_one_assignment_take_turns(record: Store) -> None:
    campaign = small_campaign(record, n_items=1)
    events = [verdict(campaign.assignments[0], answer) for answer in ("accept", "reject") * 25]
    with ThreadPoolExecutor(50) as pool:
        acks = list(pool.map(campaign.send, events))
    assert {ack.status for (ack,) in acks} == {"stored"}
    stored = campaign.events()
    assert sorted(event.seq for event in stored) == list(range(1, 51))
    last = max(stored, key=lambda event: event.seq)
    assert campaign.standing() == {campaign.assignments[0]: last.answer}


def test_one_event_from_20_threads_is_stored_once(record: Store) -> None:
    campaign = small_campaign(record, n_items=1)
    event = verdict(campaign.assignments[0])
    with ThreadPoolExecutor(20) as pool:
        acks = list(pool.map(campaign.send, [event] * 20))
    assert Counter(ack.status for (ack,) in acks) == {"stored": 1, "duplicate": 19}


def test_8_processes_lose_nothing_and_double_nothing(database_url: str) -> None:
    store = open_store(database_url)
    queues = add_raters(small_campaign(store, n_items=N_WRITES), 8)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(8, mp_context=context) as pool:
        found = list(pool.map(answer_in_a_process, [database_url] * 8, queues, queues.values()))
    assert Counter(status for statuses in found for status in statuses) == {
        "stored": 8 * N_WRITES,
        "duplicate": 8 * N_WRITES,
    }
    assert count_rows(store) == (8 * N_WRITES, 8 * N_WRITES)
    assert check_integrity(store) == []
    store.close()


def test_snapshots_taken_while_people_answer_can_be_read_again(record: Store) -> None:
    campaign = small_campaign(record, n_items=N_WRITES)
    queues = add_raters(campaign, 8)
    with ThreadPoolExecutor(9) as pool:
        writing = [pool.submit(answer_each_twice, record, rater, names) for rater, names in queues.items()]
        tables = [take_snapshot(record, campaign.slug) for _ in range(8)]
        frozen = take_snapshot(record, campaign.slug, freeze=True)
        for future in writing:
            assert set(future.result()) == {"stored", "duplicate"}
    for table in (*tables, frozen):
        assert read_snapshot(record, table.snapshot_id).rows == table.rows
    standing = sum(row.answer is not None for row in frozen.rows)
    assert len(campaign.standing()) == standing
    flags = Counter(event.flags for event in campaign.events())
    assert flags[""] == standing
    assert flags["after_freeze"] == 8 * N_WRITES - standing


def kill_a_writer(url: str, campaign: SmallCampaign, rng: np.random.Generator) -> list[str]:
    """Start a process that writes, kill it somewhere, and return the ids of the events that it had acknowledged."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", "tests.curation.store_workers"])
    told, tells = context.Pipe(duplex=False)
    process = context.Process(
        target=answer_until_killed, args=(url, campaign.rater_id, campaign.assignments, tells), daemon=True
    )
    process.start()
    tells.close()
    acknowledged = [told.recv() for _ in range(rng.integers(0, 6))]
    told.poll(rng.uniform(0, 0.02))
    process.kill()
    process.join()
    try:
        while True:
            acknowledged.append(told.recv())
    except EOFError:
        told.close()
    return acknowledged


def kill_writers(url: str, n_kills: int) -> None:
    """Kill one writer after the other, and check after each that the record is sound and nothing is missing."""
    store = open_store(url)
    campaign = small_campaign(store)
    rng = np.random.default_rng(n_kills)
    acknowledged: list[str] = []
    for _ in range(n_kills):
        acknowledged += kill_a_writer(url, campaign, rng)
        assert check_integrity(store) == []
    stored = campaign.events()
    assert {*acknowledged} <= {event.event_id for event in stored}
    # each kill may leave one more, that was stored and not told
    assert len(acknowledged) <= len(stored) <= len(acknowledged) + n_kills
    last = {event.assignment_id: event for event in stored}
    assert len(campaign.standing()) == len(last)
    assert Counter(event.assignment_id for event in stored) == {pk: event.seq for pk, event in last.items()}
    store.close()


def test_a_killed_writer_leaves_a_sound_record_with_all_that_it_acknowledged(database_url: str) -> None:
    kill_writers(database_url, 10)


@pytest.mark.slow
def test_100_killed_writers_leave_a_sound_record_with_all_that_they_acknowledged(tmp_path: Path) -> None:
    kill_writers(f"sqlite:///{tmp_path / 'record.db'}", 100)


def test_a_batch_is_stored_whole_or_not_at_all(record: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = small_campaign(record)
    events = [verdict(name) for name in campaign.assignments]

    def fail_at_last(event: ClientEvent) -> None:
        if event is events[-1]:
            raise RuntimeError("the server stops here")

    with monkeypatch.context() as patch:
        patch.setattr("curation.answer_checks._check_measures", fail_at_last)
        with pytest.raises(RuntimeError, match="the server stops here"):
            campaign.send(*events)
    assert campaign.events() == []
    assert {ack.status for ack in record_events(record, campaign.rater_id, None, events)} == {"stored"}
