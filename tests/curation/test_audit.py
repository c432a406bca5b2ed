from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image as PillowImage

from curation.audit import audit
from curation.audit_checks import CHECKS, known_checks
from curation.audit_files import find_files
from curation.audit_report import AuditReport
from curation.audit_text import to_text
from data_manifests.errors import CuebenchError
from data_manifests.jsonl import read_records, write_records
from data_manifests.records import CueKind, CueRecord, SourceRecord
from generation.cue_files import encode_png
from generation.executors import WorkerDied
from generation.recipe import Limit, Limits, Recipe, read_recipe
from tests.curation.audit_cues import (
    Image,
    cut_tiles,
    draw_noise,
    draw_outline,
    render_cues,
    sha256,
    source_row,
    write_cue,
)
from tests.paths import SHARED_DATA, needs_shared_data

RECIPE = read_recipe("refined-bias")
EXACT_CHECKS = frozenset(CHECKS) - {
    "uneven_stroke_width",
    "uneven_stroke_level",
    "reassembly",
    "shared_source",
}


def audit_of(url: Path, recipe: Recipe = RECIPE, **options: str) -> AuditReport:
    return audit(find_files(str(url), **options), recipe)  # type: ignore[arg-type]


def found_by(report: AuditReport) -> dict[str, tuple[str, ...]]:
    return {defect.check: defect.found for defect in report.defects}


def put(path: Path, image: Image) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode_png(image))
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run that cuebench rendered of photographs of scikit-image; not to be changed."""
    return render_cues(tmp_path_factory.mktemp("rendered") / "run")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a clean set of drawn shapes and of surfaces, in folders of their classes."""
    for first, superclass in ((0, "clock"), (100, "camera")):
        for number in range(3):
            put(tmp_path / "shape" / superclass / f"{number}.png", draw_outline(first + number))
    for number, superclass in enumerate(("zebra", "tiger")):
        for copy in range(3):
            put(tmp_path / "texture" / superclass / f"{copy}.png", draw_noise(10 * number + copy))
    return tmp_path


def test_rendered_cues_raise_no_alarm_as_a_run(run: Path) -> None:
    report = audit_of(run, taxonomy=str(run.parent / "taxonomy.toml"))
    assert found_by(report).keys() & EXACT_CHECKS == set()
    assert report.n_files == report.n_readable == 9
    assert report.licences.by_license == {"CC0-1.0": 6}
    assert {file.grid for file in report.files if file.cue_kind == "texture"} == {4, 16}
    assert report.strokes is not None
    assert report.strokes.stroke_px_cv < 0.2
    assert report.strokes.line_level_cv < 0.1


def test_rendered_cues_share_a_source_at_most_with_those_of_their_photograph(run: Path) -> None:
    report = audit_of(run / "cues", taxonomy=str(run.parent / "taxonomy.toml"))
    assert found_by(report).keys() & EXACT_CHECKS == set()
    assert "no manifest: licences unknown (a sources.jsonl beside the cues would tell them)" in report.notes
    # Without the manifest nobody knows that the two grids of a photograph are meant to show the same pieces.
    crossing = [group for group in report.shared_sources if len({Path(name).parent for name in group}) > 1]
    assert crossing == []


def test_a_clean_folder_is_clean(tree: Path) -> None:
    report = audit_of(tree)
    assert report.defects == ()
    assert report.clean
    assert [(c.cue_kind, c.superclass, c.n_files) for c in report.per_class] == [
        ("shape", "camera", 3),
        ("shape", "clock", 3),
        ("texture", "tiger", 3),
        ("texture", "zebra", 3),
    ]


def test_the_numbers_of_a_run_are_those_of_its_manifest(run: Path) -> None:
    rows = {row.file_name: row for row in read_records(str(run / "cues.jsonl"), CueRecord)}
    for file in audit_of(run).files:
        known = rows[file.file].quality
        assert file.quality.keys() >= known.keys()
        # Strokes are measured on other centre lines: see `shape_numbers`.
        exact = {name: value for name, value in known.items() if not name.startswith("stroke_")}
        assert {name: file.quality[name] for name in exact} == pytest.approx(exact)
        assert file.quality.get("stroke_px", 0.0) == pytest.approx(known.get("stroke_px", 0.0), rel=0.05)


