from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa as reference_cohen
from statsmodels.stats.inter_rater import fleiss_kappa as reference_kappa

from curation.agreement import (
    ESTIMATORS,
    Estimator,
    ac1,
    category_kappas,
    cohen_kappa,
    conger_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    landis_koch_band,
    randolph,
    specific_agreement,
)
from curation.ratings import IntArray, Ratings, make_ratings
from data_manifests.errors import CuebenchError
from tests.curation.agreement_tables import (
    DIAGNOSES,
    FOUR_RATERS,
    FOURTEEN_RATERS,
    THREE_RATERS,
    from_counts,
    from_rows,
    human_trials,
)
from tests.paths import SHARED_DATA, needs_shared_data


def rounded(value: float | None, digits: int = 6) -> float | None:
    return None if value is None else round(value, digits)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_fleiss_1971_is_reproduced_by_every_estimator(estimator: Estimator) -> None:
    kappa = fleiss_kappa(DIAGNOSES, estimator)
    assert rounded(kappa.value) == 0.430245
    assert rounded(kappa.p_observed) == 0.555556
    assert rounded(kappa.p_expected) == 0.219938
    assert kappa.status == "ok"


def test_fleiss_1971_categories_and_coefficients_beside_kappa() -> None:
    assert [rounded(k, 4) for k in category_kappas(DIAGNOSES)] == [0.2448, 0.2448, 0.52, 0.4711, 0.5661]
    assert rounded(randolph(DIAGNOSES).value) == 0.444444
    assert rounded(ac1(DIAGNOSES).value) == 0.447885
    assert rounded(krippendorff_alpha(DIAGNOSES).value) == 0.43341


def test_the_first_fifteen_diagnoses_are_the_published_subset() -> None:
    part = DIAGNOSES[:15]
    values = [fleiss_kappa(part).value, ac1(part).value, krippendorff_alpha(part).value]
    assert [rounded(value, 5) for value in values] == [0.41393, 0.4448, 0.42044]


def test_fourteen_raters_are_reproduced() -> None:
    kappa = fleiss_kappa(FOURTEEN_RATERS)
    assert rounded(kappa.value) == 0.209931
    assert rounded(kappa.p_observed) == 0.378022
    assert rounded(kappa.p_expected) == 0.212755
    assert rounded(randolph(FOURTEEN_RATERS).value) == 0.222527
    assert rounded(ac1(FOURTEEN_RATERS).value) == 0.225614
    assert rounded(krippendorff_alpha(FOURTEEN_RATERS).value) == 0.215574
    assert [rounded(k, 4) for k in category_kappas(FOURTEEN_RATERS)] == [
        0.2013,
        0.0797,
        0.1716,
        0.0304,
        0.5077,
    ]


def test_unequal_numbers_of_ratings_are_reproduced() -> None:
    counts = from_rows(FOUR_RATERS).counts
    assert rounded(fleiss_kappa(counts).value) == 0.761169
    assert rounded(fleiss_kappa(counts, "cuzick").value) == 0.727435
    assert rounded(krippendorff_alpha(counts).value) == 0.743421
    assert rounded(ac1(counts).value) == 0.775444
    assert rounded(randolph(counts).value) == 0.772727


def test_conger_needs_to_know_the_raters() -> None:
    # the published value has the lone rating of the last unit in the third rater's row
    rows = list(FOUR_RATERS)
    rows[1], rows[2] = rows[1][:-1] + ".", rows[2][:-1] + "3"
    moved = from_rows(tuple(rows))
    assert rounded(conger_kappa(moved).value) == 0.762817
    assert (moved.counts == from_rows(FOUR_RATERS).counts).all()


def test_three_raters_with_gaps_are_reproduced() -> None:
    counts = from_rows(THREE_RATERS).counts
    assert rounded(krippendorff_alpha(counts).value) == 0.691358
    assert rounded(fleiss_kappa(counts).value) == 0.68602
    assert rounded(ac1(counts).value) == 0.709164


def test_two_raters_of_binary_data_are_reproduced() -> None:
    ratings = from_rows((" ".join("0100000010"), " ".join("1110010000")))
    counts = ratings.counts
    values = [krippendorff_alpha(counts), fleiss_kappa(counts), randolph(counts), ac1(counts)]
    assert [rounded(kappa.value) for kappa in values] == [0.095238, 0.047619, 0.2, 0.310345]


