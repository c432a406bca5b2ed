from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from click.testing import CliRunner

from data_manifests.errors import CuebenchError
from data_manifests.labels import imagenet_labels
from data_manifests.records import CueKind
from data_manifests.taxonomy import Taxonomy, read_taxonomy
from evaluation import sensitivity
from evaluation.commands import evaluate as evaluate_command
from evaluation.evaluate import evaluate, members_of
from evaluation.label_space import label_space
from evaluation.logits_file import LogitTable, read_logits
from evaluation.ranks import rank_rows
from evaluation.sensitivity import bootstrap_means, preference, score
from tests.paths import SHARED_DATA, needs_shared_data

TAXONOMY = read_taxonomy("refined-bias-20")
WNIDS = tuple(imagenet_labels())


def table(kind: CueKind, n: int = 40, seed: int = 0) -> LogitTable:
    """Return random logits in which the right answer is somewhat higher than the others."""
    rng = np.random.default_rng(seed)
    classes = sorted(TAXONOMY.of_kind(kind))
    names = [classes[row % len(classes)] for row in range(n)]
    logits = rng.normal(size=(n, 1000)).astype(np.float32)
    for row, name in enumerate(names):
        column = WNIDS.index(TAXONOMY.wnids(kind, name)[0])
        logits[row, column] += 3
    files = tuple(
        f"{name}/{2 ** (2 + row % 4)}x{2 ** (2 + row % 4)}_{name}_{row}.png" for row, name in enumerate(names)
    )
    return LogitTable(kind, logits, tuple(names), WNIDS, files if kind == "texture" else None)


@needs_shared_data
def test_real_logits_give_the_published_values() -> None:
    folder = SHARED_DATA / "logits"
    tables = {kind: read_logits(f"{folder}/efficientnet_lite0_{kind}.npz") for kind in ("shape", "texture")}
    found = evaluate(tables, TAXONOMY)
    shape, texture = found.cues["shape"], found.cues["texture"]
    assert [round(cue.sensitivity, 4) for cue in (shape, texture)] == [0.8012, 0.6141]
    assert [round(cue.top1, 4) for cue in (shape, texture)] == [0.7160, 0.5373]
    assert [cue.n_ties for cue in (shape, texture)] == [0, 0]
    assert round(found.preferences["shape"].value, 4) == 0.5661
    per_class = {row.superclass: round(row.sensitivity, 3) for row in shape.per_class}
    assert per_class == {
        "balloon": 0.831, "book": 0.715, "camera": 0.816, "cassette": 0.749, "clock": 0.955, "hourglass": 0.942,
        "ipod": 0.806, "mouse": 0.555, "revolver": 0.926, "soccer_ball": 0.718,
    }  # fmt: skip
    per_class = {row.superclass: round(row.sensitivity, 3) for row in texture.per_class}
    assert per_class == {
        "brain_coral": 0.883, "broccoli": 0.825, "cheetah": 0.393, "dishrag": 0.767, "elephant": 0.395,
        "honeycomb": 0.885, "porcupine": 0.423, "strawberry": 0.740, "tiger": 0.542, "zebra": 0.289,
    }  # fmt: skip
    assert [round(cue.chance, 6) for cue in (shape, texture)] == [0.009086, 0.008035]


def test_micro_and_macro_differ_where_classes_do() -> None:
    ranks = rank_rows(np.eye(3)[[0, 0, 0, 1]], ["a", "a", "a", "b"], {"a": [0], "b": [2]})
    found = score("shape", ranks, ["a", "a", "a", "b"], {"a": [0], "b": [2]}, 3)
    assert found.sensitivity == pytest.approx((3 + 1 / 3) / 4)
    assert found.macro == pytest.approx((1 + 1 / 3) / 2)
    assert (found.top1, found.top5, found.median_rank, found.n_ties) == (0.75, 1.0, 1.0, 1)


