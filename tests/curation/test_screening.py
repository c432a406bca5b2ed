from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from curation.rating_records import ResponseRecord
from curation.screening import ExclusionRules, Flag, counted, read_exclusions, screen, self_consistency
from data_manifests.errors import ProblemsError
from data_manifests.records import CueKind
from tests.curation.study_run import digest

NAMES = tuple(f"class_{number}" for number in range(10))
CHOICES = (*NAMES, "none")
RULES = ExclusionRules()


def trial(
    position: int,
    answer: str | None,
    expected: str = "class_0",
    *,
    rater: str = "A",
    role: str = "main",
    rt_ms: int | None = 900,
    reached: bool = True,
    kind: CueKind = "shape",
    block: int = 1,
    presentation: int = 1,
) -> ResponseRecord:
    return ResponseRecord.model_validate(
        {
            "campaign": "fall",
            "protocol_sha256": digest("protocol"),
            "rater": rater,
            "sha256": digest(kind, block, position),
            "cue_kind": kind,
            "superclass": expected,
            "role": role,
            "block": block,
            "position": position,
            "presentation": presentation,
            "answer": answer,
            "rt_ms": rt_ms,
            "choices": CHOICES,
            "expected": expected,
            "reached": reached,
        }
    )


def block_of(
    answers: Iterable[str | None], shown: Sequence[str] = NAMES, **fields: object
) -> list[ResponseRecord]:
    """Trials of classes in turn, with these answers."""
    return [
        trial(number, answer, shown[number % len(shown)], **fields)  # type: ignore[arg-type]
        for number, answer in enumerate(answers)
    ]


def good(n: int, **fields: object) -> list[ResponseRecord]:
    return block_of([NAMES[number % 10] for number in range(n)], NAMES, **fields)


def rules_met(rows: Iterable[ResponseRecord], rules: ExclusionRules = RULES) -> dict[str, str]:
    return {flag.rule: flag.value for flag in screen(rows, {}, rules)}


def test_a_good_observer_meets_no_rule() -> None:
    assert rules_met(good(50)) == {}


@pytest.mark.parametrize(("n_failed", "met"), [(1, {}), (2, {"catch": "2 of 8"}), (8, {"catch": "8 of 8"})])
def test_two_failed_catch_trials_exclude(n_failed: int, met: dict[str, str]) -> None:
    catch = [
        trial(50 + number, "class_5" if number < n_failed else "class_0", role="catch") for number in range(8)
    ]
    assert rules_met([*good(50), *catch]) == met


def test_a_catch_trial_without_an_answer_is_missing_and_not_failed() -> None:
    catch = [trial(50 + number, None, role="catch", rt_ms=None) for number in range(8)]
    assert rules_met([*good(50), *catch]) == {}


def test_a_median_below_350_ms_excludes_and_a_fast_observer_does_not() -> None:
    assert rules_met(good(50, rt_ms=350)) == {}
    assert rules_met(good(50, rt_ms=349)) == {"median_rt": "349 ms"}


def test_more_than_a_tenth_of_trials_below_250_ms_excludes() -> None:
    rows = good(50)
    fast = [row.model_copy(update={"rt_ms": 249}) for row in rows]
    assert rules_met([*fast[:5], *rows[5:]]) == {}
    assert rules_met([*fast[:6], *rows[6:]]) == {"fast_trials": "0.120"}


def test_a_trial_below_200_ms_is_missing_and_its_rater_stays() -> None:
    rows = [row.model_copy(update={"rt_ms": 199 if row.position == 3 else 200}) for row in good(50)]
    rows = [row if row.position < 4 else row.model_copy(update={"rt_ms": 800}) for row in rows]
    assert rules_met(rows) == {}
    assert [row.position for row in counted(rows, set(), RULES)] == [n for n in range(50) if n != 3]


@pytest.mark.parametrize(("n_same", "met"), [(30, {}), (31, {"same_option": "0.620"})])
def test_one_option_in_more_than_60_percent_of_a_block_excludes(n_same: int, met: dict[str, str]) -> None:
    # the favourite option is spread out, so that no run is long
    places = {round(number * 50 / n_same) for number in range(n_same)}
    answers = ["class_3" if number in places else NAMES[number % 10] for number in range(50)]
    answers = [
        "class_4" if answer == "class_3" and number not in places else answer
        for number, answer in enumerate(answers)
    ]
    assert answers.count("class_3") == n_same
    assert rules_met(block_of(answers)) == met


@pytest.mark.parametrize(("length", "met"), [(9, {}), (10, {"same_run": "10"})])
def test_ten_times_the_same_in_a_row_exclude(length: int, met: dict[str, str]) -> None:
    answers = ["class_0"] * length + [NAMES[1 + number % 9] for number in range(50 - length)]
    shown = [*answers]
    assert rules_met(block_of(answers, shown)) == met


def test_a_run_ends_with_its_block() -> None:
    one = block_of(["class_0"] * 6, ["class_0"], block=1)
    other = block_of(["class_0"] * 6, ["class_0"], block=2)
    assert rules_met([*one, *other]) == {}


