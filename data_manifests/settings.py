"""Settings that people write as TOML: immutable models, and all mistakes of a file at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from data_manifests.errors import ProblemsError
from data_manifests.shipped import nearest


class Settings(BaseModel):
    """Settings: immutable, without unknown keys. `false` means None where that is allowed: TOML has no word for it."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _switch_off(cls, content: object) -> object:
        if not isinstance(content, dict):
            return content
        optional = {
            name for name, field in cls.model_fields.items() if type(None) in get_args(field.annotation)
        }
        return {key: None if value is False and key in optional else value for key, value in content.items()}


S = TypeVar("S", bound=BaseModel)


def parse_settings(model: type[S], content: dict[str, Any], where: str) -> S:
    """Return settings of plain values.

    Raises
    ------
    ProblemsError
        If there are mistakes; lists all of them, with the key and the nearest known one. `where` names the file.
    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise ProblemsError(where, list(_problems(model, error))) from error


def _problems(model: type[BaseModel], error: ValidationError) -> Iterator[str]:
    for item in error.errors():
        place = ".".join(map(str, item["loc"]))
        if item["type"] == "extra_forbidden":
            known = _known_keys(model, item["loc"][:-1])
            hint = nearest(str(item["loc"][-1]), known) or (
                f"; known are: {', '.join(known)}" if known else ""
            )
            yield f"{place}: unknown key{hint}"
        elif not place:
            yield item["msg"].removeprefix("Value error, ")
        else:
            given = "" if item["type"] == "missing" else f", got {item['input']!r}"
            yield f"{place}: {item['msg'].removeprefix('Value error, ')}{given}"


def _known_keys(model: type[BaseModel], place: tuple[int | str, ...]) -> list[str]:
    for key in place:
        field = model.model_fields.get(str(key))
        annotation = field.annotation if field else None
        inner = [
            a for a in (annotation, *get_args(annotation)) if isinstance(a, type) and issubclass(a, BaseModel)
        ]
        if not inner:
            return []
        model = inner[0]
    return sorted(model.model_fields)