def test_images_of_one_photograph_are_drawn_together() -> None:
    values = np.tile([0.0, 1.0], 50)
    classes = np.array(["a"] * 100)
    apart = bootstrap_means(values, classes)
    together = bootstrap_means(
        np.repeat([0.0, 1.0], 50), classes, [f"photo {row // 10}" for row in range(100)]
    )
    assert together.std() > 2.5 * apart.std()
    assert (apart == bootstrap_means(values, classes)).all()
    assert (apart != bootstrap_means(values, classes, seed=1)).any()


def test_drawing_within_classes_keeps_the_classes() -> None:
    values = np.array([1.0, 1.0, 0.0, 0.0])
    assert bootstrap_means(values, np.array(["a", "a", "b", "b"])).tolist() == [0.5] * 2000


def test_preference_is_the_share_in_the_sum_of_any_number_of_cues() -> None:
    found = evaluate(
        {"shape": table("shape"), "texture": table("texture"), "sketch": table("shape", seed=5)}, TAXONOMY
    )
    values = {kind: cue.sensitivity for kind, cue in found.cues.items()}
    for kind, leaning in found.preferences.items():
        assert leaning.value == pytest.approx(values[kind] / sum(values.values()))
        assert leaning.ci.lower < leaning.value < leaning.ci.upper
    assert sum(leaning.value for leaning in found.preferences.values()) == pytest.approx(1)


def test_one_cue_alone_has_no_preference() -> None:
    found = evaluate({"shape": table("shape")}, TAXONOMY)
    assert found.preferences == {}
    assert preference(found.cues["shape"], []).value == 1.0


def test_the_restricted_space_stands_beside_the_full_one() -> None:
    found = evaluate({"texture": table("texture")}, TAXONOMY)
    assert (found.cues["texture"].n_labels, found.restricted["texture"].n_labels) == (1000, 24)
    assert found.restricted["texture"].sensitivity >= found.cues["texture"].sensitivity


def test_grids_come_from_the_file_names() -> None:
    assert set(evaluate({"texture": table("texture")}, TAXONOMY).cues["texture"].per_grid) == {4, 8, 16, 32}
    assert table("shape").grids is None


def test_a_label_space_is_told_by_its_ids_or_its_size() -> None:
    assert label_space(1000).labels == WNIDS
    shuffled = label_space(1000, WNIDS[::-1])
    assert shuffled.columns(["n01440764"]) == [999]
    assert label_space(3, ["n01440764", "n03584254", "n07714990"]).members(TAXONOMY, "shape") == {"ipod": [1]}


@pytest.mark.parametrize(
    ("n_labels", "wnids", "message"),
    [
        (21841, None, r"21841 columns look like ImageNet-22k \(fall 2011\), whose order differs.*`wnid`"),
        (999, None, "999 columns: no label space of this size is known.*1000: ImageNet-1k"),
        (2, ["a"], "wnid: expected one for each of the 2 columns, got 1"),
        (2, ["a", "a"], "wnid: a stands for more than one column"),
    ],
)
def test_an_unknown_label_space_is_refused(n_labels: int, wnids: list[str] | None, message: str) -> None:
    with pytest.raises(CuebenchError, match=message):
        label_space(n_labels, wnids)


def test_cues_of_different_label_spaces_do_not_compare() -> None:
    other = LogitTable("x", np.zeros((1, 1000), np.float32), ("ipod",), WNIDS[::-1])
    with pytest.raises(CuebenchError, match="the cues have different label spaces"):
        evaluate({"shape": table("shape"), "texture": other}, TAXONOMY)


