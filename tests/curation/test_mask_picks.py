from __future__ import annotations

import json
import logging
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from sqlalchemy import select, update

from curation.answers import ClientEvent, record_events
from curation.database import Store
from curation.mask_candidates import find_candidates
from curation.mask_picks import import_masks, write_picks
from curation.review import assign, import_review
from curation.tables import Campaign, Item, MaskCandidate
from data_manifests.errors import CuebenchError
from data_manifests.jsonl import read_records, write_records
from data_manifests.records import MaskRecord, SourceRecord
from data_manifests.taxonomy import read_taxonomy
from generation.executors import WorkerDied, executor_for
from generation.ingest import ingest
from generation.masks import encode_mask, mask_sha256, read_mask
from generation.recipe import MaskParams, Recipe
from generation.run import generate
from generation.source_cues import RunContext
from tests.curation.review_run import Showing, answer, showings
from tests.generation.photographs import write_photographs

T = TypeVar("T")
R = TypeVar("R")

RECIPE = Recipe(name="test", grids=(8,), mask=MaskParams(segmenters=("grabcut", "fullframe")))


def render(photos: Path, run: Path, recipe: Recipe = RECIPE, picks: Path | None = None) -> Path:
    """Render the photographs into a run folder, with picked masks if there are any."""
    generate(
        recipe,
        ingest(str(photos), read_taxonomy("refined-bias-20"), relative_to=str(run)).records,
        RunContext(str(run), picks=str(picks.parent) if picks else ""),
        executor_for("serial", 1),
        picks=read_records(str(picks), MaskRecord) if picks else [],
    )
    return run


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    write_photographs(folder, n_shape=3, n_texture=1)
    return folder


