from __future__ import annotations

import io

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from data_manifests.errors import CuebenchError
from data_manifests.records import CueKind
from generation.masks import (
    Mask,
    MaskCandidate,
    MaskChoice,
    Probability,
    choose_mask,
    clean_mask,
    encode_mask,
    mask_parts,
    mask_sha256,
    propose_from,
    read_mask,
    score_mask,
)
from generation.outcome import Unavailable

SIDE = 200


def rectangles(*boxes: tuple[int, int, int, int], side: int = SIDE) -> Mask:
    """Return a mask of rectangles (left, top, right, bottom)."""
    mask = np.zeros((side, side), bool)
    for left, top, right, bottom in boxes:
        mask[top:bottom, left:right] = True
    return mask


def probability_of(mask: Mask, value: float = 1.0) -> Probability:
    return mask.astype(np.float32) * np.float32(value)


def candidate(
    area_share: float, segmenter: str = "grabcut", uncertainty: float | None = None
) -> MaskCandidate:
    mask = np.zeros((100, 100), bool)
    mask.flat[: round(area_share * mask.size)] = True
    scores = score_mask(mask)
    return MaskCandidate(
        mask, segmenter, scores if uncertainty is None else {**scores, "uncertainty": uncertainty}
    )


def chosen(candidates: list[MaskCandidate], cue_kind: CueKind = "shape") -> MaskChoice:
    choice = choose_mask(candidates, cue_kind)
    assert isinstance(choice, MaskChoice)
    return choice


def refused(candidates: list[MaskCandidate]) -> Unavailable:
    choice = choose_mask(candidates, "shape")
    assert isinstance(choice, Unavailable)
    return choice


def image_bytes(array: npt.NDArray[np.generic], kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, kind)
    return buffer.getvalue()


# --- cleaning ---


def test_a_speck_below_two_percent_of_the_object_goes_and_a_larger_part_stays() -> None:
    body = (20, 20, 120, 120)
    cleaned = clean_mask(probability_of(rectangles(body, (150, 150, 164, 164), (150, 20, 170, 40))))
    assert not cleaned[150:164, 150:164].any()
    assert cleaned[30, 160]
    assert score_mask(cleaned)["n_components"] == 2


def test_a_pinhole_is_filled_and_a_trigger_guard_stays_open() -> None:
    mask = rectangles((20, 20, 180, 180))
    mask[50:54, 50:54] = False
    mask[100:110, 100:110] = False
    cleaned = clean_mask(probability_of(mask))
    assert cleaned[50:54, 50:54].all()
    assert not cleaned[102:108, 102:108].any()


def test_an_outline_stays_within_a_pixel_of_a_disk_and_loses_its_jags() -> None:
    disk = cv2.circle(np.zeros((SIDE, SIDE), np.uint8), (100, 100), 60, 1, -1) > 0
    jagged = disk.copy()
    jagged[40:42, 99] = True
    cleaned = clean_mask(probability_of(jagged))
    near = cv2.dilate(disk.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    far = cv2.erode(disk.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    assert (cleaned <= near).all()
    assert (cleaned >= far).all()
    assert not cleaned[38:40, 99].any()


@pytest.mark.parametrize("value", [0.0, 0.5])
def test_nothing_above_one_half_is_no_mask(value: float) -> None:
    probability = np.full((64, 80), value, np.float32)
    assert not clean_mask(probability).any()
    assert propose_from(probability, "alpha") == []


def test_a_probability_of_one_everywhere_fills_the_frame() -> None:
    assert clean_mask(np.ones((64, 80), np.float32)).all()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), side=st.integers(8, 70))
def test_cleaning_gives_the_same_mask_twice_and_leaves_its_input(seed: int, side: int) -> None:
    random = np.random.Generator(np.random.PCG64(seed))
    probability = cv2.GaussianBlur(random.random((side, side + 3)), (0, 0), 2).astype(np.float32)
    before = probability.copy()
    first = clean_mask(probability)
    assert (first.dtype, first.shape) == (np.dtype(bool), probability.shape)
    assert np.array_equal(first, clean_mask(probability))
    assert np.array_equal(before, probability)


