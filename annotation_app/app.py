"""The ASGI application: Streamlit's script, the routes of the trial loop, and the guard of the listening address."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from annotation_app.api import api_routes
from annotation_app.identity import is_loopback
from annotation_app.payloads import QueueState, StudyHooks, Tab
from annotation_app.settings import app_store, close_stores
from annotation_app.sign_in import configured_sign_in
from curation.database import Store
from curation.study import participant_state, practice_feedback

ENTRY = Path(__file__).with_name("entry.py")


@asynccontextmanager
async def open_record(_app: st.App) -> AsyncIterator[dict[str, object]]:
    """Open the database before the first visitor comes, and close it after the last one."""
    app_store()
    try:
        yield {}
    finally:
        close_stores()


class LoopbackGuard:
    """Refuses what arrives at an address of the network while nobody has to sign in, however the server was started.

    The command says so before it listens; this holds for any other way to run the application too.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with 403."""
        server = scope.get("server")
        if (
            scope["type"] == "lifespan"
            or server is None
            or is_loopback(server[0])
            or configured_sign_in() != "name"
        ):
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await PlainTextResponse("This address has no sign-in.\n", status_code=403)(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})


def study_state(store: Store, tab: Tab, n_tasks: int, _practice: bool) -> QueueState:
    """Return where the participant of a tab stands and what comes next."""
    found = participant_state(store, tab.rater_id, n_tasks)
    return QueueState(found.phase.name, found.tasks, found.progress)


HOOKS = StudyHooks(state=study_state, feedback=practice_feedback)

app = st.App(
    ENTRY,
    lifespan=open_record,
    routes=api_routes(app_store, HOOKS),
    middleware=[Middleware(LoopbackGuard)],
)
