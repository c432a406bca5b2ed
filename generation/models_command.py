"""The verb `models`."""

from __future__ import annotations

import json

import click


@click.group("models", epilog="Example: cuebench models fetch u2netp")
def models_group() -> None:
    """List, fetch and verify segmentation models.

    They are those of rembg, in rembg's own folder, and run on this machine only.
    """


@models_group.command("list", epilog="Example: cuebench models list")
@click.option("--format", "form", default="text", show_default=True, type=click.Choice(["text", "json"]))
def list_models(form: str) -> None:
    """List the models, best first, with their licences and whether they are installed."""
    from generation.models import best_available, known_models

    rows = [
        {
            "name": model.name,
            "license": model.license,
            "commercial_use": not model.non_commercial,
            "installed": model.installed,
            "path": str(model.path),
        }
        for model in known_models().values()
    ]
    if form == "json":
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        state = "installed" if row["installed"] else "-"
        licence = f"{row['license']}{'' if row['commercial_use'] else ' (no commercial use)'}"
        click.echo(
            f"{row['name']:24}{licence:48}{state:12}{row['path'] if row['installed'] else ''}".rstrip()
        )
    click.echo(f"used where a recipe names none: {', then '.join(best_available())}")


@models_group.command(epilog="Example: cuebench models fetch u2netp")
@click.argument("name")
@click.option("--force", is_flag=True, help="Fetch it again if it is there.")
def fetch(name: str, force: bool) -> None:
    """Download the model NAME into rembg's folder and check its digest."""
    from generation.models import checked_path, fetch_model, model_named

    model = model_named(name)
    note = "; no commercial use" if model.non_commercial else ""
    click.echo(f"{name}: licence {model.license}{note}", err=True)
    if model.installed and not force:
        click.echo(checked_path(model))
        return
    click.echo(f"{name}: fetching; it may take a minute", err=True)
    click.echo(fetch_model(model))


@models_group.command(epilog="Example: cuebench models verify")
@click.option("--format", "form", default="text", show_default=True, type=click.Choice(["text", "json"]))
@click.pass_context
def verify(ctx: click.Context, form: str) -> None:
    """Check the digest of every installed model; exit code 3 if one is wrong."""
    from generation.models import has_digest, known_models

    rows = {
        model.name: has_digest(model.path, model.digest)
        for model in known_models().values()
        if model.installed
    }
    if form == "json":
        click.echo(json.dumps(rows, indent=2))
    else:
        for name, intact in rows.items():
            state = "intact" if intact else f"DAMAGED; run: cuebench models fetch {name} --force"
            click.echo(f"{name}: {state}")
        if not rows:
            click.echo("no model is installed; run: cuebench models fetch u2netp")
    if not all(rows.values()):
        ctx.exit(3)
