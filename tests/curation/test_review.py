from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as PillowImage
from sqlalchemy import select, update

from curation.answers import open_session
from curation.database import Store
from curation.review import accepted_hashes, assign, import_review, review_status
from curation.tables import Campaign, CampaignItem, Item
from data_manifests.errors import CuebenchError
from data_manifests.jsonl import read_records
from data_manifests.records import CueRecord
from generation.hashing import pixel_sha256
from tests.curation.review_run import SIDE_PX, answer, draw, sha256, showings, write_cues, write_images


def items(record: Store, role: str = "main") -> list[tuple[Item, CampaignItem]]:
    query = select(Item, CampaignItem).join(CampaignItem).where(CampaignItem.role == role).order_by(Item.id)
    with record.read() as session:
        found = [(item, link) for item, link in session.execute(query)]
        session.expunge_all()
    return found


def test_the_cues_of_a_run_become_items(record: Store, tmp_path: Path) -> None:
    run = write_cues(tmp_path / "run", 3, failed=[2])
    summary = import_review(record, "first", str(run))
    assert (summary.n_new, summary.n_failed, summary.n_kept, summary.n_retired) == (4, 2, 0, 0)
    cues = {cue.sha256: cue for cue in read_records(str(run / "cues.jsonl"), CueRecord) if cue.status == "ok"}
    found = items(record)
    assert {item.sha256 for item, _ in found} == set(cues)
    for item, link in found:
        cue = cues[item.sha256]
        expected = (cue.cue_kind, cue.superclass, cue.cue_id, cue.grid, cue.pixel_sha256, cue.width)
        assert (
            item.cue_kind,
            item.superclass,
            item.cue_id,
            item.grid,
            item.pixel_sha256,
            item.width,
        ) == expected
        assert Path(item.file_url) == run / str(cue.file_name)
        assert item.source_url is not None
        assert item.source_url.startswith(str(run / "../photos" / item.superclass))
        assert json.loads(item.meta_json)["parent_source_ids"] == list(cue.parent_source_ids)
        assert (link.role, link.retired_at, len(item.public_id)) == ("main", None, 32)


