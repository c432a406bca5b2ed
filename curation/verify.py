"""Whether a release is as it was made: files, pixels, labels, ratings, and every number that rests on them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from curation.gate import run_gate
from curation.release_content import (
    GATE,
    META,
    RATINGS,
    ROW_SUMS,
    ReleaseContent,
    ReleaseMeta,
    read_release,
    read_settings,
)
from curation.release_signature import is_signed_by
from curation.release_sums import SIGNATURE, SUMS, file_sha256, read_sums, release_id
from curation.release_tables import row_sums
from curation.verify_pictures import picture_findings
from data_manifests import storage
from data_manifests.errors import CuebenchError, ProblemsError

N_ROWS_NAMED = 20


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it was: what happened (`changed`, `label`, ...), where, and what was expected."""

    kind: str
    where: str
    detail: str


@dataclass(frozen=True)
class Verification:
    """What a release says of itself, and everything that contradicts it.

    `signature` is `none`, `not checked`, `good` or `bad`; `kappa` is computed anew from the ratings, None where the
    files can't be read.
    """

    release_id: str
    name: str
    version: str
    simulated: bool
    n_files: int
    outcome: str | None
    kappa: dict[str, float | None]
    signature: str
    findings: tuple[Finding, ...]

    @property
    def is_intact(self) -> bool:
        """Whether nothing contradicts the release."""
        return not self.findings

    def to_json(self) -> dict[str, Any]:
        """Return the verification as plain JSON types."""
        return {**vars(self), "intact": self.is_intact, "findings": [vars(row) for row in self.findings]}


def verify_release(url: str, public_key: str | None = None) -> Verification:
    """Return what a release says of itself and everything that contradicts it.

    Parameters
    ----------
    public_key : the file of a key with which SHA256SUMS has to be signed

    Raises
    ------
    CuebenchError
        If the folder is no release, or the key is none.
    """
    found: list[Finding] = []
    try:
        content_of_sums, sums = read_sums(url)
        found += _file_findings(url, sums)
    except ProblemsError as error:
        content_of_sums, sums = storage.read_bytes(storage.join(url, SUMS)), {}
        found += [Finding("unreadable", SUMS, problem) for problem in error.problems]
    meta = _read_meta(url)
    signature = _signature(url, content_of_sums, public_key)
    if signature == "bad" or (public_key is not None and signature == "none"):
        found.append(Finding("signature", SIGNATURE, f"{SUMS} is not signed by the owner of {public_key}"))
    content, unreadable = _read_content(url)
    found += unreadable
    outcome: str | None = None
    kappa: dict[str, float | None] = {}
    if content is not None:
        found += [Finding(*row) for row in picture_findings(url, content)]
        found += _simulation_findings(content)
        found += _tombstone_findings(content)
        outcome, kappa, differences = _gate_again(url, content)
        found += differences
    return Verification(
        release_id=release_id(content_of_sums),
        name=meta.about.name if meta else "",
        version=meta.version if meta else "",
        simulated=content.data.simulated if content else bool(meta and meta.simulated),
        n_files=len(sums),
        outcome=outcome,
        kappa=kappa,
        signature=signature,
        findings=tuple(found),
    )


def _read_content(url: str) -> tuple[ReleaseContent | None, list[Finding]]:
    """Return the content of a release, or None and why it can't be read."""
    try:
        return read_release(url), []
    except ProblemsError as error:
        return None, [Finding("unreadable", _below(error.where, url), row) for row in error.problems]
    except CuebenchError as error:
        return None, [Finding("unreadable", url, str(error))]


def _read_meta(url: str) -> ReleaseMeta | None:
    """Return the facts of a release; None where they can't be read, which reading all of it will report."""
    try:
        return read_settings(url, META, ReleaseMeta)
    except CuebenchError:
        return None


def _below(where: str, url: str) -> str:
    return where.removeprefix(f"{url.rstrip('/')}/")


def _signature(url: str, sums: bytes, public_key: str | None) -> str:
    path = storage.join(url, SIGNATURE)
    if not storage.exists(path):
        return "none"
    if public_key is None:
        return "not checked"
    return "good" if is_signed_by(public_key, storage.read_bytes(path), sums) else "bad"


def _file_findings(url: str, sums: Mapping[str, str]) -> Iterator[Finding]:
    """Yield every file that is missing, added or changed; of a table of ratings, the rows."""
    there = set(storage.list_files(url)) - {SUMS, SIGNATURE}
    for name in sorted(sums.keys() | there):
        if name not in there:
            yield Finding("missing", name, f"{SUMS} lists it")
        elif name not in sums:
            yield Finding("added", name, f"{SUMS} does not list it")
        elif (found := file_sha256(storage.join(url, name))) != sums[name]:
            yield Finding("changed", name, f"its SHA-256 is {found}, expected {sums[name]}")
    yield from _row_findings(url, there)


