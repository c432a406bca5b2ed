"""The pictures that a model is shown: of a run, of a release, or of any folder `<kind>/<superclass>/*.png`."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from PIL import Image, UnidentifiedImageError

from data_manifests.errors import CuebenchError
from data_manifests.manifests import read_manifest
from data_manifests.records import OK, CueKind, CueRecord
from data_manifests.storage import exists, join, list_files, parent, read_bytes

KINDS: tuple[str, ...] = get_args(CueKind)
SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
MANIFEST = "cues.jsonl"
RELEASE_MANIFEST = "manifests/cues.jsonl"


@dataclass(frozen=True)
class CuePicture:
    """One cue: where its file lies, what it shows, and (where a manifest says so) its source, grid and hash."""

    kind: str
    superclass: str
    file_name: str
    url: str
    source: str | None = None
    grid: int | None = None
    sha256: str | None = None

    def read(self) -> bytes:
        """Return the content of the file.

        Raises
        ------
        CuebenchError
            If there is no file, or it is another one than the manifest's.
        """
        data = read_bytes(self.url)
        if self.sha256 not in (None, hashlib.sha256(data).hexdigest()):
            raise CuebenchError(
                f"{self.url}: not the picture of the manifest (SHA-256 {self.sha256}); generate or download it again"
            )
        return data


def decode_picture(data: bytes, where: str) -> Image.Image:
    """Return the RGB picture of a file.

    Raises
    ------
    CuebenchError
        If it can't be decoded.
    """
    try:
        return Image.open(io.BytesIO(data)).convert("RGB")
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise CuebenchError(
            f"{where}: not a picture that can be decoded; look at it, or leave it out"
        ) from error


def find_pictures(url: str) -> list[CuePicture]:
    """Return the cues of a run or a release (folder or its cues.jsonl), or of a folder, in a fixed order.

    Raises
    ------
    CuebenchError
        If there is nothing of the kind.
    """
    if url.endswith(".jsonl"):
        base = parent(url)
        in_release = url.endswith(f"/{RELEASE_MANIFEST}")
        return _of_manifest(url, parent(base) if in_release else base, in_release)
    for name in (RELEASE_MANIFEST, MANIFEST):
        if exists(join(url, name)):
            return _of_manifest(join(url, name), url, name == RELEASE_MANIFEST)
    return _of_folder(url)


def _of_manifest(url: str, base: str, in_release: bool) -> list[CuePicture]:
    """Return the pictures of a manifest; in a release they lie where its layout says, in a run where the row says."""
    pictures = []
    for cue in read_manifest(url, CueRecord, "--cues"):
        if cue.status != OK:
            continue
        name = f"data/{cue.cue_kind}/{cue.superclass}/{cue.cue_id}.png" if in_release else cue.file_name or ""
        source = " ".join(cue.parent_source_ids)
        pictures.append(
            CuePicture(cue.cue_kind, cue.superclass, name, join(base, name), source, cue.grid, cue.sha256)
        )
    if not pictures:
        raise CuebenchError(f"{url}: it has no cue whose status is {OK}")
    return sorted(pictures, key=lambda picture: (picture.kind, picture.superclass, picture.file_name))


def _of_folder(url: str) -> list[CuePicture]:
    pictures = []
    for name in list_files(url):
        parts = name.split("/")
        if len(parts) == 3 and parts[0] in KINDS and name.lower().endswith(SUFFIXES):
            pictures.append(CuePicture(parts[0], parts[1], f"{parts[1]}/{parts[2]}", join(url, name)))
    if not pictures:
        raise CuebenchError(
            f"{url}: no pictures; expected a run (cues.jsonl), a release, or {'|'.join(KINDS)}/<superclass>/*.png"
        )
    return pictures


def by_kind(pictures: Sequence[CuePicture]) -> dict[str, list[CuePicture]]:
    """Return kind -> its pictures, the kinds in the order shape, texture."""
    return {kind: own for kind in KINDS if (own := [picture for picture in pictures if picture.kind == kind])}
