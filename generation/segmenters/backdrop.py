"""A plain backdrop, as product shots have: what is connected to the frame and coloured like it is no object."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from generation.masks import MaskCandidate, propose_from
from generation.photograph import Photograph


@dataclass(frozen=True)
class BackdropSegmenter:
    """The photograph without the backdrop that its frame shows.

    `tolerance` is the distance in CIE Lab (8 bits a channel) from one pixel of the backdrop to the next and to
    the frame's median colour times `n_tolerances`, so that shading may run over the backdrop; at least
    `min_frame_share` of the frame's pixels must be of the backdrop, or nothing is proposed.
    """

    tolerance: float = 6.0
    n_tolerances: float = 4.0
    min_frame_share: float = 0.7
    name: str = "backdrop"

    def propose(self, photograph: Photograph) -> list[MaskCandidate]:
        """Return what stands before the backdrop; nothing if the frame shows no plain one."""
        smooth = cv2.GaussianBlur(photograph.image, (0, 0), 1.0)
        lab = np.asarray(cv2.cvtColor(smooth, cv2.COLOR_RGB2LAB), np.uint8)
        frame = np.concatenate([lab[0], lab[-1], lab[:, 0], lab[:, -1]]).astype(np.float32)
        distance = np.linalg.norm(lab.astype(np.float32) - np.median(frame, axis=0), axis=2)
        alike = (distance < self.n_tolerances * self.tolerance) & (_steps(lab) < self.tolerance)
        backdrop = _connected_to_frame(alike)
        shown = np.concatenate([backdrop[0], backdrop[-1], backdrop[:, 0], backdrop[:, -1]])
        if shown.mean() < self.min_frame_share:
            return []
        return propose_from((~backdrop).astype(np.float32), self.name)


def _steps(lab: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Return how far colours differ within the 3x3 neighbours of each pixel, in Lab."""
    kernel = np.ones((3, 3), np.uint8)
    spread = cv2.dilate(lab, kernel).astype(np.float32) - cv2.erode(lab, kernel)
    steps: npt.NDArray[np.float32] = np.linalg.norm(spread, axis=2) / 2
    return steps


def _connected_to_frame(alike: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    _, labels = cv2.connectedComponents(alike.astype(np.uint8), connectivity=4)
    edge = np.unique(np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]]))
    connected: npt.NDArray[np.bool_] = np.isin(labels, edge[edge > 0])
    return connected
