"""CPU time of a texture cue from a cached mask, one thread, beside decoding and encoding the same image.

Run: python -m benchmarks.texture_speed [PHOTO MASK]...   (without arguments: the photographs of scikit-image)
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import cv2
import numpy as np
from skimage import data

from benchmarks.timing import Picture, codec_ms, cpu_ms, given_pictures
from generation.texture import TextureCue, TextureParams, render_texture

SIDES_PX = (224, 512, 1024)
GRIDS = (4, 8, 16, 32)
SEED = 0


def example_pictures() -> Iterator[Picture]:
    """Yield textures of scikit-image that fill their frame, and the middle of its cat."""
    for name in ("grass", "gravel", "brick"):
        image = cv2.cvtColor(getattr(data, name)(), cv2.COLOR_GRAY2RGB)
        yield np.asarray(image, np.uint8), np.ones(image.shape[:2], bool)
    image = data.chelsea()  # type: ignore[no-untyped-call]
    mask = np.zeros(image.shape[:2], bool)
    height, width = mask.shape
    mask[height // 10 : -(height // 10), width // 10 : -(width // 10)] = True
    yield np.asarray(image, np.uint8), mask


def main(pictures: Iterable[Picture]) -> None:
    """Print the table: medians over the pictures for each grid, and the median of the grids."""
    cv2.setNumThreads(1)
    pictures, params = list(pictures), TextureParams()
    print(f"{'side_px':>8}{'grid':>7}{'n':>4}{'median ms':>11}{'max ms':>9}{'codec ms':>10}{'ratio':>7}")
    for side_px in SIDES_PX:
        medians = []
        for grid in GRIDS:
            renders, codecs = [], []
            for image, mask in pictures:
                cue = render_texture(image, mask, side_px, grid, SEED, params)
                if isinstance(cue, TextureCue):
                    arguments = (image, mask, side_px, grid, SEED, params)
                    renders.append(cpu_ms(lambda a=arguments: render_texture(*a)))  # type: ignore[misc]
                    codecs.append(codec_ms(image, cue.image))
            if not renders:
                print(f"{side_px:>8}{grid:>7}{0:>4}   no picture has texture enough")
                continue
            texture, codec = float(np.median(renders)), float(np.median(codecs))
            medians.append(texture)
            print(
                f"{side_px:>8}{grid:>7}{len(renders):>4}{texture:>11.1f}{max(renders):>9.1f}{codec:>10.1f}"
                f"{texture / codec:>7.1f}"
            )
        if medians:
            print(f"{side_px:>8} median{'':>4}{np.median(medians):>11.1f}")


if __name__ == "__main__":
    main(given_pictures(sys.argv[1:]) if len(sys.argv) > 1 else example_pictures())
