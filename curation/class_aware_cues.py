"""What a mask comes to: its cues, as a classifier and a network that finds objects see them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage
from scipy.special import softmax

from curation.class_aware_pictures import Image
from evaluation.models import Model
from generation.masks import Mask, Saliency, finds_object

Floats = npt.NDArray[np.float64]
Cues = Sequence[Image | None]
DrawCues = Callable[[Mask], Cues]


@dataclass(frozen=True)
class ClassJudge:
    """A classifier that is asked for one class: the sum of the probabilities of its labels' columns."""

    model: Model
    columns: tuple[int, ...]
    batch_size: int = 16

    def probabilities(self, images: Sequence[Image]) -> Floats:
        """Return the probability of the class in each picture, (n,) float64 in [0, 1]."""
        found = [np.empty(0)]
        for start in range(0, len(images), self.batch_size):
            batch = [PillowImage.fromarray(image) for image in images[start : start + self.batch_size]]
            shares = softmax(self.model.logits(batch).astype(np.float64), axis=1)
            found.append(shares[:, list(self.columns)].sum(1))
        return np.concatenate(found)


@dataclass(frozen=True)
class CueViewer:
    """Draws the cues of one photograph's masks and looks at them.

    `image` is the photograph at the size of the masks, from which cut-outs are taken. `finder` is None where no
    network is there that finds objects: then no cue shows one.
    """

    judge: ClassJudge
    image: Image
    draw: DrawCues
    finder: Saliency | None = None

    def class_probability(self, cues: Cues) -> float:
        """Return the mean probability of the class in cues and their mirror images; 0 of those that can't be had."""
        drawn = [cue for cue in cues if cue is not None]
        mirrored = [np.ascontiguousarray(cue[:, ::-1]) for cue in drawn]
        seen = self.judge.probabilities([*drawn, *mirrored])
        return float(seen.sum()) / (2 * max(1, len(cues)))

    def show_object(self, cues: Cues) -> bool:
        """Return whether an object is found in any of the cues."""
        finder = self.finder
        return finder is not None and any(
            finds_object(finder.probability(cue)) for cue in cues if cue is not None
        )
