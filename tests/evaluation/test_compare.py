from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from data_manifests.errors import CuebenchError, ProblemsError
from data_manifests.taxonomy import read_taxonomy
from evaluation.compare import compare
from evaluation.compare_command import compare as compare_command
from evaluation.compare_page import render_compare_page
from evaluation.compare_text import comparison_text, p_value
from evaluation.evaluate import evaluate
from evaluation.figures import (
    class_bars,
    grid_curves,
    save_figure,
    scatter_scores,
    sensitivity_plane,
    write_evaluation_figures,
)
from evaluation.logits_file import LogitTable
from evaluation.scores import ScoreTable, read_scores

HEADER = "model,family,cluster,accuracy,shape_sensitivity,texture_sensitivity,shape_preference\n"


def write_scores(path: Path) -> str:
    rng = np.random.default_rng(0)
    lines = ["base,,,0.7,0.50,0.50,0.50"]
    for index in range(12):
        shape, texture = 0.55 + 0.1 * rng.random(), 0.4 + 0.1 * rng.random()
        family = "mixed" if index < 6 else "adversarial"
        cluster = f"l{index // 3}" if index >= 6 else ""
        preference = shape / (shape + texture)
        lines.append(
            f"m{index},{family},{cluster},{0.6 + 0.01 * index},{shape:.4f},{texture:.4f},{preference:.4f}"
        )
    path.write_text(HEADER + "\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def table(tmp_path: Path) -> ScoreTable:
    return read_scores(write_scores(tmp_path / "scores.csv"))


def test_scores_are_read_with_families_and_clusters(table: ScoreTable) -> None:
    assert [row.family for row in table.rows[:2]] == ["", "mixed"]
    assert table.rows[1].cluster == "m0"
    assert table.rows[-1].cluster == "l3"
    assert table.columns == ("accuracy", "shape_sensitivity", "texture_sensitivity", "shape_preference")


def test_every_bad_place_of_a_table_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(HEADER + "a,,,x,0.5,nan,0.5\na,,,0.5,0.5,0.5,0.5\n,,,0.5,0.5,0.5,0.5\n")
    with pytest.raises(ProblemsError) as caught:
        read_scores(str(path))
    text = str(caught.value)
    assert "line 2: accuracy: expected a finite number, got 'x'" in text
    assert "line 2: texture_sensitivity: expected a finite number, got 'nan'" in text
    assert "line 3: model 'a': expected a name of its own" in text
    assert "line 4: model ''" in text


def test_what_is_missing_in_a_table_is_named(table: ScoreTable, tmp_path: Path) -> None:
    with pytest.raises(CuebenchError, match=r"no column acuracy \(did you mean `accuracy`\?\)"):
        table.column("acuracy")
    with pytest.raises(CuebenchError, match=r"no model bse \(did you mean `base`\?\)"):
        table.row("bse")
    empty = tmp_path / "empty.csv"
    empty.write_text(HEADER + "a,,,,0.5,0.5,0.5\n")
    with pytest.raises(CuebenchError, match="accuracy is empty for a; fill it in or leave them out"):
        read_scores(str(empty)).column("accuracy")
    empty.write_text(HEADER)
    with pytest.raises(CuebenchError, match="there is no model in it"):
        read_scores(str(empty))
    empty.write_text("name\nx\n")
    with pytest.raises(CuebenchError, match="no column model; the columns are: name"):
        read_scores(str(empty))


def test_families_are_held_against_the_baseline(table: ScoreTable) -> None:
    found = compare(table, "accuracy", ["shape_sensitivity"], baseline="base", n_resamples=200)
    effects = {effect.family: effect for effect in found.families["shape_sensitivity"]}
    assert set(effects) == {"mixed", "adversarial"}
    assert all(effect.test.difference > 0 for effect in effects.values())
    assert found.preferences == {}
    (pair,) = found.correlations
    assert (pair.correlation.n, pair.correlation.n_clusters) == (13, 9)
    assert any("clusters of variants" in note for note in pair.correlation.notes)


def test_preferences_are_held_against_one_half(table: ScoreTable) -> None:
    found = compare(table, "accuracy", ["shape_preference"], n_resamples=200)
    test = found.preferences["shape_preference"]
    assert (test.n, test.difference > 0) == (13, True)
    assert found.to_json()["preferences"]["shape_preference"]["unit"] == "models"
    assert found.families == {}


def test_text_page_and_json_hold_the_same_numbers(table: ScoreTable) -> None:
    scores = ["shape_sensitivity", "shape_preference"]
    found = compare(table, "accuracy", scores, baseline="base", n_resamples=200)
    plain, marked = comparison_text(found), comparison_text(found, markdown=True)
    page = render_compare_page(table, found, "accuracy", scores)
    effect = found.families["shape_sensitivity"][0]
    for text in (plain, marked, page):
        assert f"{effect.test.difference:+.4f}" in text
    assert "| family |" in marked
    assert page == render_compare_page(table, found, "accuracy", scores)
    assert "<script" not in page
    assert page.count("data:image/svg+xml") == 3


def test_p_values_are_readable() -> None:
    assert [p_value(p) for p in (None, 0.5, 0.0012, 0.00034)] == ["-", "0.500", "0.001", "3.4e-04"]


def test_figures_are_the_same_bytes_each_time(table: ScoreTable) -> None:
    for form, start in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        first = save_figure(scatter_scores(table, "accuracy", "shape_preference", "base"), form)
        assert first.startswith(start)
        assert first == save_figure(scatter_scores(table, "accuracy", "shape_preference", "base"), form)
    assert save_figure(sensitivity_plane(table), "svg") != save_figure(
        sensitivity_plane(table, "base"), "svg"
    )
    with pytest.raises(CuebenchError, match="a figure as pdf: expected png or svg"):
        save_figure(sensitivity_plane(table), "pdf")


def test_classes_and_grids_are_drawn() -> None:
    taxonomy = read_taxonomy("refined-bias-20")
    rng = np.random.default_rng(0)
    tables = {
        kind: LogitTable(kind, rng.normal(size=(20, 1000)), tuple(sorted(taxonomy.of_kind(kind))) * 2)
        for kind in ("shape", "texture")
    }
    bars = class_bars(evaluate(tables, taxonomy))
    assert [len(axes.patches) for axes in bars.axes] == [10, 10]
    curves = grid_curves({"a": {4: 0.8, 8: 0.6}, "b": {4: 0.7, 8: 0.5}})
    assert [np.asarray(line.get_ydata()).tolist() for line in curves.axes[0].lines] == [
        [0.8, 0.6],
        [0.7, 0.5],
    ]
    with pytest.raises(CuebenchError, match="no scores by grid"):
        grid_curves({"a": {}})


def test_the_command_writes_what_it_is_asked_for(tmp_path: Path) -> None:
    path = write_scores(tmp_path / "scores.csv")
    options = [
        "--baseline",
        "base",
        "--figures",
        str(tmp_path / "figures"),
        "--html",
        str(tmp_path / "page.html"),
    ]
    result = CliRunner().invoke(compare_command, [path, *options, "--format", "json", "--resamples", "200"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["n_models"] == 13
    assert len(list((tmp_path / "figures").glob("*.png"))) == 3
    assert len(list((tmp_path / "figures").glob("*.svg"))) == 3
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert "13 models" in CliRunner().invoke(compare_command, [path, "--resamples", "200"]).stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model,a,a\nx,1,2\n", "more than one column is called a; rename all but one"),
        ("model;accuracy\nx;1\n", "the columns are: model;accuracy; separate the columns by commas"),
        ("model,a,b\nx,0,7,0,5\n", "line 2: expected 3 fields, got 5"),
        ("a,model\n1\n2,y\n", "line 2: expected 2 fields, got 1"),
        ('model,a\n"x,1\ny,2\n', r"not a CSV in UTF-8 \(unexpected end of data\)"),
        (b"model,a\n\xe9,1\n", "not a CSV in UTF-8"),
        ("", "no column model; the columns are: none"),
    ],
)
def test_a_table_that_is_none_is_refused(text: str | bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(CuebenchError, match=rf"scores\.csv: (?s:.*){message}"):
        read_scores(str(path))


def test_a_comparison_of_nothing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("model,accuracy\na,0.1\nb,0.2\n")
    with pytest.raises(
        CuebenchError, match="no score to compare; name one with --score; there are: accuracy"
    ):
        compare(read_scores(str(path)), "accuracy", [])
    looked_for = "looked for shape_sensitivity, texture_sensitivity, shape_preference and found none"
    with pytest.raises(CuebenchError, match=f"{looked_for}; the columns with numbers are accuracy; name one"):
        raise CliRunner().invoke(compare_command, [str(path)]).exception or AssertionError("accepted")
    path.write_text("model,accuracy\na,0.1\n")
    with pytest.raises(CuebenchError, match="there is no model beside the baseline a"):
        compare(read_scores(str(path)), "accuracy", ["accuracy"], baseline="a")


def test_scores_that_a_table_does_not_have_are_named(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    rows = "".join(f"m{n},0.{n},0.{n}\n" for n in range(1, 7))
    path.write_text(f"model,accuracy,shape_sensitivity\n{rows}")
    found = CliRunner().invoke(compare_command, [str(path), "--resamples", "100"])
    assert found.exit_code == 0
    assert found.stderr.startswith(
        "comparing shape_sensitivity; not in the table: texture_sensitivity, shape_preference\n"
    )


def test_a_baseline_of_a_family_is_not_counted_in_it(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("model,family,a,b\nbase,f,1,1\nx,f,2,3\ny,f,3,4\nz,,4,9\n")
    found = compare(read_scores(str(path)), "a", ["b"], baseline="base", n_resamples=100)
    assert [(effect.family, effect.test.n, effect.test.mean) for effect in found.families["b"]] == [
        ("f", 2, 3.5),
        ("no family", 1, 9.0),
    ]


def test_one_evaluation_is_drawn_by_class_and_grid(tmp_path: Path) -> None:
    taxonomy = read_taxonomy("refined-bias-20")
    names = tuple(sorted(taxonomy.texture)) * 2
    files = tuple(
        f"{name}/{4 * (1 + row % 2)}x{4 * (1 + row % 2)}_{name}.png" for row, name in enumerate(names)
    )
    logits = np.random.default_rng(0).normal(size=(20, 1000))
    found = evaluate({"texture": LogitTable("texture", logits, names, file_names=files)}, taxonomy)
    written = write_evaluation_figures(str(tmp_path), found)
    assert written == ["classes.png", "classes.svg", "grids.png", "grids.svg"]
    assert sorted(path.name for path in tmp_path.iterdir()) == written