# What a hand may do to a set, which check has to tell it, and what it has to say.


def plant_copy(tree: Path) -> None:
    shutil.copy(tree / "shape/clock/0.png", tree / "shape/clock/3.png")


def plant_same_pixels(tree: Path) -> None:
    PillowImage.open(tree / "shape/clock/0.png").save(tree / "shape/clock/3.png", compress_level=1)


def plant_near_copy(tree: Path) -> None:
    PillowImage.open(tree / "shape/clock/0.png").save(tree / "shape/clock/3.jpg", quality=70)


def plant_copy_in_another_class(tree: Path) -> None:
    shutil.copy(tree / "shape/clock/0.png", tree / "shape/camera/3.png")


def plant_odd_size(tree: Path) -> None:
    put(tree / "shape/clock/0.png", draw_outline(0, side_px=300))


def plant_grey(tree: Path) -> None:
    put(tree / "shape/clock/0.png", draw_outline(0)[..., 0])


def plant_faint(tree: Path) -> None:
    put(tree / "shape/clock/0.png", draw_outline(0, level=127))


def plant_blank(tree: Path) -> None:
    put(tree / "texture/zebra/0.png", np.full((224, 224, 3), 90, np.uint8))


def plant_half_a_file(tree: Path) -> None:
    path = tree / "texture/zebra/0.png"
    path.write_bytes(path.read_bytes()[:5000])


def plant_web_page(tree: Path) -> None:
    (tree / "texture/zebra/0.png").write_text("<html>not found</html>")


def plant_dead_link(tree: Path) -> None:
    (tree / "texture/zebra/0.png").unlink()
    (tree / "texture/zebra/0.png").symlink_to("nowhere.png")


def plant_misplaced(tree: Path) -> None:
    put(tree / "shape/lost.png", draw_outline(44))


def plant_typo(tree: Path) -> None:
    (tree / "shape/clock").rename(tree / "shape/clokc")


def plant_wrong_kind(tree: Path) -> None:
    (tree / "texture/zebra").rename(tree / "texture/book")


def plant_dots(tree: Path) -> None:
    (tree / "shape/clock/0.png").rename(tree / "shape/clock/0.final.png")


def plant_long_name(tree: Path) -> None:
    (tree / "shape/clock/0.png").rename(tree / "shape/clock" / f"{'x' * 97}.png")


def plant_accent(tree: Path) -> None:
    (tree / "shape/clock/0.png").rename(tree / "shape/clock/é.png")


def plant_many(tree: Path) -> None:
    for number in range(3, 20):
        put(tree / f"shape/clock/{number}.png", draw_outline(number))
    for number in range(3):
        put(tree / f"shape/book/{number}.png", draw_outline(50 + number))


def plant_few(tree: Path) -> None:
    put(tree / "shape/book/0.png", draw_outline(95))


