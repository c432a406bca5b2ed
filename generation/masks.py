"""Masks: what segmenters propose, how a mask is cleaned, and which candidate is taken."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

from data_manifests import storage
from data_manifests.errors import CuebenchError
from data_manifests.records import CueKind
from generation.cue_files import encode_png
from generation.hashing import pixel_sha256
from generation.outcome import Unavailable
from generation.photograph import Photograph

Mask = npt.NDArray[np.bool_]
Probability = npt.NDArray[np.float32]

FULL_FRAME = "fullframe"
MIN_AREA_SHARE = 0.01
MAX_AREA_SHARE = 0.98
MIN_COMPONENT_SHARE = 0.02
MAX_HOLE_SHARE = 0.0005
SMOOTH_SHARE = 0.0015
MAX_UNCERTAINTY = 1.0
# A cue shows an object where a network that finds objects is as sure of one.
MIN_OBJECT_CONFIDENCE, MIN_OBJECT_SHARE, MAX_OBJECT_SHARE = 0.9, 0.03, 0.80
# Intersection over union. Of u2netp's masks and GrabCut's on 51 photographs of the 20 classes ten lie below,
# where one of them shows something else, and none between .52 and .64.
MIN_AGREEMENT = 0.5

UNCERTAIN, FALLBACK, DISAGREE = "mask_uncertain", "mask_fallback", "masks_disagree"

# What Pillow raises on damaged files of the kinds that masks come in.
_UNREADABLE = (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError)


@dataclass(frozen=True)
class MaskCandidate:
    """A mask, (H, W) bool, True on the object, with who proposed it and its scores (see `score_mask`)."""

    mask: Mask
    segmenter: str
    scores: dict[str, float] = field(default_factory=dict)


class Segmenter(Protocol):
    """A source of masks.

    To add one, write a class with these two members in a file of `generation/segmenters` and name it in
    `segmenter_for`. It must give the same masks for the same photograph, be picklable before its first use,
    and propose nothing (an empty list) where it finds nothing.
    """

    @property
    def name(self) -> str:
        """What recipes and manifests call it."""
        ...

    def propose(self, photograph: Photograph) -> list[MaskCandidate]:
        """Return the masks that it finds, best first."""
        ...


@dataclass(frozen=True)
class MaskChoice:
    """The candidate that was taken, why, the scores of all of them, and the flags of a doubtful choice."""

    mask: Mask
    segmenter: str
    reason: str
    scores: tuple[dict[str, str | float], ...]
    flags: tuple[str, ...] = ()


def clean_mask(probability: Probability, threshold: float = 0.5) -> Mask:
    """Return the mask of a probability map (H, W) in [0, 1]: p > `threshold`, without specks, pinholes and jags.

    Components below 2 % of the largest go, holes below .05 % of the frame are filled (a trigger guard stays
    open), and the contour is smoothed with a Gaussian of .15 % of the diagonal.
    """
    mask = probability > threshold
    mask = _without_small(mask, MIN_COMPONENT_SHARE * int(_largest_part(mask).sum()))
    mask = ~_without_small(~mask, MAX_HOLE_SHARE * mask.size)
    sigma = SMOOTH_SHARE * float(np.hypot(*mask.shape))
    smooth: Mask = cv2.GaussianBlur(mask.astype(np.float32), (0, 0), max(sigma, 0.3)) > 0.5
    return smooth


def _without_small(mask: Mask, min_area: float) -> Mask:
    _, labels, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8))
    keep = stats[:, cv2.CC_STAT_AREA] >= min_area
    keep[0] = False
    kept: Mask = keep[labels]
    return kept


def mask_parts(mask: Mask, n_most: int) -> list[Mask]:
    """Return the components of a mask, the largest first, `n_most` of them; of one size in reading order."""
    _, labels, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8))
    order = np.argsort(-stats[1:, cv2.CC_STAT_AREA], kind="stable")[:n_most]
    return [labels == 1 + place for place in order]


def _largest_part(mask: Mask) -> Mask:
    """Return the largest component, or the mask where it is empty."""
    return next(iter(mask_parts(mask, 1)), mask)


def score_mask(mask: Mask, probability: Probability | None = None) -> dict[str, float]:
    """Return the scores of a mask.

    `area_share` of the frame; `n_components`; `border_share`, the part of its contour that lies on the frame;
    `uncertainty`, the pixels with .1 < p < .9 over those with p > .5 (0 where there is no probability): good
    masks lie below .3, photographs without a salient object above 1; `max_probability`.
    """
    n_labels, _ = cv2.connectedComponents(mask.astype(np.uint8))
    inner = cv2.erode(mask.astype(np.uint8), np.ones((3, 3), np.uint8), borderValue=0).astype(bool)
    contour = mask & ~inner
    frame = np.ones_like(mask)
    frame[1:-1, 1:-1] = False
    scores = {
        "area_share": float(mask.mean()),
        "n_components": float(n_labels - 1),
        "border_share": float((contour & frame).sum() / max(1, contour.sum())),
    }
    if probability is not None:
        unsure = int(((probability > 0.1) & (probability < 0.9)).sum())
        scores["uncertainty"] = float(unsure / max(1, int((probability > 0.5).sum())))
        scores["max_probability"] = float(probability.max())
    return scores


class Saliency(Protocol):
    """A network that finds what stands out in a picture."""

    def probability(self, image: npt.NDArray[np.uint8]) -> Probability:
        """Return the probability of an object, (H, W) float32 in [0, 1]."""
        ...


def finds_object(probability: Probability) -> bool:
    """Return whether a map, (H, W) in [0, 1], is sure of an object: a peak above .9, and 3 % to 80 % above .5."""
    area = float((probability > 0.5).mean())
    return bool(probability.max() > MIN_OBJECT_CONFIDENCE) and MIN_OBJECT_SHARE < area < MAX_OBJECT_SHARE


def propose_from(probability: Probability, segmenter: str) -> list[MaskCandidate]:
    """Return the candidates of a probability map: its mask and, if it has several parts, the largest one."""
    mask = clean_mask(probability)
    if not mask.any():
        return []
    candidates = [MaskCandidate(mask, segmenter, score_mask(mask, probability))]
    if candidates[0].scores["n_components"] > 1:
        alone = _largest_part(mask)
        candidates.append(MaskCandidate(alone, f"{segmenter}/largest", score_mask(alone, probability)))
    return candidates


def choose_mask(
    candidates: Sequence[MaskCandidate], cue_kind: CueKind, *, only_frame: bool = False
) -> MaskChoice | Unavailable:
    """Return the first candidate that can carry a cue, with the reason; segmenters are named best first.

    A shape needs an object: between 1 % and 98 % of the frame. A texture without a confident object is taken
    to fill the frame where `fullframe` is among the candidates; with `only_frame` nobody looked for an
    object, and that is no makeshift. The choice proposes; people decide: `mask_uncertain` flags an object
    that its segmenter is unsure of, `mask_fallback` a frame taken for want of an object, `masks_disagree` an
    object that shares less than half with what every other segmenter found.
    """
    scores: tuple[dict[str, str | float], ...] = tuple(
        {"segmenter": c.segmenter, **c.scores, **_agreement(c, candidates)} for c in candidates
    )
    objects = [c for c in candidates if c.segmenter != FULL_FRAME]
    frames = [c for c in candidates if c.segmenter == FULL_FRAME] if cue_kind == "texture" else []
    usable = [c for c in objects if MIN_AREA_SHARE <= c.scores["area_share"] <= MAX_AREA_SHARE]
    confident = [c for c in usable if c.scores.get("uncertainty", 0.0) <= MAX_UNCERTAINTY]
    if frames and not confident:
        why = "the segmenters are unsure" if usable else "no object was found"
        reason = "no other segmenter is named" if only_frame else why
        return MaskChoice(
            mask=frames[0].mask,
            segmenter=FULL_FRAME,
            reason=f"{reason}, so the texture is taken to fill the frame",
            scores=scores,
            flags=() if only_frame else (FALLBACK,),
        )
    for chosen, others in ((confident, "confident"), (usable, "uncertain")):
        if chosen:
            reason = f"first {others} candidate of {len(candidates)}"
            flags = tuple(_doubts(chosen[0], candidates, is_confident=chosen is confident))
            return MaskChoice(chosen[0].mask, chosen[0].segmenter, reason, scores, flags)
    if only_frame:
        return Unavailable("full_frame", "only `fullframe` is named, which has no outline; name a segmenter")
    if not objects:
        return Unavailable("no_foreground", "no segmenter found an object; draw a mask or pick one by hand")
    area = max(c.scores["area_share"] for c in objects)
    if area > MAX_AREA_SHARE:
        return Unavailable("full_frame", f"the mask fills {area:.0%} of the frame: there is no outline")
    return Unavailable("mask_empty", f"the largest mask holds {area:.1%} of the frame, 1 % is needed")


def _doubts(
    candidate: MaskCandidate, candidates: Sequence[MaskCandidate], *, is_confident: bool
) -> Iterator[str]:
    if not is_confident:
        yield UNCERTAIN
    if _agreement(candidate, candidates).get("agreement", 1.0) < MIN_AGREEMENT:
        yield DISAGREE


def _agreement(candidate: MaskCandidate, candidates: Sequence[MaskCandidate]) -> dict[str, float]:
    """Return the largest intersection over union with a candidate of another segmenter."""
    own = candidate.segmenter.partition("/")[0]
    shares = [
        mask_iou(candidate.mask, other.mask)
        for other in candidates
        if other.segmenter.partition("/")[0] != own and other.segmenter != FULL_FRAME
    ]
    return {"agreement": max(shares)} if shares and candidate.segmenter != FULL_FRAME else {}


def mask_iou(one: Mask, other: Mask) -> float:
    """Return the intersection over union of two masks of one size; 0 where both are empty."""
    return float((one & other).sum() / max(1, int((one | other).sum())))


def mask_sha256(mask: Mask) -> str:
    """Return the hash of a mask's pixels."""
    return pixel_sha256(mask)


