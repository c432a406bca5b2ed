from __future__ import annotations

import re
from collections import Counter

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image as PillowImage
from scipy.ndimage import convolve

from data_manifests.errors import CuebenchError
from generation.peers.burgert import (
    PUBLISHED,
    Bilateral,
    ChannelShuffle,
    Gaussian,
    GreyBlend,
    NonLocalMeans,
    PatchRotation,
    PatchShuffle,
    Step,
    Suppression,
    squash,
)
from generation.quilting import Random

Pixels = npt.NDArray[np.uint8]


def noise(height: int = 32, width: int = 32, seed: int = 3) -> Pixels:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def applied(step: Step, image: Pixels, seed: int = 0) -> Pixels:
    return step.apply(image, Random(seed))


def test_the_published_protocol_has_68_settings() -> None:
    assert Counter(suppression.protocol for suppression in PUBLISHED) == {
        "patch_shuffle": 8,
        "patch_rotation": 8,
        "bilateral": 6,
        "gaussian": 7,
        "nl_means": 5,
        "grey": 5,
        "channel_shuffle": 1,
        "patch_shuffle_grey": 8,
        "bilateral_patch_shuffle": 6,
        "fixed_bilateral_patch_shuffle": 8,
        "bilateral_grey": 6,
    }


def test_names_are_unique_and_fit_for_a_folder() -> None:
    names = [suppression.name for suppression in PUBLISHED]
    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch(r"[a-z_]+(-[a-z_]+=[\d.]+)*", name)] == []


def test_the_parameters_of_a_double_are_those_of_both_steps() -> None:
    (double, *_) = [s for s in PUBLISHED if s.protocol == "bilateral_patch_shuffle"]
    assert double.parameters == {"diameter_px": 4, "sigma_colour": 50, "sigma_space": 75, "grid": 2}
    (*_, strongest) = [s for s in PUBLISHED if s.protocol == "bilateral_patch_shuffle"]
    assert strongest.name == "bilateral_patch_shuffle-diameter_px=14-sigma_colour=200-grid=12"


def test_a_double_is_one_step_after_the_other() -> None:
    image = noise()
    double = Suppression("both", ("shape", "colour"), (PatchShuffle(4), GreyBlend(1.0)))
    random = Random(5)
    expected = GreyBlend(1.0).apply(PatchShuffle(4).apply(image, random), random)
    np.testing.assert_array_equal(double.apply(image, 5), expected)


@pytest.mark.parametrize("suppression", PUBLISHED, ids=lambda s: s.name)
def test_every_setting_keeps_the_size_and_repeats_itself(suppression: Suppression) -> None:
    image = noise(48, 48)
    kept = image.copy()
    first, again = suppression.apply(image, 7), suppression.apply(image, 7)
    assert first.shape == image.shape
    assert first.dtype == np.uint8
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(image, kept)


def test_grey_is_that_of_pillow_and_half_a_blend_lies_between() -> None:
    image = noise()
    grey = np.asarray(PillowImage.fromarray(image).convert("L")).astype(int)
    whole = applied(GreyBlend(1.0), image).astype(int)
    assert np.abs(whole - grey[..., None]).max() <= 1
    half = applied(GreyBlend(0.5), image).astype(int)
    assert np.abs(2 * half - (whole + image)).max() <= 1
    np.testing.assert_array_equal(applied(GreyBlend(0.0), image), image)


def test_a_blend_worked_out_by_hand() -> None:
    red = np.full((1, 1, 3), (200, 0, 0), np.uint8)  # grey: .299 * 200 = 59.8, so 60
    assert applied(GreyBlend(1.0), red)[0, 0].tolist() == [60, 60, 60]
    assert applied(GreyBlend(0.2), red)[0, 0].tolist() == [172, 12, 12]


def test_channels_are_exchanged_whole() -> None:
    image = noise()
    seen = set()
    for seed in range(40):
        shuffled = applied(ChannelShuffle(), image, seed)
        order = tuple(
            next(c for c in range(3) if (shuffled[..., k] == image[..., c]).all()) for k in range(3)
        )
        seen.add(order)
    assert len(seen) == 6


def test_a_blur_is_a_convolution_with_sampled_gaussians() -> None:
    image = noise(20, 24)
    x = np.arange(-3, 4)
    weights = np.exp(-(x**2) / 2)
    weights /= weights.sum()
    kernel = np.outer(weights, weights)[..., None]
    expected = convolve(image.astype(float), kernel, mode="mirror")
    assert np.abs(applied(Gaussian(7, 1.0), image) - expected).max() < 1


def test_a_bilateral_filter_is_a_mean_weighted_by_distance_and_colour() -> None:
    image = noise(9, 9)
    at, total, weighted = (4, 4), 0.0, np.zeros(3)
    for y, x in np.ndindex(9, 9):
        distance = np.hypot(y - at[0], x - at[1])
        if distance <= 3:  # a disk of the diameter 6
            difference = np.abs(image[y, x].astype(float) - image[at]).sum()
            weight = np.exp(-(distance**2) / (2 * 75**2) - difference**2 / (2 * 80**2))
            total += weight
            weighted += weight * image[y, x]
    assert np.abs(applied(Bilateral(6, 80), image)[at] - weighted / total).max() <= 1


def test_non_local_means_leave_an_edge_and_take_noise() -> None:
    clean = np.zeros((48, 48, 3), np.uint8) + 60
    clean[:, 24:] = 190
    noisy = np.clip(clean + np.random.default_rng(1).normal(0, 6, clean.shape), 0, 255).astype(np.uint8)
    denoised = applied(NonLocalMeans(20), noisy).astype(float)
    assert np.abs(denoised - clean).mean() < 0.4 * np.abs(noisy.astype(float) - clean).mean()
    assert np.abs(denoised[:, 26:].mean() - 190) < 2
    np.testing.assert_array_equal(
        denoised, cv2.fastNlMeansDenoising(noisy, None, 20, templateWindowSize=15, searchWindowSize=21)
    )


def test_the_whole_photograph_is_squashed() -> None:
    image = np.repeat(np.repeat(noise(2, 4), 50, 0), 50, 1)
    squashed = squash(image)
    assert squashed.shape == (224, 224, 3)
    for row, column in np.ndindex(2, 4):
        middle = squashed[56 + 112 * row, 28 + 56 * column]
        np.testing.assert_array_equal(middle, image[25 + 50 * row, 25 + 50 * column])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PatchShuffle(0), "grid: expected at least 1, got 0"),
        (lambda: PatchRotation(-1), "grid: expected at least 1, got -1"),
        (lambda: Bilateral(0, 50), "diameter_px: expected at least 1, got 0"),
        (lambda: Gaussian(4, 1.0), "kernel_px: expected an odd number, got 4"),
        (lambda: NonLocalMeans(float("nan")), "h: expected at least 0, got nan"),
        (lambda: GreyBlend(1.5), "alpha: expected 0 to 1, got 1.5"),
    ],
)
def test_parameters_out_of_range_are_refused(make: type[Step], message: str) -> None:
    with pytest.raises(CuebenchError, match=re.escape(message)):
        make()


def test_floats_are_refused() -> None:
    with pytest.raises(
        CuebenchError, match=re.escape("image: expected (H, W, 3) uint8, got (4, 4, 3) float64")
    ):
        PUBLISHED[0].apply(np.zeros((4, 4, 3)), 0)  # type: ignore[arg-type]
    with pytest.raises(CuebenchError, match="image: expected"):
        squash(np.zeros((4, 4), np.uint8))
