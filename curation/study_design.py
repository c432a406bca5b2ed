"""The design of a study: which pictures, and who sees which of them in which order.

Pure and deterministic: every choice comes from SHA-256 of the seed and the names, so that the same pictures and seed
give the same design on every machine and with every version of Python.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from data_manifests.errors import CuebenchError

N_ATTEMPTS = 20  # a connected design of few trials may need another draw


@dataclass(frozen=True)
class Picture:
    """A picture that can be shown. `key` names it, `stratum` is a texture's grid, `sources` the photographs in it."""

    key: str
    superclass: str
    stratum: str = ""
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class CueDesign:
    """Who sees which pictures of one cue kind: `seen[p]` are the keys of participant p, unordered."""

    pictures: tuple[Picture, ...]
    seen: tuple[tuple[str, ...], ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many participants see each picture."""
        n_seen = Counter(key for keys in self.seen for key in keys)
        return {picture.key: n_seen[picture.key] for picture in self.pictures}


def rank(*parts: object) -> str:
    """Return a number that looks random, as text, for sorting: SHA-256 of the parts."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()


def apportion(weights: Mapping[str, int], n_seats: int) -> dict[str, int]:
    """Return how many of `n_seats` go to each name: in proportion to the weights, by largest remainders.

    >>> apportion({"4": 90, "8": 90, "16": 60, "32": 60}, 44)
    {'4': 13, '8': 13, '16': 9, '32': 9}
    """
    total = sum(weights.values())
    seats = {name: weight * n_seats // total for name, weight in weights.items()}
    by_remainder = sorted(weights, key=lambda name: (-(weights[name] * n_seats % total), name))
    for name in by_remainder[: n_seats - sum(seats.values())]:
        seats[name] += 1
    return seats


def choose_pictures(pictures: Sequence[Picture], n_wanted: int, seed: int) -> list[Picture]:
    """Return pictures for a study: equally many of each class (within 1), each class in proportion to its strata.

    A class with fewer pictures than its share gives all that it has, and no other class more in its place.
    Photographs that gave no picture yet come first. `n_wanted` of 0 means all.
    """
    if n_wanted == 0:
        return sorted(pictures, key=lambda picture: picture.key)
    by_class = _grouped(pictures, lambda picture: picture.superclass)
    classes = sorted(by_class, key=lambda name: rank(seed, "class", name))
    chosen: list[Picture] = []
    for number, name in enumerate(classes):
        share = n_wanted // len(classes) + (number < n_wanted % len(classes))
        chosen += _choose_of_class(by_class[name], share, seed)
    return sorted(chosen, key=lambda picture: picture.key)


def _choose_of_class(pictures: Sequence[Picture], share: int, seed: int) -> list[Picture]:
    strata = _grouped(pictures, lambda picture: picture.stratum)
    n_of = apportion({name: len(group) for name, group in strata.items()}, min(share, len(pictures)))
    n_used: Counter[str] = Counter()
    chosen: list[Picture] = []
    for name in sorted(strata):
        left = sorted(strata[name], key=lambda picture: rank(seed, "picture", picture.key))
        for _ in range(n_of[name]):
            best = min(left, key=lambda picture: sum(n_used[source] for source in picture.sources))
            left.remove(best)
            n_used.update(best.sources)
            chosen.append(best)
    return chosen


def _grouped(pictures: Iterable[Picture], name_of: Callable[[Picture], str]) -> dict[str, list[Picture]]:
    groups: dict[str, list[Picture]] = defaultdict(list)
    for picture in pictures:
        groups[name_of(picture)].append(picture)
    return dict(groups)


def deal(
    pictures: Sequence[Picture],
    n_participants: int,
    n_trials: int,
    seed: int,
    already: Mapping[str, int] | None = None,
) -> CueDesign:
    """Return who sees which pictures of a cue kind.

    Every picture is seen equally often (within 1, `already` included), every participant sees every class equally
    often (within 1; in proportion, where classes differ in size), no picture twice, and the pictures and participants
    hang together, so that no group of participants is compared with itself alone. Within a class the pictures seen
    least often come first, ties by `rank`.

    Parameters
    ----------
    already : picture -> how often it counts as seen before: the new participants are added to a design that has
        begun, and need not hang together by themselves

    Raises
    ------
    CuebenchError
        If there are fewer pictures than trials, or no design that hangs together was found.
    """
    if not 1 <= n_trials <= len(pictures):
        raise CuebenchError(
            f"{n_trials} trials of {len(pictures)} pictures: expected 1 to {len(pictures)} trials, "
            "for nobody sees a picture twice"
        )
    for attempt in range(N_ATTEMPTS):
        design = _deal_once(pictures, n_participants, n_trials, f"{seed}.{attempt}", already or {})
        if already or hangs_together(design):
            return design
    raise CuebenchError(
        f"{n_participants} participants with {n_trials} of {len(pictures)} pictures: no design that hangs together "
        f"in {N_ATTEMPTS} draws; ask for more ratings of each picture, or for fewer pictures"
    )


def _deal_once(
    pictures: Sequence[Picture], n_participants: int, n_trials: int, seed: str, already: Mapping[str, int]
) -> CueDesign:
    by_class = _grouped(pictures, lambda picture: picture.superclass)
    counts = Counter({picture.key: already.get(picture.key, 0) for picture in pictures})
    quotas = _quotas({name: len(group) for name, group in by_class.items()}, n_participants, n_trials, seed)
    seen = []
    for participant, quota in enumerate(quotas):
        keys: list[str] = []
        for name in sorted(quota):
            group = sorted(
                (picture.key for picture in by_class[name]),
                key=lambda key: (counts[key], rank(seed, participant, key)),
            )
            keys += group[: quota[name]]
        counts.update(keys)
        seen.append(tuple(keys))
    return CueDesign(tuple(pictures), tuple(seen))


def _quotas(sizes: Mapping[str, int], n_participants: int, n_trials: int, seed: str) -> list[dict[str, int]]:
    """Return how many pictures of each class each participant sees.

    Each is n_trials * (size of the class) / (all pictures), rounded down or up, such that a participant's add up
    to n_trials and a class's to its part of all trials, rounded down or up. Rounding up those classes first that
    are owed most always gets there (Ryser's construction of a 0-1 matrix with given margins).
    """
    total = sum(sizes.values())
    floors = {name: n_trials * size // total for name, size in sizes.items()}
    parts = apportion(sizes, n_participants * n_trials)
    owed = {name: parts[name] - n_participants * floors[name] for name in sizes}
    n_up = n_trials - sum(floors.values())
    quotas = []
    for participant in range(n_participants):
        up = sorted(sizes, key=lambda name: (-owed[name], rank(seed, "quota", participant, name)))[:n_up]
        for name in up:
            owed[name] -= 1
        quotas.append({name: floors[name] + (name in up) for name in sizes})
    return quotas


def hangs_together(design: CueDesign) -> bool:
    """Return whether every participant is linked with every other through pictures that both of two saw."""
    group = list(range(len(design.seen)))

    def root(participant: int) -> int:
        while group[participant] != participant:
            participant = group[participant]
        return participant

    first_seer: dict[str, int] = {}
    for participant, keys in enumerate(design.seen):
        for key in keys:
            group[root(participant)] = root(first_seer.setdefault(key, participant))
    return len({root(participant) for participant in range(len(design.seen))}) == 1
