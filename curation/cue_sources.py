"""The pictures that a review is about: the cues of a run, or a folder of images."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import get_args

from curation.campaigns import NewItem
from data_manifests import storage
from data_manifests.errors import CuebenchError, ProblemsError
from data_manifests.jsonl import canonical_sha256, read_records
from data_manifests.records import OK, CueKind, CueRecord, SourceRecord
from generation.hashing import pixel_sha256
from generation.outcome import Unavailable
from generation.photograph import DecodeLimits, decode_photograph

IMAGE_SUFFIXES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})
KINDS: tuple[CueKind, ...] = get_args(CueKind)

# Of a picture that is only looked at, nothing is asked but that it can be decoded.
_ANY_PICTURE = DecodeLimits(min_side_px=1, max_aspect=1e9, min_std=0)
_N_READERS = 8


@dataclass(frozen=True)
class CueSet:
    """Pictures to review, each once.

    `failed` are the lineages of cues that were attempted and gave no picture; `n_equal` counts the pictures left
    out because their class holds the same bytes already; `n_other` the files of a folder that are no images.
    """

    items: list[NewItem]
    failed: frozenset[str] = frozenset()
    n_equal: int = 0
    n_other: int = 0


def read_cue_set(url: str, cue_kind: CueKind | None = None) -> CueSet:
    """Return the cues of a run (its folder or its cues.jsonl), or the images of a folder.

    A folder holds `<kind>/<superclass>/<image>`, or `<superclass>/<image>` where `cue_kind` says the kind. What a
    run's manifest names is read and its hash compared: a verdict must be about the picture that is released.

    Raises
    ------
    ProblemsError
        If a picture is gone, was changed, can't be decoded, or is in two classes; lists all of them.
    CuebenchError
        If there are no pictures at all, or none of the kind.
    """
    manifest = url if url.endswith(".jsonl") else storage.join(url, "cues.jsonl")
    is_run = url.endswith(".jsonl") or storage.exists(manifest)
    found = _read_run(manifest, cue_kind) if is_run else _read_folder(url, cue_kind)
    if not found.items:
        wanted = f"no {cue_kind} cue" if cue_kind else "no cue"
        hint = "with status `ok`" if is_run else "; expected <kind>/<superclass>/<image>, or --cue-kind"
        raise CuebenchError(f"{url}: {wanted} {hint}".replace(" ;", ";"))
    return found


def absolute(url: str) -> str:
    """Return a local URL as an absolute path, any other as it is: a server may be started elsewhere."""
    return storage.local_path(url).absolute().as_posix() if storage.is_local(url) else url


def _read_run(manifest: str, cue_kind: CueKind | None) -> CueSet:
    run = absolute(storage.parent(manifest))
    records = [r for r in read_records(manifest, CueRecord) if cue_kind in (None, r.cue_kind)]
    sources_url = storage.join(run, "sources.jsonl")
    sources = read_records(sources_url, SourceRecord) if storage.exists(sources_url) else []
    photographs = {source.source_id: storage.join(run, source.file_name) for source in sources}
    records.sort(key=lambda record: record.sort_key)
    items = [_item_of(run, r, photographs) for r in records if r.status == OK]
    _check_files(manifest, items)
    unique, n_equal = _each_once(manifest, items)
    failed = frozenset(_lineage(record) for record in records if record.status != OK)
    return CueSet(unique, failed, n_equal)


def _lineage(record: CueRecord) -> str:
    made_from = [record.cue_kind, record.superclass, record.parent_source_ids, record.grid, record.variant]
    return canonical_sha256(made_from)


def _item_of(run: str, record: CueRecord, photographs: dict[str, str]) -> NewItem:
    parents = [photographs[name] for name in record.parent_source_ids if name in photographs]
    return NewItem(
        cue_kind=record.cue_kind,
        superclass=record.superclass,
        sha256=record.sha256 or "",
        pixel_sha256=record.pixel_sha256,
        file_url=storage.join(run, record.file_name or ""),
        lineage=_lineage(record),
        cue_id=record.cue_id,
        grid=record.grid,
        source_url=parents[0] if parents else None,
        width=record.width,
        height=record.height,
        meta={
            "flags": record.flags,
            "quality": record.quality,
            "mask": _mask_scores(record),
            "parent_source_ids": record.parent_source_ids,
            "variant": record.variant,
            "recipe_sha256": record.recipe_sha256,
            "generator_version": record.generator_version,
        },
    )


def _mask_scores(record: CueRecord) -> dict[str, float]:
    """Return the scores of the mask that was taken; none where a person picked or drew it."""
    taken = (scores for scores in record.mask_candidates if scores.get("segmenter") == record.segmenter)
    return {name: value for name, value in next(taken, {}).items() if not isinstance(value, str)}


def _check_files(where: str, items: Sequence[NewItem]) -> None:
    """Compare the bytes of every picture with the hash in its row."""
    with ThreadPoolExecutor(_N_READERS) as pool:
        problems = list(filter(None, pool.map(_file_problem, items)))
    if problems:
        raise ProblemsError(where, problems)


def _file_problem(item: NewItem) -> str:
    try:
        data = storage.read_bytes(item.file_url)
    except CuebenchError as error:
        return f"{error}; render the run again"
    if hashlib.sha256(data).hexdigest() != item.sha256:
        return f"{item.file_url}: not the picture of its row (the SHA-256 differs); render the run again"
    return ""


def _read_folder(folder: str, cue_kind: CueKind | None) -> CueSet:
    base = absolute(folder)
    names = storage.list_files(folder)
    images = [name for name in names if PurePosixPath(name).suffix.lower() in IMAGE_SUFFIXES]
    placed = [place for name in images if (place := _place(name, cue_kind)) is not None]
    with ThreadPoolExecutor(_N_READERS) as pool:
        results = list(pool.map(lambda place: _read_image(base, *place), placed))
    if problems := [result for result in results if isinstance(result, str)]:
        raise ProblemsError(folder, problems)
    items, n_equal = _each_once(folder, [result for result in results if isinstance(result, NewItem)])
    return CueSet(items, n_equal=n_equal, n_other=len(names) - len(placed))


def _place(name: str, cue_kind: CueKind | None) -> tuple[CueKind, str, str] | None:
    """Return kind, superclass and name of an image below a folder; None if it is not where cues lie."""
    parts = PurePosixPath(name).parts
    kind = next((known for known in KINDS if known == parts[0]), None)
    if len(parts) == 3 and kind is not None:
        return (kind, parts[1], name) if cue_kind in (None, kind) else None
    if len(parts) == 2 and cue_kind is not None:
        return cue_kind, parts[0], name
    return None


def _read_image(base: str, kind: CueKind, superclass: str, name: str) -> NewItem | str:
    url = storage.join(base, name)
    data = storage.read_bytes(url)
    picture = decode_photograph(data, name, _ANY_PICTURE)
    if isinstance(picture, Unavailable):
        return f"{name}: {picture.status} ({picture.detail})"
    # The hash of a grey picture is that of its one channel, as in the manifest of a run.
    pixels = pixel_sha256(picture.image[..., 0]) if picture.mode == "L" else picture.pixel_sha256
    return NewItem(
        cue_kind=kind,
        superclass=superclass,
        sha256=hashlib.sha256(data).hexdigest(),
        pixel_sha256=pixels,
        file_url=url,
        lineage=canonical_sha256(["file", kind, superclass, PurePosixPath(name).stem]),
        width=picture.image.shape[1],
        height=picture.image.shape[0],
    )


def _each_once(where: str, items: Iterable[NewItem]) -> tuple[list[NewItem], int]:
    """Return the first of equal pictures, and how many were left out.

    Raises
    ------
    ProblemsError
        If two classes hold the same picture: one verdict can't be about two claims.
    """
    first: dict[tuple[str, str], NewItem] = {}
    n_equal = 0
    problems = []
    for item in items:
        known = first.setdefault((item.cue_kind, item.sha256), item)
        n_equal += known is not item
        if known.superclass != item.superclass:
            problems.append(f"{item.file_url}: the same picture as {known.file_url}, of another class")
    if problems:
        raise ProblemsError(where, problems)
    return list(first.values()), n_equal
