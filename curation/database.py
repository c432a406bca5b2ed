"""Opening the record: SQLite by default, PostgreSQL by URL; one way to write, one way to read.

Why these settings of SQLite: a person's answer can't be collected twice, so every commit is on the disk before it is
acknowledged (`synchronous=FULL`); a transaction that means to write says so when it begins (`BEGIN IMMEDIATE`), since
one that starts reading can't be upgraded after another commit; and writers of one process queue on a lock of ours,
since those of SQLite give up when the machine is starved. A row that another replaces counts as deleted
(`recursive_triggers`), so that nothing can be written over what is only added to.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, NoSuchModuleError, OperationalError
from sqlalchemy.orm import Session

from data_manifests.errors import CuebenchError, MissingExtraError

BUSY_TIMEOUT_MS = 30_000
WRITES = "cuebench_writes"  # the execution option of a connection that will write
MIGRATIONS = Path(__file__).parent / "migrations"

_write_locks: dict[str, threading.RLock] = {}
_write_locks_guard = threading.Lock()


def utc_now() -> str:
    """Return the time as UTC text with milliseconds: `2026-11-30T12:00:00.000Z`."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Store:
    """The record of one database. Open it with `open_store`; share one between threads.

    Attributes
    ----------
    url : the database's URL, with its password hidden
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.url = engine.url.render_as_string(hide_password=True)
        with _write_locks_guard:
            self._lock = _write_locks.setdefault(self.url, threading.RLock())

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is SQLite."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Give a session whose work is committed whole at the end, or not at all."""
        if not self.is_sqlite:
            with Session(self.engine) as session, session.begin():
                yield session
            return
        with self._lock, self.engine.connect().execution_options(**{WRITES: True}) as connection:
            with Session(connection) as session, session.begin():
                yield session
            connection.commit()

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Give a session that sees one state of the database throughout, and changes nothing."""
        with self.engine.connect() as connection:
            if not self.is_sqlite:
                connection = connection.execution_options(
                    isolation_level="REPEATABLE READ", postgresql_readonly=True
                )
            with Session(connection) as session:
                yield session
                session.rollback()

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()


def open_store(url: str, *, create: bool = True) -> Store:
    """Open the database at a URL and bring it to the newest schema.

    Parameters
    ----------
    url : `sqlite:///study.db`, `postgresql://user@host/name`, or the path of a SQLite file
    create : whether a database file that is not there is made

    Raises
    ------
    CuebenchError
        If there is no such database, it can't be opened, or its schema is newer than this version knows.
    MissingExtraError
        If the URL is of PostgreSQL and its driver is not installed.
    """
    parsed = _parse(url)
    if (
        parsed.get_backend_name() == "sqlite"
        and parsed.database
        and not create
        and not Path(parsed.database).is_file()
    ):
        raise CuebenchError(
            f"{parsed.database}: no such database; `cuebench review import` or `study plan` makes one"
        )
    store = Store(_engine(parsed))
    try:
        _migrate(store)
    except OperationalError as error:
        store.close()
        raise CuebenchError(f"{store.url}: can't be opened ({_first_line(error)})") from error
    except DatabaseError as error:
        store.close()
        raise CuebenchError(f"{store.url}: not a database of cuebench ({_first_line(error)})") from error
    except CuebenchError:
        store.close()
        raise
    return store


def _first_line(error: DatabaseError) -> str:
    return str(error.orig).strip().splitlines()[0]


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url if "://" in url else f"sqlite:///{url}")
    except ArgumentError as error:
        raise CuebenchError(
            f"{url}: not a database URL; expected sqlite:///FILE or postgresql://..."
        ) from error
    if parsed.drivername in {"postgresql", "postgres"}:
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() not in {"sqlite", "postgresql"}:
        raise CuebenchError(
            f"{url}: expected a database of SQLite or PostgreSQL, got {parsed.get_backend_name()}"
        )
    return parsed


def _engine(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        try:
            return create_engine(url, pool_pre_ping=True, pool_size=20, max_overflow=40)
        except (ModuleNotFoundError, NoSuchModuleError) as error:
            raise MissingExtraError("a PostgreSQL database", "postgres") from error
    if url.database:
        try:
            Path(url.database).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CuebenchError(f"{url.database}: can't be made ({error.strerror})") from error
    engine = create_engine(url, connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT_MS / 1000})
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _configure_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver begins nothing by itself: `_begin_sqlite` does
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        "recursive_triggers = ON",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _alembic_config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def _migrate(store: Store) -> None:
    """Bring the schema to the newest revision in one transaction: a migration that fails changes nothing."""
    config = _alembic_config()
    script = ScriptDirectory.from_config(config)
    with store.engine.connect() as connection:
        present = MigrationContext.configure(connection).get_current_revision()
    if present == script.get_current_head():
        return
    with store.write() as session:
        connection = session.connection()
        if not store.is_sqlite:
            connection.execute(
                text("SELECT pg_advisory_xact_lock(20261130)")
            )  # two servers may start at once
        present = MigrationContext.configure(connection).get_current_revision()
        _check_revision(script, present, store.url)
        if present is None and store.is_sqlite and (tables := inspect(connection).get_table_names()):
            raise CuebenchError(
                f"{store.url}: not a database of cuebench (it has the table {tables[0]}); name another file"
            )
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except DatabaseError as error:
            raise CuebenchError(
                f"{store.url}: can't be brought from schema {present or 'none'} to {script.get_current_head()} "
                f"({_first_line(error)}); it stays as it was"
            ) from error


def _check_revision(script: ScriptDirectory, present: str | None, url: str) -> None:
    try:
        if present is not None:
            script.get_revision(present)
    except CommandError as error:
        raise CuebenchError(
            f"{url}: written by a newer cuebench (schema {present}; this one knows up to "
            f"{script.get_current_head()}); upgrade cuebench, or use the database that belongs to this version"
        ) from error


def check_integrity(store: Store) -> list[str]:
    """Return what is wrong with the database file, one line each; nothing where all is well (or for PostgreSQL)."""
    if not store.is_sqlite:
        return []
    with store.read() as session:
        problems = [str(row[0]) for row in session.execute(text("PRAGMA integrity_check")) if row[0] != "ok"]
        broken = session.execute(text("PRAGMA foreign_key_check")).all()
    return problems + [
        f"table {row[0]}, row {row[1]}: refers to a row of {row[2]} that is not there" for row in broken
    ]


def back_up(store: Store, path: str) -> None:
    """Write a copy of a SQLite database to a new file, while people go on working.

    Raises
    ------
    CuebenchError
        If the database is not SQLite, there is such a file, or it can't be written.
    """
    if not store.is_sqlite:
        raise CuebenchError(f"{store.url}: back a PostgreSQL database up with pg_dump")
    if Path(path).exists():
        raise CuebenchError(f"{path}: exists; name a new file")
    connection = (
        store.engine.raw_connection()
    )  # one of SQLAlchemy's is in a transaction, where VACUUM can't be
    try:
        connection.cursor().execute("VACUUM INTO ?", (path,))
    except sqlite3.Error as error:
        raise CuebenchError(f"{path}: can't be written ({error})") from error
    finally:
        connection.close()
