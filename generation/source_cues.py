"""All cues of one photograph: decode, find the mask, render, measure, store."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version

import numpy as np
import numpy.typing as npt

from data_manifests import storage
from data_manifests.errors import CuebenchError
from data_manifests.jsonl import canonical_sha256
from data_manifests.records import OK, CueRecord, MaskRecord, SourceRecord
from generation.cue_files import encode_arrays, encode_png
from generation.hashing import pixel_sha256
from generation.masks import (
    FULL_FRAME,
    MaskChoice,
    Segmenter,
    choose_mask,
    mask_file_name,
    mask_sha256,
    read_mask,
    store_mask,
)
from generation.outcome import Unavailable
from generation.photograph import DecodeLimits, Photograph, decode_photograph
from generation.recipe import Limit, MaskParams, Recipe
from generation.segmenters import segmenter_for
from generation.shape import ShapeCue, render_shape
from generation.texture import TextureCue, render_texture
from generation.texture_source import erode_mask

log = logging.getLogger(__name__)

Image = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]

SOURCE_MISSING, SOURCE_CHANGED = "source_missing", "source_changed"
MASK_UNUSABLE = "mask_unusable"
WORKER_DIED = "worker_died"
# Reasons that another try may not meet: a photograph or mask was moved or replaced, memory was short.
TRIED_AGAIN = (SOURCE_MISSING, SOURCE_CHANGED, MASK_UNUSABLE, WORKER_DIED)

_N_QUALITY_DIGITS = 6


@dataclass(frozen=True)
class RunContext:
    """Where a run reads and writes: the run folder `out`, to which the sources' file names are relative.

    `picks` is the base of the file names of picked masks.
    """

    out: str
    picks: str = ""


@dataclass
class SourceResult:
    """The rows that photographs gave."""

    cues: list[CueRecord] = field(default_factory=list)
    masks: list[MaskRecord] = field(default_factory=list)

    @classmethod
    def joined(cls, parts: Iterable[SourceResult]) -> SourceResult:
        """Return the rows of several results in one."""
        result = cls()
        for part in parts:
            result.cues.extend(part.cues)
            result.masks.extend(part.masks)
        return result

    @property
    def file_names(self) -> Iterator[str]:
        """The files that the rows name, relative to the run folder."""
        for cue in self.cues:
            yield from (name for name in (cue.file_name, cue.origin_file_name) if name)
        yield from (mask.file_name for mask in self.masks if mask.file_name)


@dataclass(frozen=True)
class _Attempt:
    """One cue to render: a row without its outcome."""

    recipe: Recipe
    source: SourceRecord
    grid: int | None
    variant: int | None
    mask: MaskRecord | None = None

    @property
    def digest(self) -> bytes:
        """What names and seeds the cue: pixels, mask, parameters, kind, grid, variant; never an index."""
        parts = (
            "cue-v1",
            self.source.pixel_sha256,
            self.mask and self.mask.mask_sha256,
            self.recipe.params_sha256(self.source.cue_kind),
            self.source.cue_kind,
            self.grid,
            self.variant,
        )
        return hashlib.sha256("|".join(map(str, parts)).encode()).digest()

    @property
    def seed(self) -> int:
        """The 63-bit seed of every random choice in the cue."""
        return int.from_bytes(self.digest[:8], "big") >> 1

    @property
    def cue_id(self) -> str:
        """The identity of the cue: 128 bits, which differ between superclasses that share a photograph."""
        return canonical_sha256([self.digest.hex(), self.source.superclass])[:32]

    def render(self, image: Image, mask: Mask, eroded: Mask | None) -> ShapeCue | TextureCue | Unavailable:
        """Return the cue of a photograph, (H, W, 3) uint8, with what `_eroded` returns for its mask."""
        recipe = self.recipe
        if self.grid is None:
            return render_shape(image, mask, recipe.side_px, recipe.shape)
        return render_texture(image, mask, recipe.side_px, self.grid, self.seed, recipe.texture, eroded)

    def row(self, **outcome: object) -> CueRecord:
        """Return the row of the cue."""
        mask = self.mask
        known: dict[str, object] = {
            "cue_id": self.cue_id,
            "cue_kind": self.source.cue_kind,
            "superclass": self.source.superclass,
            "wnids": self.source.wnids,
            "grid": self.grid,
            "variant": self.variant,
            "parent_source_ids": (self.source.source_id,),
            "mask_sha256": mask and mask.mask_sha256,
            "mask_file_name": mask and mask.file_name,
            "segmenter": mask and mask.segmenter,
            "mask_reason": mask.reason if mask else "",
            "mask_candidates": mask.candidates if mask else (),
            "recipe_sha256": self.recipe.sha256,
            "generator_version": version("cuebench"),
            "seed": self.seed,
        }
        return CueRecord.model_validate({**known, **outcome})


def render_source(
    recipe: Recipe, context: RunContext, source: SourceRecord, pick: MaskRecord | None
) -> SourceResult:
    """Render, measure and store every cue of a photograph; what can't be had is a row with its reason."""
    try:
        return _render_source(recipe, context, source, pick)
    except CuebenchError:
        raise
    except Exception as error:
        # One photograph that trips a fault must not cost the batch: the fault is a row, and is logged whole.
        log.exception("%s: unexpected failure", source.file_name)
        return failed_source(recipe, source, "internal_error", f"{type(error).__name__}: {error}")


