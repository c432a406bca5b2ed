"""Where photographs come from: a CSV that the user keeps, one row for each photograph and use of it."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import get_args

from pydantic import BaseModel, ConfigDict

from data_manifests.errors import ProblemsError
from data_manifests.licenses import COMMON_LICENSES
from data_manifests.records import CueKind, Redistributable
from data_manifests.shipped import nearest
from data_manifests.storage import read_bytes

_TEXT_COLUMNS = (
    "superclass",
    "origin",
    "source_item",
    "landing_url",
    "source_url",
    "author",
    "title",
    "license_spdx",
    "license_url",
    "attribution_text",
    "redistributable",
    "retrieved_at",
    "sha256",
)
COLUMNS = ("file_name", "cue", "cue_kind", *_TEXT_COLUMNS)
_SHA256 = re.compile(r"[0-9a-f]{64}")
# The form of an SPDX expression, not the list of 700 ids: "CC BY 4.0" is the usual mistake.
_SPDX = re.compile(r"[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)*")


class Claim(BaseModel):
    """What a row of the CSV says of a photograph; a field that is empty says nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    superclass: str = ""
    cue_kind: CueKind | None = None
    origin: str = ""
    source_item: str = ""
    landing_url: str = ""
    source_url: str = ""
    author: str = ""
    title: str = ""
    license_spdx: str = ""
    license_url: str = ""
    attribution_text: str = ""
    redistributable: Redistributable | None = None
    retrieved_at: str = ""
    sha256: str = ""

    def record_fields(self) -> dict[str, str]:
        """Return the fields of a source record that the row fills."""
        stated = self.model_dump(exclude={"superclass", "cue_kind", "sha256"})
        return {name: value for name, value in stated.items() if value}


def path_key(file_name: str) -> str:
    r"""Return a path in the form in which paths are compared: POSIX, composed characters (NFC), no `./`.

    >>> path_key(".\\clock\\1.jpg")
    'clock/1.jpg'
    """
    return unicodedata.normalize("NFC", file_name.strip().replace("\\", "/")).removeprefix("./")


def read_provenance(url: str) -> dict[str, list[Claim]]:
    """Return path -> claims of a provenance CSV.

    The column `file_name` (relative to the folder of photographs) is needed; all others of `COLUMNS` may be
    there. A photograph has several rows where it serves several superclasses or cue kinds.

    Raises
    ------
    CuebenchError
        If the file can't be read.
    ProblemsError
        If it has mistakes; lists all of them, with line, column and the nearest known name.
    """
    try:
        text = read_bytes(url).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ProblemsError(url, [f"byte {error.start}: not UTF-8; save the file as UTF-8"]) from error
    reader = csv.reader(io.StringIO(text, newline=""))
    header = [name.strip() for name in next(reader, [])]
    problems = list(_header_problems(header))
    if problems:
        raise ProblemsError(url, problems)
    claims: dict[str, list[Claim]] = {}
    first_lines: dict[tuple[str, str, str], int] = {}
    for cells in reader:
        line = reader.line_num
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            problems.append(
                f"line {line}: expected {len(header)} cells, got {len(cells)}; quote commas in text"
            )
            continue
        row = dict(zip(header, (cell.strip() for cell in cells), strict=True))
        kind = row.get("cue_kind") or row.get("cue") or ""
        key = (path_key(row["file_name"]), row.get("superclass", ""), kind)
        if key in first_lines:
            problems.append(f"line {line}: file_name: {key[0]} is already in line {first_lines[key]}")
        first_lines.setdefault(key, line)
        found = [f"line {line}: {problem}" for problem in _row_problems(row, kind)]
        problems.extend(found)
        if not found:
            claims.setdefault(key[0], []).append(_claim(row, kind))
    if problems:
        raise ProblemsError(url, problems)
    return claims


def _header_problems(header: list[str]) -> Iterator[str]:
    if "file_name" not in header:
        yield "line 1: no column file_name (the path of a photograph below the folder of photographs)"
    for name in sorted(set(header)):
        if name not in COLUMNS:
            hint = nearest(name, list(COLUMNS))
            yield f"line 1: {name or 'empty name'}: unknown column{hint}; known are {', '.join(COLUMNS)}"
        if header.count(name) > 1:
            yield f"line 1: {name}: {header.count(name)} columns of this name"
    if {"cue", "cue_kind"} <= set(header):
        yield "line 1: cue and cue_kind are the same; keep one of them"


def _row_problems(row: Mapping[str, str], kind: str) -> Iterator[str]:
    name = path_key(row["file_name"])
    if not name:
        yield "file_name: empty"
    elif name.startswith("/") or ".." in name.split("/"):
        yield f"file_name: expected a path below the folder of photographs, got {name}"
    kinds = list(get_args(CueKind))
    if kind and kind not in kinds:
        yield f"cue: expected {' or '.join(kinds)}, got {kind!r}{nearest(kind, kinds)}"
    redistributable = row.get("redistributable", "")
    answers = list(get_args(Redistributable))
    if redistributable and redistributable not in answers:
        hint = nearest(redistributable, answers)
        yield f"redistributable: expected one of {', '.join(answers)}, got {redistributable!r}{hint}"
    sha256 = row.get("sha256", "").lower()
    if sha256 and not _SHA256.fullmatch(sha256):
        yield f"sha256: expected 64 hexadecimal digits, got {sha256!r}"
    license_spdx = row.get("license_spdx", "")
    if license_spdx and not _SPDX.fullmatch(license_spdx.replace("(", "").replace(")", "")):
        hint = nearest(license_spdx.replace(" ", "-"), sorted(COMMON_LICENSES))
        yield f"license_spdx: expected an SPDX id or LicenseRef-..., got {license_spdx!r}{hint}"


def _claim(row: Mapping[str, str], kind: str) -> Claim:
    stated: dict[str, object] = {name: row[name] for name in _TEXT_COLUMNS if row.get(name)}
    if kind:
        stated["cue_kind"] = kind
    if "sha256" in stated:
        stated["sha256"] = row["sha256"].lower()
    return Claim.model_validate(stated)
