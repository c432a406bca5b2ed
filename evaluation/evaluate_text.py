"""An evaluation in words and tables."""

from __future__ import annotations

from collections.abc import Mapping

from evaluation.evaluate import Evaluation
from evaluation.sensitivity import Interval, Sensitivity


def evaluation_text(found: Evaluation, *, markdown: bool = False) -> str:
    """Return the sensitivities with their intervals, the preference, and a row for each class."""
    head = [
        "cue",
        "sensitivity",
        "95 % interval",
        "macro",
        "top-1",
        "top-5",
        "median rank",
        "chance",
        "images",
        "ties",
    ]
    rows = [
        [
            f"{kind}{suffix}",
            f"{cue.sensitivity:.4f}",
            _interval(cue.ci),
            f"{cue.macro:.4f}",
            f"{cue.top1:.4f}",
            f"{cue.top5:.4f}",
            f"{cue.median_rank:g}",
            f"{cue.chance:.4f}",
            str(cue.n),
            str(cue.n_ties),
        ]
        for suffix, cues in _label_spaces(found)
        for kind, cue in cues.items()
    ]
    lines = [f"{found.label_space}, taxonomy {found.taxonomy}, ties {found.tie_rule}", ""]
    lines += table_lines(head, rows, markdown=markdown)
    for kind, leaning in found.preferences.items():
        lines += ["", f"{kind} preference {leaning.value:.4f} ({_interval(leaning.ci)})"]
    for kind, cue in found.cues.items():
        lines += ["", f"{kind}, class by class", ""]
        class_rows = [
            [row.superclass, str(row.n), f"{row.sensitivity:.3f}", f"{row.top1:.3f}", f"{row.median_rank:g}"]
            for row in cue.per_class
        ]
        lines += table_lines(
            ["class", "images", "sensitivity", "top-1", "median rank"], class_rows, markdown=markdown
        )
        if cue.per_grid:
            listed = ", ".join(f"{grid}x{grid} {value:.3f}" for grid, value in cue.per_grid.items())
            lines += ["", f"{kind} by grid: {listed}"]
    return "\n".join(lines)


def _label_spaces(found: Evaluation) -> list[tuple[str, Mapping[str, Sensitivity]]]:
    spaces = [found.imagenet_1k] if found.has_more_than_1k else []
    return [
        ("", found.cues),
        *((f" ({next(iter(cues.values())).n_labels} labels)", cues) for cues in [*spaces, found.restricted]),
    ]


def _interval(ci: Interval) -> str:
    return f"{ci.lower:.4f} to {ci.upper:.4f}"


def table_lines(head: list[str], rows: list[list[str]], *, markdown: bool) -> list[str]:
    """Return a table as lines of text or Markdown; the first column to the left, the others to the right."""
    if markdown:
        rule = ["---", *["---:"] * (len(head) - 1)]
        return ["| " + " | ".join(row) + " |" for row in [head, rule, *rows]]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    return [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [head, *rows]
    ]
