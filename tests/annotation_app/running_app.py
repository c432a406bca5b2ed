"""The annotation app in a process of its own, and a visitor who speaks Streamlit's protocol without a browser."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

PATIENCE_SECONDS = 60
_START = "from annotation_app.commands import annotate; annotate()"


@dataclass
class RunningApp:
    """A started `cuebench annotate`: its process, and the URL that it printed."""

    process: subprocess.Popen[str]
    url: str

    def stop(self, by: signal.Signals = signal.SIGINT) -> tuple[int, str]:
        """End it by a signal; return its exit code and what it wrote to stderr."""
        self.process.send_signal(by)
        _, stderr = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode, stderr


@contextmanager
def running_app(
    folder: Path, *options: str, environ: Mapping[str, str] | None = None
) -> Iterator[RunningApp]:
    """Start the command in a folder, on a free port, and end it afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-c", _START, "--port", "0", *options],
        cwd=folder,
        env={**os.environ, **(environ or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise AssertionError(process.communicate(timeout=PATIENCE_SECONDS)[1])
        yield RunningApp(process, url)
    finally:
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=PATIENCE_SECONDS)


def read_page(url: str, query: str = "", headers: Mapping[str, str] | None = None) -> str:
    """Return all that the server sends to a visitor until the page is complete, over a WebSocket."""
    address = url.replace("http://", "ws://") + "/_stcore/stream"
    with connect(
        address,
        additional_headers=dict(headers or {}),
        origin=Origin(url.rstrip("/")),
        subprotocols=[Subprotocol("streamlit")],
        proxy=None,
        open_timeout=PATIENCE_SECONDS,
    ) as socket:
        message = BackMsg()
        message.rerun_script.query_string = query
        socket.send(message.SerializeToString())
        received = []
        while True:
            content = socket.recv(timeout=PATIENCE_SECONDS)
            assert isinstance(content, bytes)
            received.append(content.decode("utf-8", errors="replace"))
            if ForwardMsg.FromString(content).WhichOneof("type") == "script_finished":
                return "\n".join(received)
