from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from curation.gate import GateInput, GateReport, overall, run_gate
from curation.gate_checks import Check
from curation.gate_command import gate_text
from curation.gate_evidence import cue_evidence
from curation.gate_people import time_evidence
from curation.gate_power import needed_kappa, pass_probability, power_line
from curation.gate_review import ac1_lower_bound, review_checks
from curation.gate_rules import GateRules, read_gate_rules
from curation.gate_source import select_cues
from curation.power import Design
from curation.rating_records import AdjudicationRecord, VerdictRecord
from curation.report_page import render_report_page
from curation.shares import binomial_lower_bound, share_lower_bound, two_way_share_error
from data_manifests.errors import CuebenchError, ProblemsError
from data_manifests.jsonl import dump_records, parse_records
from data_manifests.records import CueRecord
from tests.curation.agreement_tables import DIAGNOSES, FOUR_RATERS, from_rows
from tests.curation.gate_data import ZERO, make_cue, make_input, make_verdict

SMALL = Design(60, 6, 18, 20)


@pytest.fixture(scope="module")
def passing() -> GateInput:
    return make_input()


@pytest.fixture(scope="module")
def report(passing: GateInput) -> GateReport:
    return run_gate(passing, "1")


def outcome_of(report: GateReport, name: str) -> str:
    return next(check.outcome for check in report.checks if check.name == name)


def test_a_good_set_passes_every_check(report: GateReport) -> None:
    assert {check.outcome for check in report.checks} == {"PASS"}
    assert (report.outcome, report.exit_code) == ("PASS", 0)


def test_the_report_is_a_function_of_its_input(passing: GateInput, report: GateReport) -> None:
    shuffled = replace(
        passing,
        responses=passing.responses[::-1],
        verdicts=passing.verdicts[::-1],
        cues=passing.cues[::-1],
        sources=passing.sources[::-1],
    )
    assert run_gate(shuffled, "1").to_json() == report.to_json()


@pytest.mark.parametrize(
    "change",
    [
        lambda data: replace(data, rules=data.rules.model_copy(update={"level": 0.9})),
        lambda data: replace(
            data, responses=(data.responses[0].model_copy(update={"rt_ms": 1}), *data.responses[1:])
        ),
        lambda data: replace(data, cues=data.cues[1:]),
        lambda data: replace(data, n_check_failures={"P000": 1}),
        lambda data: replace(data, verdicts=data.verdicts[1:]),
        lambda data: replace(data, sources=data.sources[1:]),
    ],
)
def test_every_part_of_the_input_is_in_the_hash(
    change: Callable[[GateInput], GateInput], passing: GateInput, report: GateReport
) -> None:
    before, after = report.input_hashes, change(passing).hashes()
    assert before != after
    assert sum(before[name] != after[name] for name in before) == 1


def test_another_version_gives_another_report(passing: GateInput, report: GateReport) -> None:
    small = replace(passing, responses=(), rules=GateRules(name="other"))
    assert run_gate(small, "1").to_json()["report_sha256"] != run_gate(small, "2").to_json()["report_sha256"]
    assert len(report.to_json()["report_sha256"]) == 64


def test_too_few_answers_are_insufficient_and_not_a_failure() -> None:
    found = run_gate(make_input(hard_share=0.0, design=SMALL), "1")
    assert found.outcome == "INSUFFICIENT"
    assert found.exit_code == 4
    assert outcome_of(found, "shape: enough participants") == "INSUFFICIENT"
    assert outcome_of(found, "shape: enough pictures") == "INSUFFICIENT"


def test_no_answers_at_all_are_insufficient(passing: GateInput) -> None:
    found = run_gate(replace(passing, responses=()), "1")
    assert found.outcome == "INSUFFICIENT"
    assert outcome_of(found, "texture: people agree") == "INSUFFICIENT"
    assert found.evidence[0].agreement is None


