"""The verbs `generate` and `gallery`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from data_manifests import storage

if TYPE_CHECKING:
    from data_manifests.records import SourceRecord
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
@click.option("--limit", type=click.IntRange(min=1), help="Use the first N usable photographs only.")
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
    is a row of cues.jsonl with its reason; the batch goes on.
    """
    from data_manifests.jsonl import read_records
    from data_manifests.records import OK, MaskRecord, SourceRecord
    from generation.executors import executor_for
    from generation.recipe import read_recipe
    from generation.run import generate as run_generation
    from generation.run_summary import summarise
    from generation.source_cues import RunContext

    chosen = _with_options(read_recipe(recipe), side, segmenters)
    records = read_records(sources, SourceRecord)
    if limit is not None:
        records = sorted((r for r in records if r.status == OK), key=lambda r: r.sort_key)[:limit]
    base = photos or storage.parent(sources)
    try:
        result = run_generation(
            chosen,
            [_rebased(record, base, out) for record in records],
            RunContext(out=out, picks=storage.parent(masks) if masks else ""),
            executor_for(engine or ("process" if workers > 1 else "serial"), workers),
            picks=read_records(masks, MaskRecord) if masks else [],
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


def _with_options(recipe: Recipe, side: int | None, segmenters: tuple[str, ...]) -> Recipe:
    """Return the recipe with what the command line replaces, its segmenters named."""
    from generation.models import best_available
    from generation.recipe import parse_recipe

    names = segmenters or recipe.mask.segmenters
    if not names:
        names = tuple(best_available())
        click.echo(f"masks: no segmenter named, using {', then '.join(names)}", err=True)
        if "grabcut" in names:
            click.echo(
                "masks: `cuebench models fetch u2netp` installs a model that finds better ones", err=True
            )
    options = {"mask": {**recipe.mask.model_dump(), "segmenters": names}, "side_px": side or recipe.side_px}
    return parse_recipe({**recipe.model_dump(), **options}, recipe.name)


def _rebased(record: SourceRecord, base: str, out: str) -> SourceRecord:
    """Return the row with its file name relative to the run folder."""
    return record.model_copy(
        update={"file_name": storage.relative(storage.join(base, record.file_name), out)}
    )


@click.command(epilog="Example: cuebench gallery run")
@click.argument("run")
def gallery(run: str) -> None:
    """Write RUN/gallery.html: one page with every photograph, its mask and its cues; it needs no network."""
    from generation.gallery import write_gallery

    click.echo(write_gallery(run))
