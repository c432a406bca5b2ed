"""A model is shown cues: logits in batches, kept on disk, so that a run that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from data_manifests.errors import CuebenchError
from data_manifests.jsonl import canonical_sha256
from data_manifests.storage import exists, join, remove_tree
from evaluation.cue_pictures import CuePicture, decode_picture
from evaluation.logits_file import LogitTable, read_logits, write_logits
from evaluation.models import Model

log = logging.getLogger(__name__)

LogitRows = npt.NDArray[np.float32]
Show = Callable[[int, int], None]

N_DECODERS = 4


@dataclass(frozen=True)
class RunSettings:
    """How a model is run.

    Attributes
    ----------
    folder : where logits are kept by the hash of all that they rest on; None: nowhere
    batch_size : pictures that the model sees at a time
    part_size : pictures whose logits are written at a time: the most that a stop can lose
    """

    folder: str | None = None
    batch_size: int = 32
    part_size: int = 512


def logits_folder() -> str:
    """Return the folder in which logits are kept where no other is named."""
    return str(Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "cuebench" / "logits")


def run_model(
    model: Model,
    pictures: Sequence[CuePicture],
    settings: RunSettings | None = None,
    show: Show | None = None,
) -> LogitTable:
    """Return the logits of pictures of one kind. One that can't be read is left out, with a warning.

    Logits are taken from disk where the same model, with the same preprocessing, was shown the same files before;
    those of a model without a fingerprint are not kept.

    Parameters
    ----------
    show : is told how many pictures are done, of how many

    Raises
    ------
    CuebenchError
        If no picture can be read, one is another than its manifest says, or the model fails.
    """
    settings = settings or RunSettings()
    readable = [hashed for picture in pictures if (hashed := _hashed(picture)) is not None]
    if not readable:
        raise CuebenchError(f"{model.name}: none of the {len(pictures)} pictures can be read")
    url = _place(model, readable, settings.folder)
    if url is not None and exists(f"{url}.npz"):
        return read_logits(f"{url}.npz")
    parts: list[LogitTable] = []
    for start in range(0, len(readable), settings.part_size):
        chunk = readable[start : start + settings.part_size]
        parts.append(_part(model, chunk, url, settings))
        if show is not None:
            show(start + len(chunk), len(readable))
    table = _joined(model, parts)
    if url is None:
        return table
    write_logits(f"{url}.npz", table)
    remove_tree(url)
    return read_logits(f"{url}.npz")


def _hashed(picture: CuePicture) -> CuePicture | None:
    if not exists(picture.url):
        log.warning("%s: left out: no such file", picture.url)
        return None
    return replace(picture, sha256=hashlib.sha256(picture.read()).hexdigest())


def _place(model: Model, pictures: Sequence[CuePicture], folder: str | None) -> str | None:
    """Return where the logits belong, without a suffix: a name for the model, the preprocessing and the files."""
    if folder is None or model.fingerprint is None:
        return None
    shown = [[picture.superclass, picture.file_name, picture.sha256] for picture in pictures]
    return join(folder, canonical_sha256([model.fingerprint, list(model.labels.labels), shown])[:32])


def _part(model: Model, pictures: Sequence[CuePicture], url: str | None, settings: RunSettings) -> LogitTable:
    """Return the logits of some pictures, from disk where an earlier run left them."""
    own = _place(model, pictures, url)
    if own is not None and exists(f"{own}.npz"):
        return read_logits(f"{own}.npz")
    table = _table(model, pictures, settings.batch_size)
    if own is not None:
        write_logits(f"{own}.npz", table)
    return table


def _table(model: Model, pictures: Sequence[CuePicture], batch_size: int) -> LogitTable:
    kept: list[CuePicture] = []
    rows: list[LogitRows] = [np.empty((0, len(model.labels)), np.float32)]
    with ThreadPoolExecutor(N_DECODERS) as pool:
        for batch in _batches(pictures, batch_size, pool):
            shown = [(picture, image) for picture, image in batch if image is not None]
            if shown:
                rows.append(_checked(model, model.logits([image for _, image in shown]), len(shown)))
                kept += [picture for picture, _ in shown]
    sources = [picture.source for picture in kept]
    grids = [picture.grid for picture in kept]
    return LogitTable(
        where=model.name,
        logits=np.concatenate(rows),
        superclass=tuple(picture.superclass for picture in kept),
        wnids=model.labels.labels,
        file_names=tuple(picture.file_name for picture in kept),
        sources=None if None in sources else tuple(map(str, sources)),
        own_grids=tuple(grids) if any(grids) else None,
    )


def _batches(
    pictures: Sequence[CuePicture], size: int, pool: ThreadPoolExecutor
) -> Iterator[list[tuple[CuePicture, Image.Image | None]]]:
    """Yield decoded batches; while the model works on one, the next is decoded."""
    waiting: tuple[Sequence[CuePicture], Iterator[Image.Image | None]] | None = None
    for start in range(0, len(pictures), size):
        chunk = pictures[start : start + size]
        coming = (chunk, pool.map(_decoded, chunk))
        if waiting is not None:
            yield list(zip(*waiting, strict=True))
        waiting = coming
    if waiting is not None:
        yield list(zip(*waiting, strict=True))


def _decoded(picture: CuePicture) -> Image.Image | None:
    try:
        return decode_picture(picture.read(), picture.url)
    except CuebenchError as error:
        log.warning("%s: left out", error)
        return None


def _checked(model: Model, logits: LogitRows, n: int) -> LogitRows:
    expected = (n, len(model.labels))
    if logits.shape != expected:
        raise CuebenchError(f"{model.name}: expected logits {expected} for {n} pictures, got {logits.shape}")
    return logits


def _joined(model: Model, parts: Sequence[LogitTable]) -> LogitTable:
    def every(name: str) -> tuple[object, ...] | None:
        columns = [getattr(part, name) for part in parts if len(part.logits)]
        return None if None in columns else tuple(value for column in columns for value in column)

    superclass = every("superclass")
    if not superclass:
        raise CuebenchError(f"{model.name}: none of the pictures can be decoded")
    texts = {name: every(name) for name in ("file_names", "sources", "own_grids")}
    logits = np.concatenate([part.logits for part in parts])
    return replace(parts[0], where=model.name, logits=logits, superclass=superclass, **texts)  # type: ignore[arg-type]
