"""The checks of the gate on the review: coverage, second opinions, planted defects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from curation.agreement import ac1
from curation.agreement_errors import interval
from curation.gate_checks import Check, decide, percent, undecided
from curation.gate_rules import GateRules, Review
from curation.linearised_errors import ac1_se
from curation.rating_records import AdjudicationRecord, VerdictRecord
from curation.ratings import IntArray, make_ratings
from curation.shares import binomial_lower_bound
from curation.standings import UNSEEN, standings
from data_manifests.records import CueRecord

OVERLAP = "assign more overlap (`review assign`)"


def review_checks(
    cues: Sequence[CueRecord],
    verdicts: Sequence[VerdictRecord],
    adjudications: Sequence[AdjudicationRecord],
    rules: GateRules,
) -> Iterator[Check]:
    """Yield the checks on the review, or none where the rules ask for no review."""
    if rules.review is None:
        return
    by_hash = standings(verdicts, adjudications)
    shipped = [cue.sha256 for cue in cues if cue.sha256 is not None]
    states = Counter(by_hash.get(sha256, UNSEEN).state for sha256 in shipped)
    accepted = states["accepted"] / len(shipped) if shipped else None
    others = ", ".join(f"{n} {state}" for state, n in sorted(states.items()) if state != "accepted")
    yield decide(
        "review: every picture is accepted",
        accepted,
        rules.review.min_accepted_share,
        f"{states['accepted']} of {len(shipped)} pictures are accepted" + (f" ({others})" if others else ""),
        "review what is undecided, adjudicate what is split, leave out what is rejected",
    )
    n_double = sum(1 for sha256 in shipped if by_hash.get(sha256, UNSEEN).n_reviewers >= 2)
    double = n_double / len(shipped) if shipped else None
    yield decide(
        "review: second opinions",
        double,
        rules.review.min_double_share,
        f"{n_double} of {len(shipped)} pictures were judged by two reviewers or more",
        OVERLAP,
    )
    yield _double_agreement(verdicts, rules.review, rules.level)
    if rules.review.min_known_bad:
        yield _known_bad(verdicts, rules.review, rules.level)


def _double_agreement(verdicts: Sequence[VerdictRecord], review: Review, level: float) -> Check:
    rows = first_verdicts(verdicts)
    per_item = Counter(row.sha256 for row in rows)
    doubles = [row for row in rows if per_item[row.sha256] >= 2]
    name, bound = "review: reviewers agree", review.min_ac1_lower_bound
    if not doubles:
        return undecided(name, bound, "no picture was judged twice", OVERLAP)
    ratings = make_ratings(
        [row.sha256 for row in doubles],
        [row.rater for row in doubles],
        [row.answer for row in doubles],
        ["accept", "reject", "unsure"],
    )
    value = ac1(ratings.counts)
    lower = ac1_lower_bound(ratings.counts, level)
    if value.value is None or lower is None:
        return undecided(name, bound, f"AC1 can't be estimated ({value.status.replace('_', ' ')})", OVERLAP)
    detail = (
        f"AC1 {value.value:.4f}, at least {lower:.4f} with {percent(level)} confidence, on "
        f"{len(per_item)} pictures of which {sum(1 for n in per_item.values() if n >= 2)} were judged twice"
    )
    advice = (
        OVERLAP
        if value.value >= bound
        else "talk the guideline over with the reviewers, and look at the splits"
    )
    return decide(name, lower, bound, detail, advice)


def ac1_lower_bound(counts: IntArray, level: float) -> float | None:
    """Return the one-sided lower bound of AC1 by Gwet's linearised variance over items (Gwet 2008, equation 36).

    Where all agree: (1 - u - p_e) / (1 - p_e) with u = 1 - (1 - level)^(1 / N), N the items with two or more ratings.
    """
    value = ac1(counts)
    if value.value is None or value.p_expected is None or value.p_observed is None:
        return None
    r = counts.sum(1)
    paired = r >= 2
    if value.p_observed >= 1 - 1e-15:
        u = 1 - (1 - level) ** (1 / int(paired.sum()))
        return float((1 - u - value.p_expected) / (1 - value.p_expected))
    se = ac1_se(counts)
    return None if se is None else interval(value.value, se, level).lower_bound


def _known_bad(verdicts: Sequence[VerdictRecord], review: Review, level: float) -> Check:
    planted = [row for row in verdicts if row.role == "known_bad" and row.answer is not None]
    found = sum(1 for row in planted if row.answer == "reject")
    name = "review: planted defects are found"
    if len(planted) < review.min_known_bad:
        detail = f"{len(planted)} planted defects were shown, {review.min_known_bad} are asked for"
        return Check(
            name,
            "INSUFFICIENT",
            found / len(planted) if planted else None,
            review.min_known_bad_recall,
            detail,
            "`review import --known-bad DIR`",
        )
    lower = binomial_lower_bound(found, len(planted), level)
    return decide(
        name,
        found / len(planted),
        review.min_known_bad_recall,
        f"{found} of {len(planted)} were rejected (at least {lower:.2f} with {percent(level)} confidence)",
        "show the reviewers what they let pass, and have their pictures judged again",
    )


def first_verdicts(verdicts: Sequence[VerdictRecord]) -> list[VerdictRecord]:
    """Return the verdicts that count for agreement: first ones on main pictures as they are now."""
    return [
        row
        for row in verdicts
        if row.role == "main" and row.presentation == 1 and row.answer is not None and not row.stale
    ]
