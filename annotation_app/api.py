"""The routes that the trial loop talks to: answers in, tasks and pictures out; in one process with the pages.

A browser tab shows who it is by its session id, 128 random bits in the header `X-Cuebench-Session`, which the page
made with `open_session`. What leaves here is what `Task` holds: opaque ids, never a path, a role or (in a study) a
class. All work on the database is synchronous and runs in the thread pool.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any

from anyio import CapacityLimiter, to_thread
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError
from sqlalchemy import select
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from annotation_app.payloads import N_TASKS, NO_HOOKS, StudyHooks, Tab, describe, describe_start, find_tab
from annotation_app.pictures import find_picture, find_source
from annotation_app.trial_assets import ASSET_ROUTE, asset_response
from curation.answers import Ack, ClientEvent, record_events
from curation.database import Store
from curation.rating_records import SIMULATED_FLAG

SESSION_HEADER = "X-Cuebench-Session"
# One writes at a time, and more threads than this only fight for the interpreter. Pictures have threads of their own:
# people who begin load eight at once, and an answer must not wait behind them.
N_ANSWER_THREADS = 4
N_PICTURE_THREADS = 2
MAX_BODY_BYTES = 1_000_000
MAX_EVENTS = 100
MAX_TASKS = 60
MAX_INT = 2**31 - 1  # what a column of PostgreSQL holds
PICTURE_CACHE = "private, max-age=86400, immutable"


def _storable(text: object) -> object:
    """Return free text without what a database can't hold: half a character that a length limit cut, a NUL."""
    return text.encode("utf-8", "replace").decode().replace("\0", "") if isinstance(text, str) else text


_Text = Annotated[str, StringConstraints(max_length=80, pattern=r"^[^\x00]*$")]
_Note = Annotated[str, StringConstraints(max_length=20_000), BeforeValidator(_storable)]
_Flag = Annotated[str, StringConstraints(max_length=20, pattern=r"^[a-z_]+(=[a-z_]+)?$")]
_Milliseconds = Annotated[int, Field(ge=0, le=MAX_INT)]


class _EventMessage(BaseModel):
    """An event as a browser sends it; the fields are those of `ClientEvent`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    event_id: Annotated[str, StringConstraints(pattern=r"^[0-9a-zA-Z-]{1,36}$")]
    assignment: _Text
    kind: _Text
    answer: _Text | None = None
    reasons: Annotated[list[_Text], Field(max_length=20)] = []
    note: _Note = ""
    confidence: Annotated[int, Field(ge=-MAX_INT, le=MAX_INT)] | None = None
    rt_ms: _Milliseconds | None = None
    load_ms: _Milliseconds | None = None
    client_utc: Annotated[str, StringConstraints(pattern=r"^[0-9T:.Z-]{1,24}$")] | None = None
    flags: Annotated[list[_Flag], Field(max_length=8)] = []

    def event(self) -> ClientEvent:
        fields = self.model_dump()
        flags = tuple(
            flag for flag in self.flags if flag != SIMULATED_FLAG
        )  # no browser may hold a release back
        return ClientEvent(**{**fields, "reasons": tuple(self.reasons), "flags": flags})


class _Rejection(Exception):  # noqa: N818
    """A request that gets no answer but a status and one line that says why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Api:
    """The routes' view of the application: its database, and what only a study knows."""

    store: Callable[[], Store]
    hooks: StudyHooks = NO_HOOKS

    def tab(self, request: Request) -> Tab:
        """Return the tab that a request comes from."""
        session_id = request.headers.get(SESSION_HEADER, "")
        tab = find_tab(self.store(), session_id) if session_id else None
        if tab is None:
            raise _Rejection(401, f"no such session; open the page again (header {SESSION_HEADER})")
        return tab

    def post_events(self, request: Request, body: bytes) -> Response:
        """Store events and say what became of each, and what comes next."""
        tab = self.tab(request)
        message = _parse_body(body)
        acks = _acknowledge(self.store(), tab, message["events"])
        answer = describe(
            self.store(),
            tab,
            self.hooks,
            n_tasks=_within(message.get("n_tasks"), MAX_TASKS),
            without=frozenset(name for name in message.get("in_flight", ()) if isinstance(name, str)),
            practice=message.get("practice") is True,
        )
        answer["acks"] = [vars(ack) for ack in acks]
        if message.get("practice") is True:
            stored = {ack.event_id for ack in acks if ack.status != "refused"}
            answer["feedback"] = _feedback(self.store(), tab, self.hooks, message["events"], stored)
        return _json(answer)

    def get_tasks(self, request: Request, _body: bytes) -> Response:
        """Say what a tab has to know when it starts: the next tasks, its own last answers, reasons."""
        query = request.query_params
        tab = self.tab(request)
        n_tasks = query.get("n_tasks", "")
        return _json(
            describe_start(
                self.store(),
                tab,
                self.hooks,
                n_tasks=_within(int(n_tasks) if n_tasks.isdecimal() else None, MAX_TASKS),
                practice=query.get("practice") == "1",
            )
        )

    def get_picture(self, request: Request, _body: bytes) -> Response:
        """Give the bytes of a picture that this rater has to answer, or of a candidate mask of it."""
        tab = self.tab(request)
        return _picture(find_picture(self.store(), tab, request.path_params["name"]))

    def get_source(self, request: Request, _body: bytes) -> Response:
        """Give the photograph that a cue was made from; in a review only."""
        tab = self.tab(request)
        if tab.kind != "review":
            raise _Rejection(404, "there is no photograph to show")
        return _picture(find_source(self.store(), tab, request.path_params["name"]))

    def get_health(self, _request: Request, _body: bytes) -> Response:
        """Say that the process and its database answer."""
        with self.store().read() as session:
            session.execute(select(1))
        return _json({"status": "ok"})


