"""The masks that people choose from: found again for every photograph of a run, and stored beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from curation.cue_sources import absolute
from data_manifests import storage
from data_manifests.errors import CuebenchError
from data_manifests.records import MaskRecord, SourceRecord
from generation.executors import Executor, WorkerDied
from generation.masks import MaskCandidate, encode_mask, mask_sha256, read_mask, score_mask
from generation.outcome import Unavailable
from generation.photograph import Photograph, decode_photograph
from generation.recipe import MaskParams
from generation.source_cues import load_segmenters

FOLDER = "candidates"
MAX_CANDIDATES = 9  # each has a digit key


@dataclass(frozen=True)
class StoredMask:
    """A candidate in its file; `scores` are those of `generation.masks.score_mask`."""

    mask_sha256: str
    segmenter: str
    file_url: str
    scores: dict[str, float]


@dataclass(frozen=True)
class PhotographMasks:
    """A photograph with its candidates, the one that the run used first; `problem` says why there are none."""

    source: SourceRecord
    masks: tuple[StoredMask, ...] = ()
    problem: str = ""


Piece = tuple[SourceRecord, MaskRecord | None]


def find_candidates(
    run: str, params: MaskParams, pieces: Sequence[Piece], executor: Executor
) -> list[PhotographMasks]:
    """Return the candidates of photographs, each with the mask that the run used, in the order given.

    Raises
    ------
    CuebenchError
        If a segmenter is not there.
    """
    load_segmenters(params)
    found = {}
    for piece, result in executor.run(partial(_find, absolute(run), params), pieces):
        if isinstance(result, WorkerDied):
            result = PhotographMasks(piece[0], problem="the process died; out of memory?")
        found[piece[0].use_key] = result
    return [found[source.use_key] for source, _ in pieces]


def read_photograph(url: str, source_id: str) -> Photograph | Unavailable:
    """Return the photograph of a hash, or why it can't be had."""
    try:
        data = storage.read_bytes(url)
    except CuebenchError as error:
        return Unavailable("source_missing", str(error))
    if hashlib.sha256(data).hexdigest() != source_id:
        return Unavailable("source_changed", f"{url}: not the bytes of the manifest; run `ingest` again")
    return decode_photograph(data, url)


def _find(run: str, params: MaskParams, piece: Piece) -> PhotographMasks:
    source, used = piece
    photograph = read_photograph(storage.join(run, source.file_name), source.source_id)
    if isinstance(photograph, Unavailable):
        return PhotographMasks(source, problem=photograph.detail)
    unique: dict[str, MaskCandidate] = {}
    try:
        for segmenter in load_segmenters(params):
            for candidate in segmenter.propose(photograph):
                unique.setdefault(mask_sha256(candidate.mask), candidate)
        if used is not None and used.file_name is not None:
            mask = read_mask(storage.read_bytes(storage.join(run, used.file_name)))
            digest = mask_sha256(mask)
            # found again, it has the scores that its segmenter gave
            first = unique.pop(digest, None) or MaskCandidate(mask, used.segmenter, score_mask(mask))
            unique = {digest: first, **unique}
    except CuebenchError as error:
        return PhotographMasks(source, problem=str(error))
    kept = list(unique.items())[:MAX_CANDIDATES]
    return PhotographMasks(source, tuple(_store(run, digest, c) for digest, c in kept))


def _store(run: str, digest: str, candidate: MaskCandidate) -> StoredMask:
    url = storage.join(run, f"{FOLDER}/{digest}.png")
    storage.write_bytes(url, encode_mask(candidate.mask))
    return StoredMask(digest, candidate.segmenter, url, dict(candidate.scores))
