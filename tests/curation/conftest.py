"""Databases for the tests of the record: a SQLite file each, and PostgreSQL where a server is named."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from curation.database import Store, open_store
from tests.lanes import POSTGRES_URL

BACKENDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a SQLite database with the newest schema and nothing in it, to be copied."""
    path = tmp_path_factory.mktemp("migrated") / "record.db"
    open_store(str(path)).close()
    return path


@contextmanager
def fresh_postgres() -> Iterator[str]:
    """Give the URL of an empty database of the server that the environment names, and drop it at the end."""
    server = make_url(os.environ[POSTGRES_URL]).set(drivername="postgresql+psycopg")
    name = f"cuebench_test_{uuid.uuid4().hex}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
        yield server.set(database=name).render_as_string(hide_password=False)
        with engine.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        engine.dispose()


@pytest.fixture(params=BACKENDS)
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Give the URL of a database in which there is nothing yet."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'record.db'}"
        return
    with fresh_postgres() as url:
        yield url


@pytest.fixture(params=BACKENDS)
def database_url(request: pytest.FixtureRequest, tmp_path: Path, migrated_file: Path) -> Iterator[str]:
    """Give the URL of a database with the newest schema and nothing in it."""
    if request.param == "sqlite":
        shutil.copy(migrated_file, tmp_path / "record.db")
        yield f"sqlite:///{tmp_path / 'record.db'}"
        return
    with fresh_postgres() as url:
        open_store(url).close()
        yield url


@pytest.fixture(scope="module", params=BACKENDS)
def shared_record(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, migrated_file: Path
) -> Iterator[Store]:
    """Give one open store to all tests of a module, each of which makes a campaign of its own."""
    if request.param == "sqlite":
        path = tmp_path_factory.mktemp("shared") / "record.db"
        shutil.copy(migrated_file, path)
        store = open_store(str(path))
        yield store
        store.close()
        return
    with fresh_postgres() as url:
        store = open_store(url)
        yield store
        store.close()


@pytest.fixture
def record(database_url: str) -> Iterator[Store]:
    """Give the open store of a fresh database."""
    store = open_store(database_url)
    yield store
    store.close()
