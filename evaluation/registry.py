"""Lists of models that are evaluated together: how each is loaded, and which family it belongs to."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from data_manifests.errors import CuebenchError
from data_manifests.settings import Settings, parse_settings
from data_manifests.shipped import read_toml
from evaluation.models import ModelSpec, parse_spec

FOLDER = "model_registries"


class Entry(Settings):
    """A model of a registry.

    Attributes
    ----------
    model : its specification; files of weights are relative to the folder of weights
    family : the training strategy or kind of architecture, `baseline` for what the others are compared with
    cluster : variants of one model, which are not independent of each other, share it
    weights : where weights that no library fetches come from, and what has to be done to them
    accuracy : published top-1 on the validation set of ImageNet, a share
    """

    name: Annotated[str, Field(min_length=1)]
    model: str
    family: str = ""
    cluster: str = ""
    weights: str = ""
    accuracy: Annotated[float, Field(ge=0, le=1)] | None = None

    @field_validator("model")
    @classmethod
    def _check(cls, text: str) -> str:
        try:
            parse_spec(text)
        except CuebenchError as error:
            raise ValueError(str(error)) from error
        return text

    @property
    def spec(self) -> ModelSpec:
        """The specification, taken apart."""
        return parse_spec(self.model)


class Registry(Settings):
    """Models in the order in which they are run; `source` says where the list is from."""

    name: str
    source: str = ""
    models: Annotated[tuple[Entry, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _check(self) -> Registry:
        twice = [name for name, n in Counter(entry.name for entry in self.models).items() if n > 1]
        if twice:
            raise ValueError(f"models: {', '.join(twice)}: a name stands for one model only")
        return self


def read_registry(name_or_path: str) -> Registry:
    """Return a shipped registry by name, or the one of a TOML file.

    Raises
    ------
    CuebenchError
        If there is no such file or name, or it has mistakes.
    """
    where, content = read_toml(name_or_path, FOLDER)
    return parse_settings(Registry, content, where)
