from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from sqlalchemy import text

from curation.answers import open_session
from curation.database import Store, open_store, utc_now
from curation.rating_records import ResponseRecord, VerdictRecord
from curation.snapshots import read_rows, read_snapshot, take_snapshot
from curation.tables import Campaign, CampaignItem, QcFlag, Snapshot
from data_manifests.errors import CuebenchError, ProblemsError
from data_manifests.jsonl import dump_records
from tests.curation.small_campaign import act, deal, small_campaign, verdict


def test_a_snapshot_holds_a_row_for_each_assignment_answered_or_not(record: Store) -> None:
    campaign = small_campaign(record)
    open_session(record, campaign.rater_id, campaign.campaign_id, "secret")
    first, second, _ = campaign.assignments
    campaign.send(verdict(first, "reject", "cropped", "ambiguous"), act(second, "later"), session_id="secret")
    table = take_snapshot(record, campaign.slug)
    assert (table.campaign, table.kind) == (campaign.slug, "review")
    assert [row.answer for row in table.rows] == ["reject", None, None]
    assert [row.n_events for row in table.rows] == [1, 1, 0]
    rejected = table.rows[0]
    assert isinstance(rejected, VerdictRecord)
    assert rejected.reasons == ("ambiguous", "cropped")
    assert rejected.session == hashlib.sha256(b"secret").hexdigest()[:16]
    assert table.sha256 == hashlib.sha256(dump_records(table.rows)).hexdigest()
    with record.read() as session:
        stored = session.get_one(Snapshot, table.snapshot_id)
        assert (stored.n_rows, stored.table_sha256, stored.last_event_pk) == (
            3,
            table.sha256,
            table.last_event_pk,
        )


def test_a_snapshot_of_a_study_tells_choices_expectation_and_exclusions(record: Store) -> None:
    campaign = small_campaign(record, "study")
    campaign.send(verdict(campaign.assignments[0], "dog"), verdict(campaign.assignments[0], "cat"))
    with record.write() as session:
        link = session.get_one(CampaignItem, (campaign.campaign_id, campaign.item_ids[1], "main"))
        link.expected_answer, link.retired_at = "dog", utc_now()
        for rule in ("median_rt", "catch"):
            session.add(
                QcFlag(
                    campaign_id=campaign.campaign_id,
                    rater_id=campaign.rater_id,
                    rule=rule,
                    value="",
                    threshold="",
                    rules_sha256="",
                    flagged_at="",
                )
            )
    rows = [row for row in take_snapshot(record, campaign.slug).rows if isinstance(row, ResponseRecord)]
    assert [(row.answer, row.expected, row.reached, row.stale) for row in rows] == [
        ("dog", "cat", True, False),
        (None, "dog", False, True),
        (None, "cat", False, False),
    ]
    assert rows[0].flags == ("late_answer",)
    assert {row.choices for row in rows} == {("cat", "dog", "none")}
    assert {row.excluded for row in rows} == {("catch", "median_rt")}


def test_a_snapshot_reads_the_same_whatever_was_answered_since(record: Store) -> None:
    campaign = small_campaign(record)
    first, second, third = campaign.assignments
    campaign.send(verdict(first), verdict(second), act(second, "undo"))
    table = take_snapshot(record, campaign.slug)
    campaign.send(verdict(first, "reject"), verdict(second), verdict(third, "unsure"), act(first, "undo"))
    assert read_snapshot(record, table.snapshot_id) == table
    assert [row.answer for row in table.rows] == ["accept", None, None]


def test_a_snapshot_is_taken_once_where_nothing_happened_since(record: Store) -> None:
    campaign = small_campaign(record)
    campaign.send(verdict(campaign.assignments[0]))
    first = take_snapshot(record, campaign.slug)
    assert take_snapshot(record, campaign.slug) == first
    campaign.send(verdict(campaign.assignments[0]))
    later = take_snapshot(record, campaign.slug)
    assert later.snapshot_id > first.snapshot_id
    campaign_2 = small_campaign(record)
    assert take_snapshot(record, campaign_2.slug).snapshot_id > later.snapshot_id
    frozen = take_snapshot(record, campaign.slug, freeze=True)
    assert frozen.snapshot_id == later.snapshot_id
    with record.read() as session:
        assert session.get_one(Campaign, campaign.campaign_id).state == "frozen"


def test_a_flag_of_the_screening_makes_another_snapshot(record: Store) -> None:
    campaign = small_campaign(record, "study")
    campaign.send(verdict(campaign.assignments[0], "dog"))
    first = take_snapshot(record, campaign.slug)
    flag = {"campaign_id": campaign.campaign_id, "rater_id": campaign.rater_id, "rule": "catch"}
    with record.write() as session:
        session.add(QcFlag(**flag, value="", threshold="", rules_sha256="", flagged_at=""))
    again = take_snapshot(record, campaign.slug)
    assert again.last_event_pk == first.last_event_pk
    assert again.snapshot_id > first.snapshot_id


def test_freezing_ends_the_campaign_with_the_snapshot(record: Store) -> None:
    campaign = small_campaign(record)
    campaign.send(verdict(campaign.assignments[0]))
    table = take_snapshot(record, campaign.slug, freeze=True)
    with record.read() as session:
        assert session.get_one(Campaign, campaign.campaign_id).state == "frozen"
    campaign.send(verdict(campaign.assignments[0], "reject"), verdict(campaign.assignments[1]))
    again = take_snapshot(record, campaign.slug)
    assert [row.answer for row in again.rows] == [row.answer for row in table.rows] == ["accept", None, None]


def test_a_snapshot_whose_rows_have_changed_is_refused(record: Store) -> None:
    campaign = small_campaign(record)
    table = take_snapshot(record, campaign.slug)
    deal(record, campaign.campaign_id, small_campaign(record).rater_id, [campaign.item_ids[0]])
    with pytest.raises(
        CuebenchError,
        match=rf"snapshot {table.snapshot_id}: its table has changed since .* or work dealt since\); take a new one",
    ):
        read_snapshot(record, table.snapshot_id)


def test_a_snapshot_that_is_not_there_is_refused(record: Store) -> None:
    with pytest.raises(CuebenchError, match="snapshot 7: no such snapshot"):
        read_snapshot(record, 7)


def test_a_campaign_that_is_not_there_has_no_snapshot(record: Store) -> None:
    small_campaign(record, slug="first")
    with pytest.raises(CuebenchError, match="campaign frist: no such campaign"):
        take_snapshot(record, "frist")


def test_picks_of_masks_are_no_ratings(record: Store) -> None:
    campaign = small_campaign(record, "mask")
    with record.read() as session, pytest.raises(CuebenchError, match="picks of masks are no ratings"):
        read_rows(session, session.get_one(Campaign, campaign.campaign_id), 1)


def test_a_damaged_database_gives_no_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "record.db"
    store = open_store(str(path))
    campaign = small_campaign(store)
    raw = store.engine.raw_connection()
    raw.cursor().execute("PRAGMA foreign_keys = OFF")
    raw.cursor().execute("INSERT INTO consent VALUES (7, 8, 'text', '')")
    raw.close()
    store.close()
    store = open_store(str(path))
    with pytest.raises(
        ProblemsError, match=r"(?s)record\.db: damaged; go back to a backup: 2 problems.*table consent"
    ):
        take_snapshot(store, campaign.slug)
    with store.read() as session:
        assert session.scalar(text("SELECT count(*) FROM snapshot")) == 0
    store.close()