@pytest.fixture(scope="module")
def run(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return render(photos, tmp_path_factory.mktemp("runs") / "run")


def candidates(record: Store, sha256: str) -> list[MaskCandidate]:
    query = select(MaskCandidate).join(Item).where(Item.sha256 == sha256).order_by(MaskCandidate.position)
    with record.read() as session:
        found = list(session.scalars(query))
        session.expunge_all()
    return found


def pick(record: Store, showing: Showing, said: str) -> None:
    ack = record_events(
        record, showing.rater_id, None, [ClientEvent(showing.id[:30], showing.id, "answer", said)]
    )
    assert ack[0].status == "stored", ack


def queue(
    record: Store, run: Path, reviewers: tuple[str, ...] = ("ada",), overlap: float = 0.0
) -> list[Showing]:
    import_masks(record, "masks", str(run), overlap=overlap)
    assign(record, "masks", reviewers)
    return showings(record, "masks")


def test_photographs_come_with_the_masks_of_the_recipe(record: Store, run: Path) -> None:
    summary = import_masks(record, "masks", str(run))
    assert (summary.n_photographs, summary.n_new, summary.problems) == (4, 4, ())
    used = {mask.source_id: mask for mask in read_records(str(run / "masks.jsonl"), MaskRecord)}
    total = 0
    for source in read_records(str(run / "sources.jsonl"), SourceRecord):
        found = candidates(record, source.source_id)
        total += len(found)
        assert found[0].mask_sha256 == used[source.source_id].mask_sha256
        assert {row.segmenter for row in found} >= {"grabcut", "fullframe"}
        assert len({row.public_id for row in found}) == len(found) == len({row.mask_sha256 for row in found})
        for row in found:
            mask = read_mask(Path(row.file_url).read_bytes())
            assert mask_sha256(mask) == row.mask_sha256
            assert mask.shape == (240, 240)
            assert json.loads(row.scores_json)["area_share"] == pytest.approx(mask.mean())
    assert summary.n_candidates == total


def test_importing_again_adds_nothing(record: Store, run: Path) -> None:
    first = import_masks(record, "masks", str(run))
    again = import_masks(record, "masks", str(run))
    assert (again.n_new, again.n_candidates) == (0, first.n_candidates)


def test_masks_of_another_recipe_join_behind_those_that_were_there(
    record: Store, run: Path, photos: Path, tmp_path: Path
) -> None:
    import_masks(record, "masks", str(run))
    source = read_records(str(run / "sources.jsonl"), SourceRecord)[0]
    before = [row.public_id for row in candidates(record, source.source_id)]
    mask = np.zeros((240, 240), bool)
    mask[30:200, 30:200] = True
    folder = tmp_path / "drawn"
    folder.mkdir()
    for number in (0, 1, 2, 100):
        (folder / f"{number}.png").write_bytes(encode_mask(mask))
    drawn = Recipe(name="drawn", grids=(8,), mask=MaskParams(segmenters=(f"folder:{folder}",)))
    import_masks(record, "masks", str(render(photos, tmp_path / "other", drawn)))
    after = candidates(record, source.source_id)
    assert [row.public_id for row in after[:-1]] == before
    assert (after[-1].segmenter, after[-1].position) == (f"folder:{folder}", len(after))


def test_the_texts_of_a_summary_count(record: Store, run: Path, tmp_path: Path) -> None:
    text = import_masks(record, "masks", str(run)).to_text()
    assert "4 photographs, 4 of them new" in text
    assert "masks to choose from" in text
    picks = write_picks(record, "masks", str(tmp_path / "masks.jsonl")).to_text()
    assert "masks masks: 4 photographs" in picks
    assert "4 not answered yet" in picks


def test_a_photograph_that_is_gone_is_left_out_and_named(record: Store, photos: Path, tmp_path: Path) -> None:
    moved = tmp_path / "photos"
    write_photographs(moved, n_shape=2, n_texture=0)
    run = render(moved, tmp_path / "run")
    (moved / "clock/0.png").unlink()
    (moved / "clock/1.png").write_bytes((photos / "zebra/100.png").read_bytes())
    summary = import_masks(record, "masks", str(run))
    assert summary.n_photographs == 0
    assert "clock/0.png: no such file" in summary.problems[0]
    assert "not the bytes of the manifest; run `ingest` again" in summary.problems[1]
    assert "left out: ../photos/clock/0.png" in summary.to_text()


def test_only_what_a_review_rejected_may_be_imported(record: Store, run: Path) -> None:
    import_review(record, "first", str(run), overlap=0, repeat_share=0)
    assign(record, "first", ["ada"])
    clocks = [showing for showing in showings(record, "first") if showing.superclass == "clock"]
    answer(record, clocks[:1], "reject")
    answer(record, clocks[1:], "accept")
    summary = import_masks(record, "masks", str(run), review="first")
    assert summary.n_photographs == 1


def test_nothing_to_pick_for_is_an_error(record: Store, run: Path) -> None:
    import_review(record, "first", str(run))
    with pytest.raises(CuebenchError, match="run: no photograph to pick a mask for"):
        import_masks(record, "masks", str(run), review="first")


def test_the_mask_that_the_run_used_comes_first_whatever_made_it(
    record: Store, photos: Path, tmp_path: Path
) -> None:
    run = render(photos, tmp_path / "run")
    (row,) = [
        mask for mask in read_records(str(run / "masks.jsonl"), MaskRecord) if mask.cue_kind == "texture"
    ]
    whole = np.ones((240, 240), bool)
    (run / "masks/picked.png").write_bytes(encode_mask(whole))
    used = {
        "mask_sha256": mask_sha256(whole),
        "file_name": "masks/picked.png",
        "segmenter": "picked/fullframe",
    }
    write_records(str(run / "masks.jsonl"), [row.model_copy(update=used)])
    import_masks(record, "masks", str(run), cue_kind="texture")
    assert [found.segmenter for found in candidates(record, row.source_id)][:2] == ["fullframe", "grabcut"]
    half = whole.copy()
    half[:, :120] = False
    (run / "masks/picked.png").write_bytes(encode_mask(half))
    write_records(str(run / "masks.jsonl"), [row.model_copy(update={**used, "segmenter": "picked/box/sam"})])
    (found,) = find_candidates(str(run), RECIPE.mask, piece_of(run, "texture"), executor_for("serial", 1))
    assert [mask.segmenter for mask in found.masks][:2] == ["picked/box/sam", "grabcut"]


def piece_of(run: Path, kind: str) -> list[tuple[SourceRecord, MaskRecord | None]]:
    used = {mask.source_id: mask for mask in read_records(str(run / "masks.jsonl"), MaskRecord)}
    sources = read_records(str(run / "sources.jsonl"), SourceRecord)
    return [(source, used.get(source.source_id)) for source in sources if source.cue_kind == kind]


class DyingExecutor:
    """An engine whose workers are killed."""

    def run(
        self,
        function: Callable[[T], R],  # noqa: ARG002
        items: Sequence[T],
    ) -> Generator[tuple[T, R | WorkerDied], None, None]:
        yield from ((item, WorkerDied()) for item in items)


def test_a_photograph_that_kills_its_worker_is_left_out_and_named(record: Store, run: Path) -> None:
    summary = import_masks(record, "masks", str(run), executor=DyingExecutor())
    assert summary.n_photographs == 0
    assert {problem.partition(": ")[2] for problem in summary.problems} == {
        "the process died; out of memory?"
    }


def test_a_segmenter_that_is_not_there_ends_the_import(record: Store, photos: Path, tmp_path: Path) -> None:
    run = render(photos, tmp_path / "run")
    recipe = RECIPE.model_copy(update={"mask": MaskParams(segmenters=("folder:nowhere",))})
    (run / "recipe.toml").write_text(recipe.to_toml(), encoding="utf-8")
    with pytest.raises(CuebenchError, match="folder:nowhere: no such folder of masks"):
        import_masks(record, "masks", str(run))


def test_kinds_may_be_picked_apart(record: Store, run: Path) -> None:
    assert import_masks(record, "masks", str(run), cue_kind="texture").n_photographs == 1


def test_picks_are_what_a_run_renders_from(record: Store, run: Path, photos: Path, tmp_path: Path) -> None:
    shown = queue(record, run)
    clocks = [showing for showing in shown if showing.kind == "shape"]
    chosen = candidates(record, clocks[0].sha256)[-1]
    pick(record, clocks[0], chosen.public_id)
    pick(record, clocks[1], "none")
    pick(record, clocks[2], "box:10,10,230,230")
    out = tmp_path / "picks/masks.jsonl"
    summary = write_picks(record, "masks", str(out))
    assert (summary.n_picked, summary.n_none, summary.n_boxes, summary.n_open) == (1, 1, 1, 1)
    assert (summary.differing, summary.failed, summary.box_segmenter) == ((), (), "grabcut")
    rows = {row.source_id: row for row in read_records(str(out), MaskRecord)}
    assert set(rows) == {showing.sha256 for showing in clocks}
    picked, none, box = (rows[showing.sha256] for showing in clocks)
    assert (picked.mask_sha256, picked.segmenter) == (chosen.mask_sha256, f"picked/{chosen.segmenter}")
    assert picked.reason == "picked by a person"
    assert (none.mask_sha256, none.file_name) == (None, None)
    assert (box.segmenter, box.reason) == ("picked/box/grabcut", "box 10,10,230,230, drawn by a person")
    assert 0.3 < read_mask((out.parent / str(box.file_name)).read_bytes()).mean() < 0.8
    again = render(photos, tmp_path / "again", picks=out)
    used = {row.source_id: row for row in read_records(str(again / "masks.jsonl"), MaskRecord)}
    assert used[clocks[0].sha256].mask_sha256 == chosen.mask_sha256
    assert used[clocks[2].sha256].mask_sha256 == box.mask_sha256
    assert clocks[1].sha256 not in used


def test_the_same_picks_give_the_same_bytes(record: Store, run: Path, tmp_path: Path) -> None:
    for showing in queue(record, run):
        pick(record, showing, "box:10,10,230,230")
    write_picks(record, "masks", str(tmp_path / "a/masks.jsonl"))
    write_picks(record, "masks", str(tmp_path / "b/masks.jsonl"))
    assert (tmp_path / "a/masks.jsonl").read_bytes() == (tmp_path / "b/masks.jsonl").read_bytes()


def test_two_people_agree_or_the_photograph_is_left_out(record: Store, run: Path, tmp_path: Path) -> None:
    shown = [showing for showing in queue(record, run, ("ada", "bo"), overlap=1.0) if showing.kind == "shape"]
    by_photograph: dict[str, list[Showing]] = {}
    for showing in shown:
        by_photograph.setdefault(showing.sha256, []).append(showing)
    alike, apart, _ = by_photograph.values()
    first, second = candidates(record, apart[0].sha256)[:2]
    for showing, said in zip(
        [*alike, *apart], ["none", "none", first.public_id, second.public_id], strict=True
    ):
        pick(record, showing, said)
    summary = write_picks(record, "masks", str(tmp_path / "masks.jsonl"))
    assert (summary.n_none, summary.n_picked, summary.n_open, len(summary.differing)) == (1, 0, 2, 1)
    (row,) = read_records(str(tmp_path / "masks.jsonl"), MaskRecord)
    assert (row.source_id, row.reason) == (alike[0].sha256, "2 people found no candidate usable")
    assert "the picks differ" in summary.to_text()


def test_a_picked_mask_that_was_changed_is_left_out_and_named(
    record: Store, photos: Path, tmp_path: Path
) -> None:
    shown = queue(record, render(photos, tmp_path / "run"))
    chosen = candidates(record, shown[0].sha256)[0]
    pick(record, shown[0], chosen.public_id)
    Path(chosen.file_url).write_bytes(encode_mask(np.ones((240, 240), bool)))
    summary = write_picks(record, "masks", str(tmp_path / "masks.jsonl"))
    assert summary.n_picked == 0
    assert summary.failed == (f"{chosen.file_url}: not the mask that was picked; import the masks again",)


def test_a_box_with_nothing_in_it_is_named(record: Store, tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    write_photographs(photos, n_shape=1, n_texture=0)
    shown = queue(record, render(photos, tmp_path / "run"))
    pick(record, shown[0], "box:0,0,4,4")
    (failed,) = write_picks(record, "masks", str(tmp_path / "masks.jsonl")).failed
    assert "nothing found in the box (0, 0, 4, 4); draw it wider, or pick a mask" in failed


def test_a_box_on_a_photograph_that_is_gone_is_named(record: Store, tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    write_photographs(photos, n_shape=1, n_texture=0)
    shown = queue(record, render(photos, tmp_path / "run"))
    pick(record, shown[0], "box:10,10,230,230")
    (photos / "clock/0.png").unlink()
    (failed,) = write_picks(record, "masks", str(tmp_path / "masks.jsonl")).failed
    assert "0.png: no such file" in failed


def test_sam_of_the_recipe_that_is_not_there_gives_way_to_grabcut_and_is_named(
    record: Store, run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    queue(record, run)
    with record.write() as session:
        campaign = session.scalars(select(Campaign)).one()
        settings = {**json.loads(campaign.protocol_json), "segmenters": ["grabcut", "sam:nowhere_vit_b.pth"]}
        session.execute(update(Campaign).values(protocol_json=json.dumps(settings)))
    with caplog.at_level(logging.WARNING):
        assert write_picks(record, "masks", str(tmp_path / "masks.jsonl")).box_segmenter == "grabcut"
    assert "boxes are cut out by grabcut" in caplog.text
    with pytest.raises(CuebenchError, match="sam"):
        write_picks(record, "masks", str(tmp_path / "masks.jsonl"), segmenter="sam:nowhere_vit_b.pth")


def test_a_segmenter_that_takes_no_box_is_refused(record: Store, run: Path, tmp_path: Path) -> None:
    queue(record, run)
    with pytest.raises(CuebenchError, match="alpha: takes no box; expected grabcut or sam:CHECKPOINT"):
        write_picks(record, "masks", str(tmp_path / "masks.jsonl"), segmenter="alpha")


def test_a_photograph_of_two_classes_is_picked_once(record: Store, photos: Path, tmp_path: Path) -> None:
    run = render(photos, tmp_path / "run")
    rows = read_records(str(run / "sources.jsonl"), SourceRecord)
    write_records(str(run / "sources.jsonl"), [*rows, rows[0].model_copy(update={"superclass": "bell"})])
    assert import_masks(record, "masks", str(run)).n_photographs == 4


def test_processes_find_the_same_masks(record: Store, run: Path) -> None:
    summary = import_masks(record, "masks", str(run), executor=executor_for("process", 2))
    assert (summary.n_photographs, summary.problems) == (4, ())


def test_a_campaign_of_another_kind_is_refused(record: Store, run: Path) -> None:
    import_review(record, "first", str(run))
    with pytest.raises(CuebenchError, match="first: expected a mask campaign, got a review campaign"):
        import_masks(record, "first", str(run))
    with pytest.raises(CuebenchError, match="first: expected a mask campaign, got a review campaign"):
        write_picks(record, "first", "masks.jsonl")
