"""What an audit found, as plain values."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from data_manifests.records import CueKind

Names = tuple[str, ...]
Groups = tuple[Names, ...]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Defect(_Part):
    """A class of defects: `found` names the files, classes or groups (`a = b`) that have it, `n` of them."""

    check: str
    n: int
    what: str
    to_do: str
    found: Names


class UsualForm(_Part):
    """The most frequent size (px) and mode of the readable files of a kind."""

    cue_kind: CueKind | None
    n_files: int
    width: int
    height: int
    mode: str


class ClassCount(_Part):
    """How many files a class has, and of textures on which grid (`?` where none shows)."""

    cue_kind: CueKind | None
    superclass: str
    n_files: int
    n_by_grid: dict[str, int]


class NumberSpread(_Part):
    """A quality number over the files of a kind (and grid): its spread, its limits, how many are outside."""

    cue_kind: CueKind
    grid: int | None
    name: str
    n_files: int
    minimum: float
    median: float
    maximum: float
    limit: str
    n_outside: int


class StrokeSpread(_Part):
    """The strokes over a set of shapes of the usual size: medians and coefficients of variation (std / mean).

    `stroke_px` is light, in white pixels, per pixel of stroke; `line_level` the brightness of the centre lines.
    """

    n_files: int
    stroke_px: float
    stroke_px_cv: float
    line_level: float
    line_level_cv: float


class Licences(_Part):
    """Licences of the photographs that the cues come from; `manifest` is false where no sources.jsonl is there."""

    manifest: bool
    by_license: dict[str, int] = {}
    n_without_license: int = 0
    n_redistribution_unknown: int = 0
    n_not_redistributable: int = 0
    n_unknown_sources: int = 0


class FileReport(_Part):
    """One file: what it is, its quality numbers, and the checks that it fails (`flags`)."""

    file: str
    cue_kind: CueKind | None
    superclass: str
    status: str
    detail: str
    width: int
    height: int
    mode: str
    grid: int | None
    sha256: str
    quality: dict[str, float]
    flags: Names


class NotRun(_Part):
    """Checks that could not run, and what is missing."""

    checks: Names
    missing: str


class AuditReport(_Part):
    """The result of an audit; `model_dump_json` is the machine-readable form."""

    audited: str
    recipe: str
    taxonomy: str | None
    clean: bool
    n_files: int
    n_readable: int
    n_failed: int
    usual: tuple[UsualForm, ...]
    duplicates: Groups
    pixel_duplicates: Groups
    near_duplicates: Groups
    cross_class_duplicates: Groups
    shared_sources: Groups
    wrong_size: Names
    wrong_mode: Names
    unreadable: Names
    per_class: tuple[ClassCount, ...]
    strokes: StrokeSpread | None
    numbers: tuple[NumberSpread, ...]
    licences: Licences
    defects: tuple[Defect, ...]
    not_run: tuple[NotRun, ...]
    notes: Names
    other_files: Names
    files: tuple[FileReport, ...]
