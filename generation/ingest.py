"""A folder of photographs becomes the rows of a source manifest."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from data_manifests.errors import CuebenchError
from data_manifests.records import OK, CueKind, SourceRecord
from data_manifests.storage import is_local, join, list_files, local_path, read_bytes, relative
from data_manifests.taxonomy import Taxonomy
from generation.duplicates import MAX_NEAR_BITS, identical_groups, linked_groups, nearest_earlier
from generation.executors import WorkerDied, executor_for
from generation.hashing import perceptual_hash
from generation.ingest_summary import DuplicateGroups, IngestSummary, Problem, summarise
from generation.outcome import Unavailable
from generation.photograph import DecodeLimits, decode_photograph
from generation.provenance import Claim, path_key, read_provenance
from generation.sniffing import has_image_suffix, is_hidden, sniff

DUPLICATE = "duplicate"
HASH_MISMATCH = "hash_mismatch"


@dataclass(frozen=True)
class Ingest:
    """The rows of a source manifest, in canonical order, and what is to be said about them."""

    records: list[SourceRecord]
    summary: IngestSummary


@dataclass(frozen=True)
class Examined:
    """What a file turned out to be. `is_picture` is False for a file that neither is nor claims to be one."""

    source_id: str
    n_bytes: int
    is_picture: bool
    pixel_sha256: str | None = None
    phash: str | None = None
    width: int | None = None
    height: int | None = None
    mode: str | None = None
    format: str | None = None
    status: str = OK
    status_detail: str = ""
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Use:
    """A photograph in one superclass and cue kind, as folder and provenance say."""

    path: str
    superclass: str
    cue_kind: CueKind
    claim: Claim


def ingest(
    photos: str,
    taxonomy: Taxonomy,
    provenance: str | None = None,
    *,
    relative_to: str | None = None,
    target_per_class: int = 300,
    near_duplicate_bits: int = 4,
    limits: DecodeLimits | None = None,
    workers: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
) -> Ingest:
    """Decode every photograph of a folder tree once and return its rows and their summary.

    The superclass of a photograph is its folder (the first one below `photos`), unless its row in the CSV at
    `provenance` names another; it has one row for each cue kind of its superclass. A bad photograph is a row
    with a status. A second copy in its superclass (same bytes, or same decoded pixels) has the status
    `duplicate`; perceptual hashes that differ in at most `near_duplicate_bits` of 64 raise the flag
    `near_duplicate`, the same pixels in two superclasses (of either kind) `in_two_classes`. Files that neither are
    nor claim to be pictures, and hidden ones, have no row. The rows do not depend on `workers`.

    `photos` and `relative_to`, the folder of the manifest that will hold the rows (default: `photos`), are
    paths or fsspec URLs. `on_progress` gets the number of files done and of all files.

    Raises
    ------
    CuebenchError
        If there is no such folder, no file in it that belongs to a superclass, or the numbers make no sense.
    ProblemsError
        If the provenance CSV has mistakes.
    """
    _check_numbers(target_per_class, near_duplicate_bits, workers)
    if _as_text(photos) != photos:
        raise CuebenchError(f"{_as_text(photos)}: a name in this path is not UTF-8; rename that folder")
    claims = read_provenance(provenance) if provenance else {}
    files = [name for name in list_files(photos) if not is_hidden(name) or path_key(name) in claims]
    plan = _Plan(taxonomy)
    for name in files:
        plan.add(name, claims.get(path_key(name), []))
    if provenance:
        plan.compare(files, claims)
    examined = _examine_all(photos, sorted({use.path for use in plan.uses}), limits, workers, on_progress)
    base = photos if relative_to is None else relative_to
    records = [
        _record(use, examined[use.path], relative(join(photos, use.path), base), taxonomy)
        for use in plan.uses
        if examined[use.path].is_picture or path_key(use.path) in claims
    ]
    if not records:
        raise CuebenchError(
            f"{photos}: no photographs of the taxonomy `{taxonomy.name}`; expected <superclass>/<file>, with "
            f"superclasses such as {', '.join(taxonomy.superclasses[:3])}{plan.hint()}"
        )
    records.sort(key=lambda record: record.sort_key)
    records, groups = _mark_duplicates(records, near_duplicate_bits)
    n_ignored = len(files) - len({record.file_name for record in records}) - plan.n_without_row
    summary = summarise(records, taxonomy, target_per_class, groups, plan.problems(), n_ignored)
    return Ingest(records, summary)


def _check_numbers(target_per_class: int, near_duplicate_bits: int, workers: int) -> None:
    if target_per_class < 1:
        raise CuebenchError(f"target: expected at least 1 photograph per class, got {target_per_class}")
    if not 0 <= near_duplicate_bits <= MAX_NEAR_BITS:
        raise CuebenchError(f"near-duplicate bits: expected 0 to {MAX_NEAR_BITS}, got {near_duplicate_bits}")
    if workers < 1:
        raise CuebenchError(f"workers: expected at least 1, got {workers}")


def _as_text(name: str) -> str:
    r"""Return a name as it is, or with `\xe9` for every byte that is not UTF-8."""
    return name.encode(errors="surrogateescape").decode(errors="backslashreplace")


class _Plan:
    """Which files get which rows, and what stands in the way."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.uses: list[_Use] = []
        self.n_without_row = 0
        self._taxonomy = taxonomy
        self._found: defaultdict[str, list[str]] = defaultdict(list)
        self._unknown: Counter[str] = Counter()
        self._below: Counter[str] = Counter()

    def add(self, name: str, claims: Sequence[Claim]) -> None:
        """Take in a file with what the CSV says of it."""
        n_before = len(self.uses)
        if (shown := _as_text(name)) != name:
            self._found["bad_name"].append(shown)
            self.n_without_row += 1
            return
        for claim in claims or [Claim()]:
            self._add_claim(name, claim)
        folder = name.rpartition("/")[0]
        if "/" in folder and len(self.uses) > n_before and not any(claim.superclass for claim in claims):
            self._below[folder] += 1
        if has_image_suffix(name) and len(self.uses) == n_before:
            self.n_without_row += 1

    def _add_claim(self, name: str, claim: Claim) -> None:
        folder, _, rest = name.partition("/")
        by_folder = folder if rest else ""
        superclass = claim.superclass or by_folder
        kinds = self._taxonomy.kinds(superclass)
        if not superclass:
            if has_image_suffix(name):
                self._found["no_class"].append(name)
            return
        if not kinds:
            if has_image_suffix(name):
                self._unknown[superclass] += 1
            return
        if claim.cue_kind and claim.cue_kind not in kinds:
            self._found["wrong_kind"].append(f"{name}: {superclass} has no {claim.cue_kind} cues")
            return
        if claim.superclass and by_folder not in ("", claim.superclass) and self._taxonomy.kinds(by_folder):
            self._found["class_disagrees"].append(f"{name}: {claim.superclass} by the CSV")
        wanted = (claim.cue_kind,) if claim.cue_kind else kinds
        self.uses.extend(_Use(name, superclass, kind, claim) for kind in wanted)

    def compare(self, files: Sequence[str], claims: Mapping[str, list[Claim]]) -> None:
        """Find the rows of the CSV without a file, and the photographs without a row."""
        keys = {path_key(name) for name in files}
        self._found["csv_without_file"] = sorted(set(claims) - keys)
        self._found["file_without_csv"] = [
            use for use in dict.fromkeys(use.path for use in self.uses) if path_key(use) not in claims
        ]

    def hint(self) -> str:
        """Return the names that were found in place of superclasses, for a message."""
        names = [f"{name}{self._taxonomy.nearest(name)}" for name in sorted(self._unknown)[:3]]
        return f"; found {', '.join(names)}" if names else ""

    def problems(self) -> list[Problem]:
        """Return what was found, worst first."""
        unknown = [
            f"{name}: {count} files{self._taxonomy.nearest(name)}"
            for name, count in sorted(self._unknown.items())
        ]
        below = [f"{folder}: {count} files" for folder, count in sorted(self._below.items())]
        found = {"unknown_class": unknown, **self._found, "subfolder": below}
        counts = {"unknown_class": self._unknown.total(), "subfolder": self._below.total()}
        return [
            Problem.of(kind, found.get(kind, ()), counts.get(kind))
            for kind in Problem.KINDS
            if found.get(kind)
        ]


