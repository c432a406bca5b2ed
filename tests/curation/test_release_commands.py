from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import tomli_w
from click.testing import CliRunner, Result

from curation.cli import cuebench
from curation.database import open_store
from curation.gate_source import GateSource
from curation.protocol import Practice, read_protocol
from curation.release_content import RATINGS, read_release
from curation.review import assign, import_review
from curation.study import invite, plan_study, study_protocol
from curation.takedown import Takedown, take_down
from data_manifests.errors import CuebenchError, ProblemsError
from tests.curation.release_run import DATE, RULES, edit_row, files_of, make_run, publish
from tests.curation.review_run import answer, showings, write_images
from tests.curation.study_run import Simulated, enter, know_everything, rater_of, take_part

Release = Callable[..., Result]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def source(run: Path) -> GateSource:
    return make_run(run)


@pytest.fixture(scope="module")
def published(source: GateSource, run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("releases") / "1.0.0"
    publish(source, run, folder)
    return folder


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cuebench, arguments, catch_exceptions=False)


@pytest.fixture
def release(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, migrated_file: Path) -> Release:
    """Return a call of the verb on given answers, of which the record itself is empty."""
    shutil.copy(migrated_file, tmp_path / "record.db")

    def call(given: GateSource, *options: str, version: str | None = "1.0.0") -> Result:
        def read(*_: object, simulated: bool, **__: object) -> GateSource:
            return replace(given, data=replace(given.data, simulated=simulated))

        monkeypatch.setattr("curation.gate_source.read_gate_source", read)
        arguments = ["--db", f"sqlite:///{tmp_path}/record.db", "--run", str(run)]
        arguments += ["--version", version] if version else []
        return invoke(
            "release", *arguments, "--out", str(tmp_path / (version or "next")), "--date", DATE, *options
        )

    return call


def test_a_set_that_passes_is_released(source: GateSource, release: Release, tmp_path: Path) -> None:
    found = release(source, "--webdataset", "--parquet", "--tar", str(tmp_path / "a.tar"), "--format", "json")
    assert found.exit_code == 0
    said = json.loads(found.stdout)
    assert (said["release"], said["outcome"], said["simulated"]) == ("cuebench-cues-1.0.0", "PASS", False)
    assert (tmp_path / "a.tar").is_file()
    assert (tmp_path / "1.0.0" / "webdataset").is_dir()
    verified = json.loads(invoke("verify", str(tmp_path / "1.0.0"), "--format", "json").stdout)
    assert (verified["intact"], verified["release_id"]) == (True, said["release_id"])


def test_what_was_written_is_said_in_words(source: GateSource, release: Release, tmp_path: Path) -> None:
    found = release(source, "--simulated", "--tar", str(tmp_path / "a.tar"))
    lines = found.stdout.splitlines()
    assert lines[0].startswith("cuebench-cues-1.0.0 (SIMULATED answers): ")
    assert lines[0].endswith("files, gate PASS")
    assert lines[1].startswith("release id ")
    assert lines[2].startswith("tar ")
    assert "check it: cuebench verify" in found.stderr
    assert "(SIMULATED answers): intact" in invoke("verify", str(tmp_path / "1.0.0")).stdout


def test_a_set_that_fails_is_not_written_and_the_checks_are_named(
    source: GateSource, release: Release, tmp_path: Path
) -> None:
    verdicts = tuple(
        row.model_copy(update={"answer": "accept"}) if row.role == "known_bad" else row
        for row in source.data.verdicts
    )
    found = release(replace(source, data=replace(source.data, verdicts=verdicts)))
    assert found.exit_code == 3
    assert "not released: the gate says FAIL (review: planted defects are found)" in found.stderr
    assert found.stdout.startswith("FAIL")
    assert not (tmp_path / "1.0.0").exists()


def test_a_set_that_cannot_be_decided_is_not_written(
    source: GateSource, release: Release, tmp_path: Path
) -> None:
    people = {row.rater for row in source.data.responses}
    rules = source.data.rules.model_copy(
        update={"volume": source.data.rules.volume.model_copy(update={"min_participants": len(people) + 1})}
    )
    found = release(replace(source, data=replace(source.data, rules=rules)))
    assert found.exit_code == 4
    assert "INSUFFICIENT (shape: enough participants; texture: enough participants)" in found.stderr
    assert not (tmp_path / "1.0.0").exists()


