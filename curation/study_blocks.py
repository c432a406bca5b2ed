"""What one participant goes through: practice, then a block of trials for each cue kind. Pure, as `study_design`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from curation.protocol import NONE_ANSWER, StudyProtocol
from curation.study_design import Picture, rank
from data_manifests.records import CueKind


@dataclass(frozen=True)
class Trial:
    """One trial: the key of a picture, what it is for, and 2 where the picture is shown again."""

    key: str
    role: str = "main"
    presentation: int = 1


@dataclass(frozen=True)
class Block:
    """Trials of one cue kind in their order, and the order in which this participant sees the options."""

    cue_kind: CueKind
    choices: tuple[str, ...]
    trials: tuple[Trial, ...]


@dataclass(frozen=True)
class Pool:
    """The pictures of one cue kind besides those of the main trials."""

    practice: tuple[Picture, ...] = ()
    catch: tuple[Picture, ...] = ()


def split(n: int, n_parts: int) -> list[int]:
    """Return n in parts that differ by at most 1.

    >>> split(5, 2)
    [3, 2]
    """
    return [n // n_parts + (part < n % n_parts) for part in range(n_parts)]


def plan_blocks(
    protocol: StudyProtocol,
    seed: int,
    participant: int,
    seen: Mapping[CueKind, Sequence[Picture]],
    pools: Mapping[CueKind, Pool],
) -> list[Block]:
    """Return the blocks of a participant, practice first.

    The order of the cue kinds alternates, crossed with the rotation of the options; every option stands at every
    place equally often over as many participants as there are options. "None of these" stays at the end.

    Parameters
    ----------
    participant : number of the participant in the design, from 0
    seen : cue kind -> the pictures of the main trials
    """
    kinds = _kind_order(protocol, participant)
    n_catch, n_repeats = split(protocol.n_catch, len(kinds)), split(protocol.n_repeats, len(kinds))
    practice, main = [], []
    for place, kind in enumerate(kinds):
        choices = option_order(protocol, seed, participant, kind)
        catch = _choose_catch(pools[kind].catch, seen[kind], n_catch[place], (seed, participant))
        trials = _ordered(seen[kind], catch, n_repeats[place], (seed, participant, kind))
        main.append(Block(kind, choices, trials))
        rounds = range(1, protocol.practice.max_rounds + 1)
        again = [Trial(picture.key, "practice", n) for n in rounds for picture in pools[kind].practice]
        practice.append(Block(kind, choices, tuple(again)))
    return [*practice, *main]


def _kind_order(protocol: StudyProtocol, participant: int) -> tuple[CueKind, ...]:
    kinds = protocol.cue_kinds
    n_options = len(protocol.options[kinds[0]])
    # With an even number of options, parity alone would tie each order of blocks to half of the rotations.
    cycle = participant // n_options if n_options % 2 == 0 else 0
    start = (participant + cycle) % len(kinds)
    return kinds[start:] + kinds[:start]


def option_order(protocol: StudyProtocol, seed: int, participant: int, kind: CueKind) -> tuple[str, ...]:
    """Return the answers of a cue kind in the order of one participant."""
    options = protocol.options[kind]
    cycle, turn = divmod(participant, len(options))
    mixed = sorted(options, key=lambda option: rank(seed, "options", kind, cycle, option))
    return (*mixed[turn:], *mixed[:turn], *((NONE_ANSWER,) if protocol.none_choice else ()))


def _choose_catch(
    pool: Sequence[Picture], seen: Sequence[Picture], n: int, who: tuple[object, ...]
) -> list[Picture]:
    """Return photographs of different classes, those first whose cue the participant does not see."""
    shown = {source for picture in seen for source in picture.sources}
    chosen: list[Picture] = []
    left = sorted(pool, key=lambda picture: (picture.key in shown, rank(*who, "catch", picture.key)))
    while left and len(chosen) < n:
        classes = [picture.superclass for picture in chosen]
        best = min(left, key=lambda picture: classes.count(picture.superclass))
        left.remove(best)
        chosen.append(best)
    return chosen


def _ordered(
    seen: Sequence[Picture], catch: Sequence[Picture], n_repeats: int, who: tuple[object, ...]
) -> tuple[Trial, ...]:
    """Return main trials in random order, catch trials spread between them.

    Pictures of the first third are the ones shown again, in the last third: as many repeats as it has, at most.
    """
    order = sorted((picture.key for picture in seen), key=lambda key: rank(*who, "order", key))
    n_main, third = len(order), len(order) / 3
    placed = [(float(place), Trial(key)) for place, key in enumerate(order)]
    again = sorted(order[: int(third)], key=lambda key: rank(*who, "repeat", key))[:n_repeats]
    for number, picture in enumerate(catch):
        place = n_main / len(catch) * (number + _between(0.2, 0.8, *who, "place", picture.key))
        placed.append((place, Trial(picture.key, "catch")))
    for number, key in enumerate(again):
        place = 2 * third + third / len(again) * (number + _between(0.2, 0.8, *who, "again", key))
        placed.append((place, Trial(key, "repeat", 2)))
    return tuple(trial for _, trial in sorted(placed, key=lambda pair: pair[0]))


def _between(low: float, high: float, *parts: object) -> float:
    return low + (high - low) * int(rank(*parts)[:8], 16) / 16**8