def test_low_agreement_fails_and_says_what_it_would_take() -> None:
    found = run_gate(make_input(hard_share=0.4), "1")
    assert (found.outcome, found.exit_code) == ("FAIL", 3)
    check = next(check for check in found.checks if check.name == "texture: people agree")
    assert check.outcome == "FAIL"
    assert "it takes a true kappa of" in check.remedy
    assert "% of the time" in check.remedy


def test_everybody_agreeing_on_the_wrong_answer_fails(passing: GateInput) -> None:
    """Kappa is blind to it: one class is called by the name of another, by everybody."""
    wrong = tuple(
        row.model_copy(update={"answer": "shape_2"}) if row.superclass == "shape_1" else row
        for row in passing.responses
    )
    found = run_gate(replace(passing, responses=wrong), "1")
    assert outcome_of(found, "shape: every class is called by its name") == "FAIL"
    check = next(check for check in found.checks if check.name == "shape: every class is called by its name")
    assert check.detail == "shape_1 is called shape_2"
    assert outcome_of(found, "shape: answers are right") == "FAIL"


def test_answers_to_pictures_that_were_made_again_do_not_count(passing: GateInput) -> None:
    stale = tuple(row.model_copy(update={"stale": True}) for row in passing.responses)
    found = run_gate(replace(passing, responses=stale), "1")
    assert outcome_of(found, "shape: nothing is stale") == "FAIL"
    assert found.evidence[0].n_images == 0


def test_answers_to_pictures_that_do_not_go_out_do_not_count(passing: GateInput) -> None:
    fewer = replace(passing, cues=tuple(cue for cue in passing.cues if cue.superclass != "shape_0"))
    evidence = run_gate(fewer, "1").evidence[0]
    assert evidence.n_images == 396
    assert "shape_0" not in evidence.confusion


def test_careless_people_are_left_out_and_the_report_shows_what_that_does(passing: GateInput) -> None:
    careless = {"P003", "P004"}
    rows = tuple(
        row.model_copy(update={"answer": row.choices[0], "rt_ms": 120}) if row.rater in careless else row
        for row in passing.responses
    )
    found = run_gate(replace(passing, responses=rows), "1")
    assert {flag.rater for flag in found.flags} == careless
    kappa = found.evidence[0].sensitivity
    assert kappa["everybody"] is not None
    assert kappa["after all exclusions"] is not None
    assert kappa["after all exclusions"] >= kappa["everybody"]
    assert any(name.startswith("only ") for name in kappa)


def test_a_rejected_picture_holds_the_release_back(passing: GateInput) -> None:
    verdicts = tuple(
        row.model_copy(update={"answer": "reject"}) if row.sha256 == passing.cues[0].sha256 else row
        for row in passing.verdicts
    )
    found = run_gate(replace(passing, verdicts=verdicts), "1")
    assert outcome_of(found, "review: every picture is accepted") == "FAIL"


def test_planted_defects_that_pass_hold_the_release_back(passing: GateInput) -> None:
    blind = tuple(
        row.model_copy(update={"answer": "accept"}) if row.role == "known_bad" else row
        for row in passing.verdicts
    )
    assert (
        outcome_of(run_gate(replace(passing, verdicts=blind), "1"), "review: planted defects are found")
        == "FAIL"
    )
    none = tuple(row for row in passing.verdicts if row.role != "known_bad")
    found = run_gate(replace(passing, verdicts=none), "1")
    assert outcome_of(found, "review: planted defects are found") == "INSUFFICIENT"


def test_no_second_opinion_is_insufficient(passing: GateInput) -> None:
    alone = tuple(row for row in passing.verdicts if row.rater == "ann")
    found = run_gate(replace(passing, verdicts=alone), "1")
    assert outcome_of(found, "review: reviewers agree") == "INSUFFICIENT"
    assert outcome_of(found, "review: second opinions") == "FAIL"


