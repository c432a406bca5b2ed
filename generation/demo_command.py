"""The verb `demo`: the whole path on photographs that scikit-image ships."""

from __future__ import annotations

import click

# superclass -> the photographs of scikit-image that show it
PHOTOGRAPHS = {
    "brick": ("brick",),
    "cat": ("chelsea",),
    "coffee_cup": ("coffee",),
    "grass": ("grass",),
    "gravel": ("gravel",),
    "motorcycle": ("motorcycle_left",),
    "rocket": ("rocket",),
}


@click.command(epilog="Example: cuebench demo --out demo")
@click.option("--out", default="demo", show_default=True, metavar="DIR", help="The folder to make.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Processes.")
@click.option("--force", is_flag=True, help="Replace what an earlier demo left in DIR.")
@click.pass_context
def demo(ctx: click.Context, out: str, workers: int, force: bool) -> None:
    """Run the whole path on photographs that scikit-image ships; nothing is downloaded.

    Ends with a gallery of the cues. Every step is printed as the command that does the same on photographs
    of your own.
    """
    from data_manifests import storage
    from data_manifests.errors import CuebenchError
    from generation.commands import gallery, generate
    from generation.ingest_command import ingest

    photos, sources, run = (storage.join(out, name) for name in ("photos", "sources.jsonl", "run"))
    if storage.exists(out) and not force:
        raise CuebenchError(
            f"{out}: already there; choose another --out, or --force to replace the demo in it"
        )
    for name in (photos, run):
        storage.remove_tree(name)
    _write_photographs(photos)
    _step(f"cuebench ingest {photos} --taxonomy demo --target 1 --out {sources} --force")
    ctx.invoke(ingest, photos=photos, taxonomy="demo", out=sources, target=1, force=True)
    _step(f"cuebench generate refined-bias --sources {sources} --out {run} --workers {workers}")
    ctx.invoke(generate, recipe="refined-bias", sources=sources, out=run, workers=workers)
    _step(f"cuebench gallery {run}")
    ctx.invoke(gallery, run=run)
    page = storage.local_path(storage.join(run, "gallery.html")).resolve() if storage.is_local(run) else run
    click.echo(f"\nOpen it in a browser: {page}")


def _step(command: str) -> None:
    click.secho(f"\n$ {command}", bold=True)


def _write_photographs(photos: str) -> None:
    from importlib.resources import files

    from data_manifests import storage

    data = files("skimage").joinpath("data")
    names = {path.name.partition(".")[0]: path for path in data.iterdir()}
    for superclass, photographs in PHOTOGRAPHS.items():
        for photograph in photographs:
            path = names[photograph]
            storage.write_bytes(storage.join(photos, f"{superclass}/{path.name}"), path.read_bytes())
