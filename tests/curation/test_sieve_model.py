from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from curation.sieve import sieve
from curation.sieve_calibration import area_under_curve
from curation.sieve_cases import Case
from curation.sieve_cut import choose_cut
from curation.sieve_model import N_FOLDS, deal_folds, doubt, estimate_chances, feature_table, is_enough
from tests.curation.sieve_cases import drawn_cases, true_chances


def case(**fields: object) -> Case:
    return replace(drawn_cases(0, 0, 1)[0], **fields)  # type: ignore[arg-type]


def judged_as(cases: Sequence[Case], accepted: Sequence[bool]) -> list[Case]:
    return [replace(each, is_accepted=said) for each, said in zip(cases, accepted, strict=True)]


def test_numbers_of_shapes_and_textures_are_columns_of_their_own() -> None:
    cases = [
        case(numbers={"peak": 200.0, "side": 224.0}, flags=("mask_uncertain",)),
        case(numbers={"peak": 250.0, "side": 224.0}),
        case(numbers={"peak": 3.0, "seam_ratio": 1.2}, cue_kind="texture", grid=8, superclass="zebra"),
    ]
    names, table = feature_table(cases)
    columns = dict(zip(names, table.T.tolist(), strict=True))
    assert columns["shape:peak"][:2] == [200, 250]
    assert np.isnan(columns["shape:peak"][2])
    assert columns["flag:mask_uncertain"] == [1, 0, 0]
    assert columns["class:zebra"] == columns["kind:texture"] == [0, 0, 1]
    assert columns["texture:grid_octaves"][2] == 3


def test_what_is_the_same_for_all_is_no_column() -> None:
    names, table = feature_table([case(numbers={"side": 224.0}), case(numbers={"side": 224.0})])
    assert names == ()
    assert table.shape == (2, 0)


def test_flags_and_odd_numbers_make_a_cue_doubtful() -> None:
    plain = [case(numbers={"clutter": 0.1 + 0.001 * number, "peak": 255.0}) for number in range(9)]
    odd = case(numbers={"clutter": 0.9, "peak": 255.0})
    dim = case(numbers={"clutter": 0.1, "peak": 90.0})
    flagged = case(numbers={"clutter": 0.104, "peak": 255.0}, flags=("clutter", "mask_uncertain"))
    doubts = doubt([*plain, odd, dim, flagged])
    assert doubts[9] > 1.9 > doubts[:9].max()
    assert doubts[10] > doubts[:9].max()
    assert doubts[11] == pytest.approx(2, abs=0.1)


def test_a_cue_is_odd_among_those_of_its_kind_and_grid() -> None:
    fine = [case(numbers={"low_pass_share": 0.05}, cue_kind="texture", grid=16) for _ in range(5)]
    coarse = [case(numbers={"low_pass_share": 0.25}, cue_kind="texture", grid=4)]
    assert doubt([*fine, *coarse]).tolist() == [0] * 6
    assert doubt([case(numbers={}), case(numbers={"peak": 1.0})]).tolist() == [0, 0]


def test_one_cue_without_numbers_hides_no_oddity_of_the_others() -> None:
    plain = [case(numbers={"clutter": 0.1 + 0.001 * number}) for number in range(9)]
    doubts = doubt([*plain, case(numbers={"clutter": 0.9}), case(numbers={})])
    assert np.argmax(doubts) == 9
    assert doubts[10] == 0


def test_photographs_stay_whole_and_answers_are_spread() -> None:
    rng = np.random.default_rng(0)
    photograph = rng.integers(0, 40, 120)
    accepted = (rng.random(120) < 0.8).astype(float)
    folds = deal_folds(accepted, photograph, 0)
    assert set(folds) == set(range(N_FOLDS))
    assert all(len(set(folds[photograph == name])) == 1 for name in set(photograph))
    assert all(0 < accepted[folds != number].mean() < 1 for number in range(N_FOLDS))


def test_a_model_asks_for_verdicts_of_both_kinds_on_different_photographs() -> None:
    cases = drawn_cases(0, 0, 80, n_per_photograph=1)
    yes_and_no = [number % 4 > 0 for number in range(80)]
    assert is_enough(judged_as(cases, yes_and_no))
    assert not is_enough(judged_as(cases[:20], yes_and_no[:20]))
    assert not is_enough(judged_as(cases, [True] * 80))
    alike = [
        replace(each, photograph="one" if number % 4 == 0 else each.photograph)
        for number, each in enumerate(cases)
    ]
    assert not is_enough(judged_as(alike, yes_and_no))
    assert not is_enough(cases)


