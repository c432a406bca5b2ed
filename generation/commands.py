"""The verbs `generate` and `gallery`."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import click

from data_manifests import storage
from data_manifests.errors import CuebenchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from data_manifests.records import MaskRecord, SourceRecord
    from generation.executors import EngineName
    from generation.recipe import Recipe


@click.command(epilog="Example: cuebench generate refined-bias --sources sources.jsonl --out run --workers 2")
@click.argument("recipe")
@click.option("--sources", required=True, metavar="FILE", help="The manifest that `ingest` wrote.")
@click.option("--out", required=True, metavar="RUN", help="The run folder; an unfinished run there resumes.")
@click.option("--photos", metavar="DIR", help="The base of the file names; default: the manifest's folder.")
@click.option("--masks", metavar="FILE", help="Picked masks (a masks.jsonl), used in place of segmentation.")
@click.option(
    "--side", type=click.IntRange(224, 2048), help="Side of the cues in px, in place of the recipe's."
)
@click.option(
    "--segmenter",
    "segmenters",
    multiple=True,
    metavar="NAME",
    help="alpha, grabcut, rembg:MODEL, sam:CHECKPOINT, folder:DIR or fullframe, in place of the recipe's; "
    "repeat it for more than one.",
)
@click.option("--engine", type=click.Choice(["serial", "process"]), help="Default: process if --workers > 1.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Processes.")
@click.option(
    "--shard-size",
    type=click.IntRange(min=1),
    help="Photographs in a unit of work (1,000 at most by default).",
)
@click.option(
    "--limit", type=click.IntRange(min=1), help="Use N usable photographs only, spread over the classes."
)
@click.option("--force", is_flag=True, help="Replace the run in RUN if it is another one.")
@click.option("--format", "form", default="text", show_default=True, type=click.Choice(["text", "json"]))
def generate(
    recipe: str,
    sources: str,
    out: str,
    photos: str | None,
    masks: str | None,
    side: int | None,
    segmenters: tuple[str, ...],
    engine: EngineName | None,
    workers: int,
    shard_size: int | None,
    limit: int | None,
    force: bool,
    form: str,
) -> None:
    """Render the shape and texture cues of a source manifest by RECIPE (a .toml file or a shipped name).

    Ctrl-C, a crash or a power cut leaves a run that the same command resumes. A photograph that gives no cue
    is a row of cues.jsonl with its reason; the batch goes on. Exit code 1 if no cue could be made at all.
    """
    from data_manifests.manifests import read_manifest
    from data_manifests.records import MaskRecord, SourceRecord
    from generation.executors import executor_for
    from generation.recipe import read_recipe
    from generation.run import generate as run_generation
    from generation.run_summary import summarise
    from generation.source_cues import RunContext

    chosen = _with_options(read_recipe(recipe), side, segmenters)
    records = read_manifest(sources, SourceRecord, "--sources")
    picks = read_manifest(masks, MaskRecord, "--masks") if masks else []
    if limit is not None:
        records = spread_over_classes(records, limit)
    if _wants_masks(records, picks):
        chosen = _with_segmenters(chosen, is_new=force or not _holds(out, "recipe.toml"))
        if force or not _holds(out, "cues.jsonl"):
            _announce_models(chosen)
    base = photos or storage.parent(sources)
    try:
        result = run_generation(
            chosen,
            [_rebased(record, base, out) for record in records],
            RunContext(out=out, picks=storage.parent(masks) if masks else ""),
            executor_for(engine or ("process" if workers > 1 else "serial"), workers),
            picks=picks,
            shard_size=shard_size,
            force=force,
        )
    except KeyboardInterrupt:
        click.echo(f"cuebench: stopped; the same command resumes the run in {out}", err=True)
        raise click.exceptions.Exit(130) from None
    summary = summarise(result)
    click.echo(json.dumps(summary.to_json(), indent=2) if form == "json" else summary.to_text())
    resumed = (
        f" ({result.n_resumed} of {result.n_shards} shards were done before)" if result.n_resumed else ""
    )
    click.echo(f"wrote {storage.join(out, 'cues.jsonl')}{resumed}; see it: cuebench gallery {out}", err=True)
    if not summary.n_made:
        raise CuebenchError(f"{out}: no cue could be made, for the reasons above")


def spread_over_classes(records: Sequence[SourceRecord], limit: int) -> list[SourceRecord]:
    """Return the first usable photograph of every class and kind, then the second of each, ... up to `limit`.

    A larger limit adds photographs and drops none, so a run can go on with it.
    """
    from data_manifests.records import OK

    n_before: Counter[tuple[str, str]] = Counter()
    ranked = []
    for record in sorted((r for r in records if r.status == OK), key=lambda r: r.sort_key):
        group = (record.cue_kind, record.superclass)
        ranked.append((n_before[group], record))
        n_before[group] += 1
    return [record for _, record in sorted(ranked, key=lambda pair: pair[0])[:limit]]


def _with_options(recipe: Recipe, side: int | None, segmenters: tuple[str, ...]) -> Recipe:
    """Return the recipe with what the command line replaces."""
    from generation.recipe import parse_recipe

    names = segmenters or recipe.mask.segmenters
    options = {"mask": {**recipe.mask.model_dump(), "segmenters": names}, "side_px": side or recipe.side_px}
    return parse_recipe({**recipe.model_dump(), **options}, recipe.name)


def _wants_masks(records: Sequence[SourceRecord], picks: Sequence[MaskRecord]) -> bool:
    """Return whether any usable photograph has no picked mask."""
    from data_manifests.records import OK

    picked = {(pick.source_id, pick.cue_kind) for pick in picks}
    return any(r.status == OK and (r.source_id, r.cue_kind) not in picked for r in records)


def _holds(out: str, name: str) -> bool:
    return storage.exists(storage.join(out, name))


def _with_segmenters(recipe: Recipe, *, is_new: bool) -> Recipe:
    """Return the recipe with the best segmenters that are installed, if it names none; a new run says so."""
    from generation.models import best_available

    if recipe.mask.segmenters:
        return recipe
    names = tuple(best_available())
    if is_new:
        click.echo(f"masks: no segmenter named, using {', then '.join(names)}", err=True)
    if is_new and "grabcut" in names:
        click.echo("masks: `cuebench models fetch u2netp` installs a model that finds better ones", err=True)
    return recipe.model_copy(update={"mask": recipe.mask.model_copy(update={"segmenters": names})})


def _announce_models(recipe: Recipe) -> None:
    models = [name for name in recipe.mask.segmenters if name.startswith(("rembg:", "sam:"))]
    if models:
        click.echo(f"masks: loading {', '.join(models)}; the first photograph takes longer", err=True)


def _rebased(record: SourceRecord, base: str, out: str) -> SourceRecord:
    """Return the row with its file name relative to the run folder."""
    return record.model_copy(
        update={"file_name": storage.relative(storage.join(base, record.file_name), out)}
    )


@click.command(epilog="Example: cuebench gallery run")
@click.argument("run")
@click.option(
    "--class",
    "classes",
    multiple=True,
    metavar="NAME",
    help="Show this class only, in a page of its own (gallery-NAME.html); repeat it for more than one.",
)
def gallery(run: str, classes: tuple[str, ...]) -> None:
    """Write RUN/gallery.html: one page with every photograph, its mask and its cues; it needs no network."""
    from generation.gallery import LARGE_PAGE_BYTES, write_gallery

    page = write_gallery(run, classes=classes)
    n_bytes = len(storage.read_bytes(page))
    advice = "; --class NAME writes a smaller page, of one class" if n_bytes > LARGE_PAGE_BYTES else ""
    click.echo(page)
    click.echo(f"{n_bytes / 1e6:.1f} MB{advice}", err=True)
