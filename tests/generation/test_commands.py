from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner

from curation import cli
from data_manifests.errors import CuebenchError
from data_manifests.jsonl import read_records
from data_manifests.records import SourceRecord
from generation.commands import spread_over_classes
from generation.demo_command import PHOTOGRAPHS, demo
from generation.photograph import Photograph, decode_photograph
from generation.segmenters.grabcut import GrabCutSegmenter
from tests.generation.photographs import write_photographs


def cuebench(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        cli.main(list(args))
    assert isinstance(stop.value.code, int)
    return stop.value.code


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    photos = tmp_path / "photos"
    write_photographs(photos, n_shape=2, n_texture=1)
    out = tmp_path / "sources.jsonl"
    assert cuebench("ingest", str(photos), "--taxonomy", "refined-bias-20", "--out", str(out)) == 0
    return out


def test_generate_prints_its_summary_as_json(
    sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    run = tmp_path / "run"
    args = ("--sources", str(sources), "--out", str(run), "--segmenter", "grabcut", "--side", "256")
    assert cuebench("generate", "refined-bias", *args, "--format", "json") == 0
    captured = capsys.readouterr()
    summary = json.loads(captured.out)
    assert (summary["n_sources"], summary["n_cues"], summary["n_failed"]) == (3, 6, 0)
    assert summary["n_ok"] + summary["n_flagged"] == 6
    assert summary["to_do"] == {}
    for row in summary["classes"]:
        assert row["n_ok"] + row["n_flagged"] + row["n_failed"] == row["n_cues"]
    assert summary["segmenters"] == {"grabcut": 3}
    assert [row["superclass"] for row in summary["classes"]] == ["clock", "zebra"]
    assert f"wrote {run}/cues.jsonl" in captured.err
    assert 'segmenters = [\n    "grabcut",\n]' in (run / "recipe.toml").read_text(encoding="utf-8")


def test_no_segmenter_named_uses_the_best_installed_and_says_so(
    sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("U2NET_HOME", str(tmp_path / "none"))
    args = ("--sources", str(sources), "--out", str(tmp_path / "run"), "--limit", "1")
    assert cuebench("generate", "refined-bias", *args) == 0
    captured = capsys.readouterr()
    assert "no segmenter named, using alpha, then grabcut, then fullframe" in captured.err
    assert "cuebench models fetch u2netp" in captured.err
    assert captured.out.rstrip().endswith("masks: grabcut 1")
    assert "loading" not in captured.err
    # The run is there: what it uses was said.
    assert cuebench("generate", "refined-bias", *args) == 0
    assert "no segmenter named" not in capsys.readouterr().err


def test_masks_that_are_picked_need_no_segmenter(
    sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ("generate", "refined-bias", "--sources", str(sources))
    assert cuebench(*args, "--out", str(tmp_path / "first"), "--segmenter", "grabcut") == 0
    capsys.readouterr()
    masks = str(tmp_path / "first" / "masks.jsonl")
    assert cuebench(*args, "--out", str(tmp_path / "second"), "--masks", masks) == 0
    assert "segmenter" not in capsys.readouterr().err
    assert "segmenters = []" in (tmp_path / "second" / "recipe.toml").read_text(encoding="utf-8")


def test_a_model_that_is_loaded_is_announced_until_the_run_is_done(
    sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("run", "source_cues"):
        monkeypatch.setattr(f"generation.{module}.load_segmenters", lambda _: (GrabCutSegmenter(),))
    run = tmp_path / "run"
    args = ("--sources", str(sources), "--out", str(run), "--limit", "1", "--segmenter", "rembg:u2netp")
    assert cuebench("generate", "refined-bias", *args) == 0
    assert "loading rembg:u2netp; the first photograph takes longer" in capsys.readouterr().err
    assert cuebench("generate", "refined-bias", *args) == 0
    assert "loading" not in capsys.readouterr().err


def test_a_limit_takes_as_many_of_every_class(sources: Path) -> None:
    first, second, third = read_records(str(sources), SourceRecord)
    broken = first.model_copy(update={"status": "truncated"})
    assert [first.superclass, second.superclass, third.superclass] == ["clock", "clock", "zebra"]
    assert spread_over_classes([third, second, first], 1) == [first]
    assert spread_over_classes([third, second, first], 2) == [first, third]
    assert spread_over_classes([third, second, first], 9) == [first, third, second]
    assert spread_over_classes([broken, second, third], 2) == [second, third]


def test_a_moved_manifest_needs_the_folder_of_the_photographs(
    sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = tmp_path / "elsewhere" / "sources.jsonl"
    moved.parent.mkdir()
    moved.write_bytes(sources.read_bytes())
    args = ("--sources", str(moved), "--segmenter", "grabcut", "--limit", "1")
    assert cuebench("generate", "refined-bias", *args, "--out", str(tmp_path / "a")) == 1
    captured = capsys.readouterr()
    assert "shape  clock  1     0   0        1       source_missing 1" in captured.out
    assert "source_missing: name the folder of the manifest's file names with --photos" in captured.out
    assert captured.err.endswith(f"cuebench: {tmp_path / 'a'}: no cue could be made, for the reasons above\n")
    assert cuebench(
        "generate", "refined-bias", *args, "--photos", str(tmp_path), "--out", str(tmp_path / "b")
    ) == 0  # fmt: skip
    assert "source_missing" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--segmenter", "grabcat"), "grabcat: no such segmenter (did you mean `grabcut`?)"),
        (
            ("--side", "300", "--segmenter", "grabcut"),
            "side_px: no multiple of 8, 16, 32; 288 and 320 are the",
        ),
        (("--masks", "nowhere.jsonl", "--segmenter", "grabcut"), "nowhere.jsonl: no such file"),
    ],
)
def test_a_wrong_option_is_named_and_nothing_is_written(
    options: tuple[str, ...], message: str, sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    run = tmp_path / "run"
    assert cuebench("generate", "refined-bias", "--sources", str(sources), "--out", str(run), *options) == 1
    errors = capsys.readouterr().err
    assert message in errors
    assert "Traceback" not in errors
    assert not run.exists()


def test_a_manifest_of_another_kind_is_recognised(
    sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    args = ("generate", "refined-bias", "--segmenter", "grabcut")
    assert cuebench(*args, "--sources", str(sources), "--out", str(run)) == 0
    capsys.readouterr()
    cues = str(run / "cues.jsonl")
    assert cuebench(*args, "--sources", cues, "--out", str(tmp_path / "x")) == 1
    assert capsys.readouterr().err == (
        f"cuebench: {cues}: a manifest of cues (the cues.jsonl of a run); "
        "--sources takes one of photographs (the sources.jsonl that `ingest` wrote)\n"
    )
    for wrong, what in ((str(sources), "photographs"), (cues, "cues")):
        assert cuebench(*args, "--sources", str(sources), "--masks", wrong, "--out", str(tmp_path / "x")) == 1
        errors = capsys.readouterr().err
        assert f"{wrong}: a manifest of {what} (" in errors
        assert "--masks takes one of masks (a masks.jsonl)" in errors


def test_the_demo_renders_cues_that_are_all_ok(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    result = CliRunner().invoke(demo, ["--out", str(out)])
    assert result.exit_code == 0, result.output
    page = out / "run" / "gallery.html"
    assert result.stdout.rstrip().endswith(f"Open it in a browser: {page}")
    assert "segmenter" not in result.stderr
    rows = [json.loads(row) for row in (out / "run" / "cues.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 15
    assert {(row["status"], *row["flags"]) for row in rows} == {("ok",)}
    assert page.stat().st_size > 100_000
    for arguments, hint in (
        (["--out", str(out)], "or --force to replace the demo in it"),
        (["--out", str(tmp_path), "--force"], "it holds no demo"),
    ):
        refused = CliRunner().invoke(demo, arguments)
        assert isinstance(refused.exception, CuebenchError)
        assert hint in str(refused.exception)
    assert page.exists()


def test_the_demo_cuts_out_the_whole_horse() -> None:
    known = next(photograph for photograph in PHOTOGRAPHS if photograph.superclass == "horse")
    data = files("skimage").joinpath("data", known.name).read_bytes()
    photograph = decode_photograph(data, known.name)
    assert isinstance(photograph, Photograph)
    (found,) = GrabCutSegmenter(box=known.box).propose(photograph)
    black = photograph.image[..., 0] < 128  # a silhouette: its mask is known
    assert (found.mask & black).sum() / (found.mask | black).sum() > 0.98