def api_routes(store: Callable[[], Store], hooks: StudyHooks = NO_HOOKS) -> list[BaseRoute]:
    """Return the routes for `st.App(routes=...)`.

    Parameters
    ----------
    store : returns the one open database of the process
    hooks : what a study adds: the phase of a participant, and the feedback after a practice trial
    """
    api = Api(store, hooks)
    answers, pictures = CapacityLimiter(N_ANSWER_THREADS), CapacityLimiter(N_PICTURE_THREADS)
    return [
        Route("/api/events", _endpoint(api.post_events, answers), methods=["POST"]),
        Route("/api/tasks", _endpoint(api.get_tasks, answers), methods=["GET"]),
        Route("/api/media/{name}", _endpoint(api.get_picture, pictures), methods=["GET"]),
        Route("/api/source/{name}", _endpoint(api.get_source, pictures), methods=["GET"]),
        Route("/healthz", _endpoint(api.get_health, answers), methods=["GET"]),
        Route(ASSET_ROUTE, asset_response, methods=["GET"]),
    ]


def _endpoint(
    work: Callable[[Request, bytes], Response], threads: CapacityLimiter
) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint that reads the body, works in a thread, and turns a rejection into JSON."""

    async def respond(request: Request) -> Response:
        try:
            body = await _read_body(request)
            return await to_thread.run_sync(work, request, body, limiter=threads)
        except _Rejection as rejection:
            return _json({"error": str(rejection)}, rejection.status)

    return respond


async def _read_body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise _Rejection(413, f"expected at most {MAX_BODY_BYTES} bytes")
    return bytes(body)


def _parse_body(body: bytes) -> dict[str, Any]:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        raise _Rejection(400, "expected JSON") from None
    if not isinstance(message, dict) or not isinstance(message.get("events"), list):
        raise _Rejection(400, 'expected {"events": [...]}')
    if len(message["events"]) > MAX_EVENTS:
        raise _Rejection(400, f"expected at most {MAX_EVENTS} events, got {len(message['events'])}")
    if not isinstance(message.get("in_flight", []), list):
        raise _Rejection(400, "expected a list in in_flight")
    return message


def _acknowledge(store: Store, tab: Tab, raw: list[Any]) -> list[Ack]:
    """Store the events that can be understood; a malformed one is refused and holds up none of the others."""
    events: list[ClientEvent] = []
    refused: dict[int, Ack] = {}
    for number, entry in enumerate(raw):
        try:
            event = _EventMessage.model_validate(entry).event()
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"]) or "event"
            refused[number] = Ack(_event_id(entry), "refused", f"{place}: {first['msg']}")
            continue
        if tab.withdrawn:
            refused[number] = Ack(event.event_id, "refused", "you have withdrawn; nothing more is stored")
        else:
            events.append(event)
    stored = iter(record_events(store, tab.rater_id, tab.session_id, events) if events else ())
    return [refused[number] if number in refused else next(stored) for number in range(len(raw))]


def _event_id(entry: object) -> str:
    name = entry.get("event_id") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else ""


def _feedback(store: Store, tab: Tab, hooks: StudyHooks, raw: list[Any], stored: set[str]) -> dict[str, str]:
    """Return what a participant is told about each practice trial that they answered with these events."""
    answered = {
        entry["assignment"]
        for entry in raw
        if isinstance(entry, dict) and entry.get("kind") == "answer" and entry.get("event_id") in stored
    }
    return {name: hooks.feedback(store, tab.rater_id, name) for name in sorted(answered)}


def _within(asked: object, most: int) -> int:
    return min(asked, most) if isinstance(asked, int) and asked > 0 else N_TASKS


def _json(content: dict[str, Any], status: int = 200) -> Response:
    return JSONResponse(content, status, headers={"Cache-Control": "no-store"})


def _picture(found: tuple[bytes, str] | None) -> Response:
    if found is None:
        raise _Rejection(404, "there is no such picture, or it can't be read")
    content, media_type = found
    headers = {"Cache-Control": PICTURE_CACHE, "X-Content-Type-Options": "nosniff"}
    return Response(content, media_type=media_type, headers=headers)