def test_a_photograph_without_a_licence_holds_the_release_back(passing: GateInput) -> None:
    sources = (passing.sources[0].model_copy(update={"license_spdx": "NOASSERTION"}), *passing.sources[1:])
    found = run_gate(replace(passing, sources=sources), "1")
    assert outcome_of(found, "set: every photograph has a licence") == "FAIL"


def test_a_picture_twice_and_two_sizes_hold_the_release_back(passing: GateInput) -> None:
    first = passing.cues[0]
    copy = passing.cues[1].model_copy(update={"pixel_sha256": first.pixel_sha256, "width": 225})
    found = run_gate(replace(passing, cues=(first, copy, *passing.cues[2:])), "1")
    assert outcome_of(found, "set: no picture twice") == "FAIL"
    assert outcome_of(found, "set: one size") == "FAIL"


def test_the_worst_outcome_decides() -> None:
    def checks(*outcomes: str) -> list[Check]:
        return [Check("x", outcome, None, None, "") for outcome in outcomes]  # type: ignore[arg-type]

    assert overall(checks("PASS", "INSUFFICIENT", "FAIL")) == "FAIL"
    assert overall(checks("PASS", "INSUFFICIENT")) == "INSUFFICIENT"
    assert overall(checks("PASS")) == "PASS"
    assert overall([]) == "INSUFFICIENT"


def test_what_it_takes_to_pass_is_as_published() -> None:
    assert needed_kappa(0.0195, 0.70, 0.95, 0.5) == pytest.approx(0.732, abs=5e-4)
    assert needed_kappa(0.0195, 0.70, 0.95, 0.9) == pytest.approx(0.757, abs=5e-4)
    assert needed_kappa(0.010, 0.90, 0.95, 0.9) == pytest.approx(0.929, abs=5e-4)


def test_the_chance_to_pass_is_one_half_where_the_bound_is_just_met() -> None:
    kappa, se = 0.8, 0.02
    lower = 1 - np.exp(np.log1p(-kappa) + 1.6448536 * se / (1 - kappa))
    assert pass_probability(kappa, se, float(lower), 0.95) == pytest.approx(0.5, abs=1e-6)
    assert pass_probability(0.9, se, 0.7, 0.95) > 0.99
    assert pass_probability(0.6, se, 0.7, 0.95) < 0.01
    assert pass_probability(1.0, 0.0, 0.7, 0.95) == 1.0


def test_the_bound_of_ac1_uses_the_published_error() -> None:
    lower = ac1_lower_bound(DIAGNOSES, 0.95)
    assert lower is not None
    value = 0.447885
    se = (np.log1p(-lower) - np.log1p(-value)) / 1.6448536 * (1 - value)
    assert se == pytest.approx(0.055662, abs=2e-6)


def test_bounds_of_shares() -> None:
    assert binomial_lower_bound(0, 10, 0.95) == 0.0
    assert binomial_lower_bound(19, 20, 0.95) == pytest.approx(0.7839, abs=1e-4)
    item, rater = np.repeat(np.arange(50), 4), np.tile(np.arange(4), 50)
    assert share_lower_bound(np.ones(200), item, rater, 0.95) == pytest.approx(0.05 ** (1 / 50))
    assert share_lower_bound(np.array([1.0, 0.0]), np.array([0, 0]), np.array([0, 1]), 0.95) is None


def test_the_error_of_a_share_counts_people_who_are_always_wrong() -> None:
    item, rater = np.repeat(np.arange(50), 4), np.tile(np.arange(4), 50)
    one_is_always_wrong = (rater != 0).astype(float)
    spread = np.zeros(200)
    spread[np.random.default_rng(0).permutation(200)[:150]] = 1
    alone = two_way_share_error(one_is_always_wrong, item, rater)
    assert alone > 4 * two_way_share_error(spread, item, rater)


