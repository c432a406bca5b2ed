from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from data_manifests.errors import CuebenchError
from data_manifests.shipped import shipped_names
from evaluation.preprocessing import FOLDER, Preprocessing, read_preprocessing

PLAIN = Preprocessing(resize_px=4, crop_px=4, interpolation="nearest", mean=(0, 0, 0), std=(1, 1, 1))


def ramp(width: int, height: int) -> Image.Image:
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[..., 0] = np.arange(width)
    pixels[..., 1] = np.arange(height)[:, None]
    pixels[..., 2] = 200
    return Image.fromarray(pixels)


def test_values_are_scaled_and_standardised() -> None:
    settings = PLAIN.model_copy(update={"mean": (0.5, 0.25, 0.0), "std": (0.5, 0.25, 2.0)})
    found = settings.apply(Image.new("RGB", (4, 4), (255, 255, 255)))
    assert found.shape == (3, 4, 4)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[:, 0, 0], [1, 3, 0.5], rtol=1e-6)


def test_the_centre_of_the_longer_side_is_kept() -> None:
    assert (PLAIN.apply(ramp(8, 4))[0, 0] * 255).round().tolist() == [2, 3, 4, 5]
    assert (PLAIN.apply(ramp(4, 8))[1, :, 0] * 255).round().tolist() == [2, 3, 4, 5]


def test_squashing_keeps_the_whole_picture() -> None:
    squashed = PLAIN.model_copy(update={"fit": "squash"}).apply(ramp(8, 4))
    assert (squashed[0, 0] * 255).round().tolist() == [1, 3, 5, 7]


def test_a_picture_that_is_too_small_gets_a_frame() -> None:
    found = PLAIN.model_copy(update={"resize_px": 2}).apply(ramp(2, 2))[2]
    assert (found > 0).sum() == 4
    assert (found[1:3, 1:3] > 0).all()


def test_the_order_of_channels_and_axes_is_the_networks() -> None:
    plain = PLAIN.apply(ramp(4, 4))
    np.testing.assert_array_equal(PLAIN.model_copy(update={"channels": "BGR"}).apply(ramp(4, 4)), plain[::-1])
    other = PLAIN.model_copy(update={"layout": "NHWC"}).apply(ramp(4, 4))
    np.testing.assert_array_equal(other, plain.transpose(1, 2, 0))


def test_the_words_change_with_every_setting() -> None:
    changed: list[dict[str, object]] = [
        {"resize_px": 5},
        {"fit": "squash"},
        {"interpolation": "box"},
        {"std": (1, 1, 2)},
    ]
    assert len({str(PLAIN), *(str(PLAIN.model_copy(update=change)) for change in changed)}) == 5


@pytest.mark.parametrize("name", shipped_names(FOLDER))
def test_what_is_shipped_can_be_read(name: str) -> None:
    assert read_preprocessing(name).apply(ramp(300, 200)).shape == (3, 224, 224)


def test_mistakes_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text("resize = 8\ncrop_px = 0\nstd = [0.0, 1.0, 1.0]\n")
    with pytest.raises(
        CuebenchError, match=r"(?s)3 problems.*crop_px.*std.0.*resize: unknown key.*`resize_px`"
    ):
        read_preprocessing(str(path))
