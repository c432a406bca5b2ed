from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from curation.agreement import ESTIMATORS, Estimator, category_kappas, fleiss_kappa
from curation.agreement_errors import (
    interval,
    linearised_item_variance,
    null_se,
    perfect_interval,
    standard_errors,
    two_way_bootstrap,
)
from curation.category_errors import category_standard_errors
from curation.linearised_errors import ac1_se, conger_se, randolph_se
from curation.power import Crowd, Design, simulate
from curation.ratings import FloatArray, IntArray, Ratings, make_ratings
from tests.curation.agreement_tables import (
    DIAGNOSES,
    FOUR_RATERS,
    FOURTEEN_RATERS,
    from_counts,
    from_rows,
    human_trials,
)
from tests.paths import SHARED_DATA, needs_shared_data


def item_se(counts: IntArray) -> float:
    variance = linearised_item_variance(counts)
    assert variance is not None
    return float(np.sqrt(variance))


@pytest.mark.parametrize(
    ("counts", "null", "items"),
    [(DIAGNOSES, 0.02437, 0.054199), (FOURTEEN_RATERS, 0.016965, 0.092371)],
    ids=["diagnoses", "fourteen raters"],
)
def test_published_errors_are_reproduced(counts: IntArray, null: float, items: float) -> None:
    assert null_se(counts) == pytest.approx(null, abs=5e-6)
    assert item_se(counts) == pytest.approx(items, abs=5e-7)


def test_published_error_with_missing_ratings_is_reproduced() -> None:
    counts = from_rows(FOUR_RATERS).counts
    assert item_se(counts) == pytest.approx(0.153019, abs=5e-7)
    assert null_se(counts) is None


def test_the_null_error_of_a_category_is_that_of_two_categories() -> None:
    assert null_se(np.stack([DIAGNOSES[:, 0], DIAGNOSES[:, 1:].sum(1)], 1)) == pytest.approx(
        0.04714, abs=5e-6
    )


def test_published_scores_of_the_null_hypothesis_are_reproduced() -> None:
    for counts, score, lower, upper in (
        (DIAGNOSES, 17.652, 0.382, 0.478),
        (FOURTEEN_RATERS, 12.374, 0.177, 0.243),
    ):
        kappa, error = fleiss_kappa(counts).value, null_se(counts)
        assert kappa is not None
        assert error is not None
        assert kappa / error == pytest.approx(score, abs=5e-4)
        half = stats.norm.ppf(0.975) * error
        assert (kappa - half, kappa + half) == pytest.approx((lower, upper), abs=5e-4)
    scores = [
        kappa / (null_se(np.stack([own, DIAGNOSES.sum(1) - own], 1)) or np.nan)
        for kappa, own in zip(category_kappas(DIAGNOSES), DIAGNOSES.T, strict=True)
        if kappa is not None
    ]
    assert scores == pytest.approx([5.192, 5.192, 11.031, 9.994, 12.009], abs=5e-4)


def test_published_jackknife_over_items_is_reproduced() -> None:
    assert standard_errors(from_counts(DIAGNOSES), "cuzick").items == pytest.approx(0.055055, abs=5e-7)


HUMAN = {
    "edge": (0.0353, 0.02165, 0.0296, 0.0102, 0.7555),
    "silhouette": (0.0380, 0.02707, None, None, 0.6225),
    "cue-conflict": (0.0355, 0.00898, None, None, 0.6095),
    "sketch": (0.0292, 0.00754, None, None, None),
}


@needs_shared_data
@pytest.mark.parametrize("experiment", HUMAN)
def test_errors_of_real_human_trials_are_reproduced(experiment: str) -> None:
    two_way, items, raters, cell, bound = HUMAN[experiment]
    ratings = human_trials(SHARED_DATA / "human" / experiment)
    se, kappa = standard_errors(ratings), fleiss_kappa(ratings.counts).value
    assert kappa is not None
    assert se.two_way == pytest.approx(two_way, abs=5.1e-5)
    assert se.items == pytest.approx(items, abs=5.1e-6)
    if raters is not None:
        assert (se.raters, se.cell) == pytest.approx((raters, cell), abs=5.1e-5)
    if bound is not None and se.two_way is not None:
        assert interval(kappa, se.two_way).lower_bound == pytest.approx(bound, abs=5.1e-5)


@needs_shared_data
def test_the_errors_of_unequal_numbers_are_reproduced() -> None:
    # The error over items has the factor N / N' of items with one rating, what it adds to the two-way error has not.
    ratings = human_trials(SHARED_DATA / "human" / "texture-filled-rotated")
    se, kappa = standard_errors(ratings), fleiss_kappa(ratings.counts).value
    assert kappa is not None
    assert se.two_way is not None
    assert se.items == pytest.approx(0.01339, abs=5.1e-6)
    assert se.two_way == pytest.approx(0.0227, abs=5.1e-5)
    assert interval(kappa, se.two_way).lower_bound == pytest.approx(0.4993, abs=5.1e-5)


