"""The verb `kappa`: how well raters agree."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from curation.agreement import Estimator
    from curation.agreement_summary import AgreementSummary


@click.command(
    epilog="Example: cuebench kappa trials.csv --item imagename --rater subj --label object_response --missing na"
)
@click.argument("ratings")
@click.option("--item", required=True, metavar="COL", help="The column that names what was rated.")
@click.option("--rater", required=True, metavar="COL", help="The column that names who rated.")
@click.option("--label", required=True, metavar="COL", help="The column with the category that was chosen.")
@click.option(
    "--missing",
    multiple=True,
    metavar="TOKEN",
    help="A label that means no rating, such as na; repeat it for more.",
)
@click.option(
    "--categories", metavar="A,B", help="What was offered, used or not; default: the labels that occur."
)
@click.option(
    "--estimator",
    default="gwet",
    show_default=True,
    type=click.Choice(["gwet", "cuzick", "fleiss"]),
    help="gwet: every item weighs the same; cuzick: every rating; fleiss: 1971, demands equal numbers of raters.",
)
@click.option(
    "--level", default=0.95, show_default=True, type=click.FloatRange(0.5, 0.999), help="Of the interval."
)
@click.option(
    "--format", "form", default="text", show_default=True, type=click.Choice(["text", "json", "md"])
)
def kappa(
    ratings: str,
    item: str,
    rater: str,
    label: str,
    missing: tuple[str, ...],
    categories: str | None,
    estimator: Estimator,
    level: float,
    form: str,
) -> None:
    """Report the agreement in RATINGS, a CSV with one row a rating."""
    from curation.agreement_summary import summarise_agreement
    from curation.ratings_table import read_ratings

    offered = [name.strip() for name in categories.split(",")] if categories else None
    table = read_ratings(ratings, item=item, rater=rater, label=label, missing=missing, categories=offered)
    summary = summarise_agreement(table, estimator, level)
    if form == "json":
        click.echo(json.dumps(summary.to_json(), indent=2))
    else:
        click.echo(agreement_text(summary, markdown=form == "md"))


def agreement_text(summary: AgreementSummary, *, markdown: bool = False) -> str:
    """Return the summary as a few lines and a table."""
    lines = _headline(summary)
    names = [" ".join(row.category.splitlines()) for row in summary.per_category]
    if markdown:
        lines = [f"- {line}" for line in lines]
        table = ["| category | ratings | kappa | standard error |", "|---|---:|---:|---:|"]
        table += [
            f"| {name.replace('|', '&#124;')} | {row.n_ratings} | {_number(row.kappa)} | {_number(row.se)} |"
            for name, row in zip(names, summary.per_category, strict=True)
        ]
    else:
        width = max(8, *map(len, names))
        table = [f"{'category':<{width}}  ratings   kappa      se"]
        table += [
            f"{name:<{width}}  {row.n_ratings:>7}  {_number(row.kappa):>6}  {_number(row.se):>6}"
            for name, row in zip(names, summary.per_category, strict=True)
        ]
    notes = [f"note: {warning}" for warning in summary.warnings]
    return "\n".join([*lines, "", *table, *([""] if notes else []), *notes])


def _headline(summary: AgreementSummary) -> list[str]:
    used = f"{summary.n_items_used} of {summary.n_items} items with two or more"
    lines = [
        f"Fleiss' kappa ({summary.estimator})  {_number(summary.kappa.value)}",
        f"{summary.n_ratings} ratings of {summary.n_items} items by {summary.n_raters} raters; {used}; "
        f"{summary.n_missing} missing",
        f"agreement observed {_number(summary.kappa.p_observed)}, by chance {_number(summary.kappa.p_expected)}",
    ]
    if summary.ci is not None:
        percent = f"{100 * summary.ci.level:.6g}%"
        lines += [
            f"{percent} interval {_number(summary.ci.lower)} to {_number(summary.ci.upper)}; with {percent} confidence "
            f"at least {_number(summary.ci.lower_bound)}, which Landis & Koch call {summary.band}",
            f"standard error {_number(summary.se.two_way)} (items {_number(summary.se.items)}, raters "
            f"{_number(summary.se.raters)}, single ratings {_number(summary.se.cell)})",
        ]
    others = {
        "AC1": summary.ac1,
        "alpha": summary.alpha,
        "Randolph": summary.randolph,
        "Conger": summary.conger,
    }
    lines.append("beside it: " + ", ".join(f"{name} {_number(value)}" for name, value in others.items()))
    return lines


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
