from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image

from data_manifests.errors import CuebenchError
from data_manifests.jsonl import read_records, write_records
from data_manifests.records import CueKind, MaskRecord, SourceRecord
from generation.hashing import pixel_sha256
from generation.masks import Mask, encode_mask, mask_sha256
from generation.peers.stimuli import StimulusRecord
from generation.peers_command import peers
from tests.generation.photographs import draw_photograph


class Folder:
    """Photographs in manifests: clocks with masks (kind `shape`), zebras without (kind `texture`)."""

    def __init__(self, root: Path) -> None:
        self.root, self.sources = root, root / "sources.jsonl"
        self.masks = root / "masks.jsonl"
        self.records: list[SourceRecord] = []
        self.picks: list[MaskRecord] = []

    def add(self, superclass: str, kind: CueKind, seed: int, mask: Mask | None) -> None:
        name = f"photos/{superclass}/{seed}.png"
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(draw_photograph(seed)).save(path)
        data = path.read_bytes()
        record = SourceRecord(
            source_id=hashlib.sha256(data).hexdigest(),
            n_bytes=len(data),
            file_name=name,
            superclass=superclass,
            cue_kind=kind,
        )
        self.records.append(record)
        write_records(str(self.sources), self.records)
        if mask is not None:
            (self.root / f"{seed}.png").write_bytes(encode_mask(mask))
            self.picks.append(
                MaskRecord(
                    source_id=record.source_id,
                    cue_kind=kind,
                    mask_sha256=mask_sha256(mask),
                    file_name=f"{seed}.png",
                    segmenter="drawn",
                )
            )
        write_records(str(self.masks), self.picks)

    def run(self, system: str, *args: str, out: str = "out") -> Result:
        named = ["--sources", str(self.sources), "--masks", str(self.masks), "--out", str(self.root / out)]
        return CliRunner().invoke(peers, [system, *named, *args])

    def rows(self, out: str = "out") -> list[StimulusRecord]:
        return read_records(str(self.root / out / "stimuli.jsonl"), StimulusRecord)


def disk() -> Mask:
    y, x = np.mgrid[:240, :240] - 120
    return np.asarray(np.hypot(y, x) < 100)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.add("clock", "shape", 1, disk())
    made.add("zebra", "texture", 2, None)
    return made


def test_the_stimuli_of_a_photograph_are_written_with_their_rows(folder: Folder) -> None:
    result = folder.run("mohla", "--format", "json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {"system": "mohla", "n_sources": 1, "n_ok": 3, "failed": {}}
    for row in folder.rows():
        assert row.status == "ok"
        assert row.file_name is not None
        pixels = np.asarray(Image.open(folder.root / "out" / row.file_name))
        assert pixel_sha256(pixels) == row.pixel_sha256
        assert row.parent_source_ids == (folder.records[0].source_id,)


def test_the_same_command_writes_the_same_bytes(folder: Folder) -> None:
    for out in ("out", "again"):
        assert folder.run("mohla", out=out).exit_code == 0
    first, again = ((folder.root / out / "stimuli.jsonl").read_bytes() for out in ("out", "again"))
    assert first == again


def test_a_shape_gets_the_texture_of_another_superclass(folder: Folder) -> None:
    folder.add("clock", "shape", 3, disk())
    result = folder.run("conflict", "--limit", "1")
    assert result.exit_code == 0, result.output
    assert "conflict: 2 stimuli of 1 photographs" in result.stdout
    for row in folder.rows():
        assert (row.superclass, row.texture_superclass) == ("clock", "zebra")
        assert row.parent_source_ids[1] == folder.records[1].source_id


def test_what_cant_be_had_is_a_row_with_its_reason(folder: Folder) -> None:
    folder.add("book", "shape", 4, None)
    folder.add("camera", "shape", 5, np.ones((240, 240), bool))
    folder.add("mouse", "shape", 6, np.zeros((240, 240), bool))
    folder.add("ipod", "shape", 7, np.ones((9, 9), bool))
    folder.add("balloon", "shape", 8, disk())
    (folder.root / "photos/balloon/8.png").unlink()
    result = folder.run("mohla")
    assert result.exit_code == 0, result.output
    reasons = {row.superclass: row.status for row in folder.rows() if row.status != "ok"}
    assert reasons == {
        "balloon": "source_missing",
        "book": "no_mask",
        "camera": "full_frame",
        "ipod": "mask_mismatch",
        "mouse": "mask_empty",
    }
    assert "mohla: 3 stimuli of 6 photographs\n  1 failed: full_frame" in result.stdout


def test_a_texture_that_cant_be_read_is_a_row_too(folder: Folder) -> None:
    (folder.root / "photos/zebra/2.png").unlink()
    result = folder.run("conflict")
    assert isinstance(result.exception, CuebenchError)
    assert "no stimulus could be rendered" in str(result.exception)
    assert [row.status for row in folder.rows()] == ["source_missing"]


def test_a_manifest_is_only_replaced_by_force(folder: Folder) -> None:
    assert folder.run("mohla").exit_code == 0
    refused = folder.run("mohla")
    assert "already there; choose another --out, or --force" in str(refused.exception)
    assert folder.run("mohla", "--force").exit_code == 0


def test_masks_are_asked_for_where_they_are_needed(folder: Folder) -> None:
    args = ["--sources", str(folder.sources), "--out", str(folder.root / "bare")]
    refused = CliRunner().invoke(peers, ["tartaglini", *args])
    assert "tartaglini needs the masks of the photographs: name them with --masks" in str(refused.exception)
    assert CliRunner().invoke(peers, ["dist", *args, "--limit", "1"]).exit_code == 0
    assert len(folder.rows("bare")) == 5


def test_one_superclass_alone_has_no_texture_to_give(tmp_path: Path) -> None:
    alone = Folder(tmp_path)
    alone.add("clock", "shape", 1, disk())
    assert "clock is the only one in the manifest" in str(alone.run("conflict").exception)


def test_textures_alone_have_no_shape_to_give(tmp_path: Path) -> None:
    alone = Folder(tmp_path)
    alone.add("zebra", "texture", 1, None)
    refused = alone.run("mohla")
    assert "mohla: no usable photograph of kind `shape` in the manifest" in str(refused.exception)