# --- scores ---


def test_scores_of_a_rectangle_on_the_frame_are_those_counted_by_hand() -> None:
    # 10 x 20 pixels, of which the left column lies on the frame: 20 of its 56 contour pixels.
    scores = score_mask(rectangles((0, 40, 10, 60), side=100))
    assert scores == {"area_share": 0.02, "n_components": 1.0, "border_share": pytest.approx(20 / 56)}


def test_uncertainty_is_the_unsure_pixels_over_those_of_the_object() -> None:
    probability = np.zeros((10, 10), np.float32)
    probability.flat[:20] = 0.95
    probability.flat[20:30] = 0.6
    probability.flat[30:40] = 0.2
    scores = score_mask(probability > 0.5, probability)
    assert scores["uncertainty"] == pytest.approx(20 / 30)
    assert scores["max_probability"] == pytest.approx(0.95)


def test_scores_of_an_empty_mask_are_finite() -> None:
    empty = np.zeros((10, 10), bool)
    scores = score_mask(empty, np.full((10, 10), 0.2, np.float32))
    assert scores == {
        "area_share": 0.0,
        "n_components": 0.0,
        "border_share": 0.0,
        "uncertainty": 100.0,
        "max_probability": pytest.approx(0.2),
    }


# --- candidates ---


def test_one_part_is_one_candidate() -> None:
    (only,) = propose_from(probability_of(rectangles((50, 50, 150, 150)), 0.8), "rembg:u2netp")
    assert only.segmenter == "rembg:u2netp"
    assert only.scores["max_probability"] == pytest.approx(0.8)


def test_several_parts_are_proposed_together_and_the_largest_alone() -> None:
    both, alone = propose_from(
        probability_of(rectangles((20, 20, 120, 120), (140, 140, 190, 190))), "rembg:u2netp"
    )
    assert (both.segmenter, alone.segmenter) == ("rembg:u2netp", "rembg:u2netp/largest")
    assert (both.scores["n_components"], alone.scores["n_components"]) == (2, 1)
    assert alone.mask[70, 70]
    assert not alone.mask[165, 165]


def test_of_two_parts_of_one_size_the_first_is_the_largest() -> None:
    _, alone = propose_from(probability_of(rectangles((20, 20, 80, 80), (120, 120, 180, 180))), "alpha")
    assert alone.scores["n_components"] == 1
    assert alone.mask[50, 50]


# --- the choice ---


def test_parts_come_largest_first_and_no_more_than_asked_for() -> None:
    small, large, middle = (10, 10, 20, 20), (50, 50, 120, 120), (150, 150, 180, 180)
    parts = mask_parts(rectangles(small, large, middle), 2)
    assert [int(part.sum()) for part in parts] == [70 * 70, 30 * 30]
    assert (parts[0] == rectangles(large)).all()
    assert mask_parts(np.zeros((9, 9), bool), 2) == []


def test_a_lower_threshold_takes_the_faint_parts_too() -> None:
    strong, faint = rectangles((20, 20, 100, 100)), rectangles((100, 20, 140, 100))
    map_ = probability_of(strong) + probability_of(faint, 0.4)
    assert clean_mask(map_, 0.25).sum() == pytest.approx(120 * 80, rel=0.02)
    assert clean_mask(map_).sum() == pytest.approx(80 * 80, rel=0.02)


def test_the_first_candidate_that_can_carry_a_cue_is_taken() -> None:
    choice = chosen([candidate(0.005, "alpha"), candidate(0.3), candidate(0.5, "rembg:u2netp")])
    assert (choice.segmenter, choice.reason) == ("grabcut", "first confident candidate of 3")
    assert choice.mask.mean() == pytest.approx(0.3)
    assert [score["segmenter"] for score in choice.scores] == ["alpha", "grabcut", "rembg:u2netp"]


@pytest.mark.parametrize("area_share", [0.01, 0.98])
def test_the_bounds_of_the_area_are_usable(area_share: float) -> None:
    assert chosen([candidate(area_share)]).reason == "first confident candidate of 1"


