"""What a class-aware choice of masks came to, for people and programs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from curation.class_aware_choice import NOT_SEEN
from curation.masks_run import JudgedSource, MaskRun
from generation.masks import FALLBACK, UNCERTAIN

FLAGS = (NOT_SEEN, UNCERTAIN, FALLBACK)


@dataclass(frozen=True)
class MasksSummary:
    """How many photographs have a pick, and which picks are doubtful and why.

    `n_differing` counts picks that are others than without a classifier.
    `flagged` holds flag -> file names; `problems` says which photographs were left out.
    """

    n_photographs: int
    n_picked: int
    n_differing: int
    segmenters: dict[str, int]
    flagged: dict[str, list[str]]
    without_mask: list[str]
    problems: list[str]

    @property
    def n_doubtful(self) -> int:
        """How many photographs have a flag, each counted once."""
        return len({name for names in self.flagged.values() for name in names})

    def to_json(self) -> dict[str, Any]:
        """Return the object that `cuebench masks --format json` prints."""
        return {**vars(self), "n_doubtful": self.n_doubtful}

    def to_text(self) -> str:
        """Return the counts for people, with the photographs to look at."""
        lines = [
            f"{self.n_photographs:>8} photographs",
            f"{self.n_picked:>8} masks picked, {self.n_differing} of them other than without the classifier",
            f"{self.n_doubtful:>8} doubtful: look at them",
            *([f"{len(self.without_mask):>8} without a mask"] if self.without_mask else []),
            *(
                [f"{len(self.problems):>8} left out; the same command tries them again"]
                if self.problems
                else []
            ),
            *(f"{n:>8} by {name}" for name, n in self.segmenters.items()),
        ]
        for flag, names in self.flagged.items():
            lines += [f"{flag}: {name}" for name in names]
        lines += [f"no mask: {name}" for name in self.without_mask]
        return "\n".join([*lines, *(f"left out: {problem}" for problem in self.problems)])


def summarise_masks(run: MaskRun) -> MasksSummary:
    """Return the summary of a run."""
    found = [judged for _, judged in run.judged]
    picked = [
        judged for judged in found if judged.record is not None and judged.record.mask_sha256 is not None
    ]
    by = Counter(_segmenter(judged) for judged in picked)
    return MasksSummary(
        n_photographs=len(found),
        n_picked=len(picked),
        n_differing=sum(judged.differs for judged in picked),
        segmenters=dict(sorted(by.items(), key=lambda pair: (-pair[1], pair[0]))),
        flagged={flag: names for flag in FLAGS if (names := _names_with(picked, flag))},
        without_mask=[
            f"{j.file_name}: {j.record.reason}" for j in found if j.record and not j.record.mask_sha256
        ],
        problems=[f"{judged.file_name}: {judged.problem}" for judged in found if judged.problem],
    )


def _segmenter(judged: JudgedSource) -> str:
    """Return what found the mask, without the part and the box."""
    name = judged.record.segmenter if judged.record else ""
    return f"{name.partition('@')[0]} (close-up)" if "@box" in name else name


def _names_with(judged: list[JudgedSource], flag: str) -> list[str]:
    return [each.file_name for each in judged if each.record is not None and flag in each.record.flags]