def mask_file_name(digest: str) -> str:
    """Return where the mask of a hash lies in a folder with masks."""
    return f"masks/{digest}.png"


def store_mask(folder: str, mask: Mask) -> str:
    """Write a mask below a folder, by its hash, and return that."""
    digest = mask_sha256(mask)
    storage.write_bytes(storage.join(folder, mask_file_name(digest)), encode_mask(mask))
    return digest


def encode_mask(mask: Mask) -> bytes:
    """Return a mask as a grey PNG, 255 on the object."""
    return encode_png(mask.astype(np.uint8) * 255)


def read_mask(data: bytes) -> Mask:
    """Return the mask in an image file: True where it is lighter than the middle grey.

    An image with transparent parts is read by its alpha channel.

    Raises
    ------
    CuebenchError
        If the bytes are no readable image, or one whose white is not known (32-bit integers, floats).
    """
    try:
        with Image.open(io.BytesIO(data)) as image:
            image.load()
    except _UNREADABLE as error:
        raise CuebenchError(f"not a readable mask image ({error})") from error
    if image.mode in ("I", "F"):
        raise CuebenchError(f"a mask with 32 bits a pixel (mode {image.mode}); save it as 8-bit grey")
    if image.mode.startswith("I;16"):
        # Pillow's own conversion clips: all but the darkest would be white.
        return np.asarray(image) >= 2**15
    # An opaque alpha channel is what editors add by themselves; it says nothing.
    if image.mode in ("RGBA", "LA") and image.getextrema()[-1] != (255, 255):
        return np.asarray(image.getchannel("A")) > 127
    return np.asarray(image.convert("L")) > 127
