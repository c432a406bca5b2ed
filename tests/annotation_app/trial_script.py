"""The page of `trial_page`: `?place=CAMPAIGN-RATER&mode=review`, and settings as JSON in `?settings=`."""

from __future__ import annotations

import json
from typing import cast, get_args

import streamlit as st

from annotation_app.trial import Mode, trial
from curation.answers import open_session
from curation.campaigns import new_public_id
from curation.study import resume
from tests.annotation_app.trial_page import page_store

st.set_page_config(layout="wide")
st.html("<style>.stMainBlockContainer {padding: 3.5rem 1rem 1rem}</style>")
mode = cast("Mode", st.query_params.get("mode", "review"))
assert mode in get_args(Mode)
campaign_id, rater_id = (int(part) for part in st.query_params["place"].split("-"))
if "tab" not in st.session_state:
    st.session_state["tab"] = new_public_id()
    open_session(page_store(), rater_id, campaign_id, st.session_state["tab"])
    if mode in {"study", "practice"}:
        resume(page_store(), rater_id, st.session_state["tab"])
outcome = trial(
    session_id=st.session_state["tab"],
    mode=mode,
    settings=json.loads(st.query_params.get("settings", "{}")),
    key=f"trial-{st.session_state.get('part', 0)}",
)
if outcome == "block":
    st.session_state["part"] = st.session_state.get("part", 0) + 1
    st.rerun()
elif outcome is not None:
    st.session_state["outcome"] = outcome
st.write(f"page: {st.session_state.get('outcome', 'at work')}")
