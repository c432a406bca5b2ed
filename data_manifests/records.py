"""The rows of the two manifests: one photograph, one attempted cue."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION: Literal[1] = 1

CueKind = Literal["shape", "texture"]
Redistributable = Literal["yes", "derivative-only", "no", "unknown"]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
# A folder name: pictures are stored below it.
Superclass = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]

OK = "ok"


class Record(BaseModel):
    """A row of a manifest: immutable, strict, without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class SourceRecord(Record):
    """One photograph in one superclass and cue kind, usable (`status` is `ok`) or not (the reason).

    `file_name` is relative to the folder of the manifest (or a URL). The pixel fields are None where the
    photograph could not be decoded; `width` and `height` are of the upright photograph, in pixels.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    source_id: Sha256
    pixel_sha256: Sha256 | None = None
    phash: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")] | None = None
    n_bytes: Annotated[int, Field(ge=0)]
    file_name: Annotated[str, Field(min_length=1)]
    width: Annotated[int, Field(gt=0)] | None = None
    height: Annotated[int, Field(gt=0)] | None = None
    mode: str | None = None
    format: str | None = None

    superclass: Superclass
    cue_kind: CueKind
    wnids: tuple[str, ...] = ()

    origin: str = ""
    source_item: str = ""
    landing_url: str = ""
    source_url: str = ""
    author: str = ""
    title: str = ""
    license_spdx: str = "NOASSERTION"
    license_url: str = ""
    attribution_text: str = ""
    redistributable: Redistributable = "unknown"
    retrieved_at: str = ""

    status: str = OK
    status_detail: str = ""
    flags: tuple[str, ...] = ()

    @property
    def sort_key(self) -> tuple[str, ...]:
        """Order of the canonical manifest."""
        return (self.cue_kind, self.superclass, self.file_name, self.source_id)

    @property
    def use_key(self) -> tuple[str, ...]:
        """What no two usable rows share: the photograph in its superclass and cue kind."""
        return (self.cue_kind, self.superclass, self.source_id)


class CueRecord(Record):
    """One attempted cue. `status` is `ok`, or the reason why there is no picture.

    `file_name` is relative to the run folder. `grid` (cells per side) and `variant` belong to textures.
    `seed` is the one that the recipe's seed, pixels, mask, kind, grid and variant give.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    cue_id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    cue_kind: CueKind
    superclass: Superclass
    wnids: tuple[str, ...] = ()
    file_name: str | None = None
    sha256: Sha256 | None = None
    pixel_sha256: Sha256 | None = None
    width: Annotated[int, Field(gt=0)] | None = None
    height: Annotated[int, Field(gt=0)] | None = None
    grid: Annotated[int, Field(gt=0)] | None = None
    variant: Annotated[int, Field(ge=0)] | None = None

    parent_source_ids: tuple[Sha256, ...]
    mask_sha256: Sha256 | None = None
    mask_file_name: str | None = None
    segmenter: str | None = None
    mask_reason: str = ""
    mask_candidates: tuple[dict[str, str | float], ...] = ()
    origin_file_name: str | None = None

    recipe_sha256: Sha256
    generator_version: str
    seed: Annotated[int, Field(ge=0)]

    status: str = OK
    status_detail: str = ""
    quality: dict[str, float] = {}
    flags: tuple[str, ...] = ()

    @property
    def sort_key(self) -> tuple[str, ...]:
        """Order of the canonical manifest."""
        grid = "" if self.grid is None else f"{self.grid:04d}"
        variant = "" if self.variant is None else f"{self.variant:04d}"
        return (self.cue_kind, self.superclass, *self.parent_source_ids, grid, variant, self.cue_id)


class MaskRecord(Record):
    """The mask that a run used for one photograph, or a pick made by a person; no hash: none was found.

    `file_name` is relative to the folder of the manifest. `candidates` holds the scores of every candidate,
    `flags` what is doubtful about the choice; the cues made with the mask carry them too.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    source_id: Sha256
    cue_kind: CueKind
    mask_sha256: Sha256 | None
    file_name: str | None
    segmenter: str
    reason: str = ""
    candidates: tuple[dict[str, str | float], ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def sort_key(self) -> tuple[str, ...]:
        """Order of the canonical manifest."""
        return (self.cue_kind, self.source_id)
