from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from threadpoolctl import threadpool_limits

from curation.class_aware_candidates import find_candidates
from curation.class_aware_choice import NOT_SEEN, ClassChoice, Judged, choose_judged
from curation.class_aware_cues import ClassJudge, CueViewer
from curation.class_aware_masks import (
    MIN_TEXTURE_PX,
    choose_class_mask,
    find_class,
    judge_candidates,
    of_one_material,
    without_strangers,
)
from curation.class_aware_materials import material_masks
from curation.class_aware_pictures import GREY, SIDE_PX, cut_out, overlap, shown, widened, windows, without
from curation.class_aware_size import shrunk
from data_manifests.records import CueKind
from evaluation.models import Model, load_model, parse_spec
from generation.hashing import pixel_sha256
from generation.masks import Mask, MaskCandidate, MaskChoice, choose_mask, encode_mask, score_mask
from generation.outcome import Unavailable
from generation.photograph import Photograph
from generation.segmenters import segmenter_for
from tests.curation.colour_models import LABELS, REVOLVER, is_red

Image = npt.NDArray[np.uint8]

HEIGHT, WIDTH = 240, 320
MIN_SHARE = MIN_TEXTURE_PX / (HEIGHT * WIDTH)


def model() -> Model:
    return load_model(parse_spec("callable:tests.curation.colour_models:red_means_revolver"))


def judge() -> ClassJudge:
    return ClassJudge(model(), (LABELS.index(REVOLVER),))


def scene(*, red: bool = True) -> Image:
    """Return a large blue square, which stands out, and a small red one, on grey: (HEIGHT, WIDTH, 3) uint8."""
    image = np.full((HEIGHT, WIDTH, 3), 190, np.uint8)
    image[40:200, 30:180] = (20, 30, 160)
    if red:
        image[90:150, 230:290] = (200, 30, 30)
    return image


def photograph(image: Image) -> Photograph:
    return Photograph("revolver/0.png", image, None, pixel_sha256(image))


def draw(image: Image, mask: Mask) -> list[Image | None]:
    """Return a cue that shows what is under the mask, and none for a second grid."""
    return [cut_out(image, mask), None]


def chosen(image: Image, kind: CueKind = "shape", *names: str) -> ClassChoice:
    segmenters = [segmenter_for(name) for name in names or ("backdrop",)]
    found = choose_class_mask(judge(), segmenters, photograph(image), kind, draw)
    assert isinstance(found, ClassChoice)
    return found


def differs(found: ClassChoice) -> bool:
    return found.plain is None or not np.array_equal(found.plain, found.choice.mask)


def iou(one: Mask, other: Mask) -> float:
    return float((one & other).sum() / (one | other).sum())


# --- what a classifier is shown ---


@pytest.mark.parametrize(("height", "width"), [(240, 320), (500, 90), (64, 64), (30, 200)])
def test_windows_lie_within_the_photograph_and_cover_it(height: int, width: int) -> None:
    seen = np.zeros((height, width), bool)
    for left, top, right, bottom in windows(height, width):
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= height
        assert right - left == bottom - top
        seen[top:bottom, left:right] = True
    assert seen.all()
    assert len(windows(height, width)) == len(set(windows(height, width)))


