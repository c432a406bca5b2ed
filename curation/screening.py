"""Pre-registered rules of exclusion: which raters and which trials do not count.

The rules see responses and times, never agreement between raters. A rater who meets a rule is flagged; every row
stays, and `counted` is the one place that decides which of them count.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import Annotated

from pydantic import Field

from curation.rating_records import ResponseRecord
from data_manifests.jsonl import canonical_sha256
from data_manifests.settings import Settings, parse_settings
from data_manifests.shipped import read_toml

_FOLDER = "exclusions"

Share = Annotated[float, Field(ge=0, le=1)]


class ExclusionRules(Settings):
    """The thresholds; `data_manifests/exclusions/default.toml` explains each.

    None switches a rule off (in TOML, which has none: `false`). Shares lie in [0, 1], times are in ms.
    """

    catch_min_failed: Annotated[int, Field(ge=1)] | None = 2
    trial_min_rt_ms: Annotated[int, Field(ge=0)] = 200
    median_min_rt_ms: Annotated[int, Field(ge=0)] | None = 350
    fast_rt_ms: Annotated[int, Field(ge=0)] = 250
    fast_max_share: Share | None = 0.10
    same_max_share: Share | None = 0.60
    same_min_run: Annotated[int, Field(ge=2)] | None = 10
    missing_max_share: Share | None = 0.20
    check_min_failed: Annotated[int, Field(ge=1)] | None = 2
    done_min_share: Share | None = 0.50
    wrong_cue_min_consistency: Share | None = 0.50
    wrong_cue_min_trials: Annotated[int, Field(ge=2)] = 20

    @property
    def sha256(self) -> str:
        """The hash of the rules."""
        return canonical_sha256(self.model_dump(mode="json"))


def read_exclusions(name_or_path: str) -> ExclusionRules:
    """Return shipped rules by name, or those of a TOML file.

    Raises
    ------
    CuebenchError
        If there is no such file or name.
    ProblemsError
        If the file has mistakes; lists all of them.
    """
    where, content = read_toml(name_or_path, _FOLDER)
    return parse_settings(ExclusionRules, content, where)


@dataclass(frozen=True)
class Flag:
    """A rule that a rater met: what was found, and from where on it excludes."""

    rater: str
    rule: str
    value: str
    threshold: str


def is_right(response: ResponseRecord) -> bool:
    """Return whether the answer is what the picture is meant to show."""
    return response.answer == response.expected


def is_missing(response: ResponseRecord, rules: ExclusionRules) -> bool:
    """Return whether a trial has no answer that counts: none at all, or one that came too fast to be one."""
    too_fast = response.rt_ms is not None and response.rt_ms < rules.trial_min_rt_ms
    return response.answer is None or too_fast


def counted(
    responses: Iterable[ResponseRecord], flagged: set[str], rules: ExclusionRules
) -> list[ResponseRecord]:
    """Return the responses that count for agreement: first answers to main trials, by raters without a flag."""
    return [
        response
        for response in responses
        if response.role == "main"
        and response.presentation == 1
        and response.rater not in flagged
        and not is_missing(response, rules)
    ]


def screen(
    responses: Iterable[ResponseRecord], n_check_failures: Mapping[str, int], rules: ExclusionRules
) -> list[Flag]:
    """Return every rule that a rater met, sorted by rater and rule.

    Parameters
    ----------
    responses : the trials of all raters, practice left out or not
    n_check_failures : rater -> how often they failed the comprehension check
    """
    rows: dict[str, list[ResponseRecord]] = defaultdict(list)
    for response in sorted(responses, key=lambda row: (row.rater, row.block, row.position)):
        if response.role != "practice":
            rows[response.rater].append(response)
    flags = [flag for rater, trials in rows.items() for flag in _screen_rater(rater, trials, rules)]
    if rules.check_min_failed is not None:
        flags += [
            Flag(rater, "comprehension", str(n), f">= {rules.check_min_failed}")
            for rater, n in n_check_failures.items()
            if n >= rules.check_min_failed
        ]
    return sorted(flags, key=lambda flag: (flag.rater, flag.rule))


def _screen_rater(rater: str, trials: Sequence[ResponseRecord], rules: ExclusionRules) -> Iterator[Flag]:
    reached = [trial for trial in trials if trial.reached]
    given = [trial for trial in reached if not is_missing(trial, rules)]
    yield from _too_little(rater, trials, reached, given, rules)
    failed = sum(1 for trial in given if trial.role == "catch" and not is_right(trial))
    if rules.catch_min_failed is not None and failed >= rules.catch_min_failed:
        n_catch = sum(1 for trial in given if trial.role == "catch")
        yield Flag(rater, "catch", f"{failed} of {n_catch}", f">= {rules.catch_min_failed}")
    yield from _too_fast(rater, reached, rules)
    yield from _straight_lining(rater, given, rules)
    yield from _wrong_cue(rater, given, rules)


def _too_little(
    rater: str,
    trials: Sequence[ResponseRecord],
    reached: Sequence[ResponseRecord],
    given: Sequence[ResponseRecord],
    rules: ExclusionRules,
) -> Iterator[Flag]:
    done = len(reached) / len(trials)
    if rules.done_min_share is not None and done < rules.done_min_share:
        yield Flag(rater, "stopped_early", f"{done:.3f}", f"< {rules.done_min_share}")
    missing = 1 - len(given) / len(reached) if reached else 0.0
    if rules.missing_max_share is not None and missing > rules.missing_max_share:
        yield Flag(rater, "missing", f"{missing:.3f}", f"> {rules.missing_max_share}")


def _too_fast(rater: str, reached: Sequence[ResponseRecord], rules: ExclusionRules) -> Iterator[Flag]:
    times = [trial.rt_ms for trial in reached if trial.answer is not None and trial.rt_ms is not None]
    if not times:
        return
    middle = median(times)
    if rules.median_min_rt_ms is not None and middle < rules.median_min_rt_ms:
        yield Flag(rater, "median_rt", f"{middle:g} ms", f"< {rules.median_min_rt_ms} ms")
    fast = sum(1 for time in times if time < rules.fast_rt_ms) / len(times)
    if rules.fast_max_share is not None and fast > rules.fast_max_share:
        threshold = f"> {rules.fast_max_share} below {rules.fast_rt_ms} ms"
        yield Flag(rater, "fast_trials", f"{fast:.3f}", threshold)


def _straight_lining(rater: str, given: Sequence[ResponseRecord], rules: ExclusionRules) -> Iterator[Flag]:
    """Flag one option over most of a block, and long runs of one option within a block."""
    largest, longest = 0.0, 0
    for _, block in groupby(given, key=lambda trial: trial.block):
        answers = [trial.answer for trial in block]
        if rules.same_min_run is None or len(answers) >= rules.same_min_run:  # two answers are no block
            largest = max(largest, max(Counter(answers).values()) / len(answers))
        longest = max(longest, max(len(list(run)) for _, run in groupby(answers)))
    if rules.same_max_share is not None and largest > rules.same_max_share:
        yield Flag(rater, "same_option", f"{largest:.3f}", f"> {rules.same_max_share} of a block")
    if rules.same_min_run is not None and longest >= rules.same_min_run:
        yield Flag(rater, "same_run", str(longest), f">= {rules.same_min_run} in a row")


def _wrong_cue(rater: str, given: Sequence[ResponseRecord], rules: ExclusionRules) -> Iterator[Flag]:
    """Flag who is right no more often than chance for a cue kind, and yet answers by the class."""
    if rules.wrong_cue_min_consistency is None:
        return
    for kind in sorted({trial.cue_kind for trial in given}):
        trials = [trial for trial in given if trial.cue_kind == kind]
        if len(trials) < rules.wrong_cue_min_trials:
            continue
        right = sum(is_right(trial) for trial in trials) / len(trials)
        chance = sum(1 / len(trial.choices) for trial in trials) / len(trials)
        consistency = self_consistency([(trial.expected, trial.answer or "") for trial in trials])
        if right <= chance and consistency >= rules.wrong_cue_min_consistency:
            value = f"{kind}: {right:.3f} right, consistency {consistency:.3f}"
            threshold = f"<= {chance:.3f} right, >= {rules.wrong_cue_min_consistency}"
            yield Flag(rater, "wrong_cue", value, threshold)
            return


def self_consistency(pairs: Sequence[tuple[str, str]]) -> float:
    """Return how far a rater's answers follow the class, right or wrong, above favouring one option.

    (c - e) / (1 - e): c is the share of trials whose answer is the one most frequent among the same rater's *other*
    trials of the class (1 / n of n that tie), e the same among all other trials, whatever their class. 0 for a
    rater who clicks at random or always the same, 1 for a fixed exchange of the classes.

    Parameters
    ----------
    pairs : (class of the picture, answer) of each trial

    Examples
    --------
    >>> self_consistency([("cat", "dog"), ("dog", "cat")] * 5)
    1.0
    >>> self_consistency([("cat", "dog"), ("dog", "dog")] * 5)
    0.0
    """
    by_class: dict[str, Counter[str]] = defaultdict(Counter)
    overall: Counter[str] = Counter()
    for shown, answer in pairs:
        by_class[shown][answer] += 1
        overall[answer] += 1
    followed = sum(_is_predicted(answer, by_class[shown]) for shown, answer in pairs) / len(pairs)
    favoured = sum(_is_predicted(answer, overall) for _, answer in pairs) / len(pairs)
    return (followed - favoured) / (1 - favoured) if favoured < 1 else 0.0


def _is_predicted(answer: str, counts: Counter[str]) -> float:
    """Return whether the other answers of `counts` foretell this one: 1, 0, or 1 / n where n of them tie."""
    others = counts.copy()
    others[answer] -= 1
    most = max(others.values())
    best = [option for option, n in others.items() if n == most and n > 0]
    return 1 / len(best) if answer in best else 0.0
