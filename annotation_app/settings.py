"""What `cuebench annotate` tells the app, by environment variables, and the one open store of the process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from curation.database import Store, open_store
from data_manifests.errors import CuebenchError

DATABASE = "CUEBENCH_DB"
ADMINS = "CUEBENCH_ADMINS"
ADJUDICATORS = "CUEBENCH_ADJUDICATORS"


@dataclass(frozen=True)
class AppSettings:
    """The database and who has which rights; the names of people are lower case."""

    database_url: str
    admins: frozenset[str] = frozenset()
    adjudicators: frozenset[str] = frozenset()


def read_settings(environ: Mapping[str, str] | None = None) -> AppSettings:
    """Return the settings that the environment holds.

    Raises
    ------
    CuebenchError
        If it names no database.
    """
    environ = os.environ if environ is None else environ
    url = environ.get(DATABASE, "")
    if not url:
        raise CuebenchError(
            f"{DATABASE}: expected the URL of a database, got nothing; run `cuebench annotate`"
        )
    return AppSettings(url, _names(environ.get(ADMINS, "")), _names(environ.get(ADJUDICATORS, "")))


def _names(listed: str) -> frozenset[str]:
    return frozenset(name.strip().lower() for name in listed.split(",") if name.strip())


@lru_cache(maxsize=8)
def _store_at(url: str) -> Store:
    return open_store(url, create=False)


def app_store() -> Store:
    """Return the open store of the database that the environment names, shared by all threads."""
    return _store_at(read_settings().database_url)


def close_stores() -> None:
    """Close what `app_store` opened, at the end of the process."""
    if _store_at.cache_info().currsize:
        app_store().close()
    _store_at.cache_clear()
