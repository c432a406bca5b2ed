"""The numbers on which the gate decides, for one cue kind."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from curation.agreement import fleiss_kappa
from curation.agreement_summary import AgreementSummary, summarise_agreement
from curation.gate_people import RaterEvidence, TimeEvidence, rater_evidence, time_evidence
from curation.rating_records import ResponseRecord
from curation.ratings import Ratings, make_ratings
from curation.screening import ExclusionRules, Flag, counted, is_right, screen
from curation.shares import share_lower_bound
from data_manifests.errors import CuebenchError

if TYPE_CHECKING:
    from curation.gate import GateInput


@dataclass(frozen=True)
class ClassEvidence:
    """One class: its pictures with an answer, how often they were named rightly, and the answer given most often.

    `majority` is None on a tie, and where there is no answer.
    """

    superclass: str
    n_images: int
    n_ratings: int
    accuracy: float | None
    majority: str | None
    kappa: float | None
    se: float | None


@dataclass(frozen=True)
class ItemEvidence:
    """One picture: its ratings and the share of the most frequent answer."""

    sha256: str
    superclass: str
    grid: int | None
    n_ratings: int
    agreement: float | None
    accuracy: float | None
    answers: dict[str, int]


@dataclass(frozen=True)
class CueEvidence:
    """What the responses to the cues of one kind say.

    `agreement` and the bounds are None where no responses count. `sensitivity` holds kappa with everybody, after all
    exclusions, and with each rule alone; `leave_one_out` the least and the greatest kappa without one participant.
    `n_cues` counts the pictures that would go out, `n_images` those of them with an answer that counts.
    """

    cue_kind: str
    agreement: AgreementSummary | None
    accuracy: float | None
    accuracy_lower_bound: float | None
    classes: tuple[ClassEvidence, ...]
    items: tuple[ItemEvidence, ...]
    confusion: dict[str, dict[str, int]]
    n_cues: int
    n_images: int
    n_participants: int
    n_stale: int
    median_ratings: float
    n_under_two: int
    leave_one_out: tuple[float, float] | None
    sensitivity: dict[str, float | None]
    flags: tuple[Flag, ...]
    times: TimeEvidence | None
    raters: tuple[RaterEvidence, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain JSON types."""
        plain = {
            name: value
            for name, value in vars(self).items()
            if name not in {"agreement", "classes", "items", "flags", "times", "raters"}
        }
        return {
            **plain,
            "leave_one_out": list(self.leave_one_out) if self.leave_one_out else None,
            "agreement": self.agreement.to_json() if self.agreement else None,
            "classes": [vars(row) for row in self.classes],
            "items": [vars(row) for row in self.items],
            "times": asdict(self.times) if self.times else None,
            "raters": [vars(row) for row in self.raters],
        }


def ratings_of(responses: Sequence[ResponseRecord], categories: Sequence[str]) -> Ratings | None:
    """Return the ratings of responses that count, or None where there are none."""
    if not responses:
        return None
    return make_ratings(
        [row.sha256 for row in responses],
        [row.rater for row in responses],
        [row.answer for row in responses],
        categories,
    )


def cue_evidence(
    responses: Sequence[ResponseRecord], cue_kind: str, released: set[str], data: GateInput
) -> CueEvidence:
    """Return the numbers for one cue kind; responses to pictures that would not go out do not count."""
    everything = [record for record in responses if record.cue_kind == cue_kind]
    # a participant is screened over all that they did, of every kind
    flags = tuple(screen(responses, data.n_check_failures, data.exclusions))
    usable = [record for record in everything if record.sha256 in released and not record.stale]
    used = counted(usable, {flag.rater for flag in flags}, data.exclusions)
    categories = sorted({choice for record in everything for choice in record.choices})
    ratings = ratings_of(used, categories)
    summary = summarise_agreement(ratings, level=data.rules.level) if ratings else None
    accuracy, bound = _accuracy(used, ratings, data.rules.level)
    grids = {record.sha256: record.grid for record in everything}
    items = _items(used, grids)
    cues = [cue for cue in data.cues if cue.cue_kind == cue_kind]
    return CueEvidence(
        cue_kind=cue_kind,
        agreement=summary,
        accuracy=accuracy,
        accuracy_lower_bound=bound,
        classes=_classes(used, summary, {cue.superclass for cue in cues}),
        items=items,
        confusion=_confusion(used),
        n_cues=len(cues),
        n_images=len(items),
        n_participants=len({row.rater for row in used}),
        n_stale=sum(1 for record in everything if record.stale and record.answer is not None),
        median_ratings=float(np.median([item.n_ratings for item in items])) if items else 0.0,
        n_under_two=sum(1 for item in items if item.n_ratings < data.rules.volume.min_ratings),
        leave_one_out=_leave_one_out(ratings),
        sensitivity=_sensitivity(usable, flags, categories, data.exclusions),
        flags=flags,
        times=time_evidence(used),
        raters=rater_evidence(used),
    )