def random_ratings(seed: int, n_items: int = 12, n_raters: int = 6) -> Ratings:
    """Return ratings in three categories, with gaps."""
    rng = np.random.default_rng(seed)
    cells = [
        (f"{item:02d}", f"{rater}", str(item % 3 if rng.random() < 0.7 else rng.integers(3)))
        for item in range(n_items)
        for rater in range(n_raters)
        if rng.random() < 0.6
    ]
    items, raters, labels = zip(*cells, strict=True)
    return make_ratings(items, raters, labels, ["0", "1", "2"])


def kappa_without(ratings: Ratings, keep: np.ndarray, estimator: Estimator) -> float:
    q = len(ratings.categories)
    flat = ratings.item[keep] * q + ratings.category[keep]
    counts = np.bincount(flat, minlength=len(ratings.items) * q).reshape(-1, q)
    value = fleiss_kappa(counts[counts.sum(1) >= 1], estimator).value
    assert value is not None
    return value


def jackknife(values: list[float]) -> float:
    v = np.array(values)
    return float((len(v) - 1) / len(v) * ((v - v.mean()) ** 2).sum())


@pytest.mark.parametrize("estimator", ["gwet", "cuzick"])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_subtracting_gives_what_leaving_out_gives(estimator: Estimator, seed: int) -> None:
    ratings = random_ratings(seed)
    se = standard_errors(ratings, estimator)
    everybody = np.arange(ratings.n_ratings)
    raters = [kappa_without(ratings, ratings.rater != a, estimator) for a in range(len(ratings.raters))]
    cells = [kappa_without(ratings, everybody != c, estimator) for c in everybody]
    assert se.raters == pytest.approx(np.sqrt(jackknife(raters)))
    assert se.cell == pytest.approx(np.sqrt(jackknife(cells)))
    if estimator == "cuzick":
        items = [kappa_without(ratings, ratings.item != i, estimator) for i in range(len(ratings.items))]
        assert se.items == pytest.approx(np.sqrt(jackknife(items)))


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_errors_of_categories_are_those_of_leaving_out(seed: int) -> None:
    ratings = random_ratings(seed)

    def kappas(keep: np.ndarray) -> FloatArray:
        flat = ratings.item[keep] * 3 + ratings.category[keep]
        counts = np.bincount(flat, minlength=len(ratings.items) * 3).reshape(-1, 3)
        return np.array(category_kappas(counts), np.float64)

    cells = np.arange(ratings.n_ratings)
    groups = [
        [kappas(ratings.item != i) for i in range(len(ratings.items))],
        [kappas(ratings.rater != a) for a in range(len(ratings.raters))],
        [kappas(cells != c) for c in cells],
    ]
    for j, se in enumerate(category_standard_errors(ratings)):
        item, rater, cell = (jackknife([float(row[j]) for row in group]) for group in groups)
        assert se == pytest.approx(np.sqrt(max(item + rater - cell, item, cell)))


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_the_two_way_error_is_never_below_that_of_items(seed: int) -> None:
    for estimator in ESTIMATORS[:2]:
        se = standard_errors(random_ratings(seed), estimator)
        assert se.two_way is not None
        assert se.items is not None
        assert se.two_way >= se.items


def test_a_handful_of_items_that_are_alike_is_no_proof() -> None:
    # both pictures have one slip of twelve: the items do not differ at all, and yet the kappa is not known exactly
    cells = [(item, f"p{rater:02d}", item) for item in "ab" for rater in range(11)]
    cells += [("a", "p11", "b"), ("b", "p11", "a")]
    items, raters, labels = zip(*cells, strict=True)
    se = standard_errors(make_ratings(items, raters, labels))
    assert se.items == pytest.approx(0, abs=1e-12)
    assert se.two_way is not None
    assert se.two_way > 0.05


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_the_order_of_items_raters_and_labels_does_not_matter(seed: int) -> None:
    ratings = random_ratings(seed)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(ratings.n_ratings)
    swap = {"0": "2", "1": "0", "2": "1"}
    mixed = make_ratings(
        [f"x{11 - int(ratings.items[ratings.item[r]]):02d}" for r in rows],
        [f"y{9 - ratings.rater[r]}" for r in rows],
        [swap[ratings.categories[ratings.category[r]]] for r in rows],
        ["2", "1", "0"],
    )
    before, after = standard_errors(ratings), standard_errors(mixed)
    assert list(vars(after).values()) == [pytest.approx(value) for value in vars(before).values()]


def test_data_given_twice_halve_the_variance_over_items() -> None:
    once, twice = item_se(np.tile(DIAGNOSES, (20, 1))), item_se(np.tile(DIAGNOSES, (40, 1)))
    assert (once / twice) ** 2 == pytest.approx(2, rel=0.01)