@pytest.mark.parametrize("suffix", ["npz", "npy", "parquet"])
def test_every_kind_of_file_gives_the_same_scores(suffix: str, tmp_path: Path) -> None:
    source = table("texture")
    files = source.file_names or ()
    path = tmp_path / f"logits.{suffix}"
    if suffix == "npz":
        np.savez(path, logits=source.logits, superclass=source.superclass, wnid=WNIDS, file_name=files)
    elif suffix == "npy":
        np.save(path, source.logits)
        rows = [
            f"{name},{file}" for name, file in zip(source.superclass, source.file_names or (), strict=True)
        ]
        path.with_suffix(".csv").write_text("\n".join(["superclass,file_name", *rows]) + "\n")
    else:
        import pyarrow as pa
        from pyarrow import parquet

        columns = {wnid: source.logits[:, column] for column, wnid in enumerate(WNIDS)}
        parquet.write_table(
            pa.table({"superclass": source.superclass, "file_name": source.file_names, **columns}), path
        )
    found = evaluate({"texture": read_logits(str(path))}, TAXONOMY).to_json()
    assert found == evaluate({"texture": source}, TAXONOMY).to_json()


def test_logits_that_are_not_compressed_are_mapped(tmp_path: Path) -> None:
    source = table("shape")
    np.savez(tmp_path / "plain.npz", logits=source.logits, superclass=source.superclass)
    np.savez_compressed(tmp_path / "small.npz", logits=source.logits, superclass=source.superclass)
    plain, small = (read_logits(str(tmp_path / name)) for name in ("plain.npz", "small.npz"))
    assert isinstance(plain.logits, np.memmap)
    assert not isinstance(small.logits, np.memmap)
    assert (plain.logits == source.logits).all()
    assert (small.logits == source.logits).all()


