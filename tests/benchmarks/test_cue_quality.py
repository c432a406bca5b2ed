from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from click.testing import CliRunner
from PIL import Image, ImageFont

from benchmarks.cue_quality.__main__ import main
from benchmarks.cue_quality.cues import Answer, Cue, groups
from benchmarks.cue_quality.figures import (
    class_weights,
    macro,
    recognised,
    recognised_at_all_grids,
    spread,
)
from benchmarks.cue_quality.leaks import (
    ObjectFinder,
    installed_saliency,
    low_pass,
    object_numbers,
    pixel_numbers,
    width_px,
)
from benchmarks.cue_quality.peers import draw_crop, draw_scene, fit_box, largest_square, line_numbers
from benchmarks.cue_quality.photographs import read_right_masks, render_photos, split_halves
from benchmarks.cue_quality.sheet import TILE_PX, shortened
from data_manifests.errors import CuebenchError
from data_manifests.labels import imagenet_labels
from data_manifests.records import SourceRecord
from data_manifests.taxonomy import read_taxonomy
from generation.recipe import read_recipe

Pixels = npt.NDArray[np.uint8]

RIGHT, WRONG = Answer(1, 0.9, "camera"), Answer(7, 0.1, "lighter")


def source(name: str, superclass: str = "camera") -> SourceRecord:
    source_id = hashlib.sha256(name.encode()).hexdigest()
    return SourceRecord(
        source_id=source_id, n_bytes=1, file_name=name, superclass=superclass, cue_kind="shape"
    )


def cue(photograph: str, answer: Answer | None, superclass: str = "camera", grid: int | None = None) -> Cue:
    status = "ok" if answer else "mask_empty"
    return Cue("ours", "shape", superclass, photograph, grid=grid, status=status, answer=answer)


def scene() -> tuple[Pixels, npt.NDArray[np.bool_]]:
    """Return a bright square with a dark one in it on a dark ground, a line beside it, and the square's mask."""
    image = np.full((200, 240, 3), 40, np.uint8)
    image[60:140, 60:140] = 220
    image[90:110, 90:110] = 60
    image[20:180, 145:150] = 200
    mask = np.zeros((200, 240), np.bool_)
    mask[60:140, 60:140] = True
    return image, mask


def test_every_second_photograph_of_a_class_by_its_hash_is_to_tune_on() -> None:
    records = [source(f"{n}.jpg") for n in range(5)]
    halves = split_halves(records)
    in_order = sorted(records, key=lambda record: record.source_id)
    assert [halves[r.use_key] for r in in_order] == ["report", "tune", "report", "tune", "report"]
    assert split_halves(records[::-1]) == halves


def test_a_photograph_that_is_alone_in_its_class_is_reported_on() -> None:
    records = [source("a.jpg", "camera"), source("a.jpg", "clock")]
    assert set(split_halves(records).values()) == {"report"}


def test_the_weighted_mean_is_the_mean_of_the_means_by_class() -> None:
    classes, values = ["a", "b", "a", "a"], np.array([1.0, 0.0, 0.0, 0.5])
    assert (class_weights(classes) * values).mean() == pytest.approx((0.5 + 0.0) / 2)


def test_the_interval_holds_the_mean_and_draws_within_classes() -> None:
    value, lower, upper = macro(["a"] * 4 + ["b"] * 4, [1, 0, 1, 0, 1, 1, 1, 0])
    assert value == pytest.approx(0.625)
    assert 0.2 < lower < 0.5 < value < 0.75 < upper <= 1.0
    # between classes there is a difference, within them none
    assert macro(["a"] * 4 + ["b"] * 4, [1] * 4 + [0] * 4) == pytest.approx((0.5, 0.5, 0.5))


def test_no_values_have_no_mean() -> None:
    assert np.isnan(macro([], [])).all()


def test_cues_that_could_not_be_made_are_misses_or_left_out() -> None:
    cues = [cue("1", RIGHT), cue("2", None), cue("3", WRONG, "clock"), cue("4", None, "mouse")]
    with_them = recognised(cues, missing_count=True)
    assert with_them.value == pytest.approx((0.5 + 0 + 0) / 3)
    assert (with_them.n, with_them.n_missing) == (2, 2)
    without = recognised(cues, missing_count=False)
    assert without.value == pytest.approx((1 + 0) / 2)
    assert (without.n, without.n_missing) == (2, 2)


def test_the_mean_over_grids_is_that_of_the_grids_with_missing_cues_as_misses() -> None:
    answers = {4: (RIGHT, RIGHT), 8: (WRONG, RIGHT), 16: (None, WRONG)}
    cues = [cue(str(n), a, grid=grid) for grid, pair in answers.items() for n, a in enumerate(pair)]
    found = recognised_at_all_grids(cues)
    assert found.value == pytest.approx((1 + 0.5 + 0) / 3)
    assert (found.n, found.n_missing) == (5, 1)


