"""The way of a participant through a study: one page for each phase, which follows from the record alone.

Nothing here names a class, a file or what is expected: a participant's browser gets texts, counts and opaque ids.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from annotation_app.device import MIN_HEIGHT_PX, MIN_WIDTH_PX, Device, device_of_tab
from annotation_app.focus import give_focus
from annotation_app.identity import find_participant
from annotation_app.screens.frame import prepare
from annotation_app.settings import app_store
from annotation_app.study_settings import participant_facts, trial_settings
from annotation_app.tab import show_taken_over, tab_session
from annotation_app.trial import trial
from curation import study
from curation.study import Phase
from data_manifests.errors import CuebenchError

_NOTICE = "notice"
_BEGUN = "begun"
_WITH_TRIALS = ("practice", "trials")


def show(token: str) -> None:
    """Show the page of the participant to whom the token of the address belongs."""
    visitor = find_participant(app_store(), token)
    if visitor is None:
        prepare(wide=False)
        st.title("This link is not known")
        st.write("Please use the link that you were sent, all of it. If it does not work, ask who sent it.")
        return
    phase = study.participant_phase(app_store(), visitor.rater_id)
    prepare(wide=phase.name in _WITH_TRIALS and not _is_before_start(phase))
    if notice := st.session_state.pop(_NOTICE, None):
        st.warning(notice)
    _PAGES[phase.name](visitor.rater_id, phase)


def _act(work: Callable[[], object]) -> None:
    """Do what a button asks for; what can't be done any more is said on the next page."""
    try:
        work()
    except CuebenchError as error:
        st.session_state[_NOTICE] = str(error)


def _show_consent(rater_id: int, phase: Phase) -> None:
    if _fitting_device() is None:
        return
    st.title("Welcome")
    st.markdown(phase.text)
    with st.container(horizontal=True):
        st.button(
            "I agree and take part",
            type="primary",
            on_click=_act,
            args=(lambda: study.give_consent(app_store(), rater_id, phase.text_sha256),),
        )
        st.button("I do not take part", on_click=_act, args=(lambda: study.decline(app_store(), rater_id),))


def _fitting_device() -> Device | None:
    """Return the device once it is known and fits; else say what is missing."""
    device = device_of_tab()
    if device is None:
        st.caption("Looking at your screen …")
        return None
    if not device.is_large_enough:
        st.title("Please make this window larger")
        st.write(
            f"The pictures need {MIN_WIDTH_PX} × {MIN_HEIGHT_PX} points; this window has {device.width_px} × "
            f"{device.height_px}. A laptop or a tablet held sideways will do; a phone is too small."
        )
        return None
    return device


def _show_instructions(rater_id: int, phase: Phase) -> None:
    st.title("What you will do")
    st.markdown(phase.text)
    st.button(
        "I have read this",
        type="primary",
        key="read",
        on_click=_act,
        args=(lambda: study.give_consent(app_store(), rater_id, phase.text_sha256),),
    )
    give_focus(".st-key-read button")


def _show_check(rater_id: int, phase: Phase) -> None:
    st.title("One question first")
    if phase.n_failures:
        st.warning("That was not it. Please read the instructions once more.")
    with st.expander("The instructions again", expanded=phase.n_failures > 0):
        st.markdown(phase.text)
    chosen = st.radio(phase.question, phase.options, index=None, key=f"check-{phase.n_failures}")
    st.button(
        "Answer",
        type="primary",
        disabled=chosen is None,
        on_click=_act,
        args=(lambda: study.pass_check(app_store(), rater_id, chosen or ""),),
    )


def _show_trials(rater_id: int, phase: Phase) -> None:
    device = _fitting_device()
    if device is None:
        return
    if _is_before_start(phase):
        _show_start(phase)
        return
    facts = participant_facts(app_store(), rater_id)
    session_id = tab_session(
        app_store(),
        rater_id,
        facts.campaign_id,
        on_open=lambda opened: study.resume(app_store(), rater_id, opened),
        **device.columns(),
    )
    if session_id is None:
        show_taken_over(rater_id, facts.campaign_id)
        return
    is_practice = phase.name == "practice"
    if is_practice:
        st.caption("Practice. You are told whether you were right; in the study you are not.")
    elif phase.n_blocks > 1:
        st.caption(f"Part {phase.block} of {phase.n_blocks}")
    trial(
        session_id=session_id,
        mode="practice" if is_practice else "study",
        settings=trial_settings(facts.protocol),
        key=f"trial-{session_id}-{phase.name}-{phase.block}",
    )


def _is_before_start(phase: Phase) -> bool:
    is_first = phase.name == "trials" and phase.block == 1 and phase.n_done == 0
    return is_first and not st.session_state.get(_BEGUN)


def _show_start(phase: Phase) -> None:
    st.title("Now it counts")
    begins = f" in {phase.n_blocks} parts; the first has" if phase.n_blocks > 1 else ":"
    st.write(
        f"The study begins{begins} {phase.n_total} pictures. You are not told any more whether you were right, and an "
        "answer can't be taken back."
    )
    st.button("Begin", type="primary", key="begin", on_click=st.session_state.update, args=({_BEGUN: True},))
    give_focus(".st-key-begin button")


def _show_break(rater_id: int, phase: Phase) -> None:
    st.title("Time for a break")
    st.write(
        f"Part {phase.block - 1} of {phase.n_blocks} is done, and all of it is stored. Rest your eyes for as "
        f"long as you like. The next part has {phase.n_total} pictures."
    )
    st.button("Go on", type="primary", on_click=_act, args=(lambda: study.end_break(app_store(), rater_id),))
    _show_own_code(rater_id)


def _show_finished(rater_id: int, phase: Phase) -> None:
    code = phase.completion_code or study.finish(app_store(), rater_id)
    if code is None:
        st.title("Almost done")
        st.write("Not every answer has arrived yet.")
        st.button("Look again", type="primary")
        return
    st.title("Thank you")
    st.write("All of your answers are stored. This is your completion code:")
    st.code(code, language=None)
    _show_own_code(rater_id)


def _show_own_code(rater_id: int) -> None:
    own = participant_facts(app_store(), rater_id).public_code
    st.caption(
        f"Should you want your answers removed later, tell whoever invited you this code: **{own}**. No name is needed."
    )


def _show_full(rater_id: int, phase: Phase) -> None:
    st.title("No place is free")
    st.write(phase.text)
    st.button(
        "Try again", type="primary", on_click=_act, args=(lambda: study.claim_slot(app_store(), rater_id),)
    )


def _show_declined(_rater_id: int, phase: Phase) -> None:
    _show_end("That is fine", phase)


def _show_expired(rater_id: int, phase: Phase) -> None:
    _show_end("It ends here", phase)
    _show_own_code(rater_id)


def _show_withdrawn(_rater_id: int, phase: Phase) -> None:
    _show_end("You have withdrawn", phase)


def _show_end(title: str, phase: Phase) -> None:
    st.title(title)
    st.write(phase.text)


_PAGES: dict[str, Callable[[int, Phase], None]] = {
    "consent": _show_consent,
    "declined": _show_declined,
    "instructions": _show_instructions,
    "check": _show_check,
    "practice": _show_trials,
    "trials": _show_trials,
    "break": _show_break,
    "finished": _show_finished,
    "full": _show_full,
    "expired": _show_expired,
    "withdrawn": _show_withdrawn,
}
