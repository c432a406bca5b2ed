"""The verb `annotate`: start the annotation app and say where it is."""

from __future__ import annotations

import gc
import os
import socket
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from data_manifests.errors import CuebenchError, MissingExtraError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

CONFIG_OF_HOSTS = "STREAMLIT_SERVER_ALLOWED_HOSTS"
GC_OPTION = "runner.postScriptGC"
SHUTDOWN_SECONDS = 5


@click.command(epilog="Example: cuebench annotate --db sqlite:///study.db")
@click.option("--db", required=True, help="URL of the database, or the path of a SQLite file.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=8501, show_default=True, type=click.IntRange(0, 65535), help="0: any free one."
)
@click.option("--public-host", "public_hosts", multiple=True, help="Name under which browsers reach the app.")
@click.option("--user-header", help="Header in which a proxy says who is signed in, such as X-Remote-User.")
@click.option("--admin", "admins", multiple=True, help="Who sees coverage and raters, and may freeze.")
@click.option("--adjudicator", "adjudicators", multiple=True, help="Who decides on splits.")
def annotate(
    db: str,
    host: str,
    port: int,
    public_hosts: tuple[str, ...],
    user_header: str | None,
    admins: tuple[str, ...],
    adjudicators: tuple[str, ...],
) -> None:
    """Serve the pages for review, mask picking and studies until Ctrl-C.

    Only this machine can reach it, and a reviewer types their name. For other machines, set up a sign-in:
    docs/deploy.md.
    """
    from annotation_app import settings

    os.environ[settings.DATABASE] = db
    os.environ[settings.ADMINS] = ",".join(admins)
    os.environ[settings.ADJUDICATORS] = ",".join(adjudicators)
    settings.app_store()  # a database that is not there is said before anything listens
    _serve(host, port, public_hosts, user_header)


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address.

    Raises
    ------
    CuebenchError
        If the port is taken, or there is no such address here.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise CuebenchError(f"--host {host}: no such address ({error.strerror})") from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise CuebenchError(
            f"{host}:{port}: can't listen there ({error.strerror}); try another --port"
        ) from error
    return listener


def _serve(host: str, port: int, public_hosts: tuple[str, ...], user_header: str | None) -> None:
    # First of all: from now on Streamlit reads the settings that lie beside the app.
    from annotation_app.app import app

    if user_header:
        trust_header(user_header)
    check_ready(host)
    allow_hosts(host, public_hosts)
    with bind(host, port) as listener:
        run(app, listener, host)


def trust_header(user_header: str) -> None:
    """Believe what a header of the proxy says of who is signed in, as their e-mail address or name."""
    from streamlit import config

    config.set_option("server.trustedUserHeaders", {user_header: "email"})


def check_ready(host: str) -> None:
    """See to it that the app may listen on an address with the settings that hold.

    Raises
    ------
    CuebenchError
        If nobody has to sign in on an address of the network, or a setting would make the app slow.
    MissingExtraError
        If people are to sign in by OIDC and the library for it is not installed.
    """
    from annotation_app.identity import check_listen_address
    from annotation_app.sign_in import configured_sign_in

    sign_in = configured_sign_in()
    check_listen_address(host, sign_in)
    if sign_in == "oidc" and find_spec("authlib") is None:
        raise MissingExtraError("signing in by OIDC", "oidc")
    keep_collector_quiet()


def run(app: ASGIApp, listener: socket.socket, host: str) -> None:
    """Serve an application on a bound socket until SIGINT or SIGTERM, and print where it is once it answers.

    Raises
    ------
    CuebenchError
        If the application does not start.
    """
    import uvicorn
    from streamlit import config

    port = listener.getsockname()[1]
    config.set_option("server.port", port)  # what a redirect of OIDC may name

    class Announcing(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                click.echo(f"http://{f'[{host}]' if ':' in host else host}:{port}")
                click.echo("Ctrl-C ends it.", err=True)

    server = Announcing(
        uvicorn.Config(
            app,
            ws="websockets-sansio",
            access_log=False,
            log_level="warning",
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
    )
    with suppress(KeyboardInterrupt):  # uvicorn has shut down by then, and passes the signal on
        server.run(sockets=[listener])
    if not server.started:
        raise CuebenchError(f"{host}:{port}: the app did not start; the lines above say why")


def keep_collector_quiet() -> None:
    """See to it that no full garbage collection runs after every answer, which would take half of the server's time.

    Streamlit's option for it is hidden, so a later version may lack it: then what is loaded by now is frozen instead.

    Raises
    ------
    CuebenchError
        If it is on: the settings that lie beside the app were not found, or something has changed them.
    """
    from streamlit import config

    if GC_OPTION not in config.get_config_options():
        gc.collect()
        gc.freeze()
        click.echo(f"cuebench: this Streamlit has no {GC_OPTION}; answers may be slower", err=True)
    elif config.get_option(GC_OPTION):
        raise CuebenchError(
            f"{GC_OPTION}: expected false, got true from {config.get_where_defined(GC_OPTION)}; is "
            "annotation_app/.streamlit/config.toml there, and unchanged?"
        )


def allow_hosts(host: str, public_hosts: tuple[str, ...]) -> None:
    """Let browsers name the app by the listening address and the public names, besides those of the settings."""
    from streamlit import config

    if not public_hosts and host in config.get_option("server.allowedHosts"):
        return
    wildcard = host in {"0.0.0.0", "::"}  # noqa: S104 - compared, not bound
    own = [] if wildcard else [host]
    hosts = list(dict.fromkeys([*config.get_option("server.allowedHosts"), *own, *public_hosts]))
    config.set_option("server.allowedHosts", hosts)
