from __future__ import annotations

import numpy as np
import pytest

from evaluation.models import Bits
from evaluation.quantise import fake_quantise

BITS: tuple[Bits, ...] = (8, 4, 2)


def weights(seed: int = 0) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.random.default_rng(seed).normal(size=(6, 5, 3, 3)).astype(np.float32)


def test_two_bits_are_minus_zero_and_plus_the_largest() -> None:
    found = fake_quantise(np.array([[0.9, 0.5, -0.3, 0.1], [4.0, -4.0, 1.9, 2.1]], np.float32), 2)
    assert np.abs(found - np.array([[0.9, 0.9, 0, 0], [4, -4, 0, 4]], np.float32)).max() < 1e-6


@pytest.mark.parametrize("bits", BITS)
def test_a_channel_has_no_more_values_than_its_bits_allow(bits: Bits) -> None:
    found = fake_quantise(weights(), bits)
    assert max(len(np.unique(channel)) for channel in found) <= 2**bits - 1
    assert found.dtype == np.float32


@pytest.mark.parametrize("bits", BITS)
def test_no_weight_moves_by_more_than_half_a_step(bits: Bits) -> None:
    original = weights()
    step = np.abs(original).max((1, 2, 3)) / (2 ** (bits - 1) - 1)
    moved = np.abs(fake_quantise(original, bits) - original).max((1, 2, 3))
    assert (moved <= step / 2 * 1.0001).all()


@pytest.mark.parametrize("bits", BITS)
def test_quantising_twice_changes_nothing_more(bits: Bits) -> None:
    once = fake_quantise(weights(), bits)
    np.testing.assert_allclose(fake_quantise(once, bits), once, rtol=1e-6)


@pytest.mark.parametrize("bits", BITS)
def test_channels_and_signs_are_independent_of_each_other(bits: Bits) -> None:
    original = weights()
    scaled = original * np.array([1, 1, 100, 1, 1, -1], np.float32)[:, None, None, None]
    expected = (
        fake_quantise(original, bits) * np.array([1, 1, 100, 1, 1, -1], np.float32)[:, None, None, None]
    )
    np.testing.assert_allclose(fake_quantise(scaled, bits), expected, rtol=1e-5, atol=1e-6)


def test_a_channel_of_zeros_stays_zero() -> None:
    assert (fake_quantise(np.zeros((2, 3), np.float32), 4) == 0).all()


def test_fewer_bits_err_more() -> None:
    errors = [np.abs(fake_quantise(weights(), bits) - weights()).mean() for bits in BITS]
    assert errors[0] < errors[1] < errors[2]
