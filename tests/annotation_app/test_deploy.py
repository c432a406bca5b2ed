from __future__ import annotations

import base64
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy import select

from curation.answers import open_session
from curation.campaigns import new_public_id
from curation.database import open_store
from curation.tables import Assignment, Item
from tests.annotation_app.drawn_campaigns import begin_review, begin_study, campaign_id, staff_id, write_cues
from tests.annotation_app.running_app import read_page, running_app
from tests.curation.conftest import BACKENDS, fresh_postgres
from tests.repository import ROOT

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
CONFIG = ROOT / "docs" / "nginx.conf"
OUTER = """
{user}
pid nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    include {folder}/site.conf;
}}
"""

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed: apt-get install nginx")


@dataclass(frozen=True)
class Site:
    """The two sites of docs/nginx.conf before a running app, and what a visitor of each may know."""

    study: str
    staff: str
    folder: Path
    token: str
    item: str
    picture: bytes
    session_id: str


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _adapted(folder: Path, app_port: str, study_port: int, staff_port: int) -> str:
    """Return docs/nginx.conf with ports, no certificates and the paths of a test; all else as it is."""
    text = CONFIG.read_text("utf-8")
    text, n_certificates = re.subn(r"^\s*ssl_certificate.*\n", "", text, flags=re.MULTILINE)
    ports = iter((study_port, staff_port))
    text, n_listen = re.subn(r"listen 443 ssl;", lambda _: f"listen 127.0.0.1:{next(ports)};", text)
    text = text.replace("127.0.0.1:8501;", f"127.0.0.1:{app_port};")
    text = text.replace("/var/log/nginx/", f"{folder}/").replace("/etc/nginx/", f"{folder}/")
    assert (n_certificates, n_listen) == (4, 2)
    return text


@pytest.fixture(scope="module", params=BACKENDS)
def record_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the URL of an empty database: of SQLite, and of PostgreSQL, which the guide is about."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('record') / 'record.db'}"
        return
    with fresh_postgres() as url:
        yield url


@pytest.fixture(scope="module")
def site(record_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("deploy")
    cues = write_cues(folder / "cues", 3)
    store = open_store(record_url)
    begin_review(store, "first", cues, ["ana"])
    (token,) = begin_study(store, "paper", cues, 1)
    ana, session_id = staff_id(store, "ana"), new_public_id()
    open_session(store, ana, campaign_id(store, "first"), session_id)
    with store.read() as session:
        item = session.scalars(select(Item).join(Assignment).where(Assignment.rater_id == ana)).first()
        assert item is not None
        name, picture = item.public_id, Path(item.file_url).read_bytes()
    store.close()
    (folder / "cuebench.htpasswd").write_text("ana:{PLAIN}secret\nhead:{PLAIN}other\n")
    study_port, staff_port = _free_port(), _free_port()
    options = ("--db", record_url, "--user-header", "X-Remote-User", "--admin", "head")
    with running_app(folder, *options) as app:
        conf = _adapted(folder, app.url.rpartition(":")[2], study_port, staff_port)
        (folder / "site.conf").write_text(conf)
        user = "user root;" if folder.owner() == "root" else ""
        (folder / "nginx.conf").write_text(OUTER.format(folder=folder, user=user))
        command = [str(NGINX), "-p", str(folder), "-c", "nginx.conf"]
        subprocess.run(command, check=True)  # comes back once it listens
        try:
            addresses = (f"http://127.0.0.1:{study_port}", f"http://127.0.0.1:{staff_port}")
            yield Site(*addresses, folder, token, name, picture, session_id)
        finally:
            subprocess.run([*command, "-s", "stop"], check=True)


def _signed_in(name: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


def _get(url: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - our own server
    try:
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            return answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, {k.lower(): v for k, v in error.headers.items()}, error.read()


def test_a_participant_comes_through_to_the_study_over_the_websocket(site: Site) -> None:
    text = read_page(site.study, f"p={quote(site.token)}")
    assert "Looking at your screen" in text


def test_the_site_of_participants_lets_no_header_of_a_browser_through(site: Site) -> None:
    for spoofed in ({"X-Remote-User": "ana"}, {"x-remote-user": "head"}, {"X_Remote_User": "head"}):
        text = read_page(site.study, "page=admin&reviewer=ana", spoofed)
        assert "opens with a personal link" in text
        assert "Administer" not in text


def test_staff_need_a_password_for_pages_and_for_the_websocket(site: Site) -> None:
    assert _get(f"{site.staff}/")[0] == 401
    assert _get(f"{site.staff}/_stcore/stream")[0] == 401
    assert _get(f"{site.staff}/", **_signed_in("ana", "wrong"))[0] == 401
    assert _get(f"{site.staff}/", **_signed_in("ana", "secret"))[0] == 200


def test_staff_are_whom_nginx_says_whatever_header_the_browser_sends(site: Site) -> None:
    text = read_page(site.staff, "page=admin", {**_signed_in("ana", "secret"), "X-Remote-User": "head"})
    assert "first" in text
    assert "Administer" not in text
    assert "Administer" in read_page(site.staff, "page=admin", _signed_in("head", "other"))


def test_somebody_with_a_password_and_no_place_in_the_record_is_not_let_in(site: Site) -> None:
    (site.folder / "cuebench.htpasswd").write_text("ana:{PLAIN}secret\nhead:{PLAIN}other\neve:{PLAIN}x\n")
    text = read_page(site.staff, "", _signed_in("eve", "x"))
    assert "Not known here" in text
    assert "first" not in text


def test_a_picture_comes_through_as_it_is_and_is_kept_by_the_browser_alone(site: Site) -> None:
    url = f"{site.study}/api/media/{site.item}"
    status, headers, body = _get(url, **{"X-Cuebench-Session": site.session_id})
    assert (status, body) == (200, site.picture)
    assert headers["cache-control"].startswith("private, max-age=")
    assert "immutable" in headers["cache-control"]
    assert _get(url)[0] == 401


def test_answers_of_the_api_are_kept_by_nobody(site: Site) -> None:
    status, headers, _ = _get(f"{site.study}/api/tasks", **{"X-Cuebench-Session": site.session_id})
    assert (status, headers["cache-control"]) == (200, "no-store")


def test_the_link_of_a_participant_is_told_to_no_other_site_and_to_no_log(site: Site) -> None:
    status, headers, _ = _get(f"{site.study}/?p={site.token}")
    assert status == 200
    assert headers["referrer-policy"] == "no-referrer"
    log = (site.folder / "cuebench.log").read_text()
    assert "GET / 200" in log
    assert site.token not in log
    assert "127.0.0.1 GET" in log  # the name of the site, not an address of a visitor
    assert not re.search(r"\[[^]]*\] \S+ \d+\.\d+\.\d+\.\d+ ", log)


def test_the_counters_of_the_server_are_not_public(site: Site) -> None:
    assert _get(f"{site.study}/_stcore/metrics")[0] == 403
    assert _get(f"{site.staff}/_stcore/metrics", **_signed_in("head", "other"))[0] == 403


def test_the_app_says_that_it_is_well_through_nginx(site: Site) -> None:
    assert _get(f"{site.study}/healthz")[2] == b'{"status":"ok"}'