def test_a_confident_candidate_goes_before_an_uncertain_one() -> None:
    choice = chosen([candidate(0.3, "rembg:u2netp", 1.1), candidate(0.4)])
    assert (choice.segmenter, choice.reason) == ("grabcut", "first confident candidate of 2")


def test_uncertainty_of_one_is_still_confident() -> None:
    assert chosen([candidate(0.3, uncertainty=1.0)]).reason == "first confident candidate of 1"


def test_an_uncertain_candidate_is_taken_where_there_is_no_other_and_the_reason_says_so() -> None:
    choice = chosen([candidate(0.3, uncertainty=4.0)])
    assert (choice.segmenter, choice.reason) == ("grabcut", "first uncertain candidate of 1")
    assert choice.flags == ("mask_uncertain",)


@pytest.mark.parametrize(
    ("candidates", "reason"),
    [
        ([], "no object was found, so the texture is taken to fill the frame"),
        ([candidate(0.001)], "no object was found, so the texture is taken to fill the frame"),
        (
            [candidate(0.3, uncertainty=1.4)],
            "the segmenters are unsure, so the texture is taken to fill the frame",
        ),
    ],
)
def test_a_texture_without_a_confident_object_fills_the_frame(
    candidates: list[MaskCandidate], reason: str
) -> None:
    choice = chosen([*candidates, candidate(1.0, "fullframe")], "texture")
    assert (choice.segmenter, choice.reason) == ("fullframe", reason)
    assert choice.flags == ("mask_fallback",)
    assert choice.mask.all()


def test_a_frame_that_was_asked_for_alone_is_no_makeshift() -> None:
    choice = choose_mask([candidate(1.0, "fullframe")], "texture", only_frame=True)
    assert isinstance(choice, MaskChoice)
    assert choice.flags == ()
    assert choice.reason == "no other segmenter is named, so the texture is taken to fill the frame"
    assert choose_mask([candidate(1.0, "fullframe")], "shape", only_frame=True) == Unavailable(
        "full_frame", "only `fullframe` is named, which has no outline; name a segmenter"
    )


@pytest.mark.parametrize(("others", "flags"), [([0.4], ("masks_disagree",)), ([0.5], ()), ([0.4, 0.9], ())])
def test_an_object_that_no_other_segmenter_sees_is_flagged(
    others: list[float], flags: tuple[str, ...]
) -> None:
    # The masks lie in each other: their shares of the first one's area are their intersections over union.
    smaller = [candidate(0.8 * share, f"folder:{index}") for index, share in enumerate(others)]
    assert chosen([candidate(0.8), *smaller]).flags == flags


def test_a_confident_object_alone_has_no_flag() -> None:
    assert chosen([candidate(0.3)]).flags == ()


def test_a_texture_with_a_confident_object_is_the_objects() -> None:
    choice = chosen([candidate(0.3), candidate(1.0, "fullframe")], "texture")
    assert (choice.segmenter, choice.reason) == ("grabcut", "first confident candidate of 2")


def test_a_texture_fills_no_frame_that_no_segmenter_proposed() -> None:
    assert chosen([candidate(0.3, uncertainty=9.0)], "texture").segmenter == "grabcut"


@pytest.mark.parametrize("candidates", [[], [candidate(1.0, "fullframe")]])
def test_a_shape_without_an_object_has_no_mask(candidates: list[MaskCandidate]) -> None:
    assert refused(candidates) == Unavailable(
        "no_foreground", "no segmenter found an object; draw a mask or pick one by hand"
    )


def test_a_shape_that_fills_the_frame_has_no_outline() -> None:
    assert refused([candidate(0.002), candidate(0.99)]) == Unavailable(
        "full_frame", "the mask fills 99% of the frame: there is no outline"
    )


def test_a_mask_below_one_percent_is_as_good_as_empty() -> None:
    assert refused([candidate(0.002), candidate(0.006)]) == Unavailable(
        "mask_empty", "the largest mask holds 0.6% of the frame, 1 % is needed"
    )


