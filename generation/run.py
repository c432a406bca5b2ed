"""A generation run: a recipe applied to a source manifest, shard by shard, into a run folder.

A shard is a few photographs. Its work is a pure function of the recipe, the photographs and the masks that
were picked; its done file is written last. A run that is killed resumes: shards whose done file carries the
hash of the same recipe and input are not rendered again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version

from tqdm import tqdm

from data_manifests import storage
from data_manifests.errors import CuebenchError
from data_manifests.jsonl import canonical_json, canonical_sha256, read_records, write_records
from data_manifests.records import OK, CueRecord, MaskRecord, SourceRecord
from generation.executors import Executor, WorkerDied
from generation.recipe import Recipe
from generation.source_cues import (
    NOT_IN_PLACE,
    RunContext,
    SourceResult,
    failed_source,
    load_segmenters,
    render_source,
)

MAX_SHARD_SOURCES = 1000
N_SHARDS_SMALL_RUN = 64

GENERATOR_VERSION = version("cuebench")
# What the pixels may hang on.
RECORDED_PACKAGES = ("numpy", "onnxruntime", "opencv-python-headless", "pillow", "scipy")


@dataclass(frozen=True)
class Shard:
    """Some sources of a run, with the masks picked for them."""

    sources: tuple[SourceRecord, ...]
    picks: tuple[MaskRecord, ...]
    recipe_sha256: str

    @property
    def input_sha256(self) -> str:
        """The hash of everything that the shard's pixels rest on, but for the recipe."""
        return canonical_sha256(
            {
                "sources": [[s.source_id, s.pixel_sha256, s.cue_kind, s.superclass] for s in self.sources],
                "picks": [[p.source_id, p.cue_kind, p.mask_sha256] for p in self.picks],
            }
        )

    @property
    def done_name(self) -> str:
        """The name of the done file, relative to the run folder."""
        return f"shards/{canonical_sha256([self.recipe_sha256, self.input_sha256])[:16]}.done.json"


@dataclass(frozen=True)
class RunResult:
    """What a run left in its folder."""

    cues: list[CueRecord]
    masks: list[MaskRecord]
    n_shards: int
    n_resumed: int


def generate(
    recipe: Recipe,
    sources: Sequence[SourceRecord],
    context: RunContext,
    executor: Executor,
    *,
    picks: Sequence[MaskRecord] = (),
    shard_size: int | None = None,
    force: bool = False,
) -> RunResult:
    """Render the cues of all usable sources into the run folder `context.out`.

    Every attempted cue gives one row of `cues.jsonl`, whatever the order of the sources, the engine and the
    number of workers; sources whose status is not `ok` are not attempted.

    Raises
    ------
    CuebenchError
        If a segmenter is unknown or lacks what it needs, or the folder holds something else: other files, or
        a run of another recipe or other photographs (unless `force`, which deletes what that run left).
    """
    out = context.out
    usable = sorted((s for s in sources if s.status == OK), key=lambda s: s.sort_key)
    if not usable:
        raise CuebenchError("no source with status `ok`: nothing to generate; see the summary of `ingest`")
    load_segmenters(recipe.mask)
    _claim_folder(out, recipe, usable, force)
    shards = list(plan_shards(usable, picks, recipe.sha256, shard_size))
    results = {shard.done_name: _read_done(out, shard) for shard in shards}
    todo = [shard for shard in shards if results[shard.done_name] is None]
    n_resumed = len(shards) - len(todo)
    with tqdm(total=len(usable), unit="photo", desc="generate", initial=_n_sources(shards, todo)) as bar:
        for shard, result in executor.run(partial(run_shard, recipe, context), todo):
            if isinstance(result, WorkerDied):
                result = _give_up(recipe, context, executor, shard)
            results[shard.done_name] = result
            bar.update(len(shard.sources))
    return _finish(out, usable, [r for r in results.values() if r is not None], len(shards), n_resumed)


