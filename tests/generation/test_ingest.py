from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import fsspec
import pytest
from click.testing import CliRunner, Result

from data_manifests.errors import CuebenchError, ProblemsError
from data_manifests.jsonl import dump_records, read_records
from data_manifests.records import SourceRecord
from data_manifests.storage import join, read_bytes
from data_manifests.taxonomy import Taxonomy, read_taxonomy
from generation import ingest as ingest_module
from generation.executors import WorkerDied
from generation.ingest import ingest
from generation.ingest_command import ingest as ingest_command
from tests.generation import torture
from tests.paths import SHARED_DATA, needs_shared_data

TAXONOMY = Taxonomy(
    "small",
    shape={"clock": ("n04548280",), "zebra": ("n02391049",)},
    texture={"zebra": ("n02391049",), "tiger": ()},
)


def save(path: Path, seed: int, file_format: str = "PNG", **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(torture.encoded(torture.scene(seed), file_format, **options))
    return path


def write_csv(path: Path, rows: Sequence[dict[str, str]]) -> str:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    save(folder / "clock" / "1.png", 1)
    save(folder / "clock" / "2.png", 2)
    save(folder / "zebra" / "1.png", 3)
    return folder


@pytest.fixture
def memory() -> Iterator[str]:
    filesystem = fsspec.filesystem("memory")
    yield "memory://ingested"
    if filesystem.exists("/ingested"):
        filesystem.rm("/ingested", recursive=True)


def test_a_photograph_is_a_row_for_each_kind_of_its_superclass(photos: Path) -> None:
    records = ingest(str(photos), TAXONOMY).records

    assert [(record.cue_kind, record.superclass, record.file_name) for record in records] == [
        ("shape", "clock", "clock/1.png"),
        ("shape", "clock", "clock/2.png"),
        ("shape", "zebra", "zebra/1.png"),
        ("texture", "zebra", "zebra/1.png"),
    ]


def test_a_row_tells_bytes_and_pixels_of_its_photograph(photos: Path) -> None:
    record = ingest(str(photos), TAXONOMY).records[0]

    data = (photos / "clock" / "1.png").read_bytes()
    assert (record.source_id, record.n_bytes) == (hashlib.sha256(data).hexdigest(), len(data))
    assert (record.width, record.height, record.mode, record.format) == (120, 90, "RGB", "PNG")
    assert record.wnids == ("n04548280",)
    assert (record.status, record.status_detail, record.flags) == ("ok", "", ())
    assert record.pixel_sha256
    assert record.phash


def test_size_and_perceptual_hash_are_those_of_the_upright_photograph(tmp_path: Path) -> None:
    save(tmp_path / "clock" / "upright.png", 1)
    turned = torture.oriented(torture.scene(1), 6, "PNG")
    (tmp_path / "clock" / "turned.png").write_bytes(turned)

    turned_record, upright_record = ingest(str(tmp_path), TAXONOMY).records

    assert (turned_record.width, turned_record.height) == (120, 90)
    assert turned_record.phash == upright_record.phash
    assert turned_record.pixel_sha256 == upright_record.pixel_sha256


def test_photographs_in_subfolders_belong_to_the_first_folder(tmp_path: Path) -> None:
    save(tmp_path / "clock" / "from_ada" / "1.png", 1)

    result = ingest(str(tmp_path), TAXONOMY)

    (record,) = result.records
    assert (record.superclass, record.file_name) == ("clock", "clock/from_ada/1.png")
    (problem,) = result.summary.problems
    assert (problem.kind, problem.n, problem.examples) == ("subfolder", 1, ("clock/from_ada: 1 files",))


def test_subfolders_whose_class_the_csv_names_are_no_problem(tmp_path: Path) -> None:
    save(tmp_path / "clock" / "from_ada" / "1.png", 1)
    table = write_csv(tmp_path / "rows.csv", [{"file_name": "clock/from_ada/1.png", "superclass": "clock"}])

    assert ingest(str(tmp_path), TAXONOMY, table).summary.problems == ()


def test_licences_that_are_no_common_spdx_ids_are_a_problem(photos: Path) -> None:
    names = ("clock/1.png", "clock/2.png", "zebra/1.png")
    licences = ("CC-BY-40", "LicenseRef-mine OR CC-BY-SA-3.0", "CC0-1.0")
    rows = [{"file_name": n, "license_spdx": one} for n, one in zip(names, licences, strict=True)]

    (problem,) = ingest(str(photos), TAXONOMY, write_csv(photos / "rows.csv", rows)).summary.problems

    assert (problem.kind, problem.n) == ("unknown_license", 1)
    assert problem.examples == ("CC-BY-40: 1 rows (did you mean `CC-BY-4.0`?)",)


@pytest.mark.parametrize("manifest_folder", ["runs/first", "photos", "."])
def test_file_names_lead_from_the_manifest_to_the_photograph(
    photos: Path, tmp_path: Path, manifest_folder: str
) -> None:
    folder = str(tmp_path / manifest_folder)

    for record in ingest(str(photos), TAXONOMY, relative_to=folder).records:
        (tmp_path / manifest_folder).mkdir(parents=True, exist_ok=True)
        assert hashlib.sha256(read_bytes(join(folder, record.file_name))).hexdigest() == record.source_id
        assert str(tmp_path) not in record.file_name


def test_relative_paths_of_photographs_and_manifest_need_no_common_form(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(photos.parent)

    records = ingest("photos", TAXONOMY, relative_to=str(photos.parent / "run")).records

    assert records[0].file_name == "../photos/clock/1.png"


def test_photographs_of_another_file_system_keep_their_url(memory: str, tmp_path: Path) -> None:
    with fsspec.open(f"{memory}/clock/1.png", "wb") as stream:
        stream.write(torture.encoded(torture.scene(1), "PNG"))

    (here,) = ingest(memory, TAXONOMY, relative_to=str(tmp_path)).records
    (beside,) = ingest(memory, TAXONOMY, relative_to=memory).records

    assert here.file_name == "memory://ingested/clock/1.png"
    assert beside.file_name == "clock/1.png"
    assert here.source_id == beside.source_id


def test_local_photographs_of_a_remote_manifest_have_full_paths(photos: Path, memory: str) -> None:
    records = ingest(str(photos), TAXONOMY, relative_to=memory).records

    assert records[0].file_name == (photos / "clock" / "1.png").resolve().as_posix()


def test_the_same_bytes_and_the_same_pixels_are_duplicates_of_the_first(photos: Path) -> None:
    save(photos / "clock" / "0.png", 1)
    save(photos / "clock" / "3.tif", 1, "TIFF")

    result = ingest(str(photos), TAXONOMY)

    found = {record.file_name: (record.status, record.status_detail) for record in result.records}
    assert found["clock/0.png"] == ("ok", "")
    assert found["clock/1.png"] == ("duplicate", "same bytes as clock/0.png")
    assert found["clock/3.tif"] == ("duplicate", "same pixels as clock/0.png")
    assert result.summary.duplicates.exact == (("clock/0.png", "clock/1.png", "clock/3.tif"),)


def test_near_duplicates_are_flagged_and_stay_usable(photos: Path) -> None:
    save(photos / "clock" / "3.jpg", 1, "JPEG", quality=60)

    result = ingest(str(photos), TAXONOMY)

    (near,) = [record for record in result.records if record.file_name == "clock/3.jpg"]
    assert (near.status, near.flags) == ("ok", ("near_duplicate",))
    assert near.status_detail.endswith(" of 64 bits from clock/1.png")
    assert result.summary.duplicates.near == (("clock/1.png", "clock/3.jpg"),)
    assert result.summary.duplicates.exact == ()


def test_the_nearest_of_several_near_duplicates_is_named(tmp_path: Path) -> None:
    image = torture.scene(1)
    for name, quality in (("a.jpg", 4), ("b.jpg", 95)):
        save(tmp_path / "clock" / name, 1, "JPEG", quality=quality)
    (tmp_path / "clock" / "c.png").write_bytes(torture.encoded(image, "PNG"))

    records = ingest(str(tmp_path), TAXONOMY, near_duplicate_bits=16).records

    assert records[2].status_detail == "0 of 64 bits from clock/b.jpg"


def test_a_photograph_in_two_classes_of_any_kind_is_flagged_in_both(photos: Path) -> None:
    save(photos / "zebra" / "2.png", 1)
    save(photos / "tiger" / "1.png", 2)

    result = ingest(str(photos), TAXONOMY)

    found = {(record.cue_kind, record.file_name): record for record in result.records}
    assert found["shape", "clock/1.png"].flags == ("in_two_classes",)
    assert found["shape", "clock/1.png"].status_detail == "also in zebra (shape), zebra (texture)"
    assert found["shape", "zebra/2.png"].status_detail == "also in clock (shape)"
    assert found["texture", "tiger/1.png"].flags == ("in_two_classes",)
    assert found["texture", "tiger/1.png"].status_detail == "also in clock (shape)"
    assert found["texture", "zebra/1.png"].flags == ()  # both kinds of one class share their photographs
    assert result.summary.duplicates.in_two_classes == (
        ("clock/1.png", "zebra/2.png"),
        ("clock/2.png", "tiger/1.png"),
    )


def test_bad_photographs_are_no_duplicates_of_each_other(tmp_path: Path) -> None:
    for name in ("1.jpg", "2.jpg"):
        save(tmp_path / "clock" / name, 1).write_bytes(b"")

    records = ingest(str(tmp_path), TAXONOMY).records

    assert [record.status for record in records] == ["not_an_image", "not_an_image"]


def test_provenance_fills_the_rows_of_its_file(photos: Path, tmp_path: Path) -> None:
    rows = [
        {
            "file_name": "clock/1.png",
            "origin": "web",
            "source_item": "77",
            "author": "Ada",
            "license_spdx": "CC-BY-4.0",
            "redistributable": "yes",
        }
    ]

    result = ingest(str(photos), TAXONOMY, write_csv(tmp_path / "sources.csv", rows))

    first, second = result.records[:2]
    assert (first.origin, first.source_item, first.author) == ("web", "77", "Ada")
    assert (first.license_spdx, first.redistributable) == ("CC-BY-4.0", "yes")
    assert (second.origin, second.license_spdx, second.redistributable) == ("", "NOASSERTION", "unknown")
    assert result.summary.licences.by_license == {"NOASSERTION": 3, "CC-BY-4.0": 1}
    assert result.summary.licences.n_without_license == 3
    assert result.summary.licences.n_redistribution_unknown == 3


def test_other_bytes_than_the_provenance_describes_are_a_status(photos: Path, tmp_path: Path) -> None:
    data = (photos / "clock" / "2.png").read_bytes()
    rows = [
        {"file_name": "clock/1.png", "sha256": "0" * 64},
        {"file_name": "clock/2.png", "sha256": hashlib.sha256(data).hexdigest().upper()},
    ]

    first, second = ingest(str(photos), TAXONOMY, write_csv(tmp_path / "sources.csv", rows)).records[:2]

    assert first.status == "hash_mismatch"
    assert first.status_detail.startswith("expected SHA-256 000000000000... by the CSV, the file has ")
    assert second.status == "ok"


def test_the_csv_gives_class_and_kind_where_it_names_them(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    save(photos / "1.png", 1)
    save(photos / "zebra" / "2.png", 2)
    rows = [
        {"file_name": "1.png", "superclass": "tiger", "cue": ""},
        {"file_name": "zebra/2.png", "superclass": "", "cue": "texture"},
    ]

    result = ingest(str(photos), TAXONOMY, write_csv(tmp_path / "sources.csv", rows))

    assert [(record.cue_kind, record.superclass, record.file_name) for record in result.records] == [
        ("texture", "tiger", "1.png"),
        ("texture", "zebra", "zebra/2.png"),
    ]
    assert result.summary.problems == ()


def test_problems_are_counted_with_what_to_do_and_the_rest_goes_on(photos: Path, tmp_path: Path) -> None:
    save(photos / "clok" / "1.png", 4)
    save(photos / "clok" / "2.png", 5)
    save(photos / "loose.png", 6)
    save(photos / "tiger" / "1.png", 7)
    rows = [
        {"file_name": "clock/1.png", "superclass": "zebra", "cue": ""},
        {"file_name": "clock/2.png", "superclass": "", "cue": "texture"},
        {"file_name": "clock/gone.png", "superclass": "", "cue": ""},
        {"file_name": "zebra/1.png", "superclass": "", "cue": ""},
    ]

    summary = ingest(str(photos), TAXONOMY, write_csv(tmp_path / "sources.csv", rows)).summary

    found = {problem.kind: (problem.n, problem.examples) for problem in summary.problems}
    assert found == {
        "unknown_class": (2, ("clok: 2 files (did you mean `clock`?)",)),
        "no_class": (1, ("loose.png",)),
        "wrong_kind": (1, ("clock/2.png: clock has no texture cues",)),
        "csv_without_file": (1, ("clock/gone.png",)),
        "file_without_csv": (1, ("tiger/1.png",)),
        "class_disagrees": (1, ("clock/1.png: zebra by the CSV",)),
    }
    assert all(problem.to_do for problem in summary.problems)
    assert summary.n_rows == 5
    assert summary.n_ignored == 0


def test_files_that_are_no_pictures_and_do_not_claim_to_be_are_ignored(photos: Path) -> None:
    (photos / "sources.csv").write_text("file_name\n", encoding="utf-8")
    (photos / "clock" / "notes.txt").write_text("by Ada", encoding="utf-8")
    (photos / "clock" / "page.jpg").write_text("<html>", encoding="utf-8")

    result = ingest(str(photos), TAXONOMY)

    assert result.summary.n_ignored == 2
    assert result.summary.by_status == {"ok": 4, "not_an_image": 1}


def test_a_file_that_the_csv_names_has_a_row_whatever_it_is(photos: Path, tmp_path: Path) -> None:
    (photos / "clock" / "notes.txt").write_text("by Ada", encoding="utf-8")
    provenance = write_csv(tmp_path / "sources.csv", [{"file_name": "clock/notes.txt"}])

    summary = ingest(str(photos), TAXONOMY, provenance).summary

    assert summary.by_status == {"ok": 4, "not_an_image": 1}


def test_the_balance_lists_every_class_of_the_taxonomy(photos: Path) -> None:
    (photos / "clock" / "bad.jpg").write_bytes(b"")

    classes = ingest(str(photos), TAXONOMY, target_per_class=2).summary.classes

    assert [(c.superclass, c.cue_kind, c.n_rows, c.n_ok, c.target, c.n_missing) for c in classes] == [
        ("clock", "shape", 3, 2, 2, 0),
        ("tiger", "texture", 0, 0, 2, 2),
        ("zebra", "shape", 1, 1, 2, 1),
        ("zebra", "texture", 1, 1, 2, 1),
    ]


def test_progress_is_told_after_each_photograph(photos: Path) -> None:
    told: list[tuple[int, int]] = []

    ingest(str(photos), TAXONOMY, on_progress=lambda *numbers: told.append(numbers))

    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_photograph_that_kills_its_worker_is_a_row(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Deadly:
        def run(self, function: Any, items: Sequence[str]) -> Iterator[tuple[str, Any]]:
            for item in items:
                yield item, WorkerDied() if item == "clock/1.png" else function(item)

    monkeypatch.setattr(ingest_module, "executor_for", lambda *_: Deadly())

    records = ingest(str(photos), TAXONOMY, workers=2).records

    assert Counter(record.status for record in records) == {"ok": 3, "unreadable": 1}
    assert records[0].status_detail.startswith("the process that decoded it was killed")
    assert records[0].source_id == hashlib.sha256((photos / "clock" / "1.png").read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target_per_class": 0}, "target: expected at least 1 photograph per class, got 0"),
        ({"near_duplicate_bits": 17}, "near-duplicate bits: expected 0 to 16, got 17"),
        ({"workers": 0}, "workers: expected at least 1, got 0"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(photos: Path, options: dict[str, int], message: str) -> None:
    with pytest.raises(CuebenchError, match=message):
        ingest(str(photos), TAXONOMY, **options)  # type: ignore[arg-type]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CuebenchError, match="nowhere: no such folder"):
        ingest(str(tmp_path / "nowhere"), TAXONOMY)


def test_a_folder_without_any_superclass_says_what_was_found(tmp_path: Path) -> None:
    save(tmp_path / "zebras" / "1.png", 1)

    with pytest.raises(
        CuebenchError, match=r"no photographs of the taxonomy `small`; expected <superclass>/"
    ):
        ingest(str(tmp_path), TAXONOMY)
    with pytest.raises(CuebenchError, match=r"found zebras \(did you mean `zebra`\?\)"):
        ingest(str(tmp_path), TAXONOMY)


def test_mistakes_in_the_csv_stop_before_anything_is_decoded(photos: Path, tmp_path: Path) -> None:
    provenance = write_csv(tmp_path / "sources.csv", [{"filename": "clock/1.png"}])

    with pytest.raises(ProblemsError, match=r"unknown column \(did you mean `file_name`\?\)"):
        ingest(str(photos), TAXONOMY, provenance)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(ingest_command, arguments, catch_exceptions=True)


@pytest.fixture
def shipped_photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    save(folder / "clock" / "1.png", 1)
    save(folder / "zebra" / "1.png", 2)
    (folder / "zebra" / "2.jpg").write_bytes(b"<html>")
    return folder


def test_the_command_writes_the_manifest_and_a_summary(shipped_photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "sources.jsonl"

    result = run(str(shipped_photos), "--taxonomy", "refined-bias-20", "--out", str(out), "--target", "5")

    assert result.exit_code == 0, result.output
    records = read_records(str(out), SourceRecord)
    assert [record.file_name for record in records] == [
        "../photos/clock/1.png",
        "../photos/zebra/1.png",
        "../photos/zebra/2.jpg",
    ]
    assert out.read_bytes() == dump_records(records)
    assert "3 photographs, 3 rows, 2 ok" in result.stdout
    assert "not_an_image     1  the download failed or saved a page: fetch it again" in result.stdout
    assert "2 usable rows without a licence" in result.stdout
    assert "sources.jsonl: 3 rows, 2 of them ok" in result.stderr
    assert "photo/s" in result.stderr
    assert "photo/s" not in result.stdout


def test_the_command_prints_one_json_object(shipped_photos: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "sources.jsonl")

    result = run(str(shipped_photos), "--taxonomy", "refined-bias-20", "--out", out, "--format", "json")

    summary = json.loads(result.stdout)
    assert (summary["n_photographs"], summary["n_rows"], summary["n_ok"]) == (3, 3, 2)
    assert summary["by_status"] == {"ok": 2, "not_an_image": 1}
    assert len(summary["classes"]) == 20
    assert summary["classes"][7]["target"] == 300


def test_the_command_overwrites_only_by_force(shipped_photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "sources.jsonl"
    arguments = (str(shipped_photos), "--taxonomy", "refined-bias-20", "--out", str(out))
    assert run(*arguments).exit_code == 0
    before = out.read_bytes()

    refused = run(*arguments)
    assert isinstance(refused.exception, CuebenchError)
    assert str(refused.exception).endswith(
        "there is already a file; choose another name, or replace it with --force"
    )
    assert out.read_bytes() == before

    for text in ("", before.decode()):
        out.write_text(text, encoding="utf-8")
        assert run(*arguments, "--force").exit_code == 0
        assert out.read_bytes() == before


def test_force_replaces_nothing_but_a_source_manifest(shipped_photos: Path, tmp_path: Path) -> None:
    photograph = shipped_photos / "clock" / "1.png"
    notes = tmp_path / "notes.jsonl"
    notes.write_text('{"mine": 1}\n', encoding="utf-8")
    messages = {
        photograph: "expected a name that ends in .jsonl for the source manifest",
        notes: "not a source manifest, and --force replaces nothing else; choose another name",
    }
    for out, message in messages.items():
        before = out.read_bytes()
        refused = run(str(shipped_photos), "--taxonomy", "refined-bias-20", "--out", str(out), "--force")
        assert isinstance(refused.exception, CuebenchError)
        assert str(refused.exception) == f"{out}: {message}"
        assert out.read_bytes() == before


def test_the_text_summary_shows_groups_and_problems_and_cuts_long_lists(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    for number in range(12):
        save(photos / f"nothing{number:02d}" / "1.png", number)
    save(photos / "clock" / "1.png", 1)
    save(photos / "clock" / "2.png", 1)
    save(photos / "clock" / "3.jpg", 1, "JPEG")
    save(photos / "zebra" / "1.png", 1)

    text = ingest(str(photos), TAXONOMY).summary.to_text()

    assert "same photograph twice in a class: 1 group\n    clock/1.png = clock/2.png" in text
    assert "nearly the same in a class: 1 group\n    clock/1.png = clock/3.jpg" in text
    assert "same photograph in two classes: 1 group\n    clock/1.png = clock/2.png = zebra/1.png" in text
    assert "unknown_class: 12 photographs in folders that are no superclass" in text
    assert "    nothing09: 1 files\n    ... and 2 more (all of them: --format json)" in text
    assert "no duplicates" not in text


def test_every_status_of_the_torture_set_comes_with_advice(tmp_path: Path) -> None:
    torture.plant(tmp_path / "clock")

    text = ingest(str(tmp_path), TAXONOMY).summary.to_text()

    statuses = {case.status for case in torture.torture_cases()} - {"ok"}
    advice = {line.split()[0]: line.split()[2:] for line in text.splitlines() if line.startswith("  ")}
    assert {status for status in statuses if not advice[status]} == set()


@needs_shared_data
def test_all_real_photographs_are_ingested() -> None:
    photos = SHARED_DATA / "photos"

    result = ingest(str(photos), read_taxonomy("refined-bias-20"), str(photos / "sources.csv"))

    assert Counter(record.status for record in result.records) == {"ok": 102}
    assert result.summary.problems == ()
    assert result.summary.duplicates.exact == ()
    assert min(balance.n_ok for balance in result.summary.classes) >= 1
    assert all(record.landing_url for record in result.records)
    assert all(record.phash and record.pixel_sha256 for record in result.records)
