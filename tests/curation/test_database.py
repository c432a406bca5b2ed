from __future__ import annotations

import re
import shutil
import sqlite3
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import CheckConstraint, Column, Index, PrimaryKeyConstraint, UniqueConstraint, inspect, text
from sqlalchemy import Table as SqlTable
from sqlalchemy.exc import DatabaseError, IntegrityError

from curation import database
from curation.answers import open_session
from curation.campaigns import create_campaign
from curation.database import Store, back_up, check_integrity, open_store
from curation.tables import (
    Adjudication,
    Consent,
    Event,
    QcFlag,
    Rater,
    Slot,
    Snapshot,
    Table,
    Withdrawal,
)
from data_manifests.errors import CuebenchError, MissingExtraError
from tests.curation.small_campaign import SmallCampaign, add_candidates, sha256, small_campaign, verdict

NOW = "2026-11-30T12:00:00.000Z"
TABLES = Table.metadata.sorted_tables

FAILING_MIGRATION = """
import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

def upgrade():
    op.create_table("half_done", sa.Column("id", sa.Integer(), primary_key=True))
    op.execute("UPDATE campaign SET slug = 'changed'")
    op.execute("INSERT INTO no_such_table VALUES (1)")
"""


@pytest.fixture
def full(record: Store) -> SmallCampaign:
    """Give a review with a row in every table."""
    campaign = small_campaign(record, "review", slug="full")
    add_candidates(campaign)
    open_session(record, campaign.rater_id, campaign.campaign_id, "tab")
    campaign.send(verdict(campaign.assignments[0], "reject"), session_id="tab")
    of_campaign = {"campaign_id": campaign.campaign_id}
    of_rater = {"rater_id": campaign.rater_id}
    with record.write() as session:
        rater = session.get_one(Rater, campaign.rater_id)
        rater.auth_subject, rater.token_sha256 = "ada", sha256("token")
        session.add_all(
            [
                Consent(**of_campaign, **of_rater, text_sha256=sha256("text"), accepted_at=NOW),
                Slot(**of_campaign, **of_rater, design_row=0, state="claimed"),
                QcFlag(
                    **of_campaign,
                    **of_rater,
                    rule="catch",
                    value="2",
                    threshold=">= 2",
                    rules_sha256=sha256("rules"),
                    flagged_at=NOW,
                ),
                Snapshot(
                    **of_campaign, taken_at=NOW, last_event_pk=1, table_sha256=sha256("table"), n_rows=3
                ),
                Adjudication(
                    **of_campaign,
                    item_id=campaign.item_ids[0],
                    round=1,
                    decided_by=campaign.rater_id,
                    answer="accept",
                    rationale="clear",
                    votes_sha256=sha256("votes"),
                    decided_at=NOW,
                ),
            ]
        )
    return campaign


def withdraw(campaign: SmallCampaign) -> None:
    with campaign.store.write() as session:
        session.add(Withdrawal(rater_id=campaign.rater_id, withdrawn_at=NOW))


# --- the schema ---------------------------------------------------------------------------------------------


def test_the_migrations_give_the_tables_of_the_models(empty_url: str) -> None:
    store = open_store(empty_url)
    with store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        assert compare_metadata(context, Table.metadata) == []
        assert set(inspect(connection).get_table_names()) == {*Table.metadata.tables, "alembic_version"}
        checks = {
            (table.name, str(check["name"]))
            for table in TABLES
            for check in inspect(connection).get_check_constraints(table.name)
        }
    store.close()
    assert checks == {
        (table.name, str(check.name))
        for table in TABLES
        for check in table.constraints
        if isinstance(check, CheckConstraint)
    }


def test_opening_again_changes_nothing(database_url: str) -> None:
    store = open_store(database_url)
    campaign = small_campaign(store)
    store.close()
    store = open_store(database_url, create=False)
    with store.read() as session:
        assert session.scalar(text("SELECT slug FROM campaign")) == campaign.slug
    store.close()


