"""`review export|import-verdicts` and `study export|import`: answers out of the record, and into it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from curation.options import DATABASE, FORMAT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from curation.exchange import AnswersImported
    from curation.rating_records import ResponseRecord
    from data_manifests.records import CueKind

OUT = click.option(
    "--out",
    required=True,
    metavar="FILE",
    help="Ends in .csv, .json, .jsonl or .parquet: that is the format.",
)
SNAPSHOT = click.option(
    "--snapshot", "snapshot_id", type=click.IntRange(min=1), help="An earlier snapshot; default: a new one."
)
FORCE = click.option("--force", is_flag=True, help="Overwrite FILE.")


@click.command("export", epilog="Example: cuebench review export --db review.db first --out verdicts.csv")
@DATABASE
@click.argument("slug")
@OUT
@click.option(
    "--layout",
    default="long",
    show_default=True,
    type=click.Choice(["long", "crowd-kit"]),
    help="long: everything, a row for each assignment; crowd-kit: task, worker, label (CSV).",
)
@SNAPSHOT
@FORCE
@FORMAT
def review_export(
    db: str, slug: str, out: str, layout: str, snapshot_id: int | None, force: bool, form: str
) -> None:
    """Write every verdict of the review SLUG to FILE, as of a snapshot that a note beside it names."""
    _export(db, slug, "review", out, layout, snapshot_id, force=force, form=form)


@click.command("export", epilog="Example: cuebench study export --db study.db main --out responses.parquet")
@DATABASE
@click.argument("slug")
@OUT
@click.option(
    "--layout",
    default="long",
    show_default=True,
    type=click.Choice(["long", "model-vs-human", "crowd-kit"]),
    help="long: everything, a row for each trial; model-vs-human: its columns (CSV); crowd-kit: task, worker, "
    "label (CSV).",
)
@SNAPSHOT
@FORCE
@FORMAT
def study_export(
    db: str, slug: str, out: str, layout: str, snapshot_id: int | None, force: bool, form: str
) -> None:
    """Write every response of the study SLUG to FILE, as of a snapshot that a note beside it names."""
    _export(db, slug, "study", out, layout, snapshot_id, force=force, form=form)


def _export(
    db: str, slug: str, kind: str, out: str, layout: str, snapshot_id: int | None, *, force: bool, form: str
) -> None:
    from curation.database import open_store
    from curation.exchange import export_ratings
    from data_manifests.errors import CuebenchError
    from data_manifests.storage import exists

    if exists(out) and not force:
        raise CuebenchError(
            f"{out}: there is already a file; choose another name, or overwrite it with --force"
        )
    table = export_ratings(
        open_store(db, create=False), slug, kind, out, layout=layout, snapshot_id=snapshot_id
    )
    n_answers = sum(row.answer is not None for row in table.rows)
    if form == "json":
        told = {"file": out, "snapshot": table.snapshot_id, "sha256": table.sha256}
        click.echo(json.dumps({**told, "n_rows": len(table.rows), "n_answers": n_answers}, indent=2))
        return
    click.echo(f"{out}: {n_answers} answers in {len(table.rows)} rows, snapshot {table.snapshot_id}")


@click.command(
    "import-verdicts", epilog="Example: cuebench review import-verdicts --db review.db first verdicts.csv"
)
@DATABASE
@click.argument("slug")
@click.argument("tables", nargs=-1, required=True)
@FORMAT
def review_import_verdicts(db: str, slug: str, tables: tuple[str, ...], form: str) -> None:
    """Store the verdicts of TABLES (as `review export` writes them) in the open review SLUG.

    An answer that stands is not replaced, and a table that was imported before changes nothing.
    """
    from curation.database import open_store
    from curation.exchange import import_verdicts
    from curation.exchange_table import read_table
    from curation.rating_records import VerdictRecord

    rows = [row for url in tables for row in read_table(url, VerdictRecord)[0]]
    _tell(import_verdicts(open_store(db, create=False), slug, rows), form)


@click.command(
    "import",
    epilog="Example: cuebench study import --db study.db silhouettes subject-*.csv --layout model-vs-human "
    "--cue-kind shape",
)
@DATABASE
@click.argument("slug")
@click.argument("tables", nargs=-1, required=True)
@click.option(
    "--layout",
    default="long",
    show_default=True,
    type=click.Choice(["long", "model-vs-human"]),
    help="long: as `study export` writes it; model-vs-human: CSV with its columns.",
)
@click.option(
    "--cue-kind", type=click.Choice(["shape", "texture"]), help="Of the pictures of model-vs-human."
)
@click.option("--choices", metavar="A,B", help="What model-vs-human offered; default: the labels that occur.")
@FORMAT
def study_import(
    db: str,
    slug: str,
    tables: tuple[str, ...],
    layout: str,
    cue_kind: CueKind | None,
    choices: str | None,
    form: str,
) -> None:
    """Store the responses of TABLES as the study SLUG, which takes no more answers.

    It is a study of its own: one that was planned here is not added to. Importing again changes nothing.
    """
    from curation.database import open_store
    from curation.exchange import import_responses
    from curation.exchange_table import read_table
    from curation.rating_records import ResponseRecord

    if (layout == "model-vs-human") != (cue_kind is not None):
        raise click.UsageError("--cue-kind goes with --layout model-vs-human, which needs it")
    if choices is not None and layout == "long":
        raise click.UsageError("--choices goes with --layout model-vs-human")
    if cue_kind is None:
        rows: Sequence[ResponseRecord] = [row for url in tables for row in read_table(url, ResponseRecord)[0]]
    else:
        rows = _read_foreign(tables, slug, cue_kind, choices)
    _tell(import_responses(open_store(db), slug, rows), form)


def _read_foreign(
    tables: Sequence[str], slug: str, cue_kind: CueKind, choices: str | None
) -> list[ResponseRecord]:
    from curation.exchange_trials import read_trials, responses_of

    offered = [name.strip() for name in choices.split(",")] if choices else None
    return responses_of([trial for url in tables for trial in read_trials(url)], slug, cue_kind, offered)


def _tell(summary: AnswersImported, form: str) -> None:
    click.echo(json.dumps(asdict(summary), indent=2) if form == "json" else summary.to_text())
