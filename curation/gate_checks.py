"""The checks of the gate on responses: each a number, its bound, its outcome and what would change it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from curation.gate_power import MORE, power_line
from curation.gate_rules import GateRules

if TYPE_CHECKING:
    from curation.gate_evidence import ClassEvidence, CueEvidence

Outcome = Literal["PASS", "FAIL", "INSUFFICIENT"]

COLLECT = "collect responses"
MISNAMED, BELOW = "called otherwise", "surely below"


@dataclass(frozen=True)
class Check:
    """One check: `value` against `bound`; `detail` says it in words, `remedy` what would change it.

    The bound is the least value that passes, with `most` the greatest; `of` is what is counted, where `detail` does
    not say it.
    """

    name: str
    outcome: Outcome
    value: float | None
    bound: float | None
    detail: str
    remedy: str = ""
    most: bool = False
    of: str = ""

    @property
    def asked(self) -> str:
        """What the rules ask for, in words.

        >>> Check("x", "PASS", 0.8, 0.7, "").asked, Check("x", "PASS", 0, 0, "", most=True).asked
        ('at least 0.70', 'at most 0')
        """
        if self.bound is None:
            return ""
        short = f"{self.bound:.2f}" if isinstance(self.bound, float) else str(self.bound)
        exact = isinstance(self.bound, int) or float(short) == self.bound
        said = f"{'at most' if self.most else 'at least'} {short if exact else f'{self.bound:.6g}'}"
        return f"{said} {self.of}" if self.of else said

    def to_json(self) -> dict[str, Any]:
        """Return the check as plain JSON types."""
        return {**asdict(self), "asked": self.asked}


def decide(
    name: str,
    value: float | None,
    bound: float,
    detail: str,
    remedy: str,
    *,
    most: bool = False,
    of: str = "",
) -> Check:
    """Return the check that a value is at least (or at `most`) a bound; without a value it can't be decided."""
    if value is None:
        return Check(name, "INSUFFICIENT", None, bound, detail, remedy, most, of)
    holds = value <= bound if most else value >= bound
    return Check(name, "PASS" if holds else "FAIL", value, bound, detail, "" if holds else remedy, most, of)


def undecided(
    name: str, bound: float, detail: str, remedy: str = COLLECT, *, most: bool = False, of: str = ""
) -> Check:
    """Return the check that there is nothing to decide it by."""
    return decide(name, None, bound, detail, remedy, most=most, of=of)


def agreement_checks(found: CueEvidence, rules: GateRules) -> Iterator[Check]:
    """Yield the checks on the responses to one cue kind."""
    kind = found.cue_kind
    yield _kappa_check(found, rules)
    yield _accuracy_check(found, rules)
    yield _majority_check(found)
    yield from _class_checks(found, rules)
    yield from _volume_checks(found, rules)
    yield _robustness_check(found, rules)
    yield decide(
        f"{kind}: nothing is stale",
        float(found.n_stale),
        0,
        f"{found.n_stale} answers were given to pictures that have been made again since",
        "collect answers to the new pictures (`study top-up`), or release the old ones",
        most=True,
    )


def _kappa_check(found: CueEvidence, rules: GateRules) -> Check:
    kind, summary = found.cue_kind, found.agreement
    bound = rules.agreement[kind]  # type: ignore[index]
    name = f"{kind}: people agree"
    if summary is None or summary.ci is None or summary.kappa.value is None:
        why = summary.kappa.status.replace("_", " ") if summary else "no responses"
        return undecided(name, bound, f"kappa can't be estimated ({why})")
    lower = summary.ci.lower_bound
    detail = f"kappa {summary.kappa.value:.4f}, at least {lower:.4f} with {percent(rules.level)} confidence"
    remedy = power_line(summary.kappa.value, summary.se.two_way, bound, rules.level)
    return decide(name, lower, bound, detail, remedy)


def _accuracy_check(found: CueEvidence, rules: GateRules) -> Check:
    bound = rules.correctness[found.cue_kind]  # type: ignore[index]
    name, share = f"{found.cue_kind}: answers are right", "share of answers that name the intended class"
    if found.accuracy is None:
        return undecided(name, bound, "no answer counts")
    if found.accuracy_lower_bound is None:
        return undecided(name, bound, f"{share}: {found.accuracy:.4f}, of too few people for a bound")
    detail = (
        f"{share}: {found.accuracy:.4f}, at least {found.accuracy_lower_bound:.4f} with {percent(rules.level)} "
        "confidence"
    )
    remedy = (
        "collect more responses: the share is high enough, and there are too few to vouch for it"
        if found.accuracy >= bound
        else "leave out the pictures that people take for something else"
    )
    return decide(name, found.accuracy_lower_bound, bound, detail, remedy)


def _robustness_check(found: CueEvidence, rules: GateRules) -> Check:
    name, bound = f"{found.cue_kind}: no participant decides it", rules.robustness.max_leave_one_out_range
    if found.leave_one_out is None:
        return undecided(name, bound, "too few people to leave one out", most=True)
    moved = found.leave_one_out[1] - found.leave_one_out[0]
    detail = f"kappa moves by {moved:.4f} when any one participant is left out"
    remedy = "more participants; look at the one whose absence moves it"
    return decide(name, moved, bound, detail, remedy, most=True)


