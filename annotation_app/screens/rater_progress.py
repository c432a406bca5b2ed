"""A reviewer's own numbers: how far, how fast, how like themselves. Never another person's."""

from __future__ import annotations

import streamlit as st

from annotation_app.identity import Visitor
from annotation_app.own_numbers import CampaignRow, campaigns_of, pace_of
from annotation_app.screens.frame import go
from annotation_app.settings import app_store
from curation.review_status import review_status
from curation.status_tables import ReviewerStatus
from curation.work_queue import progress

_KINDS = ("review", "mask")


def show(visitor: Visitor) -> None:
    """Show one card for each campaign in which the visitor has work."""
    st.title("Your progress")
    rows = [row for row in campaigns_of(app_store(), visitor.rater_id) if row.kind in _KINDS]
    if not rows:
        st.write("Nothing is assigned to you yet.")
    for row in rows:
        with st.container(border=True):
            _show_campaign(visitor, row)


def _show_campaign(visitor: Visitor, row: CampaignRow) -> None:
    store = app_store()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(row.slug)
        st.space("stretch")
        if row.state == "open" and row.n_answered < row.n_total:
            st.button("Continue", key=f"continue-{row.slug}", on_click=go, args=("work", row.slug))
    st.progress(row.n_answered / row.n_total)
    is_done = row.n_answered >= row.n_total
    numbers = [
        ("Answered", row.answered_percent, None),
        ("Today", f"{progress(store, visitor.rater_id, row.id).n_today:,}", "By UTC"),
    ]
    if not is_done:
        pace = pace_of(store, visitor.rater_id, row.id)
        rate = f"{pace:,.0f} an hour" if pace is not None else "–"
        numbers.append(("Pace", rate, "Over your latest answers, pauses left out"))
    if row.kind == "review" and (
        is_done or row.state != "open"
    ):  # before, it would tell which pictures come twice
        numbers.append(
            ("Same verdict again", _self_agreement(_own(visitor, row)), "On pictures that came twice")
        )
    for column, (label, value, help_text) in zip(st.columns(len(numbers)), numbers, strict=True):
        column.metric(label, value, help=help_text)


def _own(visitor: Visitor, row: CampaignRow) -> ReviewerStatus | None:
    reviewers = review_status(app_store(), row.slug).reviewers
    return next((each for each in reviewers if each.reviewer == visitor.name), None)


def _self_agreement(own: ReviewerStatus | None) -> str:
    return f"{own.n_same} of {own.n_repeats}" if own is not None and own.n_repeats else "–"
