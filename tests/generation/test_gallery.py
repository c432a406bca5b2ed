from __future__ import annotations

import base64
import io
import json
import logging
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from click.testing import CliRunner
from PIL import Image
from pydantic import ValidationError

from data_manifests.errors import CuebenchError, ProblemsError
from data_manifests.jsonl import read_records
from data_manifests.records import CueRecord, SourceRecord
from generation.commands import gallery
from generation.gallery import GalleryParams, read_photograph, write_gallery
from generation.gallery_pictures import mask_outline
from generation.gallery_rows import Row, cue_state, first_of_each_group, make_rows
from tests.generation.gallery_run import HOSTILE, cue, sha256, source, write_large_run, write_run


def block(page: str, name: str) -> Any:
    found = re.findall(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)
    assert len(found) == 1
    return json.loads(found[0])


def read_page(url: str) -> str:
    return Path(url).read_text(encoding="utf-8")


def size_of(data_uri: str) -> tuple[int, int]:
    with Image.open(io.BytesIO(base64.b64decode(data_uri.partition(",")[2]))) as picture:
        return picture.size


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path)


@pytest.fixture
def page(run: Path) -> str:
    return read_page(write_gallery(str(run)))


def test_the_page_lies_in_the_run_folder(run: Path) -> None:
    assert write_gallery(str(run)) == f"{run}/gallery.html"


def test_every_cue_is_represented_exactly_once(run: Path, page: str) -> None:
    wanted = Counter(record.cue_id for record in read_records(str(run / "cues.jsonl"), CueRecord))
    shown = Counter(item["cue_id"] for card in block(page, "data")["cards"] for item in card["cues"])
    assert shown == wanted
    assert set(shown.values()) == {1}


def test_every_photograph_is_a_card(page: str) -> None:
    cards = block(page, "data")["cards"]
    assert [(card["superclass"], card["status"]) for card in cards] == [
        ("clock", "ok"),
        ("clock", "ok"),
        ("tiger", "ok"),
        ("zebra", "ok"),
        ("zebra", "truncated"),
    ]


def test_counts_by_class_add_up(page: str) -> None:
    groups = {group["superclass"]: group for group in block(page, "data")["groups"]}
    names = ("kind", "n_sources", "ok", "flagged", "failed", "none")
    assert [groups["clock"][name] for name in names] == ["shape", 2, 1, 1, 0, 0]
    assert [groups["zebra"][name] for name in names] == ["texture", 2, 1, 1, 1, 1]


def test_a_failed_cue_keeps_its_sentence_and_has_no_picture(page: str) -> None:
    cards = block(page, "data")["cards"]
    index = next(n for n, card in enumerate(cards) if card["superclass"] == "zebra")
    failed = cards[index]["cues"][0]
    assert (failed["grid"], failed["state"], failed["status"]) == (4, "failed", "too_few_patches")
    assert failed["status_detail"] == "7 patches of 56 px; 16 are needed."
    pictures = block(page, f"pictures-{index}")["cues"]
    assert pictures[0] is None
    assert all(picture.startswith("data:image/webp;base64,") for picture in pictures[1:])


def test_the_same_run_gives_the_same_bytes(run: Path, page: str) -> None:
    for name in ("sources.jsonl", "cues.jsonl"):
        lines = (run / name).read_text(encoding="utf-8").splitlines(keepends=True)
        (run / name).write_text("".join(reversed(lines)), encoding="utf-8")
    assert read_page(write_gallery(str(run))) == page


def test_hostile_text_stays_inside_of_its_data_block(page: str) -> None:
    assert HOSTILE not in page
    assert "<img src=x" not in page
    assert "<script>alert" not in page
    cards = block(page, "data")["cards"]
    assert f"../photos/{HOSTILE}" in [card["source"]["file_name"] for card in cards]


def test_hostile_recipe_name_is_escaped_in_the_title(run: Path) -> None:
    (run / "recipe.toml").write_text("name = '</title><script>alert(4)</script>{{script}}'", encoding="utf-8")
    page = read_page(write_gallery(str(run)))
    assert "<title>&lt;/title&gt;&lt;script&gt;alert(4)&lt;/script&gt;{{script}} - run" in page
    assert "<script>alert(4)" not in page


def test_the_page_names_no_address_that_it_would_load(page: str) -> None:
    outside_of_data = re.sub(r'<script type="application/json".*?</script>', "", page, flags=re.DOTALL)
    assert not re.search(r"""(?:src|href)=["'](?!data:|#)""", outside_of_data)
    assert "url(" not in outside_of_data
    assert "default-src 'none'; img-src data:" in outside_of_data


