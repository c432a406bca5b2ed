from __future__ import annotations

import re
import subprocess
import sys

import click
import pytest

from curation import cli
from data_manifests.errors import CuebenchError

HEAVY = (
    "numpy",
    "cv2",
    "PIL",
    "scipy",
    "skimage",
    "pydantic",
    "sqlalchemy",
    "streamlit",
    "statsmodels",
    "pandas",
    "rembg",
    "onnxruntime",
    "torch",
    "fsspec",
    "tqdm",
)


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom curation.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as stop:\n    assert stop.code == 0\n"
        f"print('heavy:', sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Verbs:" in run.stdout
    assert run.stdout.endswith("heavy: []\n")


@pytest.mark.parametrize("verb", sorted(cli.VERBS))
def test_every_verb_has_help_with_an_example(
    verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = cli.cuebench.get_command(click.Context(cli.cuebench), verb)
    # click keeps the help option of the first call, and another test may have called the command without its group
    monkeypatch.setattr(command, "_help_option", None)
    with pytest.raises(SystemExit) as stop:
        cli.main([verb, "-h"])
    assert stop.value.code == 0
    assert re.search("Examples?: cuebench", " ".join(capsys.readouterr().out.split()))


def test_an_unknown_verb_is_a_usage_error_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(["generat"])
    assert stop.value.code == 2
    assert "no such verb: generat (did you mean `generate`?)" in capsys.readouterr().err


def run_with(monkeypatch: pytest.MonkeyPatch, raised: BaseException) -> int:
    def raise_it(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr(cli.cuebench, "main", raise_it)
    with pytest.raises(SystemExit) as stop:
        cli.main([])
    assert isinstance(stop.value.code, int)
    return stop.value.code


def test_an_expected_error_is_one_line_and_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_with(monkeypatch, CuebenchError("x.toml: no such file")) == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "cuebench: x.toml: no such file\n")


def test_ctrl_c_and_a_closed_pipe_end_quietly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_with(monkeypatch, click.exceptions.Abort()) == 130
    assert capsys.readouterr().err == "cuebench: stopped\n"
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    assert run_with(monkeypatch, BrokenPipeError()) == 1


def test_an_unexpected_error_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(cli.cuebench, "main", fail)
    with pytest.raises(ZeroDivisionError):
        cli.main([])


def test_exit_codes_of_verbs_reach_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli.cuebench, "main", lambda **_: 3)
    with pytest.raises(SystemExit) as stop:
        cli.main([])
    assert stop.value.code == 3