def test_only_accepted_cues_go_out() -> None:
    cues = [make_cue(f"c{index}", "clock", "shape") for index in range(5)]
    failed = cues[4].model_copy(update={"status": "no_foreground", "sha256": None})
    verdicts = [
        make_verdict(cues[0], "ann"),
        make_verdict(cues[1], "ann", "reject", reasons=("cropped",)),
        make_verdict(cues[2], "ann"),
        make_verdict(cues[2], "bob", "unsure"),
    ]
    selected, left_out = select_cues([*cues[:4], failed], verdicts, [], reviewed=True)
    assert [cue.cue_id for cue in selected] == [cues[0].cue_id]
    assert left_out == {"no_foreground": 1, "rejected": 1, "split": 1, "undecided": 1}
    everything, _ = select_cues([*cues[:4], failed], [], [], reviewed=False)
    assert len(everything) == 4


def test_an_adjudication_overrides_the_votes_and_a_missing_vote_leaves_it_open() -> None:
    cue = make_cue("c", "clock", "shape")
    votes = [make_verdict(cue, "ann"), make_verdict(cue, "bob", "reject", reasons=("cropped",))]
    decision = AdjudicationRecord(
        campaign="review",
        sha256=cue.sha256 or "",
        cue_kind="shape",
        round=1,
        adjudicator="eve",
        answer="accept",
        rationale="the crop is fine",
        votes_sha256=ZERO,
        decided_at="2026-11-30T12:00:00.000Z",
    )
    assert _accepted(cue, votes) == 0
    assert _accepted(cue, votes, decision) == 1
    assert _accepted(cue, [make_verdict(cue, "ann"), make_verdict(cue, "bob", None)]) == 0


def _accepted(cue: CueRecord, votes: list[VerdictRecord], *decisions: AdjudicationRecord) -> int:
    return len(select_cues([cue], votes, decisions, reviewed=True)[0])


def test_the_shipped_rules_are_the_defaults() -> None:
    assert read_gate_rules("default") == GateRules(name="default")


def test_mistakes_in_rules_are_listed_at_once(tmp_path: object) -> None:
    path = f"{tmp_path}/rules.toml"
    with open(path, "w") as stream:  # noqa: PTH123
        stream.write('name = "x"\nlevle = 0.9\n[agreement]\nshape = 2\n[volume]\nmin_images = 3\n')
    with pytest.raises(ProblemsError) as caught:
        read_gate_rules(path)
    text = str(caught.value)
    assert "levle: unknown key (did you mean `level`?)" in text
    assert "agreement.shape" in text
    assert "volume.min_images: unknown key" in text


def test_text_and_page_say_everywhere_that_answers_were_simulated(passing: GateInput) -> None:
    small = make_input(design=SMALL)
    marked = replace(small, simulated=True)
    report = run_gate(marked, "1")
    assert gate_text(report, {}).startswith("SIMULATED")
    assert "**INSUFFICIENT**" in gate_text(report, {"split": 2}, markdown=True)
    assert "not going out: 2 split" in gate_text(report, {"split": 2})
    page = render_report_page(marked, report, "nowhere")
    assert page.count("SIMULATED") == 1
    assert "(simulated)" in page
    assert "SIMULATED" not in render_report_page(small, run_gate(small, "1"), "nowhere")
    assert "http" not in page


def test_one_marked_answer_makes_all_of_it_simulated_and_no_flag_takes_that_away(passing: GateInput) -> None:
    first, *others = passing.responses
    marked = replace(passing, responses=(first.model_copy(update={"flags": ("simulated",)}), *others))
    assert marked.simulated
    assert replace(marked, simulated=False).simulated
    verdict, *rest = passing.verdicts
    by_reviewers = replace(passing, verdicts=(verdict.model_copy(update={"flags": ("simulated",)}), *rest))
    assert by_reviewers.simulated
    assert not passing.simulated
    report = run_gate(replace(marked, responses=marked.responses[:1]), "1")
    assert report.simulated
    assert report.to_json()["simulated"] is True


