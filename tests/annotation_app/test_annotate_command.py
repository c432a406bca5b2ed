from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner
from streamlit import config

import annotation_app
from annotation_app.app import LoopbackGuard
from annotation_app.commands import GC_OPTION, allow_hosts, annotate, bind, check_ready, keep_collector_quiet
from curation.database import open_store
from data_manifests.errors import CuebenchError, MissingExtraError
from tests.annotation_app.running_app import PATIENCE_SECONDS, read_page, running_app

SETTINGS = Path(annotation_app.__file__).parent / ".streamlit" / "config.toml"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - said, not bound


@pytest.fixture
def database(tmp_path: Path) -> str:
    path = tmp_path / "record.db"
    open_store(str(path)).close()
    return str(path)


def test_it_prints_where_it_is_answers_and_ends_cleanly_on_ctrl_c(tmp_path: Path, database: str) -> None:
    with running_app(tmp_path, "--db", database) as app:
        with urllib.request.urlopen(f"{app.url}/healthz") as answer:  # noqa: S310 - our own server
            assert json.load(answer) == {"status": "ok"}
        assert "Who is reviewing?" in read_page(app.url)
        code, stderr = app.stop(signal.SIGINT)
    assert code == 0
    assert stderr == "Ctrl-C ends it.\n"


def test_it_ends_on_sigterm_while_somebody_is_connected(tmp_path: Path, database: str) -> None:
    with running_app(tmp_path, "--db", database) as app:
        read_page(app.url)
        _, stderr = app.stop(signal.SIGTERM)
    assert "Traceback" not in stderr


def test_the_server_answers_browsers_that_name_it_by_a_known_host_only(tmp_path: Path, database: str) -> None:
    with running_app(tmp_path, "--db", database, "--public-host", "study.example.org") as app:
        port = app.url.rpartition(":")[2]
        for host, known in (("study.example.org", True), ("evil.example.org", False)):
            text = b""
            with socket.create_connection(("127.0.0.1", int(port))) as client:
                client.sendall(_handshake(host))
                text = client.recv(64)
            assert (b" 101 " in text) is known