def test_bad_files_are_named_in_one_line(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", logits=np.zeros((2, 3)))
    np.savez(tmp_path / "b.npz", logits=np.zeros((2, 3)), superclass=["x"])
    np.savez(tmp_path / "c.npz", logits=np.zeros(3), superclass=["x"])
    (tmp_path / "d.npz").write_bytes(b"nothing")
    (tmp_path / "d.npy").write_bytes(b"nothing")
    (tmp_path / "d.parquet").write_bytes(b"nothing")
    np.save(tmp_path / "e.npy", np.zeros((2, 3)))
    (tmp_path / "e.csv").write_text("label\nx\ny\n")
    for name, message in {
        "a.npz": "no array superclass; the arrays are: logits",
        "b.npz": "superclass: expected 2 values, one an image, got 1",
        "c.npz": r"logits: expected two dimensions, images and labels, got \(3,\)",
        "d.npz": "not an .npz that can be read",
        "d.npy": "not an .npy that can be read",
        "d.parquet": "not a Parquet file",
        "e.npy": "e.csv: expected a column superclass, one row an image",
        "f.npz": "f.npz: no such file",
        "f.npy": "f.npy: no such file",
        "f.txt": "expected logits in a file .npz, .npy or .parquet",
    }.items():
        with pytest.raises(CuebenchError, match=message):
            read_logits(str(tmp_path / name))


def test_the_command_prints_what_the_contract_names(tmp_path: Path) -> None:
    kinds: tuple[CueKind, ...] = ("shape", "texture")
    for kind in kinds:
        source = table(kind)
        np.savez(tmp_path / f"{kind}.npz", logits=source.logits, superclass=source.superclass, wnid=WNIDS)
    files = ["--shape", f"{tmp_path}/shape.npz", "--texture", f"{tmp_path}/texture.npz"]
    result = CliRunner().invoke(evaluate_command, [*files, "--format", "json"])
    found = json.loads(result.stdout)
    assert {
        "shape_sensitivity", "texture_sensitivity", "shape_preference", "intervals", "top1", "n_ties", "n_labels",
        "chance",
    } <= set(found)  # fmt: skip
    assert found["cues"]["shape"]["per_class"]["ipod"]["n"] == 4
    text = CliRunner().invoke(evaluate_command, files).stdout
    assert "shape preference" in text
    assert "| cue |" in CliRunner().invoke(evaluate_command, [*files, "--format", "md"]).stdout


def test_the_command_refuses_what_it_cannot_use(tmp_path: Path) -> None:
    run = CliRunner().invoke
    assert "nothing to evaluate" in run(evaluate_command, []).output
    assert "expected NAME=FILE" in str(run(evaluate_command, ["--cue", "x"]).exception)
    twice = ["--shape", "a.npz", "--cue", "shape=b.npz"]
    assert "there are logits for shape already" in str(run(evaluate_command, twice).exception)


def test_a_space_in_which_guessing_is_always_right_has_no_corrected_score(tmp_path: Path) -> None:
    """One label, or nothing but labels of the right superclass: chance is 1."""
    for wnids in (TAXONOMY.wnids("shape", "ipod"), TAXONOMY.wnids("shape", "clock")):
        name = "ipod" if len(wnids) == 1 else "clock"
        logits = np.random.default_rng(0).normal(size=(4, len(wnids)))
        np.savez(tmp_path / "few.npz", logits=logits, superclass=[name] * 4, wnid=wnids)
        found = evaluate({"shape": read_logits(str(tmp_path / "few.npz"))}, TAXONOMY).cues["shape"]
        assert (found.sensitivity, found.chance, found.corrected) == (1.0, 1.0, None)


def test_a_superclass_is_scored_by_those_of_its_labels_that_are_there() -> None:
    clock = TAXONOMY.wnids("shape", "clock")
    others = [wnid for wnid in WNIDS if wnid not in clock][:9]
    logits = np.zeros((1, 10))
    logits[0, 0] = 1.0
    source = LogitTable("x", logits, ("clock",), (clock[2], *others))
    found = evaluate({"shape": source}, TAXONOMY)
    assert found.cues["shape"].chance == pytest.approx(np.mean(1 / np.arange(1, 11)))
    assert (found.cues["shape"].sensitivity, found.restricted["shape"].n_labels) == (1.0, 1)


def test_a_superclass_of_both_kinds_has_the_labels_of_both() -> None:
    both = Taxonomy("both", {"cat": (WNIDS[0],)}, {"cat": (WNIDS[1],)})
    assert members_of(label_space(1000), both, "sketch") == {"cat": [0, 1]}
    assert members_of(label_space(1000), both, "texture") == {"cat": [1]}


def test_every_cue_draws_its_own_bootstrap_samples() -> None:
    """With the same draws, cues that go together row by row would give a preference that is far too sure."""
    same = table("shape")
    found = evaluate({"sketch": same, "edges": same}, TAXONOMY)
    leaning = found.preferences["sketch"]
    assert leaning.value == 0.5
    assert leaning.ci.lower < 0.49 < 0.51 < leaning.ci.upper
    assert found.cues["sketch"].ci != found.cues["edges"].ci
    assert found.preferences == evaluate({"sketch": same, "edges": same}, TAXONOMY).preferences


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", "f2", "g"])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_how_numbers_lie_in_the_file_changes_no_score(
    order: Literal["C", "F"], dtype: str, save: Callable[..., None], tmp_path: Path
) -> None:
    source = table("shape")
    exact = source.logits.astype(np.float16)
    save(
        tmp_path / "a.npz", logits=exact.astype(dtype, order=order), superclass=source.superclass, wnid=WNIDS
    )
    found = evaluate({"shape": read_logits(str(tmp_path / "a.npz"))}, TAXONOMY).cues["shape"]
    expected = rank_rows(exact, source.superclass, label_space(1000).members(TAXONOMY, "shape"))
    assert found.sensitivity == expected.reciprocal.mean()


def test_names_as_bytes_are_read_as_text(tmp_path: Path) -> None:
    source = table("shape")
    names, wnids = np.array(source.superclass, "S"), np.array(WNIDS, "S")
    np.savez(tmp_path / "a.npz", logits=source.logits, superclass=names, wnid=wnids)
    found = read_logits(str(tmp_path / "a.npz"))
    assert (found.superclass, found.wnids) == (source.superclass, WNIDS)


