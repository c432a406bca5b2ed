"""Semantic versions for data: which part of the version a change has to raise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from data_manifests.errors import CuebenchError
from data_manifests.records import CueRecord

Bump = Literal["major", "minor", "patch"]

_PLACES: dict[Bump, int] = {"major": 0, "minor": 1, "patch": 2}


@dataclass(frozen=True)
class Difference:
    """One kind of change between two versions, and the part of the version that it raises at least."""

    bump: Bump
    text: str


def compare_cues(
    before: Iterable[CueRecord], after: Iterable[CueRecord], withdrawn: Collection[str | None]
) -> list[Difference]:
    """Return what changed between two versions, gravest first. `withdrawn` are the ids of cues with a tombstone.

    MAJOR: the classes, what a class means, what a picture is called or shows, or a picture gone without a tombstone:
    scores of models on the two versions do not compare. MINOR: more pictures. PATCH: withdrawn pictures, and all else.
    """
    old, new = {cue.cue_id: cue for cue in before}, {cue.cue_id: cue for cue in after}
    found = [
        *_class_differences(list(old.values()), list(new.values())),
        *_picture_differences(old, new),
    ]
    gone = old.keys() - new.keys()
    counts: list[tuple[Bump, int, str]] = [
        ("major", len(gone.difference(withdrawn)), "gone without a tombstone"),
        ("minor", len(new.keys() - old.keys()), "added"),
        ("patch", len(gone.intersection(withdrawn)), "withdrawn"),
    ]
    found += [Difference(bump, f"{_pictures(n)} {what}") for bump, n, what in counts if n]
    return sorted(found, key=lambda difference: _PLACES[difference.bump])


def _class_differences(old: list[CueRecord], new: list[CueRecord]) -> Iterator[Difference]:
    before, after = _classes(old), _classes(new)
    for what, names in (("gone", before.keys() - after.keys()), ("new", after.keys() - before.keys())):
        if names:
            listed = ", ".join(f"{kind}/{name}" for kind, name in sorted(names))
            yield Difference("major", f"classes that are {what}: {listed}")
    for kind, name in sorted(before.keys() & after.keys()):
        if before[kind, name] != after[kind, name]:
            yield Difference("major", f"{kind}/{name} stands for other WordNet ids")


def _classes(cues: list[CueRecord]) -> dict[tuple[str, str], set[str]]:
    classes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for cue in cues:
        classes[cue.cue_kind, cue.superclass].update(cue.wnids)
    return classes


def _picture_differences(old: dict[str, CueRecord], new: dict[str, CueRecord]) -> Iterator[Difference]:
    both = [(old[cue_id], new[cue_id]) for cue_id in sorted(old.keys() & new.keys())]
    n_renamed = sum((a.cue_kind, a.superclass) != (b.cue_kind, b.superclass) for a, b in both)
    n_redrawn = sum(_pixels(a) != _pixels(b) for a, b in both)
    if n_renamed:
        yield Difference("major", f"{_pictures(n_renamed)} of another class than before")
    if n_redrawn:
        yield Difference("major", f"{_pictures(n_redrawn)} with other pixels than before")


def _pixels(cue: CueRecord) -> str | None:
    return cue.pixel_sha256 or cue.sha256


def _pictures(n: int) -> str:
    return f"{n} picture" if n == 1 else f"{n} pictures"


def needed_bump(differences: Iterable[Difference]) -> Bump:
    """Return the gravest part; `patch` where no picture changed."""
    return min((difference.bump for difference in differences), key=_PLACES.__getitem__, default="patch")


def next_version(version: str, bump: Bump) -> str:
    """Return the first version after another that raises a part.

    >>> next_version("1.4.2", "minor")
    '1.5.0'
    """
    numbers = _numbers(version)
    place = _PLACES[bump]
    return ".".join(map(str, (*numbers[:place], numbers[place] + 1, *[0] * (2 - place))))


def checked_version(version: str | None, previous: str, differences: Iterable[Difference]) -> str:
    """Return a version that raises what the changes since the previous one have to raise, the first one by default.

    Raises
    ------
    CuebenchError
        If the version that is asked for does not.
    """
    listed = list(differences)
    bump = needed_bump(listed)
    least = next_version(previous, bump)
    if version is None:
        return least
    if _numbers(version) < _numbers(least):
        why = "; ".join(row.text for row in listed if row.bump == bump) or "no picture changed"
        raise CuebenchError(
            f"--version {version}: what changed since {previous} needs a {bump} version, {least} or later ({why})"
        )
    return version


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
