from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as PillowImage

from data_manifests.errors import CuebenchError
from data_manifests.jsonl import read_records, write_records
from data_manifests.records import CueRecord, MaskRecord, SourceRecord
from data_manifests.taxonomy import read_taxonomy
from generation.executors import Executor, executor_for
from generation.hashing import pixel_sha256
from generation.ingest import ingest
from generation.masks import encode_mask, mask_sha256
from generation.outcome import Unavailable
from generation.recipe import MaskParams, Recipe
from generation.run import RunResult, generate
from generation.run_shards import plan_shards
from generation.shape import render_shape
from generation.source_cues import RunContext, preview_cues, read_photograph
from generation.texture_origin import OriginMap
from tests.generation.photographs import write_photographs

RECIPE = Recipe(name="test", grids=(8, 32), mask=MaskParams(segmenters=("grabcut",)))


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    write_photographs(folder, n_shape=3, n_texture=2)
    return folder


def sources_of(photos: Path, out: Path) -> list[SourceRecord]:
    return ingest(str(photos), read_taxonomy("refined-bias-20"), relative_to=str(out)).records


def run(
    photos: Path,
    out: Path,
    recipe: Recipe = RECIPE,
    executor: Executor | None = None,
    sources: Sequence[SourceRecord] | None = None,
    **options: Any,
) -> RunResult:
    records = sources_of(photos, out) if sources is None else sources
    return generate(recipe, records, RunContext(str(out)), executor or executor_for("serial", 1), **options)