def _majority_check(found: CueEvidence) -> Check:
    name = f"{found.cue_kind}: every class is called by its name"
    seen = [row for row in found.classes if row.n_ratings]
    unseen = [row.superclass for row in found.classes if not row.n_ratings]
    wrong = [row for row in seen if row.majority != row.superclass]
    if unseen and not wrong:
        return undecided(name, 0, f"no answer to {', '.join(unseen)} counts", most=True, of=MISNAMED)
    listed = ", ".join(
        f"{row.superclass} is called {row.majority or 'two things equally often'}" for row in wrong
    )
    return decide(
        name,
        float(len(wrong)) if seen else None,
        0,
        listed
        or (f"{len(seen)} classes, each most often called by its name" if seen else "no answer counts"),
        "look at the pictures of these classes in the report" if seen else COLLECT,
        most=True,
        of=MISNAMED,
    )


def _class_checks(found: CueEvidence, rules: GateRules) -> Iterator[Check]:
    kind, least = found.cue_kind, rules.per_class.min_kappa
    bound = rules.agreement[kind]  # type: ignore[index]
    names = (f"{kind}: every class by itself", f"{kind}: no class is surely below")
    known = [row for row in found.classes if row.kappa is not None]
    if not known:
        yield undecided(names[0], least, "no class has a kappa")
        yield undecided(names[1], 0, "no class has a kappa", most=True, of=BELOW)
        return
    worst = min(known, key=lambda row: row.kappa or 0.0)
    yield decide(
        names[0],
        worst.kappa,
        least,
        f"the lowest kappa of a class: {worst.superclass} {worst.kappa:.4f}",
        "leave out the pictures of this class with the lowest agreement",
    )
    surely = _surely_below(known, bound, rules.level)
    yield decide(
        names[1],
        float(len(surely)),
        0,
        ", ".join(surely)
        or f"of no class can it be said with {percent(rules.level)} confidence that its kappa is below {bound:g}",
        "leave these classes out, or make their cues again",
        most=True,
        of=BELOW,
    )


def _surely_below(known: Sequence[ClassEvidence], bound: float, level: float) -> list[str]:
    """Return the classes whose upper bound is below a bound, each with its numbers.

    Over n classes at once: each upper bound is at level 1 - (1 - level) / n (Bonferroni).
    """
    z = NormalDist().inv_cdf(1 - (1 - level) / len(known))
    surely = []
    for row in known:
        if row.kappa is not None and row.kappa < 1 and row.se:
            upper = 1 - (1 - row.kappa) * float(np.exp(-z * row.se / (1 - row.kappa)))
            if upper < bound:
                surely.append(f"{row.superclass} {row.kappa:.3f} (at most {upper:.3f})")
    return surely


def _volume_checks(found: CueEvidence, rules: GateRules) -> Iterator[Check]:
    kind, volume = found.cue_kind, rules.volume
    fewest = min(found.classes, key=lambda row: row.n_images, default=None)
    numbers = [
        ("participants", found.n_participants, volume.min_participants, "participants whose answers count"),
        ("pictures", found.n_images, volume.min_images_per_cue, rated_of(found)),
        (
            "pictures of each class",
            fewest.n_images if fewest else 0,
            max(volume.min_images_per_class, 1),  # a class of which nobody saw a picture is not in the sample
            f"pictures of {fewest.superclass if fewest else 'any class'}, the class with the fewest, were rated",
        ),
        (
            "ratings of a picture",
            found.median_ratings,
            volume.min_median_ratings,
            "ratings of a picture, median",
        ),
    ]
    for name, value, bound, words in numbers:
        outcome: Outcome = "PASS" if value >= bound else "INSUFFICIENT"
        said = words if name == "pictures" else f"{value:g} {words}"
        remedy = "" if outcome == "PASS" else MORE if found.n_images else COLLECT
        yield Check(f"{kind}: enough {name}", outcome, float(value), bound, said, remedy)
    name, least = f"{kind}: every picture was seen twice", volume.min_ratings
    if not found.n_images:
        yield undecided(name, 0, "no picture has a rating that counts", most=True)
        return
    few = found.n_under_two
    detail = f"{few} of {found.n_images} rated pictures have fewer than {least} ratings"
    advice = f"{MORE}, or leave these pictures out"
    yield Check(
        name, "INSUFFICIENT" if few else "PASS", float(few), 0, detail, advice if few else "", most=True
    )


def rated_of(found: CueEvidence) -> str:
    """Return how many of the pictures that would go out were rated, in words."""
    return f"{found.n_images} of {found.n_cues} pictures were rated"


def unseen_check(found: CueEvidence) -> Check:
    """Return the check that every picture was rated: for rules that ask for no review, so that somebody looked."""
    unseen = found.n_cues - found.n_images
    name, detail = (
        f"{found.cue_kind}: somebody looked at every picture",
        f"{rated_of(found)}, and none was reviewed",
    )
    advice = f"{MORE}, or have the pictures reviewed"
    outcome: Outcome = "INSUFFICIENT" if unseen else "PASS"
    return Check(name, outcome, float(unseen), 0, detail, advice if unseen else "", most=True)


def percent(level: float) -> str:
    """Return a level of confidence for a sentence.

    >>> percent(0.95), percent(0.975), percent(0.9995)
    ('95%', '97.5%', '99.95%')
    """
    return f"{100 * level:.6g}%"
