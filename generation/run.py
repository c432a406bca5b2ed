"""A generation run: a recipe applied to a source manifest, shard by shard, into a run folder.

A shard is a few photographs. Its work is a pure function of the recipe, the photographs and the masks that
were picked; its done file is written last. A run that is killed resumes: shards whose done file carries the
hash of the same recipe and input are not rendered again.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from tqdm import tqdm

from data_manifests import storage
from data_manifests.errors import CuebenchError
from data_manifests.jsonl import write_records
from data_manifests.records import OK, CueRecord, MaskRecord, SourceRecord
from generation.executors import Executor, WorkerDied
from generation.recipe import Recipe
from generation.run_folder import claim_folder
from generation.run_shards import Shard, list_mask_files, plan_shards, read_done, write_done
from generation.source_cues import (
    WORKER_DIED,
    RunContext,
    SourceResult,
    failed_source,
    load_segmenters,
    render_source,
)


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
        If a photograph is there twice, a segmenter is unknown or lacks what it needs, another process works
        in the folder, or it holds something else: other files, or a run of another recipe or other
        photographs (unless `force`, which deletes what that run left).
    """
    out = context.out
    usable = sorted((s for s in sources if s.status == OK), key=lambda s: s.sort_key)
    if not usable:
        raise CuebenchError("no source with status `ok`: nothing to generate; see the summary of `ingest`")
    _check_unique(usable, picks)
    load_segmenters(recipe.mask)
    shards = list(
        plan_shards(usable, picks, recipe.sha256, shard_size, list_mask_files(recipe.mask.segmenters))
    )
    with storage.sole_writer(out):
        claim_folder(out, recipe, usable, picks, force=force)
        done = {shard.done_name: result for shard in shards if (result := read_done(out, shard))}
        n_resumed = len(done)
        done |= _run_shards(recipe, context, executor, [s for s in shards if s.done_name not in done], usable)
        return _finish(out, list(done.values()), len(shards), n_resumed)


def _check_unique(sources: Sequence[SourceRecord], picks: Sequence[MaskRecord]) -> None:
    """Raise if a photograph is in its superclass twice (both would be one cue), or has two picked masks."""
    for (source_id, kind), n_picks in Counter((p.source_id, p.cue_kind) for p in picks).items():
        if n_picks > 1:
            raise CuebenchError(
                f"picked masks: {n_picks} rows for the {kind} cues of the photograph {source_id}; keep one"
            )
    first: dict[tuple[str, ...], SourceRecord] = {}
    for source in sources:
        other = first.setdefault(source.use_key, source)
        if other is not source:
            raise CuebenchError(
                f"{source.file_name}: the same photograph as {other.file_name}, both with status `ok` for the "
                f"{source.cue_kind} cues of {source.superclass}; delete one of the two rows, or run `ingest` "
                "again, which marks copies"
            )


def _run_shards(
    recipe: Recipe,
    context: RunContext,
    executor: Executor,
    shards: Sequence[Shard],
    sources: Sequence[SourceRecord],
) -> dict[str, SourceResult]:
    """Run the shards that are not done yet; returns their rows by the name of their done file."""
    results: dict[str, SourceResult] = {}
    n_before = len(sources) - sum(len(shard.sources) for shard in shards)
    with (
        tqdm(
            total=len(sources), unit="photo", desc="generate", initial=n_before, disable=sys.stderr is None
        ) as bar,
        closing(executor.run(partial(run_shard, recipe, context), shards)) as finished,
    ):
        for shard, result in finished:
            if isinstance(result, WorkerDied):
                result = _give_up(recipe, context, executor, shard)
            results[shard.done_name] = result
            bar.update(len(shard.sources))
    return results


def run_shard(recipe: Recipe, context: RunContext, shard: Shard) -> SourceResult:
    """Render a shard, write its pictures and then its done file; return its rows."""
    picks = {(pick.source_id, pick.cue_kind): pick for pick in shard.picks}
    parts = [render_source(recipe, context, s, picks.get((s.source_id, s.cue_kind))) for s in shard.sources]
    result = SourceResult.joined(parts)
    write_done(context.out, shard, result)
    return result


def _give_up(recipe: Recipe, context: RunContext, executor: Executor, shard: Shard) -> SourceResult:
    """Return the rows of a shard that killed its worker: source by source, and a failure for the culprit."""
    parts: list[SourceResult] = []
    if len(shard.sources) == 1:
        parts = [failed_source(recipe, shard.sources[0], WORKER_DIED, "the process died; out of memory?")]
    else:
        single = list(plan_shards(shard.sources, shard.picks, shard.recipe_sha256, 1, shard.mask_files))
        for piece, result in executor.run(partial(run_shard, recipe, context), single):
            if isinstance(result, WorkerDied):
                result = _give_up(recipe, context, executor, piece)
            parts.append(result)
    joined = SourceResult.joined(parts)
    write_done(context.out, shard, joined)
    return joined


def _finish(out: str, results: Sequence[SourceResult], n_shards: int, n_resumed: int) -> RunResult:
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
