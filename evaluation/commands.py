"""The verb `evaluate`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from data_manifests.errors import CuebenchError

if TYPE_CHECKING:
    from data_manifests.taxonomy import Taxonomy
    from evaluation.evaluate import Evaluation
    from evaluation.models import Bits, Precision
    from evaluation.ranks import TieRule
    from evaluation.sweep import Plan

NOWHERE = "none"


@click.command(
    epilog="Examples: cuebench evaluate --shape shape.npz --texture texture.npz; "
    "cuebench evaluate --model timm:resnet50.a1_in1k --cues run; "
    "cuebench evaluate --models architectures --cues run > scores.csv"
)
@click.option("--shape", metavar="FILE", help="Logits of the shape cues (.npz, .npy, .parquet).")
@click.option("--texture", metavar="FILE", help="Logits of the texture cues.")
@click.option(
    "--cue", "more", multiple=True, metavar="NAME=FILE", help="Logits of another cue; repeat it for more."
)
@click.option(
    "--model",
    metavar="SPEC",
    help="A model to run: timm:NAME, torchvision:NAME[@WEIGHTS], open_clip:NAME@WEIGHTS, onnx:FILE, "
    "torch:MODULE:FACTORY or callable:MODULE:FUNCTION.",
)
@click.option(
    "--models", metavar="NAME|FILE", help="A registry of models to run; prints a CSV for `compare`."
)
@click.option(
    "--cues", metavar="DIR", help="What they are shown: a run, a release or <kind>/<superclass>/*.png."
)
@click.option("--quantize", type=click.Choice(["8", "4", "2"]), help="Round the weights to so many bits.")
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda, cuda:1, mps, ...")
@click.option(
    "--precision", default="float32", show_default=True, type=click.Choice(["float32", "float16", "bfloat16"])
)
@click.option("--batch-size", default=32, show_default=True, type=click.IntRange(min=1))
@click.option("--weights", default=".", metavar="DIR", help="Where files of weights lie; default: here.")
@click.option(
    "--logits",
    metavar="DIR",
    help="Where logits are kept, and taken from; `none`: nowhere. Default: the user's cache.",
)
@click.option("--figures", metavar="DIR", help="Write bars of the classes and curves of the grids there.")
@click.option("--taxonomy", default="refined-bias-20", show_default=True, metavar="NAME|FILE")
@click.option(
    "--ties",
    default="pessimistic",
    show_default=True,
    type=click.Choice(["pessimistic", "expected", "optimistic", "published"]),
    help="What equal logits count as; `published`: the order of the published code.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Of the bootstrap.")
@click.option(
    "--format", "form", default="text", show_default=True, type=click.Choice(["text", "json", "md"])
)
def evaluate(
    shape: str | None,
    texture: str | None,
    more: tuple[str, ...],
    model: str | None,
    models: str | None,
    cues: str | None,
    quantize: str | None,
    device: str,
    precision: Precision,
    batch_size: int,
    weights: str,
    logits: str | None,
    figures: str | None,
    taxonomy: str,
    ties: TieRule,
    seed: int,
    form: str,
) -> None:
    """Measure how well a model can use each cue, and which it leans on.

    The sensitivity to a cue is the mean reciprocal rank of the right superclass over all labels of the model;
    preference is the share of one sensitivity in the sum of all.

    Give the logits of a model as files, or a model (or a registry of them) and the cues that it is to be shown. A
    model of a registry that can't be had or run is named on stderr with the reason, and the others go on.
    """
    from data_manifests.taxonomy import read_taxonomy

    files = _files(shape, texture, more)
    _check_question(files, model, models, cues)
    if models is not None and figures is not None:
        raise click.UsageError("--figures is for one model; `compare` draws many")
    if models is not None and form != "text":
        raise click.UsageError("--models prints a CSV, one row a model, and knows no other --format")
    known = read_taxonomy(taxonomy)
    if cues is None:
        _show(_evaluate_files(files, known, ties, seed), form, figures)
        return
    runtime = (device, precision, weights)
    with _plan(cues, known, runtime, batch_size, logits, ties, seed, quantize) as plan:
        if models is not None:
            _sweep(models, plan)
        elif model is not None:
            from evaluation.models import parse_spec
            from evaluation.sweep import evaluate_model

            _show(evaluate_model(parse_spec(model), plan), form, figures)


def _files(shape: str | None, texture: str | None, more: tuple[str, ...]) -> dict[str, str]:
    files = {kind: url for kind, url in (("shape", shape), ("texture", texture)) if url is not None}
    for entry in more:
        name, separator, url = entry.partition("=")
        if not separator or not name or not url:
            raise CuebenchError(f"--cue {entry}: expected NAME=FILE")
        if name in files:
            raise CuebenchError(f"--cue {entry}: there are logits for {name} already")
        files[name] = url
    return files


def _check_question(files: dict[str, str], model: str | None, models: str | None, cues: str | None) -> None:
    if sum([bool(files), model is not None, models is not None]) != 1:
        raise click.UsageError(
            "nothing to evaluate, or too much: give logits (--shape, --texture, --cue), or --model, or --models"
        )
    if not files and cues is None:
        raise click.UsageError("--model and --models need --cues, the pictures that the model is to be shown")
    if files and cues is not None:
        raise click.UsageError("--cues is for --model and --models; logits from files are of cues already")


def _evaluate_files(files: dict[str, str], taxonomy: Taxonomy, ties: TieRule, seed: int) -> Evaluation:
    from evaluation.evaluate import evaluate as evaluate_tables
    from evaluation.logits_file import read_logits

    return evaluate_tables(
        {kind: read_logits(url) for kind, url in files.items()}, taxonomy, ties=ties, seed=seed
    )


def _show(found: Evaluation, form: str, figures: str | None) -> None:
    from evaluation.evaluate_text import evaluation_text

    if figures is not None:
        from evaluation.figures import write_evaluation_figures

        names = write_evaluation_figures(figures, found)
        click.echo(f"wrote {', '.join(names)} into {figures}", err=True)
    if form == "json":
        click.echo(json.dumps(found.to_json(), indent=2))
    else:
        click.echo(evaluation_text(found, markdown=form == "md"))


@contextmanager
def _plan(
    cues: str,
    taxonomy: Taxonomy,
    runtime: tuple[str, Precision, str],
    batch_size: int,
    logits: str | None,
    ties: TieRule,
    seed: int,
    quantize: str | None,
) -> Iterator[Plan]:
    """Give what all models of a call have in common, with a bar that shows how far each is."""
    from evaluation.cue_pictures import find_pictures
    from evaluation.models import Runtime
    from evaluation.run_model import RunSettings, logits_folder
    from evaluation.sweep import Plan

    bits: dict[str | None, Bits | None] = {None: None, "8": 8, "4": 4, "2": 2}
    folder = None if logits == NOWHERE else logits or logits_folder()
    with _bar() as show:
        yield Plan(
            find_pictures(cues),
            taxonomy,
            Runtime(*runtime),
            RunSettings(folder, batch_size),
            ties,
            seed,
            bits[quantize],
            show,
        )


# Of no use in a log: it is shown to a terminal alone.
@contextmanager
def _bar() -> Iterator[Callable[[str, int, int], None]]:
    from tqdm import tqdm

    with tqdm(unit="picture", dynamic_ncols=True, leave=False, disable=None) as bar:

        def show(model: str, n_done: int, n_all: int) -> None:
            bar.set_description(model, refresh=False)
            bar.total, bar.n = n_all, n_done
            bar.refresh()

        yield show


def _sweep(models: str, plan: Plan) -> None:
    from tqdm import tqdm

    from evaluation.registry import read_registry
    from evaluation.sweep import csv_lines, score_row, sweep

    registry = read_registry(models)
    n_run = 0
    rows = (
        score_row(entry, found, plan.bits or entry.spec.bits)
        for entry, found in sweep(registry.models, plan, lambda line: tqdm.write(line, sys.stderr))
    )
    for n_run, line in enumerate(csv_lines(rows), start=1):  # noqa: B007
        click.echo(line)
    click.echo(f"{n_run} of the {len(registry.models)} models of {registry.name} were run", err=True)
    if n_run == 0:
        raise CuebenchError(f"{registry.name}: no model could be run")