@pytest.mark.parametrize(
    ("plant", "check", "found"),
    [
        (plant_copy, "duplicate", ["shape/clock/0.png = shape/clock/3.png"]),
        (plant_same_pixels, "pixel_duplicate", ["shape/clock/0.png = shape/clock/3.png"]),
        (plant_near_copy, "near_duplicate", ["shape/clock/0.png = shape/clock/3.jpg"]),
        (plant_copy_in_another_class, "cross_class_duplicate", ["shape/camera/3.png = shape/clock/0.png"]),
        (plant_odd_size, "wrong_size", ["shape/clock/0.png: 300x300"]),
        (plant_grey, "wrong_mode", ["shape/clock/0.png: L"]),
        (plant_faint, "faint", ["shape/clock/0.png: 127 of 255"]),
        (plant_blank, "blank", ["texture/zebra/0.png"]),
        (plant_half_a_file, "unreadable", ["texture/zebra/0.png: truncated"]),
        (plant_web_page, "unreadable", ["texture/zebra/0.png: not_an_image"]),
        (plant_dead_link, "missing", ["texture/zebra/0.png: missing"]),
        (plant_misplaced, "misplaced", ["shape/lost.png"]),
        (plant_typo, "unknown_class", ["clokc (did you mean `clock`?), files: 3"]),
        (plant_wrong_kind, "wrong_kind", ["texture/book, files: 3"]),
        (plant_dots, "dotted_name", ["shape/clock/0.final.png"]),
        (plant_long_name, "long_name", [f"shape/clock/{'x' * 97}.png"]),
        (plant_accent, "unportable_name", ["shape/clock/é.png"]),
        (plant_many, "unbalanced", ["clock, files: 20 (median 3)"]),
        (plant_few, "unbalanced", ["book, files: 1 (median 3)"]),
    ],
)
def test_a_planted_defect_is_found(
    tree: Path, plant: Callable[[Path], None], check: str, found: Sequence[str]
) -> None:
    plant(tree)
    report = audit_of(tree)
    assert not report.clean
    texts = found_by(report)[check]
    assert len(texts) == len(found)
    assert [text[: len(start)] for text, start in zip(texts, found, strict=True)] == found
    flagged = [file.file for file in report.files if check in file.flags]
    assert flagged or check == "unbalanced"
    assert all(any(name in text for text in texts) for name in flagged) or check in (
        "unknown_class",
        "wrong_kind",
    )
    # Nothing else that is exact is said of the set; a copy in another class is a copy, too.
    assert found_by(report).keys() & EXACT_CHECKS <= {check, "duplicate"}


def test_names_that_differ_in_case_alone_clash(tree: Path) -> None:
    put(tree / "shape/clock/A.png", draw_outline(33))
    put(tree / "shape/clock/a.png", draw_outline(38))
    if len(list((tree / "shape/clock").iterdir())) == 4:
        pytest.skip("this file system does not tell the two names apart")
    assert found_by(audit_of(tree))["case_clash"] == ("shape/clock/A.png = shape/clock/a.png",)


def test_a_name_that_is_not_utf8_is_reported_in_escapes(tree: Path) -> None:
    try:
        (tree / "shape/clock/0.png").rename(os.fsdecode(bytes(tree / "shape/clock") + b"/\xff.png"))
    except OSError:
        pytest.skip("this file system holds UTF-8 names alone")
    report = audit_of(tree)
    assert found_by(report)["unportable_name"] == ("shape/clock/\\udcff.png",)
    assert report.n_readable == 12
    assert report.model_dump_json().isascii()


def test_the_usual_size_is_the_recipes_where_two_are_equally_frequent(tmp_path: Path) -> None:
    put(tmp_path / "shape/clock/0.png", draw_outline(50))
    put(tmp_path / "shape/clock/1.png", draw_outline(60, side_px=448))
    assert audit_of(tmp_path).wrong_size == ("shape/clock/1.png",)
    wide = RECIPE.model_copy(update={"side_px": 448})
    assert audit_of(tmp_path, wide).wrong_size == ("shape/clock/0.png",)


def write_reduced(folder: Path) -> None:
    """Write lines of one pixel, drawn at four sizes and reduced to 224 px, as the published ones are."""
    for number, times in enumerate((1, 1.5, 3, 4)):
        large = draw_outline(number, 1, side_px=round(224 * times))
        small = cv2.resize(large, (224, 224), interpolation=cv2.INTER_AREA)
        put(folder / f"shape/clock/{number}.png", small.astype(np.uint8, copy=False))


