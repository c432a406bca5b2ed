"""The rules of the release gate: thresholds, read from TOML and hashed into the report."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from data_manifests.jsonl import canonical_sha256
from data_manifests.records import CueKind
from data_manifests.settings import Settings, parse_settings
from data_manifests.shipped import read_toml

FOLDER = "gate_rules"

Share = Annotated[float, Field(ge=0, le=1)]
Bound = Annotated[float, Field(ge=-1, lt=1)]
Count = Annotated[int, Field(ge=0)]


class PerClass(Settings):
    """The least kappa of a class by itself."""

    min_kappa: Bound = 0.60


class Volume(Settings):
    """How many people, pictures and ratings there have to be."""

    min_participants: Count = 80
    min_images_per_cue: Count = 400
    min_images_per_class: Count = 40
    min_median_ratings: Count = 8
    min_ratings: Count = 2


class Robustness(Settings):
    """How far kappa may move when one participant is left out."""

    max_leave_one_out_range: Share = 0.03


class Review(Settings):
    """What reviewers have to have done: coverage, second opinions, planted defects found."""

    min_accepted_share: Share = 1.0
    min_double_share: Share = 0.10
    min_ac1_lower_bound: Bound = 0.80
    min_known_bad: Count = 20
    min_known_bad_recall: Share = 0.90


class Integrity(Settings):
    """What holds of the manifest itself."""

    max_duplicates: Count = 0
    require_license: bool = True


class GateRules(Settings):
    """All thresholds; `data_manifests/gate_rules/default.toml` explains each."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
    level: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    agreement: dict[CueKind, Bound] = {"shape": 0.90, "texture": 0.70}
    correctness: dict[CueKind, Bound] = {"shape": 0.90, "texture": 0.80}
    per_class: PerClass = PerClass()
    volume: Volume = Volume()
    robustness: Robustness = Robustness()
    review: Review | None = Review()
    integrity: Integrity = Integrity()

    @property
    def sha256(self) -> str:
        """The hash of the rules."""
        return canonical_sha256(self.model_dump(mode="json"))


def read_gate_rules(name_or_path: str) -> GateRules:
    """Return shipped rules by name, or those of a TOML file.

    Raises
    ------
    CuebenchError
        If there is no such file or name.
    ProblemsError
        If the file has mistakes; lists all of them.
    """
    where, content = read_toml(name_or_path, FOLDER)
    return parse_settings(GateRules, content, where)
