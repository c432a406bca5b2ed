"""What a cue gives away that it should not: an object in a texture, its coarse layout, its place in a jigsaw."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from curation.audit_pictures import as_light, shape_numbers, texture_numbers
from data_manifests.records import CueKind
from data_manifests.storage import exists, join, read_bytes, write_bytes
from evaluation.run_model import logits_folder
from generation.masks import Probability, Saliency, finds_object
from generation.models import model_named
from generation.segmenters.rembg import RembgSegmenter

Image = npt.NDArray[np.uint8]

MODEL = "u2netp"

# the name of a low-pass: how wide the details are that it takes away, in px of a cue with a side and a grid
WIDTHS = ("cell", "eighth")


def width_px(name: str, side_px: int, grid: int) -> float:
    """Return the width of a low-pass: that of a cell, or an eighth of the side.

    >>> width_px("cell", 224, 16), width_px("eighth", 224, 16)
    (14.0, 28.0)
    """
    return side_px / (grid if name == "cell" else 8)


def low_pass(image: Image, width_px: float) -> Image:
    """Return the (H, W, 3) uint8 picture without details narrower than a width, in px.

    A Gaussian with a standard deviation of half the width: of a grating whose period is the width it leaves .7 %
    of the contrast, of one with twice that period 29 %.
    """
    blurred = cv2.GaussianBlur(image, (0, 0), width_px / 2, borderType=cv2.BORDER_REFLECT_101)
    return np.asarray(blurred, np.uint8)


def object_numbers(probability: Probability) -> dict[str, float]:
    """Return how sure a segmenter is of an object in a picture, from its probability map (H, W) in [0, 1].

    `object_confidence` is the largest probability, `object_area_share` the share above .5, and `has_object` 1 where
    it is above .9 with an area of 3 % to 80 %, else 0.
    """
    confidence, area = float(probability.max()), float((probability > 0.5).mean())
    return {
        "has_object": float(finds_object(probability)),
        "object_confidence": confidence,
        "object_area_share": area,
    }


def installed_saliency() -> Saliency | None:
    """Return u2netp, or None where it is not installed."""
    return RembgSegmenter.of(MODEL) if model_named(MODEL).installed else None


class ObjectFinder:
    """A saliency network that is shown cues instead of photographs; what it said is kept on disk."""

    def __init__(self, network: Saliency, folder: str | None = None) -> None:
        self._network = network
        self._folder = folder or str(Path(logits_folder()).parent / "objects")

    def numbers(self, data: bytes, image: Image) -> dict[str, float]:
        """Return `object_numbers` of a picture and the bytes of its file."""
        url = join(self._folder, f"{MODEL}-{hashlib.sha256(data).hexdigest()}.json")
        if exists(url):
            known: dict[str, float] = json.loads(read_bytes(url))
            return known
        found = object_numbers(self._network.probability(image))
        write_bytes(url, json.dumps(found).encode())
        return found


def pixel_numbers(kind: CueKind, grid: int | None, image: Image) -> dict[str, float]:
    """Return the quality numbers that the pixels of a cue tell, as the audit measures them.

    What the tiles of a texture can be put together to is called `pixel_reassembly_share`, for `reassembly_share` is
    told from the origin map.
    """
    grey = np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), np.uint8)
    if kind == "shape":
        return shape_numbers(as_light(grey))
    numbers = texture_numbers(image, grey, grid)
    return {"pixel_" * (name == "reassembly_share") + name: value for name, value in numbers.items()}
