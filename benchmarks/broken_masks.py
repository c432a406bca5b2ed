"""Cues of which it is known whether they are fit: of the masks of photographs, and of masks broken on purpose."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from curation.sieve_cases import Case
from data_manifests.records import CueKind
from data_manifests.taxonomy import read_taxonomy
from generation.cue_files import encode_png
from generation.masks import MaskChoice, choose_mask, score_mask
from generation.outcome import Unavailable
from generation.photograph import DecodeLimits, decode_photograph
from generation.segmenters import segmenter_for
from generation.shape import ShapeParams, render_shape
from generation.texture import TextureParams, render_texture

Mask = npt.NDArray[np.bool_]
Pixels = npt.NDArray[np.uint8]

SIDE_PX, GRIDS = 224, (4, 8, 16, 32)
SEGMENTERS = ("alpha", "rembg:u2netp", "fullframe")
N_BROKEN = 2  # of each photograph, beside four fit cues


@dataclass(frozen=True)
class Known:
    """A cue with what reviewers should say, how its mask was made, and the half that its photograph is in (0, 1)."""

    case: Case
    is_fit: bool
    how: str
    half: int


@dataclass(frozen=True)
class _Photo:
    source_id: str
    superclass: str
    kind: CueKind
    half: int
    image: Pixels
    mask: Mask


def known_cues(photos: str, out: Path) -> list[Known]:
    """Return the cues of the photographs in `photos/<superclass>/*.jpg`; their pictures are written below `out`."""
    found = list(_photos(photos))
    return [cue for photo in found for cue in _cues(photo, found, out)]


def _photos(folder: str) -> Iterator[_Photo]:
    """Yield the photographs with the mask that `generate` takes; the halves part those of each class by their hash."""
    taxonomy = read_taxonomy("refined-bias-20")
    segmenters = [segmenter_for(name, accept_non_commercial=False) for name in SEGMENTERS]
    for superclass in sorted(path.name for path in Path(folder).iterdir() if path.is_dir()):
        contents = [path.read_bytes() for path in (Path(folder) / superclass).glob("*.jpg")]
        by_hash = sorted((hashlib.sha256(data).hexdigest(), data) for data in contents)
        for number, (source_id, data) in enumerate(by_hash):
            photograph = decode_photograph(data, source_id, DecodeLimits())
            if isinstance(photograph, Unavailable):
                continue
            kind = taxonomy.kinds(superclass)[0]
            candidates = [each for segmenter in segmenters for each in segmenter.propose(photograph)]
            choice = choose_mask(candidates, kind)
            if isinstance(choice, MaskChoice):
                yield _Photo(source_id, superclass, kind, number % 2, photograph.image, choice.mask)


def _cues(photo: _Photo, all_photos: list[_Photo], out: Path) -> Iterator[Known]:
    rng = random.Random(photo.source_id)  # noqa: S311
    strangers = [p for p in all_photos if p.kind == photo.kind and p.superclass != photo.superclass]
    broken = _broken(photo, rng.choice(strangers).mask)
    drawn = rng.sample(sorted(broken), N_BROKEN)
    views = [(how, True, *view) for how, view in _fit(photo).items()]
    views += [(how, False, photo.image, broken[how]) for how in drawn]
    for number, (how, is_fit, image, mask) in enumerate(views):
        grid = None if photo.kind == "shape" else (GRIDS[number] if is_fit else rng.choice(GRIDS))
        seed = rng.randrange(2**40)
        if not mask.any():
            continue
        cue = (
            render_shape(image, mask, SIDE_PX, ShapeParams())
            if grid is None
            else render_texture(image, mask, SIDE_PX, grid, seed, TextureParams())
        )
        if not isinstance(cue, Unavailable):
            yield Known(_case(photo, mask, grid, cue.image, cue.quality, out), is_fit, how, photo.half)


def _case(
    photo: _Photo, mask: Mask, grid: int | None, image: Pixels, quality: Mapping[str, float], out: Path
) -> Case:
    """Return what a review would know of the cue; a broken mask has no scores but those of its form."""
    data = encode_png(image)
    sha256 = hashlib.sha256(data).hexdigest()
    (out / f"{sha256}.png").write_bytes(data)
    return Case(
        item_id=0,
        sha256=sha256,
        cue_id=sha256[:32],
        cue_kind=photo.kind,
        superclass=photo.superclass,
        grid=grid,
        photograph=photo.source_id,
        file_url=str(out / f"{sha256}.png"),
        numbers={**quality, **{f"mask_{name}": value for name, value in score_mask(mask).items()}},
    )


def _fit(photo: _Photo) -> dict[str, tuple[Pixels, Mask]]:
    """Return four ways to make a cue that is as good as its mask."""
    image, mask = photo.image, photo.mask
    size = (mask.shape[1] * 3 // 4, mask.shape[0] * 3 // 4)
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA).astype(np.uint8, copy=False)
    return {
        "as it is": (image, mask),
        "mirrored": (np.ascontiguousarray(image[:, ::-1]), np.ascontiguousarray(mask[:, ::-1])),
        "smaller": (small, _resized(mask, size)),
        "slightly grown": (image, _moved_edge(mask, 0.008, grows=True)),
    }


def _broken(photo: _Photo, other: Mask) -> dict[str, Mask]:
    """Return broken masks. A part of an object still has its texture, so for textures there has to be more in it."""
    mask = photo.mask
    columns = np.flatnonzero(mask.any(axis=0))
    width = int(columns[-1] - columns[0] + 1)
    found = {
        "grown": _moved_edge(mask, 0.2, grows=True),
        "shifted": _shifted(mask, round(0.35 * width)),
        "complement": ~mask,
        "of another photograph": _resized(other, (mask.shape[1], mask.shape[0])),
    }
    if photo.kind == "shape":
        half = mask.copy()
        half[:, : int(np.median(np.nonzero(mask)[1]))] = False
        found |= {"shrunk": _moved_edge(mask, 0.16, grows=False), "half of it": half}
    return found


def _resized(mask: Mask, size: tuple[int, int]) -> Mask:
    resized: Mask = cv2.resize(mask.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST) > 0
    return resized


def _moved_edge(mask: Mask, share: float, *, grows: bool) -> Mask:
    """Return the mask with its edge moved by a share of the root of its area."""
    reach = max(1, round(share * float(np.sqrt(mask.sum()))))
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach + 1, 2 * reach + 1))
    change = cv2.dilate if grows else cv2.erode
    moved: Mask = change(mask.astype(np.uint8), disc) > 0
    return moved


def _shifted(mask: Mask, by_px: int) -> Mask:
    shifted = np.zeros_like(mask)
    shifted[:, by_px:] = mask[:, : mask.shape[1] - by_px]
    return shifted
