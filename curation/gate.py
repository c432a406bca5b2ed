"""The release gate: whether a cue set may go out, as a pure function of ratings, manifest and rules.

Every check has three outcomes. PASS and FAIL are decided; INSUFFICIENT means that the data can't decide, and holds the
release back as well. Nothing here reads a file, a database or the clock, so anyone can compute the verdict again from
what a release ships.

A study is a sample (440 of 3,000 pictures, say), so a picture that no participant rated may go out: reviewers have
accepted it, and every class has to be in the sample. How many were rated is counted and said. Where the rules ask for
no review, nobody else has looked, and every picture has to be rated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from curation.gate_checks import Check, agreement_checks, unseen_check
from curation.gate_evidence import CueEvidence, cue_evidence
from curation.gate_review import review_checks
from curation.gate_rules import GateRules
from curation.gate_set_checks import set_checks
from curation.rating_records import AdjudicationRecord, ResponseRecord, VerdictRecord, is_simulated
from curation.screening import ExclusionRules, Flag
from data_manifests.errors import CuebenchError
from data_manifests.jsonl import canonical_sha256, dump_records
from data_manifests.records import CueKind, CueRecord, SourceRecord

Outcome = Literal["PASS", "FAIL", "INSUFFICIENT"]

EXIT_CODES: dict[str, int] = {"PASS": 0, "FAIL": 3, "INSUFFICIENT": 4}


@dataclass(frozen=True)
class GateInput:
    """Everything that the verdict depends on.

    Attributes
    ----------
    cues : the rows of the cues that would go out
    sources : the photographs that they were made from
    responses, verdicts, adjudications : the rows of a snapshot
    n_check_failures : participant -> how often they failed the comprehension check
    simulated : whether the answers were made by a program; the report says so everywhere. One marked answer is
        enough: what is given here can add the mark and not take it away
    """

    cues: tuple[CueRecord, ...]
    sources: tuple[SourceRecord, ...]
    responses: tuple[ResponseRecord, ...]
    verdicts: tuple[VerdictRecord, ...]
    adjudications: tuple[AdjudicationRecord, ...]
    rules: GateRules
    exclusions: ExclusionRules
    n_check_failures: dict[str, int]
    simulated: bool = False

    def __post_init__(self) -> None:
        """Read the mark of answers that a program gave from the answers themselves."""
        if is_simulated(self.responses) or is_simulated(self.verdicts):
            object.__setattr__(self, "simulated", True)

    def hashes(self) -> dict[str, str]:
        """Return the hash of each part."""
        return {
            "cues": canonical_sha256(dump_records(self.cues).decode()),
            "sources": canonical_sha256(dump_records(self.sources).decode()),
            "responses": canonical_sha256(dump_records(self.responses).decode()),
            "verdicts": canonical_sha256(dump_records(self.verdicts).decode()),
            "adjudications": canonical_sha256(dump_records(self.adjudications).decode()),
            "rules": self.rules.sha256,
            "exclusions": self.exclusions.sha256,
            "n_check_failures": canonical_sha256(self.n_check_failures),
        }


@dataclass(frozen=True)
class GateReport:
    """The verdict, its checks and the numbers behind them."""

    outcome: Outcome
    checks: tuple[Check, ...]
    evidence: tuple[CueEvidence, ...]
    flags: tuple[Flag, ...]
    rules: GateRules
    input_hashes: dict[str, str]
    version: str
    simulated: bool

    @property
    def exit_code(self) -> int:
        """The exit code of `cuebench gate`."""
        return EXIT_CODES[self.outcome]

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON types; `report_sha256` is of all the rest."""
        body = {
            "outcome": self.outcome,
            "simulated": self.simulated,
            "version": self.version,
            "rules": self.rules.model_dump(mode="json"),
            "input": self.input_hashes,
            "checks": [check.to_json() for check in self.checks],
            "evidence": [evidence.to_json() for evidence in self.evidence],
            "excluded": [vars(flag) for flag in self.flags],
        }
        return {**body, "report_sha256": canonical_sha256(body)}


def run_gate(data: GateInput, version: str) -> GateReport:
    """Return the verdict on a cue set. `version` is that of cuebench.

    The same input and version give the same report, bit for bit, whatever the order of the rows.

    Raises
    ------
    CuebenchError
        If the rules have no bound for a kind of cue in the set, an answer was not among its choices, or somebody
        answered the same twice.
    """
    data = _in_order(data)
    released = {cue.sha256 for cue in data.cues if cue.sha256 is not None}
    kinds = sorted({cue.cue_kind for cue in data.cues})
    _check_rules(data.rules, kinds)
    evidence = tuple(cue_evidence(data.responses, kind, released, data) for kind in kinds)
    checks = (
        *(check for found in evidence for check in agreement_checks(found, data.rules)),
        *(review_checks(data.cues, data.verdicts, data.adjudications, data.rules)),
        *(unseen_check(found) for found in evidence if data.rules.review is None),
        *set_checks(data.cues, data.sources, data.rules),
    )
    flags = tuple(
        sorted({flag for found in evidence for flag in found.flags}, key=lambda f: (f.rater, f.rule))
    )
    return GateReport(
        overall(checks), checks, evidence, flags, data.rules, data.hashes(), version, data.simulated
    )


def _check_rules(rules: GateRules, kinds: Sequence[CueKind]) -> None:
    for name, bounds in (("agreement", rules.agreement), ("correctness", rules.correctness)):
        if missing := [kind for kind in kinds if kind not in bounds]:
            raise CuebenchError(
                f"rules {rules.name}: [{name}] has no bound for {' and '.join(missing)}, of which there are cues in "
                "the set; add it"
            )


def _in_order(data: GateInput) -> GateInput:
    """Return the input with its rows in canonical order: sums of floats hang on the order."""
    return replace(
        data,
        cues=tuple(sorted(data.cues, key=lambda row: row.sort_key)),
        sources=tuple(sorted(data.sources, key=lambda row: row.sort_key)),
        responses=tuple(sorted(data.responses, key=lambda row: row.sort_key)),
        verdicts=tuple(sorted(data.verdicts, key=lambda row: row.sort_key)),
        adjudications=tuple(sorted(data.adjudications, key=lambda row: row.sort_key)),
    )


def overall(checks: Sequence[Check]) -> Outcome:
    """Return FAIL if any check fails, INSUFFICIENT if any can't be decided (or there is none), PASS otherwise."""
    outcomes = {check.outcome for check in checks}
    if "FAIL" in outcomes:
        return "FAIL"
    return "PASS" if outcomes == {"PASS"} else "INSUFFICIENT"


def rated_line(report: GateReport) -> str:
    """Return how many of the pictures that would go out were rated, and who stands for the others."""
    n_rated, n_cues = (
        sum(getattr(found, name) for found in report.evidence) for name in ("n_images", "n_cues")
    )
    rated = f"{n_rated} of {n_cues} pictures were rated"
    if n_rated in (0, n_cues):
        return f"{rated}."
    if report.rules.review is None:
        return f"{rated}; nobody looked at the others."
    return f"{rated}, a sample of the set; the others were looked at by reviewers alone."
