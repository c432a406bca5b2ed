"""The verb `compare`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from evaluation.scores import ScoreTable

DEFAULT_SCORES = ("shape_sensitivity", "texture_sensitivity", "shape_preference")


@click.command(
    epilog="Example: cuebench compare scores.csv --x accuracy --baseline tv_resnet50 --html models.html"
)
@click.argument("scores_csv", metavar="SCORES")
@click.option(
    "--x", default="accuracy", show_default=True, metavar="COL", help="What the scores are held against."
)
@click.option(
    "--score",
    "scores",
    multiple=True,
    metavar="COL",
    help="A score to compare; default: the sensitivities and preference.",
)
@click.option("--baseline", metavar="MODEL", help="Test every family of models against this one.")
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Of permutations and bootstrap."
)
@click.option(
    "--resamples",
    default=10_000,
    show_default=True,
    type=click.IntRange(100),
    help="Permutations of each pair of scores.",
)
@click.option("--figures", metavar="DIR", help="Write every figure there, as PNG and SVG.")
@click.option("--html", metavar="FILE", help="Write one page with figures and tables.")
@click.option(
    "--format", "form", default="text", show_default=True, type=click.Choice(["text", "json", "md"])
)
def compare(
    scores_csv: str,
    x: str,
    scores: tuple[str, ...],
    baseline: str | None,
    seed: int,
    resamples: int,
    figures: str | None,
    html: str | None,
    form: str,
) -> None:
    """Compare models by a table of scores: a CSV with `model`, numbers, and perhaps `family` and `cluster`.

    `family` is what is tested against the baseline; models of one `cluster` are variants of each other, and are not
    counted as independent.
    """
    from data_manifests import storage
    from evaluation.compare import compare as compare_models
    from evaluation.compare_page import render_compare_page
    from evaluation.compare_text import comparison_text
    from evaluation.figures import FORMATS, save_figure, scatter_scores
    from evaluation.scores import read_scores

    table = read_scores(scores_csv)
    chosen = scores or _default_scores(table)
    found = compare_models(table, x, chosen, baseline=baseline, seed=seed, n_resamples=resamples)
    if form == "json":
        click.echo(json.dumps(found.to_json(), indent=2))
    else:
        click.echo(comparison_text(found, markdown=form == "md"))
    if figures is not None:
        for score in chosen:
            figure = scatter_scores(table, x, score, baseline)
            for kind in FORMATS:
                storage.write_bytes(storage.join(figures, f"{x}-{score}.{kind}"), save_figure(figure, kind))
        click.echo(f"wrote {len(chosen) * len(FORMATS)} figures into {figures}", err=True)
    if html is not None:
        storage.write_bytes(html, render_compare_page(table, found, x, chosen).encode())
        click.echo(f"wrote {html}", err=True)


def _default_scores(table: ScoreTable) -> tuple[str, ...]:
    """Return those of the usual scores that a table has, and say which it has not."""
    from data_manifests.errors import CuebenchError

    found = tuple(name for name in DEFAULT_SCORES if name in table.columns)
    absent = [name for name in DEFAULT_SCORES if name not in table.columns]
    if not found:
        raise CuebenchError(
            f"{table.where}: no score to compare: looked for {', '.join(absent)} and found none; the columns with "
            f"numbers are {', '.join(table.columns) or 'none'}; name one with --score"
        )
    if absent:
        click.echo(f"comparing {', '.join(found)}; not in the table: {', '.join(absent)}", err=True)
    return found