def _accuracy(
    used: Sequence[ResponseRecord], ratings: Ratings | None, level: float
) -> tuple[float | None, float | None]:
    if ratings is None:
        return None, None
    hits = np.array([is_right(row) for row in used], np.float64)
    return float(hits.mean()), share_lower_bound(hits, ratings.item, ratings.rater, level)


def _classes(
    used: Sequence[ResponseRecord], summary: AgreementSummary | None, released: set[str]
) -> tuple[ClassEvidence, ...]:
    """Return the numbers of each class: of those that would go out, too, where nobody saw any of their pictures."""
    kappas = {row.category: row for row in summary.per_category} if summary else {}
    by_class: dict[str, list[ResponseRecord]] = {name: [] for name in released}
    for row in used:
        by_class.setdefault(row.expected, []).append(row)
    found = []
    for name, rows in sorted(by_class.items()):
        answers = Counter(row.answer or "" for row in rows)
        own = kappas.get(name) if rows else None
        found.append(
            ClassEvidence(
                superclass=name,
                n_images=len({row.sha256 for row in rows}),
                n_ratings=len(rows),
                accuracy=answers[name] / len(rows) if rows else None,
                majority=_most_frequent(answers) if rows else None,
                kappa=own.kappa if own else None,
                se=own.se if own else None,
            )
        )
    return tuple(found)


def _most_frequent(answers: Counter[str]) -> str | None:
    """Return the answer given most often; None on a tie."""
    ranked = answers.most_common(2)
    return None if len(ranked) == 2 and ranked[0][1] == ranked[1][1] else ranked[0][0]


def _items(used: Sequence[ResponseRecord], grids: dict[str, int | None]) -> tuple[ItemEvidence, ...]:
    by_item: dict[str, list[ResponseRecord]] = defaultdict(list)
    for row in used:
        by_item[row.sha256].append(row)
    found = []
    for sha256, rows in sorted(by_item.items()):
        answers, m = Counter(row.answer or "" for row in rows), len(rows)
        agreeing = sum(n * (n - 1) for n in answers.values())
        found.append(
            ItemEvidence(
                sha256=sha256,
                superclass=rows[0].expected,
                grid=grids.get(sha256),
                n_ratings=m,
                agreement=agreeing / (m * (m - 1)) if m >= 2 else None,
                accuracy=answers[rows[0].expected] / m,
                answers=dict(sorted(answers.items())),
            )
        )
    return tuple(found)


def _confusion(used: Sequence[ResponseRecord]) -> dict[str, dict[str, int]]:
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for row in used:
        table[row.expected][row.answer or ""] += 1
    return {name: dict(sorted(table[name].items())) for name in sorted(table)}


def _leave_one_out(ratings: Ratings | None) -> tuple[float, float] | None:
    if ratings is None or len(ratings.raters) < 3:
        return None
    values = []
    for rater in ratings.raters:
        try:
            value = fleiss_kappa(ratings.without(raters=[rater]).counts).value
        except CuebenchError:  # nothing is left
            return None
        if value is None:
            return None
        values.append(value)
    return min(values), max(values)


def _sensitivity(
    usable: Sequence[ResponseRecord], flags: Sequence[Flag], categories: Sequence[str], rules: ExclusionRules
) -> dict[str, float | None]:
    """Return kappa under every choice of exclusions: none, all, and each rule alone."""
    choices = {"everybody": set[str](), "after all exclusions": {flag.rater for flag in flags}}
    for rule in sorted({flag.rule for flag in flags}):
        choices[f"only {rule}"] = {flag.rater for flag in flags if flag.rule == rule}
    values: dict[str, float | None] = {}
    for name, excluded in choices.items():
        ratings = ratings_of(counted(usable, excluded, rules), categories)
        values[name] = fleiss_kappa(ratings.counts).value if ratings else None
    return values