def test_a_cut_out_shows_the_object_alone_in_the_middle() -> None:
    image = scene()
    picture = cut_out(image, is_red(image))
    assert picture.shape == (SIDE_PX, SIDE_PX, 3)
    red = is_red(picture)
    assert red[SIDE_PX // 2, SIDE_PX // 2]
    assert red.mean() == pytest.approx(1 / 1.3**2, abs=0.03)
    assert (picture[0] == GREY).all()


def test_what_is_left_of_a_photograph_does_not_show_the_object() -> None:
    image = scene()
    (left,) = without(image, is_red(image), [(200, 60, 320, 180)])
    assert not is_red(left).any()
    assert is_red(shown(image[60:180, 200:320])).any()


def test_boxes_overlap_by_their_shared_area_and_are_widened_within_the_photograph() -> None:
    assert overlap((0, 0, 10, 10), (5, 0, 15, 10)) == pytest.approx(50 / 150)
    assert overlap((0, 0, 10, 10), (10, 10, 20, 20)) == 0
    assert widened((10, 10, 30, 30), 2.0, 100, 35) == (0, 0, 35, 40)


def test_the_class_is_found_where_it_is() -> None:
    found = find_class(judge(), scene())
    box, probability = found.boxes[0]
    assert overlap(box, (230, 90, 290, 150)) > 0.2
    assert probability > 0.3
    assert found.frame_share < 0.1


def test_a_class_all_over_the_frame_is_seen_in_every_window() -> None:
    image = np.full((HEIGHT, WIDTH, 3), (200, 30, 30), np.uint8)
    image[::9] = 0
    assert find_class(judge(), image).frame_share > 0.9


# --- candidates ---


def test_parts_of_a_mask_are_candidates_of_their_own() -> None:
    found = find_candidates(photograph(scene()), [segmenter_for("backdrop")], [])
    names = [candidate.segmenter for candidate in (*found.plain, *found.more)]
    assert names[0] == "backdrop"
    assert {"backdrop/part0", "backdrop/part1"} <= set(names)
    red = next(c for c in found.more if c.segmenter == "backdrop/part1")
    assert iou(red.mask, is_red(scene())) > 0.85


class Red:
    """Finds what is red, but not in pictures as large as the scene: a network that sees small things in close-ups."""

    name = "grabcut"

    def propose(self, photograph: Photograph) -> list[MaskCandidate]:
        mask = is_red(photograph.image) & (photograph.image.shape[1] < WIDTH)
        return [MaskCandidate(mask, self.name, score_mask(mask))] if mask.any() else []


def close_ups(
    image: Image, box: tuple[int, int, int, int], monkeypatch: pytest.MonkeyPatch
) -> list[MaskCandidate]:
    monkeypatch.setattr("curation.class_aware_candidates.GrabCutSegmenter", Red)
    return list(find_candidates(photograph(image), [Red()], [box]).more)


def test_a_close_up_finds_what_the_whole_photograph_hides(monkeypatch: pytest.MonkeyPatch) -> None:
    image = scene()
    found = close_ups(image, (220, 80, 300, 160), monkeypatch)
    assert found[0].segmenter == "grabcut@box0"
    assert (found[0].mask == is_red(image)).all()
    assert found[0].scores["area_share"] == pytest.approx(is_red(image).mean())


def test_an_object_that_a_close_up_cuts_is_no_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    assert close_ups(scene(), (240, 100, 270, 130), monkeypatch) == []


def test_a_close_up_of_nearly_the_whole_photograph_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    assert close_ups(scene(), (0, 0, 310, 240), monkeypatch) == []


def test_a_hollow_mask_comes_closed_too() -> None:
    ring = np.zeros((200, 200), bool)
    ring[40:160, 40:160] = True
    ring[60:140, 60:140] = False

    class Ring:
        name = "ring"

        def propose(self, _: Photograph) -> list[MaskCandidate]:
            return [MaskCandidate(ring, self.name, score_mask(ring))]

    found = find_candidates(photograph(np.zeros((200, 200, 3), np.uint8)), [Ring()], [])
    by_name = {c.segmenter: c.mask for c in found.more}
    assert by_name["ring/closed"][50:150, 50:150].all()


# --- the choice ---


def test_the_pick_is_the_object_of_the_class_and_not_the_salient_one() -> None:
    image = scene()
    found = chosen(image, "shape", "grabcut", "backdrop")
    assert iou(found.choice.mask, is_red(image)) > 0.85
    assert differs(found)
    assert found.choice.flags == ()
    assert found.choice.reason.startswith("an object that shows the class better than the plain choice (0.0")


def test_the_plain_choice_stays_where_it_shows_the_class() -> None:
    image = np.full((HEIGHT, WIDTH, 3), 190, np.uint8)
    image[60:180, 90:230] = (200, 30, 30)
    found = chosen(image)
    assert not differs(found)
    assert found.choice.segmenter == "backdrop"
    assert found.choice.reason.startswith("the object of the plain choice, evidence 0.")
    assert found.evidence > 0.4


def test_a_photograph_that_does_not_show_the_class_keeps_the_plain_choice_and_is_flagged() -> None:
    found = chosen(scene(red=False))
    assert not differs(found)
    assert found.choice.flags == (NOT_SEEN,)
    assert found.choice.reason.endswith("; no candidate shows the class")


def test_no_plain_choice_and_no_class_is_no_mask() -> None:
    noise = np.random.Generator(np.random.PCG64(0)).integers(0, 100, (120, 120, 3)).astype(np.uint8)
    found = choose_class_mask(judge(), [segmenter_for("backdrop")], photograph(noise), "shape", draw)
    assert isinstance(found, Unavailable)
    assert found.status == "no_foreground"


def test_a_texture_that_fills_the_frame_takes_the_frame() -> None:
    image = np.full((HEIGHT, WIDTH, 3), (200, 30, 30), np.uint8)
    image[::9] = 0
    found = chosen(image, "texture", "backdrop", "fullframe")
    assert found.choice.segmenter == "fullframe"


def test_a_texture_on_a_small_object_does_not_take_the_frame() -> None:
    image = scene().repeat(2, axis=0).repeat(2, axis=1)
    found = chosen(image, "texture", "fullframe", "backdrop")
    assert iou(found.choice.mask, is_red(image)) > 0.85


def test_a_texture_is_not_taken_from_what_is_too_small_for_its_cells() -> None:
    assert not differs(chosen(scene(), "texture", "backdrop"))


def square(left: int, right: int) -> Mask:
    mask = np.zeros((100, 100), bool)
    mask[20:80, left:right] = True
    return mask


def judged(mask: Mask, name: str, probability: float, covered: float = 1.0) -> Judged:
    return Judged(MaskCandidate(mask, name, score_mask(mask)), probability, covered)


def plain_of(*found: Judged) -> MaskChoice | Unavailable:
    return choose_mask([each.candidate for each in found], "shape")


def taken(found: list[Judged], n_plain: int = 1, in_cues: Callable[[Mask], float] = lambda _: 0.5) -> str:
    choice = choose_judged(found, plain_of(*found[:n_plain]), "shape", in_cues)
    assert isinstance(choice, ClassChoice)
    return choice.choice.segmenter


def test_a_telling_part_does_not_replace_the_object_that_holds_it() -> None:
    whole = judged(square(10, 90), "whole", 0.3)
    lens = judged(square(40, 60), "lens", 0.9)
    elsewhere = judged(square(0, 9), "elsewhere", 0.9)
    assert taken([whole, lens]) == "whole"
    assert taken([whole, elsewhere]) == "elsewhere"


def test_of_the_masks_of_one_object_the_one_that_agrees_with_the_others_is_taken() -> None:
    with_shadow = judged(square(10, 90), "with-shadow", 0.7)
    one, other = judged(square(10, 62), "one", 0.6), judged(square(10, 60), "other", 0.6)
    half = judged(square(10, 40), "half", 0.5)
    assert taken([with_shadow, one, other, half]) in ("one", "other")


def test_of_the_masks_of_one_object_the_one_whose_cue_shows_the_class_is_taken() -> None:
    found = [judged(square(10, 62), "one", 0.6), judged(square(10, 60), "other", 0.6)]
    assert taken(found, in_cues=lambda mask: 0.9 if mask[50, 61] else 0.3) == "one"
    assert taken(found, in_cues=lambda mask: 0.3 if mask[50, 61] else 0.9) == "other"


def test_a_telling_part_does_not_win_by_its_cue_alone() -> None:
    found = [judged(square(10, 90), "whole", 0.9), judged(square(12, 90), "other", 0.8)]
    found.append(judged(square(45, 90), "lens", 0.9))
    assert taken(found, in_cues=lambda mask: 0.6 if mask[50, 20] else 0.9) == "whole"


def test_the_cue_of_another_object_is_not_asked_for() -> None:
    found = [judged(square(10, 50), "object", 0.9), judged(square(60, 90), "elsewhere", 0.8)]
    assert taken(found, in_cues=lambda mask: 0.9 if mask[50, 70] else 0.0) == "object"


def test_the_scores_say_what_was_seen_in_the_cues_of_which_masks() -> None:
    found = [judged(square(10, 50), "object", 0.9), judged(square(60, 90), "elsewhere", 0.8)]
    choice = choose_judged(found, plain_of(found[0]), "shape", lambda _: 0.25)
    assert isinstance(choice, ClassChoice)
    assert [row.get("cue_probability") for row in choice.choice.scores] == [0.25, None]


# --- cues ---


class Sees:
    """A network that is as sure of an object as the first pixel of the picture is light."""

    def probability(self, image: Image) -> npt.NDArray[np.float32]:
        map_ = np.zeros(image.shape[:2], np.float32)
        map_[: len(map_) // 2] = image[0, 0, 0] / 255
        return map_


def viewer(*cues: Image | None, finder: Sees | None = None) -> CueViewer:
    return CueViewer(judge(), scene(), lambda _: cues, finder)


def test_a_cue_that_can_not_be_had_counts_as_one_without_the_class() -> None:
    red = np.full((64, 64, 3), (200, 30, 30), np.uint8)
    view = viewer(red, None)
    mask = is_red(scene())
    alone = view.class_probability([red])
    assert alone == pytest.approx(float(judge().probabilities([red])[0]), abs=1e-6)
    assert view.class_probability(view.draw(mask)) == pytest.approx(alone / 2)
    assert view.class_probability([None, None]) == 0


def test_an_object_is_found_in_cues_where_the_network_is_sure_of_one() -> None:
    light, dark = np.full((64, 64, 3), 255, np.uint8), np.zeros((64, 64, 3), np.uint8)
    assert viewer(finder=Sees()).show_object([None, dark, light])
    assert not viewer(finder=Sees()).show_object([dark, None])
    assert not viewer(finder=None).show_object([light])


# --- materials ---


def two_materials(red_px: int = 70) -> tuple[Image, Mask]:
    """Return an object that is green and, on its right, red, on grey, and its mask."""
    image = np.full((HEIGHT, WIDTH, 3), 190, np.uint8)
    image[40:200, 30:270] = (30, 120, 30)
    image[40:200, 270 - red_px : 270] = (200, 30, 30)
    return image, (image != 190).any(2)


def test_the_materials_of_a_mask_are_what_differs_in_colour() -> None:
    image, mask = two_materials()
    found = {each.segmenter: each.mask for each in material_masks(image, mask, "m")}
    halves = [found["m/material1of2"], found["m/material2of2"]]
    assert max(iou(half, is_red(image)) for half in halves) > 0.9
    assert max(iou(half, mask & ~is_red(image)) for half in halves) > 0.8
    assert {"m/material3of3", "m/not3of3"} <= set(found)
    for part in found.values():
        assert not (part & ~mask).any()


def test_materials_are_the_same_every_time_and_none_come_of_a_few_pixels() -> None:
    image, mask = two_materials()
    one, other = ([each.mask for each in material_masks(image, mask, "m")] for _ in range(2))
    assert all((a == b).all() for a, b in zip(one, other, strict=True))
    small = np.zeros_like(mask)
    small[100:120, 100:120] = True
    assert list(material_masks(image, small, "m")) == []


def test_materials_do_not_depend_on_the_number_of_threads() -> None:
    rng = np.random.Generator(np.random.PCG64(5))  # of this picture threads gave other clusters
    coarse = rng.integers(0, 255, (12, 16, 3)).astype(np.float32)
    image = cv2.resize(coarse, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC).clip(0, 255).astype(np.uint8)
    found = []
    for n_threads in (1, 2, 4):
        with threadpool_limits(n_threads):
            masks = [each.mask for each in material_masks(image, np.ones((HEIGHT, WIDTH), bool), "m")]
            found.append(b"".join(mask.tobytes() for mask in masks))
    assert found[0] == found[1] == found[2]


def test_what_is_of_one_colour_is_one_material() -> None:
    image = np.full((HEIGHT, WIDTH, 3), (200, 30, 30), np.uint8)
    assert list(material_masks(image, np.ones((HEIGHT, WIDTH), bool), "m")) == []


def of_material(image: Image, mask: Mask, finder: Sees | None = None) -> ClassChoice:
    found = ClassChoice(MaskChoice(mask, "drawn", "because", ()), 0.5, None)
    view = CueViewer(judge(), image, partial(draw, image), finder)
    return of_one_material(view, found, find_class(judge(), image), MIN_SHARE)


def test_a_texture_is_taken_from_the_material_that_shows_the_class() -> None:
    image, mask = two_materials()
    found = of_material(image, mask)
    assert iou(found.choice.mask, is_red(image)) > 0.9
    assert found.choice.segmenter.startswith("drawn/")
    assert found.choice.reason.startswith("because; one material of it, its cues show the class with 0.")
    assert float(found.choice.scores[-1]["cue_probability"]) > 0


def test_the_whole_stays_where_no_material_shows_the_class_better() -> None:
    image = np.full((HEIGHT, WIDTH, 3), 190, np.uint8)
    image[40:200, 30:270] = (200, 30, 30)
    image[40:200:20, 30:270] = (150, 30, 30)
    found = of_material(image, (image != 190).any(2))
    assert found.choice.segmenter == "drawn"


def test_the_whole_stays_where_the_class_is_not_seen_at_all() -> None:
    image, mask = two_materials()
    image[is_red(image)] = (30, 30, 160)
    assert of_material(image, mask).choice.segmenter == "drawn"


def test_of_two_that_show_the_class_alike_the_purer_is_taken() -> None:
    image, mask = two_materials(140)
    view = CueViewer(judge(), image, partial(draw, image))
    assert view.class_probability(view.draw(is_red(image))) == pytest.approx(
        view.class_probability(view.draw(mask)), abs=0.01
    )
    assert iou(of_material(image, mask).choice.mask, is_red(image)) > 0.9


def test_an_object_too_small_for_materials_stays() -> None:
    image, mask = two_materials()
    mask[:, 80:] = False
    mask[100:] = False
    assert (of_material(image, mask).choice.mask == mask).all()


def test_a_material_that_gives_fewer_cues_is_taken_only_if_all_others_show_an_object() -> None:
    image, mask = two_materials(100)

    def draw_large(mask: Mask) -> list[Image | None]:
        return [cut_out(image, mask), cut_out(image, mask) if mask.sum() > 30000 else None]

    class SeesGreen(Sees):
        def probability(self, image: Image) -> npt.NDArray[np.float32]:
            map_ = np.zeros(image.shape[:2], np.float32)
            map_[:99] = (image[..., 1] == 120).mean() > 0.1
            return map_

    found = ClassChoice(MaskChoice(mask, "drawn", "because", ()), 0.5, None)
    sighting = find_class(judge(), image)
    for finder, expected in ((None, mask), (SeesGreen(), is_red(image))):
        view = CueViewer(judge(), image, draw_large, finder)
        assert iou(of_one_material(view, found, sighting, MIN_SHARE).choice.mask, expected) > 0.9


def test_a_material_whose_cues_show_an_object_is_not_taken() -> None:
    image, mask = two_materials(100)

    class SeesRedAlone(Sees):
        def probability(self, image: Image) -> npt.NDArray[np.float32]:
            map_ = np.zeros(image.shape[:2], np.float32)
            map_[:99] = is_red(image).any() and (image[..., 1] == 120).mean() < 0.1
            return map_

    assert (of_material(image, mask, SeesRedAlone()).choice.mask == mask).all()


# --- parts that do not show the class ---


def without_parts(image: Image, mask: Mask) -> ClassChoice:
    candidate = MaskCandidate(mask, "drawn", score_mask(mask))
    sighting = find_class(judge(), image)
    (judged,) = judge_candidates(judge(), image, [candidate], sighting, n_sure=1)
    choice = ClassChoice(MaskChoice(mask, "drawn", "because", ()), judged.evidence, None)
    return without_strangers(judge(), image, choice, sighting)


def test_a_part_that_hides_the_class_is_left_out() -> None:
    image = scene()
    found = without_parts(image, (image != 190).any(2))
    assert (found.choice.mask == is_red(image)).all()
    assert found.choice.segmenter == "drawn/shown"
    assert found.choice.reason.startswith("because; 0.")
    assert found.choice.reason.endswith(" without parts that do not show the class")
    assert found.choice.scores[-1]["evidence"] == found.evidence


def test_parts_stay_if_the_class_is_no_more_evident_without_them() -> None:
    image = scene()
    beside = image.copy()
    beside[150:156, 230:236] = (30, 30, 30)
    beside[150:152] = 190
    mask = (beside != 190).any(2)
    mask[:, :200] = False
    assert (without_parts(beside, mask).choice.mask == mask).all()


def test_two_parts_that_both_show_the_class_stay() -> None:
    image = np.full((HEIGHT, WIDTH, 3), 190, np.uint8)
    image[90:150, 30:90] = image[90:150, 230:290] = (200, 30, 30)
    assert without_parts(image, is_red(image)).choice.segmenter == "drawn"


# --- large photographs ---


def test_a_large_photograph_is_judged_small_and_gets_masks_of_its_own_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curation.class_aware_size.MAX_PIXELS", HEIGHT * WIDTH)
    large = scene().repeat(3, axis=0).repeat(3, axis=1)
    found = chosen(large, "shape", "grabcut", "backdrop")
    assert found.plain is not None
    assert found.choice.mask.shape == found.plain.shape == large.shape[:2]
    assert iou(found.choice.mask, is_red(large)) > 0.85
    (tmp_path / "0.png").write_bytes(encode_mask(is_red(large)))
    assert iou(chosen(large, "shape", f"folder:{tmp_path}").choice.mask, is_red(large)) > 0.97


def test_the_cues_of_a_large_photograph_are_drawn_at_its_own_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("curation.class_aware_size.MAX_PIXELS", HEIGHT * WIDTH)
    large = scene().repeat(3, axis=0).repeat(3, axis=1)
    drawn: list[Mask] = []

    def draw_full(image: Image, mask: Mask) -> list[Image | None]:
        assert image is large
        drawn.append(mask)
        return [cut_out(image, mask)]

    for kind in ("shape", "texture"):
        drawn.clear()
        segmenters = [segmenter_for("backdrop")]
        found = choose_class_mask(judge(), segmenters, photograph(large), kind, draw_full)
        assert isinstance(found, ClassChoice)
        assert any((mask == found.choice.mask).all() for mask in drawn)


def test_transparency_shrinks_with_its_photograph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("curation.class_aware_size.MAX_PIXELS", 1200)
    image = scene()
    alpha = is_red(image).astype(np.uint8) * 255
    small = shrunk(replace(photograph(image), alpha=alpha))
    assert small.alpha is not None
    assert small.image.shape[:2] == small.alpha.shape == (30, 40)
    assert shrunk(small) is small


def test_rows_hold_what_was_judged_with_few_digits() -> None:
    row = judged(square(10, 90), "whole", 1 / 3, 2 / 3).scores
    assert row["class_probability"] == 0.3333
    assert row["covered_share"] == 0.6667
    assert row["evidence"] == 0.2222
    assert row["segmenter"] == "whole"
