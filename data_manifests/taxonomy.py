"""A taxonomy: which superclasses there are, for which cue kind, and which WordNet ids belong to each."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

from data_manifests.errors import ProblemsError
from data_manifests.labels import imagenet_labels
from data_manifests.records import CueKind
from data_manifests.shipped import nearest, read_toml, shipped_names

LabelSpace = Literal["imagenet-1k", "wordnet", "none"]

log = logging.getLogger(__name__)

_FOLDER = "taxonomies"
_KINDS: tuple[CueKind, ...] = get_args(CueKind)
_KEYS = ["name", "label_space", *_KINDS]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_WNID = re.compile(r"n[0-9]{8}")


@dataclass(frozen=True)
class Taxonomy:
    """The superclasses of each cue kind with their WordNet ids.

    A superclass may have both kinds: its photographs then give both cues.
    """

    name: str
    shape: dict[str, tuple[str, ...]]
    texture: dict[str, tuple[str, ...]]
    label_space: LabelSpace = "imagenet-1k"

    def of_kind(self, kind: CueKind) -> dict[str, tuple[str, ...]]:
        """Return superclass -> WordNet ids of one cue kind."""
        return self.shape if kind == "shape" else self.texture

    @property
    def superclasses(self) -> list[str]:
        """The names of all superclasses, sorted."""
        return sorted({*self.shape, *self.texture})

    def kinds(self, superclass: str) -> tuple[CueKind, ...]:
        """Return the cue kinds of a superclass; none if the taxonomy does not know it."""
        return tuple(kind for kind in _KINDS if superclass in self.of_kind(kind))

    def wnids(self, kind: CueKind, superclass: str) -> tuple[str, ...]:
        """Return the WordNet ids of a superclass."""
        return self.of_kind(kind)[superclass]

    def nearest(self, superclass: str) -> str:
        """Return ` (did you mean X?)` for the nearest superclass, or nothing."""
        return nearest(superclass, self.superclasses)


def taxonomy_names() -> list[str]:
    """Return the names of the shipped taxonomies."""
    return shipped_names(_FOLDER)


def read_taxonomy(name_or_path: str) -> Taxonomy:
    """Return a shipped taxonomy by name, or the one in a TOML file.

    The file has a `name`, an optional `label_space` (`imagenet-1k`, the default: every WordNet id must be one
    of its 1,000; `wordnet`: any well-formed one; `none`: a superclass may have no id, for which no network
    can be scored) and a table for each kind, `[shape]` and `[texture]`, of `superclass = ["n........", ...]`.
    A superclass that has other ids as a shape than as a texture is logged as a warning.

    Raises
    ------
    CuebenchError
        If there is no such file or name.
    ProblemsError
        If the file has mistakes; lists all of them, with the key and the nearest known name.
    """
    where, content = read_toml(name_or_path, _FOLDER)
    problems = list(_problems(content))
    if problems:
        raise ProblemsError(where, problems)
    taxonomy = Taxonomy(
        name=content["name"],
        label_space=content.get("label_space", "imagenet-1k"),
        shape=_table(content.get("shape", {})),
        texture=_table(content.get("texture", {})),
    )
    for superclass in taxonomy.shape.keys() & taxonomy.texture.keys():
        if taxonomy.shape[superclass] != taxonomy.texture[superclass]:
            log.warning(
                "%s: %s has other WordNet ids as a shape than as a texture; is that meant?", where, superclass
            )
    return taxonomy


def _table(table: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(sorted(table[name])) for name in sorted(table)}


def _problems(content: dict[str, Any]) -> Iterator[str]:
    for key in content:
        if key not in _KEYS:
            yield f"{key}: unknown key{nearest(key, _KEYS)}; known are {', '.join(_KEYS)}"
    name = content.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        yield f"name: expected letters, digits, `-` and `_`, got {name!r}"
    label_space = content.get("label_space", "imagenet-1k")
    if label_space not in get_args(LabelSpace):
        yield f"label_space: expected one of {', '.join(get_args(LabelSpace))}, got {label_space!r}"
    tables = [content.get(kind, {}) for kind in _KINDS]
    if all(table == {} for table in tables):
        yield 'shape, texture: no superclass in either; write e.g. [shape] and clock = ["n04548280"]'
    for kind, table in zip(_KINDS, tables, strict=True):
        if isinstance(table, dict):
            yield from _table_problems(kind, table, label_space)
        else:
            yield f"{kind}: expected a table of superclasses, got {table!r}"
    spellings: dict[str, set[str]] = {}
    for superclass in sorted({name for table in tables if isinstance(table, dict) for name in table}):
        spellings.setdefault(superclass.lower(), set()).add(superclass)
    for names in spellings.values():
        if len(names) > 1:
            yield f"{', '.join(sorted(names))}: differ by case alone, and are one folder on some systems; keep one"


def _table_problems(kind: str, table: dict[str, Any], label_space: object) -> Iterator[str]:
    owners: dict[str, str] = {}
    for superclass, wnids in table.items():
        key = f"{kind}.{superclass}"
        if not _NAME.fullmatch(superclass):
            yield f"{key}: a superclass is a folder name of letters, digits, `-` and `_`"
        if not isinstance(wnids, list):
            yield f"{key}: expected a list of WordNet ids, got {wnids!r}"
            continue
        if not wnids and label_space != "none":
            yield f'{key}: no WordNet id; name one, or write label_space = "none"'
        for wnid in wnids:
            if not isinstance(wnid, str) or not _WNID.fullmatch(wnid):
                yield f'{key}: {wnid!r} is not a WordNet id such as "n04548280"{_by_name(wnid)}'
            elif label_space == "imagenet-1k" and wnid not in imagenet_labels():
                known = nearest(wnid, list(imagenet_labels()))
                yield f"{key}: {wnid} is not one of the 1,000 of imagenet-1k{known or ''}"
            elif wnid in owners:
                yield f"{key}: {wnid} already belongs to {kind}.{owners[wnid]}"
            else:
                owners[wnid] = superclass


def _by_name(text: object) -> str:
    """Return the WordNet id of the class that `text` names, as a hint."""
    by_name = {
        name.strip(): (wnid, label) for wnid, label in imagenet_labels().items() for name in label.split(",")
    }
    hint = nearest(str(text).replace("_", " "), list(by_name))
    if not hint:
        return ""
    wnid, label = by_name[hint.split("`")[1]]
    return f" (did you mean {wnid}, {label}?)"
