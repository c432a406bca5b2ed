from __future__ import annotations

import json
import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import func, select

from curation.database import open_store
from curation.exchange_table import note_of, write_table
from curation.kappa_command import kappa
from curation.power import Crowd, Design
from curation.protocol import Practice, read_protocol
from curation.rating_records import ResponseRecord
from curation.study import invite, plan_study, study_protocol
from curation.tables import Snapshot
from data_manifests.errors import CuebenchError
from tests.curation.gate_data import make_responses, make_review
from tests.curation.small_campaign import small_campaign, verdict
from tests.curation.study_run import (
    SHAPES,
    TEXTURES,
    Seen,
    Simulated,
    enter,
    know_everything,
    rater_of,
    take_part,
    write_run,
)

Rows = list[ResponseRecord]

PLAIN = {
    "n_ratings_per_image": 6,
    "n_catch": 0,
    "practice": Practice(n_trials=0, n_correct=0),
    "instructions": "",
    "check": None,
    "over_recruit_share": 0,
}


@pytest.fixture(scope="module")
def responses() -> Rows:
    """Return the answers of 6 people to 12 shapes and 12 textures."""
    design, crowd = Design(12, 3, 6, 6), Crowd(3, careless_share=0)
    return [row for kind in ("shape", "texture") for row in make_responses(kind, design, 0.3, crowd)[2]]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(kappa, [str(argument) for argument in arguments])


def found(*arguments: object) -> dict[str, Any]:
    result = run(*arguments, "--format", "json")
    assert result.exit_code == 0, result.output or result.exception
    return dict(json.loads(result.stdout))


def refusal(*arguments: object) -> Exception:
    error = run(*arguments).exception
    assert isinstance(error, CuebenchError)
    return error


def write(path: Path, rows: list[Any], kind: str = "study") -> Path:
    write_table(str(path), rows, note_of(rows, kind, rows[0].campaign))
    return path


@pytest.mark.parametrize("suffix", [".csv", ".json", ".jsonl", ".parquet"])
def test_an_exported_table_needs_no_names_of_columns(responses: Rows, tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"responses{suffix}", responses)
    both = found(path)
    assert list(both["by_cue_kind"]) == ["shape", "texture"]
    assert (both["campaign"], both["simulated"], both["excluded"]) == ("study", False, [])
    shape = found(path, "--cue-kind", "shape")
    assert shape["cue_kind"] == "shape"
    assert (shape["n_items"], shape["n_raters"], shape["n_ratings"]) == (12, 6, 36)
    assert shape["n_categories"] == 3
    assert shape["kappa"] == both["by_cue_kind"]["shape"]["kappa"]
    text = run(path).stdout
    assert text.startswith(
        "study study; left out by the rules of exclusion: nobody\n\nshape cues\n\nFleiss' kappa"
    )
    assert "## texture cues" in run(path, "--format", "md").stdout


def test_only_answers_that_count_do(responses: Rows, tmp_path: Path) -> None:
    """Practice, repeats, pictures that were made again and excluded people are no ratings of the pictures."""
    shapes = [row for row in responses if row.cue_kind == "shape"]
    first = shapes[0]
    more = [
        first.model_copy(update={"role": "practice", "position": 90}),
        first.model_copy(update={"presentation": 2, "position": 91}),
        first.model_copy(update={"sha256": "f" * 64, "stale": True, "position": 92}),
    ]
    rows = [row.model_copy(update={"excluded": ("catch",)}) if row.rater == "P002" else row for row in shapes]
    path = write(tmp_path / "responses.jsonl", [*rows, *more])
    answer = found(path)
    assert (answer["n_items"], answer["n_raters"], answer["excluded"]) == (12, 5, ["P002"])
    everybody = found(path, "--all-raters")
    assert (everybody["n_raters"], everybody["n_ratings"], everybody["excluded"]) == (6, 36, [])


def test_columns_categories_and_missing_labels_of_a_table_can_be_said(
    responses: Rows, tmp_path: Path
) -> None:
    path = write(tmp_path / "responses.jsonl", responses)
    by_place = found(path, "--item", "position", "--label", "superclass", "--cue-kind", "shape")
    assert (by_place["n_items"], by_place["n_raters"], by_place["n_categories"]) == (6, 6, 3)
    fewer = found(path, "--cue-kind", "shape", "--missing", "shape_0")
    assert fewer["n_missing"] > 0
    assert fewer["n_categories"] == 2
    wider = found(path, "--cue-kind", "shape", "--categories", "shape_0,shape_1,shape_2,other")
    assert wider["n_categories"] == 4
    assert "no column lable; the columns are: schema_version" in str(refusal(path, "--label", "lable"))


