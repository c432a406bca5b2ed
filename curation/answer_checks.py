"""What a browser may tell of an assignment, and which of it makes sense."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from curation.reasons import REASONS
from curation.tables import EVENT_KINDS, Assignment, Campaign, Item, MaskCandidate

VERDICTS = ("accept", "reject", "unsure")
NO_MASK = "none"
BOX = "box:"

LATE = "late_answer"  # another answer stood already
FROZEN = "after_freeze"  # the campaign no longer takes answers
RESERVED_FLAGS = frozenset({LATE, FROZEN})

MAX_FLAGS_CHARACTERS = 180  # of a client; one of ours fits beside them
MAX_NUMBER = 2**31 - 1  # of a column of PostgreSQL


_FLAG = re.compile(r"[a-z0-9_=]+")
_UTC = re.compile(r"[0-9T:.Z+-]{1,24}")


@dataclass(frozen=True)
class ClientEvent:
    """One thing that happened in a browser.

    `event_id` is a UUID made there; `assignment` the public id of an assignment; `reasons` belong to a rejection;
    `rt_ms` is from the paint of the picture to the key, by the browser's clock; `client_utc` the browser's time.
    """

    event_id: str
    assignment: str
    kind: str
    answer: str | None = None
    reasons: tuple[str, ...] = ()
    note: str = ""
    confidence: int | None = None
    rt_ms: int | None = None
    load_ms: int | None = None
    client_utc: str | None = None
    flags: tuple[str, ...] = ()


class Refusal(Exception):  # noqa: N818
    """An event that makes no sense; its text goes into the acknowledgement."""


@dataclass(frozen=True)
class Place:
    """Where an event belongs."""

    assignment: Assignment
    campaign: Campaign
    item: Item


def check(session: Session, event: ClientEvent, place: Place) -> None:
    """Refuse an event that makes no sense where it belongs."""
    kind = place.campaign.kind
    _check_measures(event)
    if event.kind not in EVENT_KINDS:
        raise Refusal(f"no such kind of event: {event.kind}")
    if place.campaign.state == "draft":
        raise Refusal("the campaign is not open yet")
    if kind == "study" and event.kind in {"undo", "later"}:
        raise Refusal(f"a study has no {event.kind}")
    if event.kind != "answer":
        if event.answer is not None or event.reasons:
            raise Refusal(f"{event.kind} comes without an answer and reasons")
        return
    _check_answer(session, event, place)


def _check_measures(event: ClientEvent) -> None:
    """Refuse what no browser of ours sends, and what would have the database refuse every event beside it."""
    for name, least in (("rt_ms", 0), ("load_ms", 0), ("confidence", -MAX_NUMBER)):
        value = getattr(event, name)
        if value is not None and not least <= value <= MAX_NUMBER:
            raise Refusal(f"expected {name} from {least} to {MAX_NUMBER}, got {value}")
    if event.client_utc is not None and not _UTC.fullmatch(event.client_utc):
        raise Refusal("expected client_utc as UTC text of at most 24 characters")
    flags = set(event.flags)
    if not all(_FLAG.fullmatch(flag) for flag in flags) or len(",".join(flags)) > MAX_FLAGS_CHARACTERS:
        raise Refusal(f"expected flags of a-z, 0-9, _ and =, {MAX_FLAGS_CHARACTERS} characters at most")
    if reserved := flags & RESERVED_FLAGS:
        raise Refusal(f"only the record sets the flag {', '.join(sorted(reserved))}")


def _check_answer(session: Session, event: ClientEvent, place: Place) -> None:
    if place.campaign.kind == "study":
        allowed: Sequence[str] = json.loads(place.assignment.choices_json)
    elif place.campaign.kind == "review":
        allowed = VERDICTS
        _check_reasons(event, place.item.cue_kind)
    else:
        query = select(MaskCandidate.public_id).where(MaskCandidate.item_id == place.item.id)
        allowed = [NO_MASK, *session.scalars(query)]
        if event.answer is not None and event.answer.startswith(BOX):
            box = parse_box(event.answer, place.item.width, place.item.height)
            if event.answer != f"{BOX}{','.join(map(str, box))}":
                raise Refusal(f"expected box:x0,y0,x1,y1 in px, got {event.answer}")
            return
    if event.answer not in allowed:
        raise Refusal(f"no such answer: {event.answer}")


def _check_reasons(event: ClientEvent, cue_kind: str) -> None:
    if event.answer == "reject" and not event.reasons:
        raise Refusal("a rejection needs at least one reason")
    if event.answer != "reject" and event.reasons:
        raise Refusal("only a rejection has reasons")
    if unknown := [reason for reason in event.reasons if reason not in REASONS[cue_kind]]:
        raise Refusal(f"no such reason for a {cue_kind} cue: {', '.join(unknown)}")


def parse_box(answer: str, width: int | None, height: int | None) -> tuple[int, int, int, int]:
    """Return the box of an answer `box:x0,y0,x1,y1` in px of the photograph (x1 and y1 exclusive).

    >>> parse_box("box:1,2,30,40", 100, 100)
    (1, 2, 30, 40)
    """
    try:
        x0, y0, x1, y1 = (int(part) for part in answer.removeprefix(BOX).split(","))
    except ValueError:
        raise Refusal(f"expected box:x0,y0,x1,y1 in px, got {answer}") from None
    inside = width is None or height is None or (x1 <= width and y1 <= height)
    if not (0 <= x0 < x1 and 0 <= y0 < y1 and inside):
        raise Refusal(f"the box {answer} does not lie in the photograph ({width} x {height} px)")
    return x0, y0, x1, y1
