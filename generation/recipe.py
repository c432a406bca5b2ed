"""A recipe: every parameter of a generation run, validated and hashed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from data_manifests.errors import ProblemsError
from data_manifests.jsonl import canonical_sha256
from data_manifests.records import CueKind
from data_manifests.shipped import nearest, read_toml, shipped_names
from generation.shape import ShapeParams
from generation.shape_quality import SHAPE_QUALITY
from generation.texture import TextureParams
from generation.texture_quality import TEXTURE_QUALITY

_FOLDER = "recipes"


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


class Limits(Params):
    """The limits of each cue kind by quality number; `texture_by_grid` adds to or replaces `texture`."""

    shape: dict[str, Limit] = {}
    texture: dict[str, Limit] = {}
    texture_by_grid: dict[int, dict[str, Limit]] = {}

    def of(self, kind: CueKind, grid: int | None) -> dict[str, Limit]:
        """Return the limits that hold for a cue."""
        if kind == "shape":
            return self.shape
        return {**self.texture, **self.texture_by_grid.get(grid or 0, {})}

    @model_validator(mode="after")
    def _knows_every_number(self) -> Limits:
        tables: list[tuple[Mapping[str, Limit], Mapping[str, str]]] = [
            (self.shape, SHAPE_QUALITY),
            (self.texture, TEXTURE_QUALITY),
            *((table, TEXTURE_QUALITY) for table in self.texture_by_grid.values()),
        ]
        for table, known in tables:
            for name in table:
                if name not in known:
                    raise ValueError(f"`{name}` is not a quality number{nearest(name, sorted(known))}")
        return self


class MaskParams(Params):
    """Where masks come from: segmenters by name, best first; none named means the best that is installed."""

    segmenters: tuple[str, ...] = ()
    accept_non_commercial: bool = False


class Recipe(Params):
    """What a run renders, and how.

    `side_px` is the side of every cue in pixels; `grids` are the cells per side of its textures, each of them
    rendered `n_variants` times with different seeds. `seed` moves every random choice.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    side_px: Annotated[int, Field(ge=224, le=2048)] = 224
    grids: Annotated[tuple[Annotated[int, Field(ge=2, le=64)], ...], Field(min_length=1)] = (4, 8, 16, 32)
    n_variants: Annotated[int, Field(ge=1, le=100)] = 1
    mask: MaskParams = MaskParams()
    shape: ShapeParams = ShapeParams()
    texture: TextureParams = TextureParams()
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _grids_fit(self) -> Recipe:
        if len(set(self.grids)) != len(self.grids):
            raise ValueError(f"grids: every grid once, got {list(self.grids)}")
        for grid in self.grids:
            if self.side_px % grid:
                near = sorted({self.side_px // grid * grid, -(-self.side_px // grid) * grid})
                raise ValueError(
                    f"side_px: {self.side_px} is no multiple of the grid {grid}; "
                    f"nearest are {' and '.join(map(str, near))}"
                )
        return self

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
        raise ProblemsError(where, list(_problems(error))) from error


def _problems(error: ValidationError) -> Iterator[str]:
    for item in error.errors():
        place = ".".join(map(str, item["loc"])) or "recipe"
        if item["type"] == "extra_forbidden":
            yield f"{place}: unknown key{nearest(str(item['loc'][-1]), _known_keys(item['loc'][:-1]))}"
        else:
            given = "" if place == "recipe" or item["type"] == "missing" else f", got {item['input']!r}"
            yield f"{place}: {item['msg'].removeprefix('Value error, ')}{given}"


def _known_keys(place: tuple[int | str, ...]) -> list[str]:
    model: type[BaseModel] = Recipe
    for key in place:
        field = model.model_fields.get(str(key))
        annotation = field.annotation if field else None
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return ["min", "max"]
        model = annotation
    return sorted(model.model_fields)
