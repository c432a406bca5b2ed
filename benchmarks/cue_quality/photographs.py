"""The photographs of the benchmark, their two halves, and the run that renders the project's own cues of them."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.cue_quality.cues import Half
from data_manifests.errors import CuebenchError
from data_manifests.manifests import read_manifest
from data_manifests.records import OK, CueRecord, MaskRecord, SourceRecord
from data_manifests.storage import exists, join, parent, read_bytes, remove_tree
from data_manifests.taxonomy import Taxonomy
from generation.executors import SerialExecutor
from generation.ingest import ingest
from generation.masks import Mask, read_mask
from generation.models import best_available
from generation.outcome import Unavailable
from generation.progress import progress_bar
from generation.recipe import Recipe
from generation.run import generate
from generation.source_cues import RunContext, read_photograph


@dataclass(frozen=True)
class Photo:
    """A photograph with its half and the rows of its own cues."""

    run: str
    source: SourceRecord
    half: Half
    cues: tuple[CueRecord, ...]

    @property
    def name(self) -> str:
        """Class and file name."""
        return f"{self.source.superclass}/{self.source.file_name.rpartition('/')[2]}"

    @property
    def segmenter(self) -> str:
        """Who made the mask of its cues."""
        return (self.cues[0].segmenter if self.cues else None) or "none"

    def image(self) -> npt.NDArray[np.uint8]:
        """Return its pixels, (H, W, 3) uint8."""
        photograph = read_photograph(RunContext(self.run), self.source)
        if isinstance(photograph, Unavailable):
            raise CuebenchError(f"{self.source.file_name}: {photograph.detail}")
        return photograph.image

    def mask(self) -> Mask | None:
        """Return the mask that its cues were made with, (H, W) bool, or None where there was none."""
        name = self.cues[0].mask_file_name if self.cues else None
        return read_mask(read_bytes(join(self.run, name))) if name else None


def split_halves(records: Sequence[SourceRecord]) -> dict[tuple[str, ...], Half]:
    """Return `use_key` -> half: of a class in the order of the SHA-256 of the bytes, every second one is `tune`.

    The first is `report`: a photograph that is alone in its class is never tuned on.
    """
    by_class: dict[tuple[str, str], set[str]] = defaultdict(set)
    for record in records:
        by_class[record.cue_kind, record.superclass].add(record.source_id)
    return {
        (*key, source_id): "tune" if place % 2 else "report"
        for key, ids in by_class.items()
        for place, source_id in enumerate(sorted(ids))
    }


def render_photos(
    photos: str, taxonomy: Taxonomy, recipe: Recipe, run: str, *, half: str, picks_url: str | None
) -> list[Photo]:
    """Return the photographs of a half (`all`: both) with the cues that `generate` made of them in the folder `run`.

    A run that is there is replaced: it may be one of an earlier state of the code.

    Raises
    ------
    CuebenchError
        If there are no photographs, or what `generate` raises.
    """
    with progress_bar("ingest", "file") as show:
        records = ingest(photos, taxonomy, relative_to=run, on_progress=show).records
    halves = split_halves(records)
    chosen = [r for r in records if r.status == OK and half in ("all", halves[r.use_key])]
    if not chosen:
        raise CuebenchError(f"{photos}: no photograph of the half `{half}`; a class needs two to have both")
    if exists(join(run, "recipe.toml")):
        remove_tree(run)
    picks = read_manifest(picks_url, MaskRecord, "--masks") if picks_url else []
    segmenters = recipe.mask.segmenters or tuple(best_available())
    named = recipe.model_copy(update={"mask": recipe.mask.model_copy(update={"segmenters": segmenters})})
    context = RunContext(run, parent(picks_url) if picks_url else "")
    cues = generate(named, chosen, context, SerialExecutor(), picks=picks).cues
    return _with_cues(run, chosen, halves, cues)


def _with_cues(
    run: str,
    records: Sequence[SourceRecord],
    halves: Mapping[tuple[str, ...], Half],
    cues: Sequence[CueRecord],
) -> list[Photo]:
    own: dict[tuple[str, ...], list[CueRecord]] = defaultdict(list)
    for cue in cues:
        own[cue.cue_kind, cue.superclass, *cue.parent_source_ids].append(cue)
    return [Photo(run, r, halves[r.use_key], tuple(own[r.use_key])) for r in records]


def read_right_masks(url: str) -> dict[str, bool]:
    """Return class and file name of a photograph -> whether its mask shows the right object.

    Raises
    ------
    CuebenchError
        If a column is missing, or a value of `right` is none of 1, 0, yes, no, true, false.
    """
    rows = list(csv.DictReader(io.StringIO(read_bytes(url).decode("utf-8-sig"))))
    values = {"1": True, "yes": True, "true": True, "0": False, "no": False, "false": False}
    found = {}
    for number, row in enumerate(rows, 2):
        name, right = row.get("file_name"), (row.get("right") or "").strip().lower()
        if not name or right not in values:
            raise CuebenchError(
                f"{url}: row {number}: expected file_name and right (1, 0, yes, no), got {dict(row)}"
            )
        found["/".join(name.split("/")[-2:])] = values[right]
    return found
