"""The trial loop as a Streamlit component: one picture, keys, a clock, and an outbox that loses nothing.

The browser's half lies in the folder `trial`: plain ES modules that talk to the routes of `annotation_app.api`.
Streamlit only mounts them, so a page that runs again repaints nothing and costs no answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import streamlit as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from annotation_app.keymap import KEYMAPS, OPTION_KEYS, check_keymap
from annotation_app.trial_assets import ASSET_ROUTE, FOLDER, version
from data_manifests.errors import ProblemsError

Mode = Literal["review", "study", "practice", "mask"]


class Exposure(BaseModel):
    """How long a picture is shown: until the answer, or in `brief` for a counted number of frames, times in ms."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Literal["unlimited", "brief"] = "unlimited"
    fixation_ms: int = Field(500, ge=0, le=10_000)
    stimulus_ms: int = Field(200, ge=1, le=60_000)
    mask_ms: int = Field(200, ge=0, le=10_000)
    response_ms: int = Field(0, ge=0, le=600_000, description="0: as long as it takes")


class TrialSettings(BaseModel):
    """What a page may set of the trial loop.

    Attributes
    ----------
    keymap : action -> key or keys, where they differ from the defaults
    picture_px : the side at which a participant sees a picture, in CSS px; less only where the window leaves less
        (flag `small_window`). A reviewer sees it half as large again where there is room
    too_fast_ms : sooner after the onset, a study takes no answer; a review takes it, with the flag `too_fast`
    grid : whether a reviewer may judge many pictures at once (not where agreement is measured)
    grid_size : how many
    prompt : the question above the options of a study
    option_labels : option -> what the button says, where it isn't the option itself
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    keymap: dict[str, str | list[str]] = {}
    picture_px: int = Field(448, ge=32, le=2048)
    too_fast_ms: int = Field(150, ge=0, le=10_000)
    grid: bool = True
    grid_size: int = Field(18, ge=12, le=24)
    prompt: str = "What do you see?"
    option_labels: dict[str, str] = {}
    exposure: Exposure = Exposure()
    api_root: str = "/api"


def check_settings(mode: Mode, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the trial loop, checked and complete, as the browser gets them.

    Raises
    ------
    ProblemsError
        If a setting is unknown or out of range.
    CuebenchError
        If the keymap clashes.
    """
    try:
        checked = TrialSettings.model_validate(settings)
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise ProblemsError("settings of the trial", problems) from error
    keymap = check_keymap(mode, checked.keymap)
    return {**checked.model_dump(), "keymap": keymap, "option_keys": OPTION_KEYS}


def _boot() -> str:
    """Return the module that Streamlit loads: it fetches the others, which import each other, from our own route."""
    path = ASSET_ROUTE.format(version=version(), name="main.js").removeprefix("/api")
    return (
        "const loaded = new Map();\n"
        "export default function (component) {\n"
        f'  const url = new URL(component.data.settings.api_root + "{path}", document.baseURI).href;\n'
        "  if (!loaded.has(url)) loaded.set(url, import(url));\n"
        "  return loaded.get(url).then((module) => module.mount(component));\n"
        "}\n"
    )


for _mode in KEYMAPS:
    check_keymap(_mode, {})  # a clash of the defaults stops the application when it starts

_component = st.components.v2.component(
    "cuebench_trial",
    html=(FOLDER / "trial.html").read_text(encoding="utf-8"),
    css=(FOLDER / "trial.css").read_text(encoding="utf-8"),
    js=_boot(),
)


def trial(*, session_id: str, mode: Mode, settings: Mapping[str, Any], key: str) -> str | None:
    """Mount the trial loop of a tab; return why the page should run again, or None while there is work.

    Parameters
    ----------
    session_id : the tab, as `open_session` registered it
    mode : what is asked: a verdict, an option (`study`, `practice`), or a mask
    settings : fields of `TrialSettings`
    key : names the component on the page; another key starts it anew

    Returns
    -------
    `finished` (nothing is left, everything is stored), `block` (the next task belongs to another block), `phase` (a
    study's phase changed), `closed` (the campaign takes no answers), `superseded` (a newer tab goes on), or None
    """
    data = {"session_id": session_id, "mode": mode, "settings": check_settings(mode, settings)}
    result = _component(key=key, data=data, on_outcome_change=_pass)
    outcome = result.get("outcome")
    return outcome["reason"] if isinstance(outcome, dict) else None


def _pass() -> None:
    """Do nothing: that there is a callback is what makes Streamlit report the outcome."""
