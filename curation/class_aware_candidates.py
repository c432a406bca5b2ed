"""The masks that a class-aware choice chooses from: of the whole photograph, of parts, and of close-ups."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np

from curation.class_aware_pictures import crop, widened
from generation.masks import (
    FULL_FRAME,
    MAX_AREA_SHARE,
    Mask,
    MaskCandidate,
    Probability,
    Segmenter,
    clean_mask,
    mask_iou,
    mask_parts,
    propose_from,
    score_mask,
)
from generation.photograph import Photograph
from generation.segmenters.grabcut import Box, GrabCutSegmenter
from generation.segmenters.rembg import RembgSegmenter
from generation.segmenters.sam import SamSegmenter

# Two masks that share as much are one; an object smaller than that gives no cue.
SAME_IOU = 0.96
THUMBNAIL_PX = 256
MIN_AREA_SHARE = 0.002
MIN_SIDE_PX = 24
N_PARTS = 3
# Where a map is lower than .5 a faint part of an object (a barrel, a dark grip) may still be told from nothing.
WIDE_THRESHOLD = 0.25
# A close-up needs surroundings, or all of it is object.
CLOSE_UP = 1.8
# Close-ups that hold nearly all of the photograph show nothing new.
MAX_CLOSE_UP_SHARE = 0.9
# A part is cut by a close-up if so much of it lies on the edge, as a share of the close-up's width and height.
MAX_CUT_SHARE = 0.02
# Gaps to close, as a share of the photograph's diagonal.
GAP = 0.01
# Objects of two segmenters are joined where they are of one thing: they overlap that much (of the smaller).
MIN_JOINED_SHARE = 0.3


@dataclass(frozen=True)
class Candidates:
    """Masks, each once: what the segmenters find in the whole photograph by themselves, and more."""

    plain: tuple[MaskCandidate, ...]
    more: tuple[MaskCandidate, ...]


def find_candidates(
    photograph: Photograph, segmenters: Sequence[Segmenter], boxes: Sequence[Box]
) -> Candidates:
    """Return the masks that segmenters find in a photograph and in the boxes.

    Of several parts each is a candidate of its own (`/part0`, ...), as is what two segmenters found together
    (`a+b`) and what was found in a close-up of a box (`@box0`); `/wide` marks the map above .25.
    """
    whole = [list(_propose_in(segmenter, photograph)) for segmenter in segmenters]
    firsts = [group[0] for group in whole if group]
    found = [candidate for group in whole for candidate in group[1:]]
    found += _joined([candidate for candidate in firsts if candidate.segmenter != FULL_FRAME])
    for number, box in enumerate(boxes):
        for segmenter in segmenters:
            found += _propose_near(segmenter, photograph, box, f"@box{number}")
    with_parts = [more for c in [*firsts, *found] for more in (c, *_parts(c), _closed(c))]
    plain = _unique([c for c in firsts if _is_usable(c)])
    every = _unique([*plain, *(c for c in with_parts if _is_usable(c))])
    return Candidates(tuple(plain), tuple(every[len(plain) :]))


def _propose_near(
    segmenter: Segmenter, photograph: Photograph, box: Box, mark: str
) -> Iterator[MaskCandidate]:
    """Yield what a segmenter finds in a close-up of the box, in the photograph's own pixels."""
    if not isinstance(segmenter, RembgSegmenter | SamSegmenter | GrabCutSegmenter):
        return
    height, width = photograph.image.shape[:2]
    near = widened(box, CLOSE_UP, height, width)
    if (near[2] - near[0]) * (near[3] - near[1]) > MAX_CLOSE_UP_SHARE * height * width:
        return
    close_up = replace(photograph, image=crop(photograph.image, near), alpha=None)
    for candidate in _propose_in(segmenter, close_up):
        inside = _uncut(candidate.mask, near, height, width)
        if not inside.any():
            continue
        mask = np.zeros((height, width), bool)
        mask[near[1] : near[3], near[0] : near[2]] = inside
        scores = {**candidate.scores, **score_mask(mask)}
        yield MaskCandidate(mask, f"{candidate.segmenter}{mark}", scores)


