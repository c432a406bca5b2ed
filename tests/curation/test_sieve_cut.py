from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from curation.ratings import FloatArray, IntArray
from curation.sieve_calibration import area_under_curve, measure_calibration, reliability
from curation.sieve_cut import (
    choose_cut,
    design_effect,
    draw_photographs,
    exact_interval,
    fewest_proposed,
    find_savings,
    miss_curve,
    propose,
    saved_share,
    upper_bound,
)
from curation.sieve_model import Chances


def simulated(seed: int, n: int, n_waiting: int = 200, bias: float = 0.0) -> tuple[Chances, FloatArray]:
    """Return calibrated chances (but for `bias`) with verdicts drawn from them, and what the waiting ones would get."""
    rng = np.random.default_rng(seed)
    true = rng.beta(4, 0.7, size=n + n_waiting)
    accepted = (rng.random(n + n_waiting) < true).astype(float)
    said = np.clip(true + bias, 0, 1)
    photograph = np.arange(n + n_waiting)
    return Chances(said[:n], accepted[:n], photograph[:n], said[n:], photograph[n:]), accepted[n:]


def numbered(n: int) -> IntArray:
    return np.arange(n, dtype=np.int64)


@pytest.mark.parametrize(("n_missed", "n"), [(0, 59), (3, 80), (10, 10), (1, 400)])
def test_the_bound_is_that_of_scipy(n_missed: int, n: int) -> None:
    exact = binomtest(n_missed, n, alternative="less").proportion_ci(0.95, "exact").high
    assert upper_bound(np.array([float(n_missed)]), np.array([float(n)]), 0.95)[0] == pytest.approx(exact)


def test_the_fewest_verdicts_that_can_claim_a_rate_can() -> None:
    n = float(fewest_proposed(0.05))
    bounds = upper_bound(np.zeros(2), np.array([n - 1, n]), 0.95)
    assert bounds[0] > 0.05 >= bounds[1]
    assert fewest_proposed(1e-17) > 1e17


@pytest.mark.parametrize(("n_hits", "n"), [(0, 12), (5, 15), (15, 15)])
def test_the_interval_is_that_of_scipy(n_hits: int, n: int) -> None:
    exact = binomtest(n_hits, n).proportion_ci(0.95, "exact")
    assert exact_interval(n_hits, n) == pytest.approx((exact.low, exact.high))


def test_photographs_are_drawn_whole() -> None:
    photograph = np.array([7, 7, 3, 9])
    draws = list(draw_photographs(photograph, 0))
    assert all(times[0] == times[1] and times[[0, 2, 3]].sum() == 3 for times in draws)
    assert len({tuple(times.tolist()) for times in draws}) == 10  # of three photographs, with replacement


def test_verdicts_alike_within_photographs_count_for_less() -> None:
    photograph = np.repeat(numbered(50), 4)
    rng = np.random.default_rng(0)
    alike = np.repeat(rng.normal(size=50), 4)
    assert design_effect(alike, photograph) == pytest.approx(4)
    assert design_effect(rng.normal(size=200), photograph) < 1.5
    assert design_effect(rng.normal(size=200), numbered(200)) == 1
    assert design_effect(rng.normal(size=200), np.zeros(200, np.int64)) == 1
    assert design_effect(np.zeros(200), photograph) == 1


def test_no_cut_is_claimed_where_none_can_be() -> None:
    chance = np.full(58, 0.99)
    assert choose_cut(chance, np.zeros(58), 0.05) is None
    cut = choose_cut(np.full(59, 0.99), np.zeros(59), 0.05)
    assert cut is not None
    assert (cut.n_proposed, cut.n_missed, cut.threshold) == (59, 0, 0.99)
    assert cut.upper == pytest.approx(1 - 0.05 ** (1 / 59))
    assert choose_cut(np.full(59, 0.99), np.eye(59)[0], 0.05) is None
    assert choose_cut(np.full(100, 0.99), np.zeros(100), 0.05, effect=2.0) is None


def test_the_cut_ends_before_the_misses_begin() -> None:
    chance = np.linspace(1, 0, 200)
    is_miss = (chance < 0.5).astype(float)
    cut = choose_cut(np.where(chance >= 0.5, 0.999, 0.001 * chance), is_miss, 0.05)
    assert cut is not None
    assert cut.n_missed <= 5
    assert 100 <= cut.n_proposed < 110
    assert cut.rate_lower <= cut.miss_rate < cut.upper <= cut.rate_upper


def test_a_cut_does_not_depend_on_the_order_of_the_cues() -> None:
    chances, _ = simulated(1, 400)
    there = choose_cut(chances.judged, 1 - chances.accepted, 0.1)
    back = choose_cut(chances.judged[::-1], 1 - chances.accepted[::-1], 0.1)
    assert there is not None
    assert there == back


def test_a_cue_that_counts_twice_is_one_that_is_there_twice() -> None:
    chances, _ = simulated(2, 300)
    twice = np.repeat(chances.judged, 2), np.repeat(1 - chances.accepted, 2)
    weight = np.full(300, 2, np.int64)
    assert choose_cut(*twice, 0.1) == choose_cut(chances.judged, 1 - chances.accepted, 0.1, weight=weight)