def test_pictures_that_nobody_rated_are_counted_and_said(passing: GateInput) -> None:
    seen: Counter[str] = Counter()
    unseen = set()
    for cue in passing.cues:  # two of each class of shapes
        seen[cue.superclass] += 1
        if cue.cue_kind == "shape" and seen[cue.superclass] <= 2:
            unseen.add(cue.sha256)
    fewer = replace(passing, responses=tuple(row for row in passing.responses if row.sha256 not in unseen))
    found = run_gate(fewer, "1")
    assert (found.evidence[0].n_cues, found.evidence[0].n_images) == (440, 420)
    assert found.outcome == "PASS"
    said = (
        "860 of 880 pictures were rated, a sample of the set; the others were looked at by reviewers alone."
    )
    assert said in gate_text(found, {})
    assert said in render_report_page(fewer, found, "nowhere")
    assert "420 of 440 pictures were rated" in gate_text(found, {})
    assert "880 of 880 pictures were rated." in gate_text(run_gate(passing, "1"), {})


def test_without_a_review_every_picture_has_to_be_rated(passing: GateInput) -> None:
    rules = passing.rules.model_copy(update={"review": None})
    name = "shape: somebody looked at every picture"
    assert outcome_of(run_gate(replace(passing, rules=rules), "1"), name) == "PASS"
    first = next(row.sha256 for row in passing.responses if row.cue_kind == "shape")
    fewer = tuple(row for row in passing.responses if row.sha256 != first)
    found = run_gate(replace(passing, rules=rules, responses=fewer), "1")
    assert outcome_of(found, name) == "INSUFFICIENT"
    assert "879 of 880 pictures were rated; nobody looked at the others." in gate_text(found, {})


def test_rules_that_ask_for_no_picture_of_a_class_still_ask_for_one(passing: GateInput) -> None:
    rules = GateRules.model_validate({"name": "x", "volume": {"min_images_per_class": 0}})
    rows = tuple(row for row in passing.responses if row.superclass != "shape_3")
    found = run_gate(replace(passing, responses=rows, rules=rules), "1")
    assert outcome_of(found, "shape: enough pictures of each class") == "INSUFFICIENT"


def test_what_is_asked_stands_beside_what_was_found(passing: GateInput, report: GateReport) -> None:
    asked = {check.name: check.asked for check in report.checks}
    assert asked["texture: people agree"] == "at least 0.70"
    assert asked["shape: enough participants"] == "at least 80"
    assert asked["shape: no participant decides it"] == "at most 0.03"
    assert asked["set: no picture twice"] == "at most 0"
    assert Check("x", "PASS", 1.0, 0.125, "").asked == "at least 0.125"
    assert "confidence (asked: at least 0.70)" in gate_text(report, {})
    assert "| at least 0.70 |" in gate_text(report, {}, markdown=True)
    assert '<td class="asked">at least 0.70</td>' in render_report_page(passing, report, "nowhere")
    assert report.to_json()["checks"][0]["asked"] == "at least 0.90"


def test_advice_on_a_kappa_that_is_high_enough_is_to_collect_more() -> None:
    assert power_line(1.0, 0.0, 0.9, 0.95) == (
        "kappa is high enough, and there are too few ratings to vouch for it: collect more (`study top-up`)"
    )
    assert power_line(0.9, None, 0.9, 0.95) == "collect more ratings"
    assert "passes 0% of the time" in power_line(0.5, 0.01, 0.9, 0.95)


def test_a_share_that_is_high_enough_is_not_answered_by_leaving_pictures_out() -> None:
    few = run_gate(make_input(hard_share=0.0, design=Design(12, 2, 6, 4)), "1")
    check = next(check for check in few.checks if check.name == "shape: answers are right")
    assert check.outcome == "FAIL"
    assert check.remedy.startswith("collect more responses: the share is high enough")


