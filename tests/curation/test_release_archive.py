from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from curation import release_archive
from curation.release_archive import write_tar
from curation.release_content import read_release
from curation.release_sums import SIGNATURE, SUMS, file_sha256
from curation.verify import verify_release
from data_manifests.errors import CuebenchError
from tests.curation.release_run import files_of, make_run, publish, request


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    make_run(folder)
    return folder


@pytest.fixture(scope="module")
def release(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("releases") / "1.0.0"
    publish(make_run(run), run, folder, request(exports=("parquet", "webdataset")))
    return folder


def test_a_tar_of_the_same_release_has_the_same_bytes(release: Path, tmp_path: Path) -> None:
    shutil.copytree(release, tmp_path / "copy")
    for path in (tmp_path / "copy").rglob("*"):
        os.utime(path, (1, 1))
        path.chmod(0o700)
    first, second = tmp_path / "a.tar", tmp_path / "b.tar"
    digest = write_tar(str(release), str(first), folder="cues-1.0.0", date="2026-11-30")
    assert write_tar(str(tmp_path / "copy"), str(second), folder="cues-1.0.0", date="2026-11-30") == digest
    assert first.read_bytes() == second.read_bytes()
    assert file_sha256(str(first)) == digest


def test_a_tar_holds_the_release_and_its_signature_and_nothing_else(release: Path, tmp_path: Path) -> None:
    shutil.copytree(release, tmp_path / "copy")
    (tmp_path / "copy" / SIGNATURE).write_text("signed")
    (tmp_path / "copy" / "note.txt").write_text("not listed")
    write_tar(str(tmp_path / "copy"), str(tmp_path / "a.tar"), folder="cues-1.0.0", date="2026-11-30")
    with tarfile.open(tmp_path / "a.tar") as archive:
        members = archive.getmembers()
        archive.extractall(tmp_path / "out", filter="data")
    names = [member.name for member in members]
    assert names == sorted(names)
    assert {(m.uid, m.gid, m.uname, m.gname, m.mode, m.mtime) for m in members} == {
        (0, 0, "", "", 0o644, 1795996800)
    }
    assert files_of(tmp_path / "out" / "cues-1.0.0") == {**files_of(release), SIGNATURE: b"signed"}
    assert verify_release(str(tmp_path / "out" / "cues-1.0.0")).is_intact


def test_a_tar_that_is_there_is_not_overwritten(release: Path, tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_text("mine")
    with pytest.raises(CuebenchError, match=r"a\.tar: is there already; delete it, or choose another --tar"):
        write_tar(str(release), str(tmp_path / "a.tar"), folder="x", date="2026-11-30")
    assert (tmp_path / "a.tar").read_text() == "mine"


def test_shards_hold_every_picture_once_with_its_label(release: Path) -> None:
    seen = []
    for path in sorted((release / "webdataset").iterdir()):
        samples = samples_of(path)
        classes = sorted({json.loads(sample["json"])["label"] for sample in samples.values()})
        for key, sample in samples.items():
            said = json.loads(sample["json"])
            kind, _, cue_id = key.partition("_")
            assert said["cue_id"] == cue_id
            assert classes[int(sample["cls"])] == said["label"]
            assert sample["png"] == (release / "data" / kind / said["label"] / f"{cue_id}.png").read_bytes()
            seen.append(cue_id)
    assert sorted(seen) == sorted(cue.cue_id for cue in read_release(str(release)).data.cues)


def samples_of(path: Path) -> dict[str, dict[str, bytes]]:
    """Return key -> suffix -> content, cut at the first dot as WebDataset does."""
    found: dict[str, dict[str, bytes]] = {}
    with tarfile.open(path) as archive:
        for member in archive:
            key, _, suffix = member.name.partition(".")
            stream = archive.extractfile(member)
            assert isinstance(stream, io.BufferedReader)
            found.setdefault(key, {})[suffix] = stream.read()
    assert all(set(sample) == {"cls", "json", "png"} for sample in found.values())
    return found


def test_a_kind_with_many_pictures_has_several_shards(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release_archive, "SHARD_SIZE", 8)
    publish(make_run(run), run, tmp_path / "out", request(exports=("webdataset",)))
    names = sorted(path.name for path in (tmp_path / "out" / "webdataset").iterdir())
    assert names == [f"{kind}-{number:06d}.tar" for kind in ("shape", "texture") for number in range(3)]
    keys = [key for name in names for key in samples_of(tmp_path / "out" / "webdataset" / name)]
    assert len(keys) == len(set(keys)) == 40


def test_parquet_twins_hold_the_rows_of_the_tables_and_no_column_without_a_type(release: Path) -> None:
    content = read_release(str(release))
    cues = pq.read_table(release / "parquet" / "cues.parquet")
    rows = cues.to_pylist()
    assert [row["cue_id"] for row in rows] == [cue.cue_id for cue in content.data.cues]
    assert json.loads(rows[0]["parent_source_ids"]) == list(content.data.cues[0].parent_source_ids)
    responses = pq.read_table(release / "parquet" / "responses.parquet")
    assert responses.num_rows == len(content.data.responses)
    assert {str(field.type) for table in (cues, responses) for field in table.schema} <= {
        "string",
        "int64",
        "bool",
    }
    assert {path.stem for path in (release / "parquet").iterdir()} == {
        "cues", "sources", "responses", "verdicts", "adjudications",
    }  # fmt: skip


def test_the_exports_are_part_of_what_the_release_says_of_itself(release: Path) -> None:
    assert read_release(str(release)).meta.exports == ("parquet", "webdataset")
    sums = (release / SUMS).read_text()
    assert "  webdataset/shape-000000.tar\n" in sums
    assert "  parquet/cues.parquet\n" in sums
