"""Long tables of verdicts and responses as CSV, JSON, JSON Lines and Parquet, and back without loss.

Beside a CSV or JSON file lies `<file>.snapshot.json`, which names the snapshot that the rows are of and their hash;
Parquet carries the same in its metadata. A file that was changed since is not read as what it was.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import Field, ValidationError

from curation.exchange_csv import defuse, dump_csv, parse_csv, restore
from curation.rating_records import RatingRecord, ResponseRecord, VerdictRecord
from data_manifests.errors import CuebenchError
from data_manifests.jsonl import canonical_json, dump_records, parse_records
from data_manifests.records import Record, Sha256
from data_manifests.storage import exists, read_bytes, write_bytes

SUFFIXES = (".csv", ".json", ".jsonl", ".parquet")
SIDECAR = ".snapshot.json"
METADATA_KEY = b"cuebench"
RECORDS: dict[str, type[RatingRecord]] = {"review": VerdictRecord, "study": ResponseRecord}

R = TypeVar("R", bound=RatingRecord)


class TableNote(Record):
    """What a table is of; `sha256` is the hash of its canonical JSONL, as a snapshot names it."""

    format: Literal["cuebench ratings 1"] = "cuebench ratings 1"
    kind: Literal["review", "study"]
    campaign: str
    snapshot_id: int | None
    taken_at: str | None
    last_event_pk: int | None
    sha256: Sha256
    n_rows: Annotated[int, Field(ge=0)]
    columns: tuple[str, ...]


def note_of(
    rows: Sequence[RatingRecord],
    kind: str,
    campaign: str,
    *,
    snapshot_id: int | None = None,
    taken_at: str | None = None,
    last_event_pk: int | None = None,
) -> TableNote:
    """Return the note of a table."""
    return TableNote.model_validate(
        {
            "kind": kind,
            "campaign": campaign,
            "snapshot_id": snapshot_id,
            "taken_at": taken_at,
            "last_event_pk": last_event_pk,
            "sha256": hashlib.sha256(dump_records(rows)).hexdigest(),
            "n_rows": len(rows),
            "columns": tuple(RECORDS[kind].model_fields),
        }
    )


def canonical_key(row: RatingRecord) -> tuple[tuple[str, ...], str]:
    """Return what the rows of a table are sorted by, as `dump_records` does."""
    return row.sort_key, canonical_json(row.model_dump(mode="json"))


def suffix_of(url: str) -> str:
    """Return the ending that tells the format of a file.

    Raises
    ------
    CuebenchError
        If it is none of those known.
    """
    name = url.rpartition("/")[2].lower()
    found = next((suffix for suffix in SUFFIXES if name.endswith(suffix)), None)
    if found is None:
        raise CuebenchError(f"{url}: expected a name that ends in {', '.join(SUFFIXES)}")
    return found


def write_table(url: str, rows: Sequence[RatingRecord], note: TableNote) -> None:
    """Write rows in canonical order, in the format that the name of the file tells, and the note."""
    suffix = suffix_of(url)
    rows = sorted(rows, key=canonical_key)
    data = _DUMPS[suffix](rows, note)
    write_bytes(url, data)
    if suffix != ".parquet":
        write_bytes(url + SIDECAR, f"{canonical_json(note.model_dump(mode='json'))}\n".encode())


def read_table(url: str, model: type[R]) -> tuple[list[R], TableNote | None]:
    """Return the rows of a table and its note, if it has one.

    Raises
    ------
    CuebenchError
        If the format is unknown, the file can't be read, or its rows are not those that its note names.
    ProblemsError
        If rows are not valid; lists them.
    """
    suffix = suffix_of(url)
    data = read_bytes(url)
    if suffix == ".parquet":
        rows, text = _parse_parquet(data, url, model)
    else:
        rows = _PARSES[suffix](data, url, model)
        text = read_bytes(url + SIDECAR) if exists(url + SIDECAR) else None
    note = None if text is None else _parse_note(text, url)
    if note is not None:
        _check_note(rows, note, url)
    return rows, note


def _parse_note(text: bytes, url: str) -> TableNote:
    try:
        return TableNote.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "note"
        raise CuebenchError(f"{url}{SIDECAR}: {place}: {first['msg']}") from error


def _check_note(rows: Sequence[RatingRecord], note: TableNote, url: str) -> None:
    if len(rows) != note.n_rows:
        raise CuebenchError(
            f"{url}: expected the {note.n_rows} rows that its note names, got {len(rows)}; export it again"
        )
    if hashlib.sha256(dump_records(rows)).hexdigest() != note.sha256:
        raise CuebenchError(
            f"{url}: its rows are not those that its note names: it was changed since it was exported; export it "
            f"again, or remove the note {url}{SIDECAR} to read it as it is now"
        )


# --- what a column holds ------------------------------------------------------------------------------------


def column_types(model: type[RatingRecord]) -> dict[str, type]:
    """Return column -> str, int, bool, or tuple (of texts)."""
    return {name: _plain_type(field.annotation) for name, field in model.model_fields.items()}


def _plain_type(annotation: object) -> type:
    origin = get_origin(annotation)
    if origin is tuple:
        return tuple
    if origin is Literal:
        return type(get_args(annotation)[0])
    if origin is Annotated:
        return _plain_type(get_args(annotation)[0])
    if origin is not None:  # of a union, the part that is not None
        return _plain_type(next(part for part in get_args(annotation) if part is not NoneType))
    return annotation if isinstance(annotation, type) else str


def _is_optional(model: type[RatingRecord], name: str) -> bool:
    return NoneType in get_args(model.model_fields[name].annotation)


# --- the formats --------------------------------------------------------------------------------------------


def _dump_csv(rows: Sequence[RatingRecord], note: TableNote) -> bytes:
    model = RECORDS[note.kind]
    optional = {name for name in note.columns if _is_optional(model, name)}
    table = (
        [_cell(value, is_optional=name in optional) for name, value in row.model_dump(mode="json").items()]
        for row in rows
    )
    return dump_csv(note.columns, table)


def _cell(value: object, *, is_optional: bool) -> str:
    if isinstance(value, str):
        return "'" if is_optional and not value else defuse(value)  # an empty cell is no value
    return "" if value is None else canonical_json(value)


def _parse_csv(data: bytes, url: str, model: type[R]) -> list[R]:
    types = column_types(model)
    optional = {name for name in types if _is_optional(model, name)}
    lines: list[str] = []
    for number, cells in parse_csv(data, url, list(types)):
        row = {name: _value(cell, types[name], is_optional=name in optional) for name, cell in cells.items()}
        lines.extend(
            "" for _ in range(number - 1 - len(lines))
        )  # so that a problem names the line of this file
        lines.append(canonical_json(row))
    return parse_records("\n".join(lines).encode(), model, url)


def _value(cell: str, kind: type, *, is_optional: bool) -> object:
    """Return the value of a cell; what does not look like its type stays a text, which the record refuses."""
    if kind is str:
        if is_optional and cell in ("", "'"):
            return "" if cell else None
        return restore(cell)
    if not cell and is_optional:
        return None
    try:
        value: object = json.loads(cell.lower() if kind is bool else cell)  # spreadsheets write TRUE
    except ValueError:
        return cell
    return cell if isinstance(value, float) else value


def _dump_json(rows: Sequence[RatingRecord], _note: TableNote) -> bytes:
    lines = (canonical_json(row.model_dump(mode="json")) for row in rows)
    text = ",\n".join(lines)
    return f"[\n{text}\n]\n".encode()


def _parse_json(data: bytes, url: str, model: type[R]) -> list[R]:
    try:
        rows = json.loads(data)
    except ValueError as error:
        raise CuebenchError(f"{url}: not JSON ({error})") from error
    if not isinstance(rows, list):
        raise CuebenchError(f"{url}: expected a list of rows")
    return parse_records("\n".join(map(json.dumps, rows)).encode(), model, url)


def _dump_jsonl(rows: Sequence[RatingRecord], _note: TableNote) -> bytes:
    return dump_records(rows)


def _dump_parquet(rows: Sequence[RatingRecord], note: TableNote) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    types = {str: pa.string(), int: pa.int64(), bool: pa.bool_(), tuple: pa.list_(pa.string())}
    model = RECORDS[note.kind]
    schema = pa.schema(
        [
            pa.field(name, types[kind], nullable=_is_optional(model, name))
            for name, kind in column_types(model).items()
        ],
        metadata={METADATA_KEY: canonical_json(note.model_dump(mode="json")).encode()},
    )
    table = pa.Table.from_pylist([row.model_dump(mode="json") for row in rows], schema=schema)
    stream = io.BytesIO()
    parquet.write_table(table, stream)
    return stream.getvalue()


def _parse_parquet(data: bytes, url: str, model: type[R]) -> tuple[list[R], bytes | None]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(io.BytesIO(data))
    except pa.ArrowException as error:
        raise CuebenchError(f"{url}: not a Parquet file ({str(error).splitlines()[0]})") from error
    lines = (json.dumps(row, default=str) for row in table.to_pylist())
    rows = parse_records("\n".join(lines).encode(), model, url)
    return rows, (table.schema.metadata or {}).get(METADATA_KEY)


_DUMPS: dict[str, Callable[[Sequence[RatingRecord], TableNote], bytes]] = {
    ".csv": _dump_csv,
    ".json": _dump_json,
    ".jsonl": _dump_jsonl,
    ".parquet": _dump_parquet,
}
_PARSES: dict[str, Callable[[bytes, str, type[Any]], list[Any]]] = {
    ".csv": _parse_csv,
    ".json": _parse_json,
    ".jsonl": lambda data, url, model: parse_records(data, model, url),
}
