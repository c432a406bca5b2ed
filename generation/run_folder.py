"""The run folder: whether it may be written, and what a killed or replaced run left in it."""

from __future__ import annotations

from collections.abc import Sequence

from data_manifests import storage
from data_manifests.errors import CuebenchError, ProblemsError
from data_manifests.jsonl import read_records, write_records
from data_manifests.records import SourceRecord
from generation.recipe import Recipe

_PICTURES = ("cues", "masks", "origins")
_SHARDS = "shards"
# What a run writes last; until then it would describe the run that was replaced.
_RESULTS = ("cues.jsonl", "masks.jsonl", "gallery.html")


def claim_folder(out: str, recipe: Recipe, sources: Sequence[SourceRecord], *, force: bool) -> None:
    """Write recipe and sources into a run folder that is new, or holds the same run or a part of it.

    `force` deletes what another run left. What a killed process had half written goes in any case.

    Raises
    ------
    CuebenchError
        If the folder holds something else: other files, or (unless `force`) another run.
    """
    names = storage.list_files(out) if storage.exists(out) else []
    recipe_url = storage.join(out, "recipe.toml")
    text = recipe.to_toml().encode()
    if "recipe.toml" in names:
        same = storage.read_bytes(recipe_url) == text and _holds_only(out, sources)
        if not same and not force:
            raise CuebenchError(
                f"{out}: holds a run of another recipe or of other photographs; choose another --out, "
                "or --force to replace that run"
            )
        if not same:
            _remove_run(out, names)
    elif not all(storage.is_partial(name) for name in names):
        raise CuebenchError(f"{out}: holds files that are not a run; choose a new folder for --out")
    for name in filter(storage.is_partial, names):
        storage.remove_tree(storage.join(out, name))
    storage.write_bytes(recipe_url, text)
    write_records(storage.join(out, "sources.jsonl"), sources)


def _holds_only(out: str, sources: Sequence[SourceRecord]) -> bool:
    """Return whether every photograph of the run in the folder is among `sources`."""
    url = storage.join(out, "sources.jsonl")
    try:
        before = read_records(url, SourceRecord) if storage.exists(url) else []
    except ProblemsError:
        # Nobody can tell any more whose run it was.
        return False
    known = {source.use_key for source in sources}
    return all(source.use_key in known for source in before)


def _remove_run(out: str, names: Sequence[str]) -> None:
    folders = {name.partition("/")[0] for name in names}
    if _SHARDS not in folders and not folders.isdisjoint(_PICTURES):
        raise CuebenchError(
            f"{out}: holds a recipe.toml and pictures, but no shard of a run; --force deletes runs only: "
            "choose a new folder for --out"
        )
    for name in (*_RESULTS, *_PICTURES, _SHARDS):
        storage.remove_tree(storage.join(out, name))
