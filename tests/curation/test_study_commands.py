from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from curation.database import Store, open_store
from curation.protocol import read_protocol
from curation.study import finish, study_protocol
from curation.study_commands import study
from data_manifests.errors import CuebenchError
from tests.curation.study_run import Simulated, enter, know_everything, rater_of, take_part, write_run

PROTOCOL = """
name = "small"
n_images_per_cue = 12
n_ratings_per_image = 2
min_ratings_per_image = 2
n_trials_per_cue = 6
n_catch = 2
n_repeats = 2
"""


def run(*args: str) -> tuple[str, str]:
    """Run a command that succeeds; return what it wrote to stdout and to stderr."""
    result = CliRunner().invoke(study, args, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


@pytest.fixture
def planned(tmp_path: Path) -> str:
    """Plan a study of four participants; return the path of its database."""
    write_run(tmp_path / "run", 6, ("clock", "soccer_ball", "mouse"), ("tiger", "zebra", "honeycomb"))
    (tmp_path / "small.toml").write_text(PROTOCOL, encoding="utf-8")
    db = str(tmp_path / "study.db")
    out, err = run(
        "plan",
        "fall",
        "--cues",
        str(tmp_path / "run"),
        "--db",
        db,
        "--protocol",
        str(tmp_path / "small.toml"),
    )
    assert "4 participants with 16 trials each; invite 5" in out
    assert f"next: cuebench study invite fall --n N --base-url URL --db {db}\n" == err
    return db


def take_part_by_link(store: Store, link: str, rt_ms: int) -> str:
    rater_id = rater_of(store, link)
    enter(store, rater_id, study_protocol(store, "fall"))
    person = Simulated(lambda seen, _: seen.superclass, lambda: rt_ms)
    take_part(store, rater_id, person, know_everything(store))
    code = finish(store, rater_id)
    assert code is not None
    return code


def test_invitations_are_a_table_of_codes_and_links(planned: str) -> None:
    out, err = run("invite", "fall", "--n", "3", "--base-url", "https://cues.example.org", "--db", planned)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len({row["code"] for row in rows}) == 3
    assert all(row["link"].startswith("https://cues.example.org/?p=") for row in rows)
    assert "can't be shown again" in err


def test_a_study_from_the_invitation_to_the_screening(planned: str) -> None:
    out, _ = run("invite", "fall", "--n", "2", "--base-url", "https://cues.example.org", "--db", planned)
    fine, hasty = csv.DictReader(io.StringIO(out))
    store = open_store(planned)
    take_part_by_link(store, fine["link"], 900)
    take_part_by_link(store, hasty["link"], 300)
    store.close()

    text, _ = run("status", "fall", "--db", planned)
    assert "participants: 2 finished" in text
    assert "slots: 2 finished, 2 open" in text
    assert "shape: 12 images with 1 to 1 ratings (median 1), 12 below 2, before any screening" in text

    found = json.loads(run("screen", "fall", "--db", planned, "--format", "json")[0])
    assert found["flagged"] == [hasty["code"]]
    assert [flag["rule"] for flag in found["flags"]] == ["median_rt"]
    text, _ = run("screen", "fall", "--db", planned)
    assert f"{hasty['code']}: median_rt: 300 ms (< 350 ms)" in text
    assert "1 of 2 raters flagged; 12 responses count" in text

    text, _ = run("top-up", "fall", "--db", planned)
    added, below, expected = text.splitlines()
    assert added == "1 place added"
    assert below == "images below 2 ratings, after screening: 12 shape, 12 texture"
    assert expected == "expected after the places that were open or taken: 6 shape, 6 texture"

    text, _ = run("withdraw", fine["code"], "--yes", "--reason", "by mail", "--db", planned)
    assert text == f"{fine['code']}: withdrawn, 20 events redacted\n"
    status = json.loads(run("status", "fall", "--db", planned, "--format", "json")[0])
    assert status["participants"] == {"finished": 1, "withdrawn": 1}


def test_other_rules_are_for_a_sensitivity_analysis(planned: str, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("catch_min_failed = 1", encoding="utf-8")
    assert "NOT those of the protocol" in run("screen", "fall", "--db", planned, "--rules", str(rules))[0]


def test_more_invitations_than_the_plan_asks_for_are_pointed_out(planned: str) -> None:
    invitation = ("invite", "fall", "--base-url", "https://cues.example.org", "--db", planned)
    assert "people are invited" not in run(*invitation, "--n", "5")[1]
    assert "6 people are invited now, 5 are planned for 4 places" in run(*invitation, "--n", "1")[1]


def test_withdrawing_says_who_asks_and_happens_once(planned: str) -> None:
    out, _ = run("invite", "fall", "--n", "1", "--base-url", "https://cues.example.org", "--db", planned)
    code = out.splitlines()[1].partition(",")[0]
    command = ["withdraw", code.lower(), "--db", planned]
    result = CliRunner().invoke(study, command, input="n\n")
    assert result.exit_code == 1
    assert (
        f"Remove all answers of participant {code} of study fall (new, 0 answers) for good?" in result.output
    )
    assert (
        CliRunner()
        .invoke(study, command, input="y\n")
        .stdout.endswith(f"{code}: withdrawn, 0 events redacted\n")
    )
    text, _ = run(*command)
    assert text.startswith(f"{code}: already withdrawn, at 20")


def test_withdrawing_finds_mistakes_before_it_asks(planned: str) -> None:
    result = CliRunner().invoke(study, ["withdraw", "22222222", "more", "--db", planned], input="y\n")
    assert result.exit_code == 2
    assert "unexpected extra argument (more)" in result.output
    with pytest.raises(CuebenchError, match="rater 22222222: no such code"):
        run("withdraw", "22222222", "--db", planned)


def test_a_protocol_is_printed_as_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(run("protocol", "pilot")[0], encoding="utf-8")
    assert read_protocol(str(tmp_path / "mine.toml")) == read_protocol("pilot")


def test_a_database_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CuebenchError, match="no such database"):
        run("status", "fall", "--db", str(tmp_path / "nowhere.db"))


@pytest.mark.parametrize("name", sorted(study.commands))
def test_every_command_has_help_with_an_example(name: str) -> None:
    result = CliRunner().invoke(study, [name, "--help"])
    assert result.exit_code == 0
    assert f"Example: cuebench study {name}" in " ".join(result.stdout.split())
