"""Taking photographs or cues down: the version after, without them and all that was made from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from curation.gate import GateInput
from curation.release_content import Change, ReleaseContent, Withdrawn
from curation.release_versions import checked_version, compare_cues
from data_manifests.errors import CuebenchError, ProblemsError
from data_manifests.records import CueRecord, SourceRecord

MIN_ID = 8


@dataclass(frozen=True)
class Takedown:
    """What is to go, and why. `sources` are source ids, `cues` are cue ids, or how these begin (8 signs at least).

    Without a `version` it is the first one that raises what has to be raised: PATCH, or MAJOR where a class loses its
    last picture.
    """

    sources: tuple[str, ...]
    cues: tuple[str, ...]
    reason: str
    version: str | None
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
    request = _with_whole_ids(content, request)
    gone = [
        cue
        for cue in content.data.cues
        if cue.cue_id in request.cues or not set(request.sources).isdisjoint(cue.parent_source_ids)
    ]
    data = _without(content.data, gone, request.sources)
    if not data.cues:
        raise CuebenchError("no cue would be left: withdraw the whole release instead")
    asked = [source for source in content.data.sources if source.source_id in request.sources]
    gone_ids = {row.cue_id for row in content.withdrawn} | {cue.cue_id for cue in gone}
    differences = compare_cues(content.data.cues, data.cues, gone_ids)
    version = checked_version(request.version, content.meta.version, differences)
    withdrawn = (*content.withdrawn, *_tombstones(asked, gone, request, version))
    lines = [f"{row.text[0].upper()}{row.text[1:]}: {request.reason}" for row in differences]
    change = Change(version=version, date=request.date, lines=tuple(lines))
    update = {
        "version": version,
        "date": request.date,
        "code": code,
        "previous": release_id,
        "changes": (*content.meta.changes, change),
    }
    return replace(content, meta=content.meta.model_copy(update=update), data=data, withdrawn=withdrawn)


def _with_whole_ids(content: ReleaseContent, request: Takedown) -> Takedown:
    """Return the request with every id in full."""
    parents = {parent for cue in content.data.cues for parent in cue.parent_source_ids}
    cues = {cue.cue_id for cue in content.data.cues}
    found: dict[str, list[str]] = {"source": [], "cue": []}
    problems = []
    for what, names, known, none in (
        ("source", request.sources, parents, "no cue was made from it"),
        ("cue", request.cues, cues, "no such cue"),
    ):
        for name in names:
            alike = [name] if name in known else sorted(id_ for id_ in known if id_.startswith(name))
            if len(name) < MIN_ID or not alike:
                short = f"; expected an id, or its first {MIN_ID} signs or more" if len(name) < MIN_ID else ""
                problems.append(f"--{what} {name}: {none}{short}")
            elif len(alike) > 1:
                problems.append(f"--{what} {name}: {len(alike)} ids begin like this; say more of it")
            found[what] += alike
    if problems:
        raise ProblemsError(f"{content.meta.label} does not have what is to be taken down", problems)
    return replace(request, sources=tuple(found["source"]), cues=tuple(found["cue"]))


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
    sources: Iterable[SourceRecord], cues: Iterable[CueRecord], request: Takedown, version: str
) -> Iterable[Withdrawn]:
    for source in {source.source_id: source for source in sources}.values():
        yield Withdrawn(
            what="source",
            sha256=source.source_id,
            pixel_sha256=source.pixel_sha256,
            reason=request.reason,
            date=request.date,
            version=version,
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
            version=version,
        )
