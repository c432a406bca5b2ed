"""The first screen of staff: the campaigns in which they have work."""

from __future__ import annotations

import streamlit as st

from annotation_app.identity import Visitor
from annotation_app.own_numbers import CampaignRow, campaigns_of
from annotation_app.screens.frame import go
from annotation_app.settings import app_store

_KINDS = {"review": "Review", "mask": "Mask picking", "study": "Study"}


def show(visitor: Visitor) -> None:
    """Show each campaign with the visitor's own count and the way in."""
    st.title("Campaigns")
    rows = campaigns_of(app_store(), visitor.rater_id, every=visitor.may("admin"))
    if not rows:
        st.write("Nothing is assigned to you yet.")
        st.caption(f"`cuebench review assign … --reviewer {visitor.name}` gives you work.")
    for row in rows:
        _show_row(row, visitor)


def _show_row(row: CampaignRow, visitor: Visitor) -> None:
    with st.container(border=True), st.container(horizontal=True, vertical_alignment="center"):
        with st.container(gap="xxsmall"):
            st.markdown(f"**{row.slug}**")
            kinds = " and ".join(row.cue_kinds) if row.kind != "mask" else ""
            st.caption(" · ".join(filter(None, [_KINDS[row.kind], kinds, _own_count(row), _state(row)])))
            if row.n_total:
                st.progress(row.n_answered / row.n_total)
        if row.n_total and row.kind != "study":
            st.button(
                _verb(row), key=f"work-{row.slug}", type="primary", on_click=go, args=("work", row.slug)
            )
        if visitor.may("admin"):
            st.button("Administer", key=f"admin-{row.slug}", on_click=go, args=("admin", row.slug))


def _own_count(row: CampaignRow) -> str:
    return f"{row.answered_percent} of yours" if row.n_total else ""


def _state(row: CampaignRow) -> str:
    return "" if row.state == "open" else row.state


def _verb(row: CampaignRow) -> str:
    if row.state != "open" or row.n_answered >= row.n_total:
        return "Look"
    return "Continue" if row.n_answered else "Start"
