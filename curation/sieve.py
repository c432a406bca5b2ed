"""An automatic sieve before people: it ranks the queue of a review and proposes; it never gives a verdict.

Agreement as a stage of automatic filtering is what the paper asks for [1]_. What people decided about the first cues
tells how likely they are to accept the others; those of which that is least sure are shown first.

References
----------
.. [1] On the Reliability of Cue Conflict and Beyond, arXiv 2603.10834.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from curation.campaigns import find_campaign
from curation.database import Store
from curation.queue_rows import open_for_work
from curation.ratings import FloatArray
from curation.sieve_calibration import area_under_curve, measure_calibration
from curation.sieve_cases import Case, Classifier, classify, measure_missing, read_cases
from curation.sieve_cut import LOOK, effect_of, find_savings, propose, saved_share
from curation.sieve_model import Chances, doubt, estimate_chances, is_enough
from curation.sieve_order import Rank, reorder
from curation.sieve_report import Comparison, Proposal, SieveReport
from data_manifests.errors import CuebenchError
from evaluation.run_model import Show


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
    show : is told how many cues were measured, or seen by the classifier, of how many

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
    cases = measure_missing(cases, show)
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
    is_judged = np.array([case.is_accepted is not None for case in cases])
    waiting = [case for case in cases if case.is_accepted is None]
    report = SieveReport(
        slug=slug,
        n_judged=int(is_judged.sum()),
        n_accepted=sum(bool(case.is_accepted) for case in cases),
        n_waiting=len(waiting),
        proposals=tuple(Proposal.on(case, None, LOOK) for case in waiting),
    )
    if not is_enough(cases):
        return report, doubts
    chances = estimate_chances(cases, seed=seed)
    savings = find_savings(chances, miss_rate, seed)
    proposed = propose(chances.waiting, savings.accept, savings.reject)
    rows = zip(waiting, chances.waiting.tolist(), proposed, strict=True)
    report = replace(
        report,
        calibration=measure_calibration(chances.judged, chances.accepted, chances.judged_photograph, seed),
        savings=savings,
        comparisons=_comparisons(cases, chances, doubts, miss_rate, seed),
        proposals=tuple(Proposal.on(*row) for row in rows),
    )
    chance = np.empty(len(cases))
    chance[is_judged], chance[~is_judged] = chances.judged, chances.waiting
    return report, 0.5 - np.abs(chance - 0.5)


def _comparisons(
    cases: Sequence[Case], chances: Chances, doubts: FloatArray, miss_rate: float, seed: int
) -> tuple[Comparison, ...]:
    """Return what a random order and the quality numbers alone would save, by the same rule."""
    base = chances.accepted.mean()
    constant = replace(
        chances, judged=np.full_like(chances.judged, base), waiting=np.full_like(chances.waiting, base)
    )
    by_doubt = estimate_chances(cases, doubts[:, None], seed)
    return tuple(
        Comparison(
            name,
            area_under_curve(each.judged, each.accepted),
            saved_share(each, miss_rate, effect_of(each)),
        )
        for name, each in (("one chance for all", constant), ("flags and quality numbers alone", by_doubt))
    )