def _render_source(
    recipe: Recipe, context: RunContext, source: SourceRecord, pick: MaskRecord | None
) -> SourceResult:
    photograph = read_photograph(context, source)
    if isinstance(photograph, Unavailable):
        return failed_source(recipe, source, photograph.status, photograph.detail)
    found = _find_mask(recipe.mask, context, source, photograph, pick)
    if isinstance(found, Unavailable):
        return failed_source(recipe, source, found.status, found.detail)
    mask, row = found
    if isinstance(mask, Unavailable):
        failed = failed_source(recipe, source, mask.status, mask.detail, row)
        return SourceResult(failed.cues, [row])
    eroded = _eroded(source, mask)
    cues = [
        _render_cue(context, attempt, photograph, mask, eroded) for attempt in _attempts(recipe, source, row)
    ]
    return SourceResult(cues, [row])


def failed_source(
    recipe: Recipe, source: SourceRecord, status: str, detail: str, mask: MaskRecord | None = None
) -> SourceResult:
    """Return a failure row for every cue that the photograph should have given."""
    attempts = _attempts(recipe, source, mask)
    return SourceResult([attempt.row(status=status, status_detail=detail) for attempt in attempts])


def _attempts(recipe: Recipe, source: SourceRecord, mask: MaskRecord | None) -> list[_Attempt]:
    if source.cue_kind == "shape":
        return [_Attempt(recipe, source, None, None, mask)]
    return [
        _Attempt(recipe, source, grid, variant, mask)
        for grid in recipe.grids
        for variant in range(recipe.n_variants)
    ]


def read_photograph(context: RunContext, source: SourceRecord) -> Photograph | Unavailable:
    """Return the decoded photograph of a source, or why there is none (gone, changed, unreadable)."""
    url = storage.join(context.out, source.file_name)
    try:
        data = storage.read_bytes(url)
    except CuebenchError as error:
        return Unavailable(
            SOURCE_MISSING, f"{error}; --photos names the folder that file names are relative to"
        )
    if hashlib.sha256(data).hexdigest() != source.source_id:
        return Unavailable(SOURCE_CHANGED, f"{url}: not the bytes of the manifest; run `ingest` again")
    return decode_photograph(data, source.file_name, DecodeLimits())


def _find_mask(
    params: MaskParams,
    context: RunContext,
    source: SourceRecord,
    photograph: Photograph,
    pick: MaskRecord | None,
) -> tuple[Mask | Unavailable, MaskRecord] | Unavailable:
    """Return the mask (or why there is none) with its row, stored in the run folder."""
    if pick is not None:
        picked = read_pick(context, photograph, pick)
        if isinstance(picked, Unavailable):
            return picked
        return picked, _store_mask(context, pick, picked)
    choice = _segment(params, source, photograph)
    row = MaskRecord(
        source_id=source.source_id,
        cue_kind=source.cue_kind,
        mask_sha256=None,
        file_name=None,
        segmenter=", ".join(params.segmenters),
    )
    if isinstance(choice, Unavailable):
        return choice, row
    row = row.model_copy(
        update={
            "segmenter": choice.segmenter,
            "reason": choice.reason,
            "candidates": tuple(_rounded(scores) for scores in choice.scores),
            "flags": choice.flags,
        }
    )
    return choice.mask, _store_mask(context, row, choice.mask)


def _segment(params: MaskParams, source: SourceRecord, photograph: Photograph) -> MaskChoice | Unavailable:
    try:
        candidates = [
            candidate for segmenter in load_segmenters(params) for candidate in segmenter.propose(photograph)
        ]
    except CuebenchError as error:
        return Unavailable(MASK_UNUSABLE, str(error))
    only_frame = set(params.segmenters) == {FULL_FRAME}
    return choose_mask(candidates, source.cue_kind, only_frame=only_frame)


