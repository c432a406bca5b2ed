"""Where the tests find the real data, which is not part of the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

needs_shared_data = pytest.mark.skipif(
    not SHARED_DATA.is_dir(), reason=f"the real photographs and cues are not at {SHARED_DATA}"
)