def test_the_page_shows_who_answered_and_how_fast(passing: GateInput, report: GateReport) -> None:
    evidence = report.evidence[0]
    assert len(evidence.raters) == evidence.n_participants == 88
    assert sum(row.n_ratings for row in evidence.raters) == 4400
    assert evidence.times is not None
    assert sum(evidence.times.counts) == 4400
    low, middle, high = evidence.times.quartiles_ms
    assert 700 <= low <= middle <= high < 790
    page = render_report_page(passing, report, "nowhere")
    assert "<summary>88 participants count; each by their code</summary>" in page
    assert "<code>P001</code>" in page
    assert f"the median is {middle / 1000:.2f} s" in page
    assert (
        page.index("Class by class") < page.index("Standard error 0.") < page.index("What was taken for what")
    )
    slow = time_evidence([passing.responses[0].model_copy(update={"rt_ms": 99_000})])
    assert slow is not None
    assert (slow.quartiles_ms[1], slow.counts[-1]) == (99_000, 1)
    assert time_evidence([passing.responses[0].model_copy(update={"rt_ms": None})]) is None


def test_evidence_has_no_nan(passing: GateInput) -> None:
    evidence = cue_evidence(passing.responses, "shape", set(), passing)
    assert evidence.n_images == 0
    assert evidence.accuracy is None
    assert "nan" not in str(evidence.to_json()).lower()


def test_the_bound_of_ac1_uses_the_published_error_with_missing_ratings() -> None:
    lower = ac1_lower_bound(from_rows(FOUR_RATERS).counts, 0.95)
    assert lower is not None
    value = 0.775444
    se = (np.log1p(-lower) - np.log1p(-value)) / 1.6448536 * (1 - value)
    assert se == pytest.approx(0.142950, abs=2e-6)


def test_a_class_of_which_nobody_saw_a_picture_is_not_passed_over(passing: GateInput) -> None:
    unseen = replace(
        passing, responses=tuple(row for row in passing.responses if row.superclass != "shape_3")
    )
    found = run_gate(unseen, "1")
    check = next(check for check in found.checks if check.name == "shape: enough pictures of each class")
    assert (check.outcome, check.value) == ("INSUFFICIENT", 0.0)
    assert check.detail == "0 pictures of shape_3, the class with the fewest, were rated"
    named = next(check for check in found.checks if check.name == "shape: every class is called by its name")
    assert (named.outcome, named.detail) == ("INSUFFICIENT", "no answer to shape_3 counts")
    assert outcome_of(found, "shape: every class by itself") == "PASS"
    row = next(row for row in found.evidence[0].classes if row.superclass == "shape_3")
    assert (row.n_images, row.accuracy, row.majority, row.kappa) == (0, None, None, None)
    page = render_report_page(unseen, found, "nowhere")
    assert "two things equally often" not in page


def test_no_answer_that_counts_is_never_a_pass(passing: GateInput) -> None:
    everybody = {row.rater: 5 for row in passing.responses}
    found = run_gate(replace(passing, n_check_failures=everybody), "1")
    people = [check for check in found.checks if check.name.startswith("shape: ")]
    assert {check.name for check in people if check.outcome == "PASS"} == {"shape: nothing is stale"}
    assert {flag.rule for flag in found.flags} == {"comprehension"}
    text = gate_text(found, {})
    assert "of no class can it be said" not in text
    assert "leave out" not in text
    assert "unknown" not in text
    advice = {check.remedy for check in people if check.outcome == "INSUFFICIENT"}
    assert advice == {"collect responses"}


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (
            {"agreement": {"shape": 0.9}},
            r"rules x: \[agreement\] has no bound for texture, of which there are cues",
        ),
        ({"correctness": {}}, r"rules x: \[correctness\] has no bound for shape and texture"),
    ],
)
def test_rules_without_a_bound_for_a_kind_in_the_set_are_refused(
    passing: GateInput, bounds: dict[str, object], message: str
) -> None:
    rules = GateRules.model_validate({"name": "x", **bounds})
    with pytest.raises(CuebenchError, match=message):
        run_gate(replace(passing, rules=rules), "1")


