"""What is wrong with the files of a cue set, one finding at a time."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from curation.audit_duplicates import Duplicates, Groups
from curation.audit_files import AuditFile, AuditSet, name_problems
from curation.audit_pictures import Picture
from curation.audit_report import StrokeSpread, UsualForm
from data_manifests.records import OK, CueKind, SourceRecord
from generation.recipe import Recipe
from generation.source_cues import flag_outside

REASSEMBLED_SHARE = 0.5
FAINT_LEVEL = 127
# Where the recipe has no limit of its own.
_MAX_STROKE_CV = 0.25
_MIN_SHAPES = 3
NO_LICENSE = ("", "NOASSERTION", "NONE")


@dataclass(frozen=True)
class Finding:
    """One defect: its check (a key of `CHECKS`, or a number with limits), how it reads, the files that have it."""

    check: str
    text: str
    files: tuple[str, ...] = ()


def check_files(pictures: Sequence[Picture]) -> Iterator[Finding]:
    """Yield what is wrong with single files: no picture, a blank one, no class, a name that makes trouble."""
    for picture in pictures:
        name = picture.file.name
        if picture.status != OK:
            check = picture.status if picture.status in ("missing", "changed") else "unreadable"
            yield Finding(check, f"{name}: {picture.status} ({picture.detail})", (name,))
        if picture.is_blank:
            yield Finding("blank", name, (name,))
        if not picture.file.superclass:
            yield Finding("misplaced", name, (name,))
        for check in name_problems(name):
            yield Finding(check, name, (name,))
    by_folded: defaultdict[str, list[str]] = defaultdict(list)
    for picture in pictures:
        by_folded[unicodedata.normalize("NFC", picture.file.name).casefold()].append(picture.file.name)
    for names in by_folded.values():
        if len(names) > 1:
            yield Finding("case_clash", " = ".join(names), tuple(names))


def usual_forms(pictures: Sequence[Picture], side_px: int) -> dict[CueKind | None, UsualForm]:
    """Return the most frequent size and mode of each kind; of equally frequent sizes the recipe's counts."""
    forms = {}
    for kind in dict.fromkeys(picture.file.kind for picture in pictures):
        readable = [p for p in pictures if p.status == OK and p.file.kind == kind]
        if not readable:
            continue
        sizes, modes = Counter(p.size for p in readable), Counter(p.mode for p in readable)
        width, height = max(sizes, key=lambda size: (sizes[size], size == (side_px, side_px), size))
        mode = max(modes, key=lambda name: (modes[name], name))
        forms[kind] = UsualForm(cue_kind=kind, n_files=len(readable), width=width, height=height, mode=mode)
    return forms


def check_forms(pictures: Sequence[Picture], usual: Mapping[CueKind | None, UsualForm]) -> Iterator[Finding]:
    """Yield the files whose size or mode is not the usual one of their kind."""
    for picture in pictures:
        if picture.status != OK:
            continue
        name, form = picture.file.name, usual[picture.file.kind]
        if picture.size != (form.width, form.height):
            yield Finding("wrong_size", f"{name}: {picture.width}x{picture.height}", (name,))
        if picture.mode != form.mode:
            yield Finding("wrong_mode", f"{name}: {picture.mode}", (name,))


def check_duplicates(duplicates: Duplicates, shared_sources: Groups) -> Iterator[Finding]:
    """Yield the groups of pictures that are the same, or made of the same photograph."""
    named = {
        "duplicate": duplicates.exact,
        "pixel_duplicate": duplicates.pixel,
        "near_duplicate": duplicates.near,
        "cross_class_duplicate": duplicates.cross_class,
        "shared_source": shared_sources,
    }
    for check, groups in named.items():
        for group in groups:
            names = tuple(picture.file.name for picture in group)
            yield Finding(check, " = ".join(names), names)


def check_classes(audited: AuditSet) -> Iterator[Finding]:
    """Yield the class folders that are unknown, of the other kind, or much smaller or larger than the others."""
    by_class: defaultdict[tuple[CueKind | None, str], list[str]] = defaultdict(list)
    for file in audited.files:
        if file.superclass:
            by_class[file.kind, file.superclass].append(file.name)
    for (kind, superclass), names in by_class.items():
        kinds = audited.taxonomy.kinds(superclass) if audited.taxonomy else ()
        if audited.taxonomy and not kinds:
            hint = audited.taxonomy.nearest(superclass)
            yield Finding("unknown_class", f"{superclass}{hint}, files: {len(names)}", tuple(names))
        elif kinds and kind is not None and kind not in kinds:
            yield Finding("wrong_kind", f"{kind}/{superclass}, files: {len(names)}", tuple(names))
    for kind in dict.fromkeys(kind for kind, _ in by_class):
        sizes = {superclass: len(names) for (of, superclass), names in by_class.items() if of == kind}
        middle = median(sizes.values())
        for superclass, n in sizes.items():
            if not middle <= 2 * n <= 4 * middle:
                yield Finding("unbalanced", f"{superclass}, files: {n} (median {middle:g})")


