"""A recipe: every parameter of a generation run, validated and hashed."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Annotated, Any

import tomli_w
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from data_manifests.errors import ProblemsError
from data_manifests.jsonl import canonical_sha256
from data_manifests.records import CueKind
from data_manifests.shipped import nearest, read_toml, shipped_names
from generation.recipe_problems import problems_in_words
from generation.shape import ShapeParams
from generation.shape_quality import SHAPE_QUALITY
from generation.texture import TextureParams
from generation.texture_quality import TEXTURE_QUALITY

_FOLDER = "recipes"
_SHIPPED = "refined-bias"
MIN_SIDE_PX, MAX_SIDE_PX = 224, 2048
_GRIDS = (4, 8, 16, 32)


class Params(BaseModel):
    """Parameters: immutable, without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Limit(Params):
    """The range in which a quality number raises no flag; both ends are part of it."""

    min: float | None = None
    max: float | None = None

    def holds(self, value: float) -> bool:
        """Return whether a value lies in the range."""
        return (self.min is None or value >= self.min) and (self.max is None or value <= self.max)

    @model_validator(mode="after")
    def _has_an_end(self) -> Limit:
        if self.min is None and self.max is None:
            raise ValueError("expected `min`, `max` or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("no number can hold it: `min` is larger than `max`")
        return self


def _check_number(name: str, known: Mapping[str, str], others: Mapping[str, str], table: str) -> str:
    if name in known:
        return name
    if name in others:
        raise ValueError(f"`{name}` belongs to {table}")
    raise ValueError(f"`{name}` is not a quality number{nearest(name, sorted(known))}")


_ShapeNumber = Annotated[
    str, AfterValidator(lambda name: _check_number(name, SHAPE_QUALITY, TEXTURE_QUALITY, "limits.texture"))
]
_TextureNumber = Annotated[
    str, AfterValidator(lambda name: _check_number(name, TEXTURE_QUALITY, SHAPE_QUALITY, "limits.shape"))
]


class Limits(Params):
    """The limits of each cue kind by quality number; `texture_by_grid` adds to or replaces `texture`."""

    shape: dict[_ShapeNumber, Limit] = {}
    texture: dict[_TextureNumber, Limit] = {}
    texture_by_grid: dict[int, dict[_TextureNumber, Limit]] = {}

    def of(self, kind: CueKind, grid: int | None) -> dict[str, Limit]:
        """Return the limits that hold for a cue."""
        if kind == "shape":
            return self.shape
        return {**self.texture, **self.texture_by_grid.get(grid or 0, {})}


@cache
def _shipped_limits() -> dict[str, Any]:
    return dict(read_toml(_SHIPPED, _FOLDER)[1]["limits"])


def _with_shipped_limits(own: Any, grids: Collection[int]) -> Any:
    """Return limits as written, with those of the shipped recipe for every number that they leave out.

    What a recipe says of a number for all textures holds for every grid of which it says nothing else.
    """
    tables = own.model_dump(exclude_none=True) if isinstance(own, Limits) else own
    by_grid = tables.get("texture_by_grid", {}) if isinstance(tables, dict) else None
    if not isinstance(by_grid, dict) or not all(
        isinstance(t, dict) for t in [*tables.values(), *by_grid.values()]
    ):
        return own  # not tables: left to the model, which says so
    shipped = _shipped_limits()
    by_grid = {str(grid): table for grid, table in by_grid.items()}
    for grid in map(str, grids):
        added = shipped["texture_by_grid"].get(grid, {})
        added = {name: limit for name, limit in added.items() if name not in tables.get("texture", {})}
        if added:
            by_grid[grid] = {**added, **by_grid.get(grid, {})}
    merged = {kind: {**shipped[kind], **tables.get(kind, {})} for kind in ("shape", "texture")}
    return {**tables, **merged, "texture_by_grid": by_grid}


class MaskParams(Params):
    """Where masks come from: segmenters by name, best first; none named means the best that is installed."""

    segmenters: tuple[str, ...] = ()
    accept_non_commercial: bool = False


class Recipe(Params):
    """What a run renders, and how.

    `side_px` is the side of every cue in pixels; `grids` are the cells per side of its textures, each of them
    rendered `n_variants` times with different seeds. `seed` moves every random choice. A quality number for
    which `limits` gives none has those of the shipped recipe.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    grids: Annotated[tuple[Annotated[int, Field(ge=2, le=64)], ...], Field(min_length=1)] = _GRIDS
    side_px: Annotated[int, Field(ge=MIN_SIDE_PX, le=MAX_SIDE_PX, validate_default=True)] = MIN_SIDE_PX
    n_variants: Annotated[int, Field(ge=1, le=100)] = 1
    mask: MaskParams = MaskParams()
    shape: ShapeParams = ShapeParams()
    texture: TextureParams = TextureParams()
    limits: Annotated[Limits, Field(validate_default=True)] = Limits()

    # Checks of fields, not of the whole: those of the whole are left out where any field is wrong.
    @field_validator("grids")
    @classmethod
    def _grids_differ(cls, grids: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(grids)) != len(grids):
            raise ValueError("expected every grid once")
        return grids

    @field_validator("side_px")
    @classmethod
    def _grids_fit(cls, side_px: int, info: ValidationInfo) -> int:
        wrong = [grid for grid in info.data.get("grids", ()) if side_px % grid]
        if wrong:
            grids = info.data["grids"]
            named, all_named = (", ".join(map(str, some)) for some in (wrong, grids))
            raise ValueError(
                f"no multiple of {named}; {_sides_near(side_px, grids)} of all grids ({all_named})"
            )
        return side_px

    @field_validator("limits", mode="before")
    @classmethod
    def _limits_have_defaults(cls, limits: Any, info: ValidationInfo) -> Any:
        return _with_shipped_limits(limits, info.data.get("grids", ()))

    @field_validator("limits")
    @classmethod
    def _limits_are_of_grids(cls, limits: Limits, info: ValidationInfo) -> Limits:
        grids = info.data.get("grids", ())
        wrong = sorted(set(limits.texture_by_grid) - set(grids))
        if grids and wrong:
            raise ValueError(_foreign_grids(wrong, grids))
        return limits

    @property
    def sha256(self) -> str:
        """The hash of the whole recipe."""
        return canonical_sha256(self.model_dump(mode="json"))

    def params_sha256(self, kind: CueKind) -> str:
        """Return the hash of what the pixels of a kind of cue depend on; limits are not part of it."""
        params = self.shape if kind == "shape" else self.texture
        return canonical_sha256(
            {"seed": self.seed, "side_px": self.side_px, "params": params.model_dump(mode="json")}
        )

    def to_toml(self) -> str:
        """Return the recipe as canonical TOML, every default written out."""
        content = _sorted({**self.model_dump(mode="json", exclude_none=True)})
        return tomli_w.dumps(content)


def _foreign_grids(wrong: Collection[int], grids: Collection[Any]) -> str:
    tables = ", ".join(f"texture_by_grid.{grid}" for grid in wrong)
    return f"{tables}: no grid of this recipe, which has {', '.join(map(str, grids))}"


def _sides_near(side_px: int, grids: Collection[int]) -> str:
    """Return which sides near the one in pixels are multiples of every grid, in words."""
    step = math.lcm(*grids)
    near = {side_px // step * step, -(-side_px // step) * step, -(-MIN_SIDE_PX // step) * step}
    possible = sorted(side for side in near if MIN_SIDE_PX <= side <= MAX_SIDE_PX)
    if not possible:
        return f"no side up to {MAX_SIDE_PX} is a multiple"
    first, *others = sorted(sorted(possible, key=lambda side: abs(side - side_px))[:2])
    return (
        f"{first} and {others[0]} are the nearest multiples" if others else f"{first} is the nearest multiple"
    )


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _sorted(value[key]) for key in sorted(value)}
    return value


def recipe_names() -> list[str]:
    """Return the names of the shipped recipes."""
    return shipped_names(_FOLDER)


def read_recipe(name_or_path: str) -> Recipe:
    """Return a shipped recipe by name, or the one in a TOML file.

    Raises
    ------
    CuebenchError
        If there is no such file or name.
    ProblemsError
        If the file has mistakes; lists all of them, with the key and the nearest known one.
    """
    where, content = read_toml(name_or_path, _FOLDER)
    return parse_recipe(content, where)


def parse_recipe(content: dict[str, Any], where: str) -> Recipe:
    """Return the recipe in plain values; errors as of `read_recipe`, in which `where` names the file."""
    try:
        return Recipe.model_validate(content)
    except ValidationError as error:
        raise ProblemsError(where, [*problems_in_words(Recipe, error), *_unseen(content, error)]) from error


def _unseen(content: dict[str, Any], error: ValidationError) -> Iterator[str]:
    """Yield what a check of limits found, had it not been skipped for another mistake in them."""
    tables, grids = content.get("limits"), content.get("grids", _GRIDS)
    by_grid = tables.get("texture_by_grid") if isinstance(tables, dict) else None
    was_skipped = any(item["loc"][0] == "limits" and len(item["loc"]) > 1 for item in error.errors())
    if was_skipped and isinstance(by_grid, dict) and isinstance(grids, list | tuple):
        wrong = sorted({int(grid) for grid in by_grid if str(grid).isdecimal()} - {*grids})
        if wrong:
            yield f"limits: {_foreign_grids(wrong, grids)}"