def test_newer_database_is_refused(database_url: str) -> None:
    store = open_store(database_url)
    with store.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    store.close()
    with pytest.raises(
        CuebenchError,
        match=r"written by a newer cuebench \(schema 9999; this one knows up to 0001\); upgrade cuebench",
    ):
        open_store(database_url)


def test_a_migration_that_fails_leaves_the_database_as_it_was(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(database_url)
    small_campaign(store, slug="kept")
    store.close()
    migrations = tmp_path / "migrations"
    shutil.copytree(database.MIGRATIONS, migrations)
    (migrations / "versions" / "0002_fails.py").write_text(FAILING_MIGRATION)
    with monkeypatch.context() as patch:
        patch.setattr(database, "MIGRATIONS", migrations)
        with pytest.raises(
            CuebenchError, match=r"from schema 0001 to 0002 \(.*no_such_table.*\); it stays as it was"
        ):
            open_store(database_url)
    store = open_store(database_url)  # the schema is still 0001, which this version knows
    with store.read() as session:
        assert session.scalar(text("SELECT slug FROM campaign")) == "kept"
        assert "half_done" not in inspect(session.connection()).get_table_names()
    assert check_integrity(store) == []
    store.close()


def test_servers_that_start_at_once_make_one_schema(empty_url: str) -> None:
    problems: list[Exception] = []
    barrier = threading.Barrier(8)

    def start() -> None:
        barrier.wait()
        try:
            open_store(empty_url).close()
        except Exception as error:  # noqa: BLE001 - the thread's failure is the test's
            problems.append(error)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


# --- what is no database ------------------------------------------------------------------------------------


def test_a_missing_file_is_not_made_where_it_should_be_there(tmp_path: Path) -> None:
    path = tmp_path / "none.db"
    with pytest.raises(CuebenchError, match=r"none\.db: no such database; `cuebench review import`"):
        open_store(str(path), create=False)
    assert not path.exists()


@pytest.mark.parametrize("create", [True, False])
def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path, create: bool) -> None:
    path = tmp_path / "photo.db"
    path.write_bytes(b"this is no database, but some text that is longer than a header of SQLite" * 20)
    before = path.read_bytes()
    with pytest.raises(
        CuebenchError, match=r"photo\.db: not a database of cuebench \(file is not a database\)"
    ):
        open_store(str(path), create=create)
    assert path.read_bytes() == before


def test_the_database_of_another_program_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "browser.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmark (url TEXT)")
    connection.commit()
    connection.close()
    with pytest.raises(
        CuebenchError, match=r"browser\.db: not a database of cuebench \(it has the table bookmark\)"
    ):
        open_store(str(path))
    connection = sqlite3.connect(path)
    assert [row[0] for row in connection.execute("SELECT name FROM sqlite_master")] == ["bookmark"]
    connection.close()


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CuebenchError, match=r"can't be opened \(unable to open database file\)"):
        open_store(str(tmp_path))


def test_a_place_where_no_folder_can_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CuebenchError, match=r"file/below/record\.db: can't be made \(Not a directory\)"):
        open_store(str(tmp_path / "file" / "below" / "record.db"))


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://host/name", "expected a database of SQLite or PostgreSQL, got mysql"),
        ("oracle://host/name", "expected a database of SQLite or PostgreSQL, got oracle"),
        ("://", "not a database URL; expected sqlite:///FILE or postgresql://..."),
    ],
)
def test_another_kind_of_database_is_refused(url: str, message: str) -> None:
    with pytest.raises(CuebenchError, match=message):
        open_store(url)


def test_postgresql_without_its_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'cuebench\[postgres\]'"):
        open_store("postgresql://nobody@127.0.0.1/none")


@pytest.mark.postgres
def test_a_server_that_is_not_there_is_one_line_without_the_password() -> None:
    with pytest.raises(CuebenchError, match=r"nobody:\*\*\*@127\.0\.0\.1:1/none: can't be opened") as raised:
        open_store("postgresql://nobody:secret@127.0.0.1:1/none")
    assert "\n" not in str(raised.value)
    assert "secret" not in str(raised.value)


