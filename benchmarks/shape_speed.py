"""CPU time of a shape cue from a cached mask, one thread, beside decoding and encoding the same image.

Run: python -m benchmarks.shape_speed [PHOTO MASK]...   (without arguments: the photographs of scikit-image)
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import cv2
import numpy as np
from skimage import data

from benchmarks.timing import Picture, codec_ms, cpu_ms, given_pictures
from generation.shape import ShapeCue, ShapeParams, render_shape

SIDES_PX = (224, 512, 1024)


def example_pictures() -> Iterator[Picture]:
    """Yield photographs of scikit-image with the ellipse in their middle as mask."""
    for name in ("astronaut", "chelsea", "coffee", "rocket"):
        image = getattr(data, name)()
        height, width = image.shape[:2]
        axes = (int(width * 0.45), int(height * 0.45))
        mask = cv2.ellipse(
            np.zeros((height, width), np.uint8), (width // 2, height // 2), axes, 0, 0, 360, 1, -1
        )
        yield np.asarray(image, np.uint8), mask > 0


def main(pictures: Iterable[Picture]) -> None:
    """Print the table: medians over the pictures."""
    cv2.setNumThreads(1)
    pictures, params = list(pictures), ShapeParams()
    print(f"{'side_px':>8}{'median ms':>11}{'max ms':>9}{'codec ms':>10}{'ratio':>7}   n = {len(pictures)}")
    for side_px in SIDES_PX:
        renders, codecs = [], []
        for image, mask in pictures:
            cue = render_shape(image, mask, side_px, params)
            if isinstance(cue, ShapeCue):
                renders.append(cpu_ms(lambda i=image, m=mask, s=side_px: render_shape(i, m, s, params)))  # type: ignore[misc]
                codecs.append(codec_ms(image, cue.image))
        shape, codec = float(np.median(renders)), float(np.median(codecs))
        print(f"{side_px:>8}{shape:>11.1f}{max(renders):>9.1f}{codec:>10.1f}{shape / codec:>7.1f}")


if __name__ == "__main__":
    main(given_pictures(sys.argv[1:]) if len(sys.argv) > 1 else example_pictures())
