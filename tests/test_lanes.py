from __future__ import annotations

from pathlib import Path

import pytest

from tests import lanes

ONE_OF_EACH = """
    import pytest

    def test_passes(): pass

    @pytest.mark.skip(reason="no such thing here")
    def test_skipped(): pass

    @pytest.mark.xfail(strict=True)
    def test_known_failure(): assert False
"""


def run(pytester: pytest.Pytester) -> pytest.RunResult:
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", plugins=[lanes])


def test_a_skip_stays_a_skip_outside_of_a_lane(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(lanes.NO_SKIP, raising=False)
    pytester.makepyfile(ONE_OF_EACH)
    run(pytester).assert_outcomes(passed=1, skipped=1, xfailed=1)


def test_a_skip_fails_in_a_lane_and_says_why(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(lanes.NO_SKIP, "1")
    pytester.makepyfile(ONE_OF_EACH)
    result = run(pytester)
    result.assert_outcomes(passed=1, errors=1, xfailed=1)
    result.stdout.fnmatch_lines(["*::test_skipped: CUEBENCH_NO_SKIP is set*no such thing here*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_a_module_that_skips_itself_fails_in_a_lane(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(lanes.NO_SKIP, "1")
    pytester.makepyfile("import pytest; pytest.skip('not on this machine', allow_module_level=True)")
    result = run(pytester)
    result.stdout.fnmatch_lines(["*CUEBENCH_NO_SKIP is set*not on this machine*"])
    assert result.ret == pytest.ExitCode.INTERRUPTED


@pytest.mark.parametrize("marker", ["u2netp", "sam", "classifier", "loaders", "browser", "postgres"])
def test_a_marked_test_is_skipped_with_the_reason_where_its_need_is_absent(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, marker: str
) -> None:
    monkeypatch.delenv(lanes.NO_SKIP, raising=False)
    monkeypatch.delenv("U2NET_HOME", raising=False)
    monkeypatch.setenv("REMBG_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(lanes, "find_spec", lambda _: None)
    pytester.makeini(f"[pytest]\nmarkers =\n    {marker}")
    pytester.makepyfile(f"import pytest\n\n@pytest.mark.{marker}\ndef test_marked(): pass")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-rs", plugins=[lanes])
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines([f"cannot test {marker}: *", "SKIPPED*"])


def test_a_model_in_the_home_of_rembg_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("U2NET_HOME", raising=False)
    monkeypatch.setenv("REMBG_HOME", str(tmp_path))
    assert "cuebench models fetch u2netp" in str(lanes.MISSING["u2netp"]())
    path = tmp_path / "models" / "u2netp" / "u2netp.onnx"
    path.parent.mkdir(parents=True)
    path.touch()
    assert lanes.MISSING["u2netp"]() is None
