"""The run folder: whether it may be written, and what a killed or replaced run left in it."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Sequence
from typing import Any

from data_manifests import storage
from data_manifests.errors import CuebenchError, ProblemsError
from data_manifests.jsonl import canonical_json, dump_records, read_records, write_records
from data_manifests.records import MaskRecord, SourceRecord
from generation.recipe import Recipe

_PICTURES = ("cues", "masks", "origins")
_SHARDS = "shards"
_INPUTS = "inputs.json"
# What a run writes last; until then it would describe the run that was replaced.
_RESULTS = ("cues.jsonl", "masks.jsonl")
_N_KEYS_SHOWN = 5


def claim_folder(
    out: str,
    recipe: Recipe,
    sources: Sequence[SourceRecord],
    picks: Sequence[MaskRecord] = (),
    *,
    force: bool,
) -> None:
    """Write recipe, sources and the hash of the picked masks into a run folder that is new, or holds this run.

    A part of this run will do. `force` deletes what another run left. What a killed process had half written
    goes in any case.

    Raises
    ------
    CuebenchError
        If the folder holds something else: other files, or (unless `force`) another run.
    """
    names = storage.list_files(out) if storage.exists(out) else []
    recipe_url = storage.join(out, "recipe.toml")
    text = recipe.to_toml().encode()
    if "recipe.toml" in names:
        difference = _recipe_difference(storage.read_bytes(recipe_url), text) or _source_difference(
            out, sources
        )
        if difference and not force:
            raise CuebenchError(
                f"{out}: holds a run of {difference}; choose another --out, or --force to replace that run"
            )
        if difference:
            _remove_run(out, names)
    elif not all(storage.is_partial(name) for name in names):
        raise CuebenchError(f"{out}: holds files that are not a run; choose a new folder for --out")
    for name in filter(storage.is_partial, names):
        storage.remove_tree(storage.join(out, name))
    storage.write_bytes(recipe_url, text)
    write_records(storage.join(out, "sources.jsonl"), sources)
    # Of a manifest in canonical form, which `generate` and `review` write, this is the hash of the file.
    masks_sha256 = hashlib.sha256(dump_records(picks)).hexdigest() if picks else None
    storage.write_bytes(
        storage.join(out, _INPUTS), f"{canonical_json({'masks_sha256': masks_sha256})}\n".encode()
    )


def _recipe_difference(before: bytes, now: bytes) -> str:
    """Return how the recipe of a run differs from the one wanted, or nothing."""
    if before == now:
        return ""
    try:
        pair = [_flattened(tomllib.loads(text.decode())) for text in (before, now)]
    except ValueError:
        return "a recipe that can't be read any more"
    keys = sorted(key for key in {*pair[0], *pair[1]} if pair[0].get(key) != pair[1].get(key))
    shown = [*keys[:_N_KEYS_SHOWN], *(["..."] if len(keys) > _N_KEYS_SHOWN else [])]
    return f"another recipe ({', '.join(shown) or 'written in another way'})"


def _flattened(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the values of nested tables by their dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat |= _flattened(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


def _source_difference(out: str, sources: Sequence[SourceRecord]) -> str:
    """Return how the photographs of a run exceed those wanted, or nothing."""
    url = storage.join(out, "sources.jsonl")
    try:
        before = read_records(url, SourceRecord) if storage.exists(url) else []
    except ProblemsError:
        return "photographs that nobody can tell any more (its sources.jsonl is damaged)"
    known = {source.use_key for source in sources}
    n_others = sum(source.use_key not in known for source in before)
    return f"other photographs ({n_others} of its {len(before)} are not among these)" if n_others else ""


def _remove_run(out: str, names: Sequence[str]) -> None:
    folders = {name.partition("/")[0] for name in names}
    if _SHARDS not in folders and not folders.isdisjoint(_PICTURES):
        raise CuebenchError(
            f"{out}: holds a recipe.toml and pictures, but no shard of a run; --force deletes runs only: "
            "choose a new folder for --out"
        )
    pages = [name for name in names if re.fullmatch(r"gallery[^/]*\.html", name)]
    for name in (*_RESULTS, *pages, *_PICTURES, _SHARDS):
        storage.remove_tree(storage.join(out, name))