def test_a_manifest_names_a_review_as_well_as_its_folder(
    record: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_cues(tmp_path / "run", 2)
    monkeypatch.chdir(tmp_path)
    assert import_review(record, "first", "run/cues.jsonl").n_new == 4
    assert import_review(record, "first", "run").n_kept == 4
    assert all(Path(item.file_url).is_absolute() for item, _ in items(record))


def test_one_kind_may_be_reviewed_alone(record: Store, tmp_path: Path) -> None:
    run = write_cues(tmp_path / "run", 2)
    assert import_review(record, "first", str(run), cue_kind="texture").n_new == 2
    assert {item.cue_kind for item, _ in items(record)} == {"texture"}


def test_a_folder_of_kinds_and_classes_is_read(record: Store, tmp_path: Path) -> None:
    names = ["shape/clock/a.png", "shape/clock/b.png", "texture/zebra/c.png"]
    folder = write_images(tmp_path / "set", names)
    (folder / "README.md").write_text("not an image")
    write_images(folder, ["loose.png", "shape/clock/deeper/d.png"])
    summary = import_review(record, "set", str(folder))
    assert (summary.n_new, summary.n_other) == (3, 3)
    by_name = {Path(item.file_url).relative_to(folder).as_posix(): item for item, _ in items(record)}
    assert set(by_name) == set(names)
    item = by_name["texture/zebra/c.png"]
    assert (item.cue_kind, item.superclass, item.width, item.height) == ("texture", "zebra", SIDE_PX, SIDE_PX)
    assert item.sha256 == hashlib.sha256((folder / "texture/zebra/c.png").read_bytes()).hexdigest()
    assert item.pixel_sha256 == pixel_sha256(draw("texture/zebra/c.png"))


def test_a_folder_of_classes_needs_its_kind(record: Store, tmp_path: Path) -> None:
    folder = write_images(tmp_path / "set", ["clock/a.png", "bell/b.png"])
    with pytest.raises(
        CuebenchError, match=r"set: no cue; expected <kind>/<superclass>/<image>, or --cue-kind"
    ):
        import_review(record, "set", str(folder))
    assert import_review(record, "set", str(folder), cue_kind="shape").n_new == 2
    assert {(item.cue_kind, item.superclass) for item, _ in items(record)} == {
        ("shape", "clock"),
        ("shape", "bell"),
    }


def test_the_hash_of_a_grey_picture_is_that_of_its_one_channel(record: Store, tmp_path: Path) -> None:
    grey = draw("grey")[..., 0]
    (tmp_path / "set/clock").mkdir(parents=True)
    PillowImage.fromarray(grey).save(tmp_path / "set/clock/grey.png")
    import_review(record, "set", str(tmp_path / "set"), cue_kind="shape")
    assert items(record)[0][0].pixel_sha256 == pixel_sha256(grey)


def test_every_unreadable_image_of_a_folder_is_named(record: Store, tmp_path: Path) -> None:
    folder = write_images(tmp_path / "set", ["shape/clock/a.png"])
    (folder / "shape/clock/b.png").write_bytes(b"not a picture")
    (folder / "shape/clock/c.jpg").write_bytes((folder / "shape/clock/a.png").read_bytes()[:60])
    with pytest.raises(
        CuebenchError, match=r"set: 2 problems\n  shape/clock/b.png: .*\n  shape/clock/c.jpg: "
    ):
        import_review(record, "set", str(folder))


def test_a_run_without_a_picture_is_refused(record: Store, tmp_path: Path) -> None:
    run = write_cues(tmp_path / "run", 1, failed=[0])
    with pytest.raises(CuebenchError, match="run: no cue with status `ok`"):
        import_review(record, "first", str(run))


def test_every_missing_and_changed_picture_of_a_run_is_named(record: Store, tmp_path: Path) -> None:
    run = write_cues(tmp_path / "run", 3)
    (run / "cues/shape/clock/0-first.png").unlink()
    (run / "cues/texture/zebra/1-first.png").write_bytes(b"something else")
    with pytest.raises(CuebenchError) as error:
        import_review(record, "first", str(run))
    assert "cues.jsonl: 2 problems" in str(error.value)
    assert "0-first.png: no such file; render the run again" in str(error.value)
    assert "1-first.png: not the picture of its row (the SHA-256 differs); render the run again" in str(
        error.value
    )


def test_equal_pictures_of_a_class_are_judged_once(record: Store, tmp_path: Path) -> None:
    folder = write_images(tmp_path / "set", ["shape/clock/a.png"])
    shutil.copy(folder / "shape/clock/a.png", folder / "shape/clock/b.png")
    summary = import_review(record, "set", str(folder))
    assert (summary.n_new, summary.n_equal) == (1, 1)


def test_a_picture_in_two_classes_is_refused(record: Store, tmp_path: Path) -> None:
    folder = write_images(tmp_path / "set", ["shape/clock/a.png"])
    (folder / "shape/bell").mkdir()
    shutil.copy(folder / "shape/clock/a.png", folder / "shape/bell/b.png")
    with pytest.raises(
        CuebenchError, match=r"clock/a.png: the same picture as .*bell/b.png, of another class"
    ):
        import_review(record, "set", str(folder))


def test_a_picture_that_another_review_knows_under_another_class_is_refused(
    record: Store, tmp_path: Path
) -> None:
    import_review(record, "one", str(write_images(tmp_path / "one", ["shape/clock/a.png"])))
    (tmp_path / "two/shape/bell").mkdir(parents=True)
    shutil.copy(tmp_path / "one/shape/clock/a.png", tmp_path / "two/shape/bell/a.png")
    with pytest.raises(CuebenchError, match="known as clock, here it is bell; a picture has one class"):
        import_review(record, "two", str(tmp_path / "two"))


def test_two_reviews_share_their_pictures(record: Store, tmp_path: Path) -> None:
    run = write_cues(tmp_path / "run", 2)
    import_review(record, "one", str(run))
    moved = shutil.copytree(run, tmp_path / "moved")
    assert import_review(record, "two", str(moved)).n_new == 4
    found = items(record)
    assert len(found) == 8
    assert len({item.id for item, _ in found}) == 4
    assert all(Path(item.file_url).is_relative_to(moved) for item, _ in found)


def test_a_cue_rendered_again_retires_the_old_one_and_makes_its_verdicts_stale(
    record: Store, tmp_path: Path
) -> None:
    import_review(record, "first", str(write_cues(tmp_path / "run", 5)), overlap=0)
    assign(record, "first", ["ada"])
    answer(record, [s for s in showings(record, "first") if s.role == "main"], "accept")
    before = {item.sha256 for item, _ in items(record)}
    again = write_cues(tmp_path / "again", 5, again=[0, 1], failed=[2])
    summary = import_review(record, "first", str(again))
    assert (summary.n_new, summary.n_kept, summary.n_retired, summary.n_stale, summary.n_absent) == (
        4,
        4,
        6,
        6,
        0,
    )
    assert "6 pictures replaced or gone, 6 verdicts on them are stale" in summary.to_text()
    states = accepted_hashes(record, "first")
    assert sorted(states[name] for name in before) == ["accepted"] * 4 + ["stale"] * 6
    assert sorted(state for name, state in states.items() if name not in before) == ["undecided"] * 4
    status = review_status(record, "first")
    assert (status.states["stale"], status.n_stale_verdicts, status.reviewers[0].n_stale) == (6, 6, 6)
    assert [(row.n_items, row.states["stale"]) for row in status.classes] == [(4, 3), (4, 3)]
    assert "stale verdicts, on pictures that were made again: 6" in status.to_text()


def test_going_back_to_the_first_rendering_brings_its_verdicts_back(record: Store, tmp_path: Path) -> None:
    first = write_cues(tmp_path / "run", 2)
    import_review(record, "first", str(first), overlap=0)
    assign(record, "first", ["ada"])
    answer(record, showings(record, "first"), "accept")
    import_review(record, "first", str(write_cues(tmp_path / "again", 2, again=[0])))
    assert import_review(record, "first", str(first)).n_retired == 2
    states = accepted_hashes(record, "first")
    assert sorted(states.values()) == ["accepted"] * 4 + ["stale"] * 2


def test_an_image_replaced_under_its_name_retires_the_old_one(record: Store, tmp_path: Path) -> None:
    folder = write_images(tmp_path / "set", ["shape/clock/a.png", "shape/clock/b.png"])
    import_review(record, "set", str(folder))
    PillowImage.fromarray(np.zeros((9, 9, 3), np.uint8)).save(folder / "shape/clock/a.png")
    summary = import_review(record, "set", str(folder))
    assert (summary.n_new, summary.n_kept, summary.n_retired) == (1, 1, 1)


def test_what_an_import_does_not_hold_stays(record: Store, tmp_path: Path) -> None:
    run = str(write_cues(tmp_path / "run", 3))
    import_review(record, "first", run, cue_kind="shape")
    summary = import_review(record, "first", run, cue_kind="texture")
    assert (summary.n_new, summary.n_retired, summary.n_absent) == (3, 0, 3)


def test_retired_pictures_leave_the_queues(record: Store, tmp_path: Path) -> None:
    import_review(record, "first", str(write_cues(tmp_path / "run", 10)), overlap=0, repeat_share=0)
    assign(record, "first", ["ada"])
    answer(record, showings(record, "first")[:3], "accept")
    import_review(record, "first", str(write_cues(tmp_path / "again", 10, again=range(10))))
    assert len(showings(record, "first")) == 3
    summary = assign(record, "first")
    assert [(q.n_new, q.n_answered) for q in summary.reviewers] == [(20, 3)]


def test_what_a_reviewer_may_have_on_the_screen_stays_in_the_queue(record: Store, tmp_path: Path) -> None:
    import_review(record, "first", str(write_cues(tmp_path / "run", 30)), overlap=0, repeat_share=0)
    assign(record, "first", ["ada"])
    queue = showings(record, "first")
    open_session(record, queue[0].rater_id, 1, "tab")
    answer(record, queue[:5], "accept")
    import_review(record, "first", str(write_cues(tmp_path / "again", 30, again=range(30))))
    assert [s.id for s in showings(record, "first")] == [s.id for s in queue[: 5 + 24]]


def test_known_bad_pictures_get_their_role(record: Store, tmp_path: Path) -> None:
    bad = write_images(tmp_path / "bad", ["shape/clock/bad.png"])
    summary = import_review(record, "first", str(write_cues(tmp_path / "run", 2)), known_bad=str(bad))
    assert summary.n_known_bad == 1
    ((item, link),) = items(record, "known_bad")
    assert (item.superclass, link.expected_answer) == ("clock", "reject")
    assert item.sha256 not in accepted_hashes(record, "first")


def test_a_known_bad_picture_may_not_be_a_cue_of_the_review(record: Store, tmp_path: Path) -> None:
    folder = write_images(tmp_path / "set", ["shape/clock/a.png"])
    with pytest.raises(CuebenchError, match=r"a.png: known to be bad, and a cue of the review"):
        import_review(record, "set", str(folder), known_bad=str(folder))


def test_settings_are_stored_and_stay(record: Store, tmp_path: Path) -> None:
    run = str(write_cues(tmp_path / "run", 2))
    import_review(record, "first", run, seed=5, overlap=1.0, guideline="Look closely.")
    with record.read() as session:
        campaign = session.scalars(select(Campaign)).one()
        settings = json.loads(campaign.protocol_json)
        assert (campaign.kind, campaign.state, campaign.seed) == ("review", "draft", 5)
        assert campaign.protocol_sha256 == sha256(campaign.protocol_json)
    assert settings == {"n_raters": 1, "overlap": 1.0, "repeat_share": 0.03, "guideline": "Look closely."}
    import_review(record, "first", run, overlap=1.0)
    with pytest.raises(
        CuebenchError, match=r"first: overlap is 1.0 since it began, got 0.5; leave it out, or begin"
    ):
        import_review(record, "first", run, overlap=0.5)
    with pytest.raises(CuebenchError, match="first: seed is 5 since it began, got 6"):
        import_review(record, "first", run, seed=6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"overlap": 1.5}, "overlap: expected a share from 0 to 1, got 1.5"),
        ({"repeat_share": 0.6}, "repeat_share: expected a share from 0 to 0.5, got 0.6"),
        ({"n_raters": 0}, "n_raters: expected 1 or more, got 0"),
        ({"seed": -1}, "seed: expected 0 to 2147483647, got -1"),
    ],
)
def test_a_setting_out_of_range_is_refused_and_nothing_is_written(
    record: Store, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(CuebenchError, match=message):
        import_review(record, "first", str(write_cues(tmp_path / "run", 1)), **options)
    assert items(record) == []


@pytest.mark.parametrize("state", ["frozen", "closed"])
def test_a_review_that_is_over_takes_nothing(record: Store, tmp_path: Path, state: str) -> None:
    run = str(write_cues(tmp_path / "run", 1))
    import_review(record, "first", run)
    with record.write() as session:
        session.execute(update(Campaign).values(state=state))
    for change in (lambda: import_review(record, "first", run), lambda: assign(record, "first", ["ada"])):
        with pytest.raises(
            CuebenchError, match=f"first: it is {state}, nothing in it changes; begin another one"
        ):
            change()


def test_a_campaign_of_another_kind_is_refused(record: Store, tmp_path: Path) -> None:
    run = str(write_cues(tmp_path / "run", 1))
    import_review(record, "first", run)
    with record.write() as session:
        session.execute(update(Campaign).values(kind="study"))
    with pytest.raises(CuebenchError, match="first: a study has participants, no reviewers"):
        import_review(record, "first", run)
    with record.write() as session:
        session.execute(update(Campaign).values(kind="mask"))
    with pytest.raises(CuebenchError, match="first: expected a review campaign, got a mask campaign"):
        import_review(record, "first", run)


def test_more_pictures_than_one_statement_holds_are_placed(
    record: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curation.item_placement._N_AT_ONCE", 3)
    import_review(record, "first", str(write_cues(tmp_path / "run", 5)), overlap=0)
    assign(record, "first", ["ada"])
    answer(record, showings(record, "first"), "accept")
    summary = import_review(record, "first", str(write_cues(tmp_path / "again", 5, again=range(4))))
    assert (summary.n_new, summary.n_kept, summary.n_retired) == (8, 2, 8)
    assert summary.n_stale >= 8
