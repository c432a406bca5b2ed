"""The parts of an audit's report that sum up files and findings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from curation.audit_checks import CHECKS, LOOK_AT_THEM, QUALITY_TO_DO
from curation.audit_files import AuditSet
from curation.audit_findings import NO_LICENSE, Finding, cues_by_source
from curation.audit_pictures import Picture
from curation.audit_report import ClassCount, Defect, FileReport, Licences, NotRun, NumberSpread
from data_manifests.records import OK, CueKind
from data_manifests.taxonomy import Taxonomy
from generation.recipe import Limit, Recipe
from generation.shape_quality import SHAPE_QUALITY
from generation.texture_quality import TEXTURE_QUALITY


def defects_of(findings: Sequence[Finding]) -> Iterator[Defect]:
    """Yield the findings by check: first those that need no measuring, then quality numbers by name."""
    by_check: defaultdict[str, list[str]] = defaultdict(list)
    for finding in findings:
        by_check[finding.check].append(finding.text)
    for check in [*CHECKS, *sorted(by_check.keys() - CHECKS.keys())]:
        if found := by_check.get(check):
            what, to_do = CHECKS.get(check) or _quality_check(check)
            yield Defect(check=check, n=len(found), what=what, to_do=to_do, found=tuple(found))


def _quality_check(name: str) -> tuple[str, str]:
    meaning = {**SHAPE_QUALITY, **TEXTURE_QUALITY}[name]
    return f"cues outside of the recipe's limits ({meaning})", QUALITY_TO_DO.get(name, LOOK_AT_THEM)


def class_counts(pictures: Sequence[Picture]) -> Iterator[ClassCount]:
    """Yield how many files each class has, sorted by kind and name."""
    by_class: defaultdict[tuple[CueKind | None, str], list[Picture]] = defaultdict(list)
    for picture in pictures:
        by_class[picture.file.kind, picture.file.superclass].append(picture)
    for kind, superclass in sorted(by_class, key=lambda key: (key[0] or "", key[1])):
        members = by_class[kind, superclass]
        grids = Counter(p.grid for p in members if p.status == OK) if kind == "texture" else Counter()
        by_grid = {str(grid or "?"): grids[grid] for grid in sorted(grids, key=lambda grid: grid or 0)}
        yield ClassCount(cue_kind=kind, superclass=superclass, n_files=len(members), n_by_grid=by_grid)


def number_spreads(readable: Sequence[Picture], recipe: Recipe) -> Iterator[NumberSpread]:
    """Yield the spread of every quality number, by kind and grid."""
    groups: defaultdict[tuple[CueKind, int], list[Picture]] = defaultdict(list)
    for picture in readable:
        if picture.file.kind is not None:
            groups[picture.file.kind, picture.grid or 0].append(picture)
    for (kind, grid), members in sorted(groups.items(), key=lambda item: item[0]):
        limits = recipe.limits.of(kind, grid or None)
        for name in sorted({name for picture in members for name in picture.quality}):
            values = np.array([p.quality[name] for p in members if name in p.quality])
            limit = limits.get(name)
            yield NumberSpread(
                cue_kind=kind,
                grid=grid or None,
                name=name,
                n_files=len(values),
                minimum=float(values.min()),
                median=float(np.median(values)),
                maximum=float(values.max()),
                limit=_in_words(limit),
                n_outside=sum(not limit.holds(float(value)) for value in values) if limit else 0,
            )


def _in_words(limit: Limit | None) -> str:
    if limit is None:
        return ""
    ends = ((">=", limit.min), ("<=", limit.max))
    return ", ".join(f"{sign} {end:g}" for sign, end in ends if end is not None)


def licences_of(audited: AuditSet) -> Licences:
    """Return the licences of the photographs that cues were made of (all of them, if no manifest says which)."""
    if audited.sources is None:
        return Licences(manifest=False)
    used = cues_by_source(audited.files)
    usable = {source.source_id: source for source in audited.sources if source.status == OK}
    counted = [s for s in usable.values() if not audited.is_run or s.source_id in used]
    return Licences(
        manifest=True,
        by_license=dict(sorted(Counter(source.license_spdx for source in counted).items())),
        n_without_license=sum(source.license_spdx in NO_LICENSE for source in counted),
        n_redistribution_unknown=sum(source.redistributable == "unknown" for source in counted),
        n_not_redistributable=sum(source.redistributable == "no" for source in counted),
        n_unknown_sources=len(used.keys() - usable.keys()),
    )


def file_reports(pictures: Sequence[Picture], findings: Sequence[Finding]) -> Iterator[FileReport]:
    """Yield a row for each file, with the checks that it fails."""
    flags: defaultdict[str, set[str]] = defaultdict(set)
    for finding in findings:
        for name in finding.files:
            flags[name].add(finding.check)
    for picture in pictures:
        yield FileReport(
            file=picture.file.name,
            cue_kind=picture.file.kind,
            superclass=picture.file.superclass,
            status=picture.status,
            detail=picture.detail,
            width=picture.width,
            height=picture.height,
            mode=picture.mode,
            grid=picture.grid,
            sha256=picture.sha256,
            quality=picture.quality,
            flags=tuple(sorted(flags[picture.file.name])),
        )


def checks_not_run(
    audited: AuditSet, readable: Sequence[Picture], ignored: Collection[str] = ()
) -> Iterator[NotRun]:
    """Yield the checks that nothing was there for, less those that shall not count."""
    n_unknown = sum(picture.file.kind is None for picture in readable)
    n_gridless = sum(p.file.kind == "texture" and p.grid is None for p in readable)
    could_not = [
        (not audited.is_run, ("changed",), "a cues.jsonl that names the files"),
        (audited.sources is None, ("licence_gap",), "a sources.jsonl with the licences of the photographs"),
        (audited.taxonomy is None, ("unknown_class", "wrong_kind"), "a taxonomy that knows the classes"),
        (n_unknown > 0, ("faint", "quality numbers"), f"the kind of {n_unknown} files (--cue-kind)"),
        (n_gridless > 0, ("reassembly",), f"the grid of {n_gridless} textures"),
    ]
    for is_missing, checks, what in could_not:
        left = tuple(check for check in checks if check not in ignored)
        if is_missing and left:
            yield NotRun(checks=left, missing=what)


def notes_of(audited: AuditSet, readable: Sequence[Picture]) -> Iterator[str]:
    """Yield what a reader has to know to judge the report: what was not checked, and what is no defect."""
    if audited.sources is None:
        yield "no manifest: licences unknown (a sources.jsonl beside the cues would tell them)"
    elif not audited.is_run:
        yield "no cues.jsonl: nothing tells which photographs the cues come from; licences are of all of them"
    if audited.taxonomy is None:
        yield "no shipped taxonomy knows any of the classes: names were not checked; name yours with --taxonomy"
    else:
        yield from _missing_classes(audited, audited.taxonomy)
    if n_unknown := sum(picture.file.kind is None for picture in readable):
        yield f"files of unknown kind, not measured: {n_unknown}; say --cue-kind"
    n_gridless = sum(p.file.kind == "texture" and p.grid is None for p in readable)
    if n_gridless:
        yield f"textures without visible seams or a grid in their name, whose tiles were not compared: {n_gridless}"
    if audited.n_failed:
        yield f"attempted cues without a picture: {audited.n_failed} (see status in cues.jsonl)"
    if audited.other:
        yield f"files that are no images, left out: {len(audited.other)}"


def _missing_classes(audited: AuditSet, taxonomy: Taxonomy) -> Iterator[str]:
    for kind in dict.fromkeys(file.kind for file in audited.files):
        if kind is not None:
            there = {file.superclass for file in audited.files if file.kind == kind}
            missing = sorted(taxonomy.of_kind(kind).keys() - there)
            if missing:
                yield f"{kind}: no cues of {', '.join(missing)} ({taxonomy.name})"
