"""An automatic sieve before people: it ranks the queue of a review and proposes; it never gives a verdict.

Agreement as a stage of automatic filtering is what the paper asks for [1]_. What people decided about the first cues
tells how likely they are to accept the others; those of which that is least sure are shown first.

References
----------
.. [1] On the Reliability of Cue Conflict and Beyond, arXiv 2603.10834.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from curation.campaigns import find_campaign
from curation.database import Store
from curation.queue_rows import open_for_work
from curation.ratings import FloatArray
from curation.sieve_calibration import area_under_curve, measure_calibration
from curation.sieve_cases import Case, read_cases
from curation.sieve_classifier import Classifier, classify
from curation.sieve_features import doubt
from curation.sieve_model import estimate_chances, is_enough
from curation.sieve_order import Rank, reorder
from curation.sieve_pixels import measure_missing
from curation.sieve_report import Comparison, Proposal, SieveReport
from curation.sieve_savings import LOOK, Chances, Savings, find_savings, propose, saved_share
from data_manifests.errors import CuebenchError
from data_manifests.storage import write_bytes
from evaluation.run_model import Show

__all__ = ["Classifier", "rank_review", "sieve", "write_proposals"]


def rank_review(
    store: Store,
    slug: str,
    *,
    miss_rate: float = 0.05,
    classifier: Classifier | None = None,
    keep_order: bool = False,
    show: Show | None = None,
) -> SieveReport:
    """Estimate for each cue of a review whether it will be accepted, and put the doubtful ones first in the queues.

    Parameters
    ----------
    miss_rate : the share of wrong ones among the proposals that is put up with
    keep_order : only report: no queue is changed
    show : is told how many cues the classifier has seen, of how many

    Raises
    ------
    CuebenchError
        If there is no such review, it holds no cue, the miss rate is out of range, the classifier can't be had or
        run, or queues are to change of a review that is over.
    """
    if not 0 < miss_rate < 1:
        raise CuebenchError(f"miss rate: expected a share between 0 and 1, got {miss_rate:g}")
    with store.read() as session:
        campaign = find_campaign(session, slug, "review")
        seed, cases = campaign.seed, read_cases(session, campaign)
    if not cases:
        raise CuebenchError(f"campaign {slug}: it holds no cue to rank; import some")
    cases = measure_missing(cases)
    if classifier is not None:
        cases = classify(cases, classifier, show)
    report, urgency = sieve(slug, cases, miss_rate, seed)
    if keep_order:
        return report
    ranks = {
        case.item_id: Rank(float(value), case.sha256) for case, value in zip(cases, urgency, strict=True)
    }
    with store.write() as session:
        return replace(report, moved=reorder(session, open_for_work(session, slug), ranks))


def sieve(
    slug: str, cases: Sequence[Case], miss_rate: float, seed: int = 0
) -> tuple[SieveReport, FloatArray]:
    """Return the report on cues, and how much each of them wants a look (n,): the highest first. Pure."""
    doubts = doubt(cases)
    waiting = [case for case in cases if case.is_accepted is None]
    report = SieveReport(
        slug=slug,
        n_judged=len(cases) - len(waiting),
        n_accepted=sum(bool(case.is_accepted) for case in cases),
        n_waiting=len(waiting),
        proposals=tuple(_proposal(case, None, LOOK) for case in waiting),
    )
    if not is_enough(cases):
        return report, doubts
    chances = estimate_chances(cases, seed=seed)
    savings = find_savings(chances, miss_rate, seed)
    report = replace(
        report,
        calibration=measure_calibration(chances.judged, chances.accepted, chances.judged_photograph, seed),
        savings=savings,
        comparisons=_comparisons(cases, chances, doubts, miss_rate, seed),
        proposals=_proposals(waiting, chances.waiting, savings),
    )
    return report, 0.5 - np.abs(_all_chances(cases, chances) - 0.5)


def _all_chances(cases: Sequence[Case], chances: Chances) -> FloatArray:
    is_judged = np.array([case.is_accepted is not None for case in cases])
    found = np.empty(len(cases))
    found[is_judged], found[~is_judged] = chances.judged, chances.waiting
    return found


def _comparisons(
    cases: Sequence[Case], chances: Chances, doubts: FloatArray, miss_rate: float, seed: int
) -> tuple[Comparison, ...]:
    """Return what a random order and the quality numbers alone would save, by the same rule."""
    base = np.full(len(chances.judged), chances.accepted.mean())
    constant = replace(chances, judged=base, waiting=np.full(len(chances.waiting), chances.accepted.mean()))
    by_doubt = estimate_chances(cases, doubts[:, None], seed)
    found = (("chance (a random order)", constant), ("flags and quality numbers alone", by_doubt))
    return tuple(
        Comparison(name, area_under_curve(each.judged, each.accepted), saved_share(each, miss_rate))
        for name, each in found
    )


def _proposals(waiting: Sequence[Case], chance: FloatArray, savings: Savings) -> tuple[Proposal, ...]:
    proposed = propose(chance, savings.accept, savings.reject)
    rows = zip(waiting, chance.tolist(), proposed, strict=True)
    return tuple(_proposal(case, value, proposal) for case, value, proposal in rows)


def _proposal(case: Case, chance: float | None, proposal: str) -> Proposal:
    return Proposal(case.cue_id, case.sha256, case.cue_kind, case.superclass, chance, proposal)


def write_proposals(url: str, report: SieveReport) -> None:
    """Write the proposals for the waiting cues as a CSV, in the order of their hashes."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["cue_id", "sha256", "cue_kind", "superclass", "chance_of_acceptance", "proposal"])
    for row in report.proposals:
        chance = "" if row.chance is None else f"{row.chance:.4f}"
        writer.writerow([row.cue_id, row.sha256, row.cue_kind, row.superclass, chance, row.proposal])
    write_bytes(url, buffer.getvalue().encode())