def test_strokes_that_tell_the_size_of_the_photograph_are_uneven(tmp_path: Path) -> None:
    write_reduced(tmp_path)
    report = audit_of(tmp_path)
    assert report.strokes is not None
    assert report.strokes.stroke_px_cv > 0.3
    assert report.strokes.line_level_cv > 0.3
    levels = found_by(report)["uneven_stroke_level"]
    widths = found_by(report)["uneven_stroke_width"]
    assert "shape/clock/3.png" in " ".join(levels)
    assert "shape/clock/3.png" in " ".join(widths)


def test_the_limit_of_uneven_strokes_is_the_recipes(tmp_path: Path) -> None:
    write_reduced(tmp_path)
    loose = RECIPE.model_copy(update={"limits": Limits(shape={"stroke_cv": Limit(max=5)})})
    assert found_by(audit_of(tmp_path, loose)).keys() == {"faint"}


def test_black_strokes_on_white_are_measured_as_white_on_black(tmp_path: Path) -> None:
    put(tmp_path / "shape/clock/0.png", draw_outline(60))
    put(tmp_path / "shape/camera/0.png", 255 - draw_outline(60))
    black, white = audit_of(tmp_path).files
    assert black.quality == white.quality


def test_light_that_the_centre_crop_cuts_away_is_measured_on_any_shape_of_picture(tmp_path: Path) -> None:
    image = np.zeros((224, 448, 3), np.uint8)
    image[100:110, 220:230] = 255
    image[100:110, 20:30] = 255
    put(tmp_path / "shape/clock/0.png", image)
    assert audit_of(tmp_path).files[0].quality["light_cut_share"] == 0.5


@pytest.mark.parametrize("name", ["{grid}x{grid}_zebra_7.png", "7.png"])
@pytest.mark.parametrize("grid", [4, 8])
def test_shuffled_tiles_are_put_together_again(tmp_path: Path, grid: int, name: str) -> None:
    cue = cut_tiles(draw_noise(1, 150, 150), grid, seed=1)
    put(tmp_path / "texture/zebra" / name.format(grid=grid), cue)
    report = audit_of(tmp_path)
    assert report.files[0].grid == grid
    assert report.files[0].quality["reassembly_share"] == 1
    assert report.files[0].flags == ("max_shared_share", "reassembly", "seam_ratio")
    assert found_by(report)["reassembly"] == (f"{report.files[0].file}: 100% of the tiles",)


def test_few_different_tiles_are_told(tmp_path: Path) -> None:
    cue = np.tile(draw_noise(1, 28, 28), (8, 8, 1))
    put(tmp_path / "texture/zebra/8x8_zebra_1.png", cue)
    assert audit_of(tmp_path).files[0].quality["unique_cell_share"] == 1 / 64
    assert "unique_cell_share" in audit_of(tmp_path).files[0].flags


def test_a_grid_in_the_name_that_the_picture_cannot_have_is_not_believed(tmp_path: Path) -> None:
    put(tmp_path / "texture/zebra/32x32_zebra_1.png", draw_noise(1, 100, 100))
    assert audit_of(tmp_path).files[0].grid is None


def test_textures_of_one_photograph_are_found(tmp_path: Path) -> None:
    photograph = draw_noise(1, 150, 150)
    put(tmp_path / "texture/zebra/4x4_zebra_1.png", cut_tiles(photograph, 4, seed=1))
    put(tmp_path / "texture/zebra/16x16_zebra_2.png", cut_tiles(photograph, 16, seed=2))
    put(tmp_path / "texture/zebra/16x16_zebra_3.png", cut_tiles(draw_noise(2, 150, 150), 16, seed=2))
    report = audit_of(tmp_path)
    assert report.shared_sources == (("texture/zebra/16x16_zebra_2.png", "texture/zebra/4x4_zebra_1.png"),)


def run_of_two(run: Path, parents: Sequence[bytes], grids: Sequence[int]) -> Path:
    photograph = draw_noise(1, 150, 150)
    rows = [
        write_cue(run, "texture", name, cut_tiles(photograph, grid, seed=grid), grid=grid,
                  parent_source_ids=(sha256(parent),))
        for name, parent, grid in zip(("brick", "grass"), parents, grids, strict=True)
    ]  # fmt: skip
    write_records(str(run / "cues.jsonl"), rows)
    return run


