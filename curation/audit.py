"""The audit of a cue set: measure every file, find what is wrong, and put it into one report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from curation.audit_duplicates import Groups as PictureGroups
from curation.audit_duplicates import find_duplicates, find_shared_sources
from curation.audit_files import AuditFile, AuditSet
from curation.audit_findings import (
    Finding,
    check_classes,
    check_duplicates,
    check_files,
    check_forms,
    check_licences,
    check_quality,
    check_strokes,
    stroke_spread,
    usual_forms,
    usual_shapes,
)
from curation.audit_pictures import Picture, measure_picture
from curation.audit_report import AuditReport, Groups, Names
from curation.audit_summary import (
    checks_not_run,
    class_counts,
    defects_of,
    file_reports,
    licences_of,
    notes_of,
    number_spreads,
)
from data_manifests.records import OK
from generation.executors import WorkerDied, executor_for
from generation.recipe import Recipe

Progress = Callable[[int, int], None]


def _show_nothing(n_done: int, n_all: int) -> None:
    """Stand in for a progress bar."""


def audit(
    audited: AuditSet,
    recipe: Recipe,
    *,
    ignored: Collection[str] = (),
    workers: int = 1,
    on_progress: Progress = _show_nothing,
) -> AuditReport:
    """Return everything that is wrong with a cue set, by the limits of a recipe.

    `ignored` are checks (see `known_checks`) whose findings are no defects and flag no file. `on_progress` gets the
    numbers of measured and of all files.
    """
    return report_of(audited, _measure_all(audited.files, workers, on_progress), recipe, ignored)


def _measure_all(files: Sequence[AuditFile], workers: int, on_progress: Progress) -> list[Picture]:
    executor = executor_for("process" if workers > 1 else "serial", workers)
    measured: dict[int, Picture] = {}
    on_progress(0, len(files))
    for (index, file), result in executor.run(_measure_numbered, list(enumerate(files))):
        died = "the process that read it was killed or crashed"
        measured[index] = Picture(file, "worker_died", died) if isinstance(result, WorkerDied) else result
        on_progress(len(measured), len(files))
    return [measured[index] for index in range(len(files))]


def _measure_numbered(numbered: tuple[int, AuditFile]) -> Picture:
    return measure_picture(numbered[1])


class _Evidence:
    """What measured pictures say of a set, each thing worked out once."""

    def __init__(self, audited: AuditSet, pictures: Sequence[Picture], recipe: Recipe) -> None:
        self.readable = [picture for picture in pictures if picture.status == OK]
        self.usual = usual_forms(pictures, recipe.side_px)
        self.duplicates = find_duplicates(self.readable)
        self.shared_sources = find_shared_sources(self.readable)
        shapes = usual_shapes(self.readable, self.usual)
        self.strokes = stroke_spread(shapes)
        self.findings = [
            *check_files(pictures),
            *check_duplicates(self.duplicates, self.shared_sources),
            *check_forms(pictures, self.usual),
            *check_classes(audited),
            *check_licences(audited),
            *check_quality(self.readable, recipe),
            *check_strokes(shapes, self.strokes, recipe),
        ]


def report_of(
    audited: AuditSet, pictures: Sequence[Picture], recipe: Recipe, ignored: Collection[str] = ()
) -> AuditReport:
    """Return the report on measured pictures, a pure function of them."""
    evidence = _Evidence(audited, pictures, recipe)
    findings, readable, duplicates = evidence.findings, evidence.readable, evidence.duplicates
    counted = [finding for finding in findings if finding.check not in ignored]
    return AuditReport(
        audited=audited.url,
        recipe=recipe.name,
        taxonomy=audited.taxonomy.name if audited.taxonomy else None,
        clean=not counted,
        n_files=len(pictures),
        n_readable=len(readable),
        n_failed=audited.n_failed,
        usual=tuple(evidence.usual.values()),
        duplicates=_named(duplicates.exact),
        pixel_duplicates=_named(duplicates.pixel),
        near_duplicates=_named(duplicates.near),
        cross_class_duplicates=_named(duplicates.cross_class),
        shared_sources=_named(evidence.shared_sources),
        wrong_size=_files_of(findings, "wrong_size"),
        wrong_mode=_files_of(findings, "wrong_mode"),
        unreadable=tuple(picture.file.name for picture in pictures if picture.status != OK),
        per_class=tuple(class_counts(pictures)),
        strokes=evidence.strokes,
        numbers=tuple(number_spreads(readable, recipe)),
        licences=licences_of(audited),
        defects=tuple(defects_of(counted)),
        not_run=tuple(checks_not_run(audited, readable, ignored)),
        notes=tuple(notes_of(audited, readable)),
        other_files=audited.other,
        files=tuple(file_reports(pictures, counted)),
    )


def _named(groups: PictureGroups) -> Groups:
    return tuple(tuple(picture.file.name for picture in group) for group in groups)


def _files_of(findings: Sequence[Finding], check: str) -> Names:
    return tuple(name for finding in findings if finding.check == check for name in finding.files)
