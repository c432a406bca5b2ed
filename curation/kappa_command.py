"""The verb `kappa`: how well raters agree."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from curation.gate_command import SIMULATED

if TYPE_CHECKING:
    from curation.agreement import Estimator
    from curation.agreement_summary import AgreementSummary
    from curation.kappa_source import CampaignRatings, Choice


@click.command(
    epilog="Example: cuebench kappa --db study.db --campaign people --cue-kind shape, or cuebench kappa trials.csv "
    "--item imagename --rater subj --label object_response --missing na"
)
@click.argument("ratings", required=False)
@click.option("--db", metavar="URL", help="A database in place of RATINGS.")
@click.option("--campaign", metavar="NAME", help="The review or study of --db, where there are several.")
@click.option("--cue-kind", type=click.Choice(["shape", "texture"]), help="Cues of this kind only.")
@click.option("--all-raters", is_flag=True, help="Count raters whom the rules of exclusion leave out, too.")
@click.option("--item", metavar="COL", help="The column that names what was rated; default: sha256.")
@click.option("--rater", metavar="COL", help="The column that names who rated; default: rater.")
@click.option("--label", metavar="COL", help="The column with the category that was chosen; default: answer.")
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
    ratings: str | None,
    db: str | None,
    campaign: str | None,
    cue_kind: str | None,
    all_raters: bool,
    item: str | None,
    rater: str | None,
    label: str | None,
    missing: tuple[str, ...],
    categories: str | None,
    estimator: Estimator,
    level: float,
    form: str,
) -> None:
    """Report the agreement in RATINGS, a table with one row a rating, or of a campaign.

    RATINGS is a table that was exported (.csv, .json, .jsonl, .parquet), or any CSV whose columns are named. Of a
    campaign and of an exported table first answers count, each cue kind by itself, without the raters whom the rules
    of exclusion leave out.
    """
    from curation.agreement_summary import summarise_agreement
    from curation.ratings_table import read_ratings

    offered = [name.strip() for name in categories.split(",")] if categories else None
    named = any((item, rater, label))
    columns = (item or "sha256", rater or "rater", label or "answer")
    _check_usage(ratings, db, campaign)
    if ratings is not None and named and ratings.lower().endswith(".csv"):
        if cue_kind or all_raters:
            raise click.UsageError(
                "--cue-kind and --all-raters need --db, or a table without --item, --rater, --label"
            )
        names = dict(zip(("item", "rater", "label"), columns, strict=True))
        table = read_ratings(ratings, **names, missing=missing, categories=offered)
        summary = summarise_agreement(table, estimator, level)
        click.echo(_one(summary, form))
        return
    from curation.kappa_source import Choice

    found = _read(ratings, db, campaign, Choice(cue_kind, all_raters, columns, missing, offered))
    summaries = {
        kind: summarise_agreement(table, estimator, level) for kind, table in found.by_cue_kind.items()
    }
    click.echo(_campaign_text(found, summaries, form))


def _check_usage(ratings: str | None, db: str | None, campaign: str | None) -> None:
    if (ratings is None) == (db is None):
        raise click.UsageError("expected either RATINGS, or --db and the campaign")
    if campaign is not None and db is None:
        raise click.UsageError("--campaign needs --db")


def _read(ratings: str | None, db: str | None, campaign: str | None, choice: Choice) -> CampaignRatings:
    from curation.database import open_store
    from curation.kappa_source import read_campaign, read_long_table

    if ratings is not None:
        return read_long_table(ratings, choice)
    store = open_store(db or "", create=False)
    try:
        return read_campaign(store, campaign, choice)
    finally:
        store.close()


def _one(summary: AgreementSummary, form: str) -> str:
    if form == "json":
        return json.dumps(summary.to_json(), indent=2)
    return agreement_text(summary, markdown=form == "md")


def _campaign_text(found: CampaignRatings, summaries: dict[str, AgreementSummary], form: str) -> str:
    """Return the agreement by cue kind; as JSON one object, by cue kind only where there are several."""
    if form == "json":
        head = {"campaign": found.campaign, "simulated": found.simulated, "excluded": list(found.excluded)}
        objects = {kind: {"cue_kind": kind, **summary.to_json()} for kind, summary in summaries.items()}
        body = next(iter(objects.values())) if len(objects) == 1 else {"by_cue_kind": objects}
        return json.dumps({**head, **body}, indent=2)
    excluded = ", ".join(found.excluded) or "nobody"
    parts = [SIMULATED] if found.simulated else []
    parts.append(f"{found.kind} {found.campaign}; left out by the rules of exclusion: {excluded}")
    for kind, summary in summaries.items():
        parts.append(f"{'## ' if form == 'md' else ''}{kind} cues\n\n{_one(summary, form)}")
    return "\n\n".join(parts)


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
