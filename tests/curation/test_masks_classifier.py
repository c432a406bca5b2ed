"""A real classifier chooses masks of real photographs, in which what stands out is not always the object."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from curation.cli import cuebench
from data_manifests.jsonl import read_records
from data_manifests.records import MaskRecord, SourceRecord
from generation.masks import Mask, read_mask
from tests.evaluation.lite0 import lite0_spec
from tests.paths import SHARED_DATA, needs_shared_data

pytestmark = [pytest.mark.classifier, needs_shared_data]

# file -> the box (left, top, right, bottom) around its object, as shares of width and height, drawn by hand, and the
# share of the mask that must lie in it: GrabCut finds a door frame beside the clock, and the door without a classifier
OBJECTS = {
    "clock/imagenet-sample-images_n04548280_wall_clock.jpg": ((0.31, 0.05, 0.5, 0.35), 0.4),
    "soccer_ball/caltech-101_soccer_ball_image_0023.jpg": ((0.0, 0.0, 0.6, 0.85), 0.9),
    "strawberry/caltech-101_strawberry_image_0006.jpg": ((0.1, 0.2, 0.9, 0.85), 0.9),
}


def within(mask: Mask, box: tuple[float, float, float, float]) -> float:
    """Return the share of a mask that lies in a box."""
    height, width = mask.shape
    left, top, right, bottom = (
        round(part * length) for part, length in zip(box, (width, height, width, height), strict=True)
    )
    return float(mask[top:bottom, left:right].sum() / mask.sum())


def test_a_real_classifier_finds_the_objects_of_real_photographs(tmp_path: Path) -> None:
    for name in OBJECTS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SHARED_DATA / "photos" / name, tmp_path / name)
    sources, picks = f"{tmp_path}/sources.jsonl", f"{tmp_path}/picks"
    runner = CliRunner()
    ingested = runner.invoke(
        cuebench, ["ingest", str(tmp_path), "--taxonomy", "refined-bias-20", "--out", sources]
    )
    assert ingested.exit_code == 0, ingested.output
    chosen = runner.invoke(
        cuebench,
        ["masks", "refined-bias", "--sources", sources, "--model", lite0_spec(), "--out", picks,
         "--segmenter", "grabcut", "--segmenter", "backdrop", "--segmenter", "fullframe"],
    )  # fmt: skip
    assert chosen.exit_code == 0, chosen.output
    names = {row.source_id: row.file_name for row in read_records(sources, SourceRecord)}
    rows = read_records(f"{picks}/masks.jsonl", MaskRecord)
    assert len(rows) == len(OBJECTS)
    for row in rows:
        mask = read_mask(Path(picks, str(row.file_name)).read_bytes())
        assert mask.shape == np.asarray(Image.open(tmp_path / names[row.source_id])).shape[:2]
        box, share = OBJECTS[names[row.source_id]]
        assert within(mask, box) > share, (names[row.source_id], row.segmenter)
        assert row.flags == ()
        if names[row.source_id].startswith("clock/"):  # whose door stands out more than the clock above it
            assert row.reason.startswith("an object that shows the class better than the plain choice")
