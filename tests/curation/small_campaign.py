"""A campaign of a few pictures and one rater, straight in the tables: what the tests of the store write to."""

from __future__ import annotations

import hashlib
import json
import uuid
from dataclasses import dataclass

from sqlalchemy import func, select

from curation.answers import Ack, ClientEvent, record_events
from curation.campaigns import NewItem, create_campaign, new_code, new_public_id
from curation.database import Store, utc_now
from curation.item_placement import place_items
from curation.tables import Assignment, Campaign, CurrentAnswer, Event, MaskCandidate, Rater

CHOICES = ("cat", "dog", "none")


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class SmallCampaign:
    """`assignments` are the public ids of the rater's queue, one for each picture of `item_ids`."""

    store: Store
    slug: str
    kind: str
    campaign_id: int
    rater_id: int
    item_ids: tuple[int, ...]
    assignments: tuple[str, ...]

    def send(self, *events: ClientEvent, session_id: str | None = None) -> list[Ack]:
        """Record events of the rater."""
        return record_events(self.store, self.rater_id, session_id, events)

    def set_state(self, state: str) -> None:
        with self.store.write() as session:
            session.get_one(Campaign, self.campaign_id).state = state

    def events(self) -> list[Event]:
        """Return the events of the campaign in the order in which they were stored."""
        query = (
            select(Event)
            .join(Assignment, Assignment.id == Event.assignment_id)
            .where(Assignment.campaign_id == self.campaign_id)
            .order_by(Event.id)
        )
        with self.store.read() as session:
            found = list(session.scalars(query))
            session.expunge_all()
        return found

    def standing(self) -> dict[str, str]:
        """Return assignment -> the answer that stands."""
        query = (
            select(Assignment.public_id, CurrentAnswer.answer)
            .join(CurrentAnswer, CurrentAnswer.assignment_id == Assignment.id)
            .where(Assignment.campaign_id == self.campaign_id)
        )
        with self.store.read() as session:
            return dict(iter(session.execute(query)))


def small_campaign(
    store: Store, kind: str = "review", *, n_items: int = 3, slug: str | None = None, state: str = "open"
) -> SmallCampaign:
    """Make a campaign with one rater, who is dealt every picture once."""
    slug = slug or f"campaign-{uuid.uuid4().hex[:12]}"
    with store.write() as session:
        campaign = create_campaign(session, slug, kind, {"name": slug}, seed=1)
        campaign.state = state
        items = [
            NewItem(
                cue_kind="photo" if kind == "mask" else "shape",
                superclass="cat",
                sha256=sha256(f"{slug} {number}"),
                file_url=f"cues/{number}.png",
                lineage=sha256(f"lineage {slug} {number}"),
                width=100,
                height=80,
            )
            for number in range(n_items)
        ]
        item_ids = place_items(session, campaign, items).new
        rater = Rater(
            public_code=new_code(),
            role="participant" if kind == "study" else "reviewer",
            campaign_id=campaign.id if kind == "study" else None,
            created_at=utc_now(),
        )
        session.add(rater)
        session.flush()
        campaign_id, rater_id = campaign.id, rater.id
    assignments = deal(store, campaign_id, rater_id, item_ids, choices=CHOICES if kind == "study" else ())
    return SmallCampaign(store, slug, kind, campaign_id, rater_id, tuple(item_ids), assignments)


def deal(
    store: Store, campaign_id: int, rater_id: int, item_ids: list[int], choices: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Put pictures at the end of a rater's queue and return the public ids of the assignments."""
    last = select(func.max(Assignment.position)).where(
        Assignment.campaign_id == campaign_id, Assignment.rater_id == rater_id
    )
    with store.write() as session:
        first = session.scalar(last)
        rows = [
            Assignment(
                public_id=new_public_id(),
                campaign_id=campaign_id,
                rater_id=rater_id,
                item_id=item_id,
                position=(first or 0) + number + 1,
                choices_json=json.dumps(choices),
            )
            for number, item_id in enumerate(item_ids)
        ]
        session.add_all(rows)
        session.flush()
        return tuple(row.public_id for row in rows)


def add_candidates(campaign: SmallCampaign, n_candidates: int = 2) -> list[str]:
    """Give the first photograph of a mask campaign candidates, and return their public ids."""
    with campaign.store.write() as session:
        rows = [
            MaskCandidate(
                public_id=new_public_id(),
                item_id=campaign.item_ids[0],
                position=number,
                mask_sha256=sha256(f"mask {campaign.slug} {number}"),
                segmenter="grabcut",
                file_url=f"masks/{number}.png",
            )
            for number in range(n_candidates)
        ]
        session.add_all(rows)
        session.flush()
        return [row.public_id for row in rows]


def verdict(
    assignment: str, answer: str = "accept", *reasons: str, event_id: str | None = None
) -> ClientEvent:
    """Return a verdict with an event id of its own."""
    if answer == "reject" and not reasons:
        reasons = ("ambiguous",)
    return ClientEvent(event_id or str(uuid.uuid4()), assignment, "answer", answer, reasons)


def act(assignment: str, kind: str, event_id: str | None = None) -> ClientEvent:
    """Return an event without an answer: `shown`, `undo`, `later`, `timeout`, `interrupted`."""
    return ClientEvent(event_id or str(uuid.uuid4()), assignment, kind)
