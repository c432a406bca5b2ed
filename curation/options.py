"""Options that several verbs share."""

from __future__ import annotations

import click

DATABASE = click.option(
    "--db",
    required=True,
    metavar="URL",
    help="The database: a SQLite file, sqlite:///FILE or postgresql://...",
)
FORMAT = click.option(
    "--format", "form", default="text", show_default=True, type=click.Choice(["text", "json"])
)
