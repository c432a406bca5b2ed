from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from data_manifests.errors import CuebenchError
from evaluation.model_statistics import (
    against_no_preference,
    correlate,
    family_effects,
    fisher_interval,
    holm,
    one_sample,
    one_sample_of_summary,
    pearson_p,
)


@pytest.mark.parametrize(
    ("r", "n", "p"),
    [
        (-0.927, 32, 2.6e-14),
        (0.549, 32, 0.0011),
        (0.770, 32, 2.6e-7),
        (0.551, 32, 0.0011),
        (0.607, 20, 0.0045),
        (0.897, 20, 8.5e-8),
        (0.939, 20, 8.9e-10),
        (-0.473, 20, 0.035),
    ],
)
def test_published_correlations_give_their_p_values(r: float, n: int, p: float) -> None:
    assert float(f"{pearson_p(r, n):.1e}") == pytest.approx(p, rel=0.04)


def test_the_published_interval_of_a_correlation() -> None:
    assert fisher_interval(-0.473, 20) == pytest.approx((-0.757, -0.039), abs=5e-4)
    assert fisher_interval(0.5, 3) == (None, None)
    assert fisher_interval(1.0, 9) == (None, None)


def test_holm_of_the_published_families() -> None:
    corrected = holm([2.72e-4, 0.003, 0.181, 0.684, 5.19e-5])
    assert corrected == pytest.approx([0.0011, 0.009, 0.362, 0.684, 0.0003], abs=5e-5)
    assert holm([0.04, None, 0.04]) == [0.08, None, 0.08]
    assert holm([]) == []


@pytest.mark.parametrize(
    ("difference", "sd", "n", "p"),
    [(0.0692, 0.01, 3, 0.007), (0.0743, 0.01, 3, 0.006), (0.0656, 0.03, 5, 0.008), (0.0479, 0.03, 8, 0.003)],
)
def test_the_published_family_differences_give_their_p_values(
    difference: float, sd: float, n: int, p: float
) -> None:
    assert round(one_sample_of_summary(difference, sd, n, 0).p or 0, 3) == p
    assert one_sample_of_summary(0.0048, 0.02, 12, 0).p == pytest.approx(0.42, abs=5e-3)


@pytest.mark.parametrize(
    ("mean", "sd", "n", "p"),
    [
        (0.1677, 0.017, 8, 1.09e-4),
        (0.2992, 0.057, 5, 0.030),
        (0.2764, 0.071, 3, 0.270),
        (0.2449, 0.076, 3, 0.562),
        (0.4827, 0.164, 12, 1.43e-4),
    ],
)
def test_cue_conflict_families_against_their_baseline(mean: float, sd: float, n: int, p: float) -> None:
    assert one_sample_of_summary(mean, sd, n, 0.2146).p == pytest.approx(p, rel=0.03)


def test_a_t_test_is_that_of_scipy() -> None:
    values = [0.61, 0.58, 0.66, 0.7, 0.55, 0.6]
    found, reference = one_sample(values, 0.5), stats.ttest_1samp(values, 0.5)
    assert (found.t, found.p) == pytest.approx((reference.statistic, reference.pvalue))
    interval = reference.confidence_interval()
    assert (found.lower, found.upper) == pytest.approx((interval.low, interval.high))
    assert found.effect_size == pytest.approx((np.mean(values) - 0.5) / np.std(values, ddof=1))


def test_what_can_not_be_tested_says_so_and_is_never_nan() -> None:
    alone = one_sample([0.6], 0.5)
    assert (alone.p, alone.sd, alone.note) == (None, None, "one model: no test is possible")
    assert alone.difference == pytest.approx(0.1)
    equal = one_sample([0.6, 0.6], 0.5)
    assert (equal.p, equal.sd, equal.note) == (None, 0.0, "all values are equal: no test is possible")
    assert "fewer than five" in one_sample([0.6, 0.7], 0.5).note
    assert one_sample([0.6, 0.7, 0.65, 0.62, 0.61], 0.5).note == ""


def test_families_are_corrected_for_their_number_and_keep_their_sign() -> None:
    found = family_effects({"up": [0.3, 0.32, 0.31], "down": [0.1, 0.11, 0.12], "one": [0.2]}, 0.2)
    assert [effect.family for effect in found] == ["up", "down", "one"]
    assert found[0].test.difference > 0 > found[1].test.difference
    assert found[0].test.p is not None
    assert found[0].p_holm == pytest.approx(2 * found[0].test.p)
    assert found[2].p_holm is None


def test_correlations_are_those_of_scipy_with_ties() -> None:
    x, y = [1, 2, 2, 3, 5, 4, 7, 7, 9, 1], [2, 1, 4, 3, 3, 6, 5, 8, 9, 0]
    found = correlate(x, y, n_resamples=200)
    assert found.pearson.value == pytest.approx(stats.pearsonr(x, y).statistic)
    assert found.spearman.value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert found.kendall.value == pytest.approx(stats.kendalltau(x, y).statistic)
    assert found.kendall.p == pytest.approx(stats.kendalltau(x, y).pvalue)
    assert found.notes == ()
    for coefficient in (found.pearson, found.spearman, found.kendall):
        assert coefficient.value is not None
        assert coefficient.lower is not None
        assert coefficient.upper is not None
        assert coefficient.lower <= coefficient.value <= coefficient.upper


