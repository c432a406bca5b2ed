"""Every broken photograph gets its status, and the batch goes on."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from data_manifests.jsonl import dump_records
from data_manifests.taxonomy import Taxonomy
from generation.executors import executor_for
from generation.ingest import Ingest, ingest
from generation.outcome import Unavailable
from generation.photograph import decode_photograph
from generation.recipe import MaskParams, Recipe
from generation.run import generate
from generation.source_cues import RunContext
from tests.generation import torture

ONE_CLASS = Taxonomy("one", shape={"clock": ()}, texture={})
CASES = torture.torture_cases()


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    photos = tmp_path_factory.mktemp("photos")
    torture.plant(photos / "clock")
    return photos


@pytest.fixture(scope="module")
def tortured(planted: Path) -> Ingest:
    return ingest(str(planted), ONE_CLASS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.file_name[:40])
def test_each_case_gets_its_status_and_flags(case: torture.Case) -> None:
    found = decode_photograph(case.data, case.file_name)

    if isinstance(found, Unavailable):
        assert (found.status, frozenset[str]()) == (case.status, case.flags), found.detail
    else:
        assert ("ok", frozenset(found.flags)) == (case.status, case.flags)


def test_every_case_is_small_and_named_once() -> None:
    assert [case.file_name for case in CASES if len(case.data) > torture.MAX_BYTES] == []
    assert max(Counter(case.file_name for case in CASES).values()) == 1


def test_every_case_of_a_batch_is_a_row_with_its_status(tortured: Ingest) -> None:
    found = {Path(record.file_name).name: record.status for record in tortured.records}

    assert found == {case.file_name: case.status for case in CASES}


def test_rows_of_bad_photographs_say_why_in_words_that_two_runs_share(
    tortured: Ingest, planted: Path
) -> None:
    bad = [record for record in tortured.records if record.status != "ok"]

    assert bad
    assert [record.file_name for record in bad if not record.status_detail] == []
    assert [record.status_detail for record in bad if " at 0x" in record.status_detail] == []
    assert [record.status_detail for record in bad if str(planted) in record.status_detail] == []


def test_two_workers_give_the_bytes_that_one_gives(planted: Path, tortured: Ingest) -> None:
    by_two = ingest(str(planted), ONE_CLASS, workers=2)

    assert dump_records(by_two.records) == dump_records(tortured.records)
    assert by_two.summary == tortured.summary


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links and named pipes of POSIX")
def test_what_is_no_regular_file_is_passed_over_or_a_row(tmp_path: Path) -> None:
    folder = tmp_path / "clock"
    (folder / "directory.jpg").mkdir(parents=True)
    (folder / "good.png").write_bytes(torture.encoded(torture.scene(1), "PNG"))
    (folder / "broken_link.jpg").symlink_to(tmp_path / "nowhere.jpg")
    (folder / "endless_link.jpg").symlink_to(folder / "endless_link.jpg")
    os.mkfifo(folder / "pipe.jpg")

    found = {record.file_name: record for record in ingest(str(tmp_path), ONE_CLASS).records}

    assert {name: record.status for name, record in found.items()} == {
        "clock/broken_link.jpg": "unreadable",
        "clock/endless_link.jpg": "unreadable",
        "clock/good.png": "ok",
        "clock/pipe.jpg": "unreadable",
    }
    assert found["clock/broken_link.jpg"].status_detail == "no such file"
    assert found["clock/pipe.jpg"].status_detail == "not a regular file"


def test_a_file_without_read_permission_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torture.plant(tmp_path / "clock")
    read = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path.name == "grey.jpg":
            raise PermissionError(13, "Permission denied")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)  # root may read everything, whatever chmod says

    (record,) = [r for r in ingest(str(tmp_path), ONE_CLASS).records if r.file_name == "clock/grey.jpg"]

    assert (record.status, record.n_bytes) == ("unreadable", 0)
    assert record.status_detail == "can't be read (Permission denied)"


def test_hidden_files_and_those_of_the_system_have_no_row(tmp_path: Path) -> None:
    for name in (".DS_Store", "Thumbs.db", "desktop.ini", ".hidden.jpg", "__MACOSX/1.jpg", "._1.jpg"):
        path = tmp_path / "clock" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(torture.encoded(torture.scene(2), "JPEG"))
    (tmp_path / "clock" / "1.jpg").write_bytes(torture.encoded(torture.scene(3), "JPEG"))

    result = ingest(str(tmp_path), ONE_CLASS)

    assert [record.file_name for record in result.records] == ["clock/1.jpg"]
    assert result.summary.n_ignored == 0


def test_a_tortured_batch_is_generated_to_its_end(planted: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    records = ingest(str(planted), ONE_CLASS, relative_to=str(out)).records
    recipe = Recipe(name="torture", mask=MaskParams(segmenters=("alpha", "grabcut")))

    result = generate(recipe, records, RunContext(str(out)), executor_for("serial", 1))

    usable = {record.source_id for record in records if record.status == "ok"}
    assert {cue.parent_source_ids[0] for cue in result.cues} == usable
    statuses = Counter(cue.status for cue in result.cues)
    assert statuses["ok"] > 0
    assert set(statuses) <= {"ok", "no_foreground", "mask_empty", "full_frame", "object_too_thin"}
    assert all(cue.status_detail for cue in result.cues if cue.status != "ok")
