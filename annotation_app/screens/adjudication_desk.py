"""Where an adjudicator decides on pictures about which reviewers differ. Votes carry no names."""

from __future__ import annotations

import streamlit as st
from sqlalchemy import select

from annotation_app.identity import Visitor
from annotation_app.own_numbers import campaigns_of
from annotation_app.screens.frame import choose_campaign
from annotation_app.settings import app_store
from curation.adjudication import AnonymousVote, Split, adjudicate, splits
from curation.reasons import REASONS
from curation.tables import Item
from data_manifests.errors import CuebenchError
from data_manifests.storage import read_bytes

PICTURE_WIDTH_PX = 448
WIDTH_PX = 980  # the picture and the votes side by side
_PUT_OFF = "put-off"  # the pictures that this tab goes past for now


def show(visitor: Visitor) -> None:
    """Show one picture to decide on after the other."""
    st.title("Adjudicate")
    rows = campaigns_of(app_store(), visitor.rater_id, every=True)
    slug = choose_campaign([row.slug for row in rows if row.kind == "review"], "Review")
    if slug is None:
        st.write("There is no review yet.")
        return
    waiting = splits(app_store(), slug)
    put_off = st.session_state.setdefault(_PUT_OFF, [])
    waiting.sort(key=lambda split: put_off.index(split.item) if split.item in put_off else -1)
    if not waiting:
        st.success("Nothing waits for a decision: reviewers agree on all that they have judged.")
        return
    n_left = len(waiting)
    st.caption(f"{n_left:,} picture{'s' if n_left > 1 else ''} left to decide on")
    _show_split(visitor, slug, waiting[0], n_left)


def _show_split(visitor: Visitor, slug: str, split: Split, n_left: int) -> None:
    left, right = st.container(width=WIDTH_PX).columns(2, gap="large")
    with left:
        _show_pictures(split)
    with right:
        st.subheader(split.superclass)
        st.caption(f"{split.cue_kind} cue")
        for number, vote in enumerate(split.votes, start=1):
            _show_vote(number, vote, split.cue_kind)
        _ask_decision(visitor, slug, split)
        if n_left > 1:
            st.button(
                "Later", type="tertiary", on_click=_put_off, args=(split.item,), key=f"later-{split.item}"
            )


def _show_pictures(split: Split) -> None:
    with app_store().read() as session:
        item = session.scalars(select(Item).where(Item.public_id == split.item)).one()
        cue_url, source_url = item.file_url, item.source_url
    st.image(read_bytes(cue_url), width=PICTURE_WIDTH_PX, output_format="PNG")
    if source_url is not None:
        with st.expander("The photograph that it was made from"):
            st.image(read_bytes(source_url), width=PICTURE_WIDTH_PX, output_format="PNG")


def _show_vote(number: int, vote: AnonymousVote, cue_kind: str) -> None:
    labels = REASONS[cue_kind]
    with st.container(border=True, gap="xxsmall"):
        st.markdown(f"**{vote.answer}** · vote {number}")
        if vote.reasons:
            st.write("; ".join(labels.get(reason, reason) for reason in vote.reasons))
        if vote.note:
            st.text(vote.note)
        st.caption(vote.decided_at[:16].replace("T", " ") + " UTC")


def _ask_decision(visitor: Visitor, slug: str, split: Split) -> None:
    with st.form(f"decide-{split.item}", border=False):
        rationale = st.text_area("Why", placeholder="One sentence that a later reader can follow", height=80)
        with st.container(horizontal=True):
            accepts = st.form_submit_button("Accept", key="decide-accept")
            rejects = st.form_submit_button("Reject", key="decide-reject")
    if not (accepts or rejects):
        return
    try:
        adjudicate(
            app_store(), slug, split.item, visitor.rater_id, "accept" if accepts else "reject", rationale
        )
    except CuebenchError as error:
        text = str(error).removeprefix("adjudication: ")
        st.error(text[0].upper() + text[1:])
    else:
        st.rerun()


def _put_off(item: str) -> None:
    put_off = st.session_state.setdefault(_PUT_OFF, [])
    if item in put_off:
        put_off.remove(item)
    put_off.append(item)