def _row_findings(url: str, there: set[str]) -> Iterator[Finding]:
    if ROW_SUMS not in there:
        return
    try:
        listed = [json.loads(line) for line in storage.read_bytes(storage.join(url, ROW_SUMS)).splitlines()]
        expected = {str(row["file"]): [str(value) for value in row["row_sha256_16"]] for row in listed}
    except (ValueError, KeyError, TypeError) as error:
        yield Finding(
            "unreadable", ROW_SUMS, f"expected a list of hashes for each table of ratings ({error})"
        )
        return
    for name in RATINGS:
        if name in there:
            found = row_sums(storage.read_bytes(storage.join(url, name)))
            yield from _changed_rows(name, found, expected.get(name, []))


def _changed_rows(name: str, found: list[str], expected: list[str]) -> Iterator[Finding]:
    if len(found) != len(expected):
        known, now = set(expected), set(found)
        added = [f"row {number} is new" for number, value in enumerate(found, 1) if value not in known]
        gone = [
            f"row {number} of before is gone" for number, value in enumerate(expected, 1) if value not in now
        ]
        rows = [*added, *gone] or ["rows are there twice, or once less"]
        detail = f"{len(found)} rows, expected {len(expected)}: " + ", ".join(rows[:N_ROWS_NAMED])
        yield Finding("rating", name, detail + _more(len(rows)))
        return
    pairs = enumerate(zip_longest(found, expected), 1)
    changed = [number for number, (value, before) in pairs if value != before]
    for number in changed[:N_ROWS_NAMED]:
        yield Finding("rating", f"{name}:{number}", "this row was edited")
    if len(changed) > N_ROWS_NAMED:
        yield Finding("rating", name, f"{len(changed)} rows were edited{_more(len(changed))}")


def _more(n: int) -> str:
    return f", and {n - N_ROWS_NAMED} more" if n > N_ROWS_NAMED else ""


def _tombstone_findings(content: ReleaseContent) -> Iterator[Finding]:
    sources = {row.sha256 for row in content.withdrawn if row.what == "source"}
    cues = {row.cue_id for row in content.withdrawn if row.what == "cue"}
    for cue in content.data.cues:
        if cue.cue_id in cues or not sources.isdisjoint(cue.parent_source_ids):
            yield Finding("withdrawn", cue.file_name or cue.cue_id, "it was taken down, and is here")


def _simulation_findings(content: ReleaseContent) -> Iterator[Finding]:
    if content.data.simulated and not content.meta.simulated:
        yield Finding("simulated", META, "it does not say so, and answers are marked as made by a program")


def _gate_again(
    url: str, content: ReleaseContent
) -> tuple[str | None, dict[str, float | None], list[Finding]]:
    """Return the verdict and kappa computed from the ratings that ship, and where gate.json says something else."""
    try:
        report = run_gate(content.data, content.meta.code)
    except CuebenchError as error:
        return None, {}, [Finding("gate", "ratings/", f"nothing can be computed from them ({error})")]
    kappa = {
        evidence.cue_kind: evidence.agreement.kappa.value if evidence.agreement else None
        for evidence in report.evidence
    }
    try:
        shipped = json.loads(storage.read_bytes(storage.join(url, GATE)))
    except (CuebenchError, ValueError) as error:
        return report.outcome, kappa, [Finding("gate", GATE, f"it can't be read ({error})")]
    again = json.loads(json.dumps(report.to_json()))
    found = [
        Finding("gate", GATE, f"{place}: it says {was!r}, and what ships gives {now!r}")
        # which part of the input was edited says more than the many numbers that follow from it
        for place, was, now in sorted(
            differences(shipped, again), key=lambda row: not row[0].startswith("input")
        )
    ]
    return report.outcome, kappa, found


def differences(was: object, now: object, place: str = "") -> Iterator[tuple[str, object, object]]:
    """Yield every place at which two JSON values differ, with both values; a missing one is None."""
    if isinstance(was, dict) and isinstance(now, dict):
        for key in sorted(was.keys() | now.keys()):
            yield from differences(was.get(key), now.get(key), f"{place}.{key}" if place else str(key))
    elif isinstance(was, list) and isinstance(now, list):
        for number, (one, other) in enumerate(zip_longest(was, now)):
            yield from differences(one, other, f"{place}[{number}]")
    elif was != now:
        yield place, _short(was), _short(now)


def _short(value: object) -> object:
    return value if not isinstance(value, dict | list) else f"{len(value)} entries"
