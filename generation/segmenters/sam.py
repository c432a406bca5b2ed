"""Segment Anything, prompted with a box or points."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
import numpy.typing as npt

from data_manifests.errors import CuebenchError, MissingExtraError
from generation.masks import MaskCandidate, clean_mask, score_mask
from generation.photograph import Photograph
from generation.segmenters.grabcut import Box, GrabCutSegmenter, check_box

MODEL_TYPES = ("vit_h", "vit_l", "vit_b")
# segment-anything declares none of what it imports.
NEEDED = ("segment_anything", "torch", "torchvision")
# What torch raises on files that hold no weights, or those of another network.
_NO_WEIGHTS = (RuntimeError, EOFError, LookupError, ValueError, TypeError, AttributeError, UnpicklingError)


class SamSegmenter:
    """Segment Anything from a checkpoint whose file name says its type (`sam_vit_b_01ec64.pth`).

    The prompt is a box, (left, top, right, bottom) in pixels; without one, the box around what GrabCut finds.

    Raises
    ------
    MissingExtraError
        If segment-anything or torch is not installed.
    CuebenchError
        If there is no such checkpoint, or its name does not say its type.
    """

    def __init__(self, checkpoint: str, box: Box | None = None) -> None:
        self.checkpoint = checkpoint
        self.model_type = _model_type(checkpoint)
        self.box = box
        self.name = f"sam:{Path(checkpoint).name}"
        self._predictor: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_predictor": None}

    def propose(self, photograph: Photograph) -> list[MaskCandidate]:
        """Return the three masks that SAM gives for the prompt, the one it trusts most first.

        Raises
        ------
        CuebenchError
            If the box does not lie within the photograph, or the checkpoint can't be loaded.
        """
        if self.box is not None:
            check_box(self.box, photograph)
        box = self.box or _found_box(photograph)
        if box is None:
            return []
        self._predictor = self._predictor or self._load()
        return self.propose_prompted(self._predictor, photograph.image, box=box)

    def propose_prompted(
        self,
        predictor: Any,
        image: npt.NDArray[np.uint8],
        *,
        box: Box | None = None,
        points: npt.NDArray[np.float64] | None = None,
        is_object: npt.NDArray[np.bool_] | None = None,
    ) -> list[MaskCandidate]:
        """Return SAM's masks for a box, or for (N, 2) points x, y with (N,) bool labels.

        Raises
        ------
        CuebenchError
            If the image is not (H, W, 3) uint8: SAM would take other arrays and normalise them wrongly.
        """
        if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
            raise CuebenchError(f"SAM needs an (H, W, 3) uint8 image, got {image.shape} {image.dtype}")
        predictor.set_image(image, image_format="RGB")
        masks, quality, _ = predictor.predict(
            point_coords=points,
            point_labels=None if is_object is None else is_object.astype(np.int64),
            box=None if box is None else np.array(box, np.float64),
            multimask_output=True,
        )
        order = np.argsort(-quality, kind="stable")
        cleaned = [(clean_mask(masks[i].astype(np.float32)), float(quality[i])) for i in order]
        return [
            MaskCandidate(mask, self.name, {**score_mask(mask), "predicted_iou": trust})
            for mask, trust in cleaned
            if mask.any()
        ]

    def _load(self) -> Any:
        from segment_anything import SamPredictor, sam_model_registry

        try:
            model = sam_model_registry[self.model_type](checkpoint=self.checkpoint)
        except _NO_WEIGHTS as error:
            said = str(error).partition("\n")[0] or type(error).__name__
            raise CuebenchError(
                f"{self.checkpoint}: not a {self.model_type} checkpoint of SAM ({said})"
            ) from error
        return SamPredictor(model)


def _model_type(checkpoint: str) -> str:
    """Return the type of a checkpoint; says what is missing before any photograph is read."""
    if any(find_spec(name) is None for name in NEEDED):
        raise MissingExtraError("the segmenter `sam`", "sam")
    kind = next((name for name in MODEL_TYPES if name in Path(checkpoint).name), None)
    if kind is None:
        raise CuebenchError(
            f"{checkpoint}: the name of a SAM checkpoint says its type: {', '.join(MODEL_TYPES)} is not in it"
        )
    if not Path(checkpoint).is_file():
        raise CuebenchError(f"{checkpoint}: no such SAM checkpoint")
    return kind


def _found_box(photograph: Photograph) -> Box | None:
    found = GrabCutSegmenter().propose(photograph)
    if not found:
        return None
    rows, columns = np.flatnonzero(found[0].mask.any(1)), np.flatnonzero(found[0].mask.any(0))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1
