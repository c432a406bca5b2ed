"""Verdicts and responses out of the record as long tables, and those given elsewhere into it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from curation.answers import RESERVED_FLAGS, Ack, ClientEvent, record_events
from curation.campaigns import find_campaign, sha256_text
from curation.database import Store
from curation.exchange_places import Places
from curation.exchange_table import SIDECAR, note_of, suffix_of, write_table
from curation.exchange_trials import dump_crowd_kit, dump_trials, trials_of
from curation.rating_records import RatingRecord, ResponseRecord, VerdictRecord
from curation.snapshots import SnapshotTable, read_snapshot, take_snapshot
from curation.tables import Assignment, Campaign, CurrentAnswer, Event
from data_manifests.errors import CuebenchError, ProblemsError
from data_manifests.jsonl import N_PROBLEMS_SHOWN, canonical_json
from data_manifests.storage import write_bytes

LAYOUTS = ("long", "model-vs-human", "crowd-kit")
IMPORTED = "imported"
N_EVENTS_AT_ONCE = 500


def export_ratings(
    store: Store, slug: str, kind: str, url: str, *, layout: str = "long", snapshot_id: int | None = None
) -> SnapshotTable:
    """Write the answers of a campaign, as of a new snapshot or an earlier one, and return that snapshot.

    Beside the file lies a note that names the snapshot (in Parquet, it is in the metadata).

    Raises
    ------
    CuebenchError
        If there is no such campaign of the kind or snapshot, or the name of the file does not go with the layout.
    """
    suffix = suffix_of(url)
    if layout != "long" and suffix != ".csv":
        raise CuebenchError(f"{url}: {layout} is a CSV; expected a name that ends in .csv")
    with store.read() as session:
        find_campaign(session, slug, kind)
    table = take_snapshot(store, slug) if snapshot_id is None else read_snapshot(store, snapshot_id)
    if table.campaign != slug:
        raise CuebenchError(f"snapshot {snapshot_id}: is of campaign {table.campaign}, not of {slug}")
    note = note_of(
        table.rows,
        kind,
        slug,
        snapshot_id=table.snapshot_id,
        taken_at=table.taken_at,
        last_event_pk=table.last_event_pk,
    )
    if layout == "long":
        write_table(url, table.rows, note)
        return table
    responses = [row for row in table.rows if isinstance(row, ResponseRecord)]
    write_bytes(
        url, dump_crowd_kit(table.rows) if layout == "crowd-kit" else dump_trials(trials_of(responses))
    )
    write_bytes(url + SIDECAR, f"{canonical_json(note.model_dump(mode='json'))}\n".encode())
    return table


@dataclass(frozen=True)
class AnswersImported:
    """What became of the rows: answers new to the record, known to it, kept out (another answer stands), or none."""

    slug: str
    n_rows: int
    n_new: int
    n_known: int
    n_kept_out: int
    n_unanswered: int

    def to_text(self) -> str:
        """Return a line for people."""
        return (
            f"{self.slug}: {self.n_rows} rows: {self.n_new} new answers, {self.n_known} known, "
            f"{self.n_kept_out} kept out (another answer stands), {self.n_unanswered} without an answer"
        )


def import_verdicts(store: Store, slug: str, rows: Sequence[VerdictRecord]) -> AnswersImported:
    """Store verdicts that were given elsewhere in a review that is open; importing again changes nothing.

    Raises
    ------
    CuebenchError
        If there is no such review, it is not open, or another campaign has these answers.
    ProblemsError
        If a verdict is on a picture that the review does not have, or makes no sense; nothing is stored for the former.
    """
    with store.write() as session:
        campaign = find_campaign(session, slug, "review")
        if campaign.state != "open":
            raise CuebenchError(f"campaign {slug}: is {campaign.state}; only an open review takes verdicts")
        places = Places(session, campaign)
        if problems := places.unknown_pictures(rows):
            raise ProblemsError(f"campaign {slug}: pictures that it does not have", problems)
        _check_ids(session, slug, rows)
        found = places.assignments_of(rows)
    return _record(store, slug, rows, found)


def import_responses(store: Store, slug: str, rows: Sequence[ResponseRecord]) -> AnswersImported:
    """Store responses that were given elsewhere as a study of their own, frozen; importing again changes nothing.

    Raises
    ------
    CuebenchError
        If there are no rows, there is a campaign of that name which was not imported, or another campaign has these
        answers.
    ProblemsError
        If a response makes no sense.
    """
    if not rows:
        raise CuebenchError(f"campaign {slug}: there are no responses to import")
    with store.write() as session:
        _check_ids(session, slug, rows)
        places = Places.of_imported_study(session, slug, rows)
        found = places.assignments_of(rows)
    summary = _record(store, slug, rows, found)
    with store.write() as session:
        find_campaign(session, slug).state = "frozen"
    return summary


def _check_ids(session: Session, slug: str, rows: Sequence[RatingRecord]) -> None:
    """Refuse rows that another campaign of this database has already: nobody's answer counts twice."""
    query = (
        select(Event.event_id, Campaign.slug)
        .join(Assignment, Assignment.id == Event.assignment_id)
        .join(Campaign, Campaign.id == Assignment.campaign_id)
        .where(Campaign.slug != slug)
    )
    elsewhere = dict(iter(session.execute(query)))
    if others := sorted({elsewhere[row.event_id] for row in rows if row.event_id in elsewhere}):
        raise CuebenchError(
            f"campaign {slug}: these answers are in this database already, in {', '.join(others)}; "
            "import them into another database"
        )