def content_of(out: Path) -> dict[str, str]:
    """Return the hash of every file of a run by its name."""
    return {
        path.relative_to(out).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def first_run(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "first"
    run(photos, out)
    return out


def test_every_attempted_cue_is_a_row_with_its_files(first_run: Path) -> None:
    cues = read_records(str(first_run / "cues.jsonl"), CueRecord)
    assert [(c.cue_kind, c.superclass, c.grid, c.status) for c in cues] == [
        *[("shape", "clock", None, "ok")] * 3,
        *[("texture", "zebra", 8, "ok"), ("texture", "zebra", 32, "ok")] * 2,
    ]
    assert len({cue.cue_id for cue in cues}) == 7
    for cue in cues:
        assert cue.file_name is not None
        data = (first_run / cue.file_name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == cue.sha256
        pixels = np.asarray(PillowImage.open(first_run / cue.file_name))
        assert pixels.shape == (224, 224, 3)
        assert pixel_sha256(pixels) == cue.pixel_sha256
        assert cue.quality
    masks = read_records(str(first_run / "masks.jsonl"), MaskRecord)
    assert {mask.mask_sha256 for mask in masks} == {cue.mask_sha256 for cue in cues}


def test_a_preview_has_the_pixels_of_the_cues(photos: Path, first_run: Path) -> None:
    cues = read_records(str(first_run / "cues.jsonl"), CueRecord)
    for source in sources_of(photos, first_run):
        own = [cue for cue in cues if cue.parent_source_ids == (source.source_id,)]
        image = read_photograph(RunContext(str(first_run)), source)
        assert not isinstance(image, Unavailable)
        mask = np.asarray(PillowImage.open(first_run / str(own[0].mask_file_name))) > 0
        seen = preview_cues(RECIPE.model_copy(update={"n_variants": 2}), source, image.image, mask)
        assert [picture is not None and pixel_sha256(picture) for picture in seen] == [
            cue.pixel_sha256 for cue in own
        ]
        nothing = preview_cues(RECIPE, source, image.image, np.zeros_like(mask))
        assert nothing == [None] * len(own)


def test_a_stored_origin_map_proves_where_a_texture_came_from(first_run: Path) -> None:
    cues = [c for c in read_records(str(first_run / "cues.jsonl"), CueRecord) if c.cue_kind == "texture"]
    for cue in cues:
        assert cue.origin_file_name is not None
        assert cue.mask_file_name is not None
        with np.load(first_run / cue.origin_file_name) as arrays:
            origin = OriginMap.from_arrays(arrays)
        mask = np.asarray(PillowImage.open(first_run / cue.mask_file_name)) > 0
        assert origin.n_outside(mask) == 0


@pytest.mark.parametrize("n_workers", [1, 2])
def test_worker_processes_give_the_bytes_of_the_serial_run(
    n_workers: int, photos: Path, first_run: Path
) -> None:
    out = first_run.with_name(f"workers{n_workers}")
    run(photos, out, executor=executor_for("process", n_workers))
    assert content_of(out) == content_of(first_run)


def test_the_order_of_the_sources_does_not_matter(photos: Path, first_run: Path) -> None:
    out = first_run.with_name("shuffled")
    run(photos, out, sources=sources_of(photos, out)[::-1])
    assert content_of(out) == content_of(first_run)


def test_the_size_of_the_shards_changes_no_cue(photos: Path, first_run: Path) -> None:
    out = first_run.with_name("sharded")
    run(photos, out, shard_size=2)
    for name in ("cues.jsonl", "masks.jsonl"):
        assert (out / name).read_bytes() == (first_run / name).read_bytes()


def test_a_finished_run_renders_nothing_again(photos: Path, first_run: Path) -> None:
    before = content_of(first_run)
    result = run(photos, first_run)
    assert (result.n_resumed, result.n_shards) == (5, 5)
    assert content_of(first_run) == before


def test_a_deleted_picture_is_rendered_again(photos: Path, first_run: Path) -> None:
    before = content_of(first_run)
    victim = next(first_run.glob("cues/shape/clock/*.png"))
    victim.unlink()
    assert run(photos, first_run).n_resumed == 4
    assert content_of(first_run) == before


def test_a_killed_run_resumes_to_the_same_bytes(photos: Path, first_run: Path) -> None:
    out = first_run.with_name("killed")
    sources = first_run.with_name("killed-sources.jsonl")
    write_records(str(sources), sources_of(photos, sources.parent))
    recipe = first_run / "recipe.toml"
    command = [sys.executable, "-m", "curation.cli", "generate", str(recipe), "--sources", str(sources)]
    process = subprocess.Popen([*command, "--out", str(out)], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not list(out.glob("shards/*.done.json")) and time.monotonic() < deadline:
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (out / "cues.jsonl").exists()
    again = subprocess.run([*command, "--out", str(out)], capture_output=True, text=True, check=True)
    assert "of 5 shards were done before" in again.stderr
    assert content_of(out) == content_of(first_run)


def test_ctrl_c_says_how_to_resume(photos: Path, tmp_path: Path, first_run: Path) -> None:
    sources = tmp_path / "sources.jsonl"
    write_records(str(sources), sources_of(photos, tmp_path))
    out = tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, "-m", "curation.cli", "generate", str(first_run / "recipe.toml"),
         "--sources", str(sources), "--out", str(out), "--workers", "2"],
        stderr=subprocess.PIPE, text=True, start_new_session=True,
        # where the tests run in the background, their children are born deaf to Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not (out / "recipe.toml").exists() and time.monotonic() < deadline:
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)  # the workers are starting now: nothing can be done already
    _, errors = process.communicate()
    assert process.returncode == 130
    assert f"cuebench: stopped; the same command resumes the run in {out}" in errors
    assert "Traceback" not in errors


def test_another_recipe_needs_force(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run(photos, out)
    other = RECIPE.model_copy(update={"grids": (4,)})
    with pytest.raises(CuebenchError, match=r"holds a run of another recipe \(grids\); choose"):
        run(photos, out, other)
    run(photos, out, other, force=True)
    cues = read_records(str(out / "cues.jsonl"), CueRecord)
    assert {cue.grid for cue in cues} == {None, 4}
    pictures = {path.relative_to(out).as_posix() for path in out.glob("cues/*/*/*.png")}
    assert pictures == {cue.file_name for cue in cues if cue.file_name}


def test_fewer_sources_need_force_and_more_do_not(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    sources = sources_of(photos, out)
    run(photos, out, sources=sources[:2])
    assert run(photos, out, sources=sources).n_resumed == 2
    message = (
        r"other photographs \(3 of its 5 are not among these\); "
        "choose another --out, or --force to replace that run"
    )
    with pytest.raises(CuebenchError, match=message):
        run(photos, out, sources=sources[:2])


def test_a_folder_of_other_files_is_left_alone(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious", encoding="utf-8")
    with pytest.raises(CuebenchError, match="holds files that are not a run"):
        run(photos, tmp_path, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_nothing_usable_is_an_error(photos: Path, tmp_path: Path) -> None:
    bad = [s.model_copy(update={"status": "truncated"}) for s in sources_of(photos, tmp_path)]
    with pytest.raises(CuebenchError, match="no source with status `ok`"):
        run(photos, tmp_path / "run", sources=bad)


def test_missing_and_changed_photographs_are_rows(tmp_path: Path) -> None:
    photos, out = tmp_path / "photos", tmp_path / "run"
    write_photographs(photos, n_shape=3, n_texture=0)
    sources = sources_of(photos, out)
    (photos / "clock" / "0.png").unlink()
    (photos / "clock" / "1.png").write_bytes((photos / "clock" / "2.png").read_bytes())
    cues = run(photos, out, sources=sources).cues
    assert sorted(cue.status for cue in cues) == ["ok", "source_changed", "source_missing"]
    details = {cue.status: cue.status_detail for cue in cues}
    assert (
        "0.png: no such file; --photos names the folder that file names are relative to"
        in details["source_missing"]
    )
    assert "run `ingest` again" in details["source_changed"]


def test_a_photograph_that_comes_back_is_rendered_when_the_run_goes_on(tmp_path: Path) -> None:
    photos, out = tmp_path / "photos", tmp_path / "run"
    write_photographs(photos, n_shape=2, n_texture=0)
    sources = sources_of(photos, out)
    moved = photos / "clock" / "0.png"
    moved.rename(tmp_path / "0.png")
    assert sorted(cue.status for cue in run(photos, out, sources=sources).cues) == ["ok", "source_missing"]
    (tmp_path / "0.png").rename(moved)
    again = run(photos, out, sources=sources)
    assert [cue.status for cue in again.cues] == ["ok", "ok"]
    assert again.n_resumed == 1


def test_a_fault_costs_one_photograph_and_is_logged(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = render_shape
    calls: list[int] = []

    def fail_once(*args: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise ZeroDivisionError("division by zero")
        return real(*args)

    monkeypatch.setattr("generation.source_cues.render_shape", fail_once)
    cues = run(photos, tmp_path / "run").cues
    failed = [cue for cue in cues if cue.status != "ok"]
    assert [(cue.status, cue.status_detail) for cue in failed] == [
        ("internal_error", "ZeroDivisionError: division by zero")
    ]
    assert "unexpected failure" in caplog.text
    assert "Traceback" in caplog.text


def test_picked_masks_take_the_place_of_segmentation(photos: Path, tmp_path: Path) -> None:
    out, picks = tmp_path / "run", tmp_path / "picks"
    sources = sources_of(photos, out)
    mask = np.zeros((240, 240), bool)
    mask[60:180, 40:200] = True
    shape = [source for source in sources if source.cue_kind == "shape"]
    picks.mkdir()
    (picks / "box.png").write_bytes(encode_mask(mask))
    rows = [
        MaskRecord(
            source_id=shape[0].source_id, cue_kind="shape", mask_sha256=mask_sha256(mask),
            file_name="box.png", segmenter="hand", reason="picked",
        ),
        MaskRecord(
            source_id=shape[1].source_id, cue_kind="shape", mask_sha256="0" * 64,
            file_name="box.png", segmenter="hand",
        ),
        MaskRecord(
            source_id=shape[2].source_id, cue_kind="shape", mask_sha256=None, file_name=None, segmenter="hand"
        ),
    ]  # fmt: skip
    result = generate(
        RECIPE, sources, RunContext(str(out), str(picks)), executor_for("serial", 1), picks=rows
    )
    by_source = {cue.parent_source_ids[0]: cue for cue in result.cues if cue.cue_kind == "shape"}
    picked = by_source[shape[0].source_id]
    assert (picked.status, picked.segmenter, picked.mask_sha256) == ("ok", "hand", mask_sha256(mask))
    assert by_source[shape[1].source_id].status == "mask_mismatch"
    assert "its hash differs" in by_source[shape[1].source_id].status_detail
    assert by_source[shape[2].source_id].status == "mask_empty"


def test_doubts_about_a_mask_are_flags_of_its_cues(photos: Path, tmp_path: Path) -> None:
    out, again = tmp_path / "run", tmp_path / "again"
    zebra = [source for source in sources_of(photos, out) if source.cue_kind == "texture"][:1]
    # The photographs are opaque: `alpha` finds nothing.
    recipe = RECIPE.model_copy(update={"mask": MaskParams(segmenters=("alpha", "fullframe"))})
    result = run(photos, out, recipe, sources=zebra)
    assert result.masks[0].flags == ("mask_fallback",)
    assert all("mask_fallback" in cue.flags for cue in result.cues)
    asked = RECIPE.model_copy(update={"mask": MaskParams(segmenters=("fullframe",))})
    assert run(photos, tmp_path / "asked", asked, sources=zebra).masks[0].flags == ()
    # A mask that is taken over from a run is as doubtful as before; one that a person picked is not.
    reused = read_records(str(out / "masks.jsonl"), MaskRecord)
    context = RunContext(str(again), str(out))
    cues = generate(RECIPE, zebra, context, executor_for("serial", 1), picks=reused).cues
    assert all("mask_fallback" in cue.flags for cue in cues)


def test_a_run_with_picked_masks_holds_the_hash_of_their_manifest(
    photos: Path, first_run: Path, tmp_path: Path
) -> None:
    manifest = first_run / "masks.jsonl"
    context = RunContext(str(tmp_path / "run"), str(first_run))
    sources = sources_of(photos, tmp_path / "run")
    picks = read_records(str(manifest), MaskRecord)
    generate(RECIPE, sources, context, executor_for("serial", 1), picks=picks)
    inputs = json.loads((tmp_path / "run" / "inputs.json").read_text(encoding="utf-8"))
    assert inputs == {"masks_sha256": hashlib.sha256(manifest.read_bytes()).hexdigest()}
    assert json.loads((first_run / "inputs.json").read_text(encoding="utf-8")) == {"masks_sha256": None}


@pytest.mark.parametrize(
    ("content", "difference"),
    [
        ("name = ", "a recipe that can't be read any more"),
        (f"{RECIPE.to_toml()}\n", r"another recipe \(written in another way\)"),
        (
            RECIPE.model_copy(update={"seed": 3, "n_variants": 2}).to_toml(),
            r"another recipe \(n_variants, seed\)",
        ),
    ],
)
def test_what_differs_from_the_run_in_the_folder_is_named(
    content: str, difference: str, photos: Path, tmp_path: Path
) -> None:
    (tmp_path / "recipe.toml").write_text(content, encoding="utf-8")
    with pytest.raises(CuebenchError, match=f"holds a run of {difference}; choose another --out"):
        run(photos, tmp_path)


def test_a_mask_of_another_size_is_a_row(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    source = sources_of(photos, out)[0]
    (tmp_path / "small.png").write_bytes(encode_mask(np.ones((10, 10), bool)))
    pick = MaskRecord(
        source_id=source.source_id,
        cue_kind="shape",
        mask_sha256=None,
        file_name="small.png",
        segmenter="hand",
    )
    context = RunContext(str(out), str(tmp_path))
    result = generate(RECIPE, [source], context, executor_for("serial", 1), picks=[pick])
    assert result.cues[0].status == "mask_mismatch"
    assert "expected 240x240 pixels, got 10x10" in result.cues[0].status_detail


def test_a_mask_reused_from_a_run_gives_the_same_cues(photos: Path, first_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    masks = read_records(str(first_run / "masks.jsonl"), MaskRecord)
    context = RunContext(str(out), str(first_run))
    result = generate(RECIPE, sources_of(photos, out), context, executor_for("serial", 1), picks=masks)
    before = read_records(str(first_run / "cues.jsonl"), CueRecord)
    assert [cue.pixel_sha256 for cue in result.cues] == [cue.pixel_sha256 for cue in before]


def test_two_photographs_with_one_cue_are_flagged(photos: Path, tmp_path: Path) -> None:
    folder = tmp_path / "photos" / "clock"
    folder.mkdir(parents=True)
    original = PillowImage.open(photos / "clock" / "0.png")
    original.save(folder / "a.png")
    # Another background far from the object: another photograph, the same outline.
    changed = original.copy()
    changed.putpixel((0, 0), (0, 0, 0))
    changed.save(folder / "b.png")
    sources = sources_of(tmp_path / "photos", tmp_path / "run")
    mask = np.zeros((240, 240), bool)
    mask[60:180, 40:200] = True
    (tmp_path / "box.png").write_bytes(encode_mask(mask))
    picks = [
        MaskRecord(
            source_id=s.source_id, cue_kind="shape", mask_sha256=None, file_name="box.png", segmenter="hand"
        )
        for s in sources
    ]  # fmt: skip
    context = RunContext(str(tmp_path / "run"), str(tmp_path))
    result = generate(RECIPE, sources, context, executor_for("serial", 1), picks=picks)
    assert [("duplicate" in cue.flags) for cue in result.cues] == [False, True]


def test_numbers_outside_of_their_limits_are_flagged(photos: Path, tmp_path: Path) -> None:
    strict = RECIPE.model_validate(
        {
            **RECIPE.model_dump(),
            "limits": {"shape": {"peak": {"min": 256}}, "texture": {"seam_ratio": {"max": 0}}},
        }
    )
    cues = run(photos, tmp_path / "run", strict).cues
    assert all("peak" in cue.flags for cue in cues if cue.cue_kind == "shape")
    assert all("seam_ratio" in cue.flags for cue in cues if cue.cue_kind == "texture")


def test_shards_of_a_large_run_hold_a_thousand_sources(photos: Path, tmp_path: Path) -> None:
    source = sources_of(photos, tmp_path)[0]
    sizes = [len(shard.sources) for shard in plan_shards([source] * 100_500, [], "0" * 64, None)]
    assert sizes == [1000] * 100 + [500]
    small = [len(shard.sources) for shard in plan_shards([source] * 130, [], "0" * 64, None)]
    assert small == [2] * 65


def test_a_done_file_names_what_it_rests_on(first_run: Path) -> None:
    for path in first_run.glob("shards/*.done.json"):
        content = json.loads(path.read_text(encoding="utf-8"))
        assert content["recipe_sha256"] == RECIPE.sha256
        assert content["versions"]["numpy"] == np.__version__
