"""A round of mask picking begins: the photographs of a run, each with the masks that segmenters find in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from curation.campaigns import NewItem, create_campaign, find_campaign, new_public_id
from curation.cue_sources import absolute
from curation.database import Store
from curation.item_placement import in_parts, place_items
from curation.mask_candidates import PhotographMasks, StoredMask, find_candidates
from curation.queue_rows import open_for_work
from curation.review_votes import read_asked, read_reviewed
from curation.tables import Campaign, Item, MaskCandidate
from data_manifests import storage
from data_manifests.errors import CuebenchError
from data_manifests.jsonl import canonical_json, canonical_sha256, read_records
from data_manifests.records import OK, CueKind, MaskRecord, SourceRecord
from generation.executors import Executor, SerialExecutor
from generation.recipe import Recipe, read_recipe


@dataclass(frozen=True)
class MaskImport:
    """What an import brought: photographs, masks to choose from, and the photographs that can't be shown, with why."""

    slug: str
    n_photographs: int
    n_new: int
    n_candidates: int
    problems: tuple[str, ...]

    def to_text(self) -> str:
        """Return the counts for people."""
        lines = [
            f"masks {self.slug}",
            f"{self.n_photographs:>8} photographs, {self.n_new} of them new",
            f"{self.n_candidates:>8} masks to choose from",
        ]
        return "\n".join([*lines, *(f"left out: {problem}" for problem in self.problems)])


def import_masks(
    store: Store,
    slug: str,
    run_url: str,
    *,
    review: str | None = None,
    cue_kind: CueKind | None = None,
    seed: int = 0,
    overlap: float = 0.0,
    executor: Executor | None = None,
) -> MaskImport:
    """Put the photographs of a run with their candidate masks into a mask campaign, made where there is none.

    Candidates are found again by the segmenters of the run's recipe, since a run stores the mask that it used only.

    Parameters
    ----------
    review : only photographs of which this review rejected a cue
    overlap : share of each class that two people pick

    Raises
    ------
    CuebenchError
        If the folder is no run, no photograph is left, or the campaign is frozen or of another kind.
    """
    recipe = read_recipe(storage.join(run_url, "recipe.toml"))
    wanted = _rejected_photographs(store, review) if review else None
    sources = _sources(run_url, cue_kind, wanted)
    used = {
        (m.source_id, m.cue_kind): m for m in read_records(storage.join(run_url, "masks.jsonl"), MaskRecord)
    }
    pieces = [(source, used.get((source.source_id, source.cue_kind))) for source in sources]
    found = find_candidates(run_url, recipe.mask, pieces, executor or SerialExecutor())
    usable = [photograph for photograph in found if not photograph.problem]
    with store.write() as session:
        campaign = _campaign(session, slug, recipe, seed, overlap)
        items = [_item(absolute(run_url), photograph.source) for photograph in usable]
        placed = place_items(session, campaign, items)
        n_candidates = _store_candidates(session, items, usable)
    problems = [f"{p.source.file_name}: {p.problem}" for p in found if p.problem]
    return MaskImport(slug, len(usable), len(placed.new), n_candidates, tuple(problems))


def _sources(
    run_url: str, cue_kind: CueKind | None, wanted: set[tuple[str, str]] | None
) -> list[SourceRecord]:
    """Return the usable photographs, each once a cue kind: its mask is the same in every class."""
    rows = [
        row for row in read_records(storage.join(run_url, "sources.jsonl"), SourceRecord) if row.status == OK
    ]
    rows = [row for row in rows if cue_kind in (None, row.cue_kind)]
    if wanted is not None:
        rows = [row for row in rows if (row.cue_kind, row.source_id) in wanted]
    if not rows:
        raise CuebenchError(
            f"{run_url}: no photograph to pick a mask for (of the kind, or rejected in the review)"
        )
    rows.sort(key=lambda row: row.sort_key)
    return list({(row.cue_kind, row.source_id): row for row in reversed(rows)}.values())[::-1]


def _rejected_photographs(store: Store, review: str) -> set[tuple[str, str]]:
    """Return cue kind and source id of the photographs whose cues a review rejected."""
    with store.read() as session:
        campaign = find_campaign(session, review, "review")
        pictures = read_reviewed(session, campaign, read_asked(session, campaign))
        ids = [picture.item_id for picture in pictures if picture.outcome == "rejected"]
        photographs: set[tuple[str, str]] = set()
        for part in in_parts(ids):
            for kind, meta in session.execute(select(Item.cue_kind, Item.meta_json).where(Item.id.in_(part))):
                photographs.update((kind, name) for name in json.loads(meta).get("parent_source_ids", ()))
    return photographs


def _campaign(session: Session, slug: str, recipe: Recipe, seed: int, overlap: float) -> Campaign:
    if session.scalar(select(Campaign.id).where(Campaign.slug == slug)) is None:
        settings = {
            "n_raters": 1,
            "overlap": overlap,
            "repeat_share": 0.0,
            "segmenters": list(recipe.mask.segmenters),
        }
        return create_campaign(session, slug, "mask", settings, seed)
    find_campaign(session, slug, "mask")
    return open_for_work(session, slug)


def _item(run: str, source: SourceRecord) -> NewItem:
    return NewItem(
        cue_kind=source.cue_kind,
        superclass=source.superclass,
        sha256=source.source_id,
        pixel_sha256=source.pixel_sha256,
        file_url=storage.join(run, source.file_name),
        lineage=canonical_sha256(["photograph", source.cue_kind, source.source_id]),
        width=source.width,
        height=source.height,
    )


def _store_candidates(
    session: Session, items: Sequence[NewItem], photographs: Sequence[PhotographMasks]
) -> int:
    """Add the candidates that a photograph does not have yet, behind the others; return how many there are now."""
    ids: dict[tuple[str, str], int] = {}
    for hashes in in_parts(item.sha256 for item in items):
        query = select(Item.cue_kind, Item.sha256, Item.id).where(Item.sha256.in_(hashes))
        ids.update({(kind, sha256): item_id for kind, sha256, item_id in session.execute(query)})
    known: dict[tuple[int, str], int] = {}
    last: Counter[int] = Counter()
    for some_ids in in_parts(ids.values()):
        for row in session.scalars(select(MaskCandidate).where(MaskCandidate.item_id.in_(some_ids))):
            known[row.item_id, row.mask_sha256] = row.id
            last[row.item_id] = max(last[row.item_id], row.position)
    new: list[dict[str, object]] = []
    moved: list[dict[str, object]] = []
    for photograph in photographs:
        item_id = ids[photograph.source.cue_kind, photograph.source.source_id]
        for mask in photograph.masks:
            if (pk := known.get((item_id, mask.mask_sha256))) is not None:
                moved.append({"id": pk, "file_url": mask.file_url})
                continue
            last[item_id] += 1
            new.append(_row(mask, item_id, last[item_id]))
    if new:
        session.execute(insert(MaskCandidate), new)
    if moved:
        session.execute(update(MaskCandidate), moved)
    return len(known) + len(new)


def _row(mask: StoredMask, item_id: int, position: int) -> dict[str, object]:
    return {
        "public_id": new_public_id(),
        "item_id": item_id,
        "position": position,
        "mask_sha256": mask.mask_sha256,
        "segmenter": mask.segmenter,
        "file_url": mask.file_url,
        "scores_json": canonical_json(mask.scores),
    }
