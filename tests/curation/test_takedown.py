from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from curation.gate import run_gate
from curation.gate_source import GateSource
from curation.release import write_release
from curation.release_content import read_release
from curation.takedown import Takedown, take_down
from curation.verify import verify_release
from data_manifests.errors import CuebenchError, ProblemsError
from data_manifests.jsonl import read_records
from data_manifests.records import CueRecord
from tests.curation.release_run import files_of, make_run, previous_of, publish, request

REASON = "the author asked for it"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def source(run: Path) -> GateSource:
    """Return a run in which the second texture cue of a class has a second photograph: that of the first."""
    found = make_run(run)
    cues = list(found.data.cues)
    first, second = [number for number, cue in enumerate(cues) if cue.superclass == "texture_0"][:2]
    parents = (*cues[second].parent_source_ids, *cues[first].parent_source_ids)
    cues[second] = cues[second].model_copy(update={"parent_source_ids": parents})
    return replace(found, data=replace(found.data, cues=tuple(cues)))


@pytest.fixture(scope="module")
def release(source: GateSource, run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("releases") / "1.0.0"
    publish(source, run, folder, request(exports=("webdataset",)))
    return folder


def texture_cues(release: Path) -> list[CueRecord]:
    cues = read_records(str(release / "manifests/cues.jsonl"), CueRecord)
    return [cue for cue in cues if cue.superclass == "texture_0"]


def shared_source(release: Path) -> str:
    return next(cue for cue in texture_cues(release) if len(cue.parent_source_ids) == 2).parent_source_ids[1]


def ask(
    *, sources: tuple[str, ...] = (), cues: tuple[str, ...] = (), reason: str = REASON, version: str = "1.0.1"
) -> Takedown:
    return Takedown(sources, cues, reason, version, "2026-12-01")


def publish_without(release: Path, out: Path, asked: Takedown) -> None:
    before = previous_of(release)
    content = take_down(before.content, asked, release_id=before.release_id, code="0.1.0")
    write_release(content, run_gate(content.data, "0.1.0"), str(out))


def test_with_a_photograph_goes_all_that_was_made_from_it(release: Path, tmp_path: Path) -> None:
    source_id = shared_source(release)
    gone = [cue for cue in texture_cues(release) if source_id in cue.parent_source_ids]
    assert len(gone) == 2
    publish_without(release, tmp_path / "1.0.1", ask(sources=(source_id,)))
    found = verify_release(str(tmp_path / "1.0.1"))
    assert (found.is_intact, found.version) == (True, "1.0.1")
    content = read_release(str(tmp_path / "1.0.1"))
    hashes = {cue.sha256 for cue in gone}
    assert len(content.data.cues) == 38
    assert hashes.isdisjoint(row.sha256 for row in (*content.data.responses, *content.data.verdicts))
    assert len(content.data.responses) == 160 - 8
    files = files_of(tmp_path / "1.0.1")
    for cue in gone:
        assert cue.file_name not in files
        named = {name for name, data in files.items() if cue.cue_id.encode() in data}
        assert named == {"withdrawn.jsonl"}, "shards, licences and metadata forget it"
    assert source_id not in {row.source_id for row in content.data.sources}


def test_the_tombstones_say_what_and_why_and_when(release: Path, tmp_path: Path) -> None:
    source_id = shared_source(release)
    publish_without(release, tmp_path / "1.0.1", ask(sources=(source_id,)))
    rows = [json.loads(line) for line in (tmp_path / "1.0.1/withdrawn.jsonl").read_text().splitlines()]
    assert [row["what"] for row in rows] == ["cue", "cue", "source"]
    assert {(row["reason"], row["date"], row["version"]) for row in rows} == {(REASON, "2026-12-01", "1.0.1")}
    assert rows[2]["sha256"] == source_id
    old = {cue.cue_id: cue for cue in texture_cues(release)}
    assert all(row["sha256"] == old[row["cue_id"]].sha256 for row in rows[:2])
    changelog = (tmp_path / "1.0.1/CHANGELOG.md").read_text()
    assert f"## 1.0.1 - 2026-12-01\n\n- 2 pictures withdrawn: {REASON}\n" in changelog
    assert "3 tombstones in `withdrawn.jsonl`" in (tmp_path / "1.0.1/README.md").read_text()


def test_a_cue_alone_leaves_its_photograph_where_that_has_others(release: Path, tmp_path: Path) -> None:
    source_id = shared_source(release)
    cue = next(cue for cue in texture_cues(release) if cue.parent_source_ids == (source_id,))
    publish_without(release, tmp_path / "1.0.1", ask(cues=(cue.cue_id,)))
    content = read_release(str(tmp_path / "1.0.1"))
    assert len(content.data.cues) == 39
    assert source_id in {row.source_id for row in content.data.sources}
    assert [row.what for row in content.withdrawn] == ["cue"]


def test_numbers_are_computed_anew(release: Path, tmp_path: Path) -> None:
    publish_without(release, tmp_path / "1.0.1", ask(cues=(texture_cues(release)[0].cue_id,)))
    before, after = (
        json.loads((folder / "gate.json").read_text()) for folder in (release, tmp_path / "1.0.1")
    )
    assert [row["n_images"] for row in before["evidence"]] == [20, 20]
    assert [row["n_images"] for row in after["evidence"]] == [20, 19]
    assert before["input"]["responses"] != after["input"]["responses"]
    assert before["report_sha256"] != after["report_sha256"]


def test_what_has_to_go_goes_even_if_the_gate_then_says_no(release: Path, tmp_path: Path) -> None:
    gone = tuple(cue.cue_id for cue in texture_cues(release)[:3])
    publish_without(release, tmp_path / "1.0.1", ask(cues=gone))
    found = verify_release(str(tmp_path / "1.0.1"))
    assert (found.is_intact, found.outcome) == (True, "INSUFFICIENT")
    assert "**The release gate says INSUFFICIENT**" in (tmp_path / "1.0.1/README.md").read_text()


def test_what_was_taken_down_does_not_come_back(
    source: GateSource, run: Path, release: Path, tmp_path: Path
) -> None:
    publish_without(release, tmp_path / "1.0.1", ask(sources=(shared_source(release),)))
    publish(source, run, tmp_path / "1.0.2", request("1.0.2"), tmp_path / "1.0.1")
    content = read_release(str(tmp_path / "1.0.2"))
    assert len(content.data.cues) == 38
    assert content.meta.left_out == {"rejected": 3, "withdrawn": 2}
    assert len(content.withdrawn) == 3
    assert verify_release(str(tmp_path / "1.0.2")).is_intact


def test_a_second_takedown_keeps_the_tombstones_of_the_first(release: Path, tmp_path: Path) -> None:
    first, second = (cue.cue_id for cue in texture_cues(release)[:2])
    publish_without(release, tmp_path / "1.0.1", ask(cues=(first,)))
    publish_without(tmp_path / "1.0.1", tmp_path / "1.0.2", ask(cues=(second,), version="1.0.2"))
    content = read_release(str(tmp_path / "1.0.2"))
    assert {row.cue_id for row in content.withdrawn} == {first, second}
    assert [change.version for change in content.meta.changes] == ["1.0.0", "1.0.1", "1.0.2"]
    with pytest.raises(ProblemsError, match=f"--cue {first}: no such cue"):
        publish_without(tmp_path / "1.0.2", tmp_path / "1.0.3", ask(cues=(first,), version="1.0.3"))


def test_a_class_that_goes_as_a_whole_is_a_major_version(release: Path, tmp_path: Path) -> None:
    cues = tuple(cue.cue_id for cue in texture_cues(release))
    with pytest.raises(CuebenchError, match=r"needs a major version, 2.0.0 or later \(classes that are gone"):
        publish_without(release, tmp_path / "1.0.1", ask(cues=cues))
    publish_without(release, tmp_path / "2.0.0", ask(cues=cues, version="2.0.0"))
    assert verify_release(str(tmp_path / "2.0.0")).is_intact


def test_what_is_not_in_the_release_is_named_all_at_once(release: Path, tmp_path: Path) -> None:
    with pytest.raises(ProblemsError) as caught:
        publish_without(release, tmp_path / "out", ask(sources=("0" * 64,), cues=("1" * 32,)))
    assert caught.value.problems == (
        f"--source {'0' * 64}: no cue was made from it",
        f"--cue {'1' * 32}: no such cue",
    )


def test_a_takedown_of_nothing_without_a_reason_or_of_everything_is_refused(
    release: Path, tmp_path: Path
) -> None:
    cues = tuple(cue.cue_id for cue in read_release(str(release)).data.cues)
    for asked, message in [
        (ask(), "nothing to take down: name photographs with --source"),
        (ask(cues=cues[:1], reason=" "), "--reason: expected why it is taken down"),
        (ask(cues=cues), "no cue would be left: withdraw the whole release"),
    ]:
        with pytest.raises(CuebenchError, match=message):
            publish_without(release, tmp_path / "out", asked)
    assert not (tmp_path / "out").exists()
