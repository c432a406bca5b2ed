"""The session of a browser tab: its id is the secret by which the tab may fetch pictures and send answers."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import streamlit as st

from curation.answers import is_live, open_session
from curation.campaigns import new_public_id
from curation.database import Store

MAX_AGENT_CHARACTERS = 400


def tab_session(
    store: Store,
    rater_id: int,
    campaign_id: int,
    *,
    on_open: Callable[[str], object] | None = None,
    **client: str | int,
) -> str | None:
    """Return the id of this tab's session, opened on first use; None once a newer tab has taken over.

    A reload is a new tab: nothing in it has to survive, since where a rater is follows from the record alone.

    Parameters
    ----------
    on_open : called with the id when the session has just been opened
    client : columns of the session that the browser told
    """
    key = _key(rater_id, campaign_id)
    if key not in st.session_state:
        session_id = new_public_id()
        open_session(
            store,
            rater_id,
            campaign_id,
            session_id,
            user_agent=(st.context.headers.get("User-Agent") or "")[:MAX_AGENT_CHARACTERS],
            app_version=version("cuebench"),
            **client,
        )
        st.session_state[key] = session_id
        if on_open is not None:
            on_open(session_id)
    session_id = str(st.session_state[key])
    return session_id if is_live(store, session_id) else None


def show_taken_over(rater_id: int, campaign_id: int) -> None:
    """Say that a newer tab has taken over, and offer to go on in this one."""
    st.title("Open in another tab")
    st.write("You opened this in a newer tab or on another device, and that one goes on. Nothing is lost.")
    st.button("Go on here instead", type="primary", on_click=_forget, args=(_key(rater_id, campaign_id),))


def _key(rater_id: int, campaign_id: int) -> str:
    return f"session-{rater_id}-{campaign_id}"


def _forget(key: str) -> None:
    st.session_state.pop(key, None)
