from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import click
import numpy as np
import pytest
from PIL import Image
from sqlalchemy import select

from curation.adjudication import adjudicate
from curation.campaigns import create_campaign
from curation.database import Store, open_store
from curation.review import assign, import_review
from curation.review_commands import review_group
from curation.sieve import rank_review
from curation.sieve_cases import Classifier, classify, measure_missing
from curation.sieve_report import write_figure, write_proposals
from curation.snapshots import take_snapshot
from curation.tables import Item
from data_manifests.errors import CuebenchError
from tests.curation.review_run import Showing, answer, showings, write_cues, write_images
from tests.curation.sieve_cases import cases_of, measured_run, small_review, verdict_by_clutter


@pytest.fixture
def review(record: Store, tmp_path: Path) -> Store:
    return small_review(record, tmp_path)


def test_the_store_keeps_what_the_manifest_measured(review: Store) -> None:
    cases = cases_of(review)
    assert len(cases) == 80
    assert [case.sha256 for case in cases] == sorted(case.sha256 for case in cases)
    assert {case.grid for case in cases if case.cue_kind == "texture"} == {8}
    assert {case.numbers["mask_area_share"] for case in cases} == {0.3}
    assert {case.numbers["width_px"] for case in cases} == {8.0}
    assert sum(case.flags == ("mask_uncertain",) for case in cases) == 8
    assert {case.is_accepted for case in cases} == {None}
    assert len({case.photograph for case in cases}) == 80


