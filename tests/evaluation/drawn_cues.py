"""Folders of small pictures, each of one colour, and networks that tell the colours apart."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from data_manifests.labels import imagenet_labels
from data_manifests.taxonomy import read_taxonomy

TAXONOMY = read_taxonomy("refined-bias-20")
WNIDS = tuple(imagenet_labels())
CLASSES = {"shape": ("clock", "ipod", "mouse"), "texture": ("broccoli", "tiger", "zebra")}
COLOURS = {
    "shape": ((200, 10, 10), (10, 200, 10), (10, 10, 200)),
    "texture": ((10, 200, 200), (200, 10, 200), (200, 200, 10)),
}


def draw_cues(folder: Path, n_per_class: int = 3) -> Path:
    """Return a folder `<kind>/<superclass>/*.png`: the colour of a picture says which class of its kind it is."""
    for kind, names in CLASSES.items():
        for name, colour in zip(names, COLOURS[kind], strict=True):
            (folder / kind / name).mkdir(parents=True, exist_ok=True)
            for number in range(n_per_class):
                level = np.array(colour, np.uint8) + np.uint8(number)
                pixels = np.broadcast_to(level, (12, 12, 3)).astype(np.uint8)
                Image.fromarray(pixels).save(folder / kind / name / f"{name}_{number}.png")
    return folder


def colour_matrix() -> npt.NDArray[np.float32]:
    """Return the matrix (3, 1000) by which a colour gives the highest logits to the classes that it stands for."""
    matrix = np.random.default_rng(0).uniform(-0.1, 0.1, (3, 1000)).astype(np.float32)
    for kind, names in CLASSES.items():
        for name, colour in zip(names, COLOURS[kind], strict=True):
            wnids = TAXONOMY.of_kind("shape" if kind == "shape" else "texture")[name]
            columns = [WNIDS.index(wnid) for wnid in wnids]
            matrix[:, columns] = (np.array(colour, np.float32) - np.mean(colour))[:, None] / 20
    return matrix


class Counted:
    """A function of one's own that counts the pictures that it was shown."""

    def __init__(self, fingerprint: str | None = "1") -> None:
        self.fingerprint = fingerprint
        self.n_shown = 0

    def __call__(self, images: list[npt.NDArray[np.uint8]]) -> npt.NDArray[np.float32]:
        """Return the logits (n, 1000) of n pictures."""
        self.n_shown += len(images)
        return np.stack([image.mean((0, 1)) @ colour_matrix() for image in images]).astype(np.float32)


def colours(images: list[npt.NDArray[np.uint8]]) -> npt.NDArray[np.float32]:
    """Return the logits (n, 1000) of n pictures."""
    return Counted()(images)


def talkative(images: list[npt.NDArray[np.uint8]]) -> npt.NDArray[np.float32]:
    """Return the logits (n, 1000) of n pictures, and say so."""
    sys.stdout.write("loaded pretrained weights\n")
    return Counted()(images)


counted = Counted()
forgetful = Counted(None)
no_function = 3


def flat(images: list[npt.NDArray[np.uint8]]) -> npt.NDArray[np.float32]:
    """Return one number a picture: no logits."""
    return np.zeros(len(images), np.float32)


def few(images: list[npt.NDArray[np.uint8]]) -> npt.NDArray[np.float32]:
    """Return logits of three labels, which are named."""
    return np.stack([image.mean((0, 1)) for image in images]).astype(np.float32)


few.wnids = ["n04548280", "n03584254", "n03793489"]  # type: ignore[attr-defined]
