"""A cue that is looked at: where it comes from, its numbers, and what the classifier says of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from data_manifests.records import OK, CueKind
from evaluation.cue_pictures import CuePicture

Way = Literal[
    "photograph", "interior", "ours", "scene Canny", "crop Canny", "object Canny", "shuffled", "published"
]
Half = Literal["tune", "report"]

WAYS: dict[CueKind, tuple[Way, ...]] = {
    "shape": ("photograph", "ours", "scene Canny", "crop Canny", "object Canny", "published"),
    "texture": ("photograph", "interior", "ours", "shuffled", "published"),
}
# Pieces of photographs: what a cue may hope for, but no cues.
PHOTOGRAPHS: tuple[Way, ...] = ("photograph", "interior")


@dataclass(frozen=True)
class Answer:
    """What the classifier says of a picture.

    `rank` (from 1) is that of the best label of the right class, `probability` the sum over its labels, `seen` the
    class of the best label of all, or that label's name where it belongs to no class of the taxonomy.
    """

    rank: int
    probability: float
    seen: str

    @property
    def is_right(self) -> bool:
        """Whether no label of another class comes first."""
        return self.rank == 1


@dataclass(frozen=True)
class Cue:
    """One attempted picture of one way; `status` is `ok` or the reason why there is none.

    `photograph` is class and file name; of a published cue, whose photograph nobody knows, its own. `blurred` holds
    the answers to its low-pass versions by the name of their width.
    """

    way: Way
    kind: CueKind
    superclass: str
    photograph: str
    half: Half | None = None
    grid: int | None = None
    url: str = ""
    status: str = OK
    numbers: dict[str, float] = field(default_factory=dict)
    answer: Answer | None = None
    blurred: dict[str, Answer] = field(default_factory=dict)

    @property
    def is_right(self) -> bool:
        """Whether there is a picture, and it is recognised."""
        return self.answer is not None and self.answer.is_right

    @property
    def key(self) -> tuple[str, ...]:
        """What no other cue has: way, kind and file name."""
        return self.way, self.kind, self.file_name

    @property
    def file_name(self) -> str:
        """A name for its picture that no other cue of its way and kind has."""
        return self.photograph if self.grid is None else f"{self.photograph}_{self.grid}x{self.grid}"

    def picture(self) -> CuePicture:
        """Return what a model is shown of it."""
        return CuePicture(self.kind, self.superclass, self.file_name, self.url, self.photograph, self.grid)


Group = tuple[Way, CueKind, int | None]


def groups(cues: Iterable[Cue]) -> Iterator[tuple[Group, list[Cue]]]:
    """Yield the cues of each way, kind and grid, in the order of their first."""
    found: dict[Group, list[Cue]] = {}
    for cue in cues:
        found.setdefault((cue.way, cue.kind, cue.grid), []).append(cue)
    yield from found.items()
