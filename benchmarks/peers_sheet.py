"""Draws every stimulus of the peers from one photograph of scikit-image into one PNG, to be looked at.

Run: python -m benchmarks.peers_sheet OUT.png [SYSTEM]
"""

from __future__ import annotations

import sys
from pathlib import Path

import cv2
import numpy as np
from skimage import data

from benchmarks.timing import Picture
from generation.cue_files import encode_png
from generation.outcome import Unavailable
from generation.peers.pictures import Image
from generation.peers.systems import SYSTEMS, PeerPicture, stimuli_of
from generation.photograph import Photograph
from generation.segmenters.grabcut import GrabCutSegmenter

SIDE_PX, N_COLUMNS, LABEL_PX, GAP_PX = 224, 8, 40, 6
COFFEE_BOX = (30, 20, 570, 380)


def example() -> tuple[Picture, Picture]:
    """Return a cup cut out by a box, and gravel that fills its frame."""
    cup = np.asarray(data.coffee(), np.uint8)  # type: ignore[no-untyped-call]
    (candidate, *_) = GrabCutSegmenter(box=COFFEE_BOX).propose(Photograph("coffee.png", cup, None, ""))
    stones = data.gravel()  # type: ignore[no-untyped-call]
    gravel = np.asarray(cv2.cvtColor(stones, cv2.COLOR_GRAY2RGB), np.uint8)
    return (cup, candidate.mask), (gravel, np.ones(gravel.shape[:2], bool))


def labelled(image: Image, name: str) -> Image:
    """Return a picture over its name."""
    tile = np.full((SIDE_PX + LABEL_PX + GAP_PX, SIDE_PX + GAP_PX, 3), 200, np.uint8)
    tile[:SIDE_PX, :SIDE_PX] = image
    for line, start in enumerate(range(0, len(name), 40)):
        at = (2, SIDE_PX + 10 + 11 * line)
        cv2.putText(
            tile, name[start : start + 40], at, cv2.FONT_HERSHEY_SIMPLEX, 0.32, (0, 0, 0), 1, cv2.LINE_AA
        )
    return tile


def main(out: str, systems: list[str]) -> None:
    """Write the sheet of some systems."""
    (cup, cup_mask), (gravel, gravel_mask) = example()
    shape, texture = PeerPicture(cup, cup_mask), PeerPicture(gravel, gravel_mask)
    tiles = []
    for system in systems:
        for stimulus in stimuli_of(system, shape, texture, SIDE_PX, 1):
            if isinstance(stimulus.image, Unavailable):
                print(f"{system} {stimulus.name}: {stimulus.image.detail}")
                continue
            tiles.append(labelled(stimulus.image, f"{system} {stimulus.name}"))
    blank = np.full_like(tiles[0], 200)
    tiles += [blank] * (-len(tiles) % N_COLUMNS)
    rows = [np.hstack(tiles[start : start + N_COLUMNS]) for start in range(0, len(tiles), N_COLUMNS)]
    Path(out).write_bytes(encode_png(np.vstack(rows)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] or list(SYSTEMS))
