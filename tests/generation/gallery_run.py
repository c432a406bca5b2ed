"""A small run folder, drawn in code, for the tests of the gallery."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from PIL import Image

from data_manifests.jsonl import write_records
from data_manifests.records import CueKind, CueRecord, SourceRecord

HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script>&\"'.png"

RECIPE = """\
name = "tiny"
seed = 7
side_px = 224
[limits.shape.clutter]
max = 0.2
[limits.texture.seam_ratio]
max = 1.3
"""


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def write_photograph(run: Path, file_name: str, level: int) -> str:
    """Write a 120 x 80 photograph beside the run and return the hash of its bytes."""
    image = np.full((80, 120, 3), 40, np.uint8)
    image[20:60, 30:90] = (level, 255 - level, 90)
    path = run.parent / "photos" / file_name
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).save(path, "PNG")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def source(source_id: str, file_name: str, superclass: str, kind: CueKind, **fields: object) -> SourceRecord:
    given: dict[str, object] = {"width": 120, "height": 80, "origin": "drawn", "author": "A. Drawer"}
    return SourceRecord.model_validate(
        {
            "source_id": source_id,
            "n_bytes": 1,
            "file_name": f"../photos/{file_name}",
            "superclass": superclass,
            "cue_kind": kind,
            **given,
            **fields,
        }
    )


def cue(run: Path, parent: SourceRecord, grid: int | None, **fields: object) -> CueRecord:
    """Return a cue record; unless it failed, its picture is written into the run folder."""
    cue_id = sha256(f"{parent.source_id}{parent.cue_kind}{parent.superclass}{grid}")[:32]
    file_name = None
    if fields.get("status", "ok") == "ok":
        file_name = f"cues/{parent.cue_kind}/{parent.superclass}/{cue_id}.png"
        path = run / file_name
        path.parent.mkdir(parents=True, exist_ok=True)
        picture = np.zeros((224, 224, 3), np.uint8)
        picture[:: grid or 9] = 255
        Image.fromarray(picture).save(path)
    return CueRecord.model_validate(
        {
            "cue_id": cue_id,
            "cue_kind": parent.cue_kind,
            "superclass": parent.superclass,
            "file_name": file_name,
            "width": 224 if file_name else None,
            "height": 224 if file_name else None,
            "grid": grid,
            "variant": None if grid is None else 0,
            "parent_source_ids": (parent.source_id,),
            "mask_file_name": "masks/centre.png",
            "segmenter": "drawn",
            "mask_reason": "the better one of two candidates",
            "mask_candidates": ({"name": "drawn", "score": 0.9}, {"name": "fullframe", "score": 0.1}),
            "recipe_sha256": sha256("recipe"),
            "generator_version": "0.1.0",
            "seed": 2**63 - 1,
            **fields,
        }
    )


def write_run(folder: Path) -> Path:
    """Write a run of 2 shape and 3 texture photographs and return its folder.

    Shape: an `ok` clock and a flagged one with a hostile name. Texture: a zebra with an `ok`, a flagged and a
    failed grid; a zebra that could not be decoded, without a cue; a tiger whose 8x8 cue file is gone.
    """
    run = folder / "run"
    mask = np.zeros((80, 120), np.uint8)
    mask[20:60, 30:90] = 255
    (run / "masks").mkdir(parents=True)
    Image.fromarray(mask).save(run / "masks" / "centre.png")
    (run / "recipe.toml").write_text(RECIPE, encoding="utf-8")

    def drawn(name: str, superclass: str, kind: CueKind, level: int) -> SourceRecord:
        return source(write_photograph(run, f"{superclass}/{level}.png", level), name, superclass, kind)

    clock = drawn("clock/10.png", "clock", "shape", 10)
    hostile = source(
        sha256("hostile"), HOSTILE, "clock", "shape", author=HOSTILE, landing_url="javascript:alert(3)"
    )
    zebra = drawn("zebra/30.png", "zebra", "texture", 30)
    broken = source(
        sha256("broken"),
        "zebra/cut.jpg",
        "zebra",
        "texture",
        status="truncated",
        status_detail="It ends early.",
    )
    tiger = drawn("tiger/50.png", "tiger", "texture", 50)
    cues = [
        cue(run, clock, None, quality={"clutter": 0.1, "peak": 255.0}),
        cue(run, hostile, None, quality={"clutter": 0.25, "peak": 250.0}, flags=("clutter",)),
        cue(run, zebra, 8, quality={"seam_ratio": 1.1}),
        cue(run, zebra, 16, quality={"seam_ratio": 1.4}, flags=("seam_ratio",)),
        cue(run, zebra, 4, status="too_few_patches", status_detail="7 patches of 56 px; 16 are needed."),
        cue(run, tiger, 8, quality={"seam_ratio": 1.2}),
    ]
    (run / str(cues[-1].file_name)).unlink()
    write_records(str(run / "sources.jsonl"), [clock, hostile, zebra, broken, tiger])
    write_records(str(run / "cues.jsonl"), cues)
    return run


def write_large_run(folder: Path, n_sources: int) -> Path:
    """Write a run of shape photographs of one class without any picture, the last two of them flagged."""
    run = folder / "large"
    run.mkdir()
    (run / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    sources = [source(sha256(str(n)), f"{n:04d}.png", "clock", "shape") for n in range(n_sources)]
    cues = [
        cue(run, parent, None, flags=("clutter",) if n >= n_sources - 2 else (), mask_file_name=None)
        for n, parent in enumerate(sources)
    ]
    write_records(str(run / "sources.jsonl"), sources)
    write_records(str(run / "cues.jsonl"), cues)
    return run
