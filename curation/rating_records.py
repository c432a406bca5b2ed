"""The rows in which people's answers leave the record: the long table of every export, report and release.

One row for each assignment, answered or not, so that nothing has to be guessed from what is absent. People appear by
their random code only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field

from data_manifests.records import SCHEMA_VERSION, CueKind, Record, Sha256

SIMULATED_FLAG = "simulated"  # the flag of an answer that a program gave in a person's place

Role = Literal["main", "practice", "catch", "repeat", "known_bad"]


class RatingRecord(Record):
    """What verdicts and responses have in common.

    `sha256` and `pixel_sha256` are of the picture that was shown; `superclass` is what it is meant to show. `stale`:
    the picture was made again since. `flags` come from the browser and the store; times are UTC text, or ms.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    campaign: str
    protocol_sha256: Sha256
    rater: str
    sha256: Sha256
    pixel_sha256: Sha256 | None = None
    cue_id: str | None = None
    cue_kind: CueKind
    superclass: str
    grid: int | None = None
    role: Role
    block: Annotated[int, Field(ge=0)] = 0
    position: Annotated[int, Field(ge=0)]
    presentation: Annotated[int, Field(ge=1)] = 1
    answer: str | None = None
    note: str = ""
    rt_ms: Annotated[int, Field(ge=0)] | None = None
    load_ms: Annotated[int, Field(ge=0)] | None = None
    client_utc: str | None = None
    server_utc: str | None = None
    session: str | None = None
    event_id: str | None = None
    n_events: Annotated[int, Field(ge=0)] = 0
    flags: tuple[str, ...] = ()
    stale: bool = False

    @property
    def sort_key(self) -> tuple[str, ...]:
        """Order of the canonical table."""
        return (self.campaign, self.rater, f"{self.block:06d}", f"{self.position:06d}", self.sha256)


class VerdictRecord(RatingRecord):
    """What a reviewer said of a cue: `answer` is `accept`, `reject` (with `reasons`), `unsure`, or None (undecided)."""

    reasons: tuple[str, ...] = ()


class ResponseRecord(RatingRecord):
    """What a participant said a cue shows: `answer` is one of `choices` (in the order that they saw), or None.

    `reached` is whether they came as far as this trial; `expected` is the right answer of a catch trial, and
    otherwise the superclass. `excluded` names the pre-registered rules that the participant met.
    """

    choices: tuple[str, ...]
    expected: str
    reached: bool
    excluded: tuple[str, ...] = ()


class AdjudicationRecord(Record):
    """The decision on a cue on which reviewers were split."""

    schema_version: Literal[1] = SCHEMA_VERSION
    campaign: str
    sha256: Sha256
    cue_kind: CueKind
    round: int
    adjudicator: str
    answer: str
    rationale: str
    votes_sha256: Sha256
    decided_at: str

    @property
    def sort_key(self) -> tuple[str, ...]:
        """Order of the canonical table."""
        return (self.campaign, self.sha256, f"{self.round:03d}")


def is_simulated(rows: Iterable[RatingRecord]) -> bool:
    """Return whether a program gave any of the answers: one of them is enough to make a table no record of people."""
    return any(SIMULATED_FLAG in row.flags for row in rows)
