"""The verb `ingest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from data_manifests.errors import CuebenchError
from data_manifests.jsonl import write_records
from data_manifests.manifests import manifest_type
from data_manifests.records import SourceRecord
from data_manifests.storage import exists, parent, read_bytes
from data_manifests.taxonomy import read_taxonomy

if TYPE_CHECKING:
    pass


@click.command(
    epilog="Example: cuebench ingest photos --taxonomy refined-bias-20 --provenance photos/sources.csv "
    "--out sources.jsonl"
)
@click.argument("photos")
@click.option("--taxonomy", required=True, help="A taxonomy file (.toml), or the name of a shipped one.")
@click.option(
    "--provenance", metavar="CSV", help="Where the photographs come from: file_name and any other column."
)
@click.option("--out", required=True, metavar="FILE", help="The source manifest to write (sources.jsonl).")
@click.option(
    "--target",
    default=300,
    show_default=True,
    type=click.IntRange(min=1),
    help="Wanted photographs per class.",
)
@click.option(
    "--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Processes that decode."
)
@click.option("--format", "form", default="text", show_default=True, type=click.Choice(["text", "json"]))
@click.option("--force", is_flag=True, help="Replace FILE, if it is a source manifest.")
def ingest(
    photos: str,
    taxonomy: str,
    provenance: str | None,
    out: str,
    target: int,
    workers: int,
    form: str,
    force: bool,
) -> None:
    """Turn PHOTOS, a folder (or URL) of <superclass>/<photograph>, into a source manifest.

    Every photograph is decoded once; a bad one becomes a row that says why. The summary goes to stdout:
    usable photographs per class, duplicates, licences that are missing, and what to do about each problem.
    """
    from generation.ingest import ingest as ingest_photographs
    from generation.progress import progress_bar

    _check_out(out, force=force)
    known = read_taxonomy(taxonomy)
    with progress_bar("ingest", "photo") as on_progress:
        result = ingest_photographs(
            photos,
            known,
            provenance,
            relative_to=parent(out),
            target_per_class=target,
            workers=workers,
            on_progress=on_progress,
        )
    write_records(out, result.records)
    summary = result.summary
    click.echo(summary.model_dump_json(indent=2) if form == "json" else summary.to_text())
    click.echo(f"wrote {out}: {summary.n_rows} rows, {summary.n_ok} of them ok", err=True)


def _check_out(out: str, *, force: bool) -> None:
    """Refuse a name that is no manifest's, or taken; `force` gives up a source manifest and nothing else."""
    if not out.endswith(".jsonl"):
        raise CuebenchError(f"{out}: expected a name that ends in .jsonl for the source manifest")
    if not exists(out):
        return
    if not force:
        raise CuebenchError(
            f"{out}: there is already a file; choose another name, or replace it with --force"
        )
    data = read_bytes(out)
    if data.strip() and manifest_type(data) is not SourceRecord:
        raise CuebenchError(
            f"{out}: not a source manifest, and --force replaces nothing else; choose another name"
        )
