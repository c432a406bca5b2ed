"""A folder of stimuli: the photographs of a manifest, each with its mask, through one system."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from data_manifests import storage
from data_manifests.errors import CuebenchError
from data_manifests.records import (
    OK,
    SCHEMA_VERSION,
    CueKind,
    MaskRecord,
    Record,
    Sha256,
    SourceRecord,
    Superclass,
)
from generation.cue_files import encode_png
from generation.hashing import pixel_sha256
from generation.masks import MAX_AREA_SHARE
from generation.outcome import Unavailable
from generation.peers.systems import PeerPicture, Stimulus, find_system, stimuli_of
from generation.photograph import Photograph
from generation.source_cues import RunContext, read_photograph, read_pick

MANIFEST = "stimuli.jsonl"
NO_MASK, FULL_FRAME = "no_mask", "full_frame"


class StimulusRecord(Record):
    """One attempted stimulus; `status` is `ok`, or the reason why there is no picture.

    `file_name` is relative to the folder of the manifest. `parent_source_ids` are the photograph and, where the
    system mixes two, that of the texture, whose superclass is `texture_superclass`.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    system: str
    name: str
    parameters: dict[str, str | int | float] = {}
    superclass: Superclass
    texture_superclass: Superclass | None = None
    parent_source_ids: tuple[Sha256, ...]
    file_name: str | None = None
    pixel_sha256: Sha256 | None = None
    seed: Annotated[int, Field(ge=0)] | None = None
    status: str = OK
    status_detail: str = ""

    @property
    def sort_key(self) -> tuple[str, ...]:
        """Order of the canonical manifest."""
        return (self.system, self.superclass, *self.parent_source_ids, self.name)


@dataclass(frozen=True)
class StimulusSources:
    """Photographs and masks to make stimuli of: `photos` and `masks` are the bases of their file names."""

    records: Sequence[SourceRecord]
    picks: Mapping[tuple[str, CueKind], MaskRecord]
    photos: str
    masks: str

    def load(self, record: SourceRecord, *, needs_mask: bool) -> PeerPicture | Unavailable:
        """Return a photograph with its mask; without one the frame counts, where no mask is needed."""
        photograph = read_photograph(RunContext(out=self.photos), record)
        if isinstance(photograph, Unavailable):
            return photograph
        pick = self.picks.get((record.source_id, record.cue_kind))
        if pick is None and needs_mask:
            return Unavailable(NO_MASK, "the manifest of masks has none for this photograph")
        return self._with_mask(photograph, pick)

    def _with_mask(self, photograph: Photograph, pick: MaskRecord | None) -> PeerPicture | Unavailable:
        if pick is None:
            return PeerPicture(photograph.image, np.ones(photograph.image.shape[:2], bool))
        mask = read_pick(RunContext(out="", picks=self.masks), photograph, pick)
        if isinstance(mask, Unavailable):
            return mask
        if not mask.any():
            return Unavailable("mask_empty", "the mask has no pixel of the object")
        return PeerPicture(photograph.image, mask)

    def texture_for(self, record: SourceRecord, seed: int) -> SourceRecord:
        """Return the photograph whose texture goes with another's shape: of another superclass, drawn by hash.

        Raises
        ------
        CuebenchError
            If there is no usable photograph of another superclass.
        """
        usable = [r for r in self.records if r.status == OK and r.superclass != record.superclass]
        others = [r for r in usable if r.cue_kind == "texture"] or usable
        if not others:
            raise CuebenchError(
                f"{record.file_name}: this system gives a shape the texture of another superclass, and "
                f"{record.superclass} is the only one in the manifest"
            )
        # The lowest hash of both: one more photograph in the manifest changes few of the pairs.
        return min(others, key=lambda r: _pair_hash(record, r, seed))


def _pair_hash(shape: SourceRecord, texture: SourceRecord, seed: int) -> str:
    return hashlib.sha256(f"{shape.source_id}|{texture.source_id}|{seed}".encode()).hexdigest()


def records_for(system: str, records: Sequence[SourceRecord]) -> list[SourceRecord]:
    """Return the usable photographs of a manifest for a system: those of kind `shape` if it needs an object.

    Raises
    ------
    CuebenchError
        If there is no such system, or no photograph for it.
    """
    needs_mask = find_system(system).needs_mask
    usable = [r for r in records if r.status == OK and (r.cue_kind == "shape" or not needs_mask)]
    if not usable:
        kind = " of kind `shape`" if needs_mask else ""
        raise CuebenchError(f"{system}: no usable photograph{kind} in the manifest")
    return sorted(usable, key=lambda record: record.sort_key)


def write_stimuli(
    system: str, sources: StimulusSources, record: SourceRecord, out: str, side_px: int, seed: int
) -> Iterator[StimulusRecord]:
    """Render and store the stimuli of one photograph, and yield their rows.

    What keeps all of them from being rendered is one row, of the name `all`, with the reason.

    Raises
    ------
    CuebenchError
        If there is no such system, no texture for it, the side does not fit, or a picture can't be written.
    """
    known = find_system(system)
    partner = sources.texture_for(record, seed) if known.needs_texture else None
    row = StimulusRecord(
        system=system,
        name="all",
        superclass=record.superclass,
        texture_superclass=partner.superclass if partner else None,
        parent_source_ids=(record.source_id, *([partner.source_id] if partner else [])),
    )
    pair = _load_pair(sources, record, partner, needs_mask=known.needs_mask)
    if isinstance(pair, Unavailable):
        yield _completed(row, {"status": pair.status, "status_detail": pair.detail})
        return
    for stimulus in stimuli_of(system, *pair, side_px, seed):
        yield _store(row, stimulus, out)


def _load_pair(
    sources: StimulusSources, record: SourceRecord, partner: SourceRecord | None, *, needs_mask: bool
) -> tuple[PeerPicture, PeerPicture] | Unavailable:
    picture = sources.load(record, needs_mask=needs_mask)
    if isinstance(picture, Unavailable):
        return picture
    area = float(picture.mask.mean())
    if needs_mask and area > MAX_AREA_SHARE:
        return Unavailable(FULL_FRAME, f"the mask fills {area:.0%} of the frame: there is no silhouette")
    if partner is None:
        return picture, picture
    # A texture may fill its frame; a photograph of an object has its texture inside of a mask only.
    texture = sources.load(partner, needs_mask=partner.cue_kind == "shape")
    return texture if isinstance(texture, Unavailable) else (picture, texture)


def _store(row: StimulusRecord, stimulus: Stimulus, out: str) -> StimulusRecord:
    told: dict[str, object] = {
        "name": stimulus.name,
        "parameters": stimulus.parameters,
        "seed": stimulus.seed,
    }
    if isinstance(stimulus.image, Unavailable):
        failed = {"status": stimulus.image.status, "status_detail": stimulus.image.detail}
        return _completed(row, {**told, **failed})
    parents = "-".join(source_id[:16] for source_id in row.parent_source_ids)
    name = f"{row.system}/{stimulus.name}/{row.superclass}/{parents}.png"
    storage.write_bytes(storage.join(out, name), encode_png(stimulus.image))
    stored = {"file_name": name, "pixel_sha256": pixel_sha256(stimulus.image)}
    return _completed(row, {**told, **stored})


def _completed(row: StimulusRecord, outcome: Mapping[str, object]) -> StimulusRecord:
    return StimulusRecord.model_validate({**row.model_dump(), **outcome})
