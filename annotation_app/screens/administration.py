"""What an administrator sees of a campaign, and what they can do to it: coverage, raters, reasons, expire, freeze."""

from __future__ import annotations

import streamlit as st
from sqlalchemy import select

from annotation_app.identity import Visitor
from annotation_app.own_numbers import CampaignRow, campaigns_of
from annotation_app.rater_tables import rater_table
from annotation_app.screens.frame import choose_campaign
from annotation_app.settings import app_store
from curation.reasons import REASONS
from curation.review_status import ReviewStatus, review_status
from curation.snapshots import take_snapshot
from curation.study import expire_leases
from curation.tables import Snapshot
from data_manifests.errors import CuebenchError


def show(visitor: Visitor) -> None:
    """Show one campaign, chosen at the top."""
    st.title("Administer")
    rows = {row.slug: row for row in campaigns_of(app_store(), visitor.rater_id, every=True)}
    slug = choose_campaign(list(rows))
    if slug is None:
        st.write("There is no campaign yet.")
        st.caption("`cuebench review import` begins a review, `cuebench study plan` a study.")
        return
    row = rows[slug]
    st.caption(f"{row.kind} · {row.state}")
    if row.kind == "review":
        _show_review(review_status(app_store(), slug))
    _show_raters(row)
    _show_actions(row)


def _show_review(status: ReviewStatus) -> None:
    always = {"undecided", "accepted", "rejected"}
    counts = {state: n for state, n in status.states.items() if n or state in always}
    *columns, last = st.columns(len(counts) + 1)
    for column, (state, n) in zip(columns, counts.items(), strict=True):
        column.metric(state.capitalize(), f"{n:,}")
    alike = f"{status.n_agreeing:,} of {status.n_judged_twice:,}"
    last.metric("Reviewers alike", alike, help="Of the pictures that several people judged")
    st.subheader("Coverage")
    coverage = [
        {
            "cue": each.cue_kind,
            "class": each.superclass,
            "pictures": each.n_items,
            "judged": 100.0 * each.n_judged / each.n_items if each.n_items else 0.0,
            "judged twice": each.n_judged_twice,
            **{state: n for state, n in each.states.items() if status.states[state]},
        }
        for each in status.classes
    ]
    judged = st.column_config.ProgressColumn(format="%.0f%%", min_value=0, max_value=100)
    st.dataframe(coverage, hide_index=True, column_config={"judged": judged})
    _show_reasons(status)


def _show_reasons(status: ReviewStatus) -> None:
    st.subheader("Why pictures were rejected")
    kinds = [kind for kind, counts in status.reasons.items() if counts]
    if not kinds:
        st.write("Nothing has been rejected yet.")
        return
    for column, kind in zip(st.columns(len(kinds)), kinds, strict=True):
        counts = sorted(status.reasons[kind].items(), key=lambda pair: (-pair[1], pair[0]))
        data = {
            "reason": [REASONS[kind].get(code, code) for code, _ in counts],
            "pictures": [n for _, n in counts],
        }
        with column:
            st.caption(f"{kind} cues")
            bar = st.column_config.ProgressColumn(format="%d", min_value=0, max_value=counts[0][1])
            st.dataframe(data, hide_index=True, column_config={"pictures": bar})


def _show_raters(row: CampaignRow) -> None:
    st.subheader("Participants" if row.kind == "study" else "Reviewers")
    table = rater_table(app_store(), row.id, row.kind)
    if row.kind == "review":
        quality = {each.reviewer: each for each in review_status(app_store(), row.slug).reviewers}
        for line in table:
            own = quality[str(line["rater"])]
            line["same again"] = f"{own.n_same} of {own.n_repeats}"
            line["known bad caught"] = f"{own.n_caught} of {own.n_known_bad}"
    if table:
        st.dataframe(table, hide_index=True)
    else:
        st.write("Nobody yet.")


def _show_actions(row: CampaignRow) -> None:
    st.subheader("Actions")
    with st.container(horizontal=True):
        if row.kind == "study" and st.button("Free the places of those who stayed away"):
            st.toast(f"{expire_leases(app_store(), row.slug)} freed")
        if row.kind != "mask" and st.button("Take a snapshot", help="A reading that a report can name"):
            _take(row, freeze=False)
        if row.kind != "mask" and row.state == "open":
            with st.popover("Freeze"):
                st.write("No more answers count after this. The agreement is computed from what is frozen.")
                if st.button(f"Freeze {row.slug}", type="primary"):
                    _take(row, freeze=True)
    _show_snapshots(row)


def _take(row: CampaignRow, *, freeze: bool) -> None:
    try:
        take_snapshot(app_store(), row.slug, freeze=freeze)
    except CuebenchError as error:
        st.error(str(error))
    else:
        st.rerun()


def _show_snapshots(row: CampaignRow) -> None:
    query = select(Snapshot).where(Snapshot.campaign_id == row.id).order_by(Snapshot.id.desc())
    with app_store().read() as session:
        taken = [
            {
                "snapshot": each.id,
                "taken (UTC)": each.taken_at,
                "rows": each.n_rows,
                "SHA-256": each.table_sha256,
            }
            for each in session.scalars(query)
        ]
    if taken:
        st.dataframe(taken, hide_index=True)