def test_the_grids_of_one_photograph_in_a_run_are_meant(tmp_path: Path) -> None:
    assert audit_of(run_of_two(tmp_path, [b"one", b"one"], [4, 8])).shared_sources == ()


def test_two_photographs_of_a_run_that_are_one_are_found(tmp_path: Path) -> None:
    assert len(audit_of(run_of_two(tmp_path, [b"one", b"two"], [4, 8])).shared_sources) == 1


def copy_of(run: Path, folder: Path) -> Path:
    shutil.copytree(run, folder / "run")
    return folder / "run"


def test_a_changed_and_a_missing_picture_of_a_run_are_found(run: Path, tmp_path: Path) -> None:
    here = copy_of(run, tmp_path)
    first, second = sorted((here / "cues/shape").rglob("*.png"))[:2]
    put(first, draw_outline(40))
    second.unlink()
    report = audit_of(here / "cues.jsonl")
    names = [path.relative_to(here).as_posix() for path in (first, second)]
    assert [text.partition(":")[0] for text in found_by(report)["changed"]] == names[:1]
    assert [text.partition(":")[0] for text in found_by(report)["missing"]] == names[1:]
    assert report.unreadable == tuple(names)


@pytest.mark.parametrize(
    ("fields", "gap"),
    [
        ({"license_spdx": "NOASSERTION"}, "no licence"),
        ({"redistributable": "unknown"}, "redistributable: unknown"),
        ({"license_spdx": "CC-BY-ND-4.0", "redistributable": "no"}, "CC-BY-ND-4.0, not redistributable"),
    ],
)
def test_a_gap_in_the_licences_of_a_run_is_found(
    run: Path, tmp_path: Path, fields: dict[str, str], gap: str
) -> None:
    here = copy_of(run, tmp_path)
    rows = [
        row for row in read_records(str(here / "sources.jsonl"), SourceRecord) if row.superclass != "brick"
    ]
    write_records(str(here / "sources.jsonl"), [*rows, source_row("brick", "texture", **fields)])
    report = audit_of(here)
    assert found_by(report)["licence_gap"] == (f"../photos/brick.png: {gap}",)
    assert {file.superclass for file in report.files if "licence_gap" in file.flags} == {"brick"}


def test_a_photograph_that_the_manifest_lacks_is_a_gap(run: Path, tmp_path: Path) -> None:
    here = copy_of(run, tmp_path)
    rows = read_records(str(here / "sources.jsonl"), SourceRecord)
    write_records(str(here / "sources.jsonl"), [row for row in rows if row.superclass != "grass"])
    report = audit_of(here)
    assert found_by(report)["licence_gap"] == (f"{sha256(b'grass')}: not in sources.jsonl",)
    assert report.licences.n_unknown_sources == 1


def test_a_folder_with_a_manifest_of_photographs_gets_their_licences(tree: Path) -> None:
    sources = [source_row("clock", "shape"), source_row("zebra", "texture", license_spdx="NONE")]
    write_records(str(tree / "sources.jsonl"), sources)
    report = audit_of(tree)
    assert report.licences.by_license == {"CC0-1.0": 1, "NONE": 1}
    assert found_by(report) == {"licence_gap": ("../photos/zebra.png: no licence",)}


def test_a_release_is_audited_with_its_manifests(run: Path, tmp_path: Path) -> None:
    here = copy_of(run, tmp_path)
    (here / "manifests").mkdir()
    for name in ("cues.jsonl", "sources.jsonl"):
        (here / name).rename(here / "manifests" / name)
    report = audit_of(here, taxonomy=str(run.parent / "taxonomy.toml"))
    assert report.n_files == report.n_readable == 9
    assert report.licences.by_license == {"CC0-1.0": 6}
    assert {file.grid for file in report.files if file.cue_kind == "texture"} == {4, 16}
    assert report.not_run == ()
    assert audit_of(here / "manifests" / "cues.jsonl").licences.by_license == {"CC0-1.0": 6}


