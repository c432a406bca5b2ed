"""What the benchmarks of the cues share: CPU time, pictures given on the command line, the codecs beside it."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from PIL import Image

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


def given_pictures(arguments: list[str]) -> Iterator[Picture]:
    """Yield the photographs and masks named in turns."""
    for photograph, mask in zip(arguments[::2], arguments[1::2], strict=True):
        with Image.open(photograph) as image, Image.open(mask) as grey:
            yield np.asarray(image.convert("RGB")), np.asarray(grey.convert("L")) > 127


def codec_ms(image: npt.NDArray[np.uint8], cue_image: npt.NDArray[np.uint8]) -> float:
    """Return the CPU time to decode the photograph from JPEG and to encode the cue as PNG, in ms."""
    jpeg = io.BytesIO()
    Image.fromarray(image).save(jpeg, "JPEG", quality=90)
    decode = cpu_ms(lambda: np.asarray(Image.open(io.BytesIO(jpeg.getvalue())).convert("RGB")))
    return decode + cpu_ms(lambda: Image.fromarray(cue_image).save(io.BytesIO(), "PNG"))
