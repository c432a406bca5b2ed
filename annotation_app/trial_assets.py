"""The browser's half of the trial loop: plain ES modules, served as they are, below a path that names their content."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

FOLDER = Path(__file__).with_name("trial")
ASSET_ROUTE = "/api/trial/{version}/{name}"


@cache
def modules() -> dict[str, bytes]:
    """Return the ES modules of the trial loop, by file name."""
    return {path.name: path.read_bytes() for path in sorted(FOLDER.glob("*.js"))}


@cache
def version() -> str:
    """Return a name for the content of all modules, so that a browser never mixes two versions of them."""
    digest = hashlib.sha256()
    for name, content in modules().items():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


async def asset_response(request: Request) -> Response:
    """Give one module. Another version than ours is an old page's: it gets a 404 and has to be loaded again."""
    known = await run_in_threadpool(modules)
    name = request.path_params["name"]
    if name not in known or request.path_params["version"] != version():
        return Response(status_code=404)
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(known[name], media_type="text/javascript", headers=headers)
