from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from data_manifests.errors import CuebenchError
from evaluation.cue_pictures import CuePicture, by_kind, find_pictures
from evaluation.evaluate import evaluate
from evaluation.label_space import label_space
from evaluation.model_callable import CallableModel
from evaluation.run_model import RunSettings, logits_folder, run_model
from tests.evaluation.drawn_cues import TAXONOMY, Counted, draw_cues, flat


def model(function: Counted) -> CallableModel:
    return CallableModel("counted", function, label_space(1000), function.fingerprint)


def shapes(folder: Path, n_per_class: int = 5) -> list[CuePicture]:
    return by_kind(find_pictures(str(draw_cues(folder, n_per_class))))["shape"]


def settings(folder: Path, batch_size: int = 2, part_size: int = 4) -> RunSettings:
    return RunSettings(str(folder / "kept"), batch_size, part_size)


def test_every_picture_gets_its_logits_and_its_label(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    pictures = shapes(tmp_path / "cues")
    table = run_model(
        model(Counted()), pictures, settings(tmp_path), lambda done, all_: seen.append((done, all_))
    )
    assert table.logits.shape == (15, 1000)
    assert table.file_names == tuple(picture.file_name for picture in pictures)
    assert seen == [(4, 15), (8, 15), (12, 15), (15, 15)]
    assert evaluate({"shape": table}, TAXONOMY).cues["shape"].sensitivity == 1.0


@pytest.mark.parametrize("folder", [True, False])
def test_batches_and_parts_change_nothing(folder: bool, tmp_path: Path) -> None:
    pictures = shapes(tmp_path / "cues")
    first = run_model(model(Counted(None)), pictures, RunSettings(None, 1, 1))
    other = run_model(model(Counted()), pictures, settings(tmp_path) if folder else RunSettings(None, 7, 9))
    np.testing.assert_array_equal(first.logits, other.logits)
    assert (first.superclass, first.wnids) == (other.superclass, other.wnids)


def test_logits_are_computed_once(tmp_path: Path) -> None:
    pictures, function = shapes(tmp_path / "cues"), Counted()
    first = run_model(model(function), pictures, settings(tmp_path))
    again = run_model(model(function), pictures, settings(tmp_path, batch_size=9, part_size=9))
    assert function.n_shown == 15
    np.testing.assert_array_equal(first.logits, again.logits)
    assert [path.suffix for path in (tmp_path / "kept").iterdir()] == [".npz"]


def test_another_model_or_another_picture_is_computed_anew(tmp_path: Path) -> None:
    pictures, function = shapes(tmp_path / "cues"), Counted()
    run_model(model(function), pictures, settings(tmp_path))
    function.fingerprint = "2"
    run_model(model(function), pictures, settings(tmp_path))
    assert function.n_shown == 30
    Path(pictures[0].url).write_bytes(Path(pictures[-1].url).read_bytes())
    run_model(model(function), pictures, settings(tmp_path))
    assert function.n_shown == 45


def test_another_label_is_not_taken_from_disk(tmp_path: Path) -> None:
    pictures, function = shapes(tmp_path / "cues"), Counted()
    run_model(model(function), pictures, settings(tmp_path))
    relabelled = [replace(picture, superclass="ipod") for picture in pictures]
    assert set(run_model(model(function), relabelled, settings(tmp_path)).superclass) == {"ipod"}


class StoppedError(Exception):
    """What a stop looks like to the run."""


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    pictures, function = shapes(tmp_path / "cues"), Counted()

    def stop_after_eight(n_done: int, _: int) -> None:
        if n_done == 8:
            raise StoppedError

    with pytest.raises(StoppedError):
        run_model(model(function), pictures, settings(tmp_path), stop_after_eight)
    table = run_model(model(function), pictures, settings(tmp_path))
    assert function.n_shown == 15
    np.testing.assert_array_equal(
        table.logits, run_model(model(Counted(None)), pictures, RunSettings()).logits
    )


def test_a_function_without_a_fingerprint_leaves_nothing_behind(tmp_path: Path) -> None:
    run_model(model(Counted(None)), shapes(tmp_path / "cues"), settings(tmp_path))
    assert not (tmp_path / "kept").exists()


def test_pictures_that_can_not_be_read_are_left_out_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pictures = shapes(tmp_path / "cues")
    Path(pictures[0].url).unlink()
    Path(pictures[3].url).write_bytes(b"no picture")
    with caplog.at_level(logging.WARNING):
        table = run_model(model(Counted()), pictures, settings(tmp_path))
    assert len(table.logits) == len(table.superclass) == 13
    assert "clock_0.png: left out: no such file" in caplog.text
    assert "clock_3.png: not a picture that can be decoded" in caplog.text


def test_no_picture_at_all_is_an_error(tmp_path: Path) -> None:
    pictures = shapes(tmp_path / "cues", 1)
    for picture in pictures:
        Path(picture.url).write_bytes(b"no picture")
    with pytest.raises(CuebenchError, match="counted: none of the pictures can be decoded"):
        run_model(model(Counted()), pictures, settings(tmp_path))
    for picture in pictures:
        Path(picture.url).unlink()
    with pytest.raises(CuebenchError, match="counted: none of the 3 pictures can be read"):
        run_model(model(Counted()), pictures, settings(tmp_path))


def test_logits_of_a_wrong_shape_are_refused(tmp_path: Path) -> None:
    wrong = CallableModel("flat", flat, label_space(1000), None)
    with pytest.raises(CuebenchError, match=r"flat: expected logits \(3, 1000\) for 3 pictures, got \(3,\)"):
        run_model(wrong, shapes(tmp_path / "cues", 1))


def test_sources_and_grids_go_with_the_logits(tmp_path: Path) -> None:
    pictures = [
        replace(picture, source=f"photo {number // 2}", grid=4 if number % 2 else None)
        for number, picture in enumerate(shapes(tmp_path / "cues"))
    ]
    table = run_model(model(Counted()), pictures, settings(tmp_path))
    assert table.sources == tuple(f"photo {number // 2}" for number in range(15))
    assert table.grids == [4 if number % 2 else None for number in range(15)]


def test_logits_are_kept_in_the_cache_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert logits_folder() == "/cache/cuebench/logits"
