from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from data_manifests.errors import CuebenchError
from data_manifests.labels import imagenet_labels
from evaluation.cue_conflict import (
    ConflictTrial,
    by_subject,
    conflict_classes,
    decide,
    decide_full,
    read_label_groups,
    read_trials,
    shape_bias,
    write_trials,
)
from evaluation.label_space import LabelSpace, label_space
from tests.paths import SHARED_DATA, needs_shared_data


def trial(shape: str, texture: str, response: str | None, subject: str = "net") -> ConflictTrial:
    return ConflictTrial(subject, f"{shape}1-{texture}2.png", shape, texture, response)


@needs_shared_data
@pytest.mark.parametrize(
    ("name", "n_shape", "n_texture", "bias", "macro"),
    [
        ("resnet50", 162, 572, 0.2207, 0.1951),
        ("alexnet", 182, 537, 0.2531, None),
        ("vgg16", 84, 828, 0.0921, None),
    ],
)
def test_networks_are_reproduced(
    name: str, n_shape: int, n_texture: int, bias: float, macro: float | None
) -> None:
    (path,) = (SHARED_DATA / "cue_conflict_models").glob(f"*_{name}_*.csv")
    found = shape_bias(read_trials(str(path)))
    assert (found.n_shape, found.n_texture, found.n_same) == (n_shape, n_texture, 80)
    assert found.value is not None
    assert round(found.value, 4) == bias
    if macro is not None:
        assert found.macro is not None
        assert round(found.macro, 4) == macro


@needs_shared_data
def test_people_are_reproduced() -> None:
    trials = [
        t
        for path in sorted((SHARED_DATA / "human" / "cue-conflict").glob("*.csv"))
        for t in read_trials(str(path))
    ]
    found = shape_bias(trials)
    assert (found.n_shape, found.n_texture, found.n_same) == (9236, 398, 800)
    assert found.value is not None
    assert found.macro is not None
    assert (round(found.value, 4), round(found.macro, 4)) == (0.9587, 0.9538)
    assert len(by_subject(trials)) == 10


def test_counts_by_hand() -> None:
    found = shape_bias(
        [
            trial("cat", "dog", "cat"),
            trial("cat", "dog", "dog"),
            trial("cat", "dog", "cat"),
            trial("dog", "cat", "cat"),
            trial("dog", "cat", "oven"),
            trial("dog", "cat", None),
            trial("cat", "cat", "cat"),
        ]
    )
    assert (found.n_shape, found.n_texture, found.n_other, found.n_missing, found.n_same) == (2, 2, 1, 1, 1)
    assert found.value == 0.5
    assert found.macro == pytest.approx((2 / 3 + 0) / 2)
    assert found.cue_accuracy == 0.8


def test_no_answer_to_either_class_is_undefined() -> None:
    found = shape_bias([trial("cat", "dog", "oven"), trial("cat", "dog", None)])
    assert (found.value, found.macro, found.cue_accuracy) == (None, None, 0.0)
    assert shape_bias([trial("cat", "dog", None)]).cue_accuracy is None
    with pytest.raises(CuebenchError, match="there are no trials"):
        shape_bias([])


def test_trials_survive_the_csv(tmp_path: Path) -> None:
    trials = [trial("cat", "dog", "cat"), trial("oven", "clock", None)]
    write_trials(str(tmp_path / "a.csv"), trials)
    assert read_trials(str(tmp_path / "a.csv")) == trials
    text = (tmp_path / "a.csv").read_text()
    (tmp_path / "b.csv").write_text(text.replace("subj,", "Subj,").replace("imagename", "ImageName"))
    assert read_trials(str(tmp_path / "b.csv")) == trials


def test_bad_tables_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("subj,imagename\nx,y\n")
    with pytest.raises(CuebenchError, match="no column object_response; the columns are subj, imagename"):
        read_trials(str(tmp_path / "a.csv"))
    (tmp_path / "b.csv").write_text("subj,imagename,object_response\nx,cat1-dog1.png,cat\nx,cat.png,cat\n")
    with pytest.raises(
        CuebenchError, match=r"line 3: cat\.png: expected a name that ends in SHAPE1-TEXTURE2\.png"
    ):
        read_trials(str(tmp_path / "b.csv"))


def test_names_tell_the_classes() -> None:
    assert conflict_classes("x/keyboard10-oven2.png") == ("keyboard", "oven")


def test_the_sixteen_classes_hold_the_published_numbers_of_labels() -> None:
    groups = read_label_groups()
    assert {name: len(wnids) for name, wnids in groups.items()} == {
        "airplane": 1, "bear": 4, "bicycle": 2, "bird": 49, "boat": 5, "bottle": 7, "car": 3, "cat": 6, "chair": 4,
        "clock": 3, "dog": 109, "elephant": 2, "keyboard": 2, "knife": 1, "oven": 1, "truck": 8,
    }  # fmt: skip
    everything = [wnid for wnids in groups.values() for wnid in wnids]
    assert len(set(everything)) == 207
    assert set(everything) <= set(imagenet_labels())


def test_both_aggregations_and_the_full_space_decide_by_hand() -> None:
    space = label_space(4, ["a", "b", "c", "d"])
    groups = {"one": ["a", "b"], "two": ["c"]}
    # probabilities .30, .10, .25, .35
    logits = np.log(np.array([[0.30, 0.10, 0.25, 0.35]]))
    assert decide(logits, space, groups, "max") == ["one"]
    assert decide(logits, space, groups, "mean") == ["two"]
    assert decide_full(logits, space, groups) == [None]
    assert decide_full(logits[:, [3, 1, 2, 0]], space, groups) == ["one"]
    with pytest.raises(CuebenchError, match="class three: no label of it is in 4 labels"):
        decide(logits, space, {**groups, "three": ["z"]})


def test_decisions_do_not_hang_on_the_size_of_the_logits() -> None:
    space = label_space(3, ["a", "b", "c"])
    logits = np.array([[1000.0, 999.0, -5.0], [-1000.0, -1002.0, -999.0]])
    assert decide(logits, space, {"x": ["a", "b"], "y": ["c"]}) == ["x", "y"]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_logit_that_is_not_finite_is_no_decision(value: float) -> None:
    space = LabelSpace("two", ("a", "b"))
    logits = np.array([[1.0, 2.0], [value, 1.0]])
    for rule in (decide, decide_full):
        with pytest.raises(CuebenchError, match="logits: row 1 holds a value that is not finite"):
            rule(logits, space, {"first": ["a"], "second": ["b"]})


def test_a_trial_that_is_cut_short_is_refused_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("subj,object_response,imagename\ns,cat,cat1-dog2.png\ns,cat\n")
    with pytest.raises(CuebenchError, match=r"a\.csv: line 3: expected 3 fields, got fewer"):
        read_trials(str(path))