def check_licences(audited: AuditSet) -> Iterator[Finding]:
    """Yield the photographs of which nobody may publish cues as their rows stand; of a run, those it used."""
    if audited.sources is None:
        return
    sources = {source.source_id: source for source in audited.sources if source.status == OK}
    if not audited.is_run:
        for source in sources.values():
            if gap := licence_gap(source):
                yield Finding("licence_gap", f"{source.file_name}: {gap}")
        return
    for source_id, files in cues_by_source(audited.files).items():
        names = tuple(file.name for file in files)
        if source_id not in sources:
            yield Finding("licence_gap", f"{source_id}: not in sources.jsonl", names)
        elif gap := licence_gap(sources[source_id]):
            yield Finding("licence_gap", f"{sources[source_id].file_name}: {gap}", names)


def cues_by_source(files: Sequence[AuditFile]) -> dict[str, list[AuditFile]]:
    """Return source_id -> the cues of a run that were made of that photograph."""
    by_source: defaultdict[str, list[AuditFile]] = defaultdict(list)
    for file in files:
        for source_id in file.record.parent_source_ids if file.record else ():
            by_source[source_id].append(file)
    return dict(by_source)


def licence_gap(source: SourceRecord) -> str:
    """Return what keeps cues of a photograph from being published, or nothing."""
    if source.redistributable == "no":
        return f"{source.license_spdx}, not redistributable"
    if source.license_spdx in NO_LICENSE:
        return "no licence"
    return "redistributable: unknown" if source.redistributable == "unknown" else ""


def check_quality(pictures: Sequence[Picture], recipe: Recipe) -> Iterator[Finding]:
    """Yield the numbers outside of the recipe's limits, and the textures that can be put together again."""
    for picture in pictures:
        name, kind, quality = picture.file.name, picture.file.kind, picture.quality
        limits = recipe.limits.of(kind, picture.grid) if kind else {}
        outside = flag_outside(quality, limits)
        for key in outside:
            yield Finding(key, f"{name}: {quality[key]:.3g}", (name,))
        if quality.get("peak", FAINT_LEVEL + 1) <= FAINT_LEVEL:
            yield Finding("faint", f"{name}: {quality['peak']:.0f} of 255", (name,))
        joined = quality.get("reassembly_share", 0.0)
        # Tiles may share a little, which joins many of them at a coarse grid; copies of whole regions are no
        # accident.
        if joined >= REASSEMBLED_SHARE and "max_shared_share" in outside:
            yield Finding("reassembly", f"{name}: {joined:.0%} of the tiles", (name,))


def usual_shapes(readable: Sequence[Picture], usual: Mapping[CueKind | None, UsualForm]) -> list[Picture]:
    """Return the shapes of the usual size, the only ones whose strokes can be compared in pixels."""
    form = usual.get("shape")
    return [
        picture
        for picture in readable
        if picture.file.kind == "shape" and form and picture.size == (form.width, form.height)
    ]


def _drawn(shapes: Sequence[Picture]) -> list[Picture]:
    return [picture for picture in shapes if picture.line_level and picture.quality["stroke_px"]]


def stroke_spread(shapes: Sequence[Picture]) -> StrokeSpread | None:
    """Return how strokes vary over shapes; None if fewer than three have any."""
    drawn = _drawn(shapes)
    if len(drawn) < _MIN_SHAPES:
        return None
    widths = np.array([picture.quality["stroke_px"] for picture in drawn])
    levels = np.array([picture.line_level for picture in drawn])
    return StrokeSpread(
        n_files=len(drawn),
        stroke_px=float(np.median(widths)),
        stroke_px_cv=float(widths.std() / widths.mean()),
        line_level=float(np.median(levels)),
        line_level_cv=float(levels.std() / levels.mean()),
    )


def check_strokes(
    shapes: Sequence[Picture], spread: StrokeSpread | None, recipe: Recipe
) -> Iterator[Finding]:
    """Yield the shapes whose strokes are far from the median, if width or brightness varies over the set.

    The limit is that of the variation inside of a cue (`stroke_cv`): a set should be no less even than a cue.
    """
    if spread is None:
        return
    limit = recipe.limits.shape.get("stroke_cv")
    most = _MAX_STROKE_CV if limit is None or limit.max is None else limit.max
    for picture in _drawn(shapes):
        name, width, level = picture.file.name, picture.quality["stroke_px"], picture.line_level
        if spread.stroke_px_cv > most and abs(width / spread.stroke_px - 1) > most:
            yield Finding("uneven_stroke_width", f"{name}: {width:.2f} px", (name,))
        if spread.line_level_cv > most and abs(level / spread.line_level - 1) > most:
            yield Finding("uneven_stroke_level", f"{name}: {level:.0f} of 255", (name,))
