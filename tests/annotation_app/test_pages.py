from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select
from streamlit.testing.v1 import AppTest

import annotation_app
from annotation_app import settings
from annotation_app.identity import find_participant
from curation.database import Store, open_store
from curation.review import assign, import_review
from curation.study import withdraw
from curation.tables import Adjudication, Campaign, ClientSession, Consent, Rater, Slot, Snapshot
from curation.work_queue import pending
from tests.annotation_app.drawn_campaigns import (
    CLASSES,
    answer,
    answer_trials,
    begin_masks,
    begin_review,
    begin_study,
    campaign_id,
    staff_id,
    write_cues,
)

ENTRY = Path(annotation_app.__file__).with_name("entry.py")
LARGE = {"width": 1366, "height": 768, "pixel_ratio": 1, "frame_ms": 16.7}
LOCAL = {"host": "127.0.0.1:8501"}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """The store of the app, on a new database."""
    path = tmp_path / "record.db"
    open_store(str(path)).close()
    monkeypatch.setenv(settings.DATABASE, str(path))
    monkeypatch.delenv(settings.ADMINS, raising=False)
    monkeypatch.delenv(settings.ADJUDICATORS, raising=False)
    yield settings.app_store()
    settings.close_stores()


@pytest.fixture
def cues(tmp_path: Path) -> Path:
    return write_cues(tmp_path / "cues")


