"""The verb `audit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from data_manifests.records import CueKind


@click.command(epilog="Example: cuebench audit cues --format md > audit.md")
@click.argument("cues")
@click.option(
    "--cue-kind",
    type=click.Choice(["shape", "texture"]),
    help="Cues of this kind only; the kind of those in no folder `shape` or `texture`.",
)
@click.option(
    "--recipe", default="refined-bias", show_default=True, help="Whose limits hold: a file or a name."
)
@click.option(
    "--taxonomy", help="Which classes there are: a file or a name; default: the shipped one that fits."
)
@click.option(
    "--ignore",
    "ignored",
    multiple=True,
    metavar="CHECK",
    help="A check that shall not count; may be repeated.",
)
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Processes.")
@click.option("--out", metavar="FILE", help="Also write a page (.html) with every flagged picture.")
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@click.option(
    "--format", "form", default="text", show_default=True, type=click.Choice(["text", "json", "md"])
)
@click.pass_context
def audit(
    ctx: click.Context,
    cues: str,
    cue_kind: CueKind | None,
    recipe: str,
    taxonomy: str | None,
    ignored: tuple[str, ...],
    workers: int,
    out: str | None,
    force: bool,
    form: str,
) -> None:
    """Look for defects in CUES: a run, a release, a cues.jsonl, or any folder of <kind>/<class>/<image>.

    Finds files that are broken, twice there, of another size or mode, badly named or without a licence; faint or
    uneven strokes; textures with visible seams, or from which the photograph can be put together again.

    Exit code 0: nothing found (checks that could not run are named); 3: there are defects.
    """
    from curation.audit import audit as audit_cues
    from curation.audit_files import find_files
    from curation.audit_page import audit_page
    from curation.audit_text import to_text
    from data_manifests import storage
    from data_manifests.errors import CuebenchError
    from generation.progress import progress_bar
    from generation.recipe import read_recipe

    _check_names(ignored)
    if out and storage.exists(out) and not force:
        raise CuebenchError(
            f"{out}: there is already a file; choose another name, or overwrite it with --force"
        )
    limits = read_recipe(recipe)
    found = find_files(cues, cue_kind, taxonomy)
    with progress_bar("audit", "cue") as on_progress:
        report = audit_cues(found, limits, ignored=ignored, workers=workers, on_progress=on_progress)
    if out:
        storage.write_bytes(out, audit_page(report, found, out).encode())
        click.echo(f"wrote {out}", err=True)
    click.echo(report.model_dump_json(indent=2) if form == "json" else to_text(report, markdown=form == "md"))
    if not report.clean:
        ctx.exit(3)


def _check_names(ignored: tuple[str, ...]) -> None:
    from curation.audit_checks import known_checks
    from data_manifests.errors import CuebenchError
    from data_manifests.shipped import nearest

    known = known_checks()
    for name in ignored:
        if name not in known:
            raise CuebenchError(
                f"--ignore {name}: no such check{nearest(name, known)}; there are {', '.join(known)}"
            )
