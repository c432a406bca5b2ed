from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from curation.database import Store, open_store
from curation.protocol import StudyProtocol, read_protocol
from curation.study import plan_study, study_protocol
from curation.study_planning import PlanSummary
from curation.tables import CampaignItem, Item, Slot
from data_manifests.errors import CuebenchError
from tests.curation.study_run import write_run


def small(**changes: object) -> StudyProtocol:
    numbers: dict[str, Any] = {
        "name": "small", "n_images_per_cue": 20, "n_ratings_per_image": 4, "min_ratings_per_image": 3,
        "n_trials_per_cue": 10,
    }  # fmt: skip
    return StudyProtocol.model_validate({**numbers, **changes})


def plan(
    record: Store, folder: Path, protocol: StudyProtocol, n_per_class: int = 3, **options: Any
) -> PlanSummary:
    return plan_study(record, "fall", write_run(folder / "run", n_per_class), protocol, **options)


def designs(record: Store) -> list[list[dict[str, Any]]]:
    with record.read() as session:
        return [
            json.loads(text) for text in session.scalars(select(Slot.design_json).order_by(Slot.design_row))
        ]


def test_the_default_protocol_needs_88_participants_with_50_trials_of_each_kind(
    record: Store, tmp_path: Path
) -> None:
    summary = plan(record, tmp_path, read_protocol("default"), 46)
    assert (summary.n_participants, summary.n_invitations, summary.n_trials) == (88, 98, 112)
    assert summary.n_images == {"shape": 440, "texture": 440}
    assert summary.n_ratings == {"shape": (10, 10), "texture": (10, 10)}
    assert summary.notes == ()
    with record.read() as session:
        class_of = dict(session.execute(select(Item.id, Item.superclass)).all())
        grids = Counter(
            session.execute(
                select(Item.superclass, Item.grid)
                .join(CampaignItem, CampaignItem.item_id == Item.id)
                .where(Item.cue_kind == "texture", CampaignItem.role == "main")
            ).all()
        )
    assert max(grids.values()) - min(grids.values()) <= 1
    for blocks in designs(record):
        for block in blocks[2:]:
            main = [item for item, role, _ in block["trials"] if role == "main"]
            assert len(set(main)) == 50
            assert set(Counter(class_of[item] for item in main).values()) == {5}
            roles = Counter(role for _, role, _ in block["trials"])
            assert roles == {"main": 50, "catch": 4, "repeat": 2}


def test_fewer_images_than_asked_are_said_and_the_study_is_scaled(record: Store, tmp_path: Path) -> None:
    summary = plan(record, tmp_path, read_protocol("pilot"))
    assert summary.n_images == {"shape": 28, "texture": 28}
    assert summary.n_participants == 10
    assert summary.n_ratings == {"shape": (10, 10), "texture": (10, 10)}
    assert summary.notes[0].startswith(
        "shape: the protocol asks for 100 images, there are 28 (up to 10 a class; "
    )
    assert "note: shape: the protocol asks" in summary.to_text()


@pytest.mark.parametrize(
    ("n_repeats", "n_trials", "told"), [(1, 4, ()), (1, 2, ("n_repeats: 1 asked for, a participant gets 0:",)),
                                        (4, 4, ("n_repeats: 4 asked for, a participant gets 2:",))],
)  # fmt: skip
def test_repeats_that_do_not_fit_are_said(
    record: Store, tmp_path: Path, n_repeats: int, n_trials: int, told: tuple[str, ...]
) -> None:
    summary = plan(
        record, tmp_path, small(n_repeats=n_repeats, n_trials_per_cue=n_trials, n_ratings_per_image=9)
    )
    assert len(summary.notes) == len(told)
    assert all(words in note for words, note in zip(told, summary.notes, strict=True))


def test_practice_leaves_every_class_a_picture(record: Store, tmp_path: Path) -> None:
    summary = plan(record, tmp_path, small(n_images_per_cue=0, n_trials_per_cue=0), n_per_class=1)
    assert summary.n_images == {"shape": 10, "texture": 10}
    assert (
        "shape: 0 trials of practice, not 2: every class keeps a picture for the main trials" in summary.notes
    )


