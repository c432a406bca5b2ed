"""Cue sets for the tests of audits: cues that cuebench renders of photographs of scikit-image, and drawn ones."""

from __future__ import annotations

import hashlib
import io
from importlib.resources import files
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage

from data_manifests.jsonl import write_records
from data_manifests.records import CueKind, CueRecord, SourceRecord
from generation.cue_files import encode_png
from generation.hashing import pixel_sha256
from generation.outcome import Unavailable
from generation.recipe import read_recipe
from generation.shape import render_shape
from generation.texture import render_texture

Image = npt.NDArray[np.uint8]

SIDE_PX = 224
GRIDS = (4, 16)
# The cup, the rocket and the motorcycle, as ellipses: x, y, half width, half height.
OBJECTS = {
    "coffee_cup": ("coffee.png", (300, 200, 180, 150)),
    "rocket": ("rocket.jpg", (322, 257, 25, 130)),
    "motorcycle": ("motorcycle_left.png", (366, 282, 300, 170)),
}
SURFACES = ("brick", "grass", "gravel")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def render_cues(run: Path) -> Path:
    """Write a run of three shapes and six textures with its manifests, and `taxonomy.toml` beside it."""
    recipe = read_recipe("refined-bias")
    cues, sources = [], []
    for superclass, (name, (x, y, wide, high)) in OBJECTS.items():
        photograph = _photograph(name)
        mask = np.zeros(photograph.shape[:2], np.uint8)
        cv2.ellipse(mask, (x, y), (wide, high), 0, 0, 360, 1, -1)
        shape = render_shape(photograph, mask.astype(bool), SIDE_PX, recipe.shape)
        assert not isinstance(shape, Unavailable)
        sources.append(source_row(superclass, "shape"))
        cues.append(write_cue(run, "shape", superclass, shape.image, quality=shape.quality))
    for superclass in SURFACES:
        photograph = _photograph(f"{superclass}.png")
        sources.append(source_row(superclass, "texture"))
        for grid in GRIDS:
            everywhere = np.ones(photograph.shape[:2], bool)
            texture = render_texture(photograph, everywhere, SIDE_PX, grid, 0, recipe.texture)
            assert not isinstance(texture, Unavailable)
            cues.append(
                write_cue(run, "texture", superclass, texture.image, grid=grid, quality=texture.quality)
            )
    write_records(str(run / "cues.jsonl"), cues)
    write_records(str(run / "sources.jsonl"), sources)
    tables = {"shape": OBJECTS, "texture": SURFACES}
    lines = ['name = "photographs"', 'label_space = "none"']
    for kind, superclasses in tables.items():
        lines += [f"[{kind}]", *(f"{superclass} = []" for superclass in superclasses)]
    (run.parent / "taxonomy.toml").write_text("\n".join(lines))
    return run


def _photograph(file_name: str) -> Image:
    data = files("skimage").joinpath("data", file_name).read_bytes()
    return np.asarray(PillowImage.open(io.BytesIO(data)).convert("RGB"))


def source_row(superclass: str, kind: CueKind, **fields: object) -> SourceRecord:
    row: dict[str, object] = {
        "source_id": sha256(superclass.encode()),
        "n_bytes": 1,
        "file_name": f"../photos/{superclass}.png",
        "superclass": superclass,
        "cue_kind": kind,
        "license_spdx": "CC0-1.0",
        "redistributable": "yes",
    }
    return SourceRecord.model_validate({**row, **fields})


def write_cue(
    run: Path, kind: CueKind, superclass: str, image: Image, *, grid: int | None = None, **fields: object
) -> CueRecord:
    """Write a picture below `cues/` and return its row."""
    data = encode_png(image)
    cue_id = sha256(f"{kind}/{superclass}/{grid}".encode())[:32]
    name = f"cues/{kind}/{superclass}/{cue_id}.png"
    path = run / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    row: dict[str, object] = {
        "cue_id": cue_id,
        "cue_kind": kind,
        "superclass": superclass,
        "file_name": name,
        "sha256": sha256(data),
        "pixel_sha256": pixel_sha256(image),
        "width": image.shape[1],
        "height": image.shape[0],
        "grid": grid,
        "variant": None if grid is None else 0,
        "parent_source_ids": (sha256(superclass.encode()),),
        "recipe_sha256": sha256(b"recipe"),
        "generator_version": "0.1.0",
        "seed": 0,
    }
    return CueRecord.model_validate({**row, **fields})


def draw_outline(seed: int, width_px: int = 3, level: int = 255, side_px: int = SIDE_PX) -> Image:
    """Return a white star with eight uneven points on black, (side, side, 3), well inside of the frame."""
    random = np.random.Generator(np.random.PCG64(seed))
    radius = side_px * random.uniform(0.12, 0.42, 16)
    angle = (np.arange(16) + random.uniform(-0.3, 0.3, 16)) * np.pi / 8
    points = side_px / 2 + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    image = np.zeros((side_px, side_px, 3), np.uint8)
    cv2.polylines(image, [points.round().astype(np.int32)], True, (level,) * 3, width_px, cv2.LINE_AA)
    return image


def draw_noise(seed: int, height: int = SIDE_PX, width: int = SIDE_PX, sigma_px: float = 1.0) -> Image:
    """Return smooth coloured noise, (height, width, 3): a surface that is nowhere twice the same."""
    noise = np.random.Generator(np.random.PCG64(seed)).normal(size=(height, width, 3))
    smooth = cv2.GaussianBlur(noise, (0, 0), sigma_px)
    levels: Image = np.clip(128 + 50 * smooth / smooth.std(), 0, 255).astype(np.uint8)
    return levels


def cut_tiles(photograph: Image, grid: int, seed: int, side_px: int = SIDE_PX) -> Image:
    """Return a shuffle of square cuts from anywhere in a photograph, side by side, as the paper makes them."""
    random = np.random.Generator(np.random.PCG64(seed))
    tile = side_px // grid
    cue = np.empty((side_px, side_px, 3), np.uint8)
    for row in range(0, side_px, tile):
        for column in range(0, side_px, tile):
            top = random.integers(photograph.shape[0] - tile + 1)
            left = random.integers(photograph.shape[1] - tile + 1)
            cue[row : row + tile, column : column + tile] = photograph[top : top + tile, left : left + tile]
    return cue
