"""The words of a zero-shot model: a name for each WordNet id, and templates that make sentences of it."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from pydantic import Field, model_validator

from data_manifests.jsonl import canonical_sha256
from data_manifests.settings import Settings, parse_settings
from data_manifests.shipped import read_toml

FOLDER = "zero_shot"
DEFAULT = "imagenet-1k"


class Prompts(Settings):
    """Names of labels and templates with `{}` for the name. Scores depend on both, so they are kept and hashed."""

    templates: Annotated[tuple[str, ...], Field(min_length=1)]
    names: Annotated[dict[str, str], Field(min_length=2)]

    @model_validator(mode="after")
    def _check(self) -> Prompts:
        bad = [template for template in self.templates if template.count("{}") != 1]
        if bad:
            raise ValueError(f"templates: expected one {{}} in each, where the name goes, got {bad[0]!r}")
        twice = [name for name, n in Counter(self.names.values()).items() if n > 1]
        if twice:
            raise ValueError(
                f"names: {', '.join(sorted(twice)[:5])} names two labels; no model can tell them apart"
            )
        return self

    @property
    def wnids(self) -> list[str]:
        """The WordNet ids, in the order of the columns."""
        return list(self.names)

    @property
    def sha256(self) -> str:
        """The hash of all words and their order."""
        return canonical_sha256([list(self.templates), [list(pair) for pair in self.names.items()]])

    def sentences(self, wnid: str) -> list[str]:
        """Return the sentences about one label."""
        return [template.replace("{}", self.names[wnid]) for template in self.templates]


def read_prompts(name_or_path: str) -> Prompts:
    """Return shipped words by name, or those of a TOML file: `templates = [...]` and a table `[names]`.

    Raises
    ------
    CuebenchError
        If there is no such file or name, or it has mistakes.
    """
    where, content = read_toml(name_or_path, FOLDER)
    return parse_settings(Prompts, content, where)
