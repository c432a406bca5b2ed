"""What a release holds, in memory: built from a run and its record, or read back from a release."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar

from pydantic import Field, ValidationError

from curation.gate import GateInput
from curation.gate_rules import GateRules
from curation.rating_records import AdjudicationRecord, ResponseRecord, VerdictRecord
from curation.screening import ExclusionRules
from data_manifests import storage
from data_manifests.errors import ProblemsError
from data_manifests.jsonl import read_records
from data_manifests.records import SCHEMA_VERSION, CueKind, CueRecord, Record, Sha256, SourceRecord
from data_manifests.settings import Settings

META = "release.json"
CUES = "manifests/cues.jsonl"
SOURCES = "manifests/sources.jsonl"
RESPONSES = "ratings/responses.jsonl"
VERDICTS = "ratings/verdicts.jsonl"
ADJUDICATIONS = "ratings/adjudications.jsonl"
CHECK_FAILURES = "ratings/check_failures.json"
ROW_SUMS = "ratings/row_sums.jsonl"
RULES = "gate_rules.json"
EXCLUSIONS = "exclusions.json"
GATE = "gate.json"
REPORT = "report.html"
RECIPE = "recipe.toml"
LICENSES = "LICENSES.csv"
WITHDRAWN = "withdrawn.jsonl"
CHANGELOG = "CHANGELOG.md"
README = "README.md"
DATASHEET = "DATASHEET.md"
CROISSANT = "croissant.json"

RATINGS = (RESPONSES, VERDICTS, ADJUDICATIONS)

VERSION_PATTERN = r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$"

Version = Annotated[str, Field(pattern=VERSION_PATTERN)]
Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
Export = Literal["parquet", "webdataset"]

NOT_STATED = "Not stated."


class About(Settings):
    """What only the people behind a release know; the cards say so where it is not stated."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")] = "cuebench-cues"
    title: str = "Pure shape and texture cues"
    creators: tuple[str, ...] = ()
    url: str = ""
    contact: str = NOT_STATED
    citation: str = ""
    funding: str = NOT_STATED
    participants: str = NOT_STATED
    consent: str = NOT_STATED
    payment: str = NOT_STATED
    ethics_review: str = NOT_STATED
    maintenance: str = NOT_STATED


class Change(Settings):
    """An entry of the changelog."""

    version: Version
    date: Day
    lines: tuple[str, ...]


class ReleaseMeta(Settings):
    """The facts of a release that its other files do not hold.

    `previous` is the release id of the version that this one follows, `left_out` counts the cues of the run that did
    not go out, by reason. `code` is the version of cuebench that decided.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    version: Version
    date: Day
    simulated: bool
    code: str
    keeps_notes: bool
    about: About
    exports: tuple[Export, ...] = ()
    left_out: dict[str, int] = {}
    previous: Sha256 | None = None
    changes: tuple[Change, ...]

    @property
    def label(self) -> str:
        """Name and version: what archives and folders inside of them are called."""
        return f"{self.about.name}-{self.version}"


class Withdrawn(Record):
    """The tombstone of a photograph or a cue: enough to find and delete copies of it, and no more."""

    schema_version: Literal[1] = SCHEMA_VERSION
    what: Literal["source", "cue"]
    sha256: Sha256
    pixel_sha256: Sha256 | None = None
    cue_id: str | None = None
    parent_source_ids: tuple[Sha256, ...] = ()
    reason: Annotated[str, Field(min_length=1)]
    date: Day
    version: Version

    @property
    def sort_key(self) -> tuple[str, ...]:
        """Order of the canonical table."""
        return (self.what, self.sha256, self.cue_id or "")


@dataclass(frozen=True)
class ReleaseContent:
    """Everything that a release is rendered from, but for the pictures.

    The cues of `data` have the file names of the release; `pictures` says where each of these files is now.
    `recipe` is None where the run had none.
    """

    meta: ReleaseMeta
    data: GateInput
    withdrawn: tuple[Withdrawn, ...]
    recipe: bytes | None
    pictures: Mapping[str, str]

    @property
    def cues_by_kind(self) -> dict[CueKind, list[CueRecord]]:
        """The cues of each kind that there is, in canonical order."""
        found: dict[CueKind, list[CueRecord]] = defaultdict(list)
        for cue in sorted(self.data.cues, key=lambda cue: cue.sort_key):
            found[cue.cue_kind].append(cue)
        return dict(sorted(found.items()))


def picture_name(cue: CueRecord) -> str:
    """Return the name of a cue's file in a release; it has one dot, since WebDataset cuts at the first."""
    return f"data/{cue.cue_kind}/{cue.superclass}/{cue.cue_id}.png"


def read_release(url: str) -> ReleaseContent:
    """Return the content of a release.

    Raises
    ------
    CuebenchError
        If a file is missing.
    ProblemsError
        If a file has mistakes.
    """

    def rows(name: str, model: type[R]) -> tuple[R, ...]:
        return tuple(read_records(storage.join(url, name), model))

    meta = read_settings(url, META, ReleaseMeta)
    cues = rows(CUES, CueRecord)
    data = GateInput(
        cues=cues,
        sources=rows(SOURCES, SourceRecord),
        responses=rows(RESPONSES, ResponseRecord),
        verdicts=rows(VERDICTS, VerdictRecord),
        adjudications=rows(ADJUDICATIONS, AdjudicationRecord),
        rules=read_settings(url, RULES, GateRules),
        exclusions=read_settings(url, EXCLUSIONS, ExclusionRules),
        n_check_failures=read_settings(url, CHECK_FAILURES, CheckFailures).n_failures,
        simulated=meta.simulated,
    )
    recipe = storage.join(url, RECIPE)
    return ReleaseContent(
        meta=meta,
        data=data,
        withdrawn=rows(WITHDRAWN, Withdrawn),
        recipe=storage.read_bytes(recipe) if storage.exists(recipe) else None,
        pictures={name: storage.join(url, name) for name in map(picture_name, cues)},
    )


class CheckFailures(Settings):
    """Participant -> how often they failed the comprehension check, where they did."""

    n_failures: dict[str, int]


R = TypeVar("R", bound=Record)
S = TypeVar("S", bound=Settings)


def read_settings(url: str, name: str, model: type[S]) -> S:
    """Return the settings of a JSON file of a release.

    Raises
    ------
    ProblemsError
        If the file has mistakes.
    """
    where = storage.join(url, name)
    try:
        return model.model_validate_json(storage.read_bytes(where))
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, item['loc'])) or 'file'}: {item['msg']}" for item in error.errors()]
        raise ProblemsError(where, problems) from error


def pretty_json(value: object) -> bytes:
    """Return JSON for people to read, the same for the same value."""
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode()