# --- what the database itself refuses -----------------------------------------------------------------------


Key = UniqueConstraint | PrimaryKeyConstraint | Index


def columns_of(key: Key) -> list[str]:
    return [column.name for column in key.columns]


def keys_of(table: SqlTable) -> list[Key]:
    constraints = [
        key for key in table.constraints if isinstance(key, UniqueConstraint | PrimaryKeyConstraint)
    ]
    return [*constraints, *(index for index in table.indexes if index.unique)]


def values_known(column: Column[Any]) -> list[str]:
    """Return the closed list of a column, empty where it has none."""
    rules = (rule for rule in column.table.constraints if isinstance(rule, CheckConstraint))
    found = (str(rule.sqltext) for rule in rules if str(rule.name).endswith(f"_{column.name}_known"))
    return re.findall(r"'(\w+)'", next(found, ""))


def fresh(column: Column[Any]) -> object:
    """Return a value that no row of the column has, and that it may have."""
    known = values_known(column)
    return known[-1] if known else 987_654 if column.type.python_type is int else "fresh"


def refusal(store: Store, table: SqlTable, changed: Mapping[str, object], *, in_place: bool = False) -> str:
    """Return how the database refuses a copy of a table's row with some values changed ('' if it does not)."""
    with store.read() as session:
        row = dict(session.execute(table.select().limit(1)).mappings().one())
    # what stands for an assignment may change, and every column of its keys is a reference
    statement = table.update() if table.name == "current_answer" and in_place else table.insert().values(row)
    try:
        with store.write() as session:
            session.execute(statement.values(changed))
    except IntegrityError as error:
        return str(error.orig)
    return ""


def names_the_key(message: str, store: Store, table: SqlTable, key: Key) -> bool:
    columns = ", ".join(f"{table.name}.{name}" for name in columns_of(key))
    return (columns if store.is_sqlite else f'unique constraint "{key.name}"') in message


def test_every_row_that_breaks_a_key_is_refused(full: SmallCampaign) -> None:
    withdraw(full)
    allowed = []
    for table in TABLES:
        in_keys = {name for key in keys_of(table) for name in columns_of(key)}
        for key in keys_of(table):
            others = {name: fresh(table.c[name]) for name in in_keys - set(columns_of(key))}
            message = refusal(full.store, table, others)
            if not names_the_key(message, full.store, table, key):
                allowed.append((table.name, columns_of(key), message))
    assert allowed == []


def new_keys(table: SqlTable) -> dict[str, object]:
    """Return values that keep a copy of a row from being a double, without breaking a reference."""
    names = {name for key in keys_of(table) for name in columns_of(key)}
    return {name: fresh(table.c[name]) for name in names if not table.c[name].foreign_keys}


def broken(column: Column[Any], rule: str) -> tuple[dict[str, object], str] | None:
    """Return values that break a rule of a column, and what the refusal names; nothing where there is no rule."""
    table = column.table
    makes_its_own = column.primary_key and len(table.primary_key) == 1 and column.type.python_type is int
    if rule == "reference" and column.foreign_keys:
        return {column.name: 876_543 if column.type.python_type is int else "nowhere"}, "foreign key"
    if rule == "not empty" and not column.nullable and not makes_its_own:
        return {column.name: None}, "null"
    if rule == "closed list" and values_known(column):
        no_answer = {"answer": None} if table.name == "event" else {}
        return {column.name: "nonsense", **no_answer}, f"ck_{table.name}_{column.name}_known"
    return None


@pytest.mark.parametrize(("rule", "n_columns"), [("reference", 25), ("not empty", 80), ("closed list", 8)])
def test_every_row_that_breaks_a_rule_of_a_column_is_refused(
    full: SmallCampaign, rule: str, n_columns: int
) -> None:
    withdraw(full)
    n_tried, allowed = 0, []
    for column in (column for table in TABLES for column in table.columns):
        found = broken(column, rule)
        if found is None:
            continue
        changed, expected = found
        n_tried += 1
        message = refusal(
            full.store, column.table, {**new_keys(column.table), **changed}, in_place=rule == "reference"
        )
        if expected not in message.lower():
            allowed.append((str(column), message))
    assert allowed == []
    assert n_tried >= n_columns


