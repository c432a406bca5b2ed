"""The verb `demo`: photographs in, a release out; the people are made by a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from curation.database import Store

REVIEWERS = ("first@example.org", "second@example.org")
YOU, YOUR_REVIEW = "you", "yours"
APP_URL = "http://127.0.0.1:8501"  # where `annotate` listens by default
SEED = 1


@click.command(epilog="Example: cuebench demo --out demo")
@click.option("--out", default="demo", show_default=True, metavar="DIR", help="The folder to make.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Processes.")
@click.option("--force", is_flag=True, help="Replace what an earlier demo left in DIR.")
@click.pass_context
def demo(ctx: click.Context, out: str, workers: int, force: bool) -> None:
    """Run the whole path on photographs that scikit-image ships; nothing is downloaded.

    Cues are rendered, reviewed, named by participants, gated, released and verified. The people are simulated, and
    everything that rests on their answers says so. Every step is printed as the command that does it.
    """
    from curation.gate_command import gate
    from curation.release_commands import release
    from curation.verify_command import verify
    from data_manifests import storage
    from generation.demo_command import demo as render_demo
    from generation.demo_command import print_step

    names = ("run", "study.db", "report.html", "release")
    run, database, report, published = (storage.join(out, name) for name in names)
    ctx.invoke(render_demo, out=out, workers=workers, force=force)
    _forget(database, published)
    _simulate(f"sqlite:///{database}", run)
    options = "--review cues --rules demo --simulated"
    manifest = storage.join(run, "cues.jsonl")
    print_step(f"cuebench gate --db {database} --manifest {manifest} {options} --html {report}")
    same = {"db": database, "review": "cues", "rules": "demo", "simulated": True}
    _run(ctx, gate, manifest=manifest, html=report, **same)
    print_step(f"cuebench release --db {database} --run {run} {options} --version 0.1.0 --out {published}")
    _run(ctx, release, run=run, number="0.1.0", out=published, **same)
    print_step(f"cuebench verify {published}")
    _run(ctx, verify, folder=published)
    click.echo("\nOpen in a browser:")
    for page in (storage.join(run, "gallery.html"), report):
        click.echo(f"  {storage.local_path(page).resolve()}")
    click.echo(f"\nReview the cues yourself, in the review `{YOUR_REVIEW}`:")
    click.echo(f"  cuebench annotate --db {database}")
    click.echo(f"  then open {APP_URL}/?reviewer={YOU}")
    click.echo(f"  cuebench review status {YOUR_REVIEW} --db {database}    # how far you are")


def _run(ctx: click.Context, command: click.Command, **options: object) -> None:
    """Run a verb; only a check that does not hold ends the demo."""
    try:
        ctx.invoke(command, **options)
    except click.exceptions.Exit as ended:
        if ended.exit_code != 0:
            raise


def _forget(database: str, published: str) -> None:
    """Remove what an earlier demo left."""
    from data_manifests import storage

    for suffix in ("", "-wal", "-shm"):
        storage.local_path(f"{database}{suffix}").unlink(missing_ok=True)
    storage.remove_tree(published)


def _simulate(url: str, run: str) -> None:
    from curation.database import open_store
    from curation.protocol import read_protocol
    from curation.review import assign, import_review
    from curation.simulation import simulate_review, simulate_study
    from curation.study import plan_study
    from generation.demo_command import print_step

    store: Store = open_store(url)
    database = url.removeprefix("sqlite:///")
    print_step(f"cuebench review import cues {run} --db {database} --overlap 1")
    click.echo(import_review(store, "cues", run, overlap=1.0).to_text())
    assign(store, "cues", list(REVIEWERS))
    n_verdicts = simulate_review(store, "cues", REVIEWERS)
    click.echo(f"SIMULATED: {len(REVIEWERS)} reviewers made by a program gave {n_verdicts} verdicts")
    print_step(f"cuebench study plan people --cues {run} --protocol demo --review cues --db {database}")
    plan = plan_study(store, "people", run, read_protocol("demo"), seed=SEED, review="cues")
    click.echo(plan.to_text())
    n_finished = simulate_study(store, "people", plan.n_participants, SEED)
    click.echo(f"SIMULATED: {n_finished} participants made by a program took part")
    # a review of their own for the person who tries the demo
    import_review(store, YOUR_REVIEW, run)
    assign(store, YOUR_REVIEW, [YOU])
    store.close()
