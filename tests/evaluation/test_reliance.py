from __future__ import annotations

import re
from collections.abc import Callable

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from skimage.color import rgb2gray
from skimage.util import view_as_windows

from data_manifests.errors import CuebenchError
from evaluation.reliance import (
    gradient_correlation,
    high_frequency_share,
    mean_local_variance,
    relative_accuracy,
    suppression_quality,
)

Pixels = npt.NDArray[np.uint8]
Grey = npt.NDArray[np.float64]


def noise(height: int = 40, width: int = 52, seed: int = 2) -> Pixels:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def grey_noise(height: int = 40, width: int = 52) -> Grey:
    return np.random.default_rng(5).random((height, width))


def published_high_frequency(grey: Grey, radius: int) -> float:
    power = np.abs(np.fft.fftshift(np.fft.fft2(grey))) ** 2
    h, w = power.shape
    y, x = np.ogrid[:h, :w]
    return float(power[(x - w // 2) ** 2 + (y - h // 2) ** 2 >= radius**2].sum() / power.sum())


def test_a_relative_accuracy_by_hand() -> None:
    plain = [True] * 8 + [False] * 2
    suppressed = [True] * 5 + [False] * 4 + [True]
    found = relative_accuracy(plain, suppressed, chance=0.1)
    assert (found.n, found.plain, found.suppressed) == (10, 0.8, 0.6)
    assert found.relative == pytest.approx(0.75)
    assert found.corrected == pytest.approx(0.5 / 0.7)


def test_an_interval_is_narrow_where_answers_stay_and_holds_the_ratio() -> None:
    rng = np.random.default_rng(0)
    plain = rng.random(400) < 0.8
    same = relative_accuracy(plain.tolist(), plain.tolist())
    assert (same.relative, same.ci.lower, same.ci.upper) == (1, 1, 1)
    drawn = relative_accuracy(plain.tolist(), (rng.random(400) < 0.4).tolist())
    assert drawn.ci.lower < drawn.relative < drawn.ci.upper
    # Of a ratio of two binomials: sqrt((1 - p) / (n p) + (1 - q) / (n q)) of it.
    width = 2 * 1.96 * drawn.relative * np.sqrt((0.2 / 0.8 + 0.6 / 0.4) / 400)
    assert drawn.ci.upper - drawn.ci.lower == pytest.approx(width, rel=0.15)
    assert drawn == relative_accuracy(
        plain.tolist(), (np.random.default_rng(0).random(800)[400:] < 0.4).tolist()
    )


def test_a_model_at_chance_has_nothing_to_correct() -> None:
    assert relative_accuracy([True, False], [True, False], chance=0.5).corrected is None


@pytest.mark.parametrize(
    ("plain", "suppressed", "chance", "message"),
    [
        ([True], [True, False], 0.0, "suppressed: expected an answer to each of the 1 images, got 2"),
        ([False], [True], 0.0, "plain: no answer is right"),
        ([], [], 0.0, "plain: no answer is right"),
        ([True], [True], 1.0, "chance: expected 0 or more and below 1, got 1"),
    ],
)
def test_answers_without_a_ratio_are_refused(
    plain: list[bool], suppressed: list[bool], chance: float, message: str
) -> None:
    with pytest.raises(CuebenchError, match=re.escape(message)):
        relative_accuracy(plain, suppressed, chance=chance)


def test_local_variance_is_the_mean_over_all_windows() -> None:
    grey = grey_noise()
    windows = view_as_windows(grey, (11, 11))  # type: ignore[no-untyped-call]
    assert mean_local_variance(grey) == pytest.approx(np.var(windows, axis=(-2, -1)).mean(), rel=1e-9)
    even = view_as_windows(grey, (4, 4))  # type: ignore[no-untyped-call]
    assert mean_local_variance(grey, 4) == pytest.approx(np.var(even, axis=(-2, -1)).mean(), rel=1e-9)


def test_local_variance_of_a_checkerboard_by_hand() -> None:
    board = np.indices((20, 20)).sum(0) % 2.0
    # 61 of 121 are of one level: (61 / 121) (60 / 121)
    assert mean_local_variance(board) == pytest.approx(61 * 60 / 121**2)
    assert mean_local_variance(np.full((20, 20), 0.7)) == 0


@pytest.mark.parametrize("shape", [(40, 52), (41, 33)])
def test_high_frequencies_are_those_of_the_published_code(shape: tuple[int, int]) -> None:
    grey = grey_noise(*shape)
    for radius in (5, 11):
        assert high_frequency_share(grey, radius) == pytest.approx(published_high_frequency(grey, radius))


def test_high_frequencies_of_waves_by_hand() -> None:
    x = np.arange(64) / 64
    low, high = (np.tile(np.cos(2 * np.pi * n * x), (64, 1)) for n in (10, 11))
    assert high_frequency_share(low) == pytest.approx(0, abs=1e-12)
    assert high_frequency_share(high) == pytest.approx(1)
    assert high_frequency_share(low + high) == pytest.approx(0.5)
    assert high_frequency_share(1 + high) == pytest.approx(1 / 3)  # the mean counts: 1 against 1 / 2
    assert high_frequency_share(np.zeros((64, 64))) == 0


def test_a_gradient_goes_with_itself_and_against_its_negative() -> None:
    grey = grey_noise()
    assert gradient_correlation(grey, 0.5 * grey + 0.1) == pytest.approx(1)
    assert gradient_correlation(grey, 1 - grey) == pytest.approx(-1)
    assert gradient_correlation(grey, np.zeros_like(grey)) is None
    blurred = np.asarray(cv2.GaussianBlur(grey, (0, 0), 1.0), np.float64)
    both = [
        np.corrcoef(np.gradient(grey, axis=axis).ravel(), np.gradient(blurred, axis=axis).ravel())[0, 1]
        for axis in (0, 1)
    ]
    assert gradient_correlation(grey, blurred) == pytest.approx(np.mean(both))


def test_quality_is_the_ratio_of_the_numbers_of_grey_pictures() -> None:
    before = noise()
    after = np.asarray(cv2.GaussianBlur(before, (7, 7), 1.0), np.uint8)
    found = suppression_quality(before, after)
    a, b = rgb2gray(before), rgb2gray(after)
    assert found.local_variance == pytest.approx(mean_local_variance(b) / mean_local_variance(a))
    assert found.high_frequency == pytest.approx(high_frequency_share(b) / high_frequency_share(a))
    assert found.gradient_correlation == pytest.approx(gradient_correlation(a, b))
    assert found.local_variance is not None
    assert found.local_variance < 0.2


def test_a_picture_is_itself_and_a_flat_one_has_no_ratio() -> None:
    same = suppression_quality(noise(), noise())
    assert (same.local_variance, same.high_frequency) == (1, 1)
    assert same.gradient_correlation == pytest.approx(1)
    flat = suppression_quality(np.zeros((20, 20, 3), np.uint8), noise(20, 20))
    assert (flat.local_variance, flat.high_frequency, flat.gradient_correlation) == (None, None, None)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (lambda: suppression_quality(noise(), noise(40, 40)), "after: expected the size of before, (40, 52)"),
        (lambda: suppression_quality(noise()[..., 0], noise()), "image: expected (H, W, 3) uint8"),
        (lambda: suppression_quality(noise(8, 30), noise(8, 30)), "image: expected sides of at least 11 px"),
    ],
)
def test_unfit_pictures_are_refused(measure: Callable[[], object], message: str) -> None:
    with pytest.raises(CuebenchError, match=re.escape(message)):
        measure()
