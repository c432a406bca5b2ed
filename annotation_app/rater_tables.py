"""The table of raters that an administrator sees."""

from __future__ import annotations

from statistics import median

from sqlalchemy import case, func, select

from curation.database import Store
from curation.tables import Assignment, CurrentAnswer, Event, QcFlag, Rater


def rater_table(store: Store, campaign_id: int, kind: str) -> list[dict[str, object]]:
    """Return one row for each rater of a campaign: state (a study), answered, all, median time, last answer, flags.

    Participants appear by their code, staff by name. Practice does not count.
    """
    queue = (
        select(
            Assignment.rater_id,
            func.count().label("n_total"),
            func.count(CurrentAnswer.assignment_id).label("n_answered"),
            func.max(CurrentAnswer.decided_at).label("last"),
        )
        .outerjoin(CurrentAnswer, CurrentAnswer.assignment_id == Assignment.id)
        .where(Assignment.campaign_id == campaign_id, Assignment.role != "practice")
        .group_by(Assignment.rater_id)
        .subquery()
    )
    query = (
        select(Rater, queue.c.n_answered, queue.c.n_total, queue.c.last)
        .outerjoin(queue, queue.c.rater_id == Rater.id)
        .where((queue.c.rater_id.is_not(None)) | (Rater.campaign_id == campaign_id))
        .order_by(case((queue.c.last.is_(None), 1), else_=0), queue.c.last.desc(), Rater.id)
    )
    with store.read() as session:
        raters = session.execute(query).all()
        times: dict[int, list[int]] = {}
        for rater_id, rt_ms in session.execute(
            select(Event.rater_id, Event.rt_ms)
            .join(CurrentAnswer, CurrentAnswer.event_pk == Event.id)
            .join(Assignment, Assignment.id == CurrentAnswer.assignment_id)
            .where(Assignment.campaign_id == campaign_id, Event.rt_ms.is_not(None))
        ):
            times.setdefault(rater_id, []).append(rt_ms or 0)
        flags: dict[int, list[str]] = {}
        for rater_id, rule in session.execute(
            select(QcFlag.rater_id, QcFlag.rule)
            .where(QcFlag.campaign_id == campaign_id)
            .order_by(QcFlag.rule)
        ):
            flags.setdefault(rater_id, []).append(rule)
        return [
            {
                "rater": rater.public_code if kind == "study" else rater.auth_subject or rater.public_code,
                **({"state": rater.state} if kind == "study" else {}),
                "answered": n_answered or 0,
                "of": n_total or 0,
                "median s": round(median(times[rater.id]) / 1000, 1) if rater.id in times else None,
                "last answer (UTC)": (last or "")[:16].replace("T", " "),
                **({"flags": ", ".join(flags.get(rater.id, ()))} if kind == "study" else {}),
            }
            for rater, n_answered, n_total, last in raters
        ]