def test_the_permutation_agrees_with_theory_and_repeats_itself() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=25)
    y = 0.4 * x + rng.normal(size=25)
    found = correlate(x.tolist(), y.tolist(), n_resamples=2000)
    assert found.pearson.p is not None
    assert found.pearson.p_permutation == pytest.approx(found.pearson.p, abs=0.02)
    assert correlate(x.tolist(), y.tolist(), n_resamples=2000) == found


def test_variants_of_a_model_move_together() -> None:
    rng = np.random.default_rng(1)
    centre = np.repeat(rng.normal(size=(2, 6)), 4, axis=1)
    x, y = centre + rng.normal(scale=0.05, size=(2, 24))
    clusters = [f"model {row // 4}" for row in range(24)]
    apart = correlate(x.tolist(), y.tolist(), n_resamples=500)
    together = correlate(x.tolist(), y.tolist(), clusters=clusters, n_resamples=500)
    assert together.n_clusters == 6
    assert "24 models in 6 clusters of variants" in together.notes[-1]
    assert apart.pearson.p_permutation is not None
    assert together.pearson.p_permutation is not None
    assert together.pearson.p_permutation > apart.pearson.p_permutation
    uneven = correlate(x.tolist(), y.tolist(), clusters=["a", *clusters[1:]], n_resamples=50)
    assert any("clusters of different sizes" in note for note in uneven.notes)


@pytest.mark.parametrize(
    ("x", "y", "note"),
    [
        ([1.0, 2.0], [3.0, 4.0], "2 models: no correlation can be computed"),
        ([1.0, 1.0, 1.0], [3.0, 4.0, 5.0], "all values of one score are equal"),
    ],
)
def test_correlations_that_do_not_exist_say_so(x: list[float], y: list[float], note: str) -> None:
    found = correlate(x, y, n_resamples=200)
    assert (found.pearson.value, found.kendall.p) == (None, None)
    assert note in found.notes[0]


def test_few_models_are_noted() -> None:
    assert (
        "5 models: the interval is wide"
        in correlate([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], n_resamples=20).notes[0]
    )


def test_a_test_against_no_preference_names_its_unit() -> None:
    found = against_no_preference([0.6, 0.62, 0.55, 0.58, 0.61], "classes")
    assert found.unit == "classes"
    assert found.test.difference > 0


def test_bad_scores_are_refused() -> None:
    with pytest.raises(CuebenchError, match="there are no scores"):
        one_sample([], 0.5)
    with pytest.raises(CuebenchError, match="score 1: expected a finite number"):
        one_sample([0.5, float("nan")], 0.5)
    with pytest.raises(
        CuebenchError, match="expected as many scores of one kind as of the other, got 2 and 3"
    ):
        correlate([1, 2], [1, 2, 3])


@pytest.mark.parametrize("values", [[0.1, 0.1, 0.1], [0.3, 0.1 + 0.2, 0.3], [0.0, 0.0]])
def test_values_that_differ_by_rounding_only_are_equal(values: list[float]) -> None:
    """Their standard deviation may be 1e-17: t would be 1e16 and p 1e-33."""
    found = one_sample(values, 0.5)
    assert (found.sd, found.t, found.p, found.note) == (
        0.0,
        None,
        None,
        "all values are equal: no test is possible",
    )
    if len(values) > 2:
        assert correlate(values, [1.0, 2.0, 3.0], n_resamples=100).pearson.value is None


def test_a_perfect_order_and_too_few_clusters_have_no_bootstrap_interval() -> None:
    perfect = correlate([1, 2, 3, 4], [2, 4, 5, 9], n_resamples=100)
    assert perfect.spearman.value == pytest.approx(1)
    assert (perfect.spearman.lower, perfect.kendall.upper) == (None, None)
    x, y = [1.0, 2, 3, 4, 5, 6], [2.0, 1, 4, 3, 6, 5]
    two = correlate(x, y, clusters=["a", "b"] * 3, n_resamples=100)
    assert (two.spearman.lower, two.kendall.upper) == (None, None)
    assert two.spearman.value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert correlate(x, y, clusters=["a", "b", "c"] * 2, n_resamples=100).spearman.lower is not None


def test_holm_of_the_families_of_refined_bias() -> None:
    # difference to the baseline, standard deviation as printed (n in its denominator), number of models
    families = {
        "mixed": (0.0479, 0.0265, 8),
        "contrastive": (0.0743, 0.0100, 3),
        "texture distortion": (0.0656, 0.0285, 5),
        "shape augmentation": (0.0692, 0.0133, 3),
        "adversarial": (0.0048, 0.0222, 12),
    }
    p_values = [
        one_sample_of_summary(difference, sd * np.sqrt(n / (n - 1)), n, 0).p
        for difference, sd, n in families.values()
    ]
    assert holm(p_values) == pytest.approx([0.010, 0.036, 0.036, 0.036, 0.489], abs=1e-3)
