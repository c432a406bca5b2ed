"""The verb `evaluate`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from data_manifests.errors import CuebenchError

if TYPE_CHECKING:
    from evaluation.ranks import TieRule


@click.command(
    epilog="Example: cuebench evaluate --shape shape.npz --texture texture.npz --taxonomy refined-bias-20"
)
@click.option("--shape", metavar="FILE", help="Logits of the shape cues (.npz, .npy, .parquet).")
@click.option("--texture", metavar="FILE", help="Logits of the texture cues.")
@click.option(
    "--cue", "more", multiple=True, metavar="NAME=FILE", help="Logits of another cue; repeat it for more."
)
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
    taxonomy: str,
    ties: TieRule,
    seed: int,
    form: str,
) -> None:
    """Measure how well a model can use each cue, and which it leans on.

    The sensitivity to a cue is the mean reciprocal rank of the right superclass over all labels of the model;
    preference is the share of one sensitivity in the sum of all.
    """
    from data_manifests.taxonomy import read_taxonomy
    from evaluation.evaluate import evaluate as evaluate_tables
    from evaluation.evaluate_text import evaluation_text
    from evaluation.logits_file import read_logits

    files = {kind: url for kind, url in (("shape", shape), ("texture", texture)) if url is not None}
    for entry in more:
        name, separator, url = entry.partition("=")
        if not separator or not name or not url:
            raise CuebenchError(f"--cue {entry}: expected NAME=FILE")
        if name in files:
            raise CuebenchError(f"--cue {entry}: there are logits for {name} already")
        files[name] = url
    if not files:
        raise click.UsageError("nothing to evaluate: give --shape, --texture or --cue")
    known = read_taxonomy(taxonomy)
    found = evaluate_tables(
        {kind: read_logits(url) for kind, url in files.items()}, known, ties=ties, seed=seed
    )
    if form == "json":
        click.echo(json.dumps(found.to_json(), indent=2))
    else:
        click.echo(evaluation_text(found, markdown=form == "md"))
