"""Many pictures into a campaign at once; pictures that were made again retire those that they replace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from curation.campaigns import NewItem, new_public_id
from curation.database import utc_now
from curation.tables import Campaign, CampaignItem, Item
from data_manifests.errors import ProblemsError
from data_manifests.jsonl import canonical_json

T = TypeVar("T")

_N_AT_ONCE = 5_000  # values in one IN (...): SQLite takes 32,766, PostgreSQL 65,535


@dataclass(frozen=True)
class Placement:
    """What became of pictures: ids of those new in the campaign, of those that were there, of the retired.

    `n_absent` counts live ones that were not among the new ones and stay.
    """

    new: list[int]
    kept: list[int]
    retired: list[int]
    n_absent: int


def in_parts(values: Iterable[T]) -> Iterator[list[T]]:
    """Yield the values in lists that fit into one statement."""
    iterator = iter(values)
    while part := list(islice(iterator, _N_AT_ONCE)):
        yield part


def place_items(
    session: Session,
    campaign: Campaign,
    items: Sequence[NewItem],
    role: str = "main",
    *,
    expected: str | None = None,
    failed: Iterable[str] = (),
) -> Placement:
    """Put pictures into a campaign.

    An item of the campaign whose lineage is that of a new picture, or is in `failed`, but whose bytes are not among
    the new ones, is retired. One that was retired and is there again counts again.

    Raises
    ------
    ProblemsError
        If the database knows a picture under another class.
    """
    ids = store_items(session, items)
    query = (
        select(CampaignItem.item_id, CampaignItem.retired_at, Item.lineage)
        .join(Item, Item.id == CampaignItem.item_id)
        .where(CampaignItem.campaign_id == campaign.id, CampaignItem.role == role)
    )
    before = {row.item_id: row for row in session.execute(query)}
    wanted = dict.fromkeys(ids)
    fresh = [item_id for item_id in wanted if item_id not in before]
    if fresh:
        link = {"campaign_id": campaign.id, "role": role, "expected_answer": expected}
        session.execute(insert(CampaignItem), [{**link, "item_id": item_id} for item_id in fresh])
    replaced = {item.lineage for item in items} | set(failed)
    live = [row for row in before.values() if row.retired_at is None]
    retired = [row.item_id for row in live if row.lineage in replaced and row.item_id not in wanted]
    back = [item_id for item_id in wanted if item_id in before and before[item_id].retired_at is not None]
    _set_retired(session, campaign, role, retired, utc_now())
    _set_retired(session, campaign, role, back, None)
    n_absent = sum(row.item_id not in wanted for row in live) - len(retired)
    return Placement(fresh, [item_id for item_id in wanted if item_id in before], retired, n_absent)


def store_items(session: Session, items: Sequence[NewItem]) -> list[int]:
    """Return the ids of pictures, in order; the same picture is one item in all campaigns, wherever its file is now.

    Raises
    ------
    ProblemsError
        If the database knows a picture under another class.
    """
    known = _known_items(session, items)
    missing = [item for item in items if (item.cue_kind, item.sha256) not in known]
    problems = [
        f"{item.file_url}: known as {known[key].superclass}, here it is {item.superclass}; a picture has one class"
        for item in items
        if (key := (item.cue_kind, item.sha256)) in known and known[key].superclass != item.superclass
    ]
    if problems:
        raise ProblemsError("pictures of this database", problems)
    if missing:
        session.execute(insert(Item), [_row(item) for item in missing])
    if moved := [
        {
            "id": row.id,
            "file_url": item.file_url,
            "source_url": item.source_url or row.source_url,
            "lineage": item.lineage,
        }
        for item in items
        if (row := known.get((item.cue_kind, item.sha256))) is not None
        and (row.file_url, row.lineage) != (item.file_url, item.lineage)
    ]:
        session.execute(update(Item), moved)
    known = _known_items(session, items)
    return [known[item.cue_kind, item.sha256].id for item in items]


@dataclass(frozen=True)
class _Known:
    id: int
    superclass: str
    file_url: str
    source_url: str | None
    lineage: str


def _known_items(session: Session, items: Sequence[NewItem]) -> dict[tuple[str, str], _Known]:
    columns = (Item.id, Item.superclass, Item.file_url, Item.source_url, Item.lineage)
    known: dict[tuple[str, str], _Known] = {}
    for part in in_parts(item.sha256 for item in items):
        query = select(Item.cue_kind, Item.sha256, *columns).where(Item.sha256.in_(part))
        for row in session.execute(query):
            known[row.cue_kind, row.sha256] = _Known(
                row.id, row.superclass, row.file_url, row.source_url, row.lineage
            )
    return known


def _row(item: NewItem) -> dict[str, object]:
    fields = {name: value for name, value in vars(item).items() if name != "meta"}
    return {**fields, "meta_json": canonical_json(item.meta), "public_id": new_public_id()}


def _set_retired(
    session: Session, campaign: Campaign, role: str, ids: Sequence[int], when: str | None
) -> None:
    for part in in_parts(ids):
        session.execute(
            update(CampaignItem)
            .where(
                CampaignItem.campaign_id == campaign.id,
                CampaignItem.role == role,
                CampaignItem.item_id.in_(part),
            )
            .values(retired_at=when)
        )