def test_cues_of_one_way_kind_and_grid_are_a_group() -> None:
    cues = [cue("1", RIGHT, grid=4), cue("1", RIGHT, grid=8), cue("2", RIGHT, grid=4)]
    assert [(key[2], len(own)) for key, own in groups(cues)] == [(4, 2), (8, 1)]
    assert len({one.key for one in cues}) == 3


def test_percentiles_of_a_hundred_numbers() -> None:
    assert spread([float(n) for n in range(101)]) == (5.0, 50.0, 95.0)


@pytest.mark.parametrize(("n_widths", "kept"), [(8, 0.926), (2, 0.291), (1, 0.007)])
def test_a_low_pass_takes_what_is_narrower_than_its_width(n_widths: float, kept: float) -> None:
    width = 16.0
    wave = 128 + 100 * np.sin(2 * np.pi * np.arange(256) / (n_widths * width))
    image = np.repeat(np.broadcast_to(wave, (256, 256))[..., None], 3, 2).astype(np.uint8)
    middle = low_pass(image, width)[64:-64, 64:-64].astype(np.float64)
    assert np.ptp(middle) / 200 == pytest.approx(kept, abs=0.01)


def test_the_width_of_a_low_pass_is_a_cell_or_an_eighth_of_the_side() -> None:
    assert (width_px("cell", 224, 4), width_px("eighth", 224, 4)) == (56.0, 28.0)


@pytest.mark.parametrize(
    ("peak", "area_px", "found"),
    [(0.95, 20, True), (0.89, 20, False), (0.95, 2, False), (0.95, 85, False)],
)
def test_an_object_is_found_where_one_is_sure_and_neither_speck_nor_frame(
    peak: float, area_px: int, found: bool
) -> None:
    probability = np.zeros(100, np.float32)
    probability[:area_px] = peak
    numbers = object_numbers(probability.reshape(10, 10))
    assert numbers["has_object"] == float(found)
    assert numbers["object_area_share"] == pytest.approx(area_px / 100)


class Salient:
    """Finds everything, and counts what it is shown."""

    def __init__(self) -> None:
        self.n_shown = 0

    def probability(self, image: Pixels) -> npt.NDArray[np.float32]:
        self.n_shown += 1
        return np.ones(image.shape[:2], np.float32)


def test_what_was_found_in_a_picture_is_not_looked_for_again(tmp_path: Path) -> None:
    network, image = Salient(), np.zeros((8, 8, 3), np.uint8)
    first = ObjectFinder(network, str(tmp_path)).numbers(b"file", image)
    again = ObjectFinder(network, str(tmp_path)).numbers(b"file", image)
    assert first == again == {"has_object": 0.0, "object_confidence": 1.0, "object_area_share": 1.0}
    assert network.n_shown == 1
    ObjectFinder(network, str(tmp_path)).numbers(b"another", image)
    assert network.n_shown == 2


def test_no_objects_are_looked_for_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REMBG_HOME", "U2NET_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    assert installed_saliency() is None


def test_edges_of_the_scene_show_what_lies_beside_the_object() -> None:
    image, mask = scene()
    drawn = draw_scene(image, 224)
    everything = np.ones_like(mask)
    whole = line_numbers(drawn, mask, lambda part: fit_box(part, everything, 224))
    assert drawn.shape == (224, 224, 3)
    assert not drawn[:18].any()  # 200 px of 240: black above and below
    assert whole["background_light_share"] > 0.3


def test_edges_of_the_object_alone_show_nothing_beside_it() -> None:
    image, mask = scene()
    image[60:140, 100:110] = 40  # a slit, so that the box is not the object
    mask[60:140, 100:110] = False
    drawn = draw_crop(image, mask, 224, only_object=True)
    found = line_numbers(drawn, mask, lambda part: fit_box(part, mask, 224))
    assert found["background_light_share"] == 0
    assert drawn.shape == (224, 224, 3)
    assert drawn.any()


def test_edges_are_looked_for_before_a_crop_is_shrunk() -> None:
    image = np.zeros((900, 900, 3), np.uint8)
    image[100:800, 100:800] = 255
    mask = image[..., 0] > 0
    lines = draw_crop(image, mask, 224)
    # a line of one px, shrunk to a third: it has lost most of its light
    assert 0 < int(np.median(lines[lines > 0])) < 150


def test_the_box_of_an_object_is_centred_on_black() -> None:
    mask = np.zeros((50, 50), np.bool_)
    mask[10:20, 5:45] = True
    placed = fit_box(np.full((50, 50), 255, np.uint8), mask, 40)
    assert placed.shape == (40, 40)
    assert placed[15:25].min() == 255
    assert not placed[:15].any()
    assert not placed[25:].any()


def test_the_largest_square_of_a_mask_lies_within_it() -> None:
    rows, columns = np.mgrid[:90, :120]
    mask = np.hypot(rows - 40, columns - 50) <= 30
    image = np.where(mask[..., None], 200, 10).astype(np.uint8).repeat(3, 2)
    square = largest_square(image, mask)
    assert square.min() == 200
    assert square.shape[0] == square.shape[1] == pytest.approx(2 * 30 / np.sqrt(2), abs=3)
    everything = np.ones((50, 80), np.bool_)
    assert largest_square(image[:50, :80], everything).shape[0] >= 49


