"""Renders the cues of real photographs, lets a classifier judge them, and measures what they leak.

The project's own cues stand beside those of others of the same photographs and masks (Canny edges, shuffled crops),
published cues of the same classes, and the photographs themselves.

Run: python -m benchmarks.cue_quality --photos DIR --published DIR [--half tune]
"""

from __future__ import annotations

import json
import logging
import sys
from collections import Counter
from dataclasses import asdict

import click
import cv2

from benchmarks.cue_quality import table
from benchmarks.cue_quality.judge import Judge, judge_cues
from benchmarks.cue_quality.measurement import all_cues, judge_blurred, measure_cues, published_cues
from benchmarks.cue_quality.photographs import read_right_masks, render_photos
from benchmarks.cue_quality.sheet import write_sheets
from data_manifests.errors import CuebenchError
from data_manifests.storage import join, write_bytes
from data_manifests.taxonomy import read_taxonomy
from generation.progress import progress_bar
from generation.recipe import read_recipe


@click.command()
@click.option("--photos", required=True, metavar="DIR", help="Photographs, a folder for each class.")
@click.option("--published", metavar="DIR", help="Cues of others, <kind>/<class>/*.png.")
@click.option(
    "--model", "spec", metavar="SPEC", help="As `cuebench evaluate` takes it; default: EfficientNet-Lite0."
)
@click.option("--recipe", default="refined-bias", show_default=True, help="A .toml file or a shipped name.")
@click.option(
    "--taxonomy", default="refined-bias-20", show_default=True, help="A .toml file or a shipped name."
)
@click.option(
    "--masks", metavar="FILE", help="Picked masks (a masks.jsonl), as `cuebench generate` takes them."
)
@click.option("--right-masks", metavar="CSV", help="Columns file_name, right: which masks show the object.")
@click.option("--half", default="tune", show_default=True, type=click.Choice(["tune", "report", "all"]))
@click.option(
    "--out", default="cue-quality", show_default=True, metavar="DIR", help="Run, pictures, sheets, JSON."
)
def main(
    photos: str,
    published: str | None,
    spec: str | None,
    recipe: str,
    taxonomy: str,
    masks: str | None,
    right_masks: str | None,
    half: str,
    out: str,
) -> None:
    """Print how well cues are recognised and what they leak; write contact sheets and every cue's numbers."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    cv2.setNumThreads(1)
    known, chosen = read_taxonomy(taxonomy), read_recipe(recipe)
    right = read_right_masks(right_masks) if right_masks else None
    judge = Judge(spec or _lite0(), known)
    taken = render_photos(photos, known, chosen, join(out, "run"), half=half, picks_url=masks)
    with progress_bar("peers", "photo") as show:
        cues = list(all_cues(taken, chosen.side_px, out, show))
    if published:
        cues += published_cues(published, {(p.source.cue_kind, p.source.superclass) for p in taken})
    with progress_bar("measure", "cue") as show:
        cues = measure_cues(cues, out, show)
    with progress_bar("judge", "cue") as show:
        cues = judge_cues(judge, cues, show)
    with progress_bar("judge low-pass", "cue") as show:
        cues = judge_blurred(judge, cues, out, show)
    masks_of = ", ".join(f"{name} {n}" for name, n in Counter(p.segmenter for p in taken).most_common())
    print(f"{judge.model.name}\nhalf: {half}, {len(taken)} photographs; masks: {masks_of}\n")
    for lines in (table.recognition(cues, right), table.numbers(cues, chosen), table.worst(cues)):
        print("\n".join(lines))
    content = {
        "model": judge.model.name,
        "half": half,
        "recipe": chosen.name,
        "cues": [asdict(c) for c in cues],
    }
    write_bytes(join(out, "cues.json"), json.dumps(content, indent=1).encode())
    print("\n".join(["", join(out, "cues.json"), *write_sheets(taken, cues, out)]))


def _lite0() -> str:
    from tests.evaluation.lite0 import lite0_spec

    return lite0_spec()


if __name__ == "__main__":
    try:
        main()
    except CuebenchError as error:
        sys.exit(f"cue_quality: {error}")
