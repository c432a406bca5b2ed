from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from annotation_app.keymap import KEYMAPS, check_keymap
from annotation_app.trial import check_settings
from annotation_app.trial_assets import FOLDER, modules, version
from data_manifests.errors import CuebenchError, ProblemsError

TESTS = Path(__file__).with_name("trial_modules.test.js")
NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="node is not on the path")
def test_the_modules_do_what_their_own_tests_say() -> None:
    done = subprocess.run(
        [str(NODE), "--test", str(TESTS)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout
    counted = re.search(r"^(?:#|ℹ) pass (\d+)$", done.stdout, re.MULTILINE)
    assert counted is not None
    assert int(counted[1]) == TESTS.read_text(encoding="utf-8").count("\ntest(")


def test_modules_import_only_each_other() -> None:
    imported = {
        name
        for content in modules().values()
        for name in re.findall(r'^import .* from "(.*)";$', content.decode(), re.MULTILINE)
    }
    assert imported
    assert imported <= {f"./{name}" for name in modules()}


def test_nothing_of_the_page_is_fetched_from_elsewhere() -> None:
    for path in FOLDER.iterdir():
        assert "http" not in path.read_text(encoding="utf-8").replace("https and localhost", ""), path.name


def test_text_goes_into_the_page_as_text() -> None:
    for name, content in modules().items():
        assert not re.search(rb"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", content), (
            name
        )


def test_the_version_is_that_of_the_content() -> None:
    assert re.fullmatch(r"[0-9a-f]{16}", version())
    assert set(modules()) >= {"main.js", "loop.js", "outbox.js"}


@pytest.mark.parametrize("mode", sorted(KEYMAPS))
def test_the_default_keys_do_not_clash(mode: str) -> None:
    keymap = check_keymap(mode, {})
    assert list(keymap) == list(KEYMAPS[mode])


def test_a_key_can_be_changed() -> None:
    keymap = check_keymap("review", {"accept": "J", "undo": ["F8"]})
    assert (keymap["accept"], keymap["undo"], keymap["reject"]) == (["j"], ["F8"], ["x"])


@pytest.mark.parametrize(
    ("mode", "changes", "message"),
    [
        (
            "review",
            {"accept": "x"},
            "keymap of review: x is the key of accept and of reject; give one of them",
        ),
        ("review", {"accept": "r"}, r"r \(accept\) is a key of Streamlit's own; choose another"),
        ("review", {"accept": "1"}, r"'1' \(accept\) is needed to choose"),
        ("study", {"help": "q"}, r"'q' \(help\) is needed to choose"),
        ("review", {"accept": "Enter"}, r"'Enter' \(accept\) is needed to choose"),
        ("review", {"acept": "j"}, r"no such action: acept \(did you mean `accept`\?\); there are: accept, "),
        (
            "review",
            {"accept": "Bakspace"},
            r"'Bakspace' \(accept\) is no key; expected one character or one of",
        ),
        ("review", {"accept": []}, "accept has no key; give it one"),
    ],
)
def test_a_keymap_that_cannot_work_is_refused(mode: str, changes: dict[str, str], message: str) -> None:
    with pytest.raises(CuebenchError, match=message):
        check_keymap(mode, changes)


def test_settings_are_complete_for_the_browser() -> None:
    settings = check_settings("study", {"picture_px": 300, "exposure": {"mode": "brief", "stimulus_ms": 150}})
    assert settings["picture_px"] == 300
    assert settings["exposure"] == {
        "mode": "brief", "fixation_ms": 500, "stimulus_ms": 150, "mask_ms": 200, "response_ms": 0,
    }  # fmt: skip
    assert settings["keymap"] == {"help": ["?"]}
    json.dumps(settings, allow_nan=False)


def test_wrong_settings_are_named_together() -> None:
    with pytest.raises(ProblemsError, match="settings of the trial: 2 problems") as caught:
        check_settings("review", {"grid_size": 3, "colour": "red"})
    assert any("grid_size" in problem for problem in caught.value.problems)
    assert any("colour" in problem for problem in caught.value.problems)
