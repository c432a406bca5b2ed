"""The files of a cue set, ours or not, and what their places say: kind, class and grid."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import get_args

from curation.cue_sources import IMAGE_SUFFIXES, absolute
from data_manifests import storage
from data_manifests.errors import CuebenchError
from data_manifests.jsonl import read_records
from data_manifests.records import OK, CueKind, CueRecord, SourceRecord
from data_manifests.taxonomy import Taxonomy, read_taxonomy, taxonomy_names

MANIFESTS = "manifests"  # where a release keeps cues.jsonl and sources.jsonl
KINDS: tuple[CueKind, ...] = get_args(CueKind)

_GRID_NAME = re.compile(r"(?<![0-9])([0-9]{1,2})x\1(?![0-9])")


@dataclass(frozen=True)
class AuditFile:
    """One file that should be a cue.

    `name` is relative to what is audited and fit to print, `url` where it is read. `kind` is None where nothing
    tells it, `superclass` empty where the file lies in no class folder. `record` is its row of a run's manifest.
    """

    name: str
    url: str
    kind: CueKind | None
    superclass: str
    grid: int | None = None
    record: CueRecord | None = None


@dataclass(frozen=True)
class AuditSet:
    """What is audited: `sources` is None where no manifest of photographs is there.

    `n_failed` counts attempted cues without a picture (a run's manifest); `other` names files that are no images.
    """

    url: str
    files: tuple[AuditFile, ...]
    taxonomy: Taxonomy | None
    sources: tuple[SourceRecord, ...] | None
    other: tuple[str, ...] = ()
    n_failed: int = 0

    @property
    def is_run(self) -> bool:
        """Whether a manifest of cues names the files."""
        return any(file.record for file in self.files)


def find_files(url: str, cue_kind: CueKind | None = None, taxonomy: str | None = None) -> AuditSet:
    """Return the cues of a run or a release (its folder or cues.jsonl), or the images of any other folder.

    In a folder the class is the name of the folder that holds a file, and the kind that of the nearest folder
    named `shape` or `texture` above it; else `cue_kind`; else what the taxonomy says of the class. With
    `cue_kind` files of the other kind are left out. Without `taxonomy` the shipped one that knows most of the
    classes counts.

    Raises
    ------
    CuebenchError
        If there is no such folder or manifest, or no cue in it.
    """
    manifest = url if url.endswith(".jsonl") else _manifest_in(url)
    is_run = url.endswith(".jsonl") or storage.exists(manifest)
    found = _read_run(manifest, taxonomy) if is_run else _read_folder(url, cue_kind, taxonomy)
    files = tuple(file for file in found.files if cue_kind in (None, file.kind))
    if not files:
        wanted = f"{cue_kind} cue" if cue_kind else "cue"
        hint = "row with status `ok`" if is_run else "file below it is an image, as in <kind>/<class>/<image>"
        raise CuebenchError(f"{url}: no {wanted}: no {hint}")
    return AuditSet(url, files, found.taxonomy, found.sources, found.other, found.n_failed)


def _manifest_in(url: str) -> str:
    """Return where a folder has its cues.jsonl: a release keeps it in `manifests`."""
    own, of_release = (storage.join(url, name) for name in ("cues.jsonl", f"{MANIFESTS}/cues.jsonl"))
    return of_release if not storage.exists(own) and storage.exists(of_release) else own


def _read_run(manifest: str, taxonomy: str | None) -> AuditSet:
    folder = absolute(storage.parent(manifest))
    # the names of files in a release are relative to the folder above `manifests`
    base = storage.parent(folder) if PurePosixPath(folder).name == MANIFESTS else folder
    records = sorted(read_records(manifest, CueRecord), key=lambda record: record.sort_key)
    files = tuple(
        AuditFile(
            name=record.file_name or record.cue_id,
            url=storage.join(base, record.file_name or ""),
            kind=record.cue_kind,
            superclass=record.superclass,
            grid=record.grid,
            record=record,
        )
        for record in records
        if record.status == OK
    )
    known = _taxonomy_of({file.superclass for file in files}, taxonomy)
    return AuditSet(manifest, files, known, _read_sources(folder), n_failed=len(records) - len(files))


def _read_folder(url: str, cue_kind: CueKind | None, taxonomy: str | None) -> AuditSet:
    base = absolute(url)
    names = storage.list_files(url)
    images = [name for name in names if PurePosixPath(name).suffix.lower() in IMAGE_SUFFIXES]
    known = _taxonomy_of({_class_of(name) for name in images}, taxonomy)
    files = tuple(_place(base, name, cue_kind, known) for name in images)
    other = tuple(printable(name) for name in names if name not in set(images))
    return AuditSet(url, files, known, _read_sources(base), other)


def _read_sources(base: str) -> tuple[SourceRecord, ...] | None:
    url = storage.join(base, "sources.jsonl")
    return tuple(read_records(url, SourceRecord)) if storage.exists(url) else None


def _place(base: str, name: str, cue_kind: CueKind | None, taxonomy: Taxonomy | None) -> AuditFile:
    above = [*PurePosixPath(name).parts[:-1]]
    superclass = _class_of(name)
    by_taxonomy = taxonomy.kinds(superclass) if taxonomy else ()
    kind = _kind_in(above) or cue_kind or _kind_in(PurePosixPath(base).parts)
    if kind is None and len(by_taxonomy) == 1:
        kind = by_taxonomy[0]
    grid = _GRID_NAME.search(PurePosixPath(name).name) if kind == "texture" else None
    return AuditFile(
        name=printable(name),
        url=storage.join(base, name),
        kind=kind,
        superclass=printable(superclass),
        grid=int(grid[1]) if grid and int(grid[1]) > 1 else None,
    )


def _kind_in(parts: Sequence[str]) -> CueKind | None:
    """Return the kind that the last of the folders named after one says."""
    return next((kind for part in reversed(parts) for kind in KINDS if kind == part.lower()), None)


def _class_of(name: str) -> str:
    """Return the name of the folder that holds a file, unless it names a kind."""
    parent = PurePosixPath(name).parent.name
    return "" if parent.lower() in KINDS else parent


def _taxonomy_of(superclasses: set[str], name: str | None) -> Taxonomy | None:
    if name is not None:
        return read_taxonomy(name)
    shipped = [read_taxonomy(known) for known in taxonomy_names()]
    best = max(shipped, key=lambda known: len(superclasses.intersection(known.superclasses)))
    return best if superclasses.intersection(best.superclasses) else None


def printable(name: str) -> str:
    r"""Return a file name with bytes that are not UTF-8 written as \udcXX, fit for a terminal and for JSON."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def name_problems(name: str) -> Iterator[str]:
    """Yield the checks that a file name fails: `dotted_name`, `long_name`, `unportable_name`."""
    path = PurePosixPath(name)
    if "." in path.stem:
        yield "dotted_name"
    # The field of a name in a tar archive (POSIX ustar) has 100 bytes.
    if len(path.name.encode()) > 100:
        yield "long_name"
    if not all(re.fullmatch(r"[A-Za-z0-9._-]([A-Za-z0-9._ -]*[A-Za-z0-9._-])?", part) for part in path.parts):
        yield "unportable_name"
