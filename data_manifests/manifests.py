"""Which of the three manifests a file is, told from its first row."""

from __future__ import annotations

import json
from typing import TypeVar

from data_manifests.errors import CuebenchError
from data_manifests.jsonl import parse_records
from data_manifests.records import CueRecord, MaskRecord, Record, SourceRecord
from data_manifests.storage import read_bytes

R = TypeVar("R", bound=Record)

_NAMES: dict[type[Record], str] = {
    SourceRecord: "photographs (the sources.jsonl that `ingest` wrote)",
    CueRecord: "cues (the cues.jsonl of a run)",
    MaskRecord: "masks (a masks.jsonl)",
}


def manifest_type(data: bytes) -> type[Record] | None:
    """Return the record that a manifest holds; None if its first row is of none.

    >>> manifest_type(b"no manifest")
    """
    try:
        row = json.loads(data.split(b"\n", 1)[0])
    except ValueError:
        return None
    keys = set(row) if isinstance(row, dict) else set()
    for model in _NAMES:
        required = {name for name, field in model.model_fields.items() if field.is_required()}
        if required <= keys <= set(model.model_fields):
            return model
    return None


def read_manifest(url: str, model: type[R], option: str) -> list[R]:
    """Return the records of a manifest that somebody named for `option`.

    Raises
    ------
    CuebenchError
        If it is a manifest of something else, or can't be read.
    ProblemsError
        If a row is not a valid record.
    """
    data = read_bytes(url)
    found = manifest_type(data)
    if found not in (None, model):
        raise CuebenchError(f"{url}: a manifest of {_NAMES[found]}; {option} takes one of {_NAMES[model]}")
    return parse_records(data, model, url)
