from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import func, select

from annotation_app.commands import annotate
from curation.campaigns import find_campaign
from curation.database import Store, open_store
from curation.demo_command import REVIEWERS, YOU, demo
from curation.rating_records import is_simulated
from curation.review import assign, import_review
from curation.review_commands import review_group
from curation.simulation import simulate_review
from curation.snapshots import take_snapshot
from curation.tables import Assignment, CurrentAnswer, Rater
from curation.verify import verify_release
from tests.curation.review_run import write_cues


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    out = tmp_path_factory.mktemp("demo") / "demo"
    return out, CliRunner().invoke(demo, ["--out", str(out)], catch_exceptions=False)


def test_the_demo_ends_with_a_release_that_is_intact(ran: tuple[Path, Result]) -> None:
    out, result = ran
    assert result.exit_code == 0
    found = verify_release(str(out / "release"), None)
    assert (found.is_intact, found.outcome, found.simulated) == (True, "PASS", True)
    assert (out / "run" / "gallery.html").is_file()


def test_everything_that_rests_on_simulated_answers_says_so(ran: tuple[Path, Result]) -> None:
    out, result = ran
    assert result.stdout.count("SIMULATED") >= 4
    for name in ("report.html", "release/README.md", "release/DATASHEET.md", "release/report.html"):
        assert "simulated" in (out / name).read_text(encoding="utf-8").lower(), name
    assert json.loads((out / "release" / "gate.json").read_text())["simulated"] is True


def test_every_simulated_answer_is_marked_in_the_record(ran: tuple[Path, Result]) -> None:
    out, _ = ran
    store = open_store(f"sqlite:///{out / 'study.db'}", create=False)
    for slug in ("cues", "people"):
        rows = take_snapshot(store, slug).rows
        answered = [row for row in rows if row.answer is not None]
        assert answered, slug
        assert all(is_simulated([row]) for row in answered), slug
    assert not is_simulated(take_snapshot(store, "yours").rows)
    store.close()


def test_cues_wait_for_the_person_who_tries_it(ran: tuple[Path, Result]) -> None:
    out, _ = ran
    store = open_store(f"sqlite:///{out / 'study.db'}", create=False)
    with store.read() as session:
        campaign = find_campaign(session, "yours", "review")
        query = select(func.count()).select_from(Assignment).join(Rater, Rater.id == Assignment.rater_id)
        mine = (
            Assignment.campaign_id == campaign.id,
            Rater.auth_subject == YOU,
            Assignment.presentation == 1,
        )
        assert session.scalar(query.where(*mine)) == 15
    store.close()


def test_the_last_lines_say_where_the_review_is_and_how_to_see_how_far_it_is(
    ran: tuple[Path, Result],
) -> None:
    out, result = ran
    last = result.stdout.partition("Review the cues yourself, in the review `yours`:\n")[2]
    assert last.splitlines() == [
        f"  cuebench annotate --db {out}/study.db",
        f"  then open http://127.0.0.1:{port_of_annotate()}/?reviewer=you",
        f"  cuebench review status yours --db {out}/study.db    # how far you are",
    ]
    status = CliRunner().invoke(review_group, ["status", "yours", "--db", str(out / "study.db")])
    assert status.stdout.startswith("review yours: open\n")


def port_of_annotate() -> int:
    return int(next(p.to_info_dict()["default"] for p in annotate.params if p.name == "port"))


def test_every_command_that_the_demo_prints_is_there(ran: tuple[Path, Result]) -> None:
    from curation.cli import VERBS

    printed = [line.split()[2] for line in ran[1].stdout.splitlines() if line.startswith("$ cuebench ")]
    assert printed == ["ingest", "generate", "gallery", "review", "study", "gate", "release", "verify"]
    assert set(printed) <= set(VERBS)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path / 'people.db'}")


def test_simulated_reviewers_answer_all_and_reject_what_is_planted(store: Store, tmp_path: Path) -> None:
    run = str(write_cues(tmp_path / "run", 3))
    import_review(store, "first", run, overlap=1.0)
    assign(store, "first", list(REVIEWERS))
    n_verdicts = simulate_review(store, "first", REVIEWERS)
    with store.read() as session:
        answers = list(session.scalars(select(CurrentAnswer.answer)))
        assert session.scalar(select(func.count()).select_from(Assignment)) == n_verdicts == len(answers)
    assert set(answers) == {"accept"}
    store.close()
