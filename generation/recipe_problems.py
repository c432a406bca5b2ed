"""The mistakes of a recipe, in words for those who never heard of pydantic."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import BaseModel, ValidationError

from data_manifests.shipped import nearest

_WORDS = (
    (r"^Value error, ", ""),
    (r"^Input should be ", "expected "),
    (r"^String should match pattern .*", "expected letters, digits, `-` and `_`"),
    (r"^Tuple should have at least 1 item .*", "expected at least one"),
    (r", (unable to|got a number with) .*", ""),
    (r"greater than or equal to", "at least"),
    (r"less than or equal to", "at most"),
    (r"a valid integer", "a whole number"),
    (r"a valid (dictionary|\w+) or .*", "a table"),
    (r"a valid dictionary", "a table"),
    (r"a valid tuple", "a list"),
    (r"a valid boolean", "true or false"),
    (r"a valid string", "text in quotes"),
    (r"a valid number", "a number"),
)


def problems_in_words(model: type[BaseModel], error: ValidationError) -> Iterator[str]:
    """Yield every mistake with its key, what was expected and what is there."""
    items = error.errors()
    for item in items:
        place = ".".join(map(str, item["loc"]))
        if item["type"] == "extra_forbidden":
            known = _known_keys(model, item["loc"][:-1])
            yield f"{place}: unknown key{nearest(str(item['loc'][-1]), known)}"
        elif item["loc"][-1] == "[key]":
            yield f"{place.removesuffix('.[key]')}: {_in_words(item['msg'])}"
        elif item["type"] == "missing":
            yield f"{place}: missing; every recipe needs it"
        # Of a list whose items are all wrong pydantic says that it is empty, too.
        elif not (item["type"] == "too_short" and item["input"]):
            # A check of all limits names what is wrong; the tables themselves would fill the screen.
            given = "" if item["loc"] == ("limits",) else f", got {item['input']!r}"
            yield f"{place}: {_in_words(item['msg'])}{given}"


def _in_words(message: str) -> str:
    for pattern, words in _WORDS:
        message = re.sub(pattern, words, message)
    return message


def _known_keys(model: type[BaseModel], place: tuple[int | str, ...]) -> list[str]:
    for key in place:
        field = model.model_fields.get(str(key))
        annotation = field.annotation if field else None
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return ["min", "max"]
        model = annotation
    return sorted(model.model_fields)
