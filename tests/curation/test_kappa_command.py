from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from curation.kappa_command import kappa
from curation.ratings import MOST_LABELS, make_ratings
from curation.ratings_table import read_ratings
from data_manifests.errors import CuebenchError
from tests.curation.agreement_tables import DIAGNOSES, from_counts

HEADER = "item,rater,label\n"
AGREED = HEADER + "a,x,p\na,y,p\nb,x,q\nb,y,q\n"
MIXED = HEADER + "".join(
    f"i{item},r{rater},{'pqs'[item % 3] if (item * 7 + rater * 5) % 11 else 'p'}\n"
    for item in range(12)
    for rater in range(4)
)

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that writes a table and asks for its kappa."""

    def ask(table: str | bytes, *options: str, columns: str = "item rater label") -> Result:
        path = tmp_path / "ratings.csv"
        path.write_bytes(table.encode() if isinstance(table, str) else table)
        item, rater, label = columns.split()
        arguments = [str(path), "--item", item, "--rater", rater, "--label", label, *options]
        return CliRunner().invoke(kappa, arguments)

    return ask


def found(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


def test_the_object_has_every_key_of_the_contract(run: Run) -> None:
    answer = found(run(MIXED, "--format", "json"))
    assert set(answer) >= {
        "estimator", "status", "kappa", "p_observed", "p_expected", "se", "ci", "lower_bound", "band", "n_items",
        "n_items_used", "n_raters", "n_ratings", "n_missing", "n_categories", "per_category", "ac1", "alpha",
        "randolph", "warnings",
    }  # fmt: skip
    assert set(answer["se"]) == {"items", "raters", "cell", "two_way", "null"}
    assert set(answer["ci"]) == {"level", "lower", "upper"}
    assert all({"category", "kappa", "se"} <= set(row) for row in answer["per_category"])
    assert (answer["n_items"], answer["n_raters"], answer["n_ratings"]) == (12, 4, 48)
    assert answer["ci"]["lower"] < answer["lower_bound"] < answer["kappa"] < answer["ci"]["upper"]


def test_published_diagnoses_come_out_of_a_file(run: Run) -> None:
    ratings = from_counts(DIAGNOSES)
    rows = [
        f"{ratings.items[i]},{ratings.raters[r]},{ratings.categories[k]}\n"
        for i, r, k in zip(ratings.item, ratings.rater, ratings.category, strict=True)
    ]
    for estimator in ("gwet", "cuzick", "fleiss"):
        answer = found(run(HEADER + "".join(rows), "--estimator", estimator, "--format", "json"))
        assert answer["kappa"] == pytest.approx(0.430245, abs=5e-7)
        assert answer["conger"] == pytest.approx(0.441809, abs=5e-7)
        assert answer["se"]["null"] == pytest.approx(0.02437, abs=5e-6)


@pytest.mark.parametrize(
    "table",
    [
        AGREED,
        b"\xef\xbb\xbf" + AGREED.replace("\n", "\r\n").encode(),
        AGREED.replace("\n", "\r"),
        AGREED.replace("item,rater,label", " Item , RATER,Label"),
        AGREED.replace("a,", '"a", ').replace(",p", ', "p"').replace(' "p"', " p "),
        HEADER + '"a\nb",x,p\n"a\nb",y,p\n\nc,x,q\nc,y,q,\n',
        "n,rater,item,label,label_text\n" + "1,x,a,p,P\n2,y,a,p,P\n3,x,b,q,Q\n4,y,b,q\n",
    ],
    ids=["plain", "Windows", "old Mac", "header", "spaces", "line breaks", "more columns"],
)
def test_every_way_to_write_the_same_table_gives_the_same_kappa(run: Run, table: str | bytes) -> None:
    answer = found(run(table, "--format", "json"))
    assert (answer["kappa"], answer["n_items"], answer["n_raters"], answer["n_ratings"]) == (1.0, 2, 2, 4)
    assert [row["category"] for row in answer["per_category"]] == ["p", "q"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("", "no column item; the columns are: nothing"),
        (HEADER, "there are no ratings"),
        (AGREED.replace(",", ";"), "the columns are: item;rater;label; separate the columns by commas"),
        (AGREED.replace(",", "\t"), "separate the columns by commas"),
        (AGREED.replace("label", "lable"), r"no column label \(did you mean `lable`\?\)"),
        ("item,rater,label,label\na,x,p,q\n", "2 columns are called label; rename all but one"),
        ("ITEM,Item,rater,label\na,b,x,p\n", "2 columns are called item"),
        (HEADER + "a,x\n", "line 2: expected 3 fields, got 2"),
        (HEADER + "1,a,x,p\n2,a,y,p\n", "line 2: expected 3 fields, got 4"),
        (HEADER + "a,x,p\n,y,p\n", "line 3: the item or the rater is empty"),
        (HEADER + 'a,x,"p\na,y,p\n', "line 3: unexpected end of data; look for a quotation mark that is never closed"),
        (HEADER + 'a,x,"' + "p" * 140_000, "line 2: field larger than field limit"),
        (HEADER + "a,x,p\na,x,q\n", "1 items were rated more than once by one rater, e.g. item a by x"),
        (HEADER.encode() + b"a,x,\xe9\n", "byte 21: not UTF-8; save the table as UTF-8"),
    ],
)  # fmt: skip
def test_a_table_that_would_give_a_wrong_number_is_refused(
    run: Run, table: str | bytes, message: str
) -> None:
    with pytest.raises(CuebenchError, match=rf"ratings\.csv: (?s:.*){message}"):
        raise run(table).exception or AssertionError("accepted")


def test_the_name_as_written_comes_before_the_name_in_another_case(run: Run) -> None:
    table = "item,Label,rater,label\na,q,x,p\na,q,y,p\nb,q,x,q\nb,q,y,q\n"
    assert found(run(table, "--format", "json"))["n_categories"] == 2


def test_one_column_can_not_be_two_things(run: Run) -> None:
    with pytest.raises(
        CuebenchError, match="item, rater and label are the columns item, item, label; expected"
    ):
        raise run(AGREED, columns="item item label").exception or AssertionError("accepted")


def test_a_token_for_missing_that_occurs_in_another_case_only_is_refused(run: Run) -> None:
    table = AGREED + "b,z,na\n"
    assert found(run(table, "--missing", "na", "--missing", "skip", "--format", "json"))["n_missing"] == 1
    with pytest.raises(CuebenchError, match="no label is NA, but na is one; say --missing na"):
        raise run(table, "--missing", "NA").exception or AssertionError("accepted")


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        ("p,p,q", "categories p, p, q: p stands there twice; name each category once"),
        ("p,,q", "one of them has no name"),
        ("p,r", "labels that are no category: q"),
    ],
)
def test_categories_that_are_counted_wrongly_are_refused(run: Run, categories: str, message: str) -> None:
    with pytest.raises(CuebenchError, match=message):
        raise run(AGREED, "--categories", categories).exception or AssertionError("accepted")


def test_categories_that_nobody_used_count_for_the_coefficients_that_ask_how_many_there_are(run: Run) -> None:
    plain, wider = (
        found(run(MIXED, "--categories", names, "--format", "json")) for names in ("p,q,s", "p,q,s,t")
    )
    assert plain["kappa"] == wider["kappa"]
    assert plain["randolph"] < wider["randolph"]
    assert wider["per_category"][-1] == {"category": "t", "n_ratings": 0, "kappa": None, "se": None}


def test_a_column_of_times_is_not_taken_for_categories() -> None:
    items = [str(row) for row in range(MOST_LABELS + 1)]
    with pytest.raises(
        CuebenchError, match=r"1001 different labels, e.g. 0, 1, 10: expected at most 1000; is this"
    ):
        make_ratings(items, ["x"] * len(items), items)
    assert make_ratings(items, ["x"] * len(items), items, items).n_ratings == 1001


def test_fleiss_of_1971_says_by_its_name_which_item_breaks_it(run: Run) -> None:
    with pytest.raises(
        CuebenchError, match=r"^item img_7: 1 ratings where most items have 2; Fleiss' kappa of 1971"
    ):
        raise run(AGREED + "img_7,x,p\n", "--estimator", "fleiss").exception or AssertionError("accepted")


def test_labels_that_differ_in_case_only_are_pointed_out(run: Run) -> None:
    answer = found(run(AGREED + "c,x,P\nc,y,p\n", "--format", "json"))
    assert "categories that differ in case only are counted as different: P, p" in answer["warnings"]


@pytest.mark.parametrize(
    ("table", "status", "warning"),
    [
        (HEADER + "a,x,p\n", "undefined_no_pairs", "kappa is undefined: no item has two ratings"),
        (HEADER + "a,x,p\nb,x,q\n", "undefined_no_pairs", "2 of 2 items have one rating"),
        (HEADER + "a,x,p\na,y,p\n", "undefined_single_category", "every rating is of one category"),
    ],
)
def test_what_is_undefined_is_null_and_says_why(run: Run, table: str, status: str, warning: str) -> None:
    result = run(table, "--format", "json")
    answer = found(result)
    assert (answer["status"], answer["kappa"], answer["lower_bound"], answer["band"]) == (
        status,
        None,
        None,
        None,
    )
    assert answer["ci"] == {"level": None, "lower": None, "upper": None}
    assert any(warning in note for note in answer["warnings"])
    assert not any("numbers hold for these people" in note for note in answer["warnings"])
    assert "NaN" not in result.stdout


@pytest.mark.parametrize(("n_single", "is_warned"), [(4, False), (5, True)])
def test_many_items_with_one_rating_raise_a_doubt_about_the_error(
    run: Run, n_single: int, is_warned: bool
) -> None:
    pairs = "".join(
        f"i{k},{rater},{'pq'[k % 2 if k % place else 0]}\n"
        for k in range(16)
        for place, rater in [(5, "x"), (7, "y"), (9, "z")]
    )
    answer = found(run(HEADER + pairs + "".join(f"s{k},x,p\n" for k in range(n_single)), "--format", "json"))
    assert answer["n_items"] == 16 + n_single
    assert ("so many items with one rating" in " ".join(answer["warnings"])) == is_warned


def test_perfect_agreement_has_an_interval_and_no_word_about_a_missing_error(run: Run) -> None:
    answer = found(run(AGREED, "--format", "json"))
    assert answer["ci"]["upper"] == 1.0
    assert answer["lower_bound"] < 0.5
    assert not any("no standard error" in note for note in answer["warnings"])


def test_no_bound_lies_below_minus_one(run: Run) -> None:
    wide = found(run(HEADER + "a,x,p\na,y,p\nb,x,q\nb,y,na\nb,z,q\n", "--format", "json"))
    assert (wide["ci"]["lower"], wide["lower_bound"], wide["band"]) == (-1.0, -1.0, "poor")
    perfect = found(
        run(HEADER + "i,x,a\ni,y,a\n" + "".join(f"s{k},x,b\n" for k in range(3)), "--format", "json")
    )
    assert perfect["ci"] == {"level": 0.95, "lower": -1.0, "upper": 1.0}


@pytest.mark.parametrize(("level", "words"), [("0.95", "95%"), ("0.975", "97.5%"), ("0.999", "99.9%")])
def test_the_level_is_said_as_it_was_asked_for(run: Run, level: str, words: str) -> None:
    text = run(AGREED, "--level", level).stdout
    assert f"{words} interval" in text
    assert f"with {words} confidence at least" in text


def test_a_level_that_is_no_number_is_refused(run: Run) -> None:
    with pytest.raises(CuebenchError, match=r"level nan: expected a level of confidence from 0.5 to below 1"):
        raise run(AGREED, "--level", "nan").exception or AssertionError("accepted")


def test_text_and_markdown_keep_a_category_in_its_cell(run: Run) -> None:
    table = HEADER + 'a,x,"p|\nr"\na,y,"p|\nr"\nb,x,q\nb,y,q\n'
    assert "p| r " in run(table).stdout
    assert "| p&#124; r | 2 | 1.0000 | - |" in run(table, "--format", "md").stdout


def test_a_label_of_spaces_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(AGREED + "b,z,  \n")
    ratings = read_ratings(str(path), item="item", rater="rater", label="label")
    assert (ratings.n_ratings, ratings.n_missing, ratings.raters) == (4, 1, ("x", "y"))
