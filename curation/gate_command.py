"""The verb `gate`: whether a cue set may go out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from curation.gate import GateReport

SIMULATED = "SIMULATED: the answers were made by a program; they say nothing about these cues."


@click.command(epilog="Example: cuebench gate --db study.db --manifest run/cues.jsonl --html report.html")
@click.option("--db", required=True, metavar="URL", help="The record of review and study.")
@click.option("--manifest", required=True, metavar="FILE", help="The cues.jsonl of the run.")
@click.option(
    "--rules", default="default", show_default=True, metavar="NAME|FILE", help="Shipped, or a TOML file."
)
@click.option("--review", metavar="NAME", help="The review campaign, where there are several.")
@click.option("--study", metavar="NAME", help="The study campaign, where there are several.")
@click.option(
    "--simulated", is_flag=True, help="Call the answers made by a program, where they are not marked as such."
)
@click.option("--html", metavar="FILE", help="Write the report as one page with pictures, too.")
@click.option(
    "--format", "form", default="text", show_default=True, type=click.Choice(["text", "json", "md"])
)
@click.pass_context
def gate(
    ctx: click.Context,
    db: str,
    manifest: str,
    rules: str,
    review: str | None,
    study: str | None,
    simulated: bool,
    html: str | None,
    form: str,
) -> None:
    """Decide whether the accepted cues of a manifest may go out: exit code 0 PASS, 3 FAIL, 4 INSUFFICIENT.

    INSUFFICIENT means that the data can't decide yet; what is missing is named. A study is a sample: pictures that
    no participant rated may go out if reviewers accepted them and every class was sampled; how many, is said.
    """
    from importlib.metadata import version

    from curation.database import open_store
    from curation.gate import run_gate
    from curation.gate_rules import read_gate_rules
    from curation.gate_source import read_gate_source

    chosen = read_gate_rules(rules)
    store = open_store(db, create=False)
    source = read_gate_source(store, manifest, chosen, review=review, study=study, simulated=simulated)
    report = run_gate(source.data, version("cuebench"))
    if form == "json":
        extra = {
            "left_out": source.left_out,
            "snapshots": [
                {"id": table.snapshot_id, "campaign": table.campaign, "sha256": table.sha256}
                for table in source.snapshots
            ],
        }
        click.echo(json.dumps({**report.to_json(), **extra}, indent=2))
    else:
        click.echo(gate_text(report, source.left_out, markdown=form == "md"))
    if html is not None:
        from curation.report_page import write_report_page

        write_report_page(html, source.data, report, manifest)
        click.echo(f"wrote {html}", err=True)
    ctx.exit(report.exit_code)


def gate_text(report: GateReport, left_out: dict[str, int], *, markdown: bool = False) -> str:
    """Return the verdict, then every check with its number, its bound and, where it does not pass, a remedy."""
    from curation.gate import rated_line

    lines = [SIMULATED, ""] if report.simulated else []
    counts = {outcome: sum(1 for check in report.checks if check.outcome == outcome) for outcome in _MARKS}
    said = ", ".join(f"{n} {outcome}" for outcome, n in counts.items() if n)
    lines += [f"**{report.outcome}** ({said})" if markdown else f"{report.outcome}  ({said})", ""]
    if report.evidence:
        lines += [rated_line(report), ""]
    if left_out:
        lines += ["not going out: " + ", ".join(f"{n} {why}" for why, n in left_out.items()), ""]
    if markdown:
        lines += ["| check | outcome | found | asked | remedy |", "|---|---|---|---|---|"]
        lines += [f"| {c.name} | {c.outcome} | {c.detail} | {c.asked} | {c.remedy} |" for c in report.checks]
    else:
        width = max(len(check.name) for check in report.checks)
        for check in report.checks:
            asked = f" (asked: {check.asked})" if check.asked else ""
            lines.append(f"{_MARKS[check.outcome]} {check.name:<{width}}  {check.detail}{asked}")
            if check.remedy:
                lines.append(f"  {'':<{width}}  -> {check.remedy}")
    tables = [(evidence.cue_kind, evidence.sensitivity) for evidence in report.evidence]
    for kind, sensitivity in tables:
        lines += ["", f"{kind}: kappa under each choice of exclusions"]
        lines += [
            f"{'- ' if markdown else '  '}{name}: {_number(value)}" for name, value in sensitivity.items()
        ]
    return "\n".join([*lines, "", f"report {report.to_json()['report_sha256']}"])


_MARKS = {"PASS": "+", "FAIL": "x", "INSUFFICIENT": "?"}


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