def _record(
    store: Store, slug: str, rows: Sequence[RatingRecord], places: Sequence[tuple[int, int, str]]
) -> AnswersImported:
    """Store the rows as events of their raters; `places` are rater, assignment and its public id of each row."""
    with store.read() as session:
        standing = _standing(session, slug)
    events: dict[int, list[ClientEvent]] = {}
    n_kept_out = 0
    for row, (rater_id, assignment_id, public_id) in zip(rows, places, strict=True):
        event = _event(slug, row, public_id)
        if event is None:
            continue
        if standing.get(assignment_id, event.event_id) != event.event_id:
            n_kept_out += 1
        else:
            events.setdefault(rater_id, []).append(event)
    acks = [
        ack
        for rater_id, mine in events.items()
        for part in _parts(mine)
        for ack in record_events(store, rater_id, None, part)
    ]
    refused = [f"event {ack.event_id}: {ack.detail}" for ack in acks if ack.status == "refused"]
    if refused:
        raise ProblemsError(f"campaign {slug}: answers that make no sense", refused[:N_PROBLEMS_SHOWN])
    return _summary(slug, rows, events, acks, n_kept_out)


def _summary(
    slug: str,
    rows: Sequence[RatingRecord],
    events: dict[int, list[ClientEvent]],
    acks: Sequence[Ack],
    n_kept_out: int,
) -> AnswersImported:
    answers = {event.event_id for mine in events.values() for event in mine if event.kind == "answer"}
    counts = Counter(ack.status for ack in acks if ack.event_id in answers)
    n_unanswered = sum(row.answer is None for row in rows)
    return AnswersImported(slug, len(rows), counts["stored"], counts["duplicate"], n_kept_out, n_unanswered)


def _standing(session: Session, slug: str) -> dict[int, str]:
    """Return assignment -> the event id of the answer that stands."""
    query = (
        select(CurrentAnswer.assignment_id, Event.event_id)
        .join(Event, Event.id == CurrentAnswer.event_pk)
        .join(Assignment, Assignment.id == CurrentAnswer.assignment_id)
        .join(Campaign, Campaign.id == Assignment.campaign_id)
        .where(Campaign.slug == slug)
    )
    return dict(iter(session.execute(query)))


def _event(slug: str, row: RatingRecord, assignment: str) -> ClientEvent | None:
    """Return what a row says as an event; a trial that was shown and not answered is one that ran out of time."""
    name = row.event_id or sha256_text(canonical_json([slug, row.rater, row.model_dump(mode="json")]))[:36]
    flags = (*(flag for flag in row.flags if flag not in RESERVED_FLAGS and flag != IMPORTED), IMPORTED)
    if row.answer is None:
        reached = isinstance(row, ResponseRecord) and row.reached
        return ClientEvent(name, assignment, "timeout", flags=flags) if reached else None
    return ClientEvent(
        event_id=name,
        assignment=assignment,
        kind="answer",
        answer=row.answer,
        reasons=row.reasons if isinstance(row, VerdictRecord) else (),
        note=row.note,
        rt_ms=row.rt_ms,
        load_ms=row.load_ms,
        client_utc=row.client_utc,
        flags=flags,
    )


def _parts(events: Sequence[ClientEvent]) -> Iterator[Sequence[ClientEvent]]:
    for begin in range(0, len(events), N_EVENTS_AT_ONCE):
        yield events[begin : begin + N_EVENTS_AT_ONCE]
