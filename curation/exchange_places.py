"""Where imported answers belong: pictures, raters and assignments of a campaign, found or made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Self

from sqlalchemy import select
from sqlalchemy.orm import Session

from curation.campaigns import CODE_ALPHABET, NewItem, create_campaign, new_public_id
from curation.database import utc_now
from curation.exchange_trials import code_of
from curation.item_placement import store_items
from curation.protocol import StudyProtocol
from curation.rating_records import RatingRecord, ResponseRecord
from curation.tables import Assignment, Campaign, CampaignItem, Item, QcFlag, Rater
from data_manifests.errors import CuebenchError
from data_manifests.jsonl import N_PROBLEMS_SHOWN

PROTOCOL_NAME = "imported"
_CODE_LENGTHS = range(6, 17)


class Places:
    """The pictures, raters and assignments of a campaign, in a session that writes."""

    def __init__(self, session: Session, campaign: Campaign) -> None:
        self._session, self._campaign = session, campaign
        query = (
            select(Item.cue_kind, Item.sha256, Item.id)
            .join(CampaignItem, CampaignItem.item_id == Item.id)
            .where(CampaignItem.campaign_id == campaign.id)
        )
        self._items = {(kind, digest): item_id for kind, digest, item_id in session.execute(query)}
        self._raters: dict[str, Rater] = {}
        found = session.scalars(select(Assignment).where(Assignment.campaign_id == campaign.id))
        self._assignments = {_key(row): row for row in found}
        self._taken = {(row.rater_id, row.position) for row in self._assignments.values()}

    @classmethod
    def of_imported_study(cls, session: Session, slug: str, rows: Sequence[ResponseRecord]) -> Self:
        """Return the places of a study that was imported before, or is made now, with the pictures of the rows.

        Raises
        ------
        CuebenchError
            If there is a campaign of that name which was not imported.
        """
        campaign = session.scalar(select(Campaign).where(Campaign.slug == slug))
        if campaign is None:
            protocol = StudyProtocol(name=PROTOCOL_NAME).model_dump(mode="json")
            campaign = create_campaign(session, slug, "study", protocol, seed=0)
            campaign.protocol_sha256 = rows[0].protocol_sha256  # of the protocol that was followed elsewhere
        elif campaign.kind != "study" or json.loads(campaign.protocol_json).get("name") != PROTOCOL_NAME:
            raise CuebenchError(
                f"campaign {slug}: was not imported, and takes no responses from elsewhere; choose another name"
            )
        campaign.state = "open"
        places = cls(session, campaign)
        places._add_pictures(rows)
        places._add_exclusions(rows)
        return places

    def unknown_pictures(self, rows: Sequence[RatingRecord]) -> list[str]:
        """Return a line for each picture of the rows that the campaign does not have."""
        unknown = {
            f"{row.cue_kind} cue {row.sha256} ({row.superclass})": None
            for row in rows
            if (row.cue_kind, row.sha256) not in self._items
        }
        lines = list(unknown)
        hidden = len(lines) - N_PROBLEMS_SHOWN
        return lines[:N_PROBLEMS_SHOWN] + [f"... and {hidden} more"] * (hidden > 0)

    def assignments_of(self, rows: Sequence[RatingRecord]) -> list[tuple[int, int, str]]:
        """Return rater, assignment and its public id for each row; what is not there is made."""
        found = []
        for row in rows:
            rater_id = self._rater(row.rater).id
            key = (rater_id, self._items[row.cue_kind, row.sha256], row.role, row.presentation)
            if key not in self._assignments:
                self._assignments[key] = self._new_assignment(row, *key)
            found.append(self._assignments[key])
        self._session.flush()
        return [(assignment.rater_id, assignment.id, assignment.public_id) for assignment in found]

    def _new_assignment(
        self, row: RatingRecord, rater_id: int, item_id: int, role: str, presentation: int
    ) -> Assignment:
        position = row.position
        if (rater_id, position) in self._taken:
            position = 1 + max(place for rater, place in self._taken if rater == rater_id)
        self._taken.add((rater_id, position))
        assignment = Assignment(
            public_id=new_public_id(),
            campaign_id=self._campaign.id,
            rater_id=rater_id,
            item_id=item_id,
            role=role,
            block=row.block,
            position=position,
            presentation=presentation,
            choices_json=json.dumps(row.choices if isinstance(row, ResponseRecord) else ()),
        )
        self._session.add(assignment)
        return assignment

    def _rater(self, name: str) -> Rater:
        """Return the rater of a code, or of a name from elsewhere; made on first sight."""
        if name not in self._raters:
            known_as = f"{self._campaign.slug}/{name}"
            by_name = select(Rater).where(Rater.auth_subject == known_as)
            rater = self._session.scalar(by_name)
            by_code = self._session.scalar(select(Rater).where(Rater.public_code == name))
            if rater is None and by_code is not None and self._campaign.kind == "review":
                rater = by_code
            self._raters[name] = rater or self._new_rater(name, known_as, code_is_taken=by_code is not None)
        return self._raters[name]

    def _new_rater(self, name: str, known_as: str, *, code_is_taken: bool) -> Rater:
        is_code = len(name) in _CODE_LENGTHS and set(name) <= set(CODE_ALPHABET) and not code_is_taken
        of_study = self._campaign.kind == "study"
        rater = Rater(
            public_code=name if is_code else code_of(self._campaign.slug, name),
            auth_subject=known_as,
            campaign_id=self._campaign.id if of_study else None,
            role="participant" if of_study else "reviewer",
            state="finished" if of_study else "new",
            created_at=utc_now(),
        )
        self._session.add(rater)
        self._session.flush()
        return rater

    def _add_pictures(self, rows: Sequence[ResponseRecord]) -> None:
        pictures = {(row.cue_kind, row.sha256): row for row in rows}
        ids = store_items(self._session, [self._new_item(row) for row in pictures.values()])
        self._items.update(zip(pictures, ids, strict=True))
        for (kind, digest, role), row in {(row.cue_kind, row.sha256, row.role): row for row in rows}.items():
            item_id = self._items[kind, digest]
            link = self._session.get(CampaignItem, (self._campaign.id, item_id, role))
            if link is None:
                link = CampaignItem(campaign_id=self._campaign.id, item_id=item_id, role=role)
                link.expected_answer = row.expected if row.expected != row.superclass else None
                self._session.add(link)
            link.retired_at = utc_now() if row.stale else None
        self._session.flush()

    def _new_item(self, row: ResponseRecord) -> NewItem:
        """Return the picture of a row; one that is known stays where it is, and of its lineage."""
        query = select(Item).where(Item.cue_kind == row.cue_kind, Item.sha256 == row.sha256)
        known = self._session.scalar(query)
        return NewItem(
            cue_kind=row.cue_kind,
            superclass=row.superclass,
            sha256=row.sha256,
            file_url=known.file_url if known else "",
            lineage=known.lineage if known else row.sha256,
            pixel_sha256=row.pixel_sha256,
            cue_id=row.cue_id,
            grid=row.grid,
        )

    def _add_exclusions(self, rows: Sequence[ResponseRecord]) -> None:
        for name, rule in sorted({(row.rater, rule) for row in rows for rule in row.excluded}):
            key = (self._campaign.id, self._rater(name).id, rule)
            if self._session.get(QcFlag, key) is None:
                fields = {
                    "value": PROTOCOL_NAME,
                    "threshold": "",
                    "rules_sha256": "",
                    "flagged_at": utc_now(),
                }
                flag = QcFlag(campaign_id=key[0], rater_id=key[1], rule=rule, **fields)
                self._session.add(flag)


def _key(assignment: Assignment) -> tuple[int, int, str, int]:
    return assignment.rater_id, assignment.item_id, assignment.role, assignment.presentation