def test_a_table_of_an_npz_that_is_none_is_refused(tmp_path: Path) -> None:
    source = table("shape", n=5)
    good = {"logits": source.logits, "superclass": np.array(source.superclass)}
    path = tmp_path / "a.npz"
    for change, message in (
        ({"superclass": np.array("clock")}, r"superclass: expected one dimension, got \(\)"),
        ({"superclass": good["superclass"][:, None]}, r"superclass: expected one dimension, got \(5, 1\)"),
        ({"superclass": good["superclass"].astype(object)}, "not an .npz that can be read without pickle"),
        ({"grid": np.full(5, np.nan)}, "grid: expected whole numbers, 0 for an image that has none"),
        ({"grid": np.full(5, -4)}, "grid: expected whole numbers"),
    ):
        arrays: dict[str, Any] = {**good, **change}
        np.savez(path, **arrays)
        with pytest.raises(CuebenchError, match=message):
            read_logits(str(path))


def test_a_file_with_the_wrong_ending_says_what_it_is(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 3)))
    (tmp_path / "a.npy").rename(tmp_path / "a.npz")
    with pytest.raises(CuebenchError, match=r"it holds one array alone; call it \.npy"):
        read_logits(str(tmp_path / "a.npz"))
    np.savez(tmp_path / "b.npz", logits=np.zeros((2, 3)))
    (tmp_path / "b.npz").rename(tmp_path / "b.npy")
    with pytest.raises(CuebenchError, match=r"it holds several arrays; call it \.npz"):
        read_logits(str(tmp_path / "b.npy"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"superclass,file_name\nipod\nipod\n", "row 1: expected 2 fields, got 1"),
        (b"superclass\nipod\nipod,x\n", "row 2: expected 1 fields, got 2"),
        (b"superclass\n\xe9\n", "not a CSV in UTF-8"),
        (b'superclass\n"ipod\n', "not a CSV in UTF-8 .unexpected end of data"),
        (b"", "expected a column superclass"),
    ],
)
def test_labels_beside_an_npy_that_are_cut_short_are_refused(
    text: bytes, message: str, tmp_path: Path
) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 3)))
    (tmp_path / "a.csv").write_bytes(text)
    with pytest.raises(CuebenchError, match=rf"a\.csv: {message}"):
        read_logits(str(tmp_path / "a.npy"))


def test_a_column_of_parquet_that_is_no_label_does_not_compete(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    source = table("texture")
    labels = {wnid: source.logits[:, column] for column, wnid in enumerate(WNIDS)}
    path = tmp_path / "a.parquet"
    grids = [4 * (row % 2) or None for row in range(40)]
    parquet.write_table(pa.table({"superclass": source.superclass, "grid": grids, **labels}), path)
    found = read_logits(str(path))
    assert (found.logits.shape, found.grids) == ((40, 1000), grids)
    for other in ("__index_level_0__", "n1", "confidence"):
        parquet.write_table(pa.table({"superclass": source.superclass, other: range(40), **labels}), path)
        with pytest.raises(CuebenchError, match=f"columns that are no label: {other}; expected WordNet ids"):
            read_logits(str(path))


def test_a_file_without_images_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", logits=np.zeros((0, 1000)), superclass=np.array([], str))
    with pytest.raises(CuebenchError, match="shape: there are no images to score"):
        evaluate({"shape": read_logits(str(tmp_path / "a.npz"))}, TAXONOMY)


def test_samples_drawn_in_parts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    values, classes = np.random.default_rng(0).random(60), np.array(["a"] * 50 + ["b"] * 10)
    whole = bootstrap_means(values, classes)
    monkeypatch.setattr(sensitivity, "DRAWS_AT_ONCE", 1234)
    assert bootstrap_means(values, classes) == pytest.approx(whole, abs=1e-15)
