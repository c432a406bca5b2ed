"""What every test shares: one OpenCV thread, and the rules for tests that need more than the environment."""

from __future__ import annotations

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


@pytest.fixture(scope="session", autouse=True)
def _one_opencv_thread() -> None:
    """Keep OpenCV to one thread, as every worker of a run does."""
    cv2.setNumThreads(1)