def test_checks_that_could_not_run_are_named_with_what_is_missing(tree: Path) -> None:
    report = audit_of(tree)
    assert report.clean
    assert [row.checks for row in report.not_run] == [("changed",), ("licence_gap",), ("reassembly",)]
    text = to_text(report)
    assert "clean: no defect found, but 3 checks could not run" in text
    assert "  licence_gap: missing is a sources.jsonl with the licences of the photographs" in text
    assert "- changed: missing is a cues.jsonl that names the files" in to_text(report, markdown=True)
    fewer = audit(find_files(str(tree)), read_recipe("refined-bias"), ignored=["changed", "licence_gap"])
    assert [row.checks for row in fewer.not_run] == [("reassembly",)]
    put(tree / "shape" / "clock" / "copy.png", draw_outline(0))
    assert "checks that could not run:\n  changed: missing" in to_text(audit_of(tree))


def test_failed_attempts_of_a_run_are_counted_and_are_no_files(run: Path, tmp_path: Path) -> None:
    here = copy_of(run, tmp_path)
    rows = read_records(str(here / "cues.jsonl"), CueRecord)
    failed = rows[0].model_copy(update={"status": "mask_empty", "file_name": None})
    write_records(str(here / "cues.jsonl"), [failed, *rows[1:]])
    report = audit_of(here)
    assert (report.n_files, report.n_failed) == (8, 1)
    assert "attempted cues without a picture: 1 (see status in cues.jsonl)" in report.notes


@pytest.mark.parametrize(
    ("name", "cue_kind", "expected"),
    [
        ("shape/clock/a.png", None, ("shape", "clock")),
        ("Texture/zebra/a.png", None, ("texture", "zebra")),
        ("data/texture/zebra/a.jpg", None, ("texture", "zebra")),
        ("train/clock/a.png", None, ("shape", "clock")),
        ("things/a.png", None, (None, "things")),
        ("things/a.png", "texture", ("texture", "things")),
        ("shape/a.png", None, ("shape", "")),
        ("a.png", "shape", ("shape", "")),
    ],
)
def test_kind_and_class_are_read_from_the_folders(
    tmp_path: Path, name: str, cue_kind: CueKind | None, expected: tuple[CueKind | None, str]
) -> None:
    put(tmp_path / name, draw_outline(50))
    (file,) = find_files(str(tmp_path), cue_kind).files
    assert (file.kind, file.superclass) == expected


def test_the_name_of_the_audited_folder_says_the_kind(tree: Path) -> None:
    (tree / "texture").rename(tree / "more")
    moved = (tree / "more").rename(tree / "texture")
    assert {file.kind for file in find_files(str(moved)).files} == {"texture"}


def test_files_of_the_other_kind_are_left_out(tree: Path) -> None:
    assert {file.superclass for file in find_files(str(tree), "shape").files} == {"camera", "clock"}


def test_files_of_unknown_kind_are_named_and_not_measured(tmp_path: Path) -> None:
    put(tmp_path / "things/a.png", draw_outline(50))
    report = audit_of(tmp_path)
    assert report.files[0].quality == {}
    assert report.taxonomy is None
    assert "files of unknown kind, not measured: 1; say --cue-kind" in report.notes
    assert any(note.startswith("no shipped taxonomy knows any of the classes") for note in report.notes)
    assert report.clean


def test_a_named_taxonomy_counts(tree: Path) -> None:
    found = found_by(audit_of(tree, taxonomy="demo"))["unknown_class"]
    assert [text.partition(",")[0] for text in found] == ["camera", "clock", "tiger", "zebra"]


def test_files_that_are_no_images_are_listed_and_are_no_defect(tree: Path) -> None:
    (tree / "README.md").write_text("cues")
    report = audit_of(tree)
    assert report.clean
    assert report.other_files == ("README.md",)
    assert "files that are no images, left out: 1" in report.notes


