"""How an audit reads: for a terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from curation.audit_report import AuditReport, Defect, UsualForm

N_SHOWN = 5


def to_text(report: AuditReport, *, markdown: bool = False) -> str:
    """Return a report for people: the set, its defects with the first files of each, its numbers, notes."""
    sections = [
        _head(report, markdown),
        _defect_lines(report, markdown),
        _class_lines(report, markdown),
        _number_lines(report, markdown),
        _notes(report, markdown),
    ]
    return "\n\n".join("\n".join(lines) for lines in map(list, sections) if lines)


def _head(report: AuditReport, markdown: bool) -> Iterator[str]:
    yield f"{'# Audit of ' if markdown else ''}{report.audited}"
    yield from [""] * markdown
    n_bad = report.n_files - report.n_readable
    against = f"limits of {report.recipe}, classes of {report.taxonomy or 'no taxonomy'}"
    yield f"files: {report.n_files}, of them without a picture: {n_bad}; {against}"
    for form in report.usual:
        yield from [""] * markdown
        yield _form_line(form, report)
    if report.strokes:
        s = report.strokes
        yield from [""] * markdown
        yield (
            f"strokes of {s.n_files} shapes: width {s.stroke_px:.2f} px (varies by {s.stroke_px_cv:.0%}), "
            f"brightness {s.line_level:.0f} of 255 (varies by {s.line_level_cv:.0%})"
        )


def _form_line(form: UsualForm, report: AuditReport) -> str:
    counts = [c.n_files for c in report.per_class if c.cue_kind == form.cue_kind]
    each = str(counts[0]) if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"
    return (
        f"{form.cue_kind or 'unknown kind'}: classes {len(counts)}, files in each {each}, "
        f"usual size {form.width}x{form.height}, usual mode {form.mode}"
    )


def _defect_lines(report: AuditReport, markdown: bool) -> Iterator[str]:
    if markdown:
        yield "## Defects"
        yield ""
    if report.clean:
        n = sum(len(row.checks) for row in report.not_run)
        yield f"clean: no defect found{f', but {n} checks could not run' if n else ''}"
        yield from _not_run_lines(report, markdown)
        return
    yield f"not clean: defects of {len(report.defects)} kinds"
    for defect in report.defects:
        yield ""
        yield from _defect(defect, markdown)
    if report.not_run:
        yield from ("", "checks that could not run:")
        yield from _not_run_lines(report, markdown)


def _not_run_lines(report: AuditReport, markdown: bool) -> Iterator[str]:
    yield from [""] * (markdown and bool(report.not_run))
    for row in report.not_run:
        yield f"{'- ' if markdown else '  '}{', '.join(row.checks)}: missing is {row.missing}"


def _defect(defect: Defect, markdown: bool) -> Iterator[str]:
    hidden = defect.n - N_SHOWN
    shown = [*defect.found[:N_SHOWN], *[f"... and {hidden} more (all of them: --format json)"] * (hidden > 0)]
    if markdown:
        yield f"### {defect.check}: {defect.n}"
        yield from ("", f"{defect.what}.", "", f"To do: {defect.to_do}.", "")
        yield from (f"- {line}" for line in shown)
    else:
        yield f"{defect.check} {defect.n}: {defect.what}"
        yield f"  to do: {defect.to_do}"
        yield from (f"    {line}" for line in shown)


def _class_lines(report: AuditReport, markdown: bool) -> Iterator[str]:
    if markdown:
        yield "## Classes"
        yield ""
    rows = [
        (c.cue_kind or "?", c.superclass or "?", c.n_files, _grids(c.n_by_grid)) for c in report.per_class
    ]
    yield from _table(("kind", "class", "files", "by grid"), rows, markdown)


def _grids(n_by_grid: dict[str, int]) -> str:
    return ", ".join(f"{grid}: {n}" for grid, n in n_by_grid.items()) or "-"


def _number_lines(report: AuditReport, markdown: bool) -> Iterator[str]:
    if not report.numbers:
        return
    if markdown:
        yield "## Quality numbers"
        yield ""
    rows = [
        (
            n.cue_kind,
            n.grid or "-",
            n.name,
            n.n_files,
            *(f"{value:.3g}" for value in (n.minimum, n.median, n.maximum)),
            n.limit or "-",
            n.n_outside if n.limit else "-",
        )
        for n in report.numbers
    ]
    head = ("kind", "grid", "number", "files", "least", "median", "most", "limit", "outside")
    yield from _table(head, rows, markdown)


def _table(head: Sequence[str], rows: Sequence[Sequence[object]], markdown: bool) -> Iterator[str]:
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    if markdown:
        escaped = [[cell.replace("|", "\\|") for cell in row] for row in cells]
        lines = [f"| {' | '.join(row)} |" for row in escaped]
        yield from (lines[0], "|" + " --- |" * len(head), *lines[1:])
        return
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _notes(report: AuditReport, markdown: bool) -> Iterator[str]:
    licences = report.licences
    lines = list(report.notes)
    if licences.manifest:
        lines.append("licences: " + ", ".join(f"{name} {n}" for name, n in licences.by_license.items()))
    if markdown and lines:
        yield "## Notes"
        yield ""
    yield from (f"{'- ' if markdown else 'note: '}{line}" for line in lines)