def _examine_all(
    photos: str,
    names: Sequence[str],
    limits: DecodeLimits | None,
    workers: int,
    on_progress: Callable[[int, int], None] | None,
) -> dict[str, Examined]:
    executor = executor_for("process" if workers > 1 else "serial", workers)
    examine = partial(examine_file, photos, limits=limits or DecodeLimits())
    found: dict[str, Examined] = {}
    with closing(executor.run(examine, names)) as finished:
        for name, result in finished:
            if isinstance(result, WorkerDied):
                result = _killer(photos, name)
            found[name] = result
            if on_progress:
                on_progress(len(found), len(names))
    return found


def _killer(photos: str, name: str) -> Examined:
    """Return what is known of a file whose decoding killed the process."""
    data = read_bytes(join(photos, name))
    detail = "the process that decoded it was killed: too large for the memory, or made to crash a decoder"
    return Examined(
        hashlib.sha256(data).hexdigest(),
        len(data),
        is_picture=True,
        status="unreadable",
        status_detail=detail,
    )


def examine_file(photos: str, name: str, limits: DecodeLimits) -> Examined:
    """Return what one file is; a file that can't be read at all has the hash of no bytes."""
    url = join(photos, name)
    try:
        data = _read_photograph(url)
    except CuebenchError as error:
        detail = str(error).removeprefix(f"{url}: ")
        nothing = hashlib.sha256().hexdigest()
        return Examined(
            nothing, 0, is_picture=has_image_suffix(name), status="unreadable", status_detail=detail
        )
    is_picture = has_image_suffix(name) or sniff(data).status != "not_an_image"
    examined = Examined(hashlib.sha256(data).hexdigest(), len(data), is_picture)
    photograph = decode_photograph(data, name, limits)
    if isinstance(photograph, Unavailable):
        return replace(examined, status=photograph.status, status_detail=photograph.detail)
    height, width = photograph.image.shape[:2]
    return replace(
        examined,
        pixel_sha256=photograph.pixel_sha256,
        phash=perceptual_hash(photograph.image),
        width=width,
        height=height,
        mode=photograph.mode,
        format=photograph.format,
        flags=photograph.flags,
    )


