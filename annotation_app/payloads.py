"""What a browser is told: built here alone, so that what may leave can be read in one place."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import bindparam, select

from curation.database import Store
from curation.reasons import REASONS
from curation.tables import Assignment, Campaign, ClientSession, Event, Item, MaskCandidate, Rater
from curation.work_queue import Progress, Task, answered, pending, progress

N_TASKS = 12  # tasks given ahead: 8 pictures loaded, and a few for answers on their way
N_ANSWERED = 50  # own answers given back, for undo


@dataclass(frozen=True)
class Tab:
    """A browser tab: whose it is, in which campaign, and whether it is the newest and so may go on."""

    session_id: str
    rater_id: int
    campaign_id: int
    kind: str
    takes_answers: bool
    live: bool
    withdrawn: bool
    outbox_key: str


@dataclass(frozen=True)
class QueueState:
    """What a rater is to do next and how far they are; `phase` is of a participant, and '' elsewhere."""

    phase: str
    tasks: list[Task]
    progress: Progress


@dataclass(frozen=True)
class StudyHooks:
    """What only a study knows: where a participant stands with what comes next, and the feedback on practice.

    `state` takes the tab, how many tasks at most, and whether the tab shows practice.
    """

    state: Callable[[Store, Tab, int, bool], QueueState]
    feedback: Callable[[Store, int, str], str]


def queue_state(store: Store, tab: Tab, n_tasks: int, practice: bool, phase: str = "") -> QueueState:
    """Return the state that the queue alone gives; where there is a phase, it decides what is shown."""
    tasks: list[Task] = []
    if phase in {"", "practice", "trials", "break"}:
        shown = phase == "practice" if phase else practice
        tasks = pending(store, tab.rater_id, tab.campaign_id, n_tasks, practice=shown)
    return QueueState(phase, tasks, progress(store, tab.rater_id, tab.campaign_id))


NO_HOOKS = StudyHooks(state=queue_state, feedback=lambda _store, _rater_id, _assignment: "")


# made once: it runs with every request
_TAB = (
    select(
        ClientSession.id,
        ClientSession.rater_id,
        ClientSession.campaign_id,
        ClientSession.closed_reason,
        Campaign.kind,
        Campaign.state,
        Campaign.slug,
        Rater.state,
        Rater.public_code,
    )
    .join(Campaign, Campaign.id == ClientSession.campaign_id)
    .join(Rater, Rater.id == ClientSession.rater_id)
    .where(ClientSession.id == bindparam("session_id"))
)


def find_tab(store: Store, session_id: str) -> Tab | None:
    """Return the tab of a session id, if there is one."""
    with store.read() as session:
        row = session.execute(_TAB, {"session_id": session_id}).one_or_none()
    if row is None:
        return None
    tab_id, rater_id, campaign_id, closed_reason, kind, campaign_state, slug, rater_state, code = row
    return Tab(
        session_id=tab_id,
        rater_id=rater_id,
        campaign_id=campaign_id,
        kind=kind,
        takes_answers=campaign_state == "open",
        live=closed_reason is None,
        withdrawn=rater_state == "withdrawn",
        outbox_key=_outbox_key(code, slug),
    )


def _outbox_key(public_code: str, slug: str) -> str:
    """Return the name under which a browser keeps what is not sent yet: the same in every tab, and telling nothing."""
    return hashlib.sha256(f"outbox\0{public_code}\0{slug}".encode()).hexdigest()[:24]


def describe(
    store: Store, tab: Tab, hooks: StudyHooks, *, n_tasks: int, without: frozenset[str], practice: bool
) -> dict[str, Any]:
    """Return the state of a tab: live, progress, phase (a study), and the next tasks.

    Parameters
    ----------
    n_tasks : how many tasks at most
    without : assignments that are left out: their answers are on their way
    practice : whether the tab shows practice trials; in a study the phase decides
    """
    state = (hooks.state if tab.kind == "study" else queue_state)(
        store, tab, n_tasks + len(without), practice
    )
    takes_answers = tab.live and tab.takes_answers and not tab.withdrawn
    tasks = [task for task in state.tasks if task.assignment not in without] if takes_answers else []
    return {
        "live": tab.live,
        "open": tab.takes_answers,
        "phase": state.phase,
        "progress": asdict(state.progress),
        "tasks": _describe_tasks(store, tab, tasks[:n_tasks]),
    }


def describe_start(
    store: Store, tab: Tab, hooks: StudyHooks, *, n_tasks: int, practice: bool
) -> dict[str, Any]:
    """Return the state of a tab that starts.

    It comes with the own answers that an undo goes back to and the reasons, or, in a study, with the trials that
    were noted as interrupted when the tab was opened.
    """
    state = describe(store, tab, hooks, n_tasks=n_tasks, without=frozenset(), practice=practice)
    state["outbox_key"] = tab.outbox_key
    state["kind"] = tab.kind
    if tab.kind == "study":
        state["interrupted"] = _interrupted(store, tab)
    else:
        mine = answered(store, tab.rater_id, tab.campaign_id, N_ANSWERED) if tab.live else []
        state["answered"] = _describe_tasks(store, tab, mine)
    if tab.kind == "review":
        state["reasons"] = {kind: list(labels.items()) for kind, labels in REASONS.items()}
    return state


def _interrupted(store: Store, tab: Tab) -> list[str]:
    query = (
        select(Assignment.public_id)
        .join(Event, Event.assignment_id == Assignment.id)
        .where(Event.session_id == tab.session_id, Event.kind == "interrupted")
    )
    with store.read() as session:
        return list(session.scalars(query))


def _describe_tasks(store: Store, tab: Tab, tasks: Iterable[Task]) -> list[dict[str, Any]]:
    """Return tasks as a browser gets them; a participant is told ids and options, nothing about the item."""
    if tab.kind == "study":
        return [
            {"id": task.assignment, "item": task.item, "block": task.block, "choices": task.choices}
            for task in tasks
        ]
    tasks = list(tasks)
    details = _details(store, [task.item for task in tasks], with_candidates=tab.kind == "mask")
    return [
        {
            "id": task.assignment,
            "item": task.item,
            "block": task.block,
            "cue_kind": task.cue_kind,
            "answer": task.answer,
            "reasons": task.reasons,
            "note": task.note,
            **details[task.item],
        }
        for task in tasks
    ]


def _details(store: Store, names: list[str], *, with_candidates: bool) -> dict[str, dict[str, Any]]:
    """Return what staff see beside a picture: the class that it is claimed to show, its size, its candidates."""
    with store.read() as session:
        items = list(session.scalars(select(Item).where(Item.public_id.in_(names))))
        details: dict[str, dict[str, Any]] = {
            item.public_id: {
                "label": item.superclass,
                "width": item.width,
                "height": item.height,
                "has_source": item.source_url is not None,
            }
            for item in items
        }
        if not with_candidates:
            return details
        of_item = {item.id: item.public_id for item in items}
        query = (
            select(MaskCandidate)
            .where(MaskCandidate.item_id.in_(of_item))
            .order_by(MaskCandidate.item_id, MaskCandidate.position)
        )
        for detail in details.values():
            detail["candidates"] = []
        for candidate in session.scalars(query):
            details[of_item[candidate.item_id]]["candidates"].append(candidate.public_id)
    return details