def test_verdicts_decisions_and_retired_pictures_count_as_a_release_takes_them(
    record: Store, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    import_review(record, "first", str(write_cues(run, 6)), overlap=1.0, repeat_share=0)
    assign(record, "first", ["ada", "bo"])
    ada, bo = (showings(record, "first", name) for name in ("ada", "bo"))
    answer(record, ada, lambda showing: "unsure" if showing.item_id == 3 else "accept")
    answer(record, [showing for showing in bo if showing.item_id in (1, 2, 4)], "reject")
    for item_id, decision in ((1, "accept"), (4, "reject")):
        adjudicate(record, "first", _public(ada, item_id), ada[0].rater_id, decision, "so it is")
    said = {case.item_id: case.is_accepted for case in cases_of(record)}
    assert said == {item_id: item_id not in (2, 3, 4) for item_id in range(1, 13)}
    import_review(record, "first", str(write_cues(run, 6, again=[0])))
    after = {case.item_id: case.is_accepted for case in cases_of(record)}
    assert [item_id for item_id, answered in after.items() if answered is None] == [
        item_id for item_id in after if item_id > 12
    ]
    assert len(after) == 12
    assert {item_id: said[item_id] for item_id in after if item_id <= 12}.items() <= after.items()


def _public(queue: list[Showing], item_id: int) -> str:
    return next(showing.item for showing in queue if showing.item_id == item_id)


def test_cues_without_a_manifest_are_measured(record: Store, tmp_path: Path) -> None:
    names = [f"shape/clock/{number}.png" for number in range(6)]
    folder = write_images(tmp_path / "cues", names)
    Image.new("L", (300, 200), 9).save(folder / "shape/clock/grey.png")
    import_review(record, "first", str(folder), repeat_share=0)
    assign(record, "first", ["ada"])
    rank_review(record, "first")
    (first, *_), grey = showings(record, "first"), _item_of(record, "grey.png")
    assert first.item_id == grey


def test_numbers_that_are_none_are_not_there(review: Store) -> None:
    with review.write() as session:
        for item in session.scalars(select(Item)):
            quality = {"clutter": (0.1, math.nan, math.inf, None)[item.id % 4], "peak": math.nan}
            item.meta_json = json.dumps({"quality": quality})
    cases = cases_of(review)
    assert {tuple(sorted(case.numbers)) for case in cases} == {
        ("clutter", "height_px", "width_px"),
        ("height_px", "width_px"),
    }
    answer(
        review, showings(review, "first", "ada"), lambda showing: ("accept", "reject")[showing.item_id % 2]
    )
    answer(
        review,
        showings(review, "first", "bo")[::2],
        lambda showing: ("accept", "reject")[showing.item_id % 2],
    )
    report = rank_review(review, "first")
    assert report.ordered_by == "verdicts"
    assert "NaN" not in json.dumps(report.to_json(), allow_nan=False)


def test_a_picture_that_is_gone_has_its_size_only(record: Store, tmp_path: Path) -> None:
    names = [f"shape/clock/{number}.png" for number in range(3)]
    folder = write_images(tmp_path / "cues", names)
    import_review(record, "first", str(folder), repeat_share=0)
    (folder / names[0]).unlink()
    shown: list[tuple[int, int]] = []
    cases = measure_missing(cases_of(record), lambda n_done, n_all: shown.append((n_done, n_all)))
    assert shown == [(1, 3), (2, 3), (3, 3)]
    of_gone = next(case for case in cases if case.file_url.endswith(names[0]))
    assert of_gone.numbers == {"height_px": 8, "width_px": 8}
    assert all("peak" in case.numbers for case in cases if case is not of_gone)


def _item_of(store: Store, name: str) -> int:
    cases = cases_of(store)
    return next(case.item_id for case in cases if case.file_url.endswith(name))


def test_a_classifier_adds_its_numbers(
    record: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    import_review(record, "first", measured_run(tmp_path / "run", 3), repeat_share=0)
    assign(record, "first", ["ada"])
    (tmp_path / "bright.py").write_text(
        "import numpy as np\n"
        "def logits(images):\n"
        "    rows = np.zeros((len(images), 1000), np.float32)\n"
        "    rows[:, 409] = [np.asarray(image).mean() / 50 for image in images]\n"
        "    return rows\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    classifier = Classifier("callable:bright:logits")
    cases = cases_of(record)
    shown: list[tuple[int, int]] = []
    seen = classify(cases, classifier, lambda n_done, n_all: shown.append((n_done, n_all)))
    assert shown == [(3, 6), (6, 6)]
    for case in seen:
        with Image.open(case.file_url) as image:
            light = np.exp(np.asarray(image).mean() / 50)
        # a clock has three labels, 409 among them, a zebra one that ties with all but 409
        rank, odds = (1, (light + 2) / 997) if case.superclass == "clock" else (1000, 1 / (light + 998))
        assert case.numbers["classifier_log_rank"] == pytest.approx(np.log(rank))
        assert case.numbers["classifier_log_odds"] == pytest.approx(np.log(odds))
    assert rank_review(record, "first", classifier=classifier).n_waiting == 6
    with pytest.raises(CuebenchError, match="no such adapter"):
        rank_review(record, "first", classifier=Classifier("keras:bright"))


@pytest.mark.parametrize("miss_rate", [0.0, 1.0, -1.0])
def test_a_miss_rate_out_of_range_is_refused(record: Store, miss_rate: float) -> None:
    with pytest.raises(
        CuebenchError, match=f"miss rate: expected a share between 0 and 1, got {miss_rate:g}"
    ):
        rank_review(record, "first", miss_rate=miss_rate)


def test_what_is_no_open_review_with_cues_is_refused(review: Store) -> None:
    with pytest.raises(CuebenchError, match="second: no such campaign"):
        rank_review(review, "second")
    with review.write() as session:
        create_campaign(session, "people", "study", {"n_raters": 1}, 0)
        create_campaign(session, "picks", "mask", {"n_raters": 1}, 0)
    for slug, kind in (("people", "study"), ("picks", "mask")):
        with pytest.raises(CuebenchError, match=f"{slug}: expected a review campaign, got a {kind} campaign"):
            rank_review(review, slug)
    take_snapshot(review, "first", freeze=True)
    with pytest.raises(CuebenchError, match="first: it is frozen, nothing in it changes"):
        rank_review(review, "first")
    assert rank_review(review, "first", keep_order=True).moved == {}


def test_a_review_without_a_cue_is_refused(record: Store) -> None:
    with record.write() as session:
        create_campaign(session, "first", "review", {"n_raters": 1}, 0)
    with pytest.raises(CuebenchError, match="first: it holds no cue to rank; import some"):
        rank_review(record, "first")


def rank(*args: str) -> None:
    """Run `cuebench review rank` as the command line does; its errors are raised."""
    review_group.main(["rank", *args], prog_name="cuebench review", standalone_mode=False)


@pytest.fixture
def judged_db(tmp_path: Path) -> str:
    """Give the file of a review in which two thirds of the cues are judged."""
    url = str(tmp_path / "review.db")
    store = open_store(url)
    import_review(store, "first", measured_run(tmp_path / "run", 60), overlap=0, repeat_share=0)
    assign(store, "first", ["ada"])
    answer(store, showings(store, "first")[::3] + showings(store, "first")[1::3], verdict_by_clutter(store))
    store.close()
    return url


def test_the_command_reports_ranks_and_writes_proposals(
    judged_db: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, figure = tmp_path / "rank.csv", tmp_path / "rank.png"
    rank("--db", judged_db, "first", "--out", str(out), "--figure", str(figure), "--miss-rate", "0.2")
    captured = capsys.readouterr()
    assert captured.out.startswith("review first: 80 cues judged (")
    assert "waiting cues would need no look: " in captured.out
    assert "  with flags and quality numbers alone: " in captured.out
    assert captured.err == f"wrote {out}, {figure}\n"
    with out.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 40
    assert {row["proposal"] for row in rows} <= {"accept", "reject", "look"}
    assert all(0 <= float(row["chance_of_acceptance"]) <= 1 for row in rows)
    with Image.open(figure) as image:
        assert image.size[0] > 1000
    with pytest.raises(CuebenchError, match=r"rank.csv: there is already a file; choose another name"):
        rank("--db", judged_db, "first", "--out", str(out))
    rank("--db", judged_db, "first", "--out", str(out), "--force", "--format", "json")
    found = json.loads(capsys.readouterr().out)
    assert found["ordered_by"] == "verdicts"
    assert found["n_waiting"] == 40
    assert found["savings"]["n_saved"] == found["savings"]["n_accept"] + found["savings"]["n_reject"]
    assert sum(row["n"] for row in found["calibration"]["bins"]) == 80
    assert found["moved"] == {"ada": 0}
    assert "proposals" not in found


def test_places_that_cant_be_are_refused_before_a_queue_changes(judged_db: str) -> None:
    before = _queue(judged_db)
    with pytest.raises(CuebenchError, match=r"a.gif: a figure is a .png or a .svg file; give it such a name"):
        rank("--db", judged_db, "first", "--figure", "a.gif")
    with pytest.raises(click.UsageError, match=r"--out and --figure name the same file, a.png"):
        rank("--db", judged_db, "first", "--out", "a.png", "--figure", "a.png")
    assert _queue(judged_db) == before
    rank("--db", judged_db, "first")
    assert _queue(judged_db) != before


def _queue(db: str) -> list[str]:
    store = open_store(db)
    ids = [showing.id for showing in showings(store, "first")]
    store.close()
    return ids


def test_a_model_that_fails_changes_no_queue(
    review: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "narrow.py").write_text(
        "import numpy as np\ndef logits(images):\n    return np.zeros((len(images), 7), np.float32)\n"
        "def holes(images):\n    return np.full((len(images), 1000), np.nan, np.float32)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    before = [showing.id for showing in showings(review, "first")]
    with pytest.raises(CuebenchError, match=r"callable:narrow:logits: expected logits \(32, 1000\) for 32"):
        rank_review(review, "first", classifier=Classifier("callable:narrow:logits"))
    with pytest.raises(CuebenchError, match=r"callable:narrow:holes: logits: row 0 holds a value"):
        rank_review(review, "first", classifier=Classifier("callable:narrow:holes"))
    assert [showing.id for showing in showings(review, "first")] == before


def test_before_there_is_a_model_there_is_nothing_to_draw(review: Store, tmp_path: Path) -> None:
    report = rank_review(review, "first")
    with pytest.raises(
        CuebenchError, match=r"rank.png: nothing to draw yet: 0 verdicts are too few for a model"
    ):
        write_figure(str(tmp_path / "rank.png"), report)
    write_proposals(str(tmp_path / "rank.csv"), report)
    lines = (tmp_path / "rank.csv").read_text("utf-8").splitlines()
    assert len(lines) == 81
    assert all(line.endswith(",,look") for line in lines[1:])
