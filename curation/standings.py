"""What the reviewers together say of each picture, from the rows of a snapshot."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from curation.rating_records import AdjudicationRecord, VerdictRecord
from curation.review_votes import OUTCOMES, verdict_state
from data_manifests.errors import CuebenchError


@dataclass(frozen=True)
class Standing:
    """Where a picture stands (a state of `curation.review_votes`), and how many reviewers judged it."""

    state: str
    n_reviewers: int


UNSEEN = Standing("undecided", 0)


def standings(
    verdicts: Iterable[VerdictRecord], adjudications: Iterable[AdjudicationRecord]
) -> dict[str, Standing]:
    """Return the standing of each picture, by the SHA-256 of its file; stale verdicts do not count.

    Every verdict that was asked for has to be in. The last adjudication of a picture overrides the votes.

    Raises
    ------
    CuebenchError
        If an answer is no verdict.
    """
    answers: dict[str, list[str]] = defaultdict(list)
    n_expected: Counter[str] = Counter()
    for row in verdicts:
        if row.role == "main" and row.presentation == 1 and not row.stale:
            n_expected[row.sha256] += 1
            if row.answer is not None:
                answers[row.sha256].append(_verdict(row.sha256, row.answer))
    decided = {
        row.sha256: _verdict(row.sha256, row.answer)
        for row in sorted(adjudications, key=lambda row: (row.sha256, row.round))
    }
    return {
        sha256: Standing(
            OUTCOMES[decided[sha256]] if sha256 in decided else verdict_state(answers[sha256], n),
            len(answers[sha256]),
        )
        for sha256, n in n_expected.items()
    }


def _verdict(sha256: str, answer: str) -> str:
    if answer not in OUTCOMES:
        raise CuebenchError(
            f"picture {sha256}: the verdict {answer!r} is none; expected {', '.join(OUTCOMES)}"
        )
    return answer
