"""CPU time of a shape cue from a cached mask, one thread, beside decoding and encoding the same image.

Run: python -m benchmarks.shape_speed [PHOTO MASK]...   (without arguments: the photographs of scikit-image)
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterable, Iterator

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image
from skimage import data

from generation.shape import ShapeCue, ShapeParams, render_shape

SIDES_PX = (224, 512, 1024)
N_REPEATS = 3

Picture = tuple[npt.NDArray[np.uint8], npt.NDArray[np.bool_]]


def cpu_ms(work: Callable[[], object]) -> float:
    """Return the CPU time of the fastest of a few calls, in ms."""
    times = []
    for _ in range(N_REPEATS):
        start = time.process_time()
        work()
        times.append((time.process_time() - start) * 1000)
    return min(times)


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


def given_pictures(arguments: list[str]) -> Iterator[Picture]:
    """Yield the photographs and masks named in turns."""
    for photograph, mask in zip(arguments[::2], arguments[1::2], strict=True):
        with Image.open(photograph) as image, Image.open(mask) as grey:
            yield np.asarray(image.convert("RGB")), np.asarray(grey.convert("L")) > 127


def codec_ms(image: npt.NDArray[np.uint8], cue: ShapeCue) -> float:
    """Return the CPU time to decode the photograph from JPEG and to encode the cue as PNG, in ms."""
    jpeg = io.BytesIO()
    Image.fromarray(image).save(jpeg, "JPEG", quality=90)
    decode = cpu_ms(lambda: np.asarray(Image.open(io.BytesIO(jpeg.getvalue())).convert("RGB")))
    return decode + cpu_ms(lambda: Image.fromarray(cue.image).save(io.BytesIO(), "PNG"))


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
                codecs.append(codec_ms(image, cue))
        shape, codec = float(np.median(renders)), float(np.median(codecs))
        print(f"{side_px:>8}{shape:>11.1f}{max(renders):>9.1f}{codec:>10.1f}{shape / codec:>7.1f}")


if __name__ == "__main__":
    main(given_pictures(sys.argv[1:]) if len(sys.argv) > 1 else example_pictures())
