from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from data_manifests.errors import CuebenchError
from evaluation import ranks as ranks_module
from evaluation.ranks import TIE_RULES, TieRule, chance_reciprocal_rank, harmonic, rank_rows
from tests.repository import ROOT


def ranks_by_sorting(logits: np.ndarray, columns: list[int]) -> list[int]:
    """Return the rank of the best member by sorting, every tie lost: the slow way."""
    found = []
    for row in logits:
        best = max(row[column] for column in columns)
        others = [value for column, value in enumerate(row) if column not in columns]
        found.append(1 + sum(value >= best for value in others))
    return found


def test_the_worked_example_of_the_paper() -> None:
    logits = np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
    found = rank_rows(logits, ["a", "b", "c"], {"a": [0], "b": [1], "c": [2]})
    assert found.pessimistic.tolist() == [1, 2, 3]
    assert round(float(found.reciprocal.mean()), 4) == 0.6111


def test_other_members_of_the_superclass_do_not_count_against_it() -> None:
    found = rank_rows(np.array([[5.0, 9.0, 7.0, 1.0]]), ["a"], {"a": [0, 1, 2]})
    assert found.pessimistic.tolist() == [1]
    assert rank_rows(np.array([[5.0, 4.0, 5.0]]), ["a"], {"a": [0, 2]}).ties.tolist() == [0]


@pytest.mark.parametrize(
    ("rule", "expected"), [("pessimistic", 1 / 1000), ("expected", 0.0074855), ("optimistic", 1.0)]
)
def test_constant_logits_give_what_the_tie_rule_says(rule: TieRule, expected: float) -> None:
    found = rank_rows(np.zeros((2, 1000), np.float32), ["a", "a"], {"a": [604]}, rule)
    assert found.reciprocal == pytest.approx([expected] * 2, abs=5e-8)
    assert found.ties.tolist() == [999, 999]


def test_the_published_order_is_that_of_its_code() -> None:
    rng = np.random.default_rng(0)
    logits = rng.integers(0, 4, (50, 30)).astype(np.float32)
    found = rank_rows(logits, ["a"] * 50, {"a": [3, 17]}, "published")
    for row, reciprocal in zip(logits, found.reciprocal, strict=True):
        order = np.flip(np.argsort(row)).tolist()
        assert reciprocal == pytest.approx(1 / (1 + min(order.index(3), order.index(17))))


@given(
    hnp.arrays(
        np.float32, st.tuples(st.integers(1, 8), st.integers(4, 12)), elements=st.integers(-3, 3).map(float)
    ),
    st.sets(st.integers(0, 3), min_size=1),
)
def test_ranks_are_those_of_sorting(logits: np.ndarray, columns: set[int]) -> None:
    own = sorted(columns)
    found = rank_rows(logits, ["a"] * len(logits), {"a": own})
    assert found.pessimistic.tolist() == ranks_by_sorting(logits, own)


@given(hnp.arrays(np.float64, (5, 7), elements=st.integers(-2, 2).map(float)))
def test_tie_rules_are_ordered_and_the_expected_one_is_the_mean_over_places(logits: np.ndarray) -> None:
    by_rule = {rule: rank_rows(logits, ["a"] * 5, {"a": [2]}, rule) for rule in TIE_RULES}
    assert (by_rule["pessimistic"].reciprocal <= by_rule["expected"].reciprocal + 1e-12).all()
    assert (by_rule["expected"].reciprocal <= by_rule["optimistic"].reciprocal + 1e-12).all()
    for above, ties, value in zip(
        by_rule["expected"].above, by_rule["expected"].ties, by_rule["expected"].reciprocal, strict=True
    ):
        assert value == pytest.approx(np.mean([1 / (above + place) for place in range(1, ties + 2)]))


@given(hnp.arrays(np.float64, (4, 6), elements=st.floats(-5, 5)))
def test_a_monotone_change_of_the_logits_changes_no_rank(logits: np.ndarray) -> None:
    before = rank_rows(logits, ["a"] * 4, {"a": [1, 4]})
    after = rank_rows(logits * 4.0, ["a"] * 4, {"a": [1, 4]})  # exact in binary: no tie comes or goes
    assert (before.pessimistic == after.pessimistic).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_refused_by_its_row(value: float) -> None:
    logits = np.zeros((5, 3), np.float32)
    logits[3, 1] = value
    with pytest.raises(CuebenchError, match="logits: row 3 holds a value that is not finite"):
        rank_rows(logits, ["a"] * 5, {"a": [0]})


