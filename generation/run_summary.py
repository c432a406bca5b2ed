"""What a run gave, in numbers: cues, flags and reasons per class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from data_manifests.records import OK, CueRecord
from generation.gallery_rows import cue_state
from generation.outcome import CUE_STATUSES, SOURCE_STATUSES
from generation.run import RunResult

_COUNTS = ("n_cues", "n_ok", "n_flagged", "n_failed")


@dataclass(frozen=True)
class ClassSummary:
    """The cues of one superclass and kind: each is ok, flagged or failed; flags and reasons are counted."""

    cue_kind: str
    superclass: str
    n_cues: int
    n_ok: int
    n_flagged: int
    n_failed: int
    flags: dict[str, int]
    failures: dict[str, int]

    def reasons(self) -> str:
        """Return flags and failures in one line, most frequent first."""
        named = [*self.failures.items(), *self.flags.items()]
        return ", ".join(f"{name} {count}" for name, count in sorted(named, key=lambda x: (-x[1], x[0])))


@dataclass(frozen=True)
class RunSummary:
    """The summary of a run, class by class."""

    n_sources: int
    classes: list[ClassSummary]
    segmenters: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {
            "n_sources": self.n_sources,
            **{name: sum(getattr(c, name) for c in self.classes) for name in _COUNTS},
            "to_do": self.to_do(),
            "segmenters": self.segmenters,
            "classes": [vars(c) for c in self.classes],
        }

    @property
    def n_made(self) -> int:
        """The number of cues that have a picture."""
        return sum(c.n_ok + c.n_flagged for c in self.classes)

    def to_do(self) -> dict[str, str]:
        """Return what to do about each reason for which there is no picture."""
        failures = sorted({status for c in self.classes for status in c.failures})
        return {status: {**SOURCE_STATUSES, **CUE_STATUSES}[status].to_do for status in failures}

    def to_text(self) -> str:
        """Return a table for people."""
        rows = [["kind", "class", *(name.removeprefix("n_") for name in _COUNTS), "why not, and flags"]]
        rows += [
            [c.cue_kind, c.superclass, *(str(getattr(c, name)) for name in _COUNTS), c.reasons()]
            for c in self.classes
        ]
        total = self.to_json()
        rows.append(["all", "", *(str(total[name]) for name in _COUNTS), ""])
        widths = [max(len(row[i]) for row in rows) for i in range(2 + len(_COUNTS))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True))
            for row in rows
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        masks = ", ".join(f"{name} {count}" for name, count in self.segmenters.items())
        to_do = [f"{status}: {text}" for status, text in self.to_do().items()]
        return "\n".join([*(line.rstrip() for line in lines), *to_do, f"masks: {masks}"])


def summarise(result: RunResult) -> RunSummary:
    """Count the rows of a run."""
    keys = sorted({(cue.cue_kind, cue.superclass) for cue in result.cues})
    return RunSummary(
        n_sources=len({(cue.cue_kind, *cue.parent_source_ids) for cue in result.cues}),
        classes=[
            _class_summary(kind, name, [c for c in result.cues if (c.cue_kind, c.superclass) == (kind, name)])
            for kind, name in keys
        ],
        segmenters=_counts(mask.segmenter if mask.mask_sha256 else "none found" for mask in result.masks),
    )


def _class_summary(kind: str, superclass: str, cues: list[CueRecord]) -> ClassSummary:
    made = [cue for cue in cues if cue.status == OK]
    states = Counter(cue_state(cue) for cue in cues)
    return ClassSummary(
        cue_kind=kind,
        superclass=superclass,
        n_cues=len(cues),
        n_ok=states[OK],
        n_flagged=states["flagged"],
        n_failed=states["failed"],
        flags=_counts(flag for cue in made for flag in cue.flags),
        failures=_counts(cue.status for cue in cues if cue.status != OK),
    )


def _counts(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