def test_numbers_told_by_pixels_bear_another_name_than_those_of_the_origin_map() -> None:
    image = np.random.default_rng(0).integers(0, 256, (32, 32, 3)).astype(np.uint8)
    numbers = pixel_numbers("texture", 4, image)
    assert "reassembly_share" not in numbers
    assert numbers["pixel_reassembly_share"] == pytest.approx(1 / 16)
    assert "low_pass_share" in numbers
    assert "n_components" in pixel_numbers("shape", None, image)


def test_right_masks_are_read_by_class_and_name(tmp_path: Path) -> None:
    table = tmp_path / "right.csv"
    table.write_text("file_name,right\nphotos/camera/a.jpg,1\nclock/b.jpg,no\n", encoding="utf-8")
    assert read_right_masks(str(table)) == {"camera/a.jpg": True, "clock/b.jpg": False}


def test_a_value_that_says_neither_right_nor_wrong_is_named(tmp_path: Path) -> None:
    table = tmp_path / "right.csv"
    table.write_text("file_name,right\ncamera/a.jpg,perhaps\n", encoding="utf-8")
    with pytest.raises(CuebenchError, match=r"right\.csv: row 2: expected file_name and right .*perhaps"):
        read_right_masks(str(table))


def test_a_long_name_is_cut_in_its_middle() -> None:
    font = ImageFont.load_default(11)
    cut = shortened("camera/" + "x" * 80 + ".jpg", font)
    assert font.getlength(cut) <= TILE_PX
    assert cut.startswith("camera")
    assert cut.endswith(".jpg")
    assert shortened("camera", font) == "camera"


def draw_photos(folder: Path) -> Path:
    """Write two photographs of soccer balls and two of zebras: a disc, and stripes all over."""
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[:240, :240]
    for number in range(2):
        ball = np.full((240, 240, 3), 30, np.uint8)
        ball[np.hypot(rows - 120, columns - 120) < 60 + 10 * number] = (230, 220, 210)
        stripes = np.where((columns + 6 * number) // 9 % 2, 230, 20)[..., None].repeat(3, 2)
        noisy = np.clip(stripes + rng.integers(-15, 15, stripes.shape), 0, 255).astype(np.uint8)
        for name, image in (("soccer_ball", ball), ("zebra", noisy)):
            (folder / name).mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(folder / name / f"{number}.png")
    return folder


def see_zebras(images: list[Pixels]) -> npt.NDArray[np.float32]:
    """Take every picture for a zebra."""
    logits = np.zeros((len(images), 1000), np.float32)
    logits[:, list(imagenet_labels()).index("n02391049")] = 1
    return logits


def test_the_benchmark_prints_its_tables_and_writes_sheets_and_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("U2NET_HOME", str(tmp_path / "nothing"))
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        'name = "small"\ngrids = [8]\n[mask]\nsegmenters = ["grabcut", "fullframe"]\n', encoding="utf-8"
    )
    out = tmp_path / "out"
    options = ["--photos", str(draw_photos(tmp_path / "photos")), "--recipe", str(recipe), "--out", str(out)]
    done = CliRunner().invoke(
        main,
        [*options, "--half", "all", "--model", f"callable:{__name__}:see_zebras"],
        catch_exceptions=False,
    )
    assert done.exit_code == 0
    assert "8x8 MACRO" in done.stdout
    assert "shape: the 2 photographs whose cues are recognised least" in done.stdout
    assert "soccer_ball/0.png: zebra (rank " in done.stdout
    assert "texture: the" not in done.stdout
    cues = json.loads((out / "cues.json").read_text())["cues"]
    zebras = [one for one in cues if one["kind"] == "texture" and one["way"] == "ours"]
    assert [one["answer"]["rank"] for one in zebras] == [1, 1]
    assert [one["half"] for one in zebras if one["blurred"]["cell"]["rank"] == 1] == [
        one["half"] for one in zebras
    ]
    ways = {one["way"] for one in cues}
    assert ways == {"photograph", "interior", "ours", "scene Canny", "crop Canny", "object Canny", "shuffled"}
    assert not any(one["numbers"] for one in cues if one["way"] in ("photograph", "interior"))
    with Image.open(out / "sheet-shape-01.png") as sheet:
        assert sheet.height > 2 * TILE_PX
    assert (out / "sheet-shape-worst.png").exists()
    assert not (out / "sheet-texture-worst.png").exists()


def test_a_half_without_photographs_is_refused(tmp_path: Path) -> None:
    photos = draw_photos(tmp_path / "photos")
    for path in photos.glob("*/1.png"):
        path.unlink()
    with pytest.raises(CuebenchError, match="no photograph of the half `tune`"):
        render_photos(
            str(photos), read_taxonomy("refined-bias-20"), read_recipe("refined-bias"), str(tmp_path / "run"),
            half="tune", picks_url=None,
        )  # fmt: skip