def test_cues_of_closed_photographs_go_out_by_consent_alone(
    source: GateSource, release: Release, tmp_path: Path
) -> None:
    sources = tuple(
        row.model_copy(update={"redistributable": "no"}) if row.cue_kind == "shape" else row
        for row in source.data.sources
    )
    closed = replace(source, data=replace(source.data, sources=sources))
    with pytest.raises(
        ProblemsError, match="redistributable: no`; leave them out, or --allow-derived"
    ) as caught:
        release(closed)
    assert len(caught.value.problems) == 11
    assert caught.value.problems[-1] == "... and 10 more"
    assert not (tmp_path / "1.0.0").exists()
    found = release(closed, "--allow-derived")
    assert found.exit_code == 0
    assert "20 cues of photographs that can't be passed on themselves go out:" in found.stderr
    assert found.stderr.count("(shape/shape_0)") == 5


def test_what_the_makers_state_is_on_the_cards(source: GateSource, release: Release, tmp_path: Path) -> None:
    (tmp_path / "about.toml").write_text('name = "mine"\ncreators = ["Ada"]\nconsent = "Signed."\n')
    found = release(source, "--about", str(tmp_path / "about.toml"))
    assert found.stdout.startswith("mine-1.0.0: ")
    assert "- Consent: Signed." in (tmp_path / "1.0.0" / "DATASHEET.md").read_text()


def test_mistakes_in_what_the_makers_state_are_named(
    source: GateSource, release: Release, tmp_path: Path
) -> None:
    (tmp_path / "about.toml").write_text('nmae = "mine"\n')
    with pytest.raises(ProblemsError, match=r"nmae: unknown key \(did you mean `name`"):
        release(source, "--about", str(tmp_path / "about.toml"))
    with pytest.raises(CuebenchError, match=r"--about default: expected a \.toml file"):
        release(source, "--about", "default")