def test_a_crew_sees_everything_and_is_warned(record: Store, tmp_path: Path) -> None:
    summary = plan(record, tmp_path, read_protocol("crew"))
    assert (summary.n_participants, summary.n_invitations) == (4, 4)
    assert summary.n_images == {"shape": 28, "texture": 28}  # two of each are for practice
    assert summary.n_ratings == {"shape": (4, 4), "texture": (4, 4)}
    (warning,) = summary.notes
    assert warning.startswith("4 participants can't certify kappa to better than about +-.1")


def test_practice_catch_and_main_pictures_are_different_ones(record: Store, tmp_path: Path) -> None:
    plan(record, tmp_path, small())
    with record.read() as session:
        rows = session.execute(
            select(CampaignItem.role, CampaignItem.item_id, CampaignItem.expected_answer)
        ).all()
        class_of = dict(session.execute(select(Item.id, Item.superclass)).all())
    roles = Counter(role for role, _, _ in rows)
    assert roles == {"main": 40, "practice": 4, "catch": 40}
    assert len({item for _, item, _ in rows}) == 84
    assert all(class_of[item] == expected for _, item, expected in rows)


def test_the_same_seed_gives_the_same_design(tmp_path: Path) -> None:
    found = []
    for number, seed in enumerate((1, 1, 2)):
        record = open_store(str(tmp_path / f"{number}.db"))
        plan(record, tmp_path, small(), seed=seed)
        with record.read() as session:
            sha256_of = dict(session.execute(select(Item.id, Item.sha256)).all())
        found.append([[sha256_of[t[0]] for block in row for t in block["trials"]] for row in designs(record)])
        record.close()
    assert found[0] == found[1] != found[2]


def test_the_protocol_is_stored_with_the_classes_as_options(record: Store, tmp_path: Path) -> None:
    summary = plan(record, tmp_path, small())
    stored = study_protocol(record, "fall")
    assert stored.options["shape"] == tuple(f"shape_{number}" for number in range(10))
    assert stored.sha256 == summary.protocol_sha256
    assert json.loads(json.dumps(summary.to_json()))["n_participants"] == 8


def test_only_one_kind_is_planned_where_the_protocol_says_so(record: Store, tmp_path: Path) -> None:
    summary = plan(record, tmp_path, small(cue_kinds=["texture"], n_catch=3, n_repeats=2))
    assert summary.n_images == {"texture": 20}
    assert summary.n_trials == 10 + 3 + 2


def test_a_study_is_never_planned_over(record: Store, tmp_path: Path) -> None:
    plan(record, tmp_path, small())
    with pytest.raises(
        CuebenchError, match="campaign fall: exists already; a planned study is never changed"
    ):
        plan(record, tmp_path, small())


def test_a_class_that_is_no_option_is_refused(record: Store, tmp_path: Path) -> None:
    options = {"shape": [f"shape_{number}" for number in range(9)]}
    with pytest.raises(CuebenchError, match="shape cues of shape_9, which is no option of the protocol"):
        plan(record, tmp_path, small(options=options))


def test_a_kind_without_cues_is_refused(record: Store, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 3, textures=())
    with pytest.raises(CuebenchError, match="no cue with status `ok` of kind texture, but the protocol has"):
        plan_study(record, "fall", run, small())


def test_one_class_alone_is_no_choice(record: Store, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 30, shapes=("clock",))
    with pytest.raises(CuebenchError, match=r"options.shape: expected two or more different answers"):
        plan_study(record, "fall", run, small())


def test_catch_trials_need_photographs(record: Store, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 3)
    (tmp_path / "run" / "sources.jsonl").rename(tmp_path / "elsewhere.jsonl")
    with pytest.raises(
        CuebenchError, match=r"sources.jsonl: no such file, but 8 catch trials need photographs"
    ):
        plan_study(record, "fall", run, small())
    with pytest.raises(
        CuebenchError, match="0 photographs of shape classes for catch trials, expected at least 4"
    ):
        plan_study(record, "fall", run, small(), catch_url=str(tmp_path / "elsewhere.jsonl"))
    assert plan_study(record, "fall", run, small(n_catch=0)).n_trials == 20 + 4
