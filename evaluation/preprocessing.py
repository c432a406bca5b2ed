"""From a picture to what a network takes, for models that bring no transform of their own."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from PIL import Image
from pydantic import Field

from data_manifests.jsonl import canonical_json
from data_manifests.settings import Settings, parse_settings
from data_manifests.shipped import read_toml

FOLDER = "preprocessings"

Side = Annotated[int, Field(gt=0, le=4096)]
Channels = tuple[float, float, float]
Positive = Annotated[float, Field(gt=0)]


class Preprocessing(Settings):
    """Resize, crop the centre, scale to [0, 1], subtract `mean` and divide by `std`.

    Attributes
    ----------
    resize_px : the length of the shorter side (`fit` shorter), or of both (`fit` squash)
    crop_px : side of the square cut from the centre; a picture that is smaller gets a black frame
    mean, std : of red, green and blue, as shares of 255
    channels, layout : the order in which the network takes them
    """

    resize_px: Side = 256
    fit: Literal["shorter", "squash"] = "shorter"
    crop_px: Side = 224
    interpolation: Literal["nearest", "bilinear", "bicubic", "box", "hamming", "lanczos"] = "bilinear"
    mean: Channels = (0.485, 0.456, 0.406)
    std: tuple[Positive, Positive, Positive] = (0.229, 0.224, 0.225)
    channels: Literal["RGB", "BGR"] = "RGB"
    layout: Literal["NCHW", "NHWC"] = "NCHW"

    def __str__(self) -> str:
        """Return the settings as one line of JSON."""
        return canonical_json(self.model_dump(mode="json"))

    def apply(self, image: Image.Image) -> npt.NDArray[np.float32]:
        """Return the array of an RGB picture: (3, H, W), or (H, W, 3) with the layout NHWC."""
        square = _centre(self._resized(image), self.crop_px)
        values: npt.NDArray[np.float32] = np.asarray(square, np.float32) / np.float32(255)
        values = (values - _vector(self.mean)) / _vector(self.std)
        if self.channels == "BGR":
            values = values[..., ::-1]
        ordered = values if self.layout == "NHWC" else values.transpose(2, 0, 1)
        return np.ascontiguousarray(ordered, np.float32)

    def _resized(self, image: Image.Image) -> Image.Image:
        width, height = image.size
        scale = self.resize_px / min(width, height)
        size = (
            (self.resize_px, self.resize_px)
            if self.fit == "squash"
            else (max(self.resize_px, int(width * scale)), max(self.resize_px, int(height * scale)))
        )
        return image if image.size == size else image.resize(size, _FILTERS[self.interpolation])


_FILTERS = {filter_.name.lower(): filter_ for filter_ in Image.Resampling}


def _vector(values: Channels) -> npt.NDArray[np.float32]:
    return np.array(values, dtype=np.float32)


def _centre(image: Image.Image, side_px: int) -> Image.Image:
    """Return the square in the middle, black where the picture does not reach."""
    left, top = round((image.width - side_px) / 2), round((image.height - side_px) / 2)
    return image.crop((left, top, left + side_px, top + side_px))


def read_preprocessing(name_or_path: str) -> Preprocessing:
    """Return shipped settings by name, or those of a TOML file.

    Raises
    ------
    CuebenchError
        If there is no such file or name, or it has mistakes.
    """
    where, content = read_toml(name_or_path, FOLDER)
    return parse_settings(Preprocessing, content, where)