def _read_photograph(url: str) -> bytes:
    # Reading a named pipe would wait for ever.
    if is_local(url) and local_path(url).exists() and not local_path(url).is_file():
        raise CuebenchError(f"{url}: not a regular file")
    return read_bytes(url)


def _record(use: _Use, examined: Examined, file_name: str, taxonomy: Taxonomy) -> SourceRecord:
    status, detail = examined.status, examined.status_detail
    expected = use.claim.sha256
    if expected and expected != examined.source_id:
        status = HASH_MISMATCH
        detail = f"expected SHA-256 {expected[:12]}... by the CSV, the file has {examined.source_id[:12]}..."
    return SourceRecord.model_validate(
        {
            "source_id": examined.source_id,
            "n_bytes": examined.n_bytes,
            "pixel_sha256": examined.pixel_sha256,
            "phash": examined.phash,
            "width": examined.width,
            "height": examined.height,
            "mode": examined.mode,
            "format": examined.format,
            "flags": examined.flags,
            "file_name": file_name,
            "superclass": use.superclass,
            "cue_kind": use.cue_kind,
            "wnids": taxonomy.wnids(use.cue_kind, use.superclass),
            "status": status,
            "status_detail": detail,
            **use.claim.record_fields(),
        }
    )


def _mark_duplicates(
    records: list[SourceRecord], near_bits: int
) -> tuple[list[SourceRecord], DuplicateGroups]:
    """Return the records with their duplicates marked, and the groups of file names; the first one counts."""
    marked = list(records)
    by_class: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for index, record in enumerate(records):
        if record.status == OK:
            by_class[record.cue_kind, record.superclass].append(index)
    exact: list[list[int]] = []
    near: list[list[int]] = []
    for members in by_class.values():
        exact.extend(_mark_exact(marked, members))
        near.extend(_mark_near(marked, [index for index in members if marked[index].status == OK], near_bits))
    shared = _mark_shared(marked, [index for members in by_class.values() for index in members])
    names = partial(_file_names, records)
    return marked, DuplicateGroups(exact=names(exact), near=names(near), in_two_classes=names(shared))


def _short_name(record: SourceRecord) -> str:
    """Return folder and name of a photograph: unlike its path, the same wherever the manifest lies."""
    return "/".join(record.file_name.rsplit("/", 2)[-2:])


def _file_names(
    records: Sequence[SourceRecord], groups: Sequence[Sequence[int]]
) -> tuple[tuple[str, ...], ...]:
    return tuple(
        sorted({tuple(dict.fromkeys(records[index].file_name for index in group)) for group in groups})
    )


def _mark_exact(records: list[SourceRecord], members: Sequence[int]) -> list[list[int]]:
    groups = identical_groups([records[index].pixel_sha256 or "" for index in members])
    found = [[members[place] for place in group] for group in groups]
    for first, *others in found:
        for index in others:
            what = "bytes" if records[index].source_id == records[first].source_id else "pixels"
            detail = f"same {what} as {_short_name(records[first])}"
            records[index] = records[index].model_copy(update={"status": DUPLICATE, "status_detail": detail})
    return found


def _mark_near(records: list[SourceRecord], members: Sequence[int], max_bits: int) -> list[list[int]]:
    hashes = np.array([int(records[index].phash or "0", 16) for index in members], dtype=np.uint64)
    nearest = nearest_earlier(hashes, max_bits)
    for later, (earlier, n_bits) in nearest.items():
        other = _short_name(records[members[earlier]])
        _flag(records, members[later], "near_duplicate", f"{n_bits} of 64 bits from {other}")
    return [[members[place] for place in group] for group in linked_groups(nearest)]


def _mark_shared(records: list[SourceRecord], members: Sequence[int]) -> list[list[int]]:
    keys = [records[index].pixel_sha256 or "" for index in members]
    found = [[members[place] for place in group] for group in identical_groups(keys)]
    shared = [group for group in found if len({records[index].superclass for index in group}) > 1]
    for group in shared:
        for index in group:
            own = records[index].superclass
            others = sorted(
                {f"{r.superclass} ({r.cue_kind})" for r in (records[i] for i in group) if r.superclass != own}
            )
            _flag(records, index, "in_two_classes", f"also in {', '.join(others)}")
    return shared


def _flag(records: list[SourceRecord], index: int, flag: str, detail: str) -> None:
    record = records[index]
    details = "; ".join(filter(None, [record.status_detail, detail]))
    flags = tuple(sorted({*record.flags, flag}))
    records[index] = record.model_copy(update={"flags": flags, "status_detail": details})
