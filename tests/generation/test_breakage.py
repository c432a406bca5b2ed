"""What users do to a run, and what happens to them."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from data_manifests import storage
from data_manifests.errors import CuebenchError
from data_manifests.records import MaskRecord, SourceRecord
from data_manifests.taxonomy import read_taxonomy
from generation.executors import executor_for
from generation.ingest import ingest
from generation.masks import encode_mask
from generation.recipe import MaskParams, Recipe
from generation.run import RunResult, generate
from generation.source_cues import RunContext
from tests.generation.photographs import write_photographs

REPOSITORY = Path(__file__).resolve().parents[2]
RECIPE = Recipe(name="test", mask=MaskParams(segmenters=("grabcut",)))


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    write_photographs(folder, n_shape=2, n_texture=0)
    return folder


def sources_of(photos: Path, out: Path | str) -> list[SourceRecord]:
    return ingest(str(photos), read_taxonomy("refined-bias-20"), relative_to=str(out)).records


def run(
    out: Path | str,
    sources: Sequence[SourceRecord],
    recipe: Recipe = RECIPE,
    picks: Sequence[MaskRecord] = (),
    *,
    force: bool = False,
) -> RunResult:
    context = RunContext(str(out), str(out))
    return generate(recipe, sources, context, executor_for("serial", 1), picks=picks, force=force)


def content_of(out: Path) -> dict[str, str]:
    return {
        path.relative_to(out).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in out.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("damage", [b"", b"{}", b"[]", b"null", b"\xff\x00", b'{"cues":'])
def test_a_damaged_done_file_is_rendered_again(
    damage: bytes, photos: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "run"
    run(out, sources_of(photos, out))
    before = content_of(out)
    victim = min(out.glob("shards/*.done.json"))
    victim.write_bytes(damage)
    assert run(out, sources_of(photos, out)).n_resumed == 1
    assert content_of(out) == before
    assert f"{victim}: damaged; its photographs are rendered again" in caplog.text


def test_a_done_file_of_another_shard_does_not_count(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run(out, sources_of(photos, out))
    before = content_of(out)
    first, second = sorted(out.glob("shards/*.done.json"))
    first.write_bytes(second.read_bytes())
    assert run(out, sources_of(photos, out)).n_resumed == 1
    assert content_of(out) == before


@pytest.mark.parametrize("pattern", ["cues/*/*/*.png", "masks/*.png"])
def test_a_picture_that_a_power_cut_emptied_is_rendered_again(
    pattern: str, photos: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    run(out, sources_of(photos, out))
    before = content_of(out)
    min(out.glob(pattern)).write_bytes(b"")
    assert run(out, sources_of(photos, out)).n_resumed < 2
    assert content_of(out) == before


def test_a_cue_that_was_painted_over_is_rendered_again(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run(out, sources_of(photos, out))
    before = content_of(out)
    first, second = sorted(out.glob("cues/*/*/*.png"))
    first.write_bytes(second.read_bytes())
    run(out, sources_of(photos, out))
    assert content_of(out) == before


def test_what_a_killed_process_had_half_written_goes(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    (out / ".0000.part").write_bytes(b"half a recipe")
    run(out, sources_of(photos, out))
    before = content_of(out)
    (out / "cues" / ".0000.part").write_bytes(b"half a cue")
    run(out, sources_of(photos, out))
    assert content_of(out) == before


def test_a_second_process_in_a_run_folder_is_refused(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with (
        storage.sole_writer(str(out)),
        pytest.raises(CuebenchError, match="another process is writing it; wait for it, or end it first"),
    ):
        run(out, sources_of(photos, out))
    assert run(out, sources_of(photos, out)).n_shards == 2


def test_a_run_cannot_be_a_file(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.write_text("precious", encoding="utf-8")
    with pytest.raises(CuebenchError, match="run: expected a folder, or a name that is free; this is a file"):
        run(out, sources_of(photos, out), force=True)
    assert out.read_text(encoding="utf-8") == "precious"


def test_force_leaves_no_manifest_of_the_run_that_it_replaces(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    run(out, sources_of(photos, out))

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("generation.run.run_shard", stop)
    with pytest.raises(KeyboardInterrupt):
        run(out, sources_of(photos, out), RECIPE.model_copy(update={"seed": 1}), force=True)
    assert sorted(path.name for path in out.iterdir()) == ["inputs.json", "recipe.toml", "sources.jsonl"]


def test_force_deletes_no_masks_beside_a_recipe_that_is_no_run(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "masks").mkdir()
    (tmp_path / "masks" / "drawn.png").write_bytes(b"precious")
    (tmp_path / "recipe.toml").write_text('name = "mine"', encoding="utf-8")
    with pytest.raises(CuebenchError, match="--force deletes runs only: choose a new folder for --out"):
        run(tmp_path, sources_of(photos, tmp_path), force=True)
    assert (tmp_path / "masks" / "drawn.png").exists()


def test_damaged_sources_in_a_run_need_force(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run(out, sources_of(photos, out))
    before = content_of(out)
    (out / "sources.jsonl").write_bytes(b"{")
    with pytest.raises(CuebenchError, match="or --force to replace that run"):
        run(out, sources_of(photos, out))
    run(out, sources_of(photos, out), force=True)
    assert content_of(out) == before


def test_a_photograph_that_is_twice_in_its_superclass_is_refused(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    first, second = sources_of(photos, out)
    again = first.model_copy(update={"file_name": second.file_name})
    with pytest.raises(CuebenchError, match=r"1\.png: the same photograph as .*0\.png, both .* of clock"):
        run(out, [first, again])
    assert not out.exists()


def test_two_picked_masks_for_a_photograph_are_refused(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    sources = sources_of(photos, out)
    pick = MaskRecord(
        source_id=sources[0].source_id,
        cue_kind="shape",
        mask_sha256=None,
        file_name="a.png",
        segmenter="hand",
    )
    other = pick.model_copy(update={"file_name": "b.png"})
    with pytest.raises(CuebenchError, match="picked masks: 2 rows for the shape cues of the photograph"):
        run(out, sources, picks=[pick, other])


def test_a_picked_mask_that_is_gone_costs_one_photograph_until_it_comes_back(
    photos: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    sources = sources_of(photos, out)
    pick = MaskRecord(
        source_id=sources[0].source_id,
        cue_kind="shape",
        mask_sha256=None,
        file_name="../drawn.png",
        segmenter="hand",
    )
    failed, made = run(out, sources, picks=[pick]).cues
    if made.status != "ok":
        failed, made = made, failed
    assert (failed.status, made.status) == ("mask_unusable", "ok")
    assert failed.status_detail.startswith("no such file (")
    mask = np.zeros((240, 240), bool)
    mask[60:180, 40:200] = True
    (tmp_path / "drawn.png").write_bytes(encode_mask(mask))
    assert [cue.status for cue in run(out, sources, picks=[pick]).cues] == ["ok", "ok"]


def test_a_mask_that_was_drawn_again_or_added_is_used(photos: Path, tmp_path: Path) -> None:
    out, masks = tmp_path / "run", tmp_path / "masks"
    recipe = Recipe(name="test", mask=MaskParams(segmenters=(f"folder:{masks}",)))
    masks.mkdir()
    mask = np.zeros((240, 240), bool)
    mask[60:180, 40:200] = True
    (masks / "0.png").write_bytes(encode_mask(mask))
    sources = sources_of(photos, out)
    before = run(out, sources, recipe).cues
    assert sorted(cue.status for cue in before) == ["no_foreground", "ok"]
    (masks / "1.png").write_bytes(encode_mask(mask))
    added = run(out, sources, recipe)
    assert (added.n_resumed, [cue.status for cue in added.cues]) == (1, ["ok", "ok"])
    (masks / "1.png").write_bytes(encode_mask(mask.T))
    drawn = run(out, sources, recipe)
    assert drawn.n_resumed == 1
    assert {cue.mask_sha256 for cue in drawn.cues} != {cue.mask_sha256 for cue in added.cues}


def test_other_labels_of_the_same_photographs_reach_the_cues(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    sources = sources_of(photos, out)
    run(out, sources)
    other = [source.model_copy(update={"wnids": ("n04548280",)}) for source in sources]
    assert {cue.wnids for cue in run(out, other).cues} == {("n04548280",)}


def test_a_run_behind_a_link_finds_its_photographs(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "deep" / "disk").mkdir(parents=True)
    (tmp_path / "runs").symlink_to(tmp_path / "deep" / "disk")
    out = tmp_path / "runs" / "first"
    assert [cue.status for cue in run(out, sources_of(photos, out)).cues] == ["ok", "ok"]


def test_a_run_in_a_remote_store_is_that_of_a_local_folder(photos: Path, tmp_path: Path) -> None:
    local = run(tmp_path / "run", sources_of(photos, tmp_path / "run"))
    remote = run("memory://breakage/run", sources_of(photos, "memory://breakage/run"))
    assert remote.cues == local.cues
    assert storage.list_files("memory://breakage/run") == sorted(content_of(tmp_path / "run"))
    storage.remove_tree("memory://breakage")


def test_photographs_whose_names_are_not_utf_8_are_told_and_cost_no_other(
    photos: Path, tmp_path: Path
) -> None:
    (tmp_path / "photos" / "clock").mkdir(parents=True)
    data = (photos / "clock" / "0.png").read_bytes()
    folder = os.fsencode(tmp_path / "photos" / "clock")
    for name in (b"good.png", b"caf\xe9.png"):
        with open(folder + b"/" + name, "wb") as stream:  # noqa: PTH123
            stream.write(data)
    found = ingest(str(tmp_path / "photos"), read_taxonomy("refined-bias-20"))
    assert [record.file_name for record in found.records] == ["clock/good.png"]
    (problem,) = found.summary.problems
    assert (problem.kind, problem.examples) == ("bad_name", (r"clock/caf\xe9.png",))
    assert found.summary.n_ignored == 0


def test_a_folder_whose_name_is_not_utf_8_is_named(tmp_path: Path) -> None:
    with pytest.raises(CuebenchError, match=r"caf\\xe9: a name in this path is not UTF-8; rename"):
        ingest(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"), read_taxonomy("refined-bias-20"))


PARENT = """
import signal, sys
from generation.executors import executor_for

def report_and_wait(fifo):
    stream = open(fifo, "wb", buffering=0)
    stream.write(b"x")
    signal.pause()

if __name__ == "__main__":
    list(executor_for("process", 1).run(report_and_wait, [sys.argv[1]]))
"""


def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    script, fifo = tmp_path / "parent.py", tmp_path / "fifo"
    script.write_text(PARENT, encoding="utf-8")
    os.mkfifo(fifo)
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    process = subprocess.Popen([sys.executable, str(script), str(fifo)], env=environment)
    with fifo.open("rb", buffering=0) as stream:
        assert stream.read(1) == b"x"
        process.send_signal(signal.SIGKILL)
        process.wait()
        # A pipe ends when the last process that can write into it has gone.
        assert stream.read(1) == b""
