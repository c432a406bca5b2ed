"""Classifiers that tell colours: `callable:tests.curation.colour_models:red_means_revolver`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from data_manifests.labels import imagenet_labels

REVOLVER, STRAWBERRY = "n04086273", "n07745940"
LABELS = list(imagenet_labels())


def is_red(image: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Return which pixels are red: (H, W) bool."""
    levels = image.astype(np.int64)
    return np.asarray((levels[..., 0] > 150) & (levels[..., 1:].max(2) < 100))


def red_means_revolver(images: list[npt.NDArray[np.uint8]]) -> npt.NDArray[np.float32]:
    """Return logits (n, 1000): a revolver or a strawberry, by the share of red, else anything."""
    logits = np.zeros((len(images), len(LABELS)), np.float32)
    for row, image in zip(logits, images, strict=True):
        row[[LABELS.index(REVOLVER), LABELS.index(STRAWBERRY)]] = 12 * min(
            1.0, 4 * float(is_red(image).mean())
        )
    return logits


red_means_revolver.fingerprint = "1"  # type: ignore[attr-defined]
