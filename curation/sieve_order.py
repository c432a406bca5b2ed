"""The queues of a review put into another order: what is worth a look first, all that must not move where it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import update
from sqlalchemy.orm import Session

from curation.item_placement import in_parts
from curation.queue_rows import QueueRow, on_screen, read_rows
from curation.review_dealing import draw
from curation.tables import Assignment, Campaign

# Every so many places one picture is drawn instead of ranked: what the model is sure of is judged too, and the
# share of its misses is measured where its proposals lie.
DRAWN_EVERY = 5


@dataclass(frozen=True)
class Rank:
    """How much a cue wants a look (the highest first), and its hash, by which ties are drawn."""

    urgency: float
    sha256: str


def reorder(session: Session, campaign: Campaign, ranks: Mapping[int, Rank]) -> dict[str, int]:
    """Put what is worth a look to the front of each queue; return reviewer -> pictures that have another place now.

    Only first showings move that nobody has opened, and only among their own places in their block. Known-bad
    pictures and repeats stay where they are, and so do pictures with a repeat in the queue, which keeps its distance.
    """
    rows = read_rows(session, campaign)
    moved: dict[str, int] = dict.fromkeys((row.reviewer for row in rows), 0)
    places: list[dict[str, int]] = []
    for own in _movable(rows, on_screen(session, campaign, rows), ranks):
        order = sift(own[0].reviewer, {row.item_id: ranks[row.item_id] for row in own}, campaign.seed)
        by_item = {row.item_id: row for row in own}
        for position, item_id in zip(sorted(row.position for row in own), order, strict=True):
            row = by_item[item_id]
            if row.position != position:
                places.append({"id": row.id, "position": position})
                moved[row.reviewer] += 1
    _write(session, places)
    return moved


def _movable(
    rows: Sequence[QueueRow], fixed: set[int], ranks: Mapping[int, Rank]
) -> Iterator[list[QueueRow]]:
    """Yield the rows of each reviewer and block that may change places with each other."""
    repeated = {(row.rater_id, row.item_id) for row in rows if row.role == "repeat"}
    piles: defaultdict[tuple[int, int], list[QueueRow]] = defaultdict(list)
    for row in rows:
        is_open = row.role == "main" and not row.is_answered and not row.has_events and row.id not in fixed
        if is_open and row.item_id in ranks and (row.rater_id, row.item_id) not in repeated:
            piles[row.rater_id, row.block].append(row)
    yield from piles.values()


def sift(reviewer: str, ranks: Mapping[int, Rank], seed: int) -> list[int]:
    """Return items, the most urgent first, but for every fifth, which is drawn; a function of its arguments alone.

    >>> sift("ada", {1: Rank(0.1, "a"), 2: Rank(0.9, "b"), 3: Rank(0.5, "c")}, 0)
    [2, 3, 1]
    """

    def drawn(item: int, *names: str) -> tuple[float, str]:
        return draw(seed, reviewer, *names, ranks[item].sha256), ranks[item].sha256

    by_urgency = sorted(ranks, key=lambda item: (-ranks[item].urgency, drawn(item)), reverse=True)
    by_draw = sorted(ranks, key=lambda item: drawn(item, "sieve"), reverse=True)
    left = set(ranks)
    order: list[int] = []
    while left:
        pile = by_draw if len(order) % DRAWN_EVERY == DRAWN_EVERY - 1 else by_urgency
        while (item := pile.pop()) not in left:
            pass
        left.remove(item)
        order.append(item)
    return order


def _write(session: Session, places: Sequence[Mapping[str, int]]) -> None:
    """Write new positions; no two rows of a queue share one at any moment, for the negative ones are free."""
    for part in in_parts(place["id"] for place in places):
        query = update(Assignment).where(Assignment.id.in_(part)).values(position=-Assignment.position)
        session.execute(query, execution_options={"synchronize_session": False})
    if places:
        session.execute(update(Assignment), [dict(place) for place in places])