def test_agreement_is_measured_with_other_segmenters_only() -> None:
    parts = [
        candidate(0.2, "rembg:u2netp"),
        candidate(0.2, "rembg:u2netp/largest"),
        candidate(0.4, "grabcut"),
        candidate(1.0, "fullframe"),
    ]
    agreement = [score.get("agreement") for score in chosen(parts).scores]
    assert agreement == [pytest.approx(0.5), pytest.approx(0.5), pytest.approx(0.5), None]


def test_a_lone_segmenter_agrees_with_nobody() -> None:
    assert "agreement" not in chosen([candidate(0.2), candidate(1.0, "fullframe")]).scores[0]


# --- files ---


def test_a_mask_survives_its_file_and_keeps_its_hash() -> None:
    mask = rectangles((20, 30, 90, 70))
    data = encode_mask(mask)
    again = read_mask(data)
    assert np.array_equal(mask, again)
    assert mask_sha256(mask) == mask_sha256(again) != mask_sha256(~mask)
    with Image.open(io.BytesIO(data)) as image:
        assert (image.mode, image.getextrema()) == ("L", (0, 255))


def test_soft_grey_is_cut_in_the_middle() -> None:
    levels = np.array([[0, 127, 128, 255]], np.uint8)
    assert read_mask(image_bytes(levels)).tolist() == [[False, False, True, True]]


def test_sixteen_bit_grey_is_cut_in_the_middle_of_its_own_range() -> None:
    levels = np.array([[0, 300, 32767, 32768, 65535]], np.uint16)
    for kind in ("PNG", "TIFF"):
        assert read_mask(image_bytes(levels, kind)).tolist() == [[False, False, False, True, True]]


def test_an_image_with_transparent_parts_is_read_by_them() -> None:
    alpha = np.array([[0, 127, 128, 255]], np.uint8)
    dark = np.dstack([np.zeros((1, 4, 3), np.uint8), alpha])
    assert read_mask(image_bytes(dark)).tolist() == [[False, False, True, True]]


def test_an_opaque_alpha_channel_does_not_make_the_whole_frame_a_mask() -> None:
    grey = np.array([[0, 255, 255, 0]], np.uint8)
    opaque = np.dstack([grey, grey, grey, np.full_like(grey, 255)])
    assert read_mask(image_bytes(opaque)).tolist() == [[False, True, True, False]]


def test_a_palette_and_one_bit_a_pixel_are_read_by_what_they_show() -> None:
    picture = Image.fromarray(np.array([[0, 255]], np.uint8))
    for mode in ("1", "P"):
        buffer = io.BytesIO()
        picture.convert(mode).save(buffer, "PNG")
        assert read_mask(buffer.getvalue()).tolist() == [[False, True]]


def test_a_mask_whose_white_is_unknown_is_refused() -> None:
    for array, mode in ((np.eye(4, dtype=np.float32), "F"), (np.eye(4, dtype=np.int32), "I")):
        with pytest.raises(
            CuebenchError, match=rf"^a mask with 32 bits a pixel \(mode {mode}\); save it as 8-bit"
        ):
            read_mask(image_bytes(array, "TIFF"))


@pytest.mark.parametrize("data", [b"", b"no image", encode_mask(rectangles((9, 9, 90, 90)))[:70]])
def test_bytes_that_are_no_image_are_no_mask(data: bytes) -> None:
    with pytest.raises(CuebenchError, match=r"^not a readable mask image \(.+\)$"):
        read_mask(data)


def test_a_damaged_mask_is_refused_or_read_but_never_trips() -> None:
    data = encode_mask(rectangles((10, 10, 30, 30), side=40))
    random = np.random.Generator(np.random.PCG64(0))
    outcomes = set()
    for _ in range(1500):
        damaged = bytearray(data)
        for place in random.integers(len(data), size=3):
            damaged[place] = random.integers(256)
        try:
            read_mask(bytes(damaged))
        except CuebenchError as error:
            outcomes.add(str(error).partition(" (")[0])
    assert outcomes == {"not a readable mask image"}


def test_a_mask_too_large_to_decode_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(CuebenchError, match="decompression bomb"):
        read_mask(encode_mask(rectangles((1, 1, 9, 9), side=40)))