def test_two_raters_of_nominal_data_are_reproduced() -> None:
    counts = from_rows((" ".join("aabbdcccedda"), " ".join("babbbccceddd"))).counts
    assert rounded(krippendorff_alpha(counts).value, 4) == 0.692
    assert rounded(fleiss_kappa(counts).value, 4) == 0.6786


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ([[13, 0, 0], [0, 20, 7], [0, 4, 56]], 0.79641),
        ([[40, 4, 4, 17], [6, 25, 2, 13], [4, 1, 21, 12], [15, 5, 9, 45]], 0.4315),
        ([[40, 9], [6, 45]], 0.69952),
        ([[80, 10], [5, 5]], 0.31818),
        ([[118, 5], [2, 0]], -0.0234),
    ],
)
def test_cohen_is_reproduced(table: list[list[int]], expected: float) -> None:
    counts = np.array(table)
    value = cohen_kappa(counts).value
    assert value == pytest.approx(expected, abs=5e-5)
    assert value == pytest.approx(reference_cohen(counts).kappa)


def counts_of_pairs(table: list[list[int]]) -> IntArray:
    rows = [
        np.bincount([i, j], minlength=len(table))
        for i, line in enumerate(table)
        for j, n in enumerate(line)
        for _ in range(n)
    ]
    return np.array(rows)


@pytest.mark.parametrize(
    ("table", "observed", "expected_ac1"),
    [
        ([[40, 9], [6, 45]], 0.85, 0.7007),
        ([[80, 10], [5, 5]], 0.85, 0.808),
        ([[118, 5], [2, 0]], 0.944, 0.9408),
    ],
)
def test_ac1_does_not_share_the_paradox_of_kappa(
    table: list[list[int]], observed: float, expected_ac1: float
) -> None:
    found = ac1(counts_of_pairs(table))
    assert found.p_observed == pytest.approx(observed)
    assert rounded(found.value, 4) == expected_ac1


def test_agreement_on_yes_and_on_no_are_told_apart() -> None:
    assert specific_agreement(np.array([[80, 10], [5, 5]])) == pytest.approx((160 / 175, 10 / 25))
    assert specific_agreement(np.array([[7, 0], [0, 0]])) == (1.0, None)


def test_one_category_is_undefined_and_never_nan() -> None:
    counts = np.array([[3, 0], [3, 0]])
    for kappa in (fleiss_kappa(counts), fleiss_kappa(counts, "cuzick"), krippendorff_alpha(counts)):
        assert (kappa.value, kappa.status, kappa.p_observed) == (None, "undefined_single_category", 1.0)
    assert ac1(counts).value == 1.0
    assert category_kappas(counts) == [None, None]


def test_single_ratings_are_undefined() -> None:
    counts = np.array([[1, 0], [0, 1]])
    for kappa in (fleiss_kappa(counts), fleiss_kappa(counts, "cuzick"), krippendorff_alpha(counts)):
        assert (kappa.value, kappa.status) == (None, "undefined_no_pairs")


def test_one_rater_has_no_conger_kappa() -> None:
    assert conger_kappa(make_ratings(["a", "b"], ["x", "x"], ["p", "q"])).status == "undefined_no_pairs"


def test_fleiss_of_1971_says_which_item_breaks_it() -> None:
    with pytest.raises(
        CuebenchError, match=r"item 2: 1 ratings where most items have 2; .*use the estimator gwet or"
    ):
        fleiss_kappa(np.array([[2, 0], [1, 1], [1, 0]]), "fleiss")


def test_negative_counts_are_refused() -> None:
    with pytest.raises(CuebenchError, match="row 1 of the counts: expected 0 or more"):
        fleiss_kappa(np.array([[2, 0], [-1, 3]]))


def test_an_empty_table_is_refused() -> None:
    with pytest.raises(
        CuebenchError, match=r"expected a table of counts, items by categories, got shape \(0,\)"
    ):
        fleiss_kappa(np.array([], np.int64))


def test_bands_are_closed_on_the_right() -> None:
    words = [landis_koch_band(k) for k in (-0.1, 0.2, 0.21, 0.4, 0.6, 0.61, 0.8, 0.81, 1.0)]
    assert words == [
        "poor",
        "slight",
        "fair",
        "fair",
        "moderate",
        "substantial",
        "substantial",
        "almost perfect",
        "almost perfect",
    ]


@st.composite
def balanced_counts(draw: st.DrawFn) -> IntArray:
    """Return (N, q) counts with m ratings of each item, in at least two categories."""
    n, q, m = draw(st.integers(2, 12)), draw(st.integers(2, 5)), draw(st.integers(2, 6))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(m, rng.dirichlet(np.ones(q)), size=n)
    counts[0] = 0
    counts[0, 0] = m
    counts[1] = 0
    counts[1, 1] = m
    return counts.astype(np.int64)


