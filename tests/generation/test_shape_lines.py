from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from generation.shape_lines import Curve, smooth, split_where, trace_lines, trace_outline


def circle(radius: float, n: int) -> npt.NDArray[np.float64]:
    angles = np.arange(n) * 2 * np.pi / n
    return np.column_stack([50 + radius * np.cos(angles), 50 + radius * np.sin(angles)])


def drawing(*pixels: tuple[int, int]) -> npt.NDArray[np.bool_]:
    lines = np.zeros((30, 30), np.bool_)
    lines[tuple(np.array(pixels).T)] = True
    return lines


def test_outline_of_a_square_lies_between_the_pixels() -> None:
    coverage = np.zeros((40, 40), np.float32)
    coverage[10:30, 12:28] = 1
    (outline,) = trace_outline(coverage, sigma_px=0.0, min_extent_px=1)
    assert outline.closed
    assert outline.points.min(axis=0) == pytest.approx([11.5, 9.5])
    assert outline.points.max(axis=0) == pytest.approx([27.5, 29.5])


def test_specks_have_no_outline() -> None:
    coverage = np.zeros((40, 40), np.float32)
    coverage[10, 10] = coverage[20:30, 20:30] = 1
    assert len(trace_outline(coverage, 1.0, min_extent_px=5)) == 1


def test_smoothing_keeps_the_ends_of_an_open_curve_and_straightens_it() -> None:
    zigzag = np.column_stack([np.arange(40.0), np.arange(40) % 2])
    (curve,) = smooth([Curve(zigzag, closed=False)], 3.0)
    assert curve.points[[0, -1]].tolist() == zigzag[[0, -1]].tolist()
    assert np.ptp(curve.points[10:-10, 1]) < 0.01


def test_smoothing_a_circle_leaves_a_circle() -> None:
    (curve,) = smooth([Curve(circle(30, 188), closed=True)], 2.0)
    assert np.hypot(*(curve.points - 50).T) == pytest.approx(30, abs=0.1)


def test_curves_are_smoothed_apart_from_each_other() -> None:
    curves = [Curve(circle(20, 120), closed=True), Curve(np.array([[0.0, 0.0], [1.0, 0.0]]), closed=False)]
    together = smooth(curves, 2.0)
    for curve, alone in zip(together, [smooth([curve], 2.0)[0] for curve in curves], strict=True):
        assert np.array_equal(curve.points, alone.points)


def test_split_leaves_the_visible_pieces() -> None:
    curve = Curve(circle(30, 100), closed=True)
    hidden = np.zeros(100, np.bool_)
    assert split_where(curve, hidden) == [curve]
    hidden[40:50] = hidden[90:] = True
    pieces = split_where(curve, hidden)
    assert sorted(len(piece.points) for piece in pieces) == [40, 40]
    assert not any(piece.closed for piece in pieces)
    assert split_where(curve, np.ones(100, np.bool_)) == []


def test_line_is_traced_from_end_to_end() -> None:
    (arc,) = trace_lines(drawing(*((5, x) for x in range(3, 20))), sigma_px=0.0, max_spur_px=2)
    assert not arc.closed
    assert sorted(arc.points[:, 0]) == list(range(3, 20))
    assert set(arc.points[:, 1]) == {5}


def test_closed_line_is_traced_once() -> None:
    diamond = [(10 + abs(k - 5), 5 + k) for k in range(11)] + [(20 - abs(k - 5), 5 + k) for k in range(1, 10)]
    (arc,) = trace_lines(drawing(*diamond), sigma_px=0.0, max_spur_px=2)
    assert arc.closed
    assert len(arc.points) == len(set(diamond))


def test_arcs_meet_at_their_junction() -> None:
    star = [(15, x) for x in range(5, 16)] + [(15 - k, 15 + k) for k in range(1, 9)]
    star += [(15 + k, 15 + k) for k in range(1, 9)]
    arcs = trace_lines(drawing(*star), sigma_px=0.0, max_spur_px=2)
    assert len(arcs) == 3
    ends = np.array([arc.points[end] for arc in arcs for end in (0, -1)])
    assert (np.abs(ends - 15).max(axis=1) <= 1).sum() == 3


def test_spurs_and_dots_are_left_out() -> None:
    lines = drawing(*((15, x) for x in range(5, 25)), (14, 15), (13, 15), (25, 25))
    arcs = trace_lines(lines, sigma_px=0.0, max_spur_px=4)
    assert all((arc.points[:, 1] >= 14).all() and (arc.points[:, 1] <= 16).all() for arc in arcs)


def test_no_lines_give_no_arcs() -> None:
    assert trace_lines(np.zeros((9, 9), np.bool_), sigma_px=1.0, max_spur_px=2) == []
