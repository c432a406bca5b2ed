"""The verb `review`: people accept or reject cues, and pick masks."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from functools import cache
from typing import TYPE_CHECKING

import click

from curation.exchange_commands import review_export, review_import_verdicts
from curation.options import DATABASE, FORMAT

if TYPE_CHECKING:
    from data_manifests.records import CueKind

KIND = click.option("--cue-kind", type=click.Choice(["shape", "texture"]), help="Cues of this kind only.")


@click.group("review", epilog="Example: cuebench review status --db review.db first")
def review_group() -> None:
    """Have people accept or reject cues, and pick masks: set it up and see where it stands.

    The order is: import, assign, `cuebench annotate`, status; then import again once cues were rendered anew.
    """


@review_group.command(
    "import", epilog="Example: cuebench review import --db review.db first run --overlap 0.2 --known-bad bad"
)
@DATABASE
@click.argument("slug")
@click.argument("cues")
@KIND
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), help="Moves every order; default: 0.")
@click.option(
    "--overlap",
    type=click.FloatRange(0, 1),
    help="Share of each class that one more person judges; 1 for all of it; default: 0.1.",
)
@click.option("--raters", "n_raters", type=click.IntRange(min=1), help="Verdicts on every cue; default: 1.")
@click.option(
    "--repeats",
    "repeat_share",
    type=click.FloatRange(0, 0.5),
    help="Share that comes back to the same person, unannounced; default: 0.03.",
)
@click.option("--known-bad", metavar="DIR", help="Cues that everybody should reject, mixed in unannounced.")
@click.option("--guideline", metavar="FILE", help="A text that reviewers read first.")
@FORMAT
def import_command(
    db: str,
    slug: str,
    cues: str,
    cue_kind: CueKind | None,
    seed: int | None,
    overlap: float | None,
    n_raters: int | None,
    repeat_share: float | None,
    known_bad: str | None,
    guideline: str | None,
    form: str,
) -> None:
    """Begin the review SLUG of CUES, or bring it up to cues that were rendered again.

    CUES is a run folder, its cues.jsonl, or a folder of <kind>/<superclass>/<image>; with --cue-kind also one of
    <superclass>/<image>. Verdicts on a cue that was rendered again are stale; all others stand.
    """
    from curation.database import open_store
    from curation.review import import_review

    text = _read_text(guideline) if guideline else None
    with closing(open_store(db)) as store:
        summary = import_review(
            store,
            slug,
            cues,
            seed=seed,
            guideline=text,
            overlap=overlap,
            n_raters=n_raters,
            repeat_share=repeat_share,
            known_bad=known_bad,
            cue_kind=cue_kind,
        )
    click.echo(json.dumps(vars(summary), indent=2) if form == "json" else summary.to_text())
    click.echo(f"next: cuebench review assign --db {db} {slug} --reviewer NAME", err=True)


def _read_text(url: str) -> str:
    from data_manifests.errors import CuebenchError
    from data_manifests.storage import read_bytes

    try:
        return read_bytes(url).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CuebenchError(f"{url}: not a text in UTF-8 (byte {error.start})") from error


@review_group.command(
    epilog="Example: cuebench review assign --db review.db first --reviewer ada@example.org --reviewer bo"
)
@DATABASE
@click.argument("slug")
@click.option("--reviewer", "reviewers", multiple=True, metavar="NAME", help="Who joins; repeat it.")
@click.option(
    "--release", multiple=True, metavar="NAME", help="Who leaves: their open work goes to the others."
)
@FORMAT
def assign(db: str, slug: str, reviewers: tuple[str, ...], release: tuple[str, ...], form: str) -> None:
    """Deal the pictures of SLUG (a review, or a round of mask picking) to its reviewers, and open it.

    Reviewers who have a queue stay; one who joins gets an even part of what nobody has looked at. A NAME is what the
    sign-in says: an e-mail address, or the name of a proxy's user.
    """
    from dataclasses import asdict

    from curation.database import open_store
    from curation.review_queue import assign as deal

    with closing(open_store(db, create=False)) as store:
        summary = deal(store, slug, reviewers, release=release)
    click.echo(json.dumps(asdict(summary), indent=2) if form == "json" else summary.to_text())
    click.echo(f"next: cuebench annotate --db {db}", err=True)


@review_group.command(epilog="Example: cuebench review status --db review.db first --format json")
@DATABASE
@click.argument("slug")
@FORMAT
def status(db: str, slug: str, form: str) -> None:
    """Say where the review SLUG stands: verdicts per class and reviewer, splits, stale verdicts, reasons."""
    from curation.database import open_store
    from curation.review_status import review_status

    with closing(open_store(db, create=False)) as store:
        found = review_status(store, slug)
    click.echo(json.dumps(found.to_json(), indent=2) if form == "json" else found.to_text())


@review_group.command(
    epilog="Example: cuebench review rank --db review.db first --miss-rate 0.02 --out rank.csv"
)
@DATABASE
@click.argument("slug")
@click.option(
    "--miss-rate",
    default=0.05,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="The share of proposals that is put up with to be wrong: that people would answer the other way.",
)
@click.option(
    "--model",
    metavar="SPEC",
    help="A classifier that looks at the cues too, as of `evaluate --model`; it is not to be scored on them later.",
)
@click.option("--weights", default=".", metavar="DIR", help="Where its files of weights lie; default: here.")
@click.option("--taxonomy", default="refined-bias-20", show_default=True, metavar="NAME|FILE")
@click.option("--keep-order", is_flag=True, help="Only report: change no queue.")
@click.option("--out", metavar="FILE", help="A CSV of the proposals for the cues that wait.")
@click.option("--figure", metavar="FILE", help="A picture of calibration and savings, .png or .svg.")
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@FORMAT
def rank(
    db: str,
    slug: str,
    miss_rate: float,
    model: str | None,
    weights: str,
    taxonomy: str,
    keep_order: bool,
    out: str | None,
    figure: str | None,
    force: bool,
    form: str,
) -> None:
    """Show the doubtful cues of SLUG first, and say how many looks proposals would save.

    Once there are enough verdicts, a small model estimates for each cue the chance that it is accepted, by its numbers
    and flags. The queues begin with what that is least sure of; no verdict is given, and nothing is released by it.
    Call it again as verdicts come in, and after `assign`.
    """
    from curation.database import open_store
    from curation.sieve import rank_review
    from curation.sieve_cases import Classifier
    from curation.sieve_report import figure_form, write_figure, write_proposals
    from generation.progress import progress_bar

    places = [place for place in (out, figure) if place is not None]
    _check_free(places, force)
    if figure is not None:
        figure_form(figure)
        if figure == out:
            raise click.UsageError(f"--out and --figure name the same file, {out}")
    with closing(open_store(db, create=False)) as store, ExitStack() as stack:
        bar = cache(
            lambda: stack.enter_context(progress_bar("look at cues", "cue"))
        )  # none if none is looked at
        report = rank_review(
            store,
            slug,
            miss_rate=miss_rate,
            classifier=Classifier(model, taxonomy, weights) if model else None,
            keep_order=keep_order,
            show=lambda n_done, n_all: bar()(n_done, n_all),
        )
    click.echo(json.dumps(report.to_json(), indent=2) if form == "json" else report.to_text())
    if out is not None:
        write_proposals(out, report)
    if figure is not None:
        write_figure(figure, report)
    if places:
        click.echo(f"wrote {', '.join(places)}", err=True)


def _check_free(places: list[str], force: bool) -> None:
    from data_manifests.errors import CuebenchError
    from data_manifests.storage import exists

    for place in places:
        if exists(place) and not force:
            raise CuebenchError(
                f"{place}: there is already a file; choose another name, or overwrite it with --force"
            )


@review_group.group(epilog="Example: cuebench review masks import --db review.db masks run")
def masks() -> None:
    """Have people pick the mask of each photograph of a run, then render it again from their picks."""


@masks.command(
    "import", epilog="Example: cuebench review masks import --db review.db masks run --review first"
)
@DATABASE
@click.argument("slug")
@click.argument("run")
@click.option("--review", metavar="SLUG", help="Only photographs with a cue that this review rejected.")
@KIND
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0, 2**31 - 1))
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Processes.")
@FORMAT
def import_masks_command(
    db: str,
    slug: str,
    run: str,
    review: str | None,
    cue_kind: CueKind | None,
    seed: int,
    workers: int,
    form: str,
) -> None:
    """Put the photographs of RUN with their candidate masks into the campaign SLUG.

    The candidates are found again by the segmenters of the run's recipe, and stored in RUN/candidates.
    """
    from curation.database import open_store
    from curation.mask_picks import import_masks
    from generation.executors import executor_for

    executor = executor_for("process" if workers > 1 else "serial", workers)
    with closing(open_store(db)) as store:
        summary = import_masks(
            store, slug, run, review=review, cue_kind=cue_kind, seed=seed, executor=executor
        )
    click.echo(json.dumps(vars(summary), indent=2) if form == "json" else summary.to_text())
    click.echo(f"next: cuebench review assign --db {db} {slug} --reviewer NAME", err=True)


@masks.command(epilog="Example: cuebench review masks picks --db review.db masks --out picks/masks.jsonl")
@DATABASE
@click.argument("slug")
@click.option("--out", required=True, metavar="FILE", help="The manifest of picks; the masks go beside it.")
@click.option(
    "--segmenter",
    metavar="NAME",
    help="What makes a mask of a drawn box: grabcut or sam:CHECKPOINT. Default: the SAM of the run's recipe where "
    "it is installed, grabcut otherwise.",
)
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@FORMAT
def picks(db: str, slug: str, out: str, segmenter: str | None, force: bool, form: str) -> None:
    """Write the masks that people picked in SLUG, for `cuebench generate --masks FILE`."""
    from curation.database import open_store
    from curation.mask_picks import write_picks

    _check_free([out], force)
    with closing(open_store(db, create=False)) as store:
        summary = write_picks(store, slug, out, segmenter=segmenter)
    click.echo(json.dumps(vars(summary), indent=2) if form == "json" else summary.to_text())
    click.echo(f"wrote {out}; render with it: cuebench generate RECIPE ... --masks {out}", err=True)


review_group.add_command(review_export)
review_group.add_command(review_import_verdicts)
