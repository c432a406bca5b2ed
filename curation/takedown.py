"""Taking photographs or cues down: the version after, without them and all that was made from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from curation.gate import GateInput
from curation.release_content import Change, ReleaseContent, Withdrawn
from curation.release_versions import check_version, compare_cues
from data_manifests.errors import CuebenchError, ProblemsError
from data_manifests.records import CueRecord, SourceRecord


@dataclass(frozen=True)
class Takedown:
    """What is to go, and why. `sources` are source ids, `cues` are cue ids."""

    sources: tuple[str, ...]
    cues: tuple[str, ...]
    reason: str
    version: str
    date: str


def take_down(content: ReleaseContent, request: Takedown, *, release_id: str, code: str) -> ReleaseContent:
    """Return the content of the next version: tombstones in place of what was taken down.

    With a photograph goes every cue that it is a part of, and with each cue the answers to it. Codes of people stay
    what they were. The verdict of the gate may become another one: what has to go, goes all the same.

    Parameters
    ----------
    content, release_id : the release that holds it
    code : the version of cuebench that decides anew

    Raises
    ------
    CuebenchError
        If nothing is named, no reason is given, or the version raises too little.
    ProblemsError
        If the release does not have what is named.
    """
    if not (request.sources or request.cues):
        raise CuebenchError("nothing to take down: name photographs with --source or cues with --cue")
    if not request.reason.strip():
        raise CuebenchError("--reason: expected why it is taken down; the tombstone says it")
    _check_known(content, request)
    gone = [
        cue
        for cue in content.data.cues
        if cue.cue_id in request.cues or not set(request.sources).isdisjoint(cue.parent_source_ids)
    ]
    data = _without(content.data, gone, request.sources)
    if not data.cues:
        raise CuebenchError("no cue would be left: withdraw the whole release instead")
    asked = [source for source in content.data.sources if source.source_id in request.sources]
    withdrawn = (*content.withdrawn, *_tombstones(asked, gone, request))
    differences = compare_cues(content.data.cues, data.cues, withdrawn)
    check_version(request.version, content.meta.version, differences)
    lines = [f"{row.text[0].upper()}{row.text[1:]}: {request.reason}" for row in differences]
    change = Change(version=request.version, date=request.date, lines=tuple(lines))
    update = {
        "version": request.version,
        "date": request.date,
        "code": code,
        "previous": release_id,
        "changes": (*content.meta.changes, change),
    }
    return replace(content, meta=content.meta.model_copy(update=update), data=data, withdrawn=withdrawn)


def _check_known(content: ReleaseContent, request: Takedown) -> None:
    parents = {parent for cue in content.data.cues for parent in cue.parent_source_ids}
    cues = {cue.cue_id for cue in content.data.cues}
    problems = [
        f"--source {name}: no cue was made from it" for name in request.sources if name not in parents
    ]
    problems += [f"--cue {name}: no such cue" for name in request.cues if name not in cues]
    if problems:
        raise ProblemsError(f"{content.meta.label} does not have what is to be taken down", problems)


def _without(data: GateInput, gone: Sequence[CueRecord], sources: Iterable[str]) -> GateInput:
    """Return the input without cues, the answers to them, and the photographs that are no part of any other."""
    ids, hashes = {cue.cue_id for cue in gone}, {cue.sha256 for cue in gone} | set(sources)
    cues = tuple(cue for cue in data.cues if cue.cue_id not in ids)
    parents = {parent for cue in cues for parent in cue.parent_source_ids}
    return replace(
        data,
        cues=cues,
        sources=tuple(source for source in data.sources if source.source_id in parents),
        responses=tuple(row for row in data.responses if row.sha256 not in hashes),
        verdicts=tuple(row for row in data.verdicts if row.sha256 not in hashes),
        adjudications=tuple(row for row in data.adjudications if row.sha256 not in hashes),
    )


def _tombstones(
    sources: Iterable[SourceRecord], cues: Iterable[CueRecord], request: Takedown
) -> Iterable[Withdrawn]:
    for source in {source.source_id: source for source in sources}.values():
        yield Withdrawn(
            what="source",
            sha256=source.source_id,
            pixel_sha256=source.pixel_sha256,
            reason=request.reason,
            date=request.date,
            version=request.version,
        )
    for cue in cues:
        yield Withdrawn(
            what="cue",
            sha256=cue.sha256 or "",
            pixel_sha256=cue.pixel_sha256,
            cue_id=cue.cue_id,
            parent_source_ids=cue.parent_source_ids,
            reason=request.reason,
            date=request.date,
            version=request.version,
        )
