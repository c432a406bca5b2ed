"""What a review's status holds, and how it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from curation.review_votes import PICTURE_OUTCOMES


@dataclass(frozen=True)
class ClassStatus:
    """The pictures of one class: what came of how many (see `curation.review_votes.PICTURE_OUTCOMES`).

    A picture that was adjudicated counts by the decision, and in `n_adjudicated`; `n_judged` have a verdict,
    `n_judged_twice` several. `n_items` leaves out the stale ones.
    """

    cue_kind: str
    superclass: str
    n_items: int
    n_judged: int
    n_judged_twice: int
    n_accepted: int
    n_adjudicated: int
    states: dict[str, int]


@dataclass(frozen=True)
class ReviewerStatus:
    """What one reviewer did, on pictures that still count.

    `n_answered` is the sum of `answers` (first verdicts), `n_repeat_answers` and `n_known_bad`; `n_stale` verdicts
    are on pictures that were made again. Of `n_repeats` pairs of first and second verdict `n_same` are alike; of
    `n_known_bad` known-bad pictures they rejected `n_caught`.
    """

    reviewer: str
    n_assigned: int
    n_answered: int
    answers: dict[str, int]
    n_stale: int
    n_repeat_answers: int
    n_repeats: int
    n_same: int
    n_known_bad: int
    n_caught: int


@dataclass(frozen=True)
class ReviewStatus:
    """A review. Of `n_judged_twice` pictures with several verdicts, all are alike in `n_agreeing`.

    `n_outdated_decisions` counts adjudications whose verdicts have changed since. `reasons` counts those of
    standing rejections, by cue kind.
    """

    slug: str
    state: str
    classes: list[ClassStatus]
    reviewers: list[ReviewerStatus]
    states: dict[str, int]
    n_judged_twice: int
    n_agreeing: int
    n_stale_verdicts: int
    n_adjudicated: dict[str, int]
    n_outdated_decisions: int
    reasons: dict[str, dict[str, int]]

    def to_json(self) -> dict[str, object]:
        """Return plain JSON types."""
        return asdict(self)

    def to_text(self) -> str:
        """Return tables for people."""
        return "\n".join([f"review {self.slug}: {self.state}", *self._class_lines(), "", *self._reviewer_lines(), "",
                          *self._closing_lines()])  # fmt: skip

    def _class_lines(self) -> list[str]:
        head = ("kind", "class", "items", "judged", "twice", *PICTURE_OUTCOMES, "of which adjudicated")
        rows = [
            (
                c.cue_kind,
                c.superclass,
                c.n_items,
                c.n_judged,
                c.n_judged_twice,
                *(c.states[outcome] for outcome in PICTURE_OUTCOMES),
                c.n_adjudicated,
            )
            for c in self.classes
        ]
        sums = [sum(row[i] for row in rows if isinstance(row[i], int)) for i in range(2, len(head))]  # type: ignore[misc]
        return _table([head, *rows, ("all", "", *sums)], n_names=2)

    def _reviewer_lines(self) -> list[str]:
        head = (
            "reviewer",
            "answered",
            "of",
            "accept",
            "reject",
            "unsure",
            "repeats",
            "stale",
            "same again",
            "bad caught",
        )
        rows = [
            (
                r.reviewer,
                r.n_answered,
                r.n_assigned,
                *(r.answers.get(answer, 0) for answer in ("accept", "reject", "unsure")),
                r.n_repeat_answers,
                r.n_stale,
                f"{r.n_same}/{r.n_repeats}",
                f"{r.n_caught}/{r.n_known_bad}",
            )
            for r in self.reviewers
        ]
        return _table([head, *rows], n_names=1)

    def _closing_lines(self) -> list[str]:
        lines = [f"judged twice or more: {self.n_judged_twice}, all verdicts alike: {self.n_agreeing}"]
        if self.n_stale_verdicts:
            lines.append(f"stale verdicts, on pictures that were made again: {self.n_stale_verdicts}")
        if self.n_outdated_decisions:
            lines.append(f"adjudications whose verdicts changed since: {self.n_outdated_decisions}")
        for kind, counts in self.reasons.items():
            listed = ", ".join(
                f"{reason} {n}" for reason, n in sorted(counts.items(), key=lambda x: (-x[1], x[0]))
            )
            lines.append(f"reasons, {kind}: {listed}")
        return lines


def _table(rows: Sequence[Sequence[object]], n_names: int) -> list[str]:
    """Return aligned lines: names to the left, numbers to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    return [
        "  ".join(
            cell.ljust(width) if i < n_names else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
