"""What every test shares: one OpenCV thread, and the rules for tests that need more than the environment."""

from __future__ import annotations

import os
from pathlib import Path

import cv2
import pytest

from tests.lanes import (
    pytest_make_collect_report,
    pytest_report_header,
    pytest_runtest_makereport,
    pytest_runtest_setup,
)

__all__ = [
    "pytest_make_collect_report",
    "pytest_report_header",
    "pytest_runtest_makereport",
    "pytest_runtest_setup",
]


MEMORY = Path("/dev/shm")  # noqa: S108


def pytest_configure() -> None:
    """Put the tests' databases into memory where that is possible: every commit waits for the disk otherwise."""
    if MEMORY.is_dir() and os.access(MEMORY, os.W_OK):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.fixture(scope="session", autouse=True)
def _one_opencv_thread() -> None:
    """Keep OpenCV to one thread, as every worker of a run does."""
    cv2.setNumThreads(1)
