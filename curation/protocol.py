"""The protocol of a study: its numbers, its texts and its rules of exclusion, fixed and hashed before it begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import Field, model_validator

from curation.screening import ExclusionRules, read_exclusions
from data_manifests.jsonl import canonical_sha256
from data_manifests.records import CueKind
from data_manifests.settings import Settings, parse_settings
from data_manifests.shipped import read_toml, shipped_names

_FOLDER = "protocols"

NONE_ANSWER = "none"  # the answer "none of these, or can't tell": a category of its own

CONSENT = """\
You are invited to take part in a study of how people recognise pictures. You will look at pictures and say, for each
of them, which of a list of things it shows. We store your answers and how long each took, under a random code; we
store neither your name nor your address on the internet. Taking part is voluntary: you may stop at any time, and you
may have your answers removed later by giving us your code. The answers will be published without anything that says
who gave them."""

INSTRUCTIONS = """\
Each picture shows either one object, as a drawing of its outline and inner edges, or a surface that is filled with
one pattern. Choose what it is from the list: press the key that stands beside your choice, or click it. Choose what
fits best, and choose "none" only if nothing fits. There is no way back, and no right or wrong beyond what you see. Be
as fast as you can without guessing. A few photographs lie between the pictures: answer them in the same way."""


class Exposure(Settings):
    """How long a picture is seen: until the answer (`unlimited`), or for `stimulus_ms` and then a mask (`brief`).

    `response_ms` is the time for an answer after a brief picture; without one the trial is missing.
    """

    mode: Literal["unlimited", "brief"] = "unlimited"
    fixation_ms: Annotated[int, Field(ge=0, le=5_000)] = 300
    stimulus_ms: Annotated[int, Field(ge=16, le=60_000)] = 200
    mask_ms: Annotated[int, Field(ge=0, le=5_000)] = 200
    response_ms: Annotated[int, Field(ge=200, le=60_000)] = 1_500


class Check(Settings):
    """The question on the instructions that is answered before the first trial."""

    question: str = "You see a surface that is filled with a pattern of stripes. What do you report?"
    options: tuple[str, ...] = (
        "What the pattern belongs to",
        "The shape of the picture's border",
        "The colour that I like best",
    )
    answer: str = "What the pattern belongs to"

    @model_validator(mode="after")
    def _has_the_answer(self) -> Check:
        if self.answer not in self.options or len(set(self.options)) < max(2, len(self.options)):
            raise ValueError(
                f"expected two or more different options, one of them the answer, got answer "
                f"{self.answer!r} and options {list(self.options)}"
            )
        return self


class Practice(Settings):
    """Trials with feedback, passed once `n_correct` of the last `n_trials` are right; `max_rounds` of them at most."""

    n_trials: Annotated[int, Field(ge=0, le=40)] = 4
    n_correct: Annotated[int, Field(ge=0)] = 3
    max_rounds: Annotated[int, Field(ge=1, le=5)] = 2

    @model_validator(mode="after")
    def _can_be_passed(self) -> Practice:
        if self.n_correct > self.n_trials:
            raise ValueError(f"n_correct: {self.n_correct} right of {self.n_trials} trials can't be reached")
        return self


class StudyProtocol(Settings):
    """What a study asks of how many people.

    `n_images_per_cue` and `n_trials_per_cue` are per cue kind; 0 means all that there are. Every participant sees
    all cue kinds, one block each. `options` are the answers of each kind, by default the classes of its cues;
    `none_choice` adds "none of these". `n_catch` and `n_repeats` are per participant, over all kinds. Of those who
    begin, `over_recruit_share` are expected to leave. No answer is taken before `min_rt_ms` after the onset. A
    participant who was away for longer than `resume_window_min` loses the place. `top_up` fills images up to
    `min_ratings_per_image`.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
    cue_kinds: Annotated[tuple[CueKind, ...], Field(min_length=1)] = ("shape", "texture")
    n_images_per_cue: Annotated[int, Field(ge=0)] = 440
    n_ratings_per_image: Annotated[int, Field(ge=2, le=1_000)] = 10
    min_ratings_per_image: Annotated[int, Field(ge=1)] = 8
    n_trials_per_cue: Annotated[int, Field(ge=0)] = 50
    n_catch: Annotated[int, Field(ge=0, le=100)] = 8
    n_repeats: Annotated[int, Field(ge=0, le=100)] = 4
    over_recruit_share: Annotated[float, Field(ge=0, le=0.9)] = 0.1

    options: dict[CueKind, tuple[str, ...]] = Field(default_factory=dict)
    none_choice: bool = True
    none_label: str = "None of these, or can't tell"

    consent: Annotated[str, Field(min_length=1)] = CONSENT
    instructions: str = INSTRUCTIONS
    check: Check | None = Check()
    practice: Practice = Practice()
    exposure: Exposure = Exposure()
    min_rt_ms: Annotated[int, Field(ge=0, le=2_000)] = 150
    resume_window_min: Annotated[int, Field(ge=1)] = 180
    exclusions: ExclusionRules = ExclusionRules()

    @property
    def sha256(self) -> str:
        """The hash of the whole protocol, its rules of exclusion included."""
        return canonical_sha256(self.model_dump(mode="json"))

    def to_toml(self) -> str:
        """Return the protocol as a file, every default written out."""
        content = {name: _in_toml(value) for name, value in self.model_dump(mode="json").items()}
        return tomli_w.dumps(content, multiline_strings=True)

    def with_options(self, classes: Mapping[CueKind, tuple[str, ...]]) -> StudyProtocol:
        """Return the protocol with the classes of the cues as options, where it names none itself."""
        options = {kind: self.options.get(kind) or classes[kind] for kind in self.cue_kinds}
        return parse_settings(
            StudyProtocol, {**self.model_dump(), "options": options}, f"protocol {self.name}"
        )

    @model_validator(mode="after")
    def _numbers_fit(self) -> StudyProtocol:
        if self.min_ratings_per_image > self.n_ratings_per_image:
            raise ValueError(
                f"min_ratings_per_image: {self.min_ratings_per_image} is more than n_ratings_per_image, "
                f"{self.n_ratings_per_image}"
            )
        if len(set(self.cue_kinds)) != len(self.cue_kinds):
            raise ValueError(f"cue_kinds: every kind once, got {list(self.cue_kinds)}")
        return self

    @model_validator(mode="after")
    def _options_fit(self) -> StudyProtocol:
        for kind, options in self.options.items():
            if len(set(options)) != len(options) or len(options) == 1 or NONE_ANSWER in options:
                raise ValueError(
                    f"options.{kind}: expected two or more different answers other than `{NONE_ANSWER}`, "
                    f"got {list(options)}"
                )
        return self


def _in_toml(value: object) -> object:
    if isinstance(value, dict):
        return {name: _in_toml(inner) for name, inner in value.items()}
    return False if value is None else value


def protocol_names() -> list[str]:
    """Return the names of the shipped protocols."""
    return shipped_names(_FOLDER)


def read_protocol(name_or_path: str) -> StudyProtocol:
    """Return a shipped protocol by name, or the one in a TOML file.

    Its `exclusions` are a table of rules, or the name or path of a file of rules.

    Raises
    ------
    CuebenchError
        If there is no such file or name.
    ProblemsError
        If the file has mistakes; lists all of them, with the key and the nearest known one.
    """
    where, content = read_toml(name_or_path, _FOLDER)
    return parse_protocol(content, where)


def parse_protocol(content: dict[str, Any], where: str) -> StudyProtocol:
    """Return the protocol in plain values; errors as of `read_protocol`, in which `where` names the file."""
    rules = content.get("exclusions")
    if isinstance(rules, str):
        content = {**content, "exclusions": read_exclusions(rules).model_dump()}
    return parse_settings(StudyProtocol, content, where)
