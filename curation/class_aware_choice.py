"""The rule by which a judged candidate is taken: which object, then which of the masks of that object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
import numpy.typing as npt

from curation.class_aware_candidates import thumbnail
from curation.class_aware_size import resized_mask
from data_manifests.records import CueKind
from generation.masks import (
    FULL_FRAME,
    MAX_UNCERTAINTY,
    UNCERTAIN,
    Mask,
    MaskCandidate,
    MaskChoice,
    mask_iou,
)
from generation.outcome import Unavailable

NOT_SEEN = "class_not_seen"

# Below this evidence no candidate is taken to show the class.
MIN_EVIDENCE = 0.05
# The plain choice stays if it has this share of the best candidate's evidence; less is enough where the best one lies
# within it, because a classifier likes the telling part of an object (a lens) no less than all of it.
STAY_SHARE, STAY_SHARE_OF_PART = 0.35, 0.25
PART_SHARE = 0.9
# Two masks that share as much are of one object.
SAME_OBJECT_IOU = 0.75
# Masks of the anchor's object, whose cues are looked at: such an overlap and share of evidence.
PEER_IOU, PEER_SHARE = 0.5, 0.25
# How much the probability of the class in a cue counts: as the power of it with a floor. With a power of 1 the telling
# part of an object (a lens) wins over all of it; where the class is seen in no cue, how masks agree decides.
CUE_POWER, CUE_FLOOR = 0.3, 0.02
# What the plain choice's agreement is multiplied by.
OWN_BONUS = 1.05
# What is narrower is a jag or a string, as a share of the longer side.
JAG = 0.01
N_DIGITS = 4


@dataclass(frozen=True)
class Judged:
    """A candidate as a classifier sees it.

    Attributes
    ----------
    class_probability : of the class in the cut-out
    covered_share : how much of the class goes from the photograph and its boxes when the object is greyed out; of the
        whole frame, how much of it shows the class
    cue_probability : of the class in its cues; None: nobody asked
    """

    candidate: MaskCandidate
    class_probability: float
    covered_share: float
    cue_probability: float | None = None

    @property
    def evidence(self) -> float:
        """How well the candidate shows the class, and all of it."""
        return round(self.class_probability * self.covered_share, N_DIGITS)

    @property
    def scores(self) -> dict[str, str | float]:
        """The row of the candidate in a manifest of masks."""
        own = {"class_probability": self.class_probability, "covered_share": self.covered_share}
        if self.cue_probability is not None:
            own["cue_probability"] = self.cue_probability
        rounded = {name: round(value, N_DIGITS) for name, value in {**self.candidate.scores, **own}.items()}
        return {"segmenter": self.candidate.segmenter, **rounded, "evidence": self.evidence}


@dataclass(frozen=True)
class ClassChoice:
    """The choice, the evidence for it, and the mask of the plain choice (None: there was none)."""

    choice: MaskChoice
    evidence: float
    plain: Mask | None

    def replaced(self, judged: Judged, why: str) -> ClassChoice:
        """Return the choice with a mask made of the chosen one."""
        choice = replace(
            self.choice,
            mask=judged.candidate.mask,
            segmenter=judged.candidate.segmenter,
            reason=f"{self.choice.reason}; {why}",
            scores=(*self.choice.scores, judged.scores),
        )
        return replace(self, choice=choice, evidence=judged.evidence)

    def resized(self, height: int, width: int) -> ClassChoice:
        """Return the choice with its masks at another size."""
        choice = replace(self.choice, mask=resized_mask(self.choice.mask, height, width))
        plain = None if self.plain is None else resized_mask(self.plain, height, width)
        return replace(self, choice=choice, plain=plain)


def choose_judged(
    judged: Sequence[Judged],
    plain: MaskChoice | Unavailable,
    cue_kind: CueKind,
    seen_in_cues: Callable[[Mask], float],
) -> ClassChoice | Unavailable:
    """Return the choice among judged candidates, those of the plain choice first.

    The plain choice stays where no candidate shows the class, with the flag `class_not_seen`. Else the object is the
    plain choice's, if that has its share of the best evidence, or the best candidate's. For a shape the mask of that
    object is taken whose cue shows the class best and that agrees best with what each segmenter found: a shadow, a
    missing barrel or a stray part is what one has and the others have not. A texture is taken from within, where a few
    pixels more make no difference.

    `seen_in_cues` gives the probability of the class in the cues of a mask.
    """
    rows = tuple(each.scores for each in judged)
    own = None if isinstance(plain, Unavailable) else _of_plain(judged, plain)
    best = max(judged, key=lambda each: each.evidence, default=None)
    if best is None or best.evidence < MIN_EVIDENCE:
        if isinstance(plain, Unavailable):
            return plain
        flags = tuple(sorted({*plain.flags, NOT_SEEN}))
        reason = f"{plain.reason}; no candidate shows the class"
        kept = replace(plain, reason=reason, scores=rows, flags=flags)
        return ClassChoice(kept, own.evidence if own else 0.0, plain.mask)
    stays = own is not None and _stays(own, best)
    anchor = own if own is not None and stays else best
    taken = anchor
    if cue_kind == "shape":
        peers = [
            replace(each, cue_probability=seen_in_cues(each.candidate.mask))
            for each in _peers(judged, anchor)
        ]
        taken = _agreed(peers, own)
        asked = {id(each.candidate): each for each in peers}
        rows = tuple(asked.get(id(each.candidate), each).scores for each in judged)
    why = (
        "the object of the plain choice"
        if stays
        else "an object that shows the class better than the plain choice"
    )
    if own is not None and not stays:
        why += f" ({own.evidence:.2f})"
    choice = MaskChoice(
        mask=taken.candidate.mask,
        segmenter=taken.candidate.segmenter,
        reason=f"{why}, evidence {taken.evidence:.2f}",
        scores=rows,
        flags=(UNCERTAIN,) if taken.candidate.scores.get("uncertainty", 0.0) > MAX_UNCERTAINTY else (),
    )
    return ClassChoice(choice, taken.evidence, None if isinstance(plain, Unavailable) else plain.mask)


def _of_plain(judged: Sequence[Judged], plain: MaskChoice) -> Judged | None:
    return next((each for each in judged if each.candidate.mask is plain.mask), None)


def _stays(own: Judged, best: Judged) -> bool:
    """Return whether the plain choice's object is taken."""
    if best.candidate.segmenter == FULL_FRAME or own.candidate.segmenter == FULL_FRAME:
        return own.evidence >= STAY_SHARE * best.evidence
    one, other = thumbnail(own.candidate.mask), thumbnail(best.candidate.mask)
    is_part = (one & other).sum() >= PART_SHARE * other.sum()
    needed = STAY_SHARE_OF_PART if is_part else STAY_SHARE
    return own.evidence >= needed * best.evidence or mask_iou(one, other) >= SAME_OBJECT_IOU