def test_ignored_checks_are_no_defects(tree: Path) -> None:
    plant_grey(tree)
    report = audit(find_files(str(tree)), RECIPE, ignored=["wrong_mode"])
    assert report.clean
    assert report.wrong_mode == ("shape/clock/0.png",)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], r"no cue: no file below it is an image, as in <kind>/<class>/<image>$"),
        (["texture/zebra/a.png"], r"no shape cue: no file below it is an image"),
    ],
)
def test_a_folder_without_cues_is_an_error(tmp_path: Path, names: list[str], message: str) -> None:
    for name in names:
        put(tmp_path / name, draw_noise(1))
    with pytest.raises(CuebenchError, match=message):
        find_files(str(tmp_path), "shape" if names else None)


def test_a_manifest_without_cues_is_an_error(tmp_path: Path) -> None:
    write_records(str(tmp_path / "cues.jsonl"), [])
    with pytest.raises(CuebenchError, match=r"cues\.jsonl: no cue: no row with status `ok`$"):
        find_files(str(tmp_path / "cues.jsonl"))


def test_a_file_that_kills_its_worker_is_a_row(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Deadly:
        def run(self, _: object, items: Sequence[object]) -> list[tuple[object, object]]:
            return [(item, WorkerDied()) for item in items]

    monkeypatch.setattr("curation.audit.executor_for", lambda *_: Deadly())
    report = audit_of(tree)
    assert report.n_readable == 0
    assert {file.status for file in report.files} == {"worker_died"}
    assert len(found_by(report)["unreadable"]) == 12


def test_two_workers_find_the_same(tree: Path) -> None:
    plant_copy(tree)
    found, done = find_files(str(tree)), []
    one = audit(found, RECIPE, on_progress=lambda n_done, n_all: done.append((n_done, n_all)))
    assert done == [(n, 13) for n in range(14)]
    assert audit(found, RECIPE, workers=2) == one


def test_a_picture_larger_than_any_cue_is_not_measured(tmp_path: Path) -> None:
    data = io.BytesIO()
    PillowImage.new("L", (4097, 4096)).save(data, format="PNG")
    (tmp_path / "shape/clock").mkdir(parents=True)
    (tmp_path / "shape/clock/0.png").write_bytes(data.getvalue())
    assert audit_of(tmp_path).files[0].status == "too_large"


def test_every_check_has_a_name_of_its_own() -> None:
    assert len(known_checks()) == len(set(known_checks()))
    assert set(CHECKS) <= set(known_checks())


@pytest.fixture(scope="module")
def published() -> AuditReport:
    return audit_of(SHARED_DATA / "public_cues")


@needs_shared_data
def test_the_defects_of_the_published_shapes_are_found(published: AuditReport) -> None:
    shapes = [file for file in published.files if file.cue_kind == "shape"]
    assert len(shapes) == 164
    assert [len(group) for group in published.duplicates] == [2] * 4
    assert len(published.wrong_size) == 35
    assert len(published.wrong_mode) == 11
    assert len(found_by(published)["faint"]) == sum(f.quality["peak"] <= 127 for f in shapes) == 12
    assert all("light_cut_share" in file.flags for file in shapes)
    assert published.strokes is not None
    assert min(published.strokes.stroke_px_cv, published.strokes.line_level_cv) > 0.5


@needs_shared_data
def test_the_published_textures_have_none_of_them_but_are_put_together_again(published: AuditReport) -> None:
    textures = [file for file in published.files if file.cue_kind == "texture"]
    assert len(textures) == 120
    assert [file.file for file in textures if set(file.flags) & EXACT_CHECKS] == []
    for grid, n_least in ((4, 25), (8, 20)):
        assert sum("reassembly" in file.flags for file in textures if file.grid == grid) >= n_least
    assert published.near_duplicates == published.cross_class_duplicates == ()
