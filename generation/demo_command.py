"""The verb `demo`: the whole path on photographs that scikit-image ships."""

from __future__ import annotations

from typing import NamedTuple

import click

Box = tuple[int, int, int, int]


class DemoPhotograph(NamedTuple):
    """A photograph of scikit-image: its class, and the box of its object (None: it fills the frame)."""

    superclass: str
    name: str
    box: Box | None
    author: str


# Those of which GrabCut cuts out the whole object; all of them are CC0-1.0.
PHOTOGRAPHS = (
    DemoPhotograph("brick", "brick.png", None, "cc0textures.com"),
    DemoPhotograph("coffee_cup", "coffee.png", (30, 20, 570, 380), "R. Michetti"),
    DemoPhotograph("grass", "grass.png", None, "linolafett"),
    DemoPhotograph("gravel", "gravel.png", None, "cc0textures.com"),
    DemoPhotograph("horse", "horse.png", (18, 9, 389, 313), "A. Preuss"),
    DemoPhotograph("rocket", "rocket.jpg", (300, 110, 345, 405), "SpaceX"),
)


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
    if storage.exists(out) and not (force and storage.exists(sources)):
        hint = "it holds no demo" if force else "or --force to replace the demo in it"
        raise CuebenchError(f"{out}: already there; choose another --out, {hint}")
    for name in (photos, run, storage.join(out, "masks")):
        storage.remove_tree(name)
    provenance = _write_photographs(photos)
    click.echo(f"{len(PHOTOGRAPHS)} photographs of scikit-image, in {photos}")
    described = f"--taxonomy demo --provenance {provenance} --target 1"
    print_step(f"cuebench ingest {photos} {described} --out {sources} --force")
    ctx.invoke(
        ingest, photos=photos, taxonomy="demo", provenance=provenance, out=sources, target=1, force=True
    )
    masks = _pick_masks(out, sources)
    click.echo(f"\nMasks from a box around each object, drawn by hand, in {masks}")
    print_step(
        f"cuebench generate refined-bias --sources {sources} --masks {masks} --out {run} --workers {workers}"
    )
    ctx.invoke(generate, recipe="refined-bias", sources=sources, masks=masks, out=run, workers=workers)
    print_step(f"cuebench gallery {run}")
    ctx.invoke(gallery, run=run, classes=())
    page = storage.join(run, "gallery.html")
    click.echo(
        f"\nOpen it in a browser: {storage.local_path(page).resolve() if storage.is_local(page) else page}"
    )


def print_step(command: str) -> None:
    """Print a command as if it had been typed."""
    click.secho(f"\n$ {command}", bold=True)


def _write_photographs(photos: str) -> str:
    """Copy the photographs into folders of their classes; return the CSV that says where they come from."""
    import csv
    import io
    from importlib.resources import files

    from data_manifests import storage

    data = files("skimage").joinpath("data")
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["file_name", "origin", "source_item", "author", "license_spdx", "redistributable"])
    for photograph in PHOTOGRAPHS:
        name = f"{photograph.superclass}/{photograph.name}"
        storage.write_bytes(storage.join(photos, name), data.joinpath(photograph.name).read_bytes())
        writer.writerow([name, "scikit-image", photograph.name, photograph.author, "CC0-1.0", "yes"])
    provenance = storage.join(photos, "provenance.csv")
    storage.write_bytes(provenance, table.getvalue().encode())
    return provenance


def _pick_masks(out: str, sources: str) -> str:
    """Write the mask of every photograph; return the manifest of picks."""
    from data_manifests import storage
    from data_manifests.jsonl import read_records, write_records
    from data_manifests.records import MaskRecord, SourceRecord
    from generation.masks import MaskCandidate, encode_mask, mask_sha256
    from generation.outcome import Unavailable
    from generation.photograph import decode_photograph
    from generation.segmenters.fullframe import FullFrameSegmenter
    from generation.segmenters.grabcut import GrabCutSegmenter

    by_name = {f"{photograph.superclass}/{photograph.name}": photograph for photograph in PHOTOGRAPHS}
    picks = []
    for source in read_records(sources, SourceRecord):
        known = by_name["/".join(source.file_name.split("/")[-2:])]
        data = storage.read_bytes(storage.join(storage.parent(sources), source.file_name))
        photograph = decode_photograph(data, source.file_name)
        if isinstance(photograph, Unavailable):
            continue
        segmenter = GrabCutSegmenter(box=known.box) if known.box else FullFrameSegmenter()
        candidates: list[MaskCandidate] = segmenter.propose(photograph)
        mask = candidates[-1].mask
        name = f"masks/{known.superclass}.png"
        storage.write_bytes(storage.join(out, name), encode_mask(mask))
        picks.append(
            MaskRecord(
                source_id=source.source_id,
                cue_kind=source.cue_kind,
                mask_sha256=mask_sha256(mask),
                file_name=name,
                segmenter=segmenter.name,
                reason="from a box drawn by hand" if known.box else "fills the frame",
            )
        )
    manifest = storage.join(out, "masks.jsonl")
    write_records(manifest, picks)
    return manifest
