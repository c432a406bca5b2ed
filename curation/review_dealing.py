"""Who looks at what: verdicts dealt to reviewers, evenly and reproducibly. Pure; nothing here knows the database."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Card:
    """A picture to be dealt: its item, and what orders it."""

    item_id: int
    cue_kind: str
    superclass: str
    sha256: str


@dataclass(frozen=True)
class Showing:
    """One picture in the queue of a reviewer; `block` counts the cue kinds."""

    item_id: int
    role: str
    block: int
    presentation: int = 1


@dataclass(frozen=True)
class Deal:
    """The outcome: reviewer -> new cards; reviewer -> items taken from them; verdicts for which nobody is left."""

    given: dict[str, list[Card]]
    taken: dict[str, list[int]]
    n_waiting: int


def draw(seed: int, *names: object) -> float:
    """Return a number in [0, 1) that the seed and the names give: the first 53 bits of their SHA-256.

    >>> draw(0, "reviewer", "item") == draw(0, "reviewer", "item") != draw(1, "reviewer", "item")
    True
    """
    digest = hashlib.sha256("|".join(map(str, (seed, *names))).encode()).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53


def count_of(share: float, n: int) -> int:
    """Return how many of `n` a share is, rounded up: a share above 0 is at least one.

    >>> count_of(0.1, 30), count_of(0.03, 10), count_of(0, 10)
    (3, 1, 0)
    """
    return math.ceil(round(share * n, 9))


def wanted_verdicts(cards: Iterable[Card], seed: int, n_raters: int, overlap: float) -> dict[int, int]:
    """Return item -> how many people are to judge it: `n_raters`, and one more for a drawn share of each class."""
    classes: defaultdict[tuple[str, str], list[Card]] = defaultdict(list)
    for card in cards:
        classes[card.cue_kind, card.superclass].append(card)
    wanted = {}
    for members in classes.values():
        members.sort(key=lambda card: (draw(seed, "overlap", card.sha256), card.sha256))
        n_more = count_of(overlap, len(members))
        wanted.update({card.item_id: n_raters + (place < n_more) for place, card in enumerate(members)})
    return wanted


def deal(
    cards: Sequence[Card],
    wanted: Mapping[int, int],
    holders: Mapping[int, set[str]],
    loads: Mapping[str, int],
    movable: Mapping[str, Sequence[int]],
    seed: int,
) -> Deal:
    """Give every missing verdict to the reviewer with the least to do who does not have the picture yet.

    Parameters
    ----------
    cards : every picture under review
    wanted : item -> number of verdicts (see `wanted_verdicts`)
    holders : item -> reviewers who judged it or have it in their queue
    loads : reviewer -> pictures still to judge; the reviewers who take part, and only they
    movable : reviewer -> items of the queue that may go to another, next one first

    Notes
    -----
    Where there is no queue yet, loads differ by 1 at most. Then queues are levelled, from their ends, as far as
    pictures can move: a reviewer who joins late gets an even part of what the others have not looked at.
    """
    table = _Table(dict(loads), {item: set(names) for item, names in holders.items()}, seed)
    given: dict[str, list[Card]] = {name: [] for name in loads}
    n_waiting = 0
    for card in sorted(cards, key=lambda c: (c.cue_kind, c.superclass, draw(seed, "deal", c.sha256))):
        for _ in range(wanted[card.item_id] - len(table.holders.get(card.item_id, ()))):
            name = table.least_loaded(card)
            if name is None:
                n_waiting += 1
                continue
            table.give(card, name)
            given[name].append(card)
    taken: dict[str, list[int]] = {name: [] for name in loads}
    for card, donor, name in _level(table, {card.item_id: card for card in cards}, movable):
        taken[donor].append(card.item_id)
        given[name].append(card)
    return Deal(given, taken, n_waiting)


def _level(
    table: _Table, cards: Mapping[int, Card], movable: Mapping[str, Sequence[int]]
) -> Iterator[tuple[Card, str, str]]:
    """Move cards from the longest queue, its end first; yield each with who gave it and who got it."""
    left = {name: list(items) for name, items in movable.items()}
    while donors := [name for name in table.loads if left.get(name)]:
        donor = max(donors, key=lambda name: (table.loads[name], name))
        card = cards[left[donor].pop()]
        name = table.least_loaded(card)
        if name is not None and table.loads[name] < table.loads[donor] - 1:
            table.take(card, donor)
            table.give(card, name)
            yield card, donor, name


@dataclass
class _Table:
    """Who has what while cards are dealt."""

    loads: dict[str, int]
    holders: dict[int, set[str]]
    seed: int

    def least_loaded(self, card: Card) -> str | None:
        """Return who gets the card: the least loaded of those who don't have it; ties are drawn."""
        free = [name for name in self.loads if name not in self.holders.get(card.item_id, ())]
        if not free:
            return None
        least = min(self.loads[name] for name in free)
        tied = [name for name in free if self.loads[name] == least]
        return min(tied, key=lambda name: (draw(self.seed, "tie", name, card.sha256), name))

    def give(self, card: Card, name: str) -> None:
        self.loads[name] += 1
        self.holders.setdefault(card.item_id, set()).add(name)

    def take(self, card: Card, name: str) -> None:
        self.loads[name] -= 1
        self.holders[card.item_id].remove(name)


def arrange(
    reviewer: str, cards: Iterable[Card], known_bad: Iterable[Card], n_repeats: int, seed: int
) -> list[Showing]:
    """Return new pictures in the order of a reviewer: by cue kind, then by a draw of seed, reviewer and picture.

    Known-bad pictures lie anywhere among the others. Repeats are drawn from the first half of each kind, and come
    half a queue later, so that nobody meets one soon after the first showing.
    """
    by_kind: defaultdict[str, list[tuple[float, Card, str]]] = defaultdict(list)
    for role, pile in (("main", cards), ("known_bad", known_bad)):
        for card in pile:
            by_kind[card.cue_kind].append((draw(seed, reviewer, card.sha256), card, role))
    for pile_of_kind in by_kind.values():
        pile_of_kind.sort(key=lambda entry: (entry[0], entry[1].sha256))
    early = [
        (place, card)
        for pile_of_kind in by_kind.values()
        for place, card, role in pile_of_kind[: len(pile_of_kind) // 2]
        if role == "main"
    ]
    early.sort(key=lambda entry: (draw(seed, reviewer, "repeat", entry[1].sha256), entry[1].sha256))
    for place, card in early[:n_repeats]:
        by_kind[card.cue_kind].append((place + 0.5, card, "repeat"))
    order = []
    for block, kind in enumerate(("shape", "texture")):
        for _, card, role in sorted(by_kind[kind], key=lambda entry: (entry[0], entry[1].sha256, entry[2])):
            order.append(Showing(card.item_id, role, block, 2 if role == "repeat" else 1))
    return order
