"""Building a release: a folder whose every number can be computed again from what is in it.

Nothing of a release depends on the machine, its clock or the order of its files: the same record, run and options
give the same bytes.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import tomli_w

from curation.gate import GateInput, GateReport
from curation.gate_source import GateSource
from curation.release_anonymous import anonymise, shipped_segmenter
from curation.release_archive import write_parquet, write_shards
from curation.release_cards import render_card, render_datasheet
from curation.release_content import (
    ADJUDICATIONS,
    CHANGELOG,
    CHECK_FAILURES,
    CROISSANT,
    CUES,
    DATASHEET,
    EXCLUSIONS,
    GATE,
    LICENSES,
    META,
    README,
    RECIPE,
    REPORT,
    RESPONSES,
    ROW_SUMS,
    RULES,
    SOURCES,
    VERDICTS,
    WITHDRAWN,
    About,
    Change,
    Export,
    ReleaseContent,
    ReleaseMeta,
    Withdrawn,
    picture_name,
    pretty_json,
)
from curation.release_croissant import croissant
from curation.release_sums import SUMS, dump_sums, release_id
from curation.release_tables import (
    dump_changelog,
    dump_licenses,
    dump_row_sums,
    dump_rows,
    metadata_name,
    metadata_rows,
)
from curation.release_versions import checked_version, compare_cues
from curation.report_page import render_report_page
from data_manifests import storage
from data_manifests.errors import CuebenchError, ProblemsError
from data_manifests.jsonl import dump_records
from data_manifests.records import CueRecord


@dataclass(frozen=True)
class ReleaseRequest:
    """What the release manager decides: the version (by default what changed decides), its day, and what goes along."""

    version: str | None
    date: str
    about: About
    code: str
    keep_notes: bool = False
    exports: tuple[Export, ...] = ()


@dataclass(frozen=True)
class Previous:
    """The version before, with its release id."""

    content: ReleaseContent
    release_id: str


class ReleaseFolder:
    """The folder that a release is written to, with the hash of every file that was written."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.sums: dict[str, str] = {}

    def write(self, name: str, data: bytes) -> None:
        """Write one file."""
        storage.write_bytes(storage.join(self.url, name), data)
        self.sums[name] = hashlib.sha256(data).hexdigest()


def prepare_release(
    source: GateSource, run: str, request: ReleaseRequest, previous: Previous | None
) -> ReleaseContent:
    """Return the content of a release: the accepted cues of a run, less what was withdrawn, with anonymous answers.

    Raises
    ------
    CuebenchError
        If the version raises less than what changed since the previous one, or is not said of the first one.
    """
    withdrawn = previous.content.withdrawn if previous else ()
    original = _without_withdrawn(source.data, withdrawn)
    n_withdrawn = len(source.data.cues) - len(original.cues)
    version, lines = _version_and_changes(original, request, previous)
    data = anonymise(original, version, keep_notes=request.keep_notes)
    meta = ReleaseMeta(
        version=version,
        date=request.date,
        simulated=data.simulated,
        code=request.code,
        keeps_notes=request.keep_notes,
        about=request.about,
        exports=tuple(sorted(request.exports)),
        left_out={**source.left_out, **({"withdrawn": n_withdrawn} if n_withdrawn else {})},
        previous=previous.release_id if previous else None,
        changes=(
            *(previous.content.meta.changes if previous else ()),
            Change(version=version, date=request.date, lines=tuple(lines)),
        ),
    )
    pictures = {picture_name(cue): storage.join(run, cue.file_name or "") for cue in original.cues}
    return ReleaseContent(meta, data, withdrawn, _shipped_recipe(run), pictures)


def _version_and_changes(
    data: GateInput, request: ReleaseRequest, previous: Previous | None
) -> tuple[str, Sequence[str]]:
    """Return the version of a release, and what its changelog says."""
    if previous is None:
        if request.version is None:
            raise CuebenchError("a first release needs a --version, such as 1.0.0; a later one --previous")
        return request.version, ["First version."]
    before = previous.content
    differences = compare_cues(before.data.cues, data.cues, {row.cue_id for row in before.withdrawn})
    version = checked_version(request.version, before.meta.version, differences)
    lines = [f"{row.text[0].upper()}{row.text[1:]}." for row in differences]
    return version, lines or ["No picture changed."]


