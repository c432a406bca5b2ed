"""The verb `peers`."""

from __future__ import annotations

import json
from collections import Counter

import click


@click.command(
    epilog="Example: cuebench peers tartaglini --sources sources.jsonl --masks run/masks.jsonl --out peers"
)
@click.argument("system")
@click.option("--sources", required=True, metavar="FILE", help="The manifest that `ingest` wrote.")
@click.option("--masks", metavar="FILE", help="Masks: the masks.jsonl of a run, or picked ones.")
@click.option("--photos", metavar="DIR", help="The base of the file names; default: the manifest's folder.")
@click.option("--out", required=True, metavar="DIR", help="The folder to make, with a stimuli.jsonl in it.")
@click.option(
    "--side", default=224, show_default=True, type=click.IntRange(224, 2048), help="A multiple of 16, in px."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@click.option("--limit", type=click.IntRange(min=1), help="Use N photographs only, spread over the classes.")
@click.option("--force", is_flag=True, help="Replace the stimuli.jsonl in DIR.")
@click.option("--format", "form", default="text", show_default=True, type=click.Choice(["text", "json"]))
def peers(
    system: str,
    sources: str,
    masks: str | None,
    photos: str | None,
    out: str,
    side: int,
    seed: int,
    limit: int | None,
    force: bool,
    form: str,
) -> None:
    """Render the stimuli of another SYSTEM: burgert, conflict, dist, mohla or tartaglini.

    For a comparison on the same photographs. A stimulus that can't be had is a row of stimuli.jsonl with its
    reason. Exit code 1 if none could be rendered at all.
    """
    from data_manifests import storage
    from data_manifests.errors import CuebenchError
    from data_manifests.jsonl import write_records
    from data_manifests.manifests import read_manifest
    from data_manifests.records import OK, MaskRecord, SourceRecord
    from generation.commands import spread_over_classes
    from generation.peers.stimuli import MANIFEST, StimulusSources, records_for, write_stimuli
    from generation.peers.systems import find_system

    if find_system(system).needs_mask and masks is None:
        raise CuebenchError(f"{system} needs the masks of the photographs: name them with --masks")
    manifest = storage.join(out, MANIFEST)
    if storage.exists(manifest) and not force:
        raise CuebenchError(f"{manifest}: already there; choose another --out, or --force to replace it")
    records = read_manifest(sources, SourceRecord, "--sources")
    picks = read_manifest(masks, MaskRecord, "--masks") if masks else []
    folder = StimulusSources(
        records=records,
        picks={(pick.source_id, pick.cue_kind): pick for pick in picks},
        photos=photos or storage.parent(sources),
        masks=storage.parent(masks) if masks else "",
    )
    chosen = records_for(system, records)
    if limit is not None:
        chosen = spread_over_classes(chosen, limit)
    rows = [row for record in chosen for row in write_stimuli(system, folder, record, out, side, seed)]
    write_records(manifest, rows)
    counts = Counter(row.status for row in rows)
    summary = {
        "system": system,
        "n_sources": len({row.parent_source_ids[0] for row in rows}),
        "n_ok": counts.pop(OK, 0),
        "failed": dict(sorted(counts.items())),
    }
    click.echo(json.dumps(summary, indent=2) if form == "json" else _told(summary))
    click.echo(f"wrote {manifest}", err=True)
    if not summary["n_ok"]:
        raise CuebenchError(f"{out}: no stimulus could be rendered; {MANIFEST} says why, row by row")


def _told(summary: dict[str, object]) -> str:
    failed = summary["failed"]
    lines = [f"{summary['system']}: {summary['n_ok']} stimuli of {summary['n_sources']} photographs"]
    lines += [f"  {n} failed: {status}" for status, n in failed.items()] if isinstance(failed, dict) else []
    return "\n".join(lines)
