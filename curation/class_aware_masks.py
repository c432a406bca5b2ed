"""Which mask shows the class: a classifier judges every candidate by its cut-out and by what it leaves behind.

A saliency network finds what stands out, which in a photograph taken in the wild is often not the object that the
photograph is of. The classifier proposes here, as a segmenter does: it is no part of a cue, whose mask is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from curation.class_aware_candidates import find_candidates
from curation.class_aware_choice import (
    MIN_EVIDENCE,
    NOT_SEEN,
    ClassChoice,
    Judged,
    choose_judged,
)
from curation.class_aware_cues import ClassJudge, Cues, CueViewer
from curation.class_aware_pictures import Image, crop, cut_out, overlap, shown, sub_windows, windows, without
from curation.class_aware_size import resized_mask, shrunk, shrunk_segmenter
from curation.class_aware_texture import choose_material
from data_manifests.records import CueKind
from generation.masks import FULL_FRAME, Mask, MaskCandidate, Segmenter, choose_mask, mask_parts, score_mask
from generation.outcome import Unavailable
from generation.photograph import Photograph
from generation.segmenters.grabcut import Box
from generation.segmenters.rembg import RembgSegmenter

Floats = npt.NDArray[np.float64]

# Goes into the hash by which judged photographs are kept: raise it when anything below changes what is chosen.
RULE_VERSION = 3

# A texture is cut from squares of this side at least (README: photograph size).
MIN_TEXTURE_PX = 80**2
N_BOXES = 3
N_LEVELS = 2
# A box is a window where the class is at least this likely, against the likeliest one, and that shares at most that
# much with the boxes before it.
MIN_BOX_SHARE, MAX_BOX_OVERLAP = 0.3, 0.4
# Candidates whose cut-out shows the class less, against the one that shows it best, are not judged further.
MIN_CUT_OUT_SHARE = 0.25
# Parts go where the odds of the class rise that much without them: what says nothing alone may be of the object.
MIN_ODDS_RATIO = 1.2
MAX_PARTS = 16


@dataclass(frozen=True)
class Sighting:
    """Where a classifier sees the class in a photograph.

    Attributes
    ----------
    boxes : windows where it is likeliest, the likeliest first, with its probability
    frame_share : the lower quartile of its probability in the smallest windows, as a share of the largest in any:
        near 1 where it is all over the frame, as honeycomb is, near 0 where it is in one place
    """

    boxes: tuple[tuple[Box, float], ...]
    frame_share: float


def choose_class_mask(
    judge: ClassJudge,
    segmenters: Sequence[Segmenter],
    photograph: Photograph,
    cue_kind: CueKind,
    draw: Callable[[Image, Mask], Cues],
) -> ClassChoice | Unavailable:
    """Return the candidate that shows the class, and what is chosen without a classifier (the plain choice).

    `draw` draws the cues of a photograph under a mask, by which masks of one object are told apart.
    """
    original = photograph.image
    height, width = original.shape[:2]
    segmenters = [shrunk_segmenter(segmenter, photograph) for segmenter in segmenters]
    photograph = shrunk(photograph)
    sighting = find_class(judge, photograph.image)
    candidates = find_candidates(photograph, segmenters, [box for box, _ in sighting.boxes])
    min_texture_share = MIN_TEXTURE_PX / (height * width)
    only_frame = {segmenter.name for segmenter in segmenters} == {FULL_FRAME}
    plain = choose_mask(candidates.plain, cue_kind, only_frame=only_frame)
    if cue_kind == "shape":
        every = [c for c in (*candidates.plain, *candidates.more) if c.segmenter != FULL_FRAME]
    else:
        every = [*candidates.plain, *(c for c in candidates.more if c.mask.mean() >= min_texture_share)]
    judged = judge_candidates(judge, photograph.image, every, sighting, n_sure=len(candidates.plain))
    finder = next((each for each in segmenters if isinstance(each, RembgSegmenter)), None)

    def draw_at_full_size(mask: Mask) -> Cues:
        return draw(original, resized_mask(mask, height, width))

    cues = CueViewer(judge, photograph.image, draw_at_full_size, finder)
    found = choose_judged(judged, plain, cue_kind, lambda mask: cues.class_probability(cues.draw(mask)))
    if isinstance(found, Unavailable):
        return found
    if cue_kind == "texture":
        found = of_one_material(cues, found, sighting, min_texture_share)
    elif NOT_SEEN not in found.choice.flags:
        found = without_strangers(judge, photograph.image, found, sighting)
    return found.resized(height, width)


def without_strangers(judge: ClassJudge, image: Image, found: ClassChoice, sighting: Sighting) -> ClassChoice:
    """Return the choice without the parts that do not show the class, if the others show it better than all do."""
    parts = mask_parts(found.choice.mask, MAX_PARTS)
    if len(parts) == 1:
        return found
    whole, *seen = judge.probabilities([cut_out(image, mask) for mask in (found.choice.mask, *parts)])
    kept = [part for part, probability in zip(parts, seen, strict=True) if probability >= MIN_EVIDENCE]
    if not kept or len(kept) == len(parts):
        return found
    mask = np.any(kept, axis=0)
    candidate = MaskCandidate(mask, f"{found.choice.segmenter}/shown", score_mask(mask))
    (judged,) = judge_candidates(judge, image, [candidate], sighting, n_sure=1)
    before, after = whole * (1 - judged.class_probability), judged.class_probability * (1 - whole)
    if after < MIN_ODDS_RATIO * before:
        return found
    return found.replaced(judged, f"{judged.evidence:.2f} without parts that do not show the class")


def of_one_material(cues: CueViewer, found: ClassChoice, sighting: Sighting, min_share: float) -> ClassChoice:
    """Return the choice, or the material in it whose cues show the class better and no object.

    A material holds `min_share` of the frame at least.
    """
    candidate = MaskCandidate(found.choice.mask, found.choice.segmenter)
    taken, whole = choose_material(cues, candidate, min_share)
    if taken is whole:
        return found
    (judged,) = judge_candidates(cues.judge, cues.image, [taken.candidate], sighting, n_sure=1)
    seen = taken.class_probability
    why = f"its cues show the class with {seen:.2f}, those of the whole with {whole.class_probability:.2f}"
    return found.replaced(replace(judged, cue_probability=seen), f"one material of it, {why}")


def find_class(judge: ClassJudge, image: Image) -> Sighting:
    """Return where the class is seen in a photograph, (H, W, 3) uint8, looked at through windows.

    The likeliest windows are looked into with smaller ones, `N_LEVELS` times.
    """
    boxes = windows(*image.shape[:2])
    seen = dict(
        zip(boxes, judge.probabilities([shown(crop(image, box)) for box in boxes]).tolist(), strict=True)
    )
    side = min(right - left for left, _, right, _ in boxes)
    small = [probability for (left, _, right, _), probability in seen.items() if right - left == side]
    frame_share = float(np.percentile(small, 25) / max(*seen.values(), 1e-9))
    for _ in range(N_LEVELS):
        within = [box for parent, _ in likeliest(seen) for box in sub_windows(parent) if box not in seen]
        found = judge.probabilities([shown(crop(image, box)) for box in within])
        seen.update(zip(within, found.tolist(), strict=True))
    return Sighting(tuple(likeliest(seen)), frame_share)


def likeliest(seen: Mapping[Box, float]) -> list[tuple[Box, float]]:
    """Return the few boxes with the largest probabilities that show different places; the first of equal ones."""
    ordered = sorted(seen.items(), key=lambda pair: -pair[1])
    kept: list[tuple[Box, float]] = []
    for box, probability in ordered:
        if len(kept) == N_BOXES or probability < MIN_BOX_SHARE * ordered[0][1]:
            break
        if all(overlap(box, other) <= MAX_BOX_OVERLAP for other, _ in kept):
            kept.append((box, probability))
    return kept


def judge_candidates(
    judge: ClassJudge,
    image: Image,
    candidates: Sequence[MaskCandidate],
    sighting: Sighting,
    n_sure: int = 0,
) -> list[Judged]:
    """Return the candidates with what the classifier sees in them.

    What they cover is asked of the first `n_sure`, and of the others whose cut-out shows the class well enough.
    """
    alone = judge.probabilities([cut_out(image, candidate.mask) for candidate in candidates])
    views = [(0, 0, image.shape[1], image.shape[0]), *(box for box, _ in sighting.boxes)]
    seen = [probability for _, probability in sighting.boxes]
    before = max(float(judge.probabilities([shown(image)])[0]) + sum(seen), 1e-9)
    judged = []
    for place, (candidate, probability) in enumerate(zip(candidates, alone, strict=True)):
        covered = 0.0
        if candidate.segmenter == FULL_FRAME:
            covered = sighting.frame_share
        elif place < n_sure or probability >= MIN_CUT_OUT_SHARE * alone.max():
            after = judge.probabilities(without(image, candidate.mask, views))
            covered = float(np.clip(1 - after.sum() / before, 0, 1))
        judged.append(Judged(candidate, float(probability), covered))
    return judged