def _without_withdrawn(data: GateInput, withdrawn: Iterable[Withdrawn]) -> GateInput:
    """Return the input without what an earlier version took down, so that nothing comes back."""
    gone: set[str | None] = set()
    for row in withdrawn:
        gone |= {row.sha256, row.pixel_sha256, row.cue_id}
    gone.discard(None)
    cues = [
        cue
        for cue in data.cues
        if gone.isdisjoint((cue.cue_id, cue.sha256, cue.pixel_sha256, *cue.parent_source_ids))
    ]
    parents = {parent for cue in cues for parent in cue.parent_source_ids}
    sources = tuple(source for source in data.sources if source.source_id in parents)
    return replace(data, cues=tuple(cues), sources=sources)


def _shipped_recipe(run: str) -> bytes | None:
    """Return the recipe of a run, its segmenters without the folders of the machine."""
    url = storage.join(run, RECIPE)
    if not storage.exists(url):
        return None
    recipe = tomllib.loads(storage.read_bytes(url).decode())
    mask = recipe.get("mask", {})
    if "segmenters" in mask:
        mask["segmenters"] = [shipped_segmenter(name) for name in mask["segmenters"]]
    return tomli_w.dumps(recipe).encode()


def not_redistributable(data: GateInput) -> list[CueRecord]:
    """Return the cues made from a photograph whose row says that it can't be passed on."""
    closed = {source.source_id for source in data.sources if source.redistributable == "no"}
    return [cue for cue in data.cues if not closed.isdisjoint(cue.parent_source_ids)]


def write_release(content: ReleaseContent, report: GateReport, out: str, *, force: bool = False) -> str:
    """Write a release and return its id. SHA256SUMS is written last: without it, it is no release.

    Raises
    ------
    CuebenchError
        If the folder holds something already (with `force`: something else than a release), or a picture is missing.
    ProblemsError
        If pictures are not those of the manifest.
    """
    _claim(out, force=force)
    folder = ReleaseFolder(out)
    folder.write(META, pretty_json(content.meta.model_dump(mode="json")))
    _write_pictures(content, folder)
    _write_tables(content, report, folder)
    folder.write(GATE, pretty_json(report.to_json()))
    folder.write(REPORT, render_report_page(content.data, report, out).encode())
    folder.write(README, render_card(content, report).encode())
    folder.write(DATASHEET, render_datasheet(content, report).encode())
    folder.write(CHANGELOG, dump_changelog(content))
    if "webdataset" in content.meta.exports:
        write_shards(content, folder.write, out)
    if "parquet" in content.meta.exports:
        write_parquet(content, folder.write)
    folder.write(CROISSANT, pretty_json(croissant(content, report, folder.sums)))
    sums = dump_sums(folder.sums)
    storage.write_bytes(storage.join(out, SUMS), sums)
    return release_id(sums)


def _claim(out: str, *, force: bool) -> None:
    names = storage.list_files(out) if storage.exists(out) else []
    if not names:
        return
    if META not in names:
        raise CuebenchError(f"{out}: holds files that are not a release; choose a new folder for --out")
    if not force:
        raise CuebenchError(f"{out}: holds a release already; choose a new folder, or --force to replace it")
    storage.remove_tree(out)


def _write_pictures(content: ReleaseContent, folder: ReleaseFolder) -> None:
    problems = []
    for cue in sorted(content.data.cues, key=lambda cue: cue.sort_key):
        name = picture_name(cue)
        data = storage.read_bytes(content.pictures[name])
        found = hashlib.sha256(data).hexdigest()
        if found != cue.sha256:
            problems.append(f"{content.pictures[name]}: its SHA-256 is {found}, expected {cue.sha256}")
            continue
        folder.write(name, data)
    if problems:
        raise ProblemsError("pictures that were changed after they were made; make them again", problems)


def _write_tables(content: ReleaseContent, report: GateReport, folder: ReleaseFolder) -> None:
    data = content.data
    ratings = {
        RESPONSES: dump_records(data.responses),
        VERDICTS: dump_records(data.verdicts),
        ADJUDICATIONS: dump_records(data.adjudications),
    }
    for name, table in ratings.items():
        folder.write(name, table)
    folder.write(ROW_SUMS, dump_row_sums(ratings))
    folder.write(CHECK_FAILURES, pretty_json({"n_failures": data.n_check_failures}))
    folder.write(CUES, dump_records(data.cues))
    folder.write(SOURCES, dump_records(data.sources))
    folder.write(WITHDRAWN, dump_records(content.withdrawn))
    folder.write(LICENSES, dump_licenses(content))
    folder.write(RULES, pretty_json(data.rules.model_dump(mode="json")))
    folder.write(EXCLUSIONS, pretty_json(data.exclusions.model_dump(mode="json")))
    if content.recipe is not None:
        folder.write(RECIPE, content.recipe)
    for kind in content.cues_by_kind:
        folder.write(metadata_name(kind), dump_rows(metadata_rows(content, report, kind)))
