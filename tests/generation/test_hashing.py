from __future__ import annotations

import hashlib
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from generation.hashing import perceptual_hash, pixel_sha256
from tests.generation import torture


def bits_between(one: str, other: str) -> int:
    return (int(one, 16) ^ int(other, 16)).bit_count()


@pytest.mark.parametrize(
    ("shape", "dtype", "head"),
    [
        ((2, 3), np.uint8, b"L|2x3|"),
        ((2, 3), np.bool_, b"1|2x3|"),
        ((2, 3, 3), np.uint8, b"RGB|2x3x3|"),
        ((2, 3, 4), np.uint8, b"RGBA|2x3x4|"),
        ((2, 3, 2), np.int32, b"<i4|2x3x2|"),
        ((2, 3), np.float32, b"<f4|2x3|"),
    ],
)
def test_the_hash_covers_mode_shape_and_bytes(shape: tuple[int, ...], dtype: type, head: bytes) -> None:
    pixels: npt.NDArray[Any] = np.ones(shape, dtype=dtype)

    assert pixel_sha256(pixels) == hashlib.sha256(head + pixels.tobytes()).hexdigest()


def test_the_hash_does_not_depend_on_the_layout_in_memory() -> None:
    pixels = torture.scene(1)

    assert pixel_sha256(pixels[:, ::-1][:, ::-1]) == pixel_sha256(pixels)
    assert pixel_sha256(np.asfortranarray(pixels)) == pixel_sha256(pixels)


def test_one_level_of_one_pixel_changes_the_hash() -> None:
    pixels = torture.scene(1).copy()
    before = pixel_sha256(pixels)
    pixels[5, 5, 1] ^= 1

    assert pixel_sha256(pixels) != before


def test_the_perceptual_hash_agrees_with_its_definition() -> None:
    image = np.repeat(np.random.default_rng(1).integers(0, 256, (32, 32, 1), np.uint8), 3, axis=2)
    places = np.arange(32)

    expected = [
        sum(
            image[y, x, 0] * np.cos(np.pi * v * (2 * y + 1) / 64) * np.cos(np.pi * u * (2 * x + 1) / 64)
            for y in places
            for x in places
        )
        for v in range(8)
        for u in range(8)
    ]

    bits = "".join("1" if value > np.median(expected) else "0" for value in expected)
    assert perceptual_hash(image) == f"{int(bits, 2):016x}"


def test_saving_and_scaling_again_change_few_bits_of_the_perceptual_hash() -> None:
    for seed in range(10):
        image = torture.scene(seed, 400, 300)
        stream = BytesIO()
        Image.fromarray(image).save(stream, "JPEG", quality=40)
        saved = np.asarray(Image.open(stream))
        scaled = np.asarray(Image.fromarray(image).resize((173, 131)))

        assert bits_between(perceptual_hash(image), perceptual_hash(saved)) <= 4
        assert bits_between(perceptual_hash(image), perceptual_hash(scaled)) <= 4


def test_different_pictures_differ_in_many_bits_of_the_perceptual_hash() -> None:
    hashes = [perceptual_hash(torture.scene(seed)) for seed in range(20)]

    assert min(bits_between(one, other) for one in hashes for other in hashes if one != other) > 8
    assert len(set(hashes)) == 20
