from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from generation import shape_quality
from generation.shape_quality import SHAPE_QUALITY, measure_shape

Light = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]


def dark(side_px: int = 224) -> Light:
    return np.zeros((side_px, side_px), np.uint8)


def square(thickness: int = 1) -> tuple[Light, Mask]:
    """Return the outline of a square with corners at 50 and 149, and the square."""
    light, mask = dark(), np.zeros((224, 224), np.bool_)
    around = thickness // 2
    light[50 - around : 150 + around, 50 - around : 150 + around] = 255
    light[51 + around : 149 - around, 51 + around : 149 - around] = 0
    mask[50:150, 50:150] = True
    return light, mask


def test_lit_pixels_are_brighter_than_32() -> None:
    light = dark()
    light[0, :4] = (32, 33, 100, 255)
    assert shape_quality.lit_pixels(light).tolist() == [33, 100, 255]


@pytest.mark.parametrize(("row", "expected"), [(13, 1.0), (14, 0.0), (209, 0.0), (210, 1.0)])
def test_light_within_14_px_of_the_frame_is_cut(row: int, expected: float) -> None:
    light = dark()
    light[row, 100] = 200
    assert shape_quality.light_cut_share(light) == expected


def test_cut_scales_with_the_cue() -> None:
    light = dark(448)
    light[27, 200] = light[28, 200] = 100
    assert shape_quality.light_cut_share(light) == 0.5


def test_background_light_is_what_lies_beyond_reach() -> None:
    light, mask = dark(), square()[1]
    light[48, 100] = 30
    light[46, 100] = 10
    assert shape_quality.background_light_share(light, mask, reach_px=2.5) == pytest.approx(0.25)
    assert shape_quality.background_light_share(light, mask, reach_px=5) == 0


def test_complete_outline_closes_the_object() -> None:
    light, mask = square()
    assert shape_quality.outline_closed_share(light, mask, np.zeros_like(mask)) == 1


def test_open_outline_lets_the_outside_in() -> None:
    light, mask = square()
    light[80:100, 50] = 0
    assert shape_quality.outline_closed_share(light, mask, np.zeros_like(mask)) < 0.1


def test_gap_of_two_pixels_is_bridged() -> None:
    light, mask = square()
    light[80:82, 50] = 0
    assert shape_quality.outline_closed_share(light, mask, np.zeros_like(mask)) == 1


def test_frame_that_cuts_the_object_counts_as_closed() -> None:
    light, mask = square()
    frame_cut = np.zeros_like(mask)
    frame_cut[50:150, 50] = True
    light[50:150, 50] = 0
    assert shape_quality.outline_closed_share(light, mask, frame_cut) == 1


def test_components_are_counted_with_diagonal_neighbours() -> None:
    light = dark()
    light[10, 10] = light[11, 11] = light[20, 20] = 255
    assert shape_quality.n_components(light) == 2
    assert shape_quality.n_components(dark()) == 0


def test_length_of_a_straight_and_a_diagonal_line() -> None:
    lines = np.zeros((20, 20), np.bool_)
    lines[5, 3:14] = True
    assert shape_quality.line_lengths(lines).sum() == pytest.approx(10)
    assert shape_quality.line_lengths(np.eye(11, dtype=np.bool_)).sum() == pytest.approx(10 * np.sqrt(2))
    assert shape_quality.line_lengths(np.eye(11, dtype=np.bool_)[::-1]).sum() == pytest.approx(
        10 * np.sqrt(2)
    )


def test_corner_is_not_cut_short_by_its_diagonal() -> None:
    lines = np.zeros((9, 9), np.bool_)
    lines[4, :5] = lines[4:, 4] = True
    assert shape_quality.line_lengths(lines).sum() == pytest.approx(8)


@pytest.mark.parametrize("width", [3, 5])
def test_stroke_width_of_a_square_is_the_one_drawn(width: int) -> None:
    light = square(width)[0]
    lines = shape_quality.centre_lines(light)
    assert shape_quality.stroke_px(light, lines) == pytest.approx(width, rel=0.05)
    assert shape_quality.stroke_cv(light, lines) < 0.1


def test_uneven_strokes_vary() -> None:
    light = dark()
    light[60, 20:200] = light[158:163, 20:200] = 255
    assert shape_quality.stroke_cv(light, shape_quality.centre_lines(light)) > 0.5


def test_clutter_is_the_light_of_the_busiest_windows() -> None:
    mask = np.ones((224, 224), np.bool_)
    light = dark()
    assert shape_quality.clutter(light, mask) == 0
    light[:, ::2] = 255
    assert shape_quality.clutter(light, mask) == pytest.approx(0.5, abs=0.05)


def test_edge_share_counts_light_on_the_object_only() -> None:
    light, mask = square()
    light[0] = 255
    assert shape_quality.edge_share(light, mask) == pytest.approx(396 / 10_000)


def dashes(length: int) -> Light:
    """Return the outline of the square and in it 9 rows of 5 dashes."""
    light = square()[0]
    for row in range(58, 146, 10):
        for column in range(56, 136, 18):
            light[row, column : column + length] = 255
    return light


def test_short_pieces_are_fragments_of_texture() -> None:
    outline, mask = square()
    assert shape_quality.fragment_share(outline, mask) == 0
    assert shape_quality.fragment_share(dashes(4), mask) == pytest.approx(180 / (180 + 396))
    assert shape_quality.fragment_share(dashes(9), mask) == 0
    assert shape_quality.fragment_share(dark(), mask) == 0


def word(text: str, gap_px: int = 6) -> Light:
    light = dark()
    for place, letter in enumerate(text):
        cv2.putText(light, letter, (30 + place * (9 + gap_px), 120), cv2.FONT_HERSHEY_PLAIN, 1.0, 255)
    return light


def test_letters_between_two_others_are_text_like() -> None:
    assert shape_quality.text_like(word("CAMERA")) == 4
    assert shape_quality.text_like(word("CAMERA", gap_px=24)) == 0
    assert shape_quality.text_like(cv2.rotate(word("CAMERA"), cv2.ROTATE_90_CLOCKWISE).astype(np.uint8)) == 4


@pytest.mark.parametrize("n_marks", [0, 1, 2, 12])
def test_marks_of_a_dial_are_not_text_like(n_marks: int) -> None:
    light = cv2.circle(dark(), (112, 112), 90, 255)
    for angle in np.arange(n_marks) * 2 * np.pi / 12:
        x, y = np.cos(angle), np.sin(angle)
        inner, outer = ((round(112 + radius * x), round(112 + radius * y)) for radius in (70, 82))
        cv2.line(light, inner, outer, 255)
    assert shape_quality.text_like(np.asarray(light, np.uint8)) == 0


def test_pieces_of_unlike_size_are_not_text_like() -> None:
    light = dark()
    light[100:103, 100:103] = light[100:110, 108:118] = light[100:103, 124:127] = 255
    assert shape_quality.text_like(light) == 0


def test_darkness_has_numbers_too() -> None:
    empty = np.zeros((224, 224), np.bool_)
    quality = measure_shape(dark(), empty, empty, reach_px=2.0, style="outline")
    assert set(quality) == set(SHAPE_QUALITY) - {"border_contact_share", "upsample_factor"}
    assert set(quality.values()) == {0.0}
