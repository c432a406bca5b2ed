from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation import cli
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
    assert (summary["n_sources"], summary["n_cues"], summary["n_ok"]) == (3, 6, 6)
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


def test_a_moved_manifest_needs_the_folder_of_the_photographs(
    sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = tmp_path / "elsewhere" / "sources.jsonl"
    moved.parent.mkdir()
    moved.write_bytes(sources.read_bytes())
    args = ("--sources", str(moved), "--segmenter", "grabcut", "--limit", "1")
    assert cuebench("generate", "refined-bias", *args, "--out", str(tmp_path / "a")) == 0
    assert "source_missing 1" in capsys.readouterr().out
    assert cuebench(
        "generate", "refined-bias", *args, "--photos", str(tmp_path), "--out", str(tmp_path / "b")
    ) == 0  # fmt: skip
    assert "source_missing" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--segmenter", "grabcat"), "grabcat: no such segmenter (did you mean `grabcut`?)"),
        (("--side", "300", "--segmenter", "grabcut"), "side_px: 300 is no multiple of the grid"),
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


def test_the_demo_runs_the_whole_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "demo"
    assert cuebench("demo", "--out", str(out)) == 0
    captured = capsys.readouterr()
    page = out / "run" / "gallery.html"
    assert captured.out.rstrip().endswith(f"Open it in a browser: {page}")
    rows = [json.loads(row) for row in (out / "run" / "cues.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 19
    assert {row["status"] for row in rows} == {"ok"}
    assert page.stat().st_size > 100_000
    assert cuebench("demo", "--out", str(out)) == 1
    assert "--force to replace the demo in it" in capsys.readouterr().err
    assert cuebench("demo", "--out", str(tmp_path), "--force") == 1
    assert "it holds no demo" in capsys.readouterr().err
    assert page.exists()