def test_a_missing_cue_file_is_no_error(run: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    page = read_page(write_gallery(str(run)))
    cards = block(page, "data")["cards"]
    index = next(n for n, card in enumerate(cards) if card["superclass"] == "tiger")
    assert block(page, f"pictures-{index}")["cues"] == [None]
    assert f"{cards[index]['cues'][0]['file_name']}: no such file" in caplog.text
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == [
        "files missing or unreadable (photographs: 1, cues: 1); the gallery says so in their places"
    ]


def test_a_damaged_mask_is_no_error(run: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    (run / "masks" / "centre.png").write_bytes(b"\x89PNG\r\n\x1a\n cut")
    page = read_page(write_gallery(str(run)))
    assert block(page, "pictures-0")["outline"] is None
    assert "masks/centre.png: left out of the gallery" in caplog.text


def test_photographs_are_shown_by_the_loader_that_is_given(run: Path) -> None:
    asked = []

    def load(record: SourceRecord) -> npt.NDArray[np.uint8] | None:
        asked.append(record.status)
        return None

    page = read_page(write_gallery(str(run), load))
    assert asked == ["ok"] * 4
    assert block(page, "pictures-0")["photograph"] is None


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.unlink(), "no such file; left out"),
        (lambda path: path.write_bytes(b"other"), "not the bytes of the manifest"),
    ],
)
def test_a_photograph_that_is_gone_or_another_is_left_out(
    run: Path, caplog: pytest.LogCaptureFixture, spoil: Any, message: str
) -> None:
    caplog.set_level(logging.INFO)
    record = read_records(str(run / "sources.jsonl"), SourceRecord)[1]
    shown = read_photograph(str(run), record)
    assert shown is not None
    assert shown.shape == (80, 120, 3)
    spoil(run / record.file_name)
    assert read_photograph(str(run), record) is None
    assert message in caplog.text


def test_a_photograph_that_can_not_be_decoded_is_left_out(
    run: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    (run / "text.jpg").write_text("no picture")
    record = source(sha256("no picture"), "x", "clock", "shape").model_copy(update={"file_name": "text.jpg"})
    assert read_photograph(str(run), record) is None
    assert "text.jpg: " in caplog.text


def test_cues_larger_than_the_page_wants_are_reduced(run: Path) -> None:
    page = read_page(write_gallery(str(run), params=GalleryParams(cue_px=64, photograph_px=96)))
    pictures = block(page, "pictures-1")
    assert size_of(pictures["cues"][0]) == (64, 64)
    assert size_of(pictures["photograph"]) == (96, 64)
    assert (pictures["outline"]["width"], pictures["outline"]["height"]) == (192, 128)


def test_pictures_are_not_enlarged(page: str) -> None:
    assert size_of(block(page, "pictures-1")["photograph"]) == (120, 80)


def test_a_small_run_has_no_notice(page: str) -> None:
    assert block(page, "data")["notices"] == []


def test_more_cues_than_are_shown_without_loss_are_announced(run: Path) -> None:
    page = read_page(write_gallery(str(run), params=GalleryParams(n_lossless_cues=3)))
    assert block(page, "data")["notices"] == [
        "Cues are compressed with loss in this page; the files in the run folder are exact."
    ]


def test_a_large_run_lists_all_but_shows_some_and_says_so(tmp_path: Path) -> None:
    run = write_large_run(tmp_path, 20)
    page = read_page(write_gallery(str(run), params=GalleryParams(max_cue_pictures=4)))
    data = block(page, "data")
    assert data["notices"][0].startswith("4 of 20 photographs come with pictures")
    shown = [n for n, card in enumerate(data["cards"]) if card["has_pictures"]]
    assert len(data["cards"]) == 20
    assert page.count('id="pictures-') == len(shown) == 4
    assert sum(data["cards"][n]["cues"][0]["state"] == "flagged" for n in shown) == 2


def test_a_very_large_run_lists_some_and_counts_all(tmp_path: Path) -> None:
    run = write_large_run(tmp_path, 20)
    data = block(read_page(write_gallery(str(run), params=GalleryParams(max_sources=6))), "data")
    assert data["notices"][0].startswith("This run has 20 photographs; the page lists 6 of them")
    assert len(data["cards"]) == 6
    assert data["groups"][0]["n_sources"] == 20


def test_params_refuse_unknown_keys_and_sizes() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        GalleryParams.model_validate({"cue_side": 3})
    with pytest.raises(ValidationError, match="greater than or equal to 64"):
        GalleryParams(cue_px=8)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("recipe.toml", "holds no run; name the folder that was the --out of `generate`"),
        ("sources.jsonl", "holds no run; name the folder that was the --out of `generate`"),
        ("cues.jsonl", "the run is not finished; the same `generate` command goes on with it"),
    ],
)
def test_a_folder_that_is_no_finished_run_is_refused(run: Path, name: str, message: str) -> None:
    (run / name).unlink()
    with pytest.raises(CuebenchError) as caught:
        write_gallery(str(run))
    assert str(caught.value) == f"{run}: {message} ({name} is missing)"


