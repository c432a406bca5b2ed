"""The tables of a release beside its manifests: rows for Hugging Face, licences, hashes of ratings, the changelog."""

from __future__ import annotations

import csv
import hashlib
import io

from curation.gate import GateReport
from curation.release_content import ReleaseContent
from data_manifests.jsonl import canonical_json
from data_manifests.records import CueKind, CueRecord, SourceRecord

_LICENSE_COLUMNS = (
    "file", "source_id", "photograph", "title", "author", "license", "license_url", "source_url", "landing_url",
    "attribution", "redistributable", "changes",
)  # fmt: skip

_CHANGES: dict[CueKind, str] = {
    "shape": "reduced to the outline and inner lines of one object",
    "texture": "reduced to patches of one surface, put together anew",
}


def metadata_name(kind: CueKind) -> str:
    """Return the name of the table that the imagefolder loader of Hugging Face reads."""
    return f"data/{kind}/metadata.jsonl"


def metadata_rows(content: ReleaseContent, report: GateReport, kind: CueKind) -> list[dict[str, object]]:
    """Return one row a picture of a kind. Nothing is null: a column without a value would have no type there."""
    n_ratings = {item.sha256: item.n_ratings for evidence in report.evidence for item in evidence.items}
    rows: list[dict[str, object]] = []
    cues = content.cues_by_kind[kind]
    has_grid = all(cue.grid is not None and cue.variant is not None for cue in cues)
    for cue in cues:
        row: dict[str, object] = {
            "file_name": f"{cue.superclass}/{cue.cue_id}.png",
            "label": cue.superclass,
            "cue_id": cue.cue_id,
            "wnids": " ".join(cue.wnids),
            "n_ratings": n_ratings.get(cue.sha256 or "", 0),
        }
        if has_grid:
            row |= {"grid": cue.grid, "variant": cue.variant}
        if content.meta.simulated:
            row["simulated"] = True
        rows.append(row)
    return rows


def dump_rows(rows: list[dict[str, object]]) -> bytes:
    """Return plain rows as JSON Lines, in their order."""
    return "".join(f"{canonical_json(row)}\n" for row in rows).encode()


def dump_licenses(content: ReleaseContent) -> bytes:
    """Return the CSV that attributes every picture to its photographs: a row for each pair of them."""
    by_id = {source.source_id: source for source in content.data.sources}
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(_LICENSE_COLUMNS)
    for cues in content.cues_by_kind.values():
        for cue in cues:
            for parent in cue.parent_source_ids:
                writer.writerow(_license_row(cue, parent, by_id.get(parent)))
    return buffer.getvalue().encode()


def _license_row(cue: CueRecord, parent: str, source: SourceRecord | None) -> list[str]:
    if source is None:
        return [
            cue.file_name or "",
            parent,
            *[""] * 3,
            "NOASSERTION",
            *[""] * 4,
            "unknown",
            _CHANGES[cue.cue_kind],
        ]
    return [
        cue.file_name or "",
        parent,
        source.file_name,
        source.title,
        source.author,
        source.license_spdx,
        source.license_url,
        source.source_url,
        source.landing_url,
        source.attribution_text,
        source.redistributable,
        _CHANGES[cue.cue_kind],
    ]


def row_sums(table: bytes) -> list[str]:
    """Return the first 16 hex digits of the SHA-256 of each row, so that a row that was edited can be named."""
    return [hashlib.sha256(row).hexdigest()[:16] for row in table.split(b"\n")[:-1]]


def dump_row_sums(tables: dict[str, bytes]) -> bytes:
    """Return the row sums of the tables of ratings, one table a line."""
    rows = [{"file": name, "row_sha256_16": row_sums(table)} for name, table in sorted(tables.items())]
    return "".join(f"{canonical_json(row)}\n" for row in rows).encode()


def dump_changelog(content: ReleaseContent) -> bytes:
    """Return the changelog, newest version first."""
    lines = [
        "# Changelog",
        "",
        f"Versions of {content.meta.about.name} follow Semantic Versioning, read for data:",
    ]
    lines += [
        "MAJOR where scores on the two versions do not compare, MINOR where pictures were added, PATCH otherwise.",
    ]
    for change in reversed(content.meta.changes):
        lines += ["", f"## {change.version} - {change.date}", "", *(f"- {line}" for line in change.lines)]
    return ("\n".join(lines) + "\n").encode()
