from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.agreement import fleiss_kappa
from curation.power import (
    Crowd,
    Design,
    deal,
    designs_for,
    evaluate_design,
    expected_kappa,
    hard_share_for,
    recommend,
    simulate,
)
from curation.power_command import power, power_table
from data_manifests.errors import CuebenchError

ASK = ["--kappa", ".8", "--raters", "12", "--trials", "40", "--replications", "10"]


@given(
    n_raters=st.integers(3, 40), n_trials=st.integers(5, 60), q=st.integers(2, 12), seed=st.integers(0, 99)
)
@settings(max_examples=40, deadline=None)
def test_pictures_are_dealt_evenly_and_to_nobody_twice(
    n_raters: int, n_trials: int, q: int, seed: int
) -> None:
    try:
        designs = designs_for(n_raters, n_trials, q)
    except CuebenchError:
        designs = []
    for design in designs:
        item, rater = deal(design, np.random.default_rng(seed))
        assert len(set(zip(item.tolist(), rater.tolist(), strict=True))) == len(item)
        assert (np.bincount(item, minlength=design.n_items) == design.n_ratings_per_item).all()
        assert np.bincount(rater).max() <= n_trials


def test_designs_spend_what_there_is() -> None:
    designs = designs_for(88, 50, 10)
    assert [(d.n_items, d.n_ratings_per_item) for d in designs] == [
        (2200, 2), (1466, 3), (1100, 4), (880, 5), (550, 8), (440, 10), (293, 15), (200, 22), (100, 44), (50, 88),
    ]  # fmt: skip


def test_the_model_has_the_kappa_that_it_is_asked_for() -> None:
    crowd = Crowd()
    hard_share = hard_share_for(0.8, crowd)
    assert expected_kappa(hard_share, crowd) == pytest.approx(0.8)
    many = simulate(Design(4000, 10, 800, 50), hard_share, crowd, np.random.default_rng(0))
    assert fleiss_kappa(many.counts).value == pytest.approx(0.8, abs=0.02)


def test_the_same_seed_gives_the_same_study() -> None:
    design, crowd = Design(40, 5, 10, 20), Crowd()
    first, again = (
        evaluate_design(design, 0.7, crowd, n_replications=10, seed=3, bound=0.5) for _ in range(2)
    )
    assert first == again
    assert first.half_width == pytest.approx(1.96 * first.sd)


def test_the_published_precision_of_the_recommended_design() -> None:
    """Of 440 pictures with 10 ratings, where two of a hundred people are careless."""
    design, crowd = Design(440, 10, 88, 50), Crowd(careless_share=0.02)
    found = evaluate_design(design, 0.798, crowd, n_replications=100, seed=0, bound=0.7)
    assert found.kappa == pytest.approx(0.798, abs=0.01)
    assert found.sd == pytest.approx(0.0188, abs=0.004)
    assert found.lowest_class == pytest.approx(0.759, abs=0.01)
    assert found.pass_share is not None
    assert found.pass_share > 0.95


def test_the_two_way_interval_holds_the_truth_and_that_of_items_does_not() -> None:
    """The published coverage is .83 and .93; with more careless people that of items is lower still."""
    found = evaluate_design(Design(440, 10, 88, 50), 0.798, Crowd(), n_replications=100, seed=0)
    assert found.item_coverage < 0.85
    assert found.two_way_coverage > 0.88
    assert found.bound_coverage > 0.88


def test_a_kappa_out_of_reach_says_what_the_model_spans() -> None:
    with pytest.raises(
        CuebenchError, match=r"kappa 0\.99: with 5% careless people and 10 categories the model spans"
    ):
        hard_share_for(0.99, Crowd())


def test_too_few_people_or_trials_are_refused_with_the_reason() -> None:
    with pytest.raises(
        CuebenchError, match="2 people: without one of them no two answers to a picture are left"
    ):
        designs_for(2, 100, 10)
    with pytest.raises(
        CuebenchError, match="3 people with 1 trials each: no design has a picture that two of them"
    ):
        designs_for(3, 1, 10)


def test_a_study_without_any_disagreement_has_no_error() -> None:
    with pytest.raises(
        CuebenchError, match="4 pictures x 3 ratings: a simulated study has no disagreement at all"
    ):
        evaluate_design(Design(4, 3, 3, 4), 0.98, Crowd(careless_share=0), n_replications=20, seed=0)


def test_the_recommended_design_has_the_most_ratings_among_the_narrow_ones() -> None:
    crowd = Crowd(careless_share=0)
    results = [
        evaluate_design(design, 0.8, crowd, n_replications=20, seed=0) for design in designs_for(20, 40, 10)
    ]
    best = recommend(results)
    assert best.half_width <= 1.25 * min(result.half_width for result in results)
    assert all(
        result.design.n_ratings_per_item <= best.design.n_ratings_per_item
        for result in results
        if result.half_width <= best.half_width
    )
    assert power_table(results, best).count("*") == 1


def test_the_command_prints_a_row_for_each_design() -> None:
    result = CliRunner().invoke(power, [*ASK, "--format", "json"])
    found = json.loads(result.stdout)
    assert [design["n_ratings_per_item"] for design in found["designs"]] == [2, 3, 4, 5, 8, 10]
    assert sum(design["recommended"] for design in found["designs"]) == 1
    assert {design["pass_share"] for design in found["designs"]} == {None}
    text = CliRunner().invoke(power, [*ASK, "--bound", ".7"]).stdout
    assert "passes" in text
    assert "recommended: " in text
    assert "| pictures |" in CliRunner().invoke(power, [*ASK, "--format", "md"]).stdout


def test_few_people_are_told_that_each_of_them_weighs_much() -> None:
    few = ["--kappa", ".8", "--raters", "5", "--trials", "40", "--replications", "10"]
    assert "note: 5 people: each of them weighs much" in CliRunner().invoke(power, few).stdout
    assert "note:" not in CliRunner().invoke(power, ASK).stdout


def test_a_bound_that_is_no_number_is_refused() -> None:
    with pytest.raises(CuebenchError, match="--bound nan: expected a kappa from 0 to below 1"):
        raise CliRunner().invoke(power, [*ASK, "--bound", "nan"]).exception or AssertionError("accepted")