@pytest.mark.parametrize("bias", [0.0, 0.15])
def test_the_miss_rate_is_kept_in_19_of_20_reviews_even_by_chances_that_promise_too_much(bias: float) -> None:
    n_broken = n_chosen = 0
    for seed in range(200):
        chances, truth = simulated(seed, 400, 4000, bias)
        cut = choose_cut(chances.judged, 1 - chances.accepted, 0.1)
        n_chosen += cut is not None
        n_broken += cut is not None and 1 - truth[chances.waiting >= cut.threshold].mean() > 0.1
    assert n_chosen > 40
    assert n_broken <= 17  # of 200 at 5 %: 10, and 17 with a chance of 2 %


def test_both_kinds_of_proposal_are_made_and_savings_counted() -> None:
    judged = np.r_[np.full(100, 0.98), np.full(100, 0.02), np.full(50, 0.5)]
    accepted = np.r_[np.ones(100), np.zeros(100), np.ones(25), np.zeros(25)]
    waiting = np.array([0.99, 0.98, 0.9, 0.02, 0.5])
    chances = Chances(judged, accepted, numbered(250), waiting, numbered(5) + 250)
    found = find_savings(chances, 0.05)
    assert (found.n_accept, found.n_reject, found.n_saved, found.n_waiting) == (2, 1, 3, 5)
    assert found.saved_share == 0.6 == saved_share(chances, 0.05, effect=1)
    assert 0 <= found.lower <= 0.6 <= found.upper <= 1
    assert propose(waiting, found.accept, found.reject) == ["accept", "accept", "look", "reject", "look"]


def test_cuts_that_overlap_ask_for_a_look() -> None:
    cut = choose_cut(np.full(100, 0.5), np.zeros(100), 0.05)
    assert propose(np.array([0.5, 0.6, 0.4]), cut, cut) == ["look", "accept", "reject"]


def test_nothing_is_saved_where_nothing_waits() -> None:
    judged = Chances(np.full(100, 0.98), np.ones(100), numbered(100), np.empty(0), numbered(0))
    found = find_savings(judged, 0.05)
    assert (found.saved_share, found.lower, found.upper, saved_share(judged, 0.05, effect=1)) == (0, 0, 0, 0)


def test_savings_are_those_of_the_seed() -> None:
    chances, _ = simulated(5, 300)
    assert find_savings(chances, 0.1, 3) == find_savings(chances, 0.1, 3)


def test_the_interval_of_the_savings_holds_what_other_verdicts_give() -> None:
    shares = [saved_share(simulated(seed, 400)[0], 0.1, effect=1) for seed in range(60)]
    intervals = [find_savings(simulated(seed, 400)[0], 0.1) for seed in range(10)]
    n_held = sum(found.lower <= float(np.mean(shares)) <= found.upper for found in intervals)
    assert n_held >= 8


def test_the_curve_ends_at_all_cues() -> None:
    chances, _ = simulated(4, 300)
    curve = miss_curve(chances.judged, 1 - chances.accepted, 1.0)
    assert curve[-1].proposed_share == 1
    assert curve[-1].miss_rate == pytest.approx(1 - chances.accepted.mean())
    assert all(point.miss_rate < point.upper for point in curve)


def test_an_area_counts_ties_half_and_cues_that_count_twice() -> None:
    chance, accepted = np.array([0.1, 0.4, 0.4, 0.8]), np.array([0.0, 0.0, 1.0, 1.0])
    assert area_under_curve(chance, accepted) == pytest.approx((1 + 0.5 + 1 + 1) / 4)
    times = np.array([1, 2, 1, 1])
    assert area_under_curve(chance, accepted, times) == pytest.approx((1 + 2 * 0.5 + 1 + 2 * 1) / 6)


def test_bins_hold_all_cues_and_their_own_shares() -> None:
    chances, _ = simulated(0, 47)
    bins = reliability(chances.judged, chances.accepted)
    assert [row.n for row in bins] == [16, 16, 15]
    assert sum(row.n * row.accepted_share for row in bins) == pytest.approx(chances.accepted.sum())
    assert [row.mean_chance for row in bins] == sorted(row.mean_chance for row in bins)
    assert all(row.lower <= row.accepted_share <= row.upper for row in bins)
    assert len(reliability(chances.judged[:9], chances.accepted[:9])) == 1


def test_true_chances_are_calibrated_and_shifted_ones_are_not() -> None:
    chances, _ = simulated(0, 1000)
    good = measure_calibration(chances.judged, chances.accepted, chances.judged_photograph)
    shifted = measure_calibration(chances.judged * 0.6, chances.accepted, chances.judged_photograph)
    assert good.calibration_error < 0.05 < 0.2 < shifted.calibration_error
    assert good.brier < good.brier_of_base
    assert good.brier < shifted.brier
    assert good.auc == shifted.auc
    assert good.auc_lower < good.auc < good.auc_upper
