from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from curation.cli import main
from data_manifests.errors import CuebenchError
from data_manifests.shipped import shipped_names
from evaluation.commands import evaluate as evaluate_command
from evaluation.models import OPTIONS
from evaluation.registry import FOLDER, read_registry
from evaluation.scores import read_scores
from tests.evaluation.drawn_cues import colour_matrix, draw_cues
from tests.evaluation.tiny_onnx import write_tiny_onnx

HERE = "tests.evaluation.drawn_cues"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(evaluate_command, list(arguments))


def write_registry(folder: Path, *models: str) -> str:
    path = folder / "own.toml"
    path.write_text("name = 'own'\n" + "".join(f"[[models]]\n{model}\n" for model in models))
    return str(path)


@pytest.mark.parametrize(
    ("name", "n_models"), [("architectures", 20), ("strategies", 32), ("large", 6), ("quantised-resnets", 20)]
)
def test_the_shipped_registries_have_the_models_of_the_paper(name: str, n_models: int) -> None:
    assert len(read_registry(name).models) == n_models


def test_every_shipped_registry_is_counted() -> None:
    assert shipped_names(FOLDER) == ["architectures", "large", "quantised-resnets", "strategies"]


def test_the_strategies_have_the_families_of_the_paper() -> None:
    families = [entry.family for entry in read_registry("strategies").models]
    assert {family: families.count(family) for family in families} == {
        "baseline": 1,
        "mixed augmentation": 8,
        "texture distortion": 5,
        "shape augmentation": 3,
        "contrastive": 3,
        "adversarial": 12,
    }


def test_weights_that_nothing_fetches_say_where_they_are_from() -> None:
    for name in shipped_names(FOLDER):
        for entry in read_registry(name).models:
            by_hand = entry.spec.checkpoint != "" or entry.spec.adapter == "torch"
            assert bool(entry.weights) == by_hand, entry.name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = 'a'\nmodel = 'resnet50'", r"models.0.model: --model resnet50: expected ADAPTER:NAME"),
        ("name = 'a'\nmodel = 'timm:a'\nacuracy = 0.1", r"models.0.acuracy: unknown key"),
        (
            "name = 'a'\nmodel = 'timm:a'\naccuracy = 76.1",
            r"accuracy: Input should be less than or equal to 1",
        ),
        (
            "name = 'a'\nmodel = 'timm:a'\n[[models]]\nname = 'a'\nmodel = 'timm:b'",
            "a: a name stands for one model",
        ),
    ],
)
def test_mistakes_of_a_registry_are_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(CuebenchError, match=message):
        read_registry(write_registry(tmp_path, text))


def test_a_model_is_run_on_a_folder_of_cues(tmp_path: Path) -> None:
    cues = str(draw_cues(tmp_path / "cues"))
    spec = write_tiny_onnx(tmp_path, colour_matrix())
    result = run("--model", spec, "--cues", cues, "--logits", f"{tmp_path}/kept", "--format", "json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["shape_sensitivity"], found["texture_sensitivity"], found["shape_preference"]) == (
        1,
        1,
        0.5,
    )
    assert len(list((tmp_path / "kept").glob("*.npz"))) == 2


def test_what_a_model_prints_does_not_mix_with_the_result(tmp_path: Path) -> None:
    cues = str(draw_cues(tmp_path / "cues"))
    result = run("--model", f"callable:{HERE}:talkative", "--cues", cues, "--format", "json")
    assert json.loads(result.stdout)["shape_sensitivity"] == 1
    assert "loaded pretrained weights" in result.stderr


def test_logits_are_kept_nowhere_if_that_is_the_wish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cues = str(draw_cues(tmp_path / "cues"))
    for logits, is_kept in (("none", False), (None, True)):
        wish = () if logits is None else ("--logits", logits)
        assert run("--model", f"callable:{HERE}:counted", "--cues", cues, *wish).exit_code == 0
        assert (tmp_path / "cache").exists() == is_kept


def test_a_sweep_goes_on_past_what_can_not_be_run(tmp_path: Path) -> None:
    spec = write_tiny_onnx(tmp_path, colour_matrix())
    registry = write_registry(
        tmp_path,
        "name = 'gone'\nmodel = 'onnx:gone.onnx'\nweights = 'a colleague'",
        f"name = 'tiny'\nmodel = '{spec}'\nfamily = 'baseline'\naccuracy = 0.5",
        f"name = 'flat'\nmodel = 'callable:{HERE}:flat'",
        f"name = 'function'\nmodel = 'callable:{HERE}:colours'\nfamily = 'own'\ncluster = 'us'",
    )
    result = run("--models", registry, "--cues", str(draw_cues(tmp_path / "cues")), "--logits", "none")
    assert result.exit_code == 0, result.output
    complaints = [line for line in result.stderr.splitlines() if "not run" in line]
    assert [line.partition(":")[0] for line in complaints] == ["gone", "flat"]
    assert "gone.onnx: no such file; weights: a colleague" in complaints[0]
    assert "expected logits (9, 1000) for 9 pictures, got (9,)" in complaints[1]
    assert "2 of the 4 models of own were run" in result.stderr
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [(row["model"], row["family"], row["cluster"], row["bits"]) for row in rows] == [
        ("tiny", "baseline", "", "32"),
        ("function", "own", "us", "32"),
    ]
    assert {row["shape_sensitivity"] for row in rows} == {"1.0"}


def test_compare_reads_what_a_sweep_writes(tmp_path: Path) -> None:
    registry = write_registry(tmp_path, f"name = 'a'\nmodel = '{write_tiny_onnx(tmp_path, colour_matrix())}'")
    result = run("--models", registry, "--cues", str(draw_cues(tmp_path / "cues")), "--logits", "none")
    (tmp_path / "scores.csv").write_text(result.stdout)
    table = read_scores(str(tmp_path / "scores.csv"))
    assert table.column("shape_preference") == [0.5]
    assert table.column("shape_sensitivity_1k") == table.column("shape_sensitivity")
    assert table.column("n_labels") == [1000]
    assert {"shape_n", "texture_top1", "texture_preference_lower"} <= set(table.columns)


def test_a_sweep_of_which_nothing_runs_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    registry = write_registry(tmp_path, "name = 'gone'\nmodel = 'onnx:gone.onnx'")
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", "--models", registry, "--cues", str(draw_cues(tmp_path / "cues"))])
    assert stop.value.code == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "own: no model could be run" in printed.err


def test_bits_apply_to_every_model_of_a_sweep(tmp_path: Path) -> None:
    registry = write_registry(tmp_path, f"name = 'a'\nmodel = '{write_tiny_onnx(tmp_path, colour_matrix())}'")
    result = run("--models", registry, "--cues", str(draw_cues(tmp_path / "cues")), "--quantize", "4")
    assert "a: not run: onnx:" in result.stderr
    assert "can't be quantised" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing to evaluate, or too much"),
        (("--model", "timm:a", "--shape", "a.npz"), "nothing to evaluate, or too much"),
        (("--model", "timm:a"), "--model and --models need --cues"),
        (
            ("--models", "large", "--cues", "run", "--format", "json"),
            "--models prints a CSV, one row a model",
        ),
        (("--shape", "a.npz", "--cues", "run"), "--cues is for --model and --models"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_the_help_names_every_adapter() -> None:
    text = " ".join(run("--help").stdout.split())
    assert [adapter for adapter in OPTIONS if f"{adapter}:" not in text] == []
