"""A server for tests of the trial loop: the routes, and one page with the component on it.

Run as `python -m tests.annotation_app.trial_page POINTER PORT`; the file POINTER holds the URL of the database.
"""

from __future__ import annotations

import logging
import os
import sys
from functools import cache
from pathlib import Path

import streamlit as st
import uvicorn

from annotation_app.api import api_routes
from annotation_app.payloads import StudyHooks, queue_state
from curation.database import Store, open_store

POINTER = "TRIAL_PAGE_POINTER"
SCRIPT = Path(__file__).with_name("trial_script.py")


def page_store() -> Store:
    """Return the database that the pointer names now."""
    return _store_at(Path(os.environ[POINTER]).read_text(encoding="utf-8"))


_store_at = cache(open_store)


def app() -> st.App:
    """Return the application; a practice trial is answered with a sentence."""
    hooks = StudyHooks(state=queue_state, feedback=lambda _store, _rater, _name: "That was right.")
    return st.App(SCRIPT, routes=api_routes(page_store, hooks))


if __name__ == "__main__":
    os.environ[POINTER] = sys.argv[1]
    logging.getLogger("uvicorn.access").disabled = True  # Streamlit sets its level anew
    uvicorn.run(app(), host="127.0.0.1", port=int(sys.argv[2]), log_level="error", access_log=False)
