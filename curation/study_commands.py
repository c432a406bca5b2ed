"""The verb `study`: protocol, plan, invite, status, screen, withdraw, top-up."""

from __future__ import annotations

import csv
import json
import sys
from typing import TYPE_CHECKING, Any, Protocol

import click

from curation.exchange_commands import study_export, study_import
from curation.options import DATABASE, FORMAT

if TYPE_CHECKING:
    from curation.database import Store


class Summary(Protocol):
    """What a command prints."""

    def to_text(self) -> str:
        """Return lines for people."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        ...


def _say(summary: Summary, form: str) -> None:
    click.echo(json.dumps(summary.to_json(), indent=2) if form == "json" else summary.to_text())


def _open(db: str) -> Store:
    from curation.database import open_store

    return open_store(db, create=False)


@click.group(epilog="Example: cuebench study plan fall --cues run --db study.db")
def study() -> None:
    """Plan and run a forced-choice study: participants say what each cue shows."""


@study.command(epilog="Example: cuebench study protocol pilot > mine.toml")
@click.argument("name", metavar="NAME|FILE")
def protocol(name: str) -> None:
    """Print the protocol NAME with every key written out: to read it, or to make one of your own."""
    from curation.protocol import read_protocol

    click.echo(read_protocol(name).to_toml(), nl=False)


@study.command(
    epilog="Example: cuebench study plan fall --cues run --protocol pilot --review cues-1 --db study.db"
)
@click.argument("slug")
@click.option(
    "--cues", required=True, metavar="RUN", help="A run folder, its cues.jsonl, or a folder of cues."
)
@DATABASE
@click.option(
    "--protocol",
    "protocol_name",
    default="default",
    show_default=True,
    metavar="NAME|FILE",
    help="default, precision, coverage, pilot, crew, demo, or a .toml file.",
)
@click.option("--review", metavar="SLUG", help="Show only cues that this review accepted.")
@click.option(
    "--catch", metavar="FILE", help="The sources.jsonl of the catch trials; default: beside the cues."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0, 2**31 - 1))
@FORMAT
def plan(
    slug: str,
    cues: str,
    db: str,
    protocol_name: str,
    review: str | None,
    catch: str | None,
    seed: int,
    form: str,
) -> None:
    """Choose images, deal them to participants, and store the design of the study SLUG.

    The protocol, its texts and its rules of exclusion are stored and hashed with the study; changing them needs
    a new one.
    """
    from curation.database import open_store
    from curation.protocol import read_protocol
    from curation.study import plan_study

    chosen = read_protocol(protocol_name)
    store = open_store(db, create=review is None)
    _say(plan_study(store, slug, cues, chosen, seed=seed, review=review, catch_url=catch), form)
    click.echo(f"next: cuebench study invite {slug} --n N --base-url URL --db {db}", err=True)


@study.command(
    epilog="Example: cuebench study invite fall --n 98 --base-url https://cues.example.org --db study.db"
)
@click.argument("slug")
@click.option("--n", required=True, type=click.IntRange(1, 10_000), help="How many participants.")
@click.option("--base-url", required=True, metavar="URL", help="Where `cuebench annotate` is reached.")
@DATABASE
def invite(slug: str, n: int, base_url: str, db: str) -> None:
    """Make participants and print a CSV of their code and link; each link is shown this once."""
    from curation.study import invite as make_invitations
    from curation.study_places import places

    store = _open(db)
    links = make_invitations(store, slug, n, base_url)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["code", "link"])
    writer.writerows(links)
    click.echo("keep the links: they are not stored, and can't be shown again", err=True)
    found = places(store, slug)
    if found.n_invited > found.n_invitations:
        click.echo(
            f"{found.n_invited} people are invited now, {found.n_invitations} are planned for {found.n_places} places: "
            "who comes late finds the study full",
            err=True,
        )


@study.command(epilog="Example: cuebench study status fall --db study.db")
@click.argument("slug")
@DATABASE
@FORMAT
def status(slug: str, db: str, form: str) -> None:
    """Show how many participants and slots are in which state, and how many ratings the images have.

    Slots of participants who stayed away for longer than the protocol allows are freed first.
    """
    from curation.study import expire_leases
    from curation.study_staff import study_status

    store = _open(db)
    n_expired = expire_leases(store, slug)
    if n_expired:
        click.echo(f"{n_expired} participants stayed away; their places are free", err=True)
    _say(study_status(store, slug), form)


@study.command(epilog="Example: cuebench study screen fall --db study.db")
@click.argument("slug")
@click.option(
    "--rules",
    metavar="NAME|FILE",
    help="Other rules than the protocol's: to see what they would do; not stored.",
)
@DATABASE
@FORMAT
def screen(slug: str, rules: str | None, db: str, form: str) -> None:
    """Flag the raters who meet a pre-registered rule of exclusion; nothing is deleted, agreement is not looked at."""
    from curation.screening import read_exclusions
    from curation.study_staff import screen_study

    _say(screen_study(_open(db), slug, read_exclusions(rules) if rules else None), form)


@study.command(epilog="Example: cuebench study withdraw 7K3QXW2M --reason 'by mail, 3 May' --db study.db")
@click.argument("code")
@click.option("--reason", default="", help="Kept with the withdrawal; no names.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@DATABASE
def withdraw(code: str, reason: str, yes: bool, db: str) -> None:
    """Remove the answers of the participant with this CODE, at their wish; their place is free again.

    An invitation that nobody has used ends in the same way.
    """
    from curation.study_withdrawal import who_withdraws
    from curation.study_withdrawal import withdraw as remove

    store = _open(db)
    who = who_withdraws(store, code)
    if who.withdrawn_at is not None:
        click.echo(f"{who.code}: already withdrawn, at {who.withdrawn_at}; nothing is left to remove")
        return
    if not yes:
        click.confirm(f"Remove all answers of {who.to_text()} for good?", abort=True)
    n_redacted = remove(store, code, reason)
    click.echo(f"{who.code}: withdrawn, {n_redacted} events redacted")


@study.command("top-up", epilog="Example: cuebench study top-up fall --db study.db")
@click.argument("slug")
@click.option("--ratings", type=click.IntRange(min=1), help="Ratings that every image is to reach.")
@DATABASE
def top_up(slug: str, ratings: int | None, db: str) -> None:
    """Add places until every image can reach the protocol's minimum of ratings that count."""
    from curation.study import expire_leases
    from curation.study import top_up as add_slots

    store = _open(db)
    expire_leases(store, slug)
    click.echo(add_slots(store, slug, ratings).to_text())


study.add_command(study_export)
study.add_command(study_import)