def test_rules_for_one_kind_are_enough_for_a_set_of_it(passing: GateInput) -> None:
    rules = GateRules(name="x", agreement={"shape": 0.9}, correctness={"shape": 0.9})
    shapes = tuple(cue for cue in passing.cues if cue.cue_kind == "shape")
    found = run_gate(replace(passing, cues=shapes, rules=rules), "1")
    assert found.outcome == "PASS"
    assert not any(check.name.startswith("texture") for check in found.checks)


def test_a_set_without_cues_is_insufficient(passing: GateInput) -> None:
    found = run_gate(replace(passing, cues=(), sources=()), "1")
    assert (found.outcome, found.evidence) == ("INSUFFICIENT", ())
    assert "0 of 0 pictures are accepted" in gate_text(found, {})


def test_a_verdict_that_stands_there_twice_is_refused(passing: GateInput) -> None:
    twice = replace(passing, verdicts=(*passing.verdicts, *passing.verdicts[:3]), responses=())
    with pytest.raises(CuebenchError, match="items were rated more than once by one rater"):
        run_gate(twice, "1")


def test_an_answer_that_was_not_offered_is_refused(passing: GateInput) -> None:
    others = tuple(
        row.model_copy(update={"choices": tuple(name for name in row.choices if name != "shape_1")})
        for row in passing.responses
    )
    with pytest.raises(
        CuebenchError, match="labels that are no category: shape_1; the categories are shape_0"
    ):
        run_gate(replace(passing, responses=others), "1")


def test_the_level_is_said_as_the_rules_have_it() -> None:
    small = make_input(design=SMALL, rules=GateRules(name="x", level=0.975))
    text = gate_text(run_gate(small, "1"), {})
    assert "with 97.5% confidence" in text
    assert "98%" not in text


def test_one_rater_alone_gives_no_bound_of_a_share() -> None:
    item = np.arange(20)
    assert share_lower_bound(np.ones(20), item, np.zeros(20, np.int64), 0.95) is None
    few = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert share_lower_bound(few, np.repeat(np.arange(3), 2), np.tile(np.arange(2), 3), 0.95) == 0.0


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_manifest_with_a_number_that_is_none_is_refused(number: str) -> None:
    row = dump_records([make_cue("c", "clock", "shape")])
    bad = row.replace(b'"quality":{}', f'"quality":{{"area_share":{number}}}'.encode())
    with pytest.raises(ProblemsError, match=r"(?s)line 1.*quality\.area_share.*finite number"):
        parse_records(bad, CueRecord, "cues.jsonl")


def test_verdicts_that_are_none_are_refused() -> None:
    cue = make_cue("c", "clock", "shape")
    odd = make_verdict(cue, "ann", "maybe")
    fields = dict.fromkeys(("campaign", "adjudicator", "rationale", "decided_at"), "x")
    decision = AdjudicationRecord.model_validate(
        {
            **fields,
            "sha256": cue.sha256,
            "cue_kind": "shape",
            "round": 1,
            "answer": "so so",
            "votes_sha256": ZERO,
        }
    )
    with pytest.raises(CuebenchError, match="the verdict 'maybe' is none; expected accept, reject, unsure"):
        _accepted(cue, [odd])
    with pytest.raises(CuebenchError, match="the verdict 'so so' is none"):
        _accepted(cue, [make_verdict(cue, "ann")], decision)


def test_a_decision_on_a_picture_that_nobody_was_asked_about_changes_nothing(passing: GateInput) -> None:
    fields = dict.fromkeys(("campaign", "adjudicator", "rationale", "decided_at"), "x")
    decision = AdjudicationRecord.model_validate(
        {**fields, "sha256": ZERO, "cue_kind": "shape", "round": 1, "answer": "accept", "votes_sha256": ZERO}
    )
    before, after = (
        review_checks(passing.cues, passing.verdicts, decisions, passing.rules)
        for decisions in ((), (decision,))
    )
    assert list(before) == list(after)
