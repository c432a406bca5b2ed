"""The verb `masks`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from data_manifests import storage
from data_manifests.errors import CuebenchError

if TYPE_CHECKING:
    from generation.recipe import Recipe


@click.command(
    epilog="Example: cuebench masks refined-bias --sources sources.jsonl --model timm:resnet50.a1_in1k --out picks; "
    "then: cuebench generate refined-bias --sources sources.jsonl --masks picks/masks.jsonl --out run"
)
@click.argument("recipe")
@click.option("--sources", required=True, metavar="FILE", help="The manifest that `ingest` wrote.")
@click.option(
    "--model",
    required=True,
    metavar="SPEC",
    help="The classifier: timm:NAME, torchvision:NAME[@WEIGHTS], onnx:FILE, ... as of `evaluate`.",
)
@click.option(
    "--out", required=True, metavar="PICKS", help="The folder of the picks; an unfinished one resumes."
)
@click.option("--photos", metavar="DIR", help="The base of the file names; default: the manifest's folder.")
@click.option(
    "--segmenter",
    "segmenters",
    multiple=True,
    metavar="NAME",
    help="As of `generate`, in place of the recipe's; repeat it for more than one, best first.",
)
@click.option("--device", default="cpu", show_default=True, help="Of the classifier: cpu, cuda, mps, ...")
@click.option("--weights", default=".", metavar="DIR", help="Where files of weights lie; default: here.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Processes.")
@click.option("--force", is_flag=True, help="Replace the picks in PICKS if they are of another call.")
@click.option("--format", "form", default="text", show_default=True, type=click.Choice(["text", "json"]))
def masks(
    recipe: str,
    sources: str,
    model: str,
    out: str,
    photos: str | None,
    segmenters: tuple[str, ...],
    device: str,
    weights: str,
    workers: int,
    force: bool,
    form: str,
) -> None:
    """Choose the mask of every photograph with a classifier, by the segmenters of RECIPE.

    What stands out in a photograph is often not the object of its class. A classifier judges many candidates, close-ups
    of where it sees the class among them, by what they show and by what the photograph shows without them. The picks
    (masks.jsonl, masks/) are for `generate --masks`; masks.html shows them, those to look at first. `class_not_seen`
    flags photographs in which no candidate shows the class: draw the mask, or pick it by hand (`review masks`).
    """
    from curation.masks_page import PAGE, write_masks_page
    from curation.masks_run import MANIFEST, MaskJob, choose_masks
    from curation.masks_summary import summarise_masks
    from data_manifests.manifests import read_manifest
    from data_manifests.records import SourceRecord
    from evaluation.models import Runtime, parse_spec
    from generation.executors import executor_for
    from generation.progress import progress_bar
    from generation.recipe import read_recipe

    named = _with_segmenters(read_recipe(recipe), segmenters)
    records = read_manifest(sources, SourceRecord, "--sources")
    runtime = Runtime(device=device, weights_folder=weights)
    job = MaskJob(out, photos or storage.parent(sources), named, parse_spec(model), runtime)
    try:
        with progress_bar("masks", "photograph") as show:
            executor = executor_for("process" if workers > 1 else "serial", workers)
            run = choose_masks(job, records, executor, force=force, show=show)
    except KeyboardInterrupt:
        click.echo(f"cuebench: stopped; the same command goes on with {out}", err=True)
        raise click.exceptions.Exit(130) from None
    summary = summarise_masks(run)
    click.echo(json.dumps(summary.to_json(), indent=2) if form == "json" else summary.to_text())
    with progress_bar(PAGE, "photograph") as show:
        page = write_masks_page(job, run, show)
    kept = f" ({run.n_kept} were judged before)" if run.n_kept else ""
    click.echo(f"wrote {storage.join(out, MANIFEST)}{kept}; see them: {page}", err=True)
    if not summary.n_picked:
        raise CuebenchError(f"{out}: no mask could be picked, for the reasons above")


def _with_segmenters(recipe: Recipe, segmenters: tuple[str, ...]) -> Recipe:
    """Return the recipe with the segmenters named here, or the best installed where nobody names any."""
    from generation.models import best_available

    names = segmenters or recipe.mask.segmenters
    if not names:
        *best, last = best_available()
        names = (*best, "backdrop", last)
        click.echo(f"masks: no segmenter named, using {', then '.join(names)}", err=True)
    return recipe.model_copy(update={"mask": recipe.mask.model_copy(update={"segmenters": names})})
