"""The script that Streamlit runs for every visitor: one screen, chosen by the address and by who is there."""

from __future__ import annotations

import streamlit as st

from annotation_app.screens import (
    adjudication_desk,
    administration,
    campaign_list,
    frame,
    rater_progress,
    review_work,
    study_flow,
)
from annotation_app.sign_in import ask_staff

SCREENS = {
    "campaigns": campaign_list.show,
    "adjudicate": adjudication_desk.show,
    "progress": rater_progress.show,
    "admin": administration.show,
}
TOKEN = "p"  # noqa: S105 - the name of the query parameter that holds one


def main() -> None:
    """Show the screen of this visitor."""
    if TOKEN in st.query_params:
        study_flow.show(st.query_params[TOKEN])
        return
    page = frame.asked_page()
    frame.prepare(wide=page != "campaigns")
    visitor = ask_staff()
    if not visitor.may(frame.NEEDED_ROLE.get(page, "reviewer")):
        page = "campaigns"
    place = frame.show_bar(visitor, page)
    if page == "work":
        review_work.show(visitor, place)
    else:
        SCREENS[page](visitor)


main()
