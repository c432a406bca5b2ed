"""The ONNX models of rembg, run directly: offline, hash-checked, with the raw probability kept.

rembg itself stretches every prediction to its own minimum and maximum, so that even a blank picture gets a
mask, and its import takes seconds; it is used here for fetching only.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from PIL import Image

from data_manifests.errors import CuebenchError
from generation.masks import MaskCandidate, Probability, propose_from
from generation.models import Model, checked_path, model_named
from generation.photograph import Photograph


class RembgSegmenter:
    """A salient-object network of rembg, on the CPU, one thread."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.name = f"rembg:{model.name}"
        self._session: Any = None

    @classmethod
    def of(cls, name: str, *, accept_non_commercial: bool = False) -> RembgSegmenter:
        """Return the segmenter of a model by name.

        Raises
        ------
        CuebenchError
            If the model is unknown, remote, not for commercial use and not accepted, or not installed.
        """
        model = model_named(name)
        if model.non_commercial and not accept_non_commercial:
            raise CuebenchError(
                f"rembg:{name}: its licence ({model.license}) rules out commercial use; set "
                "accept_non_commercial = true under [mask] in the recipe if that is fine for you"
            )
        checked_path(model)
        return cls(model)

    def __getstate__(self) -> dict[str, Any]:
        # A session can't be pickled; every process makes its own.
        return {**self.__dict__, "_session": None}

    def propose(self, photograph: Photograph) -> list[MaskCandidate]:
        """Return the salient object, and its largest part where it has several."""
        return propose_from(self.probability(photograph.image), self.name)

    def probability(self, image: np.typing.NDArray[np.uint8]) -> Probability:
        """Return the network's probability of foreground, (H, W) float32 in [0, 1]."""
        side = self.model.side_px
        small = np.asarray(Image.fromarray(image).resize((side, side), Image.Resampling.LANCZOS))
        values = small.astype(np.float32) / max(int(small.max()), 1)
        mean, std = np.array(self.model.mean, np.float32), np.array(self.model.std, np.float32)
        values = (values - mean) / std
        session = self._session = self._session or self._open()
        (output, *_) = session.run(None, {session.get_inputs()[0].name: values.transpose(2, 0, 1)[None]})
        raw = np.asarray(output)[0, 0].astype(np.float32)
        if self.model.output == "logit":
            raw = 1 / (1 + np.exp(-raw))
        height, width = image.shape[:2]
        full: Probability = cv2.resize(raw, (width, height), interpolation=cv2.INTER_LINEAR)
        return np.clip(full, 0, 1)

    def _open(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        # Parallelism is by process; a spinning pool per worker would only fight for the cores.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        path = str(checked_path(self.model))
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