def test_the_next_version_is_held_against_the_one_before(
    source: GateSource, release: Release, published: Path, tmp_path: Path
) -> None:
    fewer = replace(source, data=replace(source.data, cues=source.data.cues[1:]))
    with pytest.raises(
        CuebenchError, match=r"--version 1.1.0: what changed since 1.0.0 needs a major version, 2.0.0"
    ):
        release(fewer, "--previous", str(published), version="1.1.0")
    assert release(fewer, "--previous", str(published), version="2.0.0").exit_code == 0
    assert "- 1 picture gone without a tombstone." in (tmp_path / "2.0.0" / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("version", ["1.0", "v1.0.0", "01.0.0", "1.0.0-rc1", "1.0.0\n"])
def test_a_version_that_is_none_is_refused(source: GateSource, release: Release, version: str) -> None:
    with pytest.raises(CuebenchError, match=r"expected three numbers without leading zeros, such as 1.0.0"):
        release(source, version=version)


def test_a_date_that_is_none_is_refused(source: GateSource, release: Release) -> None:
    with pytest.raises(CuebenchError, match=r"--date 30.11.2026: expected a day such as 2026-11-30"):
        release(source, "--date", "30.11.2026")


def test_without_a_date_it_is_today(source: GateSource, run: Path, published: Path, tmp_path: Path) -> None:
    cue = read_release(str(published)).data.cues[0]
    arguments = ["--cue", cue.cue_id, "--reason", "x", "--version", "1.0.1", "--out", str(tmp_path / "out")]
    assert invoke("takedown", str(published), *arguments).exit_code == 0
    assert read_release(str(tmp_path / "out")).meta.date > "2026-01-01"


def test_verify_names_what_is_wrong_and_exits_with_3(published: Path, tmp_path: Path) -> None:
    shutil.copytree(published, tmp_path / "out")
    edit_row(tmp_path / "out" / "ratings/responses.jsonl", 2, rt_ms=1)
    found = invoke("verify", str(tmp_path / "out"))
    assert found.exit_code == 3
    lines = found.stdout.splitlines()
    assert lines[0].startswith("cuebench-cues 1.0.0: NOT INTACT: ")
    assert lines[1].endswith("; from what is here now: numbers not to be trusted")
    assert "rating     ratings/responses.jsonl:2: this row was edited" in lines
    assert lines[-1].startswith("gate       gate.json: ")
    assert re.search(
        r"\d+ numbers differ \(input\.responses, .*, \.\.\.; all of them: --verbose\)", lines[-1]
    )
    verbose = invoke("verify", str(tmp_path / "out"), "--verbose").stdout
    assert "numbers differ" not in verbose
    assert verbose.count("gate       gate.json: ") > 3
    as_json = invoke("verify", str(tmp_path / "out"), "--format", "json")
    assert as_json.exit_code == 3
    assert json.loads(as_json.stdout)["intact"] is False


def test_verify_says_what_it_computed(published: Path) -> None:
    found = invoke("verify", str(published))
    assert found.exit_code == 0
    lines = found.stdout.splitlines()
    assert lines[0].startswith("cuebench-cues 1.0.0: intact, ")
    assert lines[1].startswith("gate PASS, computed again; kappa: shape 0.9")
    assert lines[2].startswith("signature none; release id ")


def test_verify_of_something_else_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(CuebenchError, match="no SHA256SUMS; expected a release"):
        invoke("verify", str(tmp_path))


def test_a_takedown_writes_the_next_version(published: Path, tmp_path: Path) -> None:
    before = files_of(published)
    cues = [cue for cue in read_release(str(published)).data.cues if cue.superclass == "shape_0"]
    named = [word for cue in cues[:3] for word in ("--source", cue.parent_source_ids[0])]
    arguments = [*named, "--reason", "asked for", "--version", "1.0.1", "--out", str(tmp_path / "1.0.1")]
    found = invoke("takedown", str(published), *arguments, "--date", DATE, "--tar", str(tmp_path / "a.tar"))
    assert found.exit_code == 0
    assert "the gate says INSUFFICIENT to what is left" in found.stderr
    assert f"now delete or hide {published} wherever it is published" in found.stderr
    assert found.stdout.startswith("cuebench-cues-1.0.1: ")
    assert len(read_release(str(tmp_path / "1.0.1")).data.cues) == 37
    assert files_of(published) == before
    assert invoke("verify", str(tmp_path / "1.0.1")).exit_code == 0


def test_a_takedown_without_a_version_finds_it_though_a_class_goes(published: Path, tmp_path: Path) -> None:
    cues = [cue for cue in read_release(str(published)).data.cues if cue.superclass == "shape_0"]
    last = [word for cue in cues for word in ("--source", cue.parent_source_ids[0][:8])]
    for number, named in (("1.0.1", ["--cue", cues[0].cue_id[:8]]), ("2.0.0", last)):
        out = str(tmp_path / number)
        found = invoke("takedown", str(published), *named, "--reason", "asked for", "--out", out)
        assert found.exit_code == 0
        assert json.loads((tmp_path / number / "release.json").read_text())["version"] == number
        assert invoke("verify", out).exit_code == 0
    help_text = invoke("takedown", "--help").output
    assert "--source 3f2a90c1" in help_text
    assert "loses its last picture" in " ".join(help_text.split())


def test_ids_that_say_too_little_are_named(published: Path, tmp_path: Path) -> None:
    content = read_release(str(published))
    cue = content.data.cues[0]
    arguments = ["--cue", cue.cue_id[:7], "--reason", "x", "--out", str(tmp_path / "out")]
    with pytest.raises(
        ProblemsError, match=f"--cue {cue.cue_id[:7]}: no such cue; expected an id, or its first 8"
    ):
        invoke("takedown", str(published), *arguments)
    twin = cue.model_copy(update={"cue_id": cue.cue_id[:8] + "0" * 24})
    both = replace(content, data=replace(content.data, cues=(*content.data.cues, twin)))
    asked = Takedown((), (cue.cue_id[:8],), "x", None, DATE)
    with pytest.raises(ProblemsError, match=f"--cue {cue.cue_id[:8]}: 2 ids begin like this; say more of it"):
        take_down(both, asked, release_id="0" * 64, code="x")


def test_the_version_follows_from_the_release_before(
    source: GateSource, release: Release, published: Path, tmp_path: Path
) -> None:
    assert release(source, "--previous", str(published), version=None).exit_code == 0
    assert read_release(str(tmp_path / "next")).meta.version == "1.0.1"
    with pytest.raises(
        CuebenchError, match=r"a first release needs a --version, such as 1.0.0; a later one --prev"
    ):
        release(source, version=None)


def test_nothing_is_taken_down_from_a_release_that_is_not_intact(published: Path, tmp_path: Path) -> None:
    shutil.copytree(published, tmp_path / "broken")
    (tmp_path / "broken" / "README.md").write_text("x")
    cue = read_release(str(published)).data.cues[0]
    arguments = ["--cue", cue.cue_id, "--reason", "x", "--version", "1.0.1", "--out", str(tmp_path / "out")]
    with pytest.raises(
        ProblemsError, match=r"not intact; take down from a copy .*\n  README.md: its SHA-256"
    ):
        invoke("takedown", str(tmp_path / "broken"), *arguments)
    assert not (tmp_path / "out").exists()


def test_what_is_not_as_it_was_meant_is_not_called_released(
    source: GateSource, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every release is read back as anybody will read it."""
    monkeypatch.setattr("curation.release.dump_rows", lambda _: b"")
    with pytest.raises(ProblemsError, match="written, and not what was meant; do not publish it"):
        release(source)


def test_the_whole_way_from_a_review_and_a_study_to_a_release(
    run: Path, source: GateSource, published: Path, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/record.db"
    with closing(open_store(url)) as store:
        bad = write_images(tmp_path / "bad", [f"shape/shape_0/bad{number}.png" for number in range(10)])
        import_review(store, "review", str(run), overlap=1.0, repeat_share=0, known_bad=str(bad))
        assign(store, "review", ["ada@example.org", "bo@example.org"])
        answer(
            store,
            showings(store, "review"),
            lambda shown: "reject" if shown.role == "known_bad" else "accept",
        )
        asked = read_protocol("demo").model_copy(
            update={
                "n_ratings_per_image": 6,
                "n_catch": 0,
                "practice": Practice(n_trials=0, n_correct=0),
                "instructions": "",
                "check": None,
                "over_recruit_share": 0,
            }
        )
        plan = plan_study(store, "study", str(run), asked, review="review")
        known, rng = know_everything(store), random.Random(1)  # noqa: S311
        person = Simulated(
            lambda seen, choices: seen.superclass if rng.random() < 0.95 else rng.choice(list(choices)),
            lambda: rng.randint(500, 900),
        )
        protocol = study_protocol(store, "study")
        for _, link in invite(store, "study", plan.n_invitations, "https://cues.example.org"):
            rater_id = rater_of(store, link)
            enter(store, rater_id, protocol)
            take_part(store, rater_id, person, known)
    (tmp_path / "rules.toml").write_text(tomli_w.dumps(RULES.model_dump(mode="json")))
    arguments = ["--db", url, "--run", str(run), "--version", "1.0.0", "--date", DATE]
    arguments += ["--rules", str(tmp_path / "rules.toml")]
    for name in ("one", "two"):
        found = invoke("release", *arguments, "--out", str(tmp_path / name))
        assert found.exit_code == 0, found.output
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")
    content = read_release(str(tmp_path / "one"))
    assert len(content.data.cues) == len(source.data.cues)
    assert len(content.data.responses) == 6 * 40
    text = b"".join(data for name, data in files_of(tmp_path / "one").items() if not name.endswith(".png"))
    for secret in (b"ada@example.org", b"bo@example.org", str(run).encode()):
        assert secret not in text
    assert not re.search(
        rb"T\d\d:\d\d:\d\d", b"".join((tmp_path / "one" / name).read_bytes() for name in RATINGS)
    )
