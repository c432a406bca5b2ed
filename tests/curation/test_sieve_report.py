from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from curation.sieve_calibration import measure_calibration
from curation.sieve_cut import find_savings
from curation.sieve_model import Chances
from curation.sieve_report import Comparison, SieveReport, write_figure
from data_manifests.errors import CuebenchError


def report(judged: list[float], accepted: list[float], waiting: list[float]) -> SieveReport:
    """Return the report on cues of a photograph each, whose chances are given."""
    chances = Chances(
        np.array(judged),
        np.array(accepted),
        np.arange(len(judged)),
        np.array(waiting),
        np.arange(len(waiting)) + len(judged),
    )
    return SieveReport(
        slug="first",
        n_judged=len(judged),
        n_accepted=round(sum(accepted)),
        n_waiting=len(waiting),
        proposals=(),
        calibration=measure_calibration(chances.judged, chances.accepted, chances.judged_photograph),
        savings=find_savings(chances, 0.05),
        comparisons=(Comparison("one chance for all", 0.5, 0.0),),
        moved={"bo": 2, "ada": 1},
    )


def sure() -> SieveReport:
    return report([0.99] * 100 + [0.1] * 20, [1.0] * 100 + [0.0] * 20, [0.99, 0.99, 0.99, 0.5])


def test_the_report_says_what_is_saved_and_how_sure_it_is() -> None:
    lines = sure().to_text().splitlines()
    assert lines[0] == "review first: 120 cues judged (100 accepted, 20 not), 4 wait for a first verdict"
    assert "Brier score 0.002 (0 is perfect; one chance for all has 0.139)" in lines
    assert any(line.startswith("AUC 1.00 (1.00 to 1.00): ") for line in lines)
    place = next(number for number, line in enumerate(lines) if line.startswith("proposals for the waiting"))
    head, accept, reject, saved, other = lines[place : place + 5]
    assert head.endswith(
        "at a miss rate of at most 0.05: the share of proposals that people would answer the other way (95% sure, for "
        "each kind of proposal by itself)"
    )
    assert accept == (
        "  accept: 3; of the 100 judged cues that would be proposed 0 are misses: 0.000 (0.000 to 0.036), at most 0.030"
    )
    assert reject == "  reject: none, for that can't be claimed yet; it takes 59 judged cues without a miss"
    assert saved.startswith("3 of the 4 waiting cues would need no look: 75% (")
    assert other == "  with one chance for all: 0% (AUC 0.50)"
    assert lines[-3:] == [
        "these are proposals: only people accept or reject a cue",
        "queue of ada: 1 pictures moved",
        "queue of bo: 2 pictures moved",
    ]


def test_chances_that_tell_nothing_are_called_so() -> None:
    useless = report([0.9] * 50 + [0.1] * 50, [1.0, 0.0] * 50, [0.9])
    warning = "the chances tell no more than one chance for all: do not go by the proposals"
    assert warning in useless.to_text()
    assert warning not in sure().to_text()


def test_json_holds_what_the_text_says() -> None:
    found = sure().to_json()
    assert found["ordered_by"] == "verdicts"
    savings = found["savings"]
    assert isinstance(savings, dict)
    assert (savings["n_saved"], savings["saved_share"], savings["reject"]) == (3, 0.75, None)
    assert savings["accept"]["n_proposed"] == 100
    assert "proposals" not in found


def test_the_same_report_is_the_same_picture(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        write_figure(str(tmp_path / name), sure())
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert b"<svg" in (tmp_path / "a.svg").read_bytes()[:400]


def test_a_picture_of_another_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CuebenchError, match=r"a.gif: a figure is a .png or a .svg file"):
        write_figure(str(tmp_path / "a.gif"), sure())
