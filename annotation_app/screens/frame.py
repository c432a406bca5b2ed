"""What the screens have in common: layout, the bar at the top, and how one screen leads to another.

Where a visitor is lies in the query string (`?page=work&campaign=shapes`), so that a reload shows the same again.
"""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from annotation_app.identity import Visitor
from annotation_app.sign_in import REVIEWER, configured_sign_in

PAGE = "page"
CAMPAIGN = "campaign"
TITLES = {
    "campaigns": "Campaigns",
    "work": "Work",
    "progress": "Progress",
    "adjudicate": "Adjudicate",
    "admin": "Administer",
}
NEEDED_ROLE = {"adjudicate": "adjudicator", "admin": "admin"}

_STYLE = """
<style>
  .stAppHeader { display: none; }
  .stMainBlockContainer { padding-top: .75rem; padding-bottom: 1rem; }
  .st-key-bar { border-bottom: 1px solid #DDDDDA; padding-bottom: .25rem; }
  .st-key-bar p, .st-key-bar [data-testid="stMarkdownContainer"] { margin-bottom: 0; }
  .stMainBlockContainer h1 { padding-top: .25rem; }
  .st-key-decide-accept button:is(*, :hover, :focus, :active) {
    background: #17663a; border-color: #17663a; color: #fff;
  }
  .st-key-decide-reject button:is(*, :hover, :focus, :active) {
    background: #a3231b; border-color: #a3231b; color: #fff;
  }
</style>
"""

# A page of text without the bar begins lower.
_STYLE_OF_TEXT = "<style>.stMainBlockContainer:not(:has(.st-key-bar)) { padding-top: 3.5rem; }</style>"


def asked_page() -> str:
    """Return the name of the screen that the address asks for."""
    page = st.query_params.get(PAGE, "campaigns")
    return page if page in TITLES else "campaigns"


def prepare(*, wide: bool) -> None:
    """Set the layout, before anything is shown."""
    st.set_page_config(page_title="cuebench", layout="wide" if wide else "centered")
    st.html(_STYLE if wide else _STYLE + _STYLE_OF_TEXT)


def go(page: str, campaign: str | None = None) -> None:
    """Lead to another screen; to be called when a button is pressed."""
    query = {**st.query_params.to_dict(), PAGE: page}
    if campaign is not None:
        query[CAMPAIGN] = campaign
    elif page == "campaigns":
        query.pop(CAMPAIGN, None)
    st.query_params.from_dict(query)  # in one step: one entry of the browser's history


def leave() -> None:
    """Forget the typed name."""
    st.query_params.clear()


def show_bar(visitor: Visitor, page: str) -> DeltaGenerator:
    """Show the bar: where one can go, and as whom one is here; return the place in it for what a screen adds."""
    with st.container(horizontal=True, vertical_alignment="center", key="bar"):
        for name, title in TITLES.items():
            if name == "work" or not visitor.may(NEEDED_ROLE.get(name, "reviewer")):
                continue
            here = name == page
            st.button(
                f"**{title}**" if here else title,
                key=f"go-{name}",
                type="tertiary",
                on_click=go,
                args=(name,),
            )
        st.space("stretch")
        place = st.container(horizontal=True, vertical_alignment="center", width="content")
        st.markdown(visitor.name, width="content")
        _show_exit()
    return place


def _show_exit() -> None:
    method = configured_sign_in()
    if method == "oidc":
        if st.button("Sign out", type="tertiary", key="exit"):
            st.logout()
    elif method == "name" and REVIEWER in st.query_params:
        st.button("Change", type="tertiary", key="exit", on_click=leave, help="Work under another name")


def choose_campaign(slugs: list[str], label: str = "Campaign") -> str | None:
    """Let the visitor choose among campaigns; the choice is kept in the address. None where there are none."""
    if not slugs:
        return None
    asked = st.query_params.get(CAMPAIGN, slugs[0])
    if len(slugs) == 1:
        return slugs[0]
    chosen = st.selectbox(label, slugs, index=slugs.index(asked) if asked in slugs else 0, width=360)
    if chosen != st.query_params.get(CAMPAIGN):
        st.query_params[CAMPAIGN] = chosen
    return chosen
