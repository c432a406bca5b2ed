"""The queues of reviewers: who judges which picture, in which order."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from curation.campaigns import new_public_id
from curation.database import Store
from curation.queue_rows import (
    QueueRow,
    drop_rows,
    on_screen,
    open_for_work,
    read_cards,
    read_places,
    read_rows,
    take_places,
)
from curation.review_dealing import Showing, arrange, count_of, deal, wanted_verdicts
from curation.tables import Assignment, Campaign
from data_manifests.errors import CuebenchError


@dataclass(frozen=True)
class ReviewerQueue:
    """What a call changed for a reviewer; counts of pictures, repeats and known-bad ones included."""

    reviewer: str
    n_new: int
    n_taken: int
    n_answered: int
    n_pending: int


@dataclass(frozen=True)
class AssignSummary:
    """The queues after `assign`; `n_waiting` verdicts lack a reviewer who has not judged the picture yet."""

    slug: str
    reviewers: list[ReviewerQueue]
    n_waiting: int

    def to_text(self) -> str:
        """Return a table for people."""
        lines = [f"{'reviewer':32}{'new':>8}{'taken':>8}{'answered':>10}{'pending':>9}"]
        lines += [
            f"{q.reviewer:32}{q.n_new:>8}{q.n_taken:>8}{q.n_answered:>10}{q.n_pending:>9}"
            for q in self.reviewers
        ]
        if self.n_waiting:
            lines.append(f"{self.n_waiting} second verdicts wait for one more reviewer")
        return "\n".join(lines)


def assign(
    store: Store, slug: str, reviewers: Sequence[str] = (), *, release: Sequence[str] = ()
) -> AssignSummary:
    """Deal what nobody has been given yet to the reviewers of a review or mask campaign, and open it.

    Parameters
    ----------
    reviewers : identities (e-mail addresses or names) who join; those who have a queue already stay
    release : reviewers who leave: what they have not looked at goes to the others, their verdicts stay

    Raises
    ------
    CuebenchError
        If there is nobody to assign to, a name is empty, a released one has no queue, or the campaign is over.
    """
    with store.write() as session:
        campaign = open_for_work(session, slug)
        rows = read_rows(session, campaign)
        _check_names(slug, reviewers, release, read_places(session, campaign))
        active = take_places(session, campaign, reviewers, release)
        if not active:
            raise CuebenchError(f"campaign {slug}: nobody to assign to; name at least one reviewer")
        kept = on_screen(session, campaign, rows)
        gone = [r for r in rows if r.reviewer in release and not r.has_events and r.id not in kept]
        drop_rows(session, gone)
        rows = [row for row in rows if row not in set(gone)]
        n_waiting, changed = _deal(session, campaign, rows, active)
        campaign.state = "open"
        session.flush()
        after = read_rows(session, campaign)
        n_gone = {name: sum(row.reviewer == name for row in gone) for name in release}
    queues = [
        _queue(name, after, *changed.get(name, (0, n_gone.get(name, 0)))) for name in [*active, *release]
    ]
    return AssignSummary(slug, sorted(queues, key=lambda queue: queue.reviewer), n_waiting)


def drop_pending(session: Session, campaign: Campaign, item_ids: Collection[int]) -> int:
    """Take retired pictures out of the queues, as far as nobody may have them on the screen; return how many."""
    rows = read_rows(session, campaign)
    kept = on_screen(session, campaign, rows)
    ids = set(item_ids)
    gone = [row for row in rows if row.item_id in ids and not row.has_events and row.id not in kept]
    drop_rows(session, gone)
    return len(gone)


def _check_names(slug: str, reviewers: Sequence[str], release: Sequence[str], known: Collection[str]) -> None:
    if any(not name.strip() or len(name) > 200 for name in reviewers):
        raise CuebenchError(f"campaign {slug}: the name of a reviewer has 1 to 200 characters")
    if both := sorted(set(reviewers) & set(release)):
        raise CuebenchError(f"campaign {slug}: {both[0]} can't both join and leave")
    if strangers := sorted(set(release) - set(known)):
        listed = ", ".join(sorted(known)) or "nobody yet"
        raise CuebenchError(f"campaign {slug}: {strangers[0]} has no queue to leave; reviewers are: {listed}")


def _deal(
    session: Session, campaign: Campaign, rows: Sequence[QueueRow], active: dict[str, int]
) -> tuple[int, dict[str, tuple[int, int]]]:
    """Deal, write the new queues; return the verdicts that wait, and reviewer -> (new, taken) rows."""
    settings = json.loads(campaign.protocol_json)
    cards = read_cards(session, campaign, "main")
    live = {card.item_id for card in cards}
    # What somebody who left has looked at without a verdict is nobody's: it can't be deleted, and is dealt again.
    main = [
        row
        for row in rows
        if row.role == "main" and row.item_id in live and (row.is_answered or row.reviewer in active)
    ]
    holders: defaultdict[int, set[str]] = defaultdict(set)
    for row in main:
        holders[row.item_id].add(row.reviewer)
    repeated = {(row.reviewer, row.item_id) for row in rows if row.role == "repeat" and row.has_events}
    fixed = on_screen(session, campaign, rows)
    loads = dict.fromkeys(active, 0)
    movable: dict[str, list[int]] = {name: [] for name in active}
    for row in main:
        if row.reviewer in active and not row.is_answered:
            loads[row.reviewer] += 1
            if not (row.has_events or row.id in fixed or (row.reviewer, row.item_id) in repeated):
                movable[row.reviewer].append(row.item_id)
    wanted = wanted_verdicts(cards, campaign.seed, settings["n_raters"], settings["overlap"])
    dealt = deal(cards, wanted, holders, loads, movable, campaign.seed)
    taken = {(name, item_id) for name, items in dealt.taken.items() for item_id in items}
    gone = [row for row in rows if (row.reviewer, row.item_id) in taken]
    drop_rows(session, gone)
    known_bad = read_cards(session, campaign, "known_bad")
    changed = {}
    for name, rater_id in active.items():
        own = [row for row in rows if row.reviewer == name and (name, row.item_id) not in taken]
        shown_bad = {row.item_id for row in own if row.role == "known_bad"}
        n_main = sum(row.role == "main" for row in own) + len(dealt.given[name])
        n_repeats = count_of(settings["repeat_share"], n_main) - sum(row.role == "repeat" for row in own)
        fresh_bad = [card for card in known_bad if card.item_id not in shown_bad]
        order = arrange(name, dealt.given[name], fresh_bad, max(0, n_repeats), campaign.seed)
        _append(session, campaign, rater_id, order)
        changed[name] = (len(order), sum(row.reviewer == name for row in gone))
    return dealt.n_waiting, changed


def _append(session: Session, campaign: Campaign, rater_id: int, order: Sequence[Showing]) -> None:
    last = session.scalar(
        select(func.max(Assignment.position)).where(
            Assignment.campaign_id == campaign.id, Assignment.rater_id == rater_id
        )
    )
    if order:
        rows = [
            {
                **vars(showing),
                "public_id": new_public_id(),
                "campaign_id": campaign.id,
                "rater_id": rater_id,
                "position": position,
            }
            for position, showing in enumerate(order, start=(last or 0) + 1)
        ]
        session.execute(insert(Assignment), rows)


def _queue(name: str, rows: Iterable[QueueRow], n_new: int, n_taken: int) -> ReviewerQueue:
    own = [row for row in rows if row.reviewer == name]
    n_answered = sum(row.is_answered for row in own)
    return ReviewerQueue(name, n_new, n_taken, n_answered, len(own) - n_answered)
