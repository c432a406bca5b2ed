"""The checks of the gate on responses and the set: each a number, its bound, its outcome and what would change it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import numpy as np

from curation.gate_rules import GateRules
from data_manifests.records import CueRecord, SourceRecord

if TYPE_CHECKING:
    from curation.gate_evidence import CueEvidence

Outcome = Literal["PASS", "FAIL", "INSUFFICIENT"]


@dataclass(frozen=True)
class Check:
    """One check: `value` against `bound`; `detail` says it in words, `remedy` what would change it."""

    name: str
    outcome: Outcome
    value: float | None
    bound: float | None
    detail: str
    remedy: str = ""


def decide(
    name: str, value: float | None, bound: float, detail: str, remedy: str, *, most: bool = False
) -> Check:
    """Return the check that a value is at least (or at `most`) a bound; without a value it can't be decided."""
    if value is None:
        return Check(name, "INSUFFICIENT", None, bound, detail, remedy)
    holds = value <= bound if most else value >= bound
    return Check(name, "PASS" if holds else "FAIL", value, bound, detail, "" if holds else remedy)


def agreement_checks(found: CueEvidence, rules: GateRules) -> Iterator[Check]:
    """Yield the checks on the responses to one cue kind."""
    kind = found.cue_kind
    yield _kappa_check(found, rules)
    bound = rules.correctness[kind]  # type: ignore[index]
    yield decide(
        f"{kind}: answers are right",
        found.accuracy_lower_bound,
        bound,
        f"share of answers that name the intended class: {number(found.accuracy)}, at least "
        f"{number(found.accuracy_lower_bound)} with {percent(rules.level)} confidence",
        "leave out the pictures that people take for something else",
    )
    yield _majority_check(found)
    yield from _class_checks(found, rules)
    yield from _volume_checks(found, rules)
    moved = None if found.leave_one_out is None else found.leave_one_out[1] - found.leave_one_out[0]
    yield decide(
        f"{kind}: no participant decides it",
        moved,
        rules.robustness.max_leave_one_out_range,
        f"kappa moves by {number(moved)} when any one participant is left out",
        "more participants; look at the one whose absence moves it",
        most=True,
    )
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
        why = summary.kappa.status if summary else "no responses"
        return Check(
            name, "INSUFFICIENT", None, bound, f"kappa can't be estimated ({why})", "collect responses"
        )
    lower = summary.ci.lower_bound
    detail = f"kappa {summary.kappa.value:.4f}, at least {lower:.4f} with {percent(rules.level)} confidence"
    remedy = power_line(summary.kappa.value, summary.se.two_way, bound, rules.level)
    return decide(name, lower, bound, detail, remedy)


def pass_probability(kappa: float, se: float, bound: float, level: float) -> float:
    """Return the chance that a new study of a set with this kappa has a lower bound of at least `bound`.

    On the scale g = log(1 - kappa), where the estimate is normal: Phi((log(1 - bound) - g) / se_g - z).
    """
    if kappa >= 1 or se <= 0:
        return 1.0 if kappa >= bound else 0.0
    normal = NormalDist()
    distance = (np.log1p(-bound) - np.log1p(-kappa)) / (se / (1 - kappa))
    return normal.cdf(float(distance) - normal.inv_cdf(level))


def needed_kappa(se: float, bound: float, level: float, chance: float) -> float:
    """Return the kappa that a set needs to pass with a chance, at a standard error: bound + (z_level + z_chance) se."""
    normal = NormalDist()
    return bound + (normal.inv_cdf(level) + normal.inv_cdf(chance)) * se


def power_line(kappa: float, se: float | None, bound: float, level: float) -> str:
    """Return what would make the agreement pass."""
    if se is None:
        return "collect more ratings"
    half, most = (needed_kappa(se, bound, level, chance) for chance in (0.5, 0.9))
    needs = (
        f"it takes a true kappa of {half:.3f} to pass half of the time and {most:.3f} to pass 9 times of 10"
        if most < 1
        else "no set passes 9 times of 10"
    )
    chance = pass_probability(kappa, se, bound, level)
    return (
        f"a set as good as this one passes {chance:.0%} of the time; with this many "
        f"ratings (standard error {se:.4f}) {needs}: leave out the pictures that people agree on least, or ask "
        "more people"
    )


def _majority_check(found: CueEvidence) -> Check:
    seen = [row for row in found.classes if row.n_ratings]
    wrong = [row for row in seen if row.majority != row.superclass]
    listed = ", ".join(
        f"{row.superclass} is called {row.majority or 'two things equally often'}" for row in wrong
    )
    return decide(
        f"{found.cue_kind}: every class is called by its name",
        float(len(wrong)) if seen else None,
        0,
        listed or f"{len(seen)} classes, each most often called by its name",
        "look at the pictures of these classes in the report",
        most=True,
    )


