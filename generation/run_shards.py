"""A shard: the unit of work of a run, and the done file that says that it need not be rendered again."""

from __future__ import annotations

import hashlib
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import PurePosixPath

from pydantic import BaseModel, ConfigDict, ValidationError

from data_manifests import storage
from data_manifests.jsonl import canonical_json, canonical_sha256
from data_manifests.records import CueRecord, MaskRecord, SourceRecord
from generation.source_cues import TRIED_AGAIN, SourceResult

log = logging.getLogger(__name__)

MAX_SHARD_SOURCES = 1000
N_SHARDS_SMALL_RUN = 64

GENERATOR_VERSION = version("cuebench")
# What the pixels may hang on.
RECORDED_PACKAGES = ("numpy", "onnxruntime", "opencv-python-headless", "pillow", "scipy")


@dataclass(frozen=True)
class Shard:
    """Some sources of a run, with the masks picked for them.

    `mask_files` are name and SHA-256 of the files from which `folder:DIR` may take their masks.
    """

    sources: tuple[SourceRecord, ...]
    picks: tuple[MaskRecord, ...]
    recipe_sha256: str
    mask_files: tuple[tuple[str, str], ...] = ()

    @property
    def input_sha256(self) -> str:
        """The hash of everything that the shard's rows rest on, but for the recipe."""
        return canonical_sha256(
            {
                "sources": [[*s.use_key, s.pixel_sha256, s.wnids] for s in self.sources],
                "picks": [pick.model_dump(mode="json") for pick in self.picks],
                "mask_files": self.mask_files,
            }
        )

    @property
    def done_name(self) -> str:
        """The name of the done file, relative to the run folder."""
        return f"shards/{canonical_sha256([self.recipe_sha256, self.input_sha256])[:16]}.done.json"


class _DoneFile(BaseModel):
    """What is kept of a shard that is done: its rows, and what they rest on."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    generator_version: str
    versions: dict[str, str]
    recipe_sha256: str
    input_sha256: str
    cues: tuple[CueRecord, ...]
    masks: tuple[MaskRecord, ...]

    @property
    def key(self) -> tuple[str, str, str]:
        """What has to be the same for the rows to hold."""
        return (self.recipe_sha256, self.input_sha256, self.generator_version)


def plan_shards(
    sources: Sequence[SourceRecord],
    picks: Sequence[MaskRecord],
    recipe_sha256: str,
    shard_size: int | None,
    mask_files: Iterable[tuple[str, str]] = (),
) -> Iterator[Shard]:
    """Cut sorted sources into shards: 1,000 sources each, fewer in a small run so that progress shows."""
    size = shard_size or max(1, min(MAX_SHARD_SOURCES, len(sources) // N_SHARDS_SMALL_RUN))
    by_source = {(pick.source_id, pick.cue_kind): pick for pick in picks}
    by_stem: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for file in mask_files:
        by_stem[PurePosixPath(file[0]).stem].append(file)
    for start in range(0, len(sources), size):
        part = tuple(sources[start : start + size])
        keys = [(source.source_id, source.cue_kind) for source in part]
        stems = dict.fromkeys(PurePosixPath(source.file_name).stem for source in part)
        yield Shard(
            part,
            tuple(by_source[key] for key in keys if key in by_source),
            recipe_sha256,
            tuple(file for stem in stems for file in by_stem.get(stem, ())),
        )


def list_mask_files(segmenters: Iterable[str]) -> list[tuple[str, str]]:
    """Return name and SHA-256 of every file in the folders that segmenters (`folder:DIR`) read masks from."""
    folders = [name.removeprefix("folder:") for name in segmenters if name.startswith("folder:")]
    return [
        (name, hashlib.sha256(storage.read_bytes(storage.join(folder, name))).hexdigest())
        for folder in folders
        for name in storage.list_files(folder)
    ]


def write_done(out: str, shard: Shard, result: SourceResult) -> None:
    """Write the done file of a shard, whose pictures are written."""
    done = _DoneFile(
        generator_version=GENERATOR_VERSION,
        versions={name: version(name) for name in RECORDED_PACKAGES},
        recipe_sha256=shard.recipe_sha256,
        input_sha256=shard.input_sha256,
        cues=tuple(result.cues),
        masks=tuple(result.masks),
    )
    content = canonical_json(done.model_dump(mode="json"))
    storage.write_bytes(storage.join(out, shard.done_name), content.encode())


def read_done(out: str, shard: Shard) -> SourceResult | None:
    """Return the rows of a shard that is done, None if it has to be rendered."""
    url = storage.join(out, shard.done_name)
    if not storage.exists(url):
        return None
    try:
        done = _DoneFile.model_validate_json(storage.read_bytes(url))
    except ValidationError:
        # Half of one, as a power cut leaves it, or not ours.
        log.warning("%s: damaged; its photographs are rendered again", url)
        return None
    if done.key != (shard.recipe_sha256, shard.input_sha256, GENERATOR_VERSION):
        return None
    result = SourceResult(list(done.cues), list(done.masks))
    # What failed for want of a photograph or of memory may do now, and a damaged picture is drawn again.
    if any(cue.status in TRIED_AGAIN for cue in result.cues):
        return None
    return result if _is_intact(out, result) else None


def _is_intact(out: str, result: SourceResult) -> bool:
    """Return whether the pictures of a shard are those that its rows describe; a power cut may empty one."""
    expected = {cue.file_name: cue.sha256 for cue in result.cues}
    for name in result.file_names:
        url = storage.join(out, name)
        data = storage.read_bytes(url) if storage.exists(url) else b""
        digest = hashlib.sha256(data).hexdigest()
        if not data or expected.get(name, digest) != digest:
            return False
    return True