@given(balanced_counts())
def test_equal_numbers_give_what_statsmodels_gives(counts: IntArray) -> None:
    for estimator in ESTIMATORS:
        assert fleiss_kappa(counts, estimator).value == pytest.approx(reference_kappa(counts), abs=1e-12)
    assert randolph(counts).value == pytest.approx(reference_kappa(counts, method="randolph"), abs=1e-12)


@given(balanced_counts(), st.randoms(use_true_random=False))
def test_the_order_of_items_and_labels_does_not_matter(counts: IntArray, random: object) -> None:
    rng = np.random.default_rng(0)
    mixed = counts[rng.permutation(len(counts))][:, rng.permutation(counts.shape[1])]
    for coefficient in (fleiss_kappa, ac1, randolph, krippendorff_alpha):
        assert coefficient(mixed).value == pytest.approx(coefficient(counts).value)


@given(balanced_counts())
def test_a_category_that_nobody_used_leaves_fleiss_alone(counts: IntArray) -> None:
    wider = np.hstack([counts, np.zeros((len(counts), 1), np.int64)])
    for estimator in ESTIMATORS:
        assert fleiss_kappa(wider, estimator).value == pytest.approx(fleiss_kappa(counts, estimator).value)
    assert randolph(wider).p_expected != randolph(counts).p_expected


@given(balanced_counts())
def test_kappa_is_one_only_where_everybody_agrees(counts: IntArray) -> None:
    unanimous = bool((counts.max(1) == counts.sum(1)).all())
    value = fleiss_kappa(counts).value
    assert value is not None
    assert (value == 1.0) == unanimous


@given(balanced_counts())
def test_categories_average_to_the_overall_kappa(counts: IntArray) -> None:
    p = counts.sum(0) / counts.sum()
    weights = p * (1 - p)
    mean = sum(w * k for w, k in zip(weights, category_kappas(counts), strict=True) if k is not None)
    assert mean / weights.sum() == pytest.approx(fleiss_kappa(counts, "cuzick").value)


@given(balanced_counts(), st.integers(1, 40))
@settings(max_examples=30)
def test_alpha_comes_to_kappa_as_items_grow(counts: IntArray, n_times: int) -> None:
    many = np.tile(counts, (n_times, 1))
    kappa, alpha = fleiss_kappa(many).value, krippendorff_alpha(many).value
    assert kappa is not None
    assert alpha == pytest.approx(kappa + (1 - kappa) / many.sum())


HUMAN = {
    "edge": ((160, 10, 34), (0.82419, 0.8255, 0.82548, 0.82439), 0.7902),
    "silhouette": ((160, 10, 22), (0.69193, 0.6948, 0.69468, 0.69325), 0.6772),
    "cue-conflict": ((1280, 10, 131), (0.67347, 0.6741, 0.67407, 0.6739), 0.6602),
    "texture-filled-rotated": ((1241, 32, 48), (0.53822, 0.5323, 0.53366, 0.54131), None),
    "sketch": ((800, 7, 40), (0.89189, 0.8927, 0.89262, 0.89198), 0.8797),
}


@needs_shared_data
@pytest.mark.parametrize("experiment", HUMAN)
def test_real_human_trials_are_reproduced(experiment: str) -> None:
    sizes, values, na_as_category = HUMAN[experiment]
    ratings = human_trials(SHARED_DATA / "human" / experiment)
    assert (len(ratings.items), len(ratings.raters), ratings.n_missing) == sizes
    counts = ratings.counts
    found = (
        fleiss_kappa(counts).value,
        fleiss_kappa(counts, "cuzick").value,
        krippendorff_alpha(counts).value,
        ac1(counts).value,
    )
    tolerances = (1e-5, 1e-4, 1e-5, 1e-5)  # of the printed digits
    for value, expected, tolerance in zip(found, values, tolerances, strict=True):
        assert value == pytest.approx(expected, abs=tolerance)
    if na_as_category is not None:
        everything = human_trials(SHARED_DATA / "human" / experiment, na_is_missing=False)
        assert rounded(fleiss_kappa(everything.counts, "fleiss").value, 4) == na_as_category


@needs_shared_data
@pytest.mark.parametrize(
    ("experiment", "accuracy", "n_complete", "kappa_complete"),
    [
        ("edge", 0.8712, 130, 0.8269),
        ("silhouette", 0.7531, 141, 0.7103),
        ("cue-conflict", 0.7755, 1158, 0.6791),
        ("texture-filled-rotated", 0.5619, None, None),
        ("sketch", 0.9163, 760, 0.8970),
    ],
)
def test_real_items_that_everybody_answered_are_reproduced(
    experiment: str, accuracy: float, n_complete: int | None, kappa_complete: float | None
) -> None:
    ratings = human_trials(SHARED_DATA / "human" / experiment)
    counts = ratings.counts
    code = {name: index for index, name in enumerate(ratings.categories)}
    intended = [code[re.sub(r"\d+$", "", name.split("_")[1])] for name in ratings.items]
    n_right = counts[np.arange(len(counts)), intended].sum()
    assert n_right / (ratings.n_ratings + ratings.n_missing) == pytest.approx(accuracy, abs=5.1e-5)
    complete = counts[counts.sum(1) == len(ratings.raters)]
    if n_complete is not None:
        assert len(complete) == n_complete
        assert rounded(fleiss_kappa(complete, "fleiss").value, 4) == kappa_complete