@pytest.mark.parametrize(
    ("table", "changed", "rule"),
    [
        ("event", {"rt_ms": -1}, "ck_event_rt_ms_positive"),
        ("event", {"kind": "undo"}, "ck_event_answer_only_of_answers"),
        ("assignment", {"presentation": 0}, "ck_assignment_presentation_positive"),
    ],
)
def test_a_value_out_of_range_is_refused(
    full: SmallCampaign, table: str, changed: dict[str, object], rule: str
) -> None:
    known = Table.metadata.tables[table]
    assert rule in refusal(full.store, known, {**new_keys(known), **changed})


REDACT = "UPDATE event SET answer = NULL, note = ''"


def refusals(store: Store, statements: Sequence[str]) -> dict[str, str]:
    """Return statement -> how the database refuses it ('' where it does not)."""
    found = {}
    for statement in statements:
        try:
            with store.write() as session:
                session.execute(text(statement))
                found[statement] = ""
                session.rollback()
        except DatabaseError as error:
            found[statement] = str(error.orig).splitlines()[0]
    return found


def append_only(statements: Sequence[str]) -> dict[str, str]:
    """Return statement -> the message of the trigger of its table."""
    tables = {line: line.split()[1 if line.startswith("UPDATE") else 2] for line in statements}
    return {line: f"rows of {table} are never changed or deleted" for line, table in tables.items()}


def test_what_was_said_is_never_changed_or_deleted(full: SmallCampaign) -> None:
    statements = [
        "UPDATE event SET answer = 'accept'",
        REDACT,
        "UPDATE event SET rt_ms = 1",
        "DELETE FROM event",
        "UPDATE event_reason SET reason = 'cropped'",
        "DELETE FROM event_reason",
        "UPDATE adjudication SET answer = 'reject'",
        "DELETE FROM adjudication",
        "UPDATE consent SET accepted_at = ''",
        "DELETE FROM consent",
        "UPDATE snapshot SET n_rows = 0",
        "DELETE FROM snapshot",
    ]
    assert refusals(full.store, statements) == append_only(statements)


def test_a_row_is_not_replaced_by_another(migrated_file: Path, tmp_path: Path) -> None:
    shutil.copy(migrated_file, tmp_path / "record.db")
    store = open_store(str(tmp_path / "record.db"))
    campaign = small_campaign(store)
    campaign.send(verdict(campaign.assignments[0], "reject"))
    with store.write() as session:
        session.execute(text("DELETE FROM current_answer"))
        session.execute(text("INSERT INTO snapshot VALUES (1, 1, '', 1, '', 3)"))
    columns = ", ".join(column.name for column in Event.__table__.columns)
    accepted = columns.replace("answer", "'accept'")
    statements = {
        f"INSERT OR REPLACE INTO event ({columns}) SELECT {accepted} FROM event": "event",  # noqa: S608
        "REPLACE INTO snapshot SELECT id, campaign_id, taken_at, 0, table_sha256, n_rows FROM snapshot": "snapshot",
        "UPDATE OR REPLACE event SET note = 'x'": "event",
    }
    expected = {line: f"rows of {table} are never changed or deleted" for line, table in statements.items()}
    assert refusals(store, list(statements)) == expected
    store.close()


def test_a_withdrawal_allows_blanking_and_nothing_else(full: SmallCampaign) -> None:
    withdraw(full)
    with full.store.write() as session:
        session.execute(text("DELETE FROM current_answer"))
    statements = [
        "UPDATE event SET answer = 'accept'",
        "UPDATE event SET note = 'x', answer = NULL",
        "DELETE FROM event",
        "UPDATE event_reason SET reason = 'cropped'",
        *(
            f"{REDACT}, {change}"
            for change in (
                "rt_ms = 5",
                "load_ms = 5",
                "confidence = 5",
                "client_utc = '2026'",
                "flags = 'late_answer'",
                "server_utc = '2026'",
                "event_id = 'other'",
                "kind = 'undo'",
                "seq = 7",
                "session_id = NULL",
                "supersedes_id = id",
                "id = 77",
            )
        ),
    ]
    assert refusals(full.store, statements) == append_only(statements)
    blank = ", rt_ms = NULL, load_ms = NULL, confidence = NULL, client_utc = NULL, flags = ''"
    allowed = [REDACT, REDACT + blank, "DELETE FROM event_reason"]
    assert refusals(full.store, allowed) == dict.fromkeys(allowed, "")