def _propose_in(segmenter: Segmenter, photograph: Photograph) -> list[MaskCandidate]:
    if not isinstance(segmenter, RembgSegmenter):
        return [c for c in segmenter.propose(photograph) if not c.segmenter.endswith("/largest")]
    map_ = segmenter.probability(photograph.image)
    plain = propose_from(map_, segmenter.name)[:1]
    return [*plain, *_wide(map_, segmenter.name)]


def _wide(map_: Probability, name: str) -> list[MaskCandidate]:
    mask = clean_mask(map_, WIDE_THRESHOLD)
    return [MaskCandidate(mask, f"{name}/wide", score_mask(mask, map_))] if mask.any() else []


def _joined(firsts: Sequence[MaskCandidate]) -> list[MaskCandidate]:
    found = []
    for number, one in enumerate(firsts):
        for other in firsts[number + 1 :]:
            both = (one.mask & other.mask).sum()
            if both > MIN_JOINED_SHARE * min(one.mask.sum(), other.mask.sum()):
                mask = one.mask | other.mask
                found.append(MaskCandidate(mask, f"{one.segmenter}+{other.segmenter}", score_mask(mask)))
    return found


def _parts(candidate: MaskCandidate) -> Iterator[MaskCandidate]:
    parts = mask_parts(candidate.mask, N_PARTS)
    if len(parts) > 1:
        for number, part in enumerate(parts):
            yield MaskCandidate(part, f"{candidate.segmenter}/part{number}", score_mask(part))


def _uncut(mask: Mask, near: Box, height: int, width: int) -> Mask:
    """Return the parts of a mask that a close-up does not cut: those that are on no edge but the photograph's own."""
    left, top, right, bottom = near
    _, labels = cv2.connectedComponents(mask.astype(np.uint8))
    edges = [(labels[:, 0], left > 0), (labels[0], top > 0), (labels[:, -1], right < width)]
    edges.append((labels[-1], bottom < height))
    n_on_edge = np.zeros(labels.max() + 1, np.int64)
    for edge, is_inner in edges:
        n_on_edge += is_inner * np.bincount(edge, minlength=len(n_on_edge))
    kept: Mask = mask & (n_on_edge <= MAX_CUT_SHARE * sum(mask.shape))[labels]
    return kept


def _closed(candidate: MaskCandidate) -> MaskCandidate:
    """Return the mask without gaps and holes."""
    radius = max(1, round(GAP * math.hypot(*candidate.mask.shape)))
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1, 2 * radius + 1))
    padded = np.pad(candidate.mask.astype(np.uint8), radius)
    closed = cv2.morphologyEx(padded, cv2.MORPH_CLOSE, kernel)[radius:-radius, radius:-radius]
    contours, _ = cv2.findContours(closed, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    filled = np.zeros_like(closed)
    cv2.drawContours(filled, contours, -1, 1, cv2.FILLED)
    mask = np.asarray(filled > 0)
    return MaskCandidate(mask, f"{candidate.segmenter}/closed", score_mask(mask))


def _is_usable(candidate: MaskCandidate) -> bool:
    rows, columns = candidate.mask.any(1).sum(), candidate.mask.any(0).sum()
    return bool(
        candidate.segmenter == FULL_FRAME
        or (MIN_AREA_SHARE <= candidate.mask.mean() <= MAX_AREA_SHARE and max(rows, columns) >= MIN_SIDE_PX)
    )


def _unique(candidates: Sequence[MaskCandidate]) -> list[MaskCandidate]:
    kept: list[tuple[MaskCandidate, Mask]] = []
    for candidate in candidates:
        small = thumbnail(candidate.mask)
        if all(mask_iou(small, other) < SAME_IOU for _, other in kept):
            kept.append((candidate, small))
    return [candidate for candidate, _ in kept]


def thumbnail(mask: Mask) -> Mask:
    """Return a mask at a side of `THUMBNAIL_PX` at most, which is enough to compare two."""
    scale = THUMBNAIL_PX / max(mask.shape)
    if scale >= 1:
        return mask
    size = (max(1, round(mask.shape[1] * scale)), max(1, round(mask.shape[0] * scale)))
    small = cv2.resize(mask.astype(np.float32), size, interpolation=cv2.INTER_AREA)
    return np.asarray(small > 0.5)
