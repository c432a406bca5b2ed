"""The cues of all ways, what their pixels tell, and their low-pass versions before the classifier."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.cue_quality.cues import PHOTOGRAPHS, Answer, Cue
from benchmarks.cue_quality.judge import Judge, judge_cues
from benchmarks.cue_quality.leaks import (
    WIDTHS,
    ObjectFinder,
    installed_saliency,
    low_pass,
    pixel_numbers,
    width_px,
)
from benchmarks.cue_quality.peers import peers_of
from benchmarks.cue_quality.photographs import Photo
from curation.audit_files import find_files
from data_manifests.records import OK
from data_manifests.storage import join, read_bytes, write_bytes
from evaluation.cue_pictures import decode_picture
from generation.cue_files import encode_png

log = logging.getLogger(__name__)

Show = Callable[[int, int], None]


def all_cues(photos: Sequence[Photo], side_px: int, out: str, show: Show) -> Iterator[Cue]:
    """Yield the project's own cues of photographs and those of others, whose pictures are written below a folder."""
    for n_done, photo in enumerate(photos, 1):
        for row in photo.cues:
            url = join(photo.run, row.file_name) if row.file_name else ""
            yield Cue(
                "ours", row.cue_kind, row.superclass, photo.name, photo.half, row.grid, url, row.status,
                numbers=dict(row.quality),
            )  # fmt: skip
        yield from peers_of(photo, side_px, join(out, "peers"))
        show(n_done, len(photos))


def published_cues(folder: str, classes: set[tuple[str, str]]) -> list[Cue]:
    """Return the cues of others of some kinds and classes; a texture without a grid in its name is left out."""
    return [
        Cue("published", file.kind, file.superclass, file.name, grid=file.grid, url=file.url)
        for file in find_files(folder).files
        if file.kind and (file.kind, file.superclass) in classes and (file.kind == "shape" or file.grid)
    ]


def measure_cues(cues: Sequence[Cue], out: str, show: Show) -> list[Cue]:
    """Return the cues with what their pixels tell, and write the low-pass versions of textures below a folder."""
    network = installed_saliency()
    finder = None if network is None else ObjectFinder(network)
    if finder is None:
        log.warning(
            "no objects are looked for in textures: `cuebench models fetch u2netp` installs the model"
        )
    measured = []
    for n_done, cue in enumerate(cues, 1):
        measured.append(
            _measured(cue, finder, out) if cue.status == OK and cue.way not in PHOTOGRAPHS else cue
        )
        show(n_done, len(cues))
    return measured


def _measured(cue: Cue, finder: ObjectFinder | None, out: str) -> Cue:
    data = read_bytes(cue.url)
    image = np.asarray(decode_picture(data, cue.url))
    found = pixel_numbers(cue.kind, cue.grid, image)
    if cue.grid is not None:
        found |= {} if finder is None else finder.numbers(data, image)
        for width in WIDTHS:
            blurred = low_pass(image, width_px(width, image.shape[0], cue.grid))
            write_bytes(blurred_url(cue, width, out), encode_png(blurred))
    return replace(cue, numbers={**found, **cue.numbers})


def blurred_url(cue: Cue, width: str, out: str) -> str:
    """Return where the low-pass version of a texture lies."""
    return join(out, f"low_pass/{width}/{cue.way}/{cue.superclass}/{cue.file_name.rpartition('/')[2]}.png")


def judge_blurred(judge: Judge, cues: Sequence[Cue], out: str, show: Show) -> list[Cue]:
    """Return the cues with the answers to the low-pass versions of the textures."""
    shown = [cue for cue in cues if cue.grid is not None and cue.status == OK]
    blurred: dict[tuple[str, ...], dict[str, Answer]] = {cue.key: {} for cue in shown}
    for number, width in enumerate(WIDTHS):
        versions = [replace(cue, url=blurred_url(cue, width, out)) for cue in shown]
        for cue in judge_cues(judge, versions, partial(_show_part, show, number)):
            if cue.answer is not None:
                blurred[cue.key][width] = cue.answer
    return [replace(cue, blurred=blurred.get(cue.key, {})) for cue in cues]


def _show_part(show: Show, number: int, n_done: int, n_all: int) -> None:
    show(number * n_all + n_done, len(WIDTHS) * n_all)