def plan_shards(
    sources: Sequence[SourceRecord], picks: Sequence[MaskRecord], recipe_sha256: str, shard_size: int | None
) -> Iterator[Shard]:
    """Cut sorted sources into shards: 1,000 sources each, fewer in a small run so that progress shows."""
    size = shard_size or max(1, min(MAX_SHARD_SOURCES, len(sources) // N_SHARDS_SMALL_RUN))
    by_source = {(pick.source_id, pick.cue_kind): pick for pick in picks}
    for start in range(0, len(sources), size):
        part = tuple(sources[start : start + size])
        keys = [(source.source_id, source.cue_kind) for source in part]
        yield Shard(part, tuple(by_source[key] for key in keys if key in by_source), recipe_sha256)


def run_shard(recipe: Recipe, context: RunContext, shard: Shard) -> SourceResult:
    """Render a shard, write its pictures and then its done file; return its rows."""
    picks = {(pick.source_id, pick.cue_kind): pick for pick in shard.picks}
    parts = [render_source(recipe, context, s, picks.get((s.source_id, s.cue_kind))) for s in shard.sources]
    result = SourceResult.joined(parts)
    _write_done(context.out, shard, result)
    return result


def _give_up(recipe: Recipe, context: RunContext, executor: Executor, shard: Shard) -> SourceResult:
    """Return the rows of a shard that killed its worker: source by source, and a failure for the culprit."""
    parts: list[SourceResult] = []
    if len(shard.sources) == 1:
        parts = [failed_source(recipe, shard.sources[0], "worker_died", "the process died; out of memory?")]
    else:
        single = list(plan_shards(shard.sources, shard.picks, shard.recipe_sha256, 1))
        for piece, result in executor.run(partial(run_shard, recipe, context), single):
            if isinstance(result, WorkerDied):
                result = _give_up(recipe, context, executor, piece)
            parts.append(result)
    joined = SourceResult.joined(parts)
    _write_done(context.out, shard, joined)
    return joined


def _write_done(out: str, shard: Shard, result: SourceResult) -> None:
    content = {
        "generator_version": GENERATOR_VERSION,
        "versions": {name: version(name) for name in RECORDED_PACKAGES},
        "recipe_sha256": shard.recipe_sha256,
        "input_sha256": shard.input_sha256,
        "cues": [row.model_dump(mode="json") for row in result.cues],
        "masks": [row.model_dump(mode="json") for row in result.masks],
    }
    storage.write_bytes(storage.join(out, shard.done_name), canonical_json(content).encode())


def _read_done(out: str, shard: Shard) -> SourceResult | None:
    """Return the rows of a shard that is done, None if it has to be rendered."""
    url = storage.join(out, shard.done_name)
    if not storage.exists(url):
        return None
    content = json.loads(storage.read_bytes(url))
    same = (
        content["recipe_sha256"] == shard.recipe_sha256
        and content["input_sha256"] == shard.input_sha256
        and content["generator_version"] == GENERATOR_VERSION
    )
    if not same:
        return None
    result = SourceResult(
        cues=[CueRecord.model_validate_json(canonical_json(row)) for row in content["cues"]],
        masks=[MaskRecord.model_validate_json(canonical_json(row)) for row in content["masks"]],
    )
    # A photograph that was not in its place may be there now, and a picture that was deleted is drawn again.
    if any(cue.status in NOT_IN_PLACE for cue in result.cues):
        return None
    return result if all(storage.exists(storage.join(out, name)) for name in result.file_names) else None


def _n_sources(shards: Sequence[Shard], todo: Sequence[Shard]) -> int:
    return sum(len(shard.sources) for shard in shards) - sum(len(shard.sources) for shard in todo)


def _claim_folder(out: str, recipe: Recipe, sources: Sequence[SourceRecord], force: bool) -> None:
    recipe_url = storage.join(out, "recipe.toml")
    text = recipe.to_toml().encode()
    if storage.exists(recipe_url):
        same = storage.read_bytes(recipe_url) == text and _holds_only(out, sources)
        if not same and not force:
            raise CuebenchError(
                f"{out}: holds a run of another recipe or of other photographs; choose another --out, "
                "or --force to replace that run"
            )
        if not same:
            for name in ("cues", "masks", "origins", "shards"):
                storage.remove_tree(storage.join(out, name))
    elif storage.exists(out) and storage.list_files(out):
        raise CuebenchError(f"{out}: holds files that are not a run; choose a new folder for --out")
    storage.write_bytes(recipe_url, text)
    write_records(storage.join(out, "sources.jsonl"), sources)


def _holds_only(out: str, sources: Sequence[SourceRecord]) -> bool:
    """Return whether every photograph of the run in the folder is among `sources`."""
    url = storage.join(out, "sources.jsonl")
    before = read_records(url, SourceRecord) if storage.exists(url) else []
    known = {(s.source_id, s.cue_kind, s.superclass) for s in sources}
    return all((s.source_id, s.cue_kind, s.superclass) in known for s in before)


def _finish(
    out: str, sources: Sequence[SourceRecord], results: Sequence[SourceResult], n_shards: int, n_resumed: int
) -> RunResult:
    joined = SourceResult.joined(results)
    cues = _flag_equal_cues(joined.cues)
    masks = list({(m.source_id, m.cue_kind): m for m in joined.masks}.values())
    write_records(storage.join(out, "masks.jsonl"), masks)
    write_records(storage.join(out, "cues.jsonl"), cues)
    return RunResult(sorted(cues, key=lambda c: c.sort_key), masks, n_shards, n_resumed)


def _flag_equal_cues(cues: Sequence[CueRecord]) -> list[CueRecord]:
    """Flag `duplicate` on every cue but the first of those with equal pixels in a superclass."""
    seen: set[tuple[str, str, str]] = set()
    flagged: list[CueRecord] = []
    for cue in sorted(cues, key=lambda c: c.sort_key):
        key = (cue.cue_kind, cue.superclass, cue.pixel_sha256 or cue.cue_id)
        again = key in seen
        seen.add(key)
        flagged.append(cue.model_copy(update={"flags": (*cue.flags, "duplicate")}) if again else cue)
    return flagged
