"""Where cues are reviewed and masks picked: the guideline once per version, then the trial component."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from annotation_app.focus import give_focus
from annotation_app.guidelines import guideline_of, has_opened, mark_opened
from annotation_app.identity import Visitor
from annotation_app.own_numbers import CampaignRow, campaigns_of, pace_of
from annotation_app.screens.frame import CAMPAIGN, go
from annotation_app.settings import app_store
from annotation_app.tab import show_taken_over, tab_session
from annotation_app.trial import Mode, trial
from curation.tables import Campaign

_MODES: dict[str, Mode] = {"review": "review", "mask": "mask"}


def show(visitor: Visitor, bar: DeltaGenerator) -> None:
    """Show the visitor's work in the campaign that the address names; its name and guideline go into the bar."""
    slug = st.query_params.get(CAMPAIGN, "")
    rows = {row.slug: row for row in campaigns_of(app_store(), visitor.rater_id) if row.kind in _MODES}
    if slug not in rows:
        st.title("Nothing to do here")
        st.write("You have no work in this campaign.")
        st.button("All campaigns", type="primary", on_click=go, args=("campaigns",))
        return
    row = rows[slug]
    with app_store().read() as session:
        guideline = guideline_of(session.get_one(Campaign, row.id), row.cue_kinds)
    if has_opened(app_store(), visitor.rater_id, row.id, guideline):
        with bar:
            _show_heading(visitor, row, guideline)
        _show_work(visitor, row)
    else:
        _show_guideline(visitor, row, guideline)


def _show_guideline(visitor: Visitor, row: CampaignRow, guideline: str) -> None:
    with st.container(width=720):
        st.title(row.slug)
        st.caption("Read this before you begin. It is shown again when it changes.")
        st.markdown(guideline)
        st.button(
            "I have read this",
            type="primary",
            key="read",
            on_click=mark_opened,
            args=(app_store(), visitor.rater_id, row.id, guideline),
        )
    give_focus(".st-key-read button")


def _show_work(visitor: Visitor, row: CampaignRow) -> None:
    if row.state != "open":
        st.info(f"This campaign is {row.state}: it takes no more answers. What you said is kept.")
        return
    session_id = tab_session(app_store(), visitor.rater_id, row.id)
    if session_id is None:
        show_taken_over(visitor.rater_id, row.id)
        return
    # It says that all is done too, for there the last answer can still be taken back. What it returns is why this
    # script ran again; where things stand was read from the record above.
    outcome = trial(
        session_id=session_id,
        mode=_MODES[row.kind],
        settings={"grid": row.kind == "review" and not row.measures_agreement},
        key=f"trial-{session_id}",
    )
    if outcome == "finished":
        go("campaigns")
        st.rerun()


def _show_heading(visitor: Visitor, row: CampaignRow, guideline: str) -> None:
    pace = pace_of(app_store(), visitor.rater_id, row.id)
    if pace is not None and row.n_answered < row.n_total:
        st.caption(f"{pace:,.0f} an hour", width="content", help="Your pace over the latest answers")
    st.markdown(f"**{row.slug}**", width="content")
    with st.popover("Guideline", type="tertiary"):
        st.markdown(guideline)