def _class_checks(found: CueEvidence, rules: GateRules) -> Iterator[Check]:
    kind, least = found.cue_kind, rules.per_class.min_kappa
    known = [row for row in found.classes if row.kappa is not None]
    worst = min(known, key=lambda row: row.kappa or 0.0, default=None)
    yield decide(
        f"{kind}: every class by itself",
        worst.kappa if worst else None,
        least,
        f"the lowest kappa of a class: {worst.superclass} {number(worst.kappa)}"
        if worst
        else "no class has a kappa",
        "leave out the pictures of this class with the lowest agreement",
    )
    bound = rules.agreement[kind]  # type: ignore[index]
    # over n classes at once: each upper bound at level 1 - (1 - level) / n (Bonferroni)
    level = 1 - (1 - rules.level) / max(len(known), 1)
    z = NormalDist().inv_cdf(level)
    surely = []
    for row in known:
        if row.kappa is not None and row.kappa < 1 and row.se:
            upper = 1 - (1 - row.kappa) * float(np.exp(-z * row.se / (1 - row.kappa)))
            if upper < bound:
                surely.append(f"{row.superclass} {row.kappa:.3f} (at most {upper:.3f})")
    yield decide(
        f"{kind}: no class is surely below",
        float(len(surely)) if known else None,
        0,
        ", ".join(surely)
        or (f"no class lies below {bound} beyond chance" if known else "no class has a kappa"),
        "leave these classes out, or make their cues again",
        most=True,
    )


def _volume_checks(found: CueEvidence, rules: GateRules) -> Iterator[Check]:
    kind, volume = found.cue_kind, rules.volume
    fewest = min(found.classes, key=lambda row: row.n_images, default=None)
    numbers = [
        ("participants", found.n_participants, volume.min_participants, "participants whose answers count"),
        ("pictures", found.n_images, volume.min_images_per_cue, "pictures with an answer that counts"),
        (
            "pictures of each class",
            fewest.n_images if fewest else 0,
            volume.min_images_per_class,
            f"pictures of {fewest.superclass if fewest else 'any class'}, the class with the fewest",
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
        remedy = "" if outcome == "PASS" else f"{bound} are asked for: collect more (`study top-up`)"
        yield Check(
            f"{kind}: enough {name}", outcome, float(value), float(bound), f"{value:g} {words}", remedy
        )
    outcome = "PASS" if found.n_images and found.n_under_two == 0 else "INSUFFICIENT"
    detail = f"{found.n_under_two} pictures have fewer than {volume.min_ratings} ratings"
    yield Check(
        f"{kind}: every picture was seen twice",
        outcome,
        float(found.n_under_two),
        0.0,
        detail,
        "" if outcome == "PASS" else "collect more (`study top-up`), or leave these pictures out",
    )


def set_checks(
    cues: Sequence[CueRecord], sources: Sequence[SourceRecord], rules: GateRules
) -> Iterator[Check]:
    """Yield the checks on the set itself: duplicates, one size, licences."""
    pixels = Counter(cue.pixel_sha256 for cue in cues)
    n_double = sum(n - 1 for n in pixels.values())
    yield decide(
        "set: no picture twice",
        float(n_double),
        rules.integrity.max_duplicates,
        f"{n_double} pictures have the pixels of another",
        "leave one of each out",
        most=True,
    )
    sizes: dict[tuple[int | None, int | None], int] = defaultdict(int)
    for cue in cues:
        sizes[cue.width, cue.height] += 1
    yield decide(
        "set: one size",
        float(len(sizes)) if sizes else None,
        1,
        ", ".join(f"{n} of {w} x {h} px" for (w, h), n in sorted(sizes.items(), key=str)) or "no pictures",
        "make the set from one run",
        most=True,
    )
    if rules.integrity.require_license:
        yield _license_check(cues, sources)


def _license_check(cues: Sequence[CueRecord], sources: Sequence[SourceRecord]) -> Check:
    by_id = {source.source_id: source for source in sources}
    parents = sorted({parent for cue in cues for parent in cue.parent_source_ids})
    unknown = [p for p in parents if p not in by_id or by_id[p].license_spdx in {"", "NOASSERTION"}]
    return decide(
        "set: every photograph has a licence",
        float(len(unknown)) if parents else None,
        0,
        f"{len(unknown)} of {len(parents)} photographs have none on record",
        "add license_spdx to the provenance CSV and ingest again, or set require_license = false and say so",
        most=True,
    )


def number(value: float | None) -> str:
    """Return a number for a sentence."""
    return "unknown" if value is None else f"{value:.4f}"


def percent(level: float) -> str:
    """Return a level of confidence for a sentence.

    >>> percent(0.95), percent(0.975), percent(0.9995)
    ('95%', '97.5%', '99.95%')
    """
    return f"{100 * level:.6g}%"