def _handshake(host: str) -> bytes:
    lines = [
        "GET /_stcore/stream HTTP/1.1",
        f"Host: {host}",
        f"Origin: http://{host}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Protocol: streamlit",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def _refused(folder: Path, *options: str, **environ: str) -> str:
    """Return the last line that a command which does not start writes to stderr."""
    done = subprocess.run(
        [sys.executable, "-c", "from annotation_app.commands import annotate; annotate()", *options],
        cwd=folder, env={**os.environ, **environ}, capture_output=True, text=True, check=False,
        timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert done.returncode != 0
    assert done.stdout == ""
    return done.stderr.strip().splitlines()[-1]


def test_it_refuses_to_listen_for_other_machines_without_a_sign_in(tmp_path: Path, database: str) -> None:
    message = _refused(tmp_path, "--db", database, "--host", EVERYWHERE)
    assert "--host 0.0.0.0: other machines could reach the app, and nobody has to sign in" in message


def test_oidc_without_its_library_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation_app.sign_in.configured_sign_in", lambda: "oidc")
    monkeypatch.setattr("annotation_app.commands.find_spec", lambda _name: None)
    with pytest.raises(MissingExtraError, match=r"signing in by OIDC needs the extra `oidc`"):
        check_ready(EVERYWHERE)


def test_a_database_that_is_not_there_is_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CUEBENCH_DB", "CUEBENCH_ADMINS", "CUEBENCH_ADJUDICATORS"):
        monkeypatch.setenv(name, "")
    result = CliRunner().invoke(annotate, ["--db", str(tmp_path / "none.db")])
    assert isinstance(result.exception, CuebenchError)
    assert "no such database" in str(result.exception)
    assert not (tmp_path / "none.db").exists()


def test_a_taken_port_is_said_in_one_line() -> None:
    with bind("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CuebenchError, match=rf"127\.0\.0\.1:{port}: can't listen there .*--port"):
            bind("127.0.0.1", port)


def test_an_address_that_is_none_is_said_in_one_line() -> None:
    with pytest.raises(CuebenchError, match=r"--host no such host: no such address"):
        bind("no such host", 0)


def test_every_shipped_setting_is_one_that_the_installed_streamlit_knows() -> None:
    shipped = tomllib.loads(SETTINGS.read_text("utf-8"))
    names = {f"{section}.{name}" for section, values in shipped.items() for name in values}
    assert GC_OPTION in names
    assert names - set(config.get_config_options()) == set()


def test_the_shipped_settings_keep_the_collector_quiet_and_the_app_local() -> None:
    shipped = tomllib.loads(SETTINGS.read_text("utf-8"))
    assert shipped["runner"] == {"postScriptGC": False, "magicEnabled": False}
    assert shipped["server"]["address"] == "127.0.0.1"
    assert shipped["client"]["showErrorDetails"] == "none"


def test_a_streamlit_without_the_option_gets_a_frozen_collector(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    frozen: list[bool] = []
    options = {name: value for name, value in config.get_config_options().items() if name != GC_OPTION}
    monkeypatch.setattr(config, "get_config_options", lambda: options)
    monkeypatch.setattr("annotation_app.commands.gc.freeze", lambda: frozen.append(True))
    keep_collector_quiet()
    assert frozen == [True]
    assert "this Streamlit has no runner.postScriptGC" in capsys.readouterr().err


def test_the_option_exists_in_the_installed_streamlit_and_is_refused_while_it_is_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert GC_OPTION in config.get_config_options()
    monkeypatch.setattr(config, "get_option", lambda name: name == GC_OPTION)
    with pytest.raises(CuebenchError, match=r"runner\.postScriptGC: expected false, got true"):
        keep_collector_quiet()


@pytest.mark.parametrize(
    ("host", "public", "expected"),
    [
        ("127.0.0.1", (), ["localhost"]),
        ("192.0.2.7", (), ["localhost", "192.0.2.7"]),
        (EVERYWHERE, ("study.example.org",), ["localhost", "study.example.org"]),
        ("127.0.0.1", ("localhost",), ["localhost", "127.0.0.1"]),
    ],
)
def test_the_hosts_that_browsers_may_name(
    host: str, public: tuple[str, ...], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = ["localhost", "127.0.0.1"] if expected == ["localhost"] else ["localhost"]
    changed: dict[str, object] = {}
    monkeypatch.setattr(config, "get_option", lambda _name: known)
    monkeypatch.setattr(config, "set_option", changed.__setitem__)
    allow_hosts(host, public)
    assert changed.get("server.allowedHosts", expected) == expected


@pytest.mark.parametrize(
    ("server", "sign_in", "status"),
    [
        (("127.0.0.1", 8501), "name", 200),
        (("192.0.2.7", 8501), "name", 403),
        (("192.0.2.7", 8501), "oidc", 200),
        (("192.0.2.7", 8501), "header", 200),
    ],
)
def test_a_request_on_an_address_of_the_network_is_refused_however_the_server_was_started(
    server: tuple[str, int], sign_in: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation_app.app.configured_sign_in", lambda: sign_in)
    assert _status_of({"type": "http", "server": server}) == status


def test_a_websocket_on_an_address_of_the_network_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation_app.app.configured_sign_in", lambda: "name")
    assert _status_of({"type": "websocket", "server": ("192.0.2.7", 8501)}) == 1008


def _status_of(scope: dict[str, object]) -> int:
    """Return the status, or the code of a closed WebSocket, with which the guard answers."""
    import asyncio
    from collections.abc import MutableMapping
    from typing import Any

    from starlette.responses import PlainTextResponse

    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    asyncio.run(LoopbackGuard(PlainTextResponse("passed on"))(scope, receive, send))
    return int(sent[0].get("status") or sent[0]["code"])
