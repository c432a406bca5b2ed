r"""Canonical JSON Lines: the same records give the same bytes.

UTF-8, keys sorted, no spaces, rows sorted by the `sort_key` of their record, every row ended by `\n`.
"""

from __future__ import annotations

import codecs
import hashlib
import json
from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from data_manifests.errors import ProblemsError
from data_manifests.storage import read_bytes, write_bytes

N_PROBLEMS_SHOWN = 20


class SortableRecord(Protocol):
    """A pydantic record that knows its place in a canonical manifest."""

    @property
    def sort_key(self) -> tuple[str, ...]:
        """Return what rows are sorted by."""
        ...

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        """Return the record as plain JSON types."""
        ...


R = TypeVar("R", bound=BaseModel)


def canonical_json(value: object) -> str:
    """Return JSON with sorted keys, no spaces and no NaN.

    >>> canonical_json({"b": 1.5, "a": "é"})
    '{"a":"é","b":1.5}'
    """
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def canonical_sha256(value: object) -> str:
    """Return the SHA-256 (hex) of the canonical JSON of a value."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def dump_records(records: Iterable[SortableRecord]) -> bytes:
    """Return the canonical JSONL of records, in the order of their sort keys."""
    rows = sorted((record.sort_key, canonical_json(record.model_dump(mode="json"))) for record in records)
    return "".join(f"{row}\n" for _, row in rows).encode()


def write_records(url: str, records: Iterable[SortableRecord]) -> None:
    """Write records as canonical JSONL, whole or not at all."""
    write_bytes(url, dump_records(records))


def parse_records(data: bytes, model: type[R], where: str) -> list[R]:
    """Return the records of a JSONL manifest, in the order of the file.

    Raises
    ------
    ProblemsError
        If any row is not a valid record; names the line, the field and what is wrong, for every bad row.
    """
    records: list[R] = []
    problems: list[str] = []
    # Only \n ends a row: str.splitlines would also cut at U+2028 inside of a title. Some editors on Windows
    # begin a file with a byte order mark.
    for number, line in enumerate(data.removeprefix(codecs.BOM_UTF8).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            records.append(model.model_validate_json(line))
        except ValidationError as error:
            problems.extend(
                f"line {number}: {'.'.join(map(str, item['loc'])) or 'row'}: {item['msg']}"
                for item in error.errors()
            )
    if problems:
        hidden = len(problems) - N_PROBLEMS_SHOWN
        shown = problems[:N_PROBLEMS_SHOWN] + ([f"... and {hidden} more"] if hidden > 0 else [])
        raise ProblemsError(where, shown)
    return records


def read_records(url: str, model: type[R]) -> list[R]:
    """Return the records of the JSONL manifest at a path or URL (see `parse_records`)."""
    return parse_records(read_bytes(url), model, url)
