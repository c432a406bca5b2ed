"""The pictures of a study: cues that were accepted, some of them for practice, and photographs as catch trials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from curation.campaigns import NewItem
from curation.cue_sources import absolute, read_cue_set
from curation.protocol import StudyProtocol
from curation.study_blocks import Pool, split
from curation.study_design import Picture, choose_pictures, rank
from data_manifests import storage
from data_manifests.errors import CuebenchError
from data_manifests.jsonl import canonical_sha256, read_records
from data_manifests.records import OK, CueKind, SourceRecord

N_CATCH_PER_CLASS = 2
_FORMATS_OF_BROWSERS = frozenset({"JPEG", "PNG", "WEBP", "GIF"})


@dataclass(frozen=True)
class StudyPictures:
    """What a study shows: cue kind -> pictures of the main trials, and those besides; `items` by kind and key."""

    main: dict[CueKind, list[Picture]]
    pools: dict[CueKind, Pool]
    items: dict[tuple[str, str], NewItem]
    notes: list[str] = field(default_factory=list)


def gather_pictures(
    cues_url: str,
    protocol: StudyProtocol,
    seed: int,
    accepted: set[str] | None = None,
    catch_url: str | None = None,
) -> tuple[StudyProtocol, StudyPictures]:
    """Return the protocol with its options, and the pictures of the study.

    Parameters
    ----------
    accepted : SHA-256 of the cues that may be shown; None allows all
    catch_url : the sources.jsonl with the photographs of the catch trials; by default the one beside the cues

    Raises
    ------
    CuebenchError
        If there are no cues of a kind, one of a class that is no option, or no photographs for catch trials.
    """
    items = [item for item in read_cue_set(cues_url).items if accepted is None or item.sha256 in accepted]
    cues: dict[CueKind, list[Picture]] = {
        kind: [_picture(item) for item in items if item.cue_kind == kind] for kind in protocol.cue_kinds
    }
    for kind, pictures in cues.items():
        if not pictures:
            among = "accepted cue" if accepted is not None else "cue with status `ok`"
            raise CuebenchError(f"{cues_url}: no {among} of kind {kind}, but the protocol has {kind} trials")
    protocol = protocol.with_options({kind: _classes(pictures) for kind, pictures in cues.items()})
    _check_classes(cues_url, protocol, cues)
    found = StudyPictures({}, {}, {(item.cue_kind, item.sha256): item for item in items})
    n_practice = split(protocol.practice.n_trials, len(protocol.cue_kinds))
    for place, kind in enumerate(protocol.cue_kinds):
        main, practice = _choose(cues[kind], protocol.n_images_per_cue, n_practice[place], seed)
        found.main[kind] = main
        found.pools[kind] = Pool(practice=tuple(practice))
        if len(practice) < n_practice[place]:
            found.notes.append(
                f"{kind}: {len(practice)} trials of practice, not {n_practice[place]}: every class keeps a picture "
                "for the main trials"
            )
        found.notes.extend(_shortage(kind, cues[kind], main, protocol))
    if protocol.n_catch:
        _add_catch(found, protocol, seed, catch_url or _beside(cues_url))
    return protocol, found


def _picture(item: NewItem) -> Picture:
    grid = "" if item.grid is None else f"{item.grid:04d}"
    return Picture(item.sha256, item.superclass, grid, tuple(item.meta.get("parent_source_ids", ())))


def _classes(pictures: Iterable[Picture]) -> tuple[str, ...]:
    return tuple(sorted({picture.superclass for picture in pictures}))


def _check_classes(where: str, protocol: StudyProtocol, cues: Mapping[CueKind, Sequence[Picture]]) -> None:
    for kind, pictures in cues.items():
        if unknown := sorted(set(_classes(pictures)) - set(protocol.options[kind])):
            raise CuebenchError(
                f"{where}: {kind} cues of {', '.join(unknown)}, which is no option of the protocol; "
                f"options.{kind} are {', '.join(protocol.options[kind])}"
            )


def _choose(
    pictures: Sequence[Picture], n_images: int, n_practice: int, seed: int
) -> tuple[list[Picture], list[Picture]]:
    """Return the pictures of the main trials and those of practice, which are never the same.

    Where practice has to take from the main trials, it leaves every class a picture.
    """
    main = choose_pictures(pictures, n_images, seed)
    spare = [picture for picture in pictures if picture not in set(main)]
    if len(spare) < n_practice:
        in_order = sorted(pictures, key=lambda picture: rank(seed, "kept", picture.key))
        kept = {picture.superclass: picture for picture in in_order}.values()
        left = [picture for picture in pictures if picture not in kept]
        practice = _of_different_classes(left, n_practice, (seed, "practice"), set())
        rest = [picture for picture in pictures if picture not in practice]
        return choose_pictures(rest, n_images, seed), practice
    shown = {source for picture in main for source in picture.sources}
    return main, _of_different_classes(spare, n_practice, (seed, "practice"), shown)


def _of_different_classes(
    pictures: Sequence[Picture], n: int, parts: tuple[object, ...], shown: set[str]
) -> list[Picture]:
    """Return n pictures, of classes as different as can be, those first that share no photograph with `shown`."""
    left = sorted(pictures, key=lambda p: (not shown.isdisjoint(p.sources), rank(*parts, p.key)))
    n_of: dict[str, int] = {}
    chosen = []
    for _ in range(min(n, len(left))):
        best = min(left, key=lambda picture: n_of.get(picture.superclass, 0))
        left.remove(best)
        n_of[best.superclass] = n_of.get(best.superclass, 0) + 1
        chosen.append(best)
    return chosen


def _shortage(
    kind: CueKind, there: Sequence[Picture], main: Sequence[Picture], protocol: StudyProtocol
) -> list[str]:
    wanted = protocol.n_images_per_cue
    if len(main) >= wanted:
        return []
    share = -(-wanted // len(protocol.options[kind]))
    sizes = {name: sum(p.superclass == name for p in main) for name in _classes(there)}
    scarce = [f"{name} {n}" for name, n in sizes.items() if n < share - 1]
    return [
        f"{kind}: the protocol asks for {wanted} images, there are {len(main)} (up to {share} a class; "
        f"fewer: {', '.join(scarce) or 'none'}); the study is scaled to them"
    ]


def _beside(cues_url: str) -> str:
    folder = storage.parent(cues_url) if cues_url.endswith(".jsonl") else cues_url
    return storage.join(folder, "sources.jsonl")


def _add_catch(found: StudyPictures, protocol: StudyProtocol, seed: int, sources_url: str) -> None:
    """Fill the pools with photographs, those first of which the study shows no cue."""
    if not storage.exists(sources_url):
        raise CuebenchError(
            f"{sources_url}: no such file, but {protocol.n_catch} catch trials need photographs; name a "
            "sources.jsonl, or set n_catch = 0 in the protocol"
        )
    base = absolute(storage.parent(sources_url))
    records = [r for r in read_records(sources_url, SourceRecord) if r.status == OK]
    for kind in protocol.cue_kinds:
        shown = {s for p in (*found.main[kind], *found.pools[kind].practice) for s in p.sources}
        of_kind = [r for r in records if r.cue_kind == kind and (r.format or "") in _FORMATS_OF_BROWSERS]
        of_kind.sort(key=lambda r: (r.source_id in shown, rank(seed, "catch", r.source_id)))
        catch: list[Picture] = []
        for name in protocol.options[kind]:
            of_class = [r for r in of_kind if r.superclass == name]
            there = (r for r in of_class if storage.exists(storage.join(base, r.file_name)))
            for record, _ in zip(there, range(N_CATCH_PER_CLASS), strict=False):
                catch.append(Picture(record.source_id, name, sources=(record.source_id,)))
                found.items[kind, record.source_id] = _photograph(record, base)
        n_needed = split(protocol.n_catch, len(protocol.cue_kinds))[0]
        if len(catch) < n_needed:
            raise CuebenchError(
                f"{sources_url}: {len(catch)} photographs of {kind} classes for catch trials, expected at least "
                f"{n_needed} that are there and that a browser shows (JPEG, PNG, WebP, GIF); or set n_catch lower"
            )
        found.pools[kind] = Pool(found.pools[kind].practice, tuple(catch))


def _photograph(record: SourceRecord, base: str) -> NewItem:
    return NewItem(
        cue_kind=record.cue_kind,
        superclass=record.superclass,
        sha256=record.source_id,
        pixel_sha256=record.pixel_sha256,
        file_url=storage.join(base, record.file_name),
        lineage=canonical_sha256(["photograph", record.cue_kind, record.source_id]),
        width=record.width,
        height=record.height,
        meta={"parent_source_ids": (record.source_id,)},
    )