@cache
def load_segmenters(params: MaskParams) -> tuple[Segmenter, ...]:
    """Return the segmenters of a recipe; a process loads its models once."""
    return tuple(
        segmenter_for(name, accept_non_commercial=params.accept_non_commercial) for name in params.segmenters
    )


def _store_mask(context: RunContext, row: MaskRecord, mask: Mask) -> MaskRecord:
    digest = store_mask(context.out, mask)
    return row.model_copy(update={"mask_sha256": digest, "file_name": mask_file_name(digest)})


def read_pick(context: RunContext, photograph: Photograph, pick: MaskRecord) -> Mask | Unavailable:
    """Return the mask that a person picked for a photograph, or why it can't be used."""
    if pick.file_name is None:
        return Unavailable("mask_empty", f"the pick for this photograph is `none` ({pick.segmenter})")
    url = storage.join(context.picks, pick.file_name)
    try:
        mask = read_mask(storage.read_bytes(url))
    except CuebenchError as error:
        return Unavailable(MASK_UNUSABLE, f"{str(error).removeprefix(f'{url}: ')} ({url}, a picked mask)")
    if mask.shape != photograph.image.shape[:2]:
        height, width = photograph.image.shape[:2]
        got = f"{mask.shape[1]}x{mask.shape[0]}"
        return Unavailable("mask_mismatch", f"{url}: expected {width}x{height} pixels, got {got}")
    if pick.mask_sha256 is not None and mask_sha256(mask) != pick.mask_sha256:
        return Unavailable("mask_mismatch", f"{url}: not the mask that was picked (its hash differs)")
    return mask


def preview_cues(recipe: Recipe, source: SourceRecord, image: Image, mask: Mask) -> list[Image | None]:
    """Return the pictures of the cues that `render_source` makes under a mask, the first variant of every grid.

    None stands for one that can't be had.
    """
    row = MaskRecord(
        source_id=source.source_id,
        cue_kind=source.cue_kind,
        mask_sha256=mask_sha256(mask),
        file_name=None,
        segmenter="",
    )
    eroded = _eroded(source, mask)
    cues = (a.render(image, mask, eroded) for a in _attempts(recipe, source, row) if not a.variant)
    return [None if isinstance(cue, Unavailable) else cue.image for cue in cues]


def _eroded(source: SourceRecord, mask: Mask) -> Mask | None:
    """Return the mask from within which the textures of a source are taken, the same for all; None for shapes."""
    return erode_mask(mask) if source.cue_kind == "texture" else None


def _render_cue(
    context: RunContext, attempt: _Attempt, photograph: Photograph, mask: Mask, eroded: Mask | None
) -> CueRecord:
    recipe, source = attempt.recipe, attempt.source
    cue = attempt.render(photograph.image, mask, eroded)
    if isinstance(cue, Unavailable):
        return attempt.row(status=cue.status, status_detail=cue.detail)
    folder, origin_name = f"{source.cue_kind}/{source.superclass}", None
    if isinstance(cue, TextureCue):
        origin_name = f"origins/{folder}/{attempt.cue_id}.npz"
        origin = encode_arrays(**cue.origin.arrays())
        storage.write_bytes(storage.join(context.out, origin_name), origin)
    name = f"cues/{folder}/{attempt.cue_id}.png"
    data = encode_png(cue.image)
    storage.write_bytes(storage.join(context.out, name), data)
    outside = flag_outside(cue.quality, recipe.limits.of(source.cue_kind, attempt.grid))
    doubts = attempt.mask.flags if attempt.mask else ()
    return attempt.row(
        status=OK,
        file_name=name,
        origin_file_name=origin_name,
        sha256=hashlib.sha256(data).hexdigest(),
        pixel_sha256=pixel_sha256(cue.image),
        width=recipe.side_px,
        height=recipe.side_px,
        quality=_rounded(cue.quality),
        flags=tuple(sorted({*outside, *doubts})),
    )


def flag_outside(quality: Mapping[str, float], limits: Mapping[str, Limit]) -> tuple[str, ...]:
    """Return the sorted names of the quality numbers that lie outside of their limits."""
    return tuple(
        sorted(name for name, limit in limits.items() if name in quality and not limit.holds(quality[name]))
    )


def _rounded(numbers: Mapping[str, str | float]) -> dict[str, str | float]:
    """Return numbers with six significant digits: more than anyone reads, and stable across platforms."""
    return {
        name: value if isinstance(value, str) else float(f"{value:.{_N_QUALITY_DIGITS}g}")
        for name, value in numbers.items()
    }
