"""The verb `power`: what a study of a size can show, simulated before anybody is asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from data_manifests.errors import CuebenchError

if TYPE_CHECKING:
    from curation.power import DesignResult


@click.command(epilog="Example: cuebench power --kappa .8 --raters 88 --trials 50 --bound .7")
@click.option(
    "--kappa", required=True, type=click.FloatRange(0, 1, max_open=True), help="The kappa you expect."
)
@click.option("--raters", required=True, type=click.IntRange(2, 5000), help="How many people.")
@click.option(
    "--trials", required=True, type=click.IntRange(1, 5000), help="Trials of each person, per cue kind."
)
@click.option(
    "--bound", type=click.FloatRange(0, 1, max_open=True), help="The gate's bound: adds the chance to pass."
)
@click.option(
    "--categories", default=10, show_default=True, type=click.IntRange(2, 1000), help="Answers offered."
)
@click.option(
    "--careless",
    default=0.05,
    show_default=True,
    type=click.FloatRange(0, 0.9),
    help="Share of careless people.",
)
@click.option(
    "--replications",
    default=200,
    show_default=True,
    type=click.IntRange(10, 100_000),
    help="Simulated studies of each design.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@click.option(
    "--format", "form", default="text", show_default=True, type=click.Choice(["text", "json", "md"])
)
def power(
    kappa: float,
    raters: int,
    trials: int,
    bound: float | None,
    categories: int,
    careless: float,
    replications: int,
    seed: int,
    form: str,
) -> None:
    """Simulate studies of a size: few pictures with many ratings each, or many pictures with few.

    The table shows, for each design, half the width of the 95 % interval, how often an interval holds the true
    kappa (by the item error alone, and by the two-way error that cuebench uses), and the mean of the lowest class.
    """
    from tqdm import tqdm

    from curation.power import Crowd, designs_for, evaluate_design, recommend

    if bound is not None and not 0 <= bound < 1:  # nan, which a range lets pass
        raise CuebenchError(f"--bound {bound}: expected a kappa from 0 to below 1")
    crowd = Crowd(categories, careless)
    designs = designs_for(raters, trials, categories)
    results = [
        evaluate_design(design, kappa, crowd, n_replications=replications, seed=seed, bound=bound)
        for design in tqdm(designs, desc="power", unit="design", leave=False)
    ]
    best = recommend(results)
    if form == "json":
        rows = [_to_json(result, recommended=result is best) for result in results]
        click.echo(json.dumps({"kappa": kappa, "replications": replications, "designs": rows}, indent=2))
        return
    click.echo(power_table(results, best, markdown=form == "md"))
    click.echo(
        f"\nrecommended: {best.design.n_items} pictures with {best.design.n_ratings_per_item} ratings each: kappa "
        f"{kappa:g} is known to +-{best.half_width:.3f}"
    )
    if raters < 10:
        click.echo(
            f"note: {raters} people: each of them weighs much, and more people narrow this more than more pictures do"
        )


def _to_json(result: DesignResult, *, recommended: bool) -> dict[str, Any]:
    numbers = {name: value for name, value in vars(result).items() if name != "design"}
    return {**vars(result.design), **numbers, "recommended": recommended}


def power_table(results: list[DesignResult], best: DesignResult, *, markdown: bool = False) -> str:
    """Return a row for each design; a star marks the recommended one."""
    passes = results[0].pass_share is not None
    head = [
        "pictures",
        "ratings",
        "+-",
        "covers: items",
        "two-way",
        "bound",
        "lowest class",
        *(["passes"] if passes else []),
    ]
    rows = [
        [
            f"{result.design.n_items}{'*' if result is best else ''}",
            str(result.design.n_ratings_per_item),
            *(
                f"{value:.3f}"
                for value in (
                    result.half_width,
                    result.item_coverage,
                    result.two_way_coverage,
                    result.bound_coverage,
                    result.lowest_class,
                )
            ),
            *([f"{result.pass_share:.0%}"] if result.pass_share is not None else []),
        ]
        for result in results
    ]
    if markdown:
        lines = ["| " + " | ".join(row) + " |" for row in [head, ["---:"] * len(head), *rows]]
        return "\n".join(lines)
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in [head, *rows]
    )