@needs_shared_data
def test_real_items_with_unequal_numbers_of_ratings_are_reproduced() -> None:
    folder = SHARED_DATA / "human" / "texture-filled-rotated"
    n_answers = human_trials(folder, na_is_missing=False).counts.sum(1)
    assert (n_answers.min(), n_answers.max(), n_answers.sum()) == (1, 13, 32 * 160)
    n_ratings = human_trials(folder).counts.sum(1)
    assert ((n_ratings == 1).sum(), (n_ratings >= 2).sum()) == (110, 1131)


@needs_shared_data
def test_real_answers_that_came_too_late_are_one_persons_and_no_category() -> None:
    ratings = human_trials(SHARED_DATA / "human" / "edge", na_is_missing=False)
    late = ratings.categories.index("na")
    assert rounded(category_kappas(ratings.counts)[late], 3) == 0.012
    n_late = np.bincount(ratings.rater[ratings.category == late], minlength=len(ratings.raters))
    assert (n_late[ratings.raters.index("subject-09")], n_late.sum()) == (30, 34)


@needs_shared_data
def test_real_categories_are_reproduced() -> None:
    ratings = human_trials(SHARED_DATA / "human" / "edge")
    values = dict(zip(ratings.categories, category_kappas(ratings.counts), strict=True))
    expected = {
        "airplane": 0.816, "bear": 0.508, "bicycle": 0.989, "bird": 0.733, "boat": 0.699, "bottle": 1.0,
        "car": 0.880, "cat": 0.698, "chair": 0.952, "clock": 0.902, "dog": 0.762, "elephant": 0.796,
        "keyboard": 0.915, "knife": 0.839, "oven": 0.722, "truck": 0.866,
    }  # fmt: skip
    assert {name: rounded(value, 3) for name, value in values.items()} == expected


@needs_shared_data
def test_real_observers_left_out_one_by_one() -> None:
    ratings = human_trials(SHARED_DATA / "human" / "edge")
    values = {
        rater: fleiss_kappa(ratings.without(raters=[rater]).counts).value or 0.0 for rater in ratings.raters
    }
    assert (rounded(min(values.values()), 4), rounded(max(values.values()), 4)) == (0.8126, 0.8447)
    assert max(values, key=lambda rater: values[rater]) == "subject-09"


def test_a_rater_who_rated_twice_is_refused() -> None:
    with pytest.raises(
        CuebenchError, match=r"1 items were rated more than once by one rater, e\.g\. item a by x"
    ):
        make_ratings(["a", "a", "a"], ["x", "x", "y"], ["p", "q", "p"])


def test_a_label_that_was_not_offered_is_refused() -> None:
    with pytest.raises(
        CuebenchError, match=r"labels that are no category: na; the categories are p, q; .*--missing"
    ):
        make_ratings(["a", "a"], ["x", "y"], ["p", "na"], ["p", "q"])


def test_nothing_to_rate_is_refused() -> None:
    with pytest.raises(CuebenchError, match="there are no ratings"):
        make_ratings(["a"], ["x"], [None])


def test_leaving_raters_out_keeps_the_categories_that_were_offered() -> None:
    ratings: Ratings = make_ratings(["a", "a", "b"], ["x", "y", "y"], ["p", "q", "q"])
    left = ratings.without(raters=["x"])
    assert (left.items, left.raters, left.categories) == (("a", "b"), ("y",), ("p", "q"))
    assert left.counts.tolist() == [[0, 1], [0, 1]]


def test_conger_of_the_diagnoses_is_reproduced() -> None:
    assert rounded(conger_kappa(from_counts(DIAGNOSES)).value) == 0.441809


def test_two_raters_of_whom_one_left_a_gap_are_reproduced() -> None:
    ratings = from_rows((" ".join("aabbdcccedda"), " ".join("babbbccce.dd")))
    values = [fleiss_kappa(ratings.counts), krippendorff_alpha(ratings.counts), conger_kappa(ratings)]
    assert [rounded(kappa.value, 5) for kappa in values] == [0.64935, 0.66489, 0.65714]