def _peers(judged: Sequence[Judged], anchor: Judged) -> list[Judged]:
    """Return the masks of the anchor's object, with it."""
    small = thumbnail(anchor.candidate.mask)
    return [
        each
        for each in judged
        if each is anchor
        or (
            each.evidence >= PEER_SHARE * anchor.evidence
            and mask_iou(thumbnail(each.candidate.mask), small) >= PEER_IOU
        )
    ]


def _agreed(peers: Sequence[Judged], own: Judged | None) -> Judged:
    """Return the mask that agrees best with what each segmenter found of an object and whose cue shows the class best.

    Each segmenter has one vote, its mask with the most evidence, and that evidence is the vote's weight; the plain
    choice counts half of the best at least. The mean overlap of a mask with the votes counts up to twice, the more
    regular its contour is, and is multiplied by a power of the probability of the class in its cue. Where the plain
    choice is nearly as good as the best, it stays.
    """
    is_own = [own is not None and each.candidate is own.candidate for each in peers]
    votes = _votes(peers, is_own)
    masks = [thumbnail(each.candidate.mask) for each in peers]
    all_weights = sum(weight for _, weight in votes)
    scores = np.array(
        [
            sum(weight * mask_iou(mask, thumbnail(vote.candidate.mask)) for vote, weight in votes)
            / all_weights
            * (1 + regularity(mask))
            * (CUE_FLOOR + (each.cue_probability or 0.0)) ** CUE_POWER
            for each, mask in zip(peers, masks, strict=True)
        ]
    )
    scores[is_own] *= OWN_BONUS
    return peers[int(np.argmax(np.round(scores, N_DIGITS)))]


def _votes(peers: Sequence[Judged], is_own: Sequence[bool]) -> list[tuple[Judged, float]]:
    best = max(each.evidence for each in peers)
    votes: dict[str, tuple[Judged, float]] = {}
    for each, plain in zip(peers, is_own, strict=True):
        weight = max(each.evidence, best / 2) if plain else each.evidence
        segmenter = each.candidate.segmenter.partition("@")[0].partition("/")[0]
        if segmenter not in votes or weight > votes[segmenter][1]:
            votes[segmenter] = (each, weight)
    return list(votes.values())


def regularity(mask: Mask) -> float:
    """Return how little a contour loses when its jags and strings go: the ratio of its lengths, in [0, 1].

    >>> bar = np.zeros((64, 64), bool)
    >>> bar[20:44, 8:56] = True
    >>> round(regularity(bar), 1)
    1.0
    """
    radius = max(1, round(JAG * max(mask.shape)))
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1, 2 * radius + 1))
    smooth = np.pad(mask.astype(np.uint8), 2 * radius)
    before = _contour_length(smooth)
    for operation in (cv2.MORPH_CLOSE, cv2.MORPH_OPEN):
        smooth = np.asarray(cv2.morphologyEx(smooth, operation, kernel), np.uint8)
    return min(1.0, _contour_length(smooth) / max(before, 1.0))


def _contour_length(mask: npt.NDArray[np.uint8]) -> float:
    contours, _ = cv2.findContours(mask, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    return sum(cv2.arcLength(contour, True) for contour in contours)
