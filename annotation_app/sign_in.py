"""Which visitor this run of the script is for: Streamlit's side of `annotation_app.identity`."""

from __future__ import annotations

import streamlit as st

from annotation_app.focus import give_focus
from annotation_app.identity import (
    SignIn,
    Visitor,
    choose_sign_in,
    find_staff,
    is_direct_and_local,
)
from annotation_app.settings import app_store, read_settings

REVIEWER = "reviewer"  # the query parameter that holds a typed name


def configured_sign_in() -> SignIn:
    """Return how staff sign in, by Streamlit's settings and secrets."""
    auth = st.secrets.get("auth") if st.secrets.load_if_toml_exists() else None
    return choose_sign_in(auth, st.config.get_option("server.trustedUserHeaders"))


def ask_staff() -> Visitor:
    """Return the member of staff at the other end; ask who they are, and stop there, while that is not known."""
    method = configured_sign_in()
    subject = _subject(method)
    if not subject:
        _show_door(method)
        st.stop()
    visitor = find_staff(app_store(), subject, read_settings(), trusted=method != "name")
    if visitor is None:
        st.title("Not known here")
        st.write(f"You are signed in as **{subject}**, and nothing is assigned to you.")
        st.caption(f"Whoever runs this app can let you in: `cuebench review assign … --reviewer {subject}`")
        if method == "oidc" and st.button("Sign out"):
            st.logout()
        st.stop()
    return visitor


def _subject(method: SignIn) -> str:
    if method == "name":
        return st.query_params.get(REVIEWER, "") if _is_local() else ""
    if method == "oidc" and not st.user.get("is_logged_in"):
        return ""
    return str(st.user.get("email") or "")


def _is_local() -> bool:
    return is_direct_and_local({name.lower(): value for name, value in st.context.headers.items()})


def _show_door(method: SignIn) -> None:
    st.title("cuebench")
    if method == "oidc":
        st.write(
            "Reviewers and administrators sign in. Participants of a study use the link that they were sent."
        )
        if st.button("Sign in", type="primary"):
            st.login()
    elif method == "name" and _is_local():
        _ask_name()
    else:
        st.write("This page opens with a personal link. Please use the link that you were sent, all of it.")


def _ask_name() -> None:
    st.write("Who is reviewing? Your verdicts are kept under this name.")
    with st.form("name", border=False):
        name = st.text_input("Name", max_chars=80, autocomplete="off", width=360)
        if st.form_submit_button("Begin", type="primary") and name.strip():
            st.query_params[REVIEWER] = name.strip()
            st.rerun()
    give_focus('input[aria-label="Name"]')
