"""The photograph's own alpha channel."""

from __future__ import annotations

import numpy as np

from generation.masks import MaskCandidate, propose_from
from generation.photograph import Photograph


class AlphaSegmenter:
    """Proposes what an informative alpha channel says."""

    name = "alpha"

    def propose(self, photograph: Photograph) -> list[MaskCandidate]:
        """Return the alpha channel as a mask; nothing if the photograph has none."""
        if photograph.alpha is None:
            return []
        return propose_from((photograph.alpha / 255).astype(np.float32), self.name)