def test_a_page_may_hold_some_classes_only(run: Path) -> None:
    url = write_gallery(str(run), classes=["tiger", "clock"])
    assert url == f"{run}/gallery-clock-tiger.html"
    data = block(read_page(url), "data")
    assert {card["superclass"] for card in data["cards"]} == {"clock", "tiger"}
    assert (data["run"]["n_sources"], data["run"]["n_cues"]) == (3, 3)
    with pytest.raises(
        CuebenchError, match=r"no class zebar \(did you mean `zebra`\?\); it has clock, tiger, zebra"
    ):
        write_gallery(str(run), classes=["zebar"])


def test_the_command_says_how_large_the_page_is(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = CliRunner().invoke(gallery, [str(run)])
    assert small.stdout == f"{run}/gallery.html\n"
    assert re.fullmatch(r"0\.\d MB\n", small.stderr)
    monkeypatch.setattr("generation.gallery.LARGE_PAGE_BYTES", 1000)
    large = CliRunner().invoke(gallery, [str(run), "--class", "clock"])
    assert large.stdout == f"{run}/gallery-clock.html\n"
    assert large.stderr.endswith(" MB; --class NAME writes a smaller page, of one class\n")


def test_every_flag_has_a_meaning_in_the_page(page: str) -> None:
    data = block(page, "data")
    assert {"mask_fallback", "near_duplicate"} <= set(data["flag_meanings"])
    flags = {flag for card in data["cards"] for cue in card["cues"] for flag in cue.get("flags", [])}
    assert flags
    assert flags <= {*data["flag_meanings"], *data["meanings"]}


def test_a_damaged_manifest_is_refused_with_its_line(run: Path) -> None:
    (run / "cues.jsonl").write_text("{}\n")
    with pytest.raises(ProblemsError, match=r"cues\.jsonl: \d+ problems\n  line 1: cue_id: Field required"):
        write_gallery(str(run))


def test_cues_whose_photograph_is_not_listed_get_a_card(run: Path) -> None:
    (run / "sources.jsonl").write_text("")
    data = block(read_page(write_gallery(str(run))), "data")
    assert {card["status"] for card in data["cards"]} == {"not-listed"}
    assert sum(len(card["cues"]) for card in data["cards"]) == 6


def test_cues_go_to_the_usable_one_of_two_equal_photographs(tmp_path: Path) -> None:
    first = source(sha256("same"), "a.png", "clock", "shape", status="duplicate")
    second = source(sha256("same"), "b.png", "clock", "shape")
    made = cue(tmp_path, second, None)
    assert make_rows([first, second], [made]) == [Row(first, ()), Row(second, (made,))]


def test_a_photograph_of_both_kinds_keeps_its_cues_apart(tmp_path: Path) -> None:
    shape = source(sha256("both"), "a.png", "zebra", "shape")
    texture = source(sha256("both"), "a.png", "zebra", "texture")
    cues = [cue(tmp_path, texture, 8), cue(tmp_path, shape, None), cue(tmp_path, texture, 4)]
    rows = make_rows([texture, shape], cues)
    assert rows == [Row(shape, (cues[1],)), Row(texture, (cues[2], cues[0]))]


def test_states_of_a_cue(tmp_path: Path) -> None:
    parent = source(sha256("x"), "a.png", "clock", "shape")
    assert cue_state(cue(tmp_path, parent, None)) == "ok"
    assert cue_state(cue(tmp_path, parent, None, flags=("clutter",))) == "flagged"
    assert cue_state(cue(tmp_path, parent, None, status="empty_mask", flags=("rotated",))) == "failed"


def test_a_limit_leaves_every_class_equally_many_rows(tmp_path: Path) -> None:
    rows = [
        Row(parent, (cue(tmp_path, parent, None),))
        for superclass, n_rows in (("book", 9), ("clock", 2), ("mouse", 9))
        for parent in (
            source(sha256(f"{superclass}{n}"), f"{n}.png", superclass, "shape") for n in range(n_rows)
        )
    ]
    kept = first_of_each_group(rows, 8, lambda row: len(row.cues))
    assert Counter(row.group[1] for row in kept) == {"book": 3, "clock": 2, "mouse": 3}
    assert kept == [*rows[:3], *rows[9:11], *rows[11:14]]
    assert first_of_each_group(rows, 20, lambda row: len(row.cues)) == rows
    assert len(first_of_each_group(rows, 1, lambda row: len(row.cues))) == 3


def test_the_outline_of_a_ring_holds_its_hole() -> None:
    mask = np.zeros((10, 20), bool)
    mask[1:9, 2:18] = True
    mask[4:6, 8:12] = False
    assert mask_outline(mask, 20) == {
        "width": 20,
        "height": 10,
        "path": "M2 1 2 9 18 9 18 1ZM8 4 12 4 12 6 8 6Z",
    }


def test_an_empty_mask_has_an_empty_outline() -> None:
    assert mask_outline(np.zeros((10, 20), bool), 40) == {"width": 40, "height": 20, "path": ""}
