"""The rows of a release: what people answered, without what could tell who they were; cues without machine paths."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from curation.gate import GateInput
from curation.rating_records import AdjudicationRecord, RatingRecord
from curation.release_content import picture_name
from data_manifests.jsonl import dump_records
from data_manifests.records import CueRecord, SourceRecord

R = TypeVar("R", bound=RatingRecord)

_FOLDER_SEGMENTERS = ("folder:", "sam:")


def anonymise(data: GateInput, version: str, *, keep_notes: bool) -> GateInput:
    """Return the input of the gate as it ships.

    Everybody gets a new code. Tabs, event ids and the browser's clock go, other times become days, and what people
    wrote goes unless `keep_notes`. Files are named as in the release.
    """
    codes = new_codes(data, version)

    def rated(rows: Iterable[R]) -> tuple[R, ...]:
        return tuple(_anonymous(row, codes, keep_notes=keep_notes) for row in rows)

    return replace(
        data,
        cues=tuple(shipped_cue(cue) for cue in data.cues),
        sources=tuple(shipped_source(source) for source in data.sources),
        responses=rated(data.responses),
        verdicts=rated(data.verdicts),
        adjudications=tuple(
            _anonymous_decision(row, codes, keep_notes=keep_notes) for row in data.adjudications
        ),
        n_check_failures={codes[rater]: n for rater, n in data.n_check_failures.items()},
    )


def new_codes(data: GateInput, version: str) -> dict[str, str]:
    """Return code in the record -> code in the release: P001, P002, ... in an order drawn for this version.

    The draw is keyed by the whole record of answers, with what the release leaves out of it (ids, tabs, times to the
    ms). So the same record gives the same codes, and who knows a code of the record can't compute the new one. The
    key is no hash that the report of a gate prints.
    """
    key = hashlib.sha256(f"codes of release {version}".encode())
    for table in (data.responses, data.verdicts, data.adjudications):
        key.update(dump_records(table))
    people = {row.rater for row in (*data.responses, *data.verdicts)}
    people |= {row.adjudicator for row in data.adjudications} | set(data.n_check_failures)
    drawn = sorted(people, key=lambda rater: hmac.new(key.digest(), rater.encode(), hashlib.sha256).digest())
    width = max(3, len(str(len(drawn))))
    return {rater: f"P{number:0{width}d}" for number, rater in enumerate(drawn, start=1)}


def _anonymous(row: R, codes: dict[str, str], *, keep_notes: bool) -> R:
    return row.model_copy(
        update={
            "rater": codes[row.rater],
            "note": row.note if keep_notes else "",
            "client_utc": None,
            "server_utc": row.server_utc[:10] if row.server_utc else None,
            "session": None,
            "event_id": None,
        }
    )


def _anonymous_decision(
    row: AdjudicationRecord, codes: dict[str, str], *, keep_notes: bool
) -> AdjudicationRecord:
    return row.model_copy(
        update={
            "adjudicator": codes[row.adjudicator],
            "rationale": row.rationale if keep_notes else "",
            "decided_at": row.decided_at[:10],
        }
    )


def shipped_cue(cue: CueRecord) -> CueRecord:
    """Return the row with the file's name in the release; masks and origin maps do not ship."""
    return cue.model_copy(
        update={
            "file_name": picture_name(cue),
            "mask_file_name": None,
            "origin_file_name": None,
            "segmenter": None if cue.segmenter is None else shipped_segmenter(cue.segmenter),
            "mask_candidates": tuple(
                {
                    name: shipped_segmenter(value) if isinstance(value, str) else value
                    for name, value in candidate.items()
                }
                for candidate in cue.mask_candidates
            ),
        }
    )


def shipped_source(source: SourceRecord) -> SourceRecord:
    """Return the row with the bare name of the photograph's file: photographs do not ship."""
    name = source.file_name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return source.model_copy(update={"file_name": name or source.source_id})


def shipped_segmenter(name: str) -> str:
    r"""Return the name of a segmenter without the folders of the machine that it ran on.

    >>> shipped_segmenter("folder:../photos/masks"), shipped_segmenter("rembg:u2netp/largest")
    ('folder:masks', 'rembg:u2netp/largest')
    """
    for prefix in _FOLDER_SEGMENTERS:
        if name.startswith(prefix):
            return prefix + name.removeprefix(prefix).replace("\\", "/").rstrip("/").rpartition("/")[2]
    return name