def test_the_row_is_named_in_a_later_chunk_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks_module, "CHUNK_BYTES", 24)
    logits = np.zeros((9, 3), np.float32)
    logits[7, 0] = np.nan
    with pytest.raises(CuebenchError, match="row 7 holds"):
        rank_rows(logits, ["a"] * 9, {"a": [0]})


def test_chunks_and_memory_maps_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logits = np.random.default_rng(1).normal(size=(101, 40)).astype(np.float32)
    names = ["a" if row % 3 else "b" for row in range(101)]
    members = {"a": [1, 2], "b": [30]}
    whole = rank_rows(logits, names, members)
    np.save(tmp_path / "logits.npy", logits)
    monkeypatch.setattr(ranks_module, "CHUNK_BYTES", 1000)
    mapped = rank_rows(np.load(tmp_path / "logits.npy", mmap_mode="r"), names, members)
    assert (whole.reciprocal == mapped.reciprocal).all()


def test_a_file_of_gigabytes_is_ranked_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "logits.f32"
    n_rows = 250_000
    with path.open("wb") as stream:  # sparse: a gigabyte that takes no room
        stream.truncate(n_rows * 1000 * 4)
    program = f"""
import resource, numpy as np
from evaluation.ranks import rank_rows
logits = np.memmap({str(path)!r}, np.float32, "r", shape=({n_rows}, 1000))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert (rank_rows(logits, ["a"] * {n_rows}, {{"a": [5]}}).ties == 999).all()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout) * unit < 300e6


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(CuebenchError, match=r"logits: expected \(N, K\) of floats, got \(2, 3\) of int64"):
        rank_rows(np.zeros((2, 3), np.int64), ["a", "a"], {"a": [0]})
    with pytest.raises(CuebenchError, match="superclass: expected one for each of the 2 rows, got 1"):
        rank_rows(np.zeros((2, 3)), ["a"], {"a": [0]})
    with pytest.raises(
        CuebenchError, match="superclass b: it has no label in this label space; those that have: a"
    ):
        rank_rows(np.zeros((1, 3)), ["b"], {"a": [0]})


@pytest.mark.parametrize(
    ("n_labels", "n_members", "expected"),
    [
        (1000, 1, 0.007485),
        (1000, 2, 0.012984),
        (1000, 3, 0.017992),
        (21841, 1, 0.000484),
        (21841, 2, 0.000876),
        (21841, 3, 0.001246),
        (20, 1, 0.180),
        (20, 2, 0.273),
        (20, 3, 0.350),
    ],
)
def test_chance_is_as_published(n_labels: int, n_members: int, expected: float) -> None:
    digits = 6 if n_labels > 20 else 3
    assert round(chance_reciprocal_rank(n_labels, n_members), digits) == expected


def test_chance_is_what_random_logits_give() -> None:
    logits = np.random.default_rng(0).normal(size=(40_000, 20)).astype(np.float32)
    found = rank_rows(logits, ["a"] * 40_000, {"a": [0, 7, 9]})
    assert found.reciprocal.mean() == pytest.approx(chance_reciprocal_rank(20, 3), abs=0.005)


def test_chance_of_more_members_than_labels_is_refused() -> None:
    with pytest.raises(CuebenchError, match="expected 1 to 3 labels of the superclass, got 4"):
        chance_reciprocal_rank(3, 4)


def test_harmonic_numbers() -> None:
    assert harmonic(4).tolist() == pytest.approx([0, 1, 1.5, 11 / 6, 25 / 12])


def test_the_nearest_superclass_is_named() -> None:
    with pytest.raises(
        CuebenchError, match=r"superclass clok: .* label space \(did you mean `clock`\?\); those"
    ):
        rank_rows(np.zeros((1, 3)), ["clok"], {"clock": [0]})
    with pytest.raises(CuebenchError, match=r"those that have: none .are the ids of the columns WordNet ids"):
        rank_rows(np.zeros((1, 3)), ["clock"], {})
