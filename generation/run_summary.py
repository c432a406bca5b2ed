"""What a run gave, in numbers: cues, flags and reasons per class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from data_manifests.records import OK, CueRecord
from generation.run import RunResult


@dataclass(frozen=True)
class ClassSummary:
    """The cues of one superclass and kind: rows, pictures, pictures with a flag, and the reasons counted."""

    cue_kind: str
    superclass: str
    n_cues: int
    n_ok: int
    n_flagged: int
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
            "n_cues": sum(c.n_cues for c in self.classes),
            "n_ok": sum(c.n_ok for c in self.classes),
            "n_flagged": sum(c.n_flagged for c in self.classes),
            "segmenters": self.segmenters,
            "classes": [vars(c) for c in self.classes],
        }

    def to_text(self) -> str:
        """Return a table for people."""
        rows = [("kind", "class", "cues", "ok", "flagged", "why not, and flags")]
        rows += [
            (c.cue_kind, c.superclass, str(c.n_cues), str(c.n_ok), str(c.n_flagged), c.reasons())
            for c in self.classes
        ]
        total = self.to_json()
        rows.append(("all", "", str(total["n_cues"]), str(total["n_ok"]), str(total["n_flagged"]), ""))
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True))
            for row in rows
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        masks = ", ".join(f"{name} {count}" for name, count in self.segmenters.items())
        return "\n".join([*(line.rstrip() for line in lines), f"masks: {masks}"])


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
    return ClassSummary(
        cue_kind=kind,
        superclass=superclass,
        n_cues=len(cues),
        n_ok=len(made),
        n_flagged=sum(bool(cue.flags) for cue in made),
        flags=_counts(flag for cue in made for flag in cue.flags),
        failures=_counts(cue.status for cue in cues if cue.status != OK),
    )


def _counts(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