def test_a_withdrawal_leaves_everybody_elses_answers_alone(full: SmallCampaign) -> None:
    other = small_campaign(full.store)
    other.send(verdict(other.assignments[0], "reject"))
    withdraw(full)
    with full.store.write() as session:
        session.execute(text("DELETE FROM current_answer"))
    statements = [REDACT, "DELETE FROM event_reason"]
    assert refusals(full.store, statements) == append_only(statements)


# --- reading, writing, backing up ---------------------------------------------------------------------------


def write_half(store: Store) -> None:
    with store.write() as session:
        create_campaign(session, "half", "review", {}, seed=1)
        raise RuntimeError("half way")


def test_a_write_that_fails_leaves_nothing(record: Store) -> None:
    with pytest.raises(RuntimeError, match="half way"):
        write_half(record)
    with record.read() as session:
        assert session.scalar(text("SELECT count(*) FROM campaign")) == 0


def test_a_reader_sees_one_state_throughout(record: Store) -> None:
    with record.read() as session:
        assert session.scalar(text("SELECT count(*) FROM campaign")) == 0
        small_campaign(record)
        assert session.scalar(text("SELECT count(*) FROM campaign")) == 0
    with record.read() as session:
        assert session.scalar(text("SELECT count(*) FROM campaign")) == 1


def test_what_is_written_while_reading_is_not_kept(record: Store) -> None:
    campaign = small_campaign(record)
    with suppress(DatabaseError), record.read() as session:  # PostgreSQL refuses it at once
        session.execute(text("UPDATE campaign SET slug = 'changed'"))
    with record.read() as session:
        assert session.scalar(text("SELECT slug FROM campaign")) == campaign.slug


def test_a_backup_holds_everything_and_the_database_goes_on(record: Store, tmp_path: Path) -> None:
    campaign = small_campaign(record)
    campaign.send(verdict(campaign.assignments[0]))
    copy = tmp_path / "copy.db"
    if not record.is_sqlite:
        with pytest.raises(CuebenchError, match="back a PostgreSQL database up with pg_dump"):
            back_up(record, str(copy))
        return
    back_up(record, str(copy))
    campaign.send(verdict(campaign.assignments[1]))
    saved = open_store(str(copy), create=False)
    with saved.read() as session:
        assert session.scalar(text("SELECT count(*) FROM event")) == 1
    assert check_integrity(saved) == []
    saved.close()
    assert len(campaign.events()) == 2
    with pytest.raises(CuebenchError, match=r"copy\.db: exists; name a new file"):
        back_up(record, str(copy))


def test_a_backup_to_a_place_that_is_not_there_is_one_line(migrated_file: Path, tmp_path: Path) -> None:
    shutil.copy(migrated_file, tmp_path / "record.db")
    store = open_store(str(tmp_path / "record.db"))
    with pytest.raises(CuebenchError, match=r"nowhere/copy\.db: can't be written \(unable to open database"):
        back_up(store, str(tmp_path / "nowhere" / "copy.db"))
    store.close()


def test_a_reference_to_nothing_is_found(migrated_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "record.db"
    shutil.copy(migrated_file, path)
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO consent VALUES (7, 8, 'text', '')")
    connection.commit()
    connection.close()
    store = open_store(str(path))
    assert sorted(check_integrity(store)) == [
        "table consent, row 1: refers to a row of campaign that is not there",
        "table consent, row 1: refers to a row of rater that is not there",
    ]
    store.close()
