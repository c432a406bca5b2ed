"""Which of the materials of an object a texture is taken from: the one whose cues show the class, and no object."""

from __future__ import annotations

from dataclasses import dataclass

from curation.class_aware_choice import MIN_EVIDENCE, N_DIGITS
from curation.class_aware_cues import Cues, CueViewer
from curation.class_aware_materials import material_masks
from curation.class_aware_pictures import cut_out
from generation.masks import MaskCandidate

# One material is taken where its cues show the class clearly better than those of the whole; or nearly as well, if the
# rest, so much of the whole or more, does not show the class: then it is purer.
MATERIAL_SHARE, PURE_SHARE = 0.9, 1.3
MIN_REST_SHARE = 0.15
# Of what shows the class this well, against the best, that is taken whose cues show no object.
MIN_GOOD_SHARE = 0.3


@dataclass(frozen=True)
class Material:
    """The whole of a mask or one material of it, with its cues.

    Attributes
    ----------
    class_probability : of the class in its cues
    weight : how much that counts
    """

    candidate: MaskCandidate
    cues: Cues
    class_probability: float
    weight: float = 1.0

    @property
    def n_cues(self) -> int:
        """How many cues it gives."""
        return sum(cue is not None for cue in self.cues)


def choose_material(viewer: CueViewer, whole: MaskCandidate, min_share: float) -> tuple[Material, Material]:
    """Return the whole of a mask or the material that its texture is to be taken from, and the whole.

    A material holds `min_share` of the frame at least.

    Grass, legs before a background, leaves or a shadow in a mask make a texture of two materials. One that gives fewer
    cues than the whole is taken only where all others show an object. Where the class is seen in no cue, the largest
    counts as the best.
    """
    first = _judged(viewer, whole)
    every = [first]
    for each in material_masks(viewer.image, whole.mask, whole.segmenter):
        if min_share <= each.mask.mean() < whole.mask.mean():
            every.append(_judged(viewer, each, _weight(viewer, each, whole)))
    is_seen = max(each.class_probability for each in every) >= MIN_EVIDENCE

    def rank(each: Material) -> float:
        return each.weight * each.class_probability if is_seen else float(each.candidate.mask.mean())

    def n_lacking(each: Material) -> int:
        return max(0, first.n_cues - each.n_cues)

    ordered = sorted(every, key=lambda each: (n_lacking(each), -rank(each)))
    enough = MIN_GOOD_SHARE * rank(ordered[0])
    good = (each for each in ordered if each.n_cues > 0 and rank(each) >= enough)
    return next((each for each in good if not viewer.show_object(each.cues)), ordered[0]), first


def _judged(viewer: CueViewer, candidate: MaskCandidate, weight: float = 1.0) -> Material:
    cues = viewer.draw(candidate.mask)
    return Material(candidate, cues, round(viewer.class_probability(cues), N_DIGITS), weight)


def _weight(viewer: CueViewer, material: MaskCandidate, whole: MaskCandidate) -> float:
    rest = whole.mask & ~material.mask
    if rest.sum() < MIN_REST_SHARE * whole.mask.sum():
        return MATERIAL_SHARE
    (seen,) = viewer.judge.probabilities([cut_out(viewer.image, rest)])
    return PURE_SHARE if seen < MIN_EVIDENCE else MATERIAL_SHARE
