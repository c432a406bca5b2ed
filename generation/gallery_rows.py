"""The rows of the gallery: one photograph with its cues, and which of them a large run shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from data_manifests.errors import CuebenchError
from data_manifests.records import OK, CueRecord, SourceRecord
from data_manifests.shipped import nearest


@dataclass(frozen=True)
class Row:
    """One photograph (None: not in `sources.jsonl`) and every cue that was attempted from it."""

    source: SourceRecord | None
    cues: tuple[CueRecord, ...]

    @property
    def group(self) -> tuple[str, str]:
        """Cue kind and superclass."""
        first = self.source or self.cues[0]
        return (first.cue_kind, first.superclass)

    @property
    def needs_attention(self) -> bool:
        """Whether any cue failed or is flagged, or no cue was attempted."""
        return not self.cues or any(cue_state(cue) != OK for cue in self.cues)


def cue_state(cue: CueRecord) -> str:
    """Return `ok`, `flagged` (a picture outside of the limits) or `failed` (no picture)."""
    if cue.status != OK:
        return "failed"
    return "flagged" if cue.flags else OK


def make_rows(sources: Iterable[SourceRecord], cues: Iterable[CueRecord]) -> list[Row]:
    """Return photographs with their cues, in canonical order; every cue is in exactly one row.

    A cue belongs to its first parent in its own kind and superclass; where a photograph is listed twice, to
    the usable entry. Cues whose photograph isn't listed get rows without one.
    """
    by_parent: dict[tuple[str, str, str], list[CueRecord]] = defaultdict(list)
    for cue in sorted(cues, key=lambda record: record.sort_key):
        by_parent[(cue.cue_kind, cue.superclass, "".join(cue.parent_source_ids[:1]))].append(cue)
    ordered = sorted(sources, key=lambda record: record.sort_key)
    owners: dict[tuple[str, str, str], SourceRecord] = {}
    for source in sorted(ordered, key=lambda record: record.status != OK):
        owners.setdefault((source.cue_kind, source.superclass, source.source_id), source)
    rows = []
    for source in ordered:
        key = (source.cue_kind, source.superclass, source.source_id)
        mine = by_parent.pop(key, []) if owners[key] is source else []
        rows.append(Row(source, tuple(mine)))
    orphans = [Row(None, tuple(group)) for group in by_parent.values()]
    return sorted([*rows, *orphans], key=lambda row: row.group)


def rows_of_classes(rows: Sequence[Row], classes: Collection[str], where: str) -> list[Row]:
    """Return the rows of some superclasses; all, if none is named.

    Raises
    ------
    CuebenchError
        If there is no row of one of them; `where` names the run.
    """
    known = sorted({row.group[1] for row in rows})
    for name in classes:
        if name not in known:
            raise CuebenchError(f"{where}: no class {name}{nearest(name, known)}; it has {', '.join(known)}")
    return [row for row in rows if not classes or row.group[1] in classes]


def first_of_each_group(rows: Sequence[Row], limit: int, weigh: Callable[[Row], int]) -> list[Row]:
    """Return the rows, or, where they weigh more than `limit`, equally many of each kind and class.

    Up to half of those of a class are the first ones that need attention, the rest the first of the others.
    One row of each class is kept even where that exceeds the limit.
    """
    if sum(map(weigh, rows)) <= limit:
        return list(rows)
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    fits, too_many = 1, 1 + max(map(len, groups.values()))
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if sum(weigh(row) for group in groups.values() for row in _pick(group, middle)) <= limit:
            fits = middle
        else:
            too_many = middle
    return [row for group in groups.values() for row in _pick(group, fits)]


def _pick(group: list[Row], n_rows: int) -> list[Row]:
    attention = [index for index, row in enumerate(group) if row.needs_attention][: n_rows // 2]
    others = [index for index in range(len(group)) if index not in set(attention)]
    return [group[index] for index in sorted([*attention, *others[: n_rows - len(attention)]])]
