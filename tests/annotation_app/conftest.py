"""What the tests of the app share."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _main_module() -> Iterator[None]:
    """Put the main module back: Streamlit's AppTest replaces it, and a process spawned later would run the page."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main
