"""Rounds of mask picking: people choose the mask of a photograph or draw a box; a run renders from their picks."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from curation.answers import BOX, NO_MASK, parse_box
from curation.campaigns import find_campaign
from curation.database import Store
from curation.item_placement import in_parts
from curation.mask_candidates import read_photograph
from curation.mask_import import MaskImport, import_masks
from curation.tables import Assignment, Campaign, CampaignItem, CurrentAnswer, Item, MaskCandidate
from data_manifests import storage
from data_manifests.errors import CuebenchError
from data_manifests.jsonl import write_records
from data_manifests.records import MaskRecord
from generation import masks as mask_arrays
from generation.outcome import Unavailable
from generation.photograph import Photograph
from generation.segmenters import segmenter_for
from generation.segmenters.grabcut import Box, GrabCutSegmenter
from generation.segmenters.sam import SamSegmenter

__all__ = ["MaskImport", "PickSummary", "import_masks", "write_picks"]

log = logging.getLogger(__name__)

BoxCutter = Callable[[Photograph, Box], list[mask_arrays.MaskCandidate]]


@dataclass(frozen=True)
class PickSummary:
    """What people picked. `n_open` photographs have no answer yet; `differing` have several; `failed` say why."""

    slug: str
    n_photographs: int
    n_picked: int
    n_boxes: int
    n_none: int
    n_open: int
    box_segmenter: str
    differing: tuple[str, ...]
    failed: tuple[str, ...]

    def to_text(self) -> str:
        """Return the counts for people."""
        lines = [
            f"masks {self.slug}: {self.n_photographs} photographs",
            f"{self.n_picked:>8} masks picked",
            f"{self.n_boxes:>8} boxes drawn, cut out by {self.box_segmenter}",
            f"{self.n_none:>8} without a usable mask",
            f"{self.n_open:>8} not answered yet",
            *(f"left out: {url}: the picks differ" for url in self.differing),
            *(f"left out: {problem}" for problem in self.failed),
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class _Answered:
    """A photograph of a campaign with the answers that stand, and its candidates by their public id."""

    item: Item
    answers: list[str]
    candidates: dict[str, MaskCandidate]


def write_picks(store: Store, slug: str, out_url: str, *, segmenter: str | None = None) -> PickSummary:
    """Write what people picked as the masks.jsonl that `generate --masks` reads, with the masks beside it.

    `segmenter` makes a mask of a drawn box: `grabcut` or `sam:CHECKPOINT`; by default the SAM of the run's recipe
    where it is installed, GrabCut otherwise. Photographs without an answer, or with several, are left out.

    Raises
    ------
    CuebenchError
        If there is no such campaign, or the segmenter is not there or takes no box.
    """
    with store.read() as session:
        campaign = find_campaign(session, slug, "mask")
        settings = json.loads(campaign.protocol_json)
        photographs = _read_answers(session, campaign)
        session.expunge_all()
    name, cut = _box_cutter(segmenter, settings["segmenters"])
    folder = storage.parent(out_url)
    picks: list[MaskRecord] = []
    differing, failed = [], []
    n_open = 0
    for photograph in photographs:
        given = set(photograph.answers)
        if len(given) != 1:
            n_open += not given
            differing.extend([photograph.item.file_url] if given else [])
            continue
        try:
            picks.append(_pick(photograph, given.pop(), folder, name, cut))
        except CuebenchError as error:
            failed.append(str(error))
    write_records(out_url, picks)
    n_boxes = sum(pick.segmenter.startswith("picked/box/") for pick in picks)
    n_none = sum(pick.mask_sha256 is None for pick in picks)
    return PickSummary(
        slug=slug,
        n_photographs=len(photographs),
        n_picked=len(picks) - n_boxes - n_none,
        n_boxes=n_boxes,
        n_none=n_none,
        n_open=n_open,
        box_segmenter=name,
        differing=tuple(differing),
        failed=tuple(failed),
    )


def _read_answers(session: Session, campaign: Campaign) -> list[_Answered]:
    query = (
        select(Item)
        .join(CampaignItem, CampaignItem.item_id == Item.id)
        .where(CampaignItem.campaign_id == campaign.id, CampaignItem.role == "main")
        .order_by(Item.cue_kind, Item.sha256)
    )
    found = {item.id: _Answered(item, [], {}) for item in session.scalars(query)}
    answers = (
        select(Assignment.item_id, CurrentAnswer.answer)
        .join(CurrentAnswer, CurrentAnswer.assignment_id == Assignment.id)
        .where(Assignment.campaign_id == campaign.id, Assignment.role == "main")
    )
    for item_id, answer in session.execute(answers):
        found[item_id].answers.append(answer)
    for part in in_parts(found):
        rows = select(MaskCandidate).where(MaskCandidate.item_id.in_(part)).order_by(MaskCandidate.position)
        for candidate in session.scalars(rows):
            found[candidate.item_id].candidates[candidate.public_id] = candidate
    return list(found.values())


def _pick(photograph: _Answered, answer: str, folder: str, cutter: str, cut: BoxCutter) -> MaskRecord:
    """Return the row of a pick, its mask stored.

    Raises
    ------
    CuebenchError
        If the mask's file is gone or changed, or nothing was found in a box.
    """
    item = photograph.item
    n_people = len(photograph.answers)
    by = "a person" if n_people == 1 else f"{n_people} people"
    if answer == NO_MASK:
        return _record(photograph, None, "picked/none", f"{by} found no candidate usable")
    if answer.startswith(BOX):
        mask = _cut(item, parse_box(answer, None, None), cut)
        segmenter, reason = f"picked/box/{cutter}", f"{answer.replace(':', ' ')}, drawn by {by}"
    else:
        candidate = photograph.candidates[answer]
        mask = mask_arrays.read_mask(storage.read_bytes(candidate.file_url))
        if mask_arrays.mask_sha256(mask) != candidate.mask_sha256:
            raise CuebenchError(f"{candidate.file_url}: not the mask that was picked; import the masks again")
        segmenter, reason = f"picked/{candidate.segmenter}", f"picked by {by}"
    return _record(photograph, mask_arrays.store_mask(folder, mask), segmenter, reason)


def _record(photograph: _Answered, digest: str | None, segmenter: str, reason: str) -> MaskRecord:
    scores = [{"segmenter": c.segmenter, **json.loads(c.scores_json)} for c in photograph.candidates.values()]
    return MaskRecord.model_validate(
        {
            "source_id": photograph.item.sha256,
            "cue_kind": photograph.item.cue_kind,
            "mask_sha256": digest,
            "file_name": digest and mask_arrays.mask_file_name(digest),
            "segmenter": segmenter,
            "reason": reason,
            "candidates": tuple(scores),
        }
    )


def _cut(item: Item, box: Box, cut: BoxCutter) -> mask_arrays.Mask:
    photograph = read_photograph(item.file_url, item.sha256)
    if isinstance(photograph, Unavailable):
        raise CuebenchError(photograph.detail)
    if found := cut(photograph, box):
        return found[0].mask
    raise CuebenchError(f"{item.file_url}: nothing found in the box {box}; draw it wider, or pick a mask")


def _box_cutter(segmenter: str | None, of_recipe: Sequence[str]) -> tuple[str, BoxCutter]:
    """Return the name of what makes masks of boxes, and the function."""
    sam = next((name for name in of_recipe if name.startswith("sam:")), None)
    if segmenter is None and sam is not None:
        try:
            return _box_cutter(sam, ())
        except CuebenchError as error:
            log.warning("%s; boxes are cut out by grabcut", error)
    chosen = segmenter_for(segmenter or "grabcut")
    if isinstance(chosen, SamSegmenter):
        return chosen.name, lambda photograph, box: _cut_by_sam(chosen, photograph, box)
    if isinstance(chosen, GrabCutSegmenter):
        return chosen.name, lambda photograph, box: GrabCutSegmenter(box=box).propose(photograph)
    raise CuebenchError(f"{segmenter}: takes no box; expected grabcut or sam:CHECKPOINT")


def _cut_by_sam(sam: SamSegmenter, photograph: Photograph, box: Box) -> list[mask_arrays.MaskCandidate]:
    sam.box = box  # one segmenter for all boxes: the model is loaded once
    return sam.propose(photograph)
