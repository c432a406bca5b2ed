"""Where the gate's input comes from: the record and the manifests of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from curation.campaigns import find_campaign
from curation.database import Store
from curation.gate import GateInput
from curation.gate_rules import GateRules
from curation.rating_records import AdjudicationRecord, ResponseRecord, VerdictRecord
from curation.snapshots import SnapshotTable, read_adjudications, take_snapshot
from curation.standings import UNSEEN, standings
from curation.study_record import n_check_failures, protocol_of
from curation.tables import Campaign
from data_manifests import storage
from data_manifests.errors import CuebenchError
from data_manifests.jsonl import read_records
from data_manifests.records import OK, CueRecord, SourceRecord


@dataclass(frozen=True)
class GateSource:
    """The input of the gate with the snapshots that it was read from.

    `left_out` counts the cues of the manifest that would not go out, by the reason: their status, or where they
    stand in the review.
    """

    data: GateInput
    snapshots: tuple[SnapshotTable, ...]
    left_out: dict[str, int]


def read_gate_source(
    store: Store,
    manifest: str,
    rules: GateRules,
    *,
    review: str | None = None,
    study: str | None = None,
    simulated: bool = False,
) -> GateSource:
    """Return the input of the gate for the cues of a manifest that reviewers accepted.

    Parameters
    ----------
    manifest : the cues.jsonl of a run; sources.jsonl is beside it
    review, study : names of campaigns; by default the only one of its kind
    simulated : call the answers made by a program, where none is marked as such

    Raises
    ------
    CuebenchError
        If there is no such campaign or manifest, or several campaigns and none is named.
    ProblemsError
        If a manifest has mistakes, or the database is damaged.
    """
    cues = read_records(manifest, CueRecord)
    sources = read_records(storage.join(storage.parent(manifest), "sources.jsonl"), SourceRecord)
    with store.read() as session:
        review_slug = _campaign(session, "review", review, needed=rules.review is not None)
        study_slug = _campaign(session, "study", study, needed=True)
    verdicts = take_snapshot(store, review_slug) if review_slug else None
    responses = take_snapshot(store, study_slug) if study_slug else None
    with store.read() as session:
        decisions = read_adjudications(session, find_campaign(session, review_slug)) if review_slug else []
        campaign = find_campaign(session, study_slug or "")
        exclusions = protocol_of(campaign).exclusions
        failures = n_check_failures(session, campaign)
    verdict_rows = [row for row in (verdicts.rows if verdicts else ()) if isinstance(row, VerdictRecord)]
    selected, left_out = select_cues(cues, verdict_rows, decisions, reviewed=review_slug is not None)
    parents = {parent for cue in selected for parent in cue.parent_source_ids}
    data = GateInput(
        cues=tuple(selected),
        sources=tuple(source for source in sources if source.source_id in parents),
        responses=tuple(
            row for row in (responses.rows if responses else ()) if isinstance(row, ResponseRecord)
        ),
        verdicts=tuple(verdict_rows),
        adjudications=tuple(decisions),
        rules=rules,
        exclusions=exclusions,
        n_check_failures=failures,
        simulated=simulated,
    )
    return GateSource(data, tuple(table for table in (verdicts, responses) if table), left_out)


def _campaign(session: Session, kind: str, slug: str | None, *, needed: bool) -> str | None:
    if slug is not None:
        return find_campaign(session, slug, kind).slug
    slugs = list(session.scalars(select(Campaign.slug).where(Campaign.kind == kind).order_by(Campaign.slug)))
    if len(slugs) > 1:
        raise CuebenchError(
            f"there are {len(slugs)} {kind} campaigns ({', '.join(slugs)}): name one with --{kind}"
        )
    if not slugs and needed:
        raise CuebenchError(f"there is no {kind} campaign in the database, and the gate asks for one")
    return slugs[0] if slugs else None


def select_cues(
    cues: Sequence[CueRecord],
    verdicts: Sequence[VerdictRecord],
    adjudications: Sequence[AdjudicationRecord],
    *,
    reviewed: bool,
) -> tuple[list[CueRecord], dict[str, int]]:
    """Return the cues that would go out, and how many would not, by reason.

    Those are the `ok` cues, and where there was a review, those that it accepted.
    """
    by_hash = standings(verdicts, adjudications)
    selected, left_out = [], Counter[str]()
    for cue in cues:
        state = by_hash.get(cue.sha256 or "", UNSEEN).state
        if cue.status != OK:
            left_out[cue.status] += 1
        elif reviewed and state != "accepted":
            left_out[state] += 1
        else:
            selected.append(cue)
    return selected, dict(sorted(left_out.items()))
