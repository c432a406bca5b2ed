"""What a mask comes to: its cues, as a classifier and a network that finds objects see them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from curation.class_aware_pictures import Image
from generation.masks import Mask, Probability, finds_object

Cues = Sequence[Image | None]
DrawCues = Callable[[Mask], Cues]


class ClassViewer(Protocol):
    """Sees a class in pictures."""

    def probabilities(self, images: Sequence[Image]) -> np.typing.NDArray[np.float64]:
        """Return the probability of the class in each picture, (n,) in [0, 1]."""
        ...


class ObjectFinder(Protocol):
    """A network that finds what stands out in a picture."""

    def probability(self, image: Image) -> Probability:
        """Return the probability of an object, (H, W) float32 in [0, 1]."""
        ...


@dataclass(frozen=True)
class CueViewer:
    """Draws the cues of one photograph's masks and looks at them.

    `image` is the photograph at the size of the masks, from which cut-outs are taken. `finder` is None where no
    network is there that finds objects: then no cue shows one.
    """

    viewer: ClassViewer
    image: Image
    draw: DrawCues
    finder: ObjectFinder | None = None

    def class_probability(self, cues: Cues) -> float:
        """Return the mean probability of the class in cues and their mirror images; 0 of those that can't be had."""
        drawn = [cue for cue in cues if cue is not None]
        mirrored = [np.ascontiguousarray(cue[:, ::-1]) for cue in drawn]
        seen = self.viewer.probabilities([*drawn, *mirrored])
        return float(seen.sum()) / (2 * max(1, len(cues)))

    def show_object(self, cues: Cues) -> bool:
        """Return whether an object is found in any of the cues."""
        finder = self.finder
        return finder is not None and any(
            finds_object(finder.probability(cue)) for cue in cues if cue is not None
        )
