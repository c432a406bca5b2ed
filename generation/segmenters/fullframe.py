"""The whole frame, for a texture that fills its photograph."""

from __future__ import annotations

import numpy as np

from generation.masks import FULL_FRAME, MaskCandidate, score_mask
from generation.photograph import Photograph


class FullFrameSegmenter:
    """Proposes the whole frame."""

    name = FULL_FRAME

    def propose(self, photograph: Photograph) -> list[MaskCandidate]:
        """Return a mask of the whole frame."""
        mask = np.ones(photograph.image.shape[:2], bool)
        return [MaskCandidate(mask, self.name, score_mask(mask))]