def test_perfect_agreement_has_no_error_but_an_exact_bound() -> None:
    counts = np.zeros((440, 10), np.int64)
    counts[np.arange(440), np.arange(440) % 10] = 10
    se = standard_errors(from_counts(counts))
    assert (se.items, se.two_way) == (0.0, 0.0)
    bounds = perfect_interval(counts)
    assert bounds is not None
    assert bounds.lower_bound == pytest.approx(0.9924, abs=1e-4)
    assert bounds.upper == 1.0
    fifty = perfect_interval(counts[:50])
    assert fifty is not None
    assert round(fifty.lower_bound, 3) == 0.935


def test_one_category_has_neither_error_nor_interval() -> None:
    ratings = make_ratings(["a", "a", "b", "b"], ["x", "y", "x", "y"], ["p", "p", "p", "p"], ["p", "q"])
    assert vars(standard_errors(ratings)) == dict.fromkeys(["items", "raters", "cell", "two_way", "null"])
    assert perfect_interval(ratings.counts) is None


def test_an_interval_stays_below_one_and_holds_its_kappa() -> None:
    bounds = interval(0.98, 0.02)
    assert bounds.lower < bounds.lower_bound < 0.98 < bounds.upper < 1
    assert interval(0.8, 0.03, 0.9).lower > interval(0.8, 0.03, 0.99).lower


def test_the_bootstrap_agrees_with_the_two_way_error_and_repeats_itself() -> None:
    # with hard pictures and careless people; of pure noise it says too much (McCullagh 2000)
    crowd = Crowd(careless_share=0.2)
    ratings = simulate(Design(200, 10, 40, 50), 0.2, crowd, np.random.default_rng(0))
    values = two_way_bootstrap(ratings, 400, seed=1)
    se = standard_errors(ratings).two_way
    assert se is not None
    assert len(values) == 400
    assert values.std(ddof=1) == pytest.approx(se, rel=0.2)
    assert (values == two_way_bootstrap(ratings, 400, seed=1)).all()


def test_a_rater_drawn_twice_does_not_agree_with_themself() -> None:
    # two raters who never agree: counting pairs of a rater with itself would lift many replicates above the truth
    ratings = make_ratings(["a", "a", "b", "b"], ["x", "y"] * 2, ["p", "q", "q", "p"])
    assert two_way_bootstrap(ratings, 50, seed=0).max() == pytest.approx(-1.0)


def test_a_bootstrap_of_one_category_is_empty_and_ends() -> None:
    ratings = make_ratings(["a", "a"], ["x", "y"], ["p", "p"])
    assert len(two_way_bootstrap(ratings, 10, seed=0)) == 0


def test_published_error_and_interval_over_items_are_reproduced() -> None:
    assert item_se(DIAGNOSES[:15]) == pytest.approx(0.08119, abs=5e-6)
    for counts, lower, upper in (
        (DIAGNOSES, 0.3194, 0.5411),
        (from_rows(FOUR_RATERS).counts, 0.4244, 1.098),
        (FOURTEEN_RATERS, 0.001, 0.419),
    ):
        kappa = fleiss_kappa(counts).value
        assert kappa is not None
        half = stats.t.ppf(0.975, len(counts) - 1) * item_se(counts)
        assert (kappa - half, kappa + half) == pytest.approx((lower, upper), abs=5e-4)


def test_no_bound_lies_below_minus_one_or_above_its_kappa() -> None:
    wide = interval(0.45, 0.6)
    assert (wide.lower, wide.lower_bound) == (-1.0, -1.0)
    below = interval(-3.0, 0.6)  # possible where many items have a single rating
    assert below.lower == below.lower_bound == -3.0 < below.upper
    assert interval(0.8, 0.03).lower > -1


def test_errors_of_the_coefficients_beside_kappa_are_reproduced() -> None:
    assert ac1_se(DIAGNOSES) == pytest.approx(0.055662, abs=5e-7)
    assert conger_se(from_counts(DIAGNOSES)) == pytest.approx(0.050794, abs=5e-7)
    four = from_rows(FOUR_RATERS)
    assert ac1_se(four.counts) == pytest.approx(0.142950, abs=5e-7)
    assert randolph_se(four.counts) == pytest.approx(0.144717, abs=5e-7)
    # the published table has the lone rating of the last unit in the third rater's row
    rows = list(FOUR_RATERS)
    rows[1], rows[2] = rows[1][:-1] + ".", rows[2][:-1] + "3"
    assert conger_se(from_rows(tuple(rows))) == pytest.approx(0.149168, abs=5e-7)


def test_errors_of_what_is_undefined_are_none() -> None:
    alone = make_ratings(["a", "b"], ["x", "x"], ["p", "q"])
    assert (ac1_se(alone.counts), randolph_se(alone.counts), conger_se(alone)) == (None, None, None)
