"""What a step of generation says when it has no picture to give."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Unavailable:
    """Why there is no mask or cue: a short `status` for the manifest and one sentence for people."""

    status: str
    detail: str