@pytest.mark.parametrize(("n_missing", "met"), [(10, {}), (11, {"missing": "0.220"})])
def test_more_than_a_fifth_missing_excludes(n_missing: int, met: dict[str, str]) -> None:
    rows = [
        row.model_copy(update={"answer": None, "rt_ms": None}) if row.position < n_missing else row
        for row in good(50)
    ]
    assert rules_met(rows) == met


def test_who_stopped_before_half_is_left_out_and_who_did_half_is_kept() -> None:
    def stopped_after(n: int) -> list[ResponseRecord]:
        gone = {"answer": None, "rt_ms": None, "reached": False}
        return [row if row.position < n else row.model_copy(update=gone) for row in good(50)]

    assert rules_met(stopped_after(25)) == {}
    assert rules_met(stopped_after(24)) == {"stopped_early": "0.480"}
    assert rules_met(stopped_after(0)) == {"stopped_early": "0.000"}
    assert len(counted(stopped_after(25), set(), RULES)) == 25


def test_two_failed_checks_exclude() -> None:
    flags = screen([], {"A": 1, "B": 2}, RULES)
    assert flags == [Flag("B", "comprehension", "2", ">= 2")]


def test_answers_that_follow_another_class_are_the_wrong_cue() -> None:
    answers = [NAMES[(number + 1) % 10] for number in range(50)]
    assert rules_met(block_of(answers)) == {"wrong_cue": "shape: 0.000 right, consistency 1.000"}


def test_the_wrong_cue_is_found_in_one_kind_beside_another_that_is_right() -> None:
    swapped = block_of([NAMES[9 - number % 10] for number in range(50)], kind="texture", block=2)
    assert rules_met([*good(50), *swapped]) == {"wrong_cue": "texture: 0.000 right, consistency 1.000"}


def test_random_clicks_and_a_single_key_are_not_the_wrong_cue() -> None:
    scattered = [CHOICES[int(digest("click", number), 16) % 11] for number in range(60)]
    assert "wrong_cue" not in rules_met(block_of(scattered))
    assert set(rules_met(block_of(["class_3"] * 50))) == {"same_option", "same_run"}


def test_two_confused_classes_are_an_error_and_no_wrong_cue() -> None:
    swap = {"class_0": "class_1", "class_1": "class_0"}
    answers = [swap.get(NAMES[number % 10], NAMES[number % 10]) for number in range(50)]
    assert rules_met(block_of(answers)) == {}


def test_too_few_trials_say_nothing_about_the_cue() -> None:
    answers = [NAMES[(number + 1) % 10] for number in range(19)]
    assert rules_met(block_of(answers)) == {}


def test_self_consistency_of_half_a_swap_lies_between() -> None:
    pairs = [("a", "b"), ("b", "a"), ("a", "b"), ("b", "a"), ("a", "a"), ("b", "b")]
    assert 0 < self_consistency(pairs * 4) < 1


def test_practice_is_not_looked_at() -> None:
    practice = [trial(number, "class_5", role="practice", rt_ms=100, block=0) for number in range(50)]
    assert rules_met([*practice, *good(50)]) == {}


def test_only_first_answers_to_main_trials_of_unflagged_raters_count() -> None:
    rows = [
        trial(0, "class_0"),
        trial(1, "class_0", role="catch"),
        trial(2, "class_0", role="repeat", presentation=2),
        trial(3, "class_0", role="practice"),
        trial(4, None, rt_ms=None),
        trial(5, "none"),
        trial(6, "class_0", rater="B"),
    ]
    assert [row.position for row in counted(rows, {"B"}, RULES)] == [0, 5]


def test_every_rule_can_be_switched_off() -> None:
    off = ExclusionRules.model_validate(
        {name: None for name, field in ExclusionRules.model_fields.items() if "None" in str(field.annotation)}
    )
    rows = [*block_of(["class_3"] * 50, rt_ms=210), *[trial(60 + n, None, rt_ms=None) for n in range(40)]]
    rows += [trial(200 + n, "class_5", role="catch") for n in range(4)]
    assert set(rules_met(rows)) == {"catch", "fast_trials", "median_rt", "missing", "same_option", "same_run"}
    assert screen(rows, {"A": 9}, off) == []


def test_rules_have_a_hash_that_changes_with_them() -> None:
    assert RULES.sha256 == ExclusionRules().sha256
    assert RULES.sha256 != ExclusionRules(catch_min_failed=3).sha256


def test_flags_are_sorted_whatever_the_order_of_the_rows() -> None:
    rows = [*block_of(["class_3"] * 50, rater="B"), *good(50, rater="A", rt_ms=100)]
    flags = screen(rows, {}, RULES)
    assert flags == screen(rows[::-1], {}, RULES)
    assert [(flag.rater, flag.rule) for flag in flags] == sorted((flag.rater, flag.rule) for flag in flags)
    assert {flag.rater for flag in flags} == {"A", "B"}


def test_a_mistake_in_rules_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("fast_max_share = 10\ncatch_failed = 1", encoding="utf-8")
    with pytest.raises(ProblemsError) as caught:
        read_exclusions(str(path))
    assert caught.value.problems == (
        "fast_max_share: Input should be less than or equal to 1, got 10",
        "catch_failed: unknown key (did you mean `catch_min_failed`?)",
    )