@pytest.fixture
def visit(store: Store, monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """Open the app at an address, as a browser on this machine."""
    monkeypatch.setattr("streamlit.runtime.context.ContextProxy.headers", LOCAL)

    def opened(**query: str) -> AppTest:
        app = AppTest.from_file(str(ENTRY), default_timeout=20)
        app.query_params.update(query)
        app.session_state["device"] = LARGE
        app.run()
        assert not app.exception
        return app

    return opened


def said(app: AppTest) -> str:
    """Return all that a page says."""
    kinds = (
        "title",
        "subheader",
        "markdown",
        "caption",
        "warning",
        "error",
        "success",
        "info",
        "code",
        "text",
    )
    parts = [str(getattr(element, "value", "")) for kind in kinds for element in app.get(kind)]
    return "\n".join([*parts, *(button.label for button in app.button)])


def press(app: AppTest, label: str) -> AppTest:
    """Press the button of a label."""
    (button,) = [each for each in app.button if each.label == label]
    button.click().run()
    assert not app.exception
    return app


def mounted(app: AppTest) -> bool:
    """Return whether the trial loop is on the page."""
    names = [node.proto.component_name for node in app.main if node.type == "bidi_component"]
    return any("cuebench_trial" in name for name in names)


def test_a_local_visitor_is_asked_for_a_name_once_and_it_is_kept_in_the_address(
    visit: Callable[..., AppTest],
) -> None:
    app = visit()
    assert "Who is reviewing?" in said(app)
    app.text_input[0].input(" ana ")
    press(app, "Begin")
    assert app.query_params["reviewer"] == "ana"
    assert "Nothing is assigned to you yet." in said(app)
    assert "cuebench review assign" in said(app)


def test_a_visitor_from_elsewhere_can_not_type_a_name(
    visit: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "streamlit.runtime.context.ContextProxy.headers", {**LOCAL, "X-Forwarded-For": "203.0.113.9"}
    )
    for app in (visit(), visit(reviewer="ana", page="admin")):
        assert "opens with a personal link" in said(app)
        assert not app.text_input
        assert not app.button


def test_a_reviewer_sees_the_own_campaigns_with_the_own_count_only(
    store: Store, cues: Path, visit: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(settings.ADMINS, "head")
    first = begin_review(store, "first", cues, ["ana"])
    begin_review(store, "others", cues, ["bo"])
    answer(store, staff_id(store, "ana"), first, "accept", 3)
    text = said(visit(reviewer="ana"))
    assert "12 % of yours" in text
    assert "others" not in text
    assert not [role for role in ("Adjudicate", "Administer") if role in text]


@pytest.mark.parametrize("page", ["admin", "adjudicate"])
def test_a_reviewer_who_asks_for_a_page_of_others_gets_the_campaigns(
    store: Store, cues: Path, visit: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    monkeypatch.setenv(settings.ADMINS, "head")
    begin_review(store, "first", cues, ["ana"])
    app = visit(reviewer="ana", page=page, campaign="first")
    assert [title.value for title in app.title] == ["Campaigns"]


def test_an_adjudicator_may_adjudicate_but_not_administer(
    store: Store, cues: Path, visit: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(settings.ADMINS, "head")
    monkeypatch.setenv(settings.ADJUDICATORS, "Dee")
    assert [title.value for title in visit(reviewer="dee", page="adjudicate").title] == ["Adjudicate"]
    assert [title.value for title in visit(reviewer="dee", page="admin").title] == ["Campaigns"]


def test_the_guideline_is_shown_once_and_then_the_work(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    begin_review(store, "first", cues, ["ana"])
    app = visit(reviewer="ana", page="work", campaign="first")
    assert "A shape cue." in said(app)
    assert not mounted(app)
    press(app, "I have read this")
    assert mounted(app)
    again = visit(reviewer="ana", page="work", campaign="first")
    assert mounted(again)
    assert "I have read this" not in said(again)
    with store.read() as session:
        assert session.scalar(select(func.count()).select_from(Consent)) == 1


def test_a_changed_guideline_is_shown_again(store: Store, cues: Path, visit: Callable[..., AppTest]) -> None:
    begin_review(store, "first", cues, ["ana"])
    press(visit(reviewer="ana", page="work", campaign="first"), "I have read this")
    with store.write() as session:
        campaign = session.scalars(select(Campaign)).one()
        campaign.protocol_json = campaign.protocol_json.replace(
            '"guideline":""', '"guideline":"Look *twice*."'
        )
    app = visit(reviewer="ana", page="work", campaign="first")
    assert "Look *twice*." in said(app)
    assert not mounted(app)


def test_masks_are_picked_with_a_guideline_of_their_own(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    begin_masks(store, "masks", cues, ["ana"])
    app = visit(reviewer="ana", page="work", campaign="masks")
    assert "whole object and nothing" in said(app)
    assert mounted(press(app, "I have read this"))


def test_a_campaign_in_which_one_has_no_work_is_not_shown(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    begin_review(store, "first", cues, ["bo"])
    for slug in ("first", "nothing"):
        app = visit(reviewer="ana", page="work", campaign=slug)
        assert "You have no work in this campaign." in said(app)
        assert not mounted(app)


def test_a_frozen_campaign_says_so_and_takes_nothing(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    begin_review(store, "first", cues, ["ana"])
    press(visit(reviewer="ana", page="work", campaign="first"), "I have read this")
    with store.write() as session:
        session.scalars(select(Campaign)).one().state = "frozen"
    app = visit(reviewer="ana", page="work", campaign="first")
    assert "This campaign is frozen" in said(app)
    assert not mounted(app)


def test_a_newer_tab_takes_over_and_the_older_one_can_take_back(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    begin_review(store, "first", cues, ["ana"])
    older = press(visit(reviewer="ana", page="work", campaign="first"), "I have read this")
    newer = visit(reviewer="ana", page="work", campaign="first")
    assert mounted(newer)
    older.run()
    assert "Open in another tab" in said(older)
    assert not mounted(older)
    assert mounted(press(older, "Go on here instead"))
    newer.run()
    assert "Open in another tab" in said(newer)
    with store.read() as session:
        assert session.scalar(select(func.count()).select_from(ClientSession)) == 3


def test_who_is_through_gets_the_loop_again_for_there_the_last_answer_can_be_taken_back(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    first = begin_review(store, "first", cues, ["ana"])
    press(visit(reviewer="ana", page="work", campaign="first"), "I have read this")
    answer(store, staff_id(store, "ana"), first, "accept")
    app = visit(reviewer="ana", page="work", campaign="first")
    assert mounted(app)
    assert "an hour" not in said(app)


def test_the_own_progress_names_nobody_else(store: Store, cues: Path, visit: Callable[..., AppTest]) -> None:
    first = begin_review(store, "first", cues, ["ana", "bo"], overlap=1.0)
    answer(store, staff_id(store, "ana"), first, "accept", 5)
    answer(store, staff_id(store, "bo"), first, "reject", 7)
    app = visit(reviewer="ana", page="progress")
    assert [metric.label for metric in app.metric] == ["Answered", "Today", "Pace"]
    assert [metric.value for metric in app.metric][:2] == ["20 %", "5"]
    assert "bo" not in said(app).split()
    answer(store, staff_id(store, "ana"), first, "accept")
    done = visit(reviewer="ana", page="progress")
    assert [metric.label for metric in done.metric] == ["Answered", "Today", "Same verdict again"]


def test_no_page_tells_a_reviewer_how_many_pictures_come_twice(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    import_review(store, "first", str(cues), overlap=0.0, repeat_share=0.25)
    assign(store, "first", ["ana"])
    first = campaign_id(store, "first")
    n_tasks = len(pending(store, staff_id(store, "ana"), first, 1_000))
    assert n_tasks > 24
    answer(store, staff_id(store, "ana"), first, "accept", 5)
    for page in ("campaigns", "progress", "work"):
        app = visit(reviewer="ana", page=page, campaign="first")
        told = said(app) + " ".join(str(metric.value) for metric in app.metric)
        assert str(n_tasks) not in told


def _split_review(store: Store, cues: Path) -> str:
    first = begin_review(store, "first", cues, ["ana", "bo"], overlap=1.0)
    answer(store, staff_id(store, "ana"), first, "accept")
    answer(store, staff_id(store, "bo"), first, "reject", 2)
    return "first"


def test_a_split_is_decided_with_a_reason_and_votes_show_no_names(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    slug = _split_review(store, cues)
    app = visit(reviewer="dee", page="adjudicate", campaign=slug)
    assert "2 pictures left to decide on" in said(app)
    assert {"ana", "bo"} & set(said(app).split()) == set()
    press(app, "Accept")
    assert "A decision needs its reason, in 1 to 2,000 characters" in said(app).splitlines()
    app.text_area[0].input("the outline is whole")
    press(app, "Accept")
    assert "1 picture left to decide on" in said(app)
    with store.read() as session:
        decision = session.scalars(select(Adjudication)).one()
        assert (decision.answer, decision.rationale) == ("accept", "the outline is whole")


def test_a_split_can_be_put_off(store: Store, cues: Path, visit: Callable[..., AppTest]) -> None:
    def shown(app: AppTest) -> list[str]:
        return [button.key for button in app.button if button.key and button.key.startswith("later-")]

    app = visit(reviewer="dee", page="adjudicate", campaign=_split_review(store, cues))
    first = shown(app)
    second = shown(press(app, "Later"))
    assert len(first) == len(second) == 1
    assert first != second
    assert shown(press(app, "Later")) == first


def test_the_administrator_sees_coverage_raters_and_reasons(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    app = visit(reviewer="head", page="admin", campaign=_split_review(store, cues))
    coverage, reasons, raters = (frame.value for frame in app.dataframe)
    assert reasons.to_dict("list") == {"reason": ["wrong class"], "pictures": [2]}
    assert sorted(coverage["class"]) == sorted(name for names in CLASSES.values() for name in names)
    assert dict(zip(raters["rater"], raters["answered"], strict=True)) == {"ana": 24, "bo": 2}
    assert {metric.label: metric.value for metric in app.metric}["Split"] == "2"


def test_the_administrator_freezes_and_the_snapshot_is_listed(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    begin_review(store, "first", cues, ["ana"])
    app = press(visit(reviewer="head", page="admin", campaign="first"), "Freeze first")
    assert "review · frozen" in said(app)
    with store.read() as session:
        digest = session.scalars(select(Snapshot.table_sha256)).one()
        assert session.scalars(select(Campaign.state)).one() == "frozen"
    assert list(app.dataframe[-1].value["SHA-256"]) == [digest]
    assert "Freeze first" not in said(app)


def _participant(store: Store, token: str) -> int:
    visitor = find_participant(store, token)
    assert visitor is not None
    return visitor.rater_id


def _to_practice(app: AppTest) -> AppTest:
    press(press(app, "I agree and take part"), "I have read this")
    app.radio[0].set_value("What the pattern belongs to").run()
    return press(app, "Answer")


def test_a_participant_goes_from_consent_to_the_completion_code(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    (token,) = begin_study(store, "paper", cues, 1)
    study_id, rater = campaign_id(store, "paper"), _participant(store, token)
    app = _to_practice(visit(p=token))
    assert mounted(app)
    assert "Practice." in said(app)
    assert answer_trials(store, rater, study_id, practice=True) == 2
    app.run()
    assert "Now it counts" in said(app)
    assert "the first has 4 pictures" in said(app)
    assert not mounted(app)
    press(app, "Begin")
    assert "Part 1 of 2" in said(app)
    assert mounted(app)
    assert answer_trials(store, rater, study_id, n=4) == 4
    app.run()
    assert "Part 1 of 2 is done" in said(app)
    assert not mounted(app)
    assert "Part 2 of 2" in said(press(app, "Go on"))
    assert answer_trials(store, rater, study_id, n=3) == 3
    app.run()
    assert mounted(app)
    assert "completion code" not in said(app)
    assert answer_trials(store, rater, study_id) == 1
    app.run()
    with store.read() as session:
        code = session.get_one(Rater, rater).completion_code
    assert code
    assert code in said(app)
    assert code in said(visit(p=token))


def test_a_reload_goes_on_where_the_participant_was(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    (token,) = begin_study(store, "paper", cues, 1)
    press(visit(p=token), "I agree and take part")
    assert [title.value for title in visit(p=token).title] == ["What you will do"]


def test_whoever_declines_is_thanked_and_leaves_no_session(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    (token,) = begin_study(store, "paper", cues, 1)
    app = press(visit(p=token), "I do not take part")
    assert "You chose not to take part." in said(app)
    assert not app.button
    assert "You chose not to take part." in said(visit(p=token))
    with store.read() as session:
        assert session.scalar(select(func.count()).select_from(ClientSession)) == 0


def test_a_wrong_answer_shows_the_instructions_again(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    (token,) = begin_study(store, "paper", cues, 1)
    app = press(press(visit(p=token), "I agree and take part"), "I have read this")
    app.radio[0].set_value("The colour that I like best").run()
    press(app, "Answer")
    assert "Please read the instructions once more." in said(app)
    assert app.radio[0].value is None


def test_a_study_without_a_free_place_says_so(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    tokens = begin_study(store, "paper", cues, 4)
    apps = [_to_practice(visit(p=token)) for token in tokens]
    assert [mounted(app) for app in apps] == [True, True, True, False]
    assert "All places are taken" in said(apps[-1])
    press(apps[-1], "Try again")
    assert "All places are taken" in said(apps[-1])


def test_whoever_was_away_for_too_long_is_told(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    (token,) = begin_study(store, "paper", cues, 1)
    _to_practice(visit(p=token))
    with store.write() as session:
        session.scalars(
            select(Slot).where(Slot.rater_id.is_not(None))
        ).one().lease_until = "2026-01-01T00:00:00.000Z"
    app = visit(p=token)
    assert "Your place was given to somebody else" in said(app)
    assert not mounted(app)


def test_whoever_withdrew_is_told_and_gets_no_trial(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    (token,) = begin_study(store, "paper", cues, 1)
    app = _to_practice(visit(p=token))
    with store.read() as session:
        code = session.get_one(Rater, _participant(store, token)).public_code
    withdraw(store, code, "")
    app.run()
    assert "Your answers were removed." in said(app)
    assert not mounted(app)


def test_an_unknown_link_tells_nothing(store: Store, cues: Path, visit: Callable[..., AppTest]) -> None:
    begin_study(store, "paper", cues, 1)
    app = visit(p="A" * 32, page="admin", reviewer="ana")
    assert [title.value for title in app.title] == ["This link is not known"]
    assert not app.button


def test_a_participant_never_gets_the_bar_of_staff(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    (token,) = begin_study(store, "paper", cues, 1)
    app = visit(p=token, page="admin", reviewer="ana")
    assert [button.label for button in app.button] == ["I agree and take part", "I do not take part"]


def test_a_window_that_is_too_small_is_refused(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    (token,) = begin_study(store, "paper", cues, 1)
    app = visit(p=token)
    app.session_state["device"] = {**LARGE, "width": 390}
    app.run()
    assert "this window has 390 × 768" in said(app)
    assert not app.button


def test_the_page_waits_until_the_window_is_known(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    (token,) = begin_study(store, "paper", cues, 1)
    app = visit(p=token)
    app.session_state["device"] = None
    app.run()
    assert "Looking at your screen" in said(app)
    assert not app.button


def test_the_window_is_kept_with_the_session(store: Store, cues: Path, visit: Callable[..., AppTest]) -> None:
    (token,) = begin_study(store, "paper", cues, 1)
    _to_practice(visit(p=token))
    with store.read() as session:
        tab = session.scalars(select(ClientSession)).one()
        assert (tab.viewport, tab.device_pixel_ratio, tab.frame_ms) == ("1366x768", "1", 17)


def test_what_can_not_be_done_any_more_is_said_in_one_line(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    (token,) = begin_study(store, "paper", cues, 1)
    stale, other = visit(p=token), visit(p=token)
    press(other, "I agree and take part")
    press(stale, "I do not take part")
    assert "agreed before; they may withdraw" in said(stale)


def test_the_administrator_sees_participants_by_code_and_frees_places(
    store: Store, cues: Path, visit: Callable[..., AppTest]
) -> None:
    (token,) = begin_study(store, "paper", cues, 1)
    _to_practice(visit(p=token))
    with store.write() as session:
        session.scalars(
            select(Slot).where(Slot.rater_id.is_not(None))
        ).one().lease_until = "2026-01-01T00:00:00.000Z"
        code = session.get_one(Rater, _participant(store, token)).public_code
    app = visit(reviewer="head", page="admin", campaign="paper")
    (raters,) = (frame.value for frame in app.dataframe)
    assert list(raters["rater"]) == [code]
    press(app, "Free the places of those who stayed away")
    assert "1 freed" in [toast.value for toast in app.toast]
    with store.read() as session:
        assert session.get_one(Rater, _participant(store, token)).state == "expired"


def test_without_any_campaign_the_administrator_is_told_what_to_run(visit: Callable[..., AppTest]) -> None:
    assert "cuebench review import" in said(visit(reviewer="head", page="admin"))
    assert "There is no review yet." in said(visit(reviewer="head", page="adjudicate"))