def test_chances_come_near_the_hidden_rule_and_are_those_of_the_seed() -> None:
    cases = drawn_cases(1, 400, 200)
    chances = estimate_chances(cases)
    truth = true_chances(cases)
    assert np.corrcoef(chances.waiting, truth[400:])[0, 1] > 0.95
    assert np.abs(chances.judged - truth[:400]).mean() < 0.08
    again = estimate_chances(cases)
    assert chances.judged.tolist() == again.judged.tolist()
    assert chances.waiting.tolist() == again.waiting.tolist()


def test_no_verdict_reaches_the_chance_of_its_own_photograph() -> None:
    cases = drawn_cases(2, 120, 0)
    rng = np.random.default_rng(0)
    answers = rng.random(60) < 0.7
    # only the photograph tells the answer: who sees one cue of it knows the other
    alike = [
        replace(each, is_accepted=bool(answers[number // 2]), numbers={"peak": float(number // 2)})
        for number, each in enumerate(cases)
    ]
    chances = estimate_chances(alike)
    assert area_under_curve(chances.judged, chances.accepted) < 0.65


@pytest.mark.parametrize("n_per_photograph", [1, 3, 8])
def test_the_fewest_verdicts_are_enough_however_they_lie(n_per_photograph: int) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        cases = drawn_cases(seed, 0, 96, n_per_photograph)
        photographs = sorted({each.photograph for each in cases})
        bad = {photographs[place] for place in rng.permutation(len(photographs))[:8]}
        seen: set[str] = set()
        judged = []
        for each in cases:
            is_first = each.photograph not in seen
            seen.add(each.photograph)
            judged.append(replace(each, is_accepted=not (each.photograph in bad and is_first)))
        assert sum(not each.is_accepted for each in judged) == 8
        chances = estimate_chances(judged, seed=seed)
        assert np.isfinite(chances.judged).all()


def test_missing_numbers_and_empty_columns_are_taken() -> None:
    cases = drawn_cases(3, 100, 50)
    holey = [
        replace(
            each, numbers={name: value for name, value in each.numbers.items() if (number + len(name)) % 3}
        )
        for number, each in enumerate(cases)
    ]
    chances = estimate_chances([*holey[:-1], replace(holey[-1], numbers={"rare": 1.0, "rarer": 2.0})])
    assert np.isfinite(chances.judged).all()
    assert np.isfinite(chances.waiting).all()
    assert ((chances.waiting > 0) & (chances.waiting < 1)).all()


def test_what_is_least_sure_is_most_urgent() -> None:
    cases = drawn_cases(4, 200, 100)
    report, urgency = sieve("first", cases, 0.05)
    chance = np.array([row.chance for row in report.proposals], float)
    assert np.argmax(urgency[200:]) == np.argmin(np.abs(chance - 0.5))
    assert urgency[200:].tolist() == pytest.approx((0.5 - np.abs(chance - 0.5)).tolist())
    assert report.ordered_by == "verdicts"
    assert {row.name for row in report.comparisons} == {
        "one chance for all",
        "flags and quality numbers alone",
    }


def test_before_there_are_verdicts_what_is_doubtful_is_most_urgent() -> None:
    cases = drawn_cases(4, 10, 20)
    report, urgency = sieve("first", cases, 0.05)
    assert report.ordered_by == "numbers"
    assert urgency.tolist() == doubt(cases).tolist()
    assert {(row.chance, row.proposal) for row in report.proposals} == {(None, "look")}
    assert "too few verdicts for a model: it needs" in report.to_text()


def test_the_misses_of_a_model_are_those_that_its_verdicts_promise() -> None:
    """The rule of the reviewers is known: the true share of misses lies in the interval that is reported."""
    n_held = n_proposing = 0
    for seed in range(8):
        cases = drawn_cases(seed, 300, 600, n_per_photograph=1)
        chances = estimate_chances(cases)
        cut = choose_cut(chances.judged, 1 - chances.accepted, 0.1)
        if cut is not None:
            true_rate = float(1 - true_chances(cases)[300:][chances.waiting >= cut.threshold].mean())
            n_proposing += 1
            n_held += cut.rate_lower <= true_rate <= min(cut.rate_upper, 0.1)
    assert n_proposing >= 5
    assert n_held >= n_proposing - 1