def test_simulated_answers_are_called_so(responses: Rows, tmp_path: Path) -> None:
    rows = [responses[0].model_copy(update={"flags": ("simulated",)}), *responses[1:]]
    path = write(tmp_path / "responses.jsonl", rows)
    assert found(path)["simulated"] is True
    assert run(path).stdout.startswith("SIMULATED: ")


def test_verdicts_of_a_table_are_counted_too(tmp_path: Path) -> None:
    cues = make_responses("shape", Design(12, 3, 6, 6), 0, Crowd(3, careless_share=0))[0]
    path = write(tmp_path / "verdicts.parquet", make_review(cues), "review")
    answer = found(path)
    assert (answer["n_items"], answer["n_raters"], answer["n_ratings"]) == (12, 2, 15)
    assert [row["category"] for row in answer["per_category"]] == ["accept", "reject", "unsure"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "subj,imagename\n1,x\n", "no column sha256, rater, answer, so this is no exported table"),
        ("a.csv", "", "the columns are: none; name them with --item, --rater and --label"),
        ("a.jsonl", "{", "not JSON"),
        ("a.jsonl", "3\n", "no column sha256"),
        ("a.json", "[]", "no column sha256"),
        ("a.parquet", "PAR1", "not a Parquet file"),
        ("a.xlsx", "", "expected a name that ends in .csv, .json, .jsonl, .parquet"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_exported_table_is_refused(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    assert message in str(refusal(tmp_path / name))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected either RATINGS, or --db and the campaign"),
        (["a.csv", "--db", "x.db"], "expected either RATINGS, or --db and the campaign"),
        (["a.csv", "--campaign", "x"], "--campaign needs --db"),
        (["a.csv", "--item", "x", "--cue-kind", "shape"], "--cue-kind and --all-raters need --db"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


@pytest.fixture
def url(tmp_path: Path, migrated_file: Path) -> str:
    path = tmp_path / "record.db"
    path.write_bytes(migrated_file.read_bytes())
    return f"sqlite:///{path}"


def answered(url: str, slug: str, *answers: str) -> None:
    """Record what a reviewer answers to the three pictures of a campaign."""
    store = open_store(url)
    campaign = small_campaign(store, "review", slug=slug)
    campaign.send(*map(verdict, campaign.assignments, answers))
    store.close()


def n_snapshots(url: str) -> int:
    store = open_store(url, create=False)
    with store.read() as session:
        n = session.scalar(select(func.count()).select_from(Snapshot)) or 0
    store.close()
    return n


def test_a_review_of_the_record_is_read_without_a_trace(url: str) -> None:
    answered(url, "first", "accept", "reject", "accept")
    answer = found("--db", url)
    assert (answer["campaign"], answer["n_items"], answer["n_raters"]) == ("first", 3, 1)
    assert [row["n_ratings"] for row in answer["per_category"]] == [2, 1, 0]
    assert n_snapshots(url) == 0
    message = "campaign first: no answer to texture cues counts yet"
    assert message in str(refusal("--db", url, "--cue-kind", "texture"))


def test_a_study_of_the_record_is_counted_after_the_rules_of_its_protocol(url: str, tmp_path: Path) -> None:
    rng = random.Random(1)  # noqa: S311

    def mostly_right(seen: Seen, choices: Sequence[str]) -> str:
        return seen.superclass if rng.random() < 0.9 else rng.choice(list(choices))

    store = open_store(url)
    cues = write_run(tmp_path / "run", 4, SHAPES[:3], TEXTURES[:3])
    protocol = read_protocol("demo").model_copy(update=PLAIN)
    plan = plan_study(store, "people", cues, protocol)
    known, asked = know_everything(store), study_protocol(store, "people")
    for number, (_, link) in enumerate(
        invite(store, "people", plan.n_invitations, "https://cues.example.org")
    ):
        person = Simulated(mostly_right, partial(int, 700 if number else 210))
        rater_id = rater_of(store, link)
        enter(store, rater_id, asked)
        take_part(store, rater_id, person, known)
    store.close()
    chosen = ("--db", url, "--campaign", "people", "--cue-kind", "texture")
    answer, everybody = found(*chosen), found(*chosen, "--all-raters")
    assert len(answer["excluded"]) == 1
    assert answer["n_raters"] == everybody["n_raters"] - 1
    assert everybody["excluded"] == []


def test_one_of_several_campaigns_has_to_be_named(url: str) -> None:
    assert "there is no campaign of review or study in the database; name one" in str(refusal("--db", url))
    for slug in ("one", "two"):
        answered(url, slug, "accept", "accept", "accept")
    message = "there are 2 campaigns (one, two) in the database; name one with --campaign"
    assert message in str(refusal("--db", url))
    assert found("--db", url, "--campaign", "two")["campaign"] == "two"
