"""The checks of the gate on the set itself: duplicates, one size, licences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from curation.gate_checks import Check, decide
from curation.gate_rules import GateRules
from data_manifests.records import CueRecord, SourceRecord


def set_checks(
    cues: Sequence[CueRecord], sources: Sequence[SourceRecord], rules: GateRules
) -> Iterator[Check]:
    """Yield the checks on the set itself: duplicates, one size, licences."""
    pixels = Counter(cue.pixel_sha256 for cue in cues)
    n_double = sum(n - 1 for n in pixels.values())
    yield decide(
        "set: no picture twice",
        float(n_double),
        rules.integrity.max_duplicates,
        f"{n_double} pictures have the pixels of another",
        "leave one of each out",
        most=True,
    )
    sizes: dict[tuple[int | None, int | None], int] = defaultdict(int)
    for cue in cues:
        sizes[cue.width, cue.height] += 1
    yield decide(
        "set: one size",
        float(len(sizes)) if sizes else None,
        1,
        ", ".join(f"{n} of {w} x {h} px" for (w, h), n in sorted(sizes.items(), key=str)) or "no pictures",
        "make the set from one run",
        most=True,
        of="size",
    )
    if rules.integrity.require_license:
        yield _license_check(cues, sources)


def _license_check(cues: Sequence[CueRecord], sources: Sequence[SourceRecord]) -> Check:
    by_id = {source.source_id: source for source in sources}
    parents = sorted({parent for cue in cues for parent in cue.parent_source_ids})
    unknown = [p for p in parents if p not in by_id or by_id[p].license_spdx in {"", "NOASSERTION"}]
    return decide(
        "set: every photograph has a licence",
        float(len(unknown)) if parents else None,
        0,
        f"{len(unknown)} of {len(parents)} photographs have none on record",
        "add license_spdx to the provenance CSV and ingest again, or set require_license = false and say so",
        most=True,
    )
