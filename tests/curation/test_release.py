from __future__ import annotations

import csv
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from curation.gate import run_gate
from curation.gate_source import GateSource
from curation.release import not_redistributable, prepare_release, write_release
from curation.release_anonymous import anonymise, new_codes
from curation.release_content import RESPONSES, read_release
from curation.release_sums import SUMS, read_sums, release_id
from curation.verify import verify_release
from data_manifests.errors import CuebenchError, ProblemsError
from data_manifests.jsonl import read_records
from data_manifests.records import CueRecord
from tests.curation.release_run import (
    edit_row,
    files_of,
    make_run,
    previous_of,
    publish,
    request,
    simulated,
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def source(run: Path) -> GateSource:
    return make_run(run)


@pytest.fixture(scope="module")
def release(source: GateSource, run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("releases") / "1.0.0"
    publish(source, run, folder, request(exports=("parquet", "webdataset")))
    return folder


def test_two_builds_are_identical_whatever_the_order_of_rows_and_the_folder(
    source: GateSource, run: Path, release: Path, tmp_path: Path
) -> None:
    data = source.data
    shuffled = replace(
        data,
        cues=data.cues[::-1],
        sources=data.sources[::-1],
        responses=data.responses[::-1],
        verdicts=data.verdicts[::-1],
    )
    moved = tmp_path / "moved"
    shutil.copytree(run, moved)
    for path in moved.rglob("*.png"):
        path.chmod(0o600)
        os.utime(path, (0, 0))
    again = tmp_path / "again"
    publish(replace(source, data=shuffled), moved, again, request(exports=("webdataset", "parquet")))
    assert files_of(again) == files_of(release)


def test_the_sums_name_every_file_in_the_order_of_their_bytes(release: Path) -> None:
    content, sums = read_sums(str(release))
    names = [line.split("  ", 1)[1] for line in content.decode().splitlines()]
    assert names == sorted(names, key=str.encode)
    assert set(names) == files_of(release).keys() - {SUMS}
    assert len(release_id(content)) == 64
    assert sums["README.md"] in content.decode()


def test_every_picture_lies_in_the_folder_of_its_class_and_has_one_row_with_its_label(release: Path) -> None:
    for kind in ("shape", "texture"):
        root = release / "data" / kind
        rows = [json.loads(line) for line in (root / "metadata.jsonl").read_text().splitlines()]
        pictures = {path.relative_to(root).as_posix() for path in root.rglob("*.png")}
        assert len(rows) == 20
        assert {row["file_name"] for row in rows} == pictures
        assert all(row["file_name"] == f"{row['label']}/{row['cue_id']}.png" for row in rows)
        assert all(value is not None for row in rows for value in row.values())
        assert all(row["n_ratings"] == 4 for row in rows)
        assert ("grid" in rows[0]) == (kind == "texture")


def test_file_names_have_one_dot(release: Path) -> None:
    assert {path.name.count(".") for path in (release / "data").rglob("*") if path.is_file()} == {1}


def test_no_file_says_where_it_was_made(release: Path, run: Path) -> None:
    for name, data in files_of(release).items():
        assert str(run).encode() not in data, name
    assert (release / "recipe.toml").read_text().count("folder:masks") == 1
    cues = read_records(str(release / "manifests/cues.jsonl"), CueRecord)
    assert {(cue.segmenter, cue.mask_file_name, cue.origin_file_name) for cue in cues} == {
        ("folder:masks", None, None)
    }


def test_photographs_do_not_ship(release: Path) -> None:
    assert [name for name in files_of(release) if name.endswith((".jpg", ".jpeg"))] == []


def test_answers_ship_without_what_tells_who_gave_them(source: GateSource, release: Path) -> None:
    shipped = read_release(str(release)).data
    assert len(shipped.responses) == len(source.data.responses)
    for row in shipped.responses:
        assert (row.note, row.client_utc, row.session, row.event_id) == ("", None, None, None)
        assert row.server_utc == "2026-11-30"
    (decision,) = shipped.adjudications
    assert (decision.rationale, decision.decided_at) == ("", "2026-11-30")
    text = "".join(data.decode() for name, data in files_of(release).items() if name.startswith("ratings/"))
    for secret in ('"ann"', '"bob"', '"eve"', "owner of this dog", "finds it clear"):
        assert secret not in text
    people = {row.rater for row in (*shipped.responses, *shipped.verdicts)} | {decision.adjudicator}
    assert people == {f"P{number:03d}" for number in range(1, 12)}


def test_codes_are_drawn_anew_for_every_version_and_are_the_same_for_the_same(source: GateSource) -> None:
    first, again, second = (new_codes(source.data, version) for version in ("1.0.0", "1.0.0", "1.1.0"))
    assert first == again
    assert first != second
    assert sorted(first.values()) == sorted(second.values())


def test_the_draw_hangs_on_what_does_not_ship(source: GateSource) -> None:
    other = tuple(row.model_copy(update={"event_id": "0" * 32}) for row in source.data.responses)
    data = replace(source.data, responses=other)
    assert new_codes(data, "1.0.0") != new_codes(source.data, "1.0.0")
    assert {row.answer for row in anonymise(data, "1.0.0", keep_notes=False).responses} == {
        row.answer for row in source.data.responses
    }


def test_notes_stay_where_they_were_asked_for(source: GateSource, run: Path, tmp_path: Path) -> None:
    publish(source, run, tmp_path / "out", request(keep_notes=True))
    content = read_release(str(tmp_path / "out"))
    assert content.data.responses[0].note == "I know the owner of this dog"
    assert content.data.adjudications[0].rationale == "Eve finds it clear"
    assert "what they wrote was kept" in (tmp_path / "out" / "DATASHEET.md").read_text()


def test_the_gate_can_be_computed_again_from_what_ships(source: GateSource, release: Path) -> None:
    content = read_release(str(release))
    report = json.loads(json.dumps(run_gate(content.data, content.meta.code).to_json()))
    assert report == json.loads((release / "gate.json").read_text())
    assert report["outcome"] == "PASS"
    before = run_gate(source.data, "0.1.0").to_json()
    assert [check["outcome"] for check in report["checks"]] == [
        check["outcome"] for check in before["checks"]
    ]
    assert content.data.n_check_failures == {new_codes(source.data, "1.0.0")["P001"]: 1}


def test_every_picture_is_attributed(release: Path) -> None:
    with (release / "LICENSES.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 40
    assert {row["license"] for row in rows} == {"CC-BY-4.0"}
    assert {row["file"] for row in rows} == {name for name in files_of(release) if name.endswith(".png")}


def test_a_photograph_without_a_row_is_attributed_to_nobody(
    source: GateSource, run: Path, tmp_path: Path
) -> None:
    rules = source.data.rules.model_copy(
        update={"integrity": source.data.rules.integrity.model_copy(update={"require_license": False})}
    )
    publish(replace(source, data=replace(source.data, sources=(), rules=rules)), run, tmp_path / "out")
    with (tmp_path / "out" / "LICENSES.csv").open(newline="") as stream:
        assert {row["license"] for row in csv.DictReader(stream)} == {"NOASSERTION"}
    assert verify_release(str(tmp_path / "out")).is_intact


def test_simulated_answers_are_marked_everywhere(source: GateSource, run: Path, tmp_path: Path) -> None:
    publish(simulated(source), run, tmp_path / "out")
    for name in ("README.md", "DATASHEET.md", "croissant.json", "report.html"):
        assert "SIMULATED" in (tmp_path / "out" / name).read_text(), name
    for name in ("gate.json", "release.json"):
        assert json.loads((tmp_path / "out" / name).read_text())["simulated"] is True
    rows = (tmp_path / "out" / "data/shape/metadata.jsonl").read_text().splitlines()
    assert all(json.loads(row)["simulated"] is True for row in rows)
    assert verify_release(str(tmp_path / "out")).simulated


def test_a_picture_that_was_changed_after_it_was_made_is_refused(
    source: GateSource, run: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "run"
    shutil.copytree(run, moved)
    name = source.data.cues[0].file_name or ""
    (moved / name).write_bytes((moved / (source.data.cues[1].file_name or "")).read_bytes())
    with pytest.raises(ProblemsError, match=f"{name}: its SHA-256 is .* expected") as caught:
        publish(source, moved, tmp_path / "out")
    assert len(caught.value.problems) == 1
    assert not (tmp_path / "out" / SUMS).exists()


def test_a_folder_with_other_files_is_never_written(source: GateSource, run: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    with pytest.raises(CuebenchError, match="holds files that are not a release"):
        publish(source, run, tmp_path)
    content = prepare_release(source, str(run), request(), None)
    with pytest.raises(CuebenchError, match="holds files that are not a release"):
        write_release(content, run_gate(content.data, "x"), str(tmp_path), force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_a_release_is_replaced_by_force_alone(source: GateSource, run: Path, tmp_path: Path) -> None:
    publish(source, run, tmp_path / "out", request(exports=("webdataset",)))
    with pytest.raises(CuebenchError, match="holds a release already; choose a new folder, or --force"):
        publish(source, run, tmp_path / "out")
    content = prepare_release(source, str(run), request(), None)
    write_release(content, run_gate(content.data, "0.1.0"), str(tmp_path / "out"), force=True)
    assert not (tmp_path / "out" / "webdataset").exists()
    assert verify_release(str(tmp_path / "out")).is_intact


def test_a_run_without_a_recipe_gives_a_release_without(
    source: GateSource, run: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "run"
    shutil.copytree(run, moved)
    (moved / "recipe.toml").unlink()
    publish(source, moved, tmp_path / "out")
    assert not (tmp_path / "out" / "recipe.toml").exists()
    assert "recipe.toml" not in (tmp_path / "out" / "README.md").read_text()


def test_more_pictures_need_a_minor_version(source: GateSource, run: Path, tmp_path: Path) -> None:
    fewer = replace(source, data=replace(source.data, cues=source.data.cues[1:]))
    publish(fewer, run, tmp_path / "1.0.0")
    with pytest.raises(
        CuebenchError, match=r"since 1.0.0 needs a minor version, 1.1.0 or later \(1 picture added"
    ):
        publish(source, run, tmp_path / "1.0.1", request("1.0.1"), tmp_path / "1.0.0")
    publish(source, run, tmp_path / "1.1.0", request("1.1.0"), tmp_path / "1.0.0")
    changelog = (tmp_path / "1.1.0" / "CHANGELOG.md").read_text()
    assert changelog.index("## 1.1.0") < changelog.index("- 1 picture added.") < changelog.index("## 1.0.0")
    meta = read_release(str(tmp_path / "1.1.0")).meta
    assert meta.previous == previous_of(tmp_path / "1.0.0").release_id


def test_nothing_changed_is_a_patch(source: GateSource, run: Path, release: Path, tmp_path: Path) -> None:
    with pytest.raises(CuebenchError, match=r"needs a patch version, 1.0.1 or later \(no picture changed"):
        publish(source, run, tmp_path / "1.0.0", request("1.0.0"), release)
    publish(source, run, tmp_path / "1.0.1", request("1.0.1"), release)
    assert "- No picture changed." in (tmp_path / "1.0.1" / "CHANGELOG.md").read_text()


def test_cues_of_photographs_that_cannot_be_passed_on_are_found(source: GateSource) -> None:
    closed = source.data.sources[3].model_copy(update={"redistributable": "no"})
    data = replace(source.data, sources=(*source.data.sources[:3], closed, *source.data.sources[4:]))
    assert [cue.parent_source_ids for cue in not_redistributable(data)] == [(closed.source_id,)]
    assert not_redistributable(source.data) == []


def test_a_release_without_its_last_file_is_none(release: Path, tmp_path: Path) -> None:
    shutil.copytree(release, tmp_path / "out")
    (tmp_path / "out" / SUMS).unlink()
    with pytest.raises(
        CuebenchError, match="no SHA256SUMS; expected a release, and one whose making was not"
    ):
        read_sums(str(tmp_path / "out"))


def test_mistakes_in_the_sums_are_listed_at_once(tmp_path: Path) -> None:
    good = "0" * 64
    lines = [f"{good}  b", f"{good}  b", "nonsense", f"{good}  ../x", f"{good}  /etc/x"]
    (tmp_path / SUMS).write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(ProblemsError) as caught:
        read_sums(str(tmp_path))
    assert [problem.partition(":")[0] for problem in caught.value.problems] == [
        "line 2",
        "line 3",
        "line 4",
        "line 5",
    ]
    (tmp_path / SUMS).write_text(f"{good}  b\n{good}  a\n")
    with pytest.raises(ProblemsError, match="the lines are not in their order"):
        read_sums(str(tmp_path))


def test_mistakes_in_the_facts_of_a_release_are_named(release: Path, tmp_path: Path) -> None:
    shutil.copytree(release, tmp_path / "out")
    path = tmp_path / "out" / "release.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": "v1", "more": 1}))
    with pytest.raises(ProblemsError) as caught:
        read_release(str(tmp_path / "out"))
    assert any(problem.startswith("version: ") for problem in caught.value.problems)
    assert any(problem.startswith("more: ") for problem in caught.value.problems)


def test_editing_a_row_in_a_test_changes_that_row_alone(release: Path, tmp_path: Path) -> None:
    """Otherwise the tests of `verify` would show less than they say."""
    shutil.copytree(release, tmp_path / "out")
    path = tmp_path / "out" / RESPONSES
    before = path.read_bytes()
    edit_row(path, 3)
    assert path.read_bytes() == before
