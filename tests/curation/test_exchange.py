from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from curation.database import Store, open_store
from curation.exchange import export_ratings, import_responses, import_verdicts
from curation.exchange_commands import review_export, review_import_verdicts, study_export, study_import
from curation.exchange_csv import defuse, restore
from curation.exchange_table import (
    SIDECAR,
    SUFFIXES,
    TableNote,
    canonical_key,
    note_of,
    read_table,
    write_table,
)
from curation.exchange_trials import COLUMNS, Trial, dump_trials, read_trials, responses_of, trials_of
from curation.rating_records import RatingRecord, ResponseRecord, VerdictRecord
from curation.snapshots import take_snapshot
from curation.tables import Campaign
from data_manifests.errors import CuebenchError, ProblemsError
from tests.curation.small_campaign import act, sha256, small_campaign, verdict
from tests.paths import SHARED_DATA, needs_shared_data

HUMAN = SHARED_DATA / "human"
NASTY = (
    *("NA", "None", "null", "nan", "00003", "1e5", "TRUE", "[]", "", " ", "a,b", 'a"b', "zwölf ☂ 𝔘"),
    *("=1+1", "+1", "-1", "@x", "\tx", "\rx", "＝1", "'x", "'=x", "''", "'"),
    *("line\nline\r\nline\rline", "\u2028", "\ufeff"),
)

texts = st.one_of(st.sampled_from(NASTY), st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
numbers = st.integers(0, 2**53)
flags = st.lists(texts, max_size=2).map(tuple)
common: dict[str, st.SearchStrategy[Any]] = {
    "campaign": texts,
    "protocol_sha256": st.just(sha256("protocol")),
    "rater": texts,
    "sha256": st.sampled_from([sha256("a"), sha256("b")]),
    "pixel_sha256": st.none() | st.just(sha256("p")),
    "cue_id": st.none() | texts,
    "cue_kind": st.sampled_from(["shape", "texture"]),
    "superclass": texts,
    "grid": st.none() | st.integers(-(2**31), 2**31),
    "role": st.sampled_from(["main", "practice", "catch", "repeat", "known_bad"]),
    "block": numbers,
    "position": numbers,
    "presentation": st.integers(1, 9),
    "answer": st.none() | texts,
    "note": texts,
    "rt_ms": st.none() | numbers,
    "load_ms": st.none() | numbers,
    "client_utc": st.none() | texts,
    "server_utc": st.none() | texts,
    "session": st.none() | texts,
    "event_id": st.none() | texts,
    "n_events": numbers,
    "flags": flags,
    "stale": st.booleans(),
}
RECORDS = {
    "review": st.builds(VerdictRecord, **common, reasons=flags),
    "study": st.builds(
        ResponseRecord, **common, choices=flags, expected=texts, reached=st.booleans(), excluded=flags
    ),
}
MODELS: dict[str, type[RatingRecord]] = {"review": VerdictRecord, "study": ResponseRecord}


def a_verdict(**changed: Any) -> VerdictRecord:
    fields = {
        "campaign": "first",
        "protocol_sha256": sha256("protocol"),
        "rater": "ABCDEFGH",
        "sha256": sha256("picture"),
        "cue_kind": "shape",
        "superclass": "cat",
        "role": "main",
        "position": 1,
        "answer": "accept",
    }
    return VerdictRecord.model_validate({**fields, **changed})


def read_csv(path: Path) -> list[list[str]]:
    """Return the cells of a CSV as Python's own reader sees them."""
    return list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))


def write_verdicts(path: Path, *rows: VerdictRecord) -> str:
    write_table(str(path), rows, note_of(rows, "review", "first"))
    return str(path)


# --- the long table -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", ["review", "study"])
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_every_table_reads_back_as_it_was(
    tmp_path: Path, kind: str, suffix: str, data: st.DataObject
) -> None:
    rows = data.draw(st.lists(RECORDS[kind], max_size=3))
    note = note_of(rows, kind, "first", snapshot_id=3, taken_at="2026-11-30T12:00:00.000Z", last_event_pk=9)
    url = str(tmp_path / f"table{suffix}")
    write_table(url, rows, note)
    found, found_note = read_table(url, MODELS[kind])
    assert found == sorted(rows, key=canonical_key)
    assert found_note == note


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_class_keeps_its_name_and_a_note_its_lines(tmp_path: Path, suffix: str) -> None:
    rows = [a_verdict(superclass=name, note=name, position=n) for n, name in enumerate(NASTY)]
    url = write_verdicts(tmp_path / f"table{suffix}", *rows)
    found, _ = read_table(url, VerdictRecord)
    assert [(row.superclass, row.note) for row in found] == [(name, name) for name in NASTY]


def test_no_cell_of_a_csv_is_a_formula_for_a_spreadsheet(tmp_path: Path) -> None:
    rows = [
        a_verdict(superclass=name, note=name, answer=name, cue_id=name, position=n)
        for n, name in enumerate(NASTY)
    ]
    url = write_verdicts(tmp_path / "table.csv", *rows)
    cells = [cell for row in read_csv(Path(url)) for cell in row]
    assert not [cell for cell in cells if cell[:1] in tuple("=+-@\t\r\n＝")]
    assert "'=1+1" in cells


@given(text=texts)
def test_defusing_can_be_undone(text: str) -> None:
    assert restore(defuse(text)) == text
    assert not defuse(text).startswith(tuple("=+-@\t\r\n＝＋－＠"))


def test_a_csv_that_a_spreadsheet_saved_again_is_read(tmp_path: Path) -> None:
    url = write_verdicts(tmp_path / "table.csv", a_verdict(stale=True, note="zwölf"))
    text = Path(url).read_text(encoding="utf-8").replace("true", "TRUE")
    Path(url).write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_table(url, VerdictRecord)[0] == [a_verdict(stale=True, note="zwölf")]


def test_the_note_beside_a_table_names_its_snapshot(record: Store, tmp_path: Path) -> None:
    campaign = small_campaign(record)
    campaign.send(verdict(campaign.assignments[0], "reject", "cropped"))
    out = str(tmp_path / "verdicts.csv")
    table = export_ratings(record, campaign.slug, "review", out)
    note = TableNote.model_validate_json(Path(out + SIDECAR).read_bytes())
    assert (note.snapshot_id, note.taken_at, note.last_event_pk) == (
        table.snapshot_id,
        table.taken_at,
        table.last_event_pk,
    )
    assert (note.sha256, note.n_rows, note.kind) == (table.sha256, 3, "review")
    again = export_ratings(record, campaign.slug, "review", out, snapshot_id=table.snapshot_id)
    assert tuple(read_table(out, VerdictRecord)[0]) == again.rows == table.rows


@pytest.mark.parametrize("suffix", [".csv", ".json", ".jsonl"])
def test_a_table_that_was_changed_is_not_read_as_what_it_was(tmp_path: Path, suffix: str) -> None:
    url = write_verdicts(tmp_path / f"table{suffix}", a_verdict())
    Path(url).write_text(Path(url).read_text().replace("accept", "reject"))
    with pytest.raises(
        CuebenchError, match="its rows are not those that its note names: it was changed since"
    ):
        read_table(url, VerdictRecord)
    Path(url + SIDECAR).unlink()
    assert [row.answer for row in read_table(url, VerdictRecord)[0]] == ["reject"]


def test_a_table_that_lost_rows_is_refused(tmp_path: Path) -> None:
    url = write_verdicts(tmp_path / "table.jsonl", a_verdict(), a_verdict(position=2))
    Path(url).write_text(Path(url).read_text().splitlines()[0])
    with pytest.raises(CuebenchError, match="expected the 2 rows that its note names, got 1"):
        read_table(url, VerdictRecord)


def test_a_note_that_is_none_is_refused(tmp_path: Path) -> None:
    url = write_verdicts(tmp_path / "table.jsonl", a_verdict())
    Path(url + SIDECAR).write_text('{"format":"other"}')
    with pytest.raises(CuebenchError, match=r"table\.jsonl\.snapshot\.json: format: Input should be"):
        read_table(url, VerdictRecord)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.xlsx", b"", r"expected a name that ends in \.csv, \.json, \.jsonl, \.parquet"),
        ("t.csv", b"\xff", "byte 0: not UTF-8; save the table as UTF-8"),
        ("t.csv", b"rater,ratr\r\n", "unknown column ratr.*rater.*; expected schema_version"),
        ("t.csv", b"rater,Rater\r\n", "the column rater is there twice"),
        ("t.csv", b"rater,answer\r\na\r\n", "line 2: expected 2 cells, got 1"),
        ("t.csv", b'rater\r\n"a', "line 2: not a CSV"),
        ("t.csv", b"position\r\n\r\nNaN\r\n", "line 3: position: Input should be a valid integer"),
        ("t.csv", b"position\r\nx\r\n", "line 2: position: Input should be a valid integer"),
        ("t.json", b"{", "not JSON"),
        ("t.json", b"{}", "expected a list of rows"),
        ("t.json", b"[1]", "line 1: row: Input should be an object"),
        ("t.jsonl", b"[]", "line 1: row: Input should be an object"),
        ("t.parquet", b"PAR1", "not a Parquet file"),
    ],
)
def test_a_table_that_is_none_is_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CuebenchError, match=message):
        read_table(str(tmp_path / name), VerdictRecord)


# --- model-vs-human and crowd-kit ---------------------------------------------------------------------------

HEADER = "Subj,SESSION,trial,RT,Object_Response,category,condition,imagename\n"
ROWS = (
    "subject-01,1,1,0.84811806678772,oven,airplane,0,0001_s5n_s10_0_airplane_00_airplane8-bicycle3.png\n"
    "subject-01,1,2,NaN,na,cat,72,0002_tfr_dnn_0_cat_00_cat4.png\n"
)


def test_a_table_of_model_vs_human_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "trials.csv").write_text(HEADER + ROWS)
    first, second = read_trials(str(tmp_path / "trials.csv"))
    assert (first.item, first.answer, first.rt, first.rt_ms) == (
        "0_airplane_00_airplane8-bicycle3.png",
        "oven",
        "0.84811806678772",
        848,
    )
    assert (second.item, second.answer, second.rt_ms) == ("0_cat_00_cat4.png", None, None)
    written = dump_trials([first, second]).decode()
    assert written == (HEADER.lower() + ROWS).replace("\n", "\r\n")
    assert trials_of(responses_of([first, second], "s", "shape"))[0] == first


def test_responses_become_trials_with_seconds_and_na(record: Store) -> None:
    campaign = small_campaign(record, "study")
    first, second, _ = campaign.assignments
    campaign.send(replace(verdict(first, "dog"), rt_ms=512), act(second, "timeout"))
    rows = [row for row in take_snapshot(record, campaign.slug).rows if isinstance(row, ResponseRecord)]
    trials = trials_of(rows)
    assert [(t.subj, t.session, t.trial, t.rt, t.object_response, t.category) for t in trials] == [
        (rows[0].rater, "1", "1", "0.512", "dog", "cat"),
        (rows[0].rater, "1", "2", "NaN", "na", "cat"),
    ]
    assert [trial.item for trial in trials] == [f"0_cat_00_{row.sha256[:16]}.png" for row in rows[:2]]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("s,0,1,1,cat,cat,0,i.png", "line 2: session: expected a whole number from 1, got 0"),
        ("s,1,x,1,cat,cat,0,i.png", "line 2: trial: expected a whole number from 0, got x"),
        ("s,1,1,,cat,cat,0,i.png", "line 2: rt: expected seconds or NaN, got nothing"),
        ("s,1,1,-1,cat,cat,0,i.png", "line 2: rt: expected seconds or NaN, got -1"),
        ("s,1,1,inf,cat,cat,0,i.png", "line 2: rt: expected seconds or NaN, got inf"),
        (",1,1,1,cat,cat,0,i.png", "line 2: subj is empty"),
        ("s,1,1,1,,cat,0,i.png", "line 2: object_response is empty"),
    ],
)
def test_a_trial_that_is_none_is_named_with_its_line(tmp_path: Path, row: str, problem: str) -> None:
    (tmp_path / "trials.csv").write_text(f"{HEADER}{row}\n")
    with pytest.raises(ProblemsError, match=problem):
        read_trials(str(tmp_path / "trials.csv"))


def test_a_missing_column_of_model_vs_human_is_named(tmp_path: Path) -> None:
    (tmp_path / "trials.csv").write_text("subj,session\n")
    with pytest.raises(
        CuebenchError, match="no column trial, rt, object_response, category, condition, imagename"
    ):
        read_trials(str(tmp_path / "trials.csv"))


def human_files() -> list[Path]:
    return sorted(HUMAN.glob("*/*.csv"))


@needs_shared_data
def test_the_raw_human_trials_lose_nothing(tmp_path: Path) -> None:
    n_trials = 0
    for path in human_files():
        raw = read_csv(path)
        trials = read_trials(str(path))
        assert [list(vars(trial).values()) for trial in trials] == raw[1:]
        (tmp_path / "again.csv").write_bytes(dump_trials(trials))
        assert read_csv(tmp_path / "again.csv") == raw
        responses = responses_of(trials, path.stem, "shape")
        assert Counter((row.rater, row.answer, row.superclass) for row in responses) == Counter(
            (row[0], None if row[4] == "na" else row[4], row[5]) for row in raw[1:]
        )
        assert Counter(trials_of(responses)) == Counter(trials)
        n_trials += len(trials)
    assert n_trials == 30_560


@needs_shared_data
def test_the_raw_human_trials_are_stored_as_a_study_that_exports_them_again(shared_record: Store) -> None:
    paths = [path for path in human_files() if path.parent.name == "silhouette"][:2]
    raw = [Trial(*row) for path in paths for row in read_csv(path)[1:]]
    trials = [trial for path in paths for trial in read_trials(str(path))]
    responses = responses_of(trials, "silhouette", "shape")
    n_answered = sum(trial.object_response != "na" for trial in raw)
    summary = import_responses(shared_record, "silhouette", responses)
    assert (summary.n_rows, summary.n_new, summary.n_unanswered) == (320, n_answered, 320 - n_answered)
    again = import_responses(shared_record, "silhouette", responses)
    assert (again.n_new, again.n_known) == (0, n_answered)
    rows = [row for row in take_snapshot(shared_record, "silhouette").rows if isinstance(row, ResponseRecord)]
    exported = trials_of(rows)
    assert len(exported) == 320
    assert {trial for trial in exported if trial.answer} == {trial for trial in raw if trial.answer}
    told = [
        Counter((t.subj, t.session, t.object_response, t.category, t.item) for t in some)
        for some in (exported, raw)
    ]
    assert told[0] == told[1]


def test_crowd_kit_gets_the_first_answer_to_each_main_picture(record: Store, tmp_path: Path) -> None:
    campaign = small_campaign(record)
    campaign.send(verdict(campaign.assignments[0]), verdict(campaign.assignments[2], "reject"))
    out = tmp_path / "crowd.csv"
    table = export_ratings(record, campaign.slug, "review", str(out), layout="crowd-kit")
    shown = [row for row in table.rows if row.answer]
    assert read_csv(out) == [
        ["task", "worker", "label"],
        *([f"shape:{row.sha256}", row.rater, str(row.answer)] for row in shown),
    ]


# --- into the record ----------------------------------------------------------------------------------------


def test_verdicts_given_elsewhere_are_stored_once(record: Store) -> None:
    campaign = small_campaign(record)
    campaign.send(verdict(campaign.assignments[0]))
    rows = [row for row in take_snapshot(record, campaign.slug).rows if isinstance(row, VerdictRecord)]
    elsewhere = [
        rows[0],  # known to the record
        rows[1].model_copy(update={"answer": "reject", "reasons": ("cropped",), "note": "a\nb", "rt_ms": 7}),
        rows[2],  # undecided
        rows[2].model_copy(update={"rater": "somebody else", "answer": "unsure"}),
    ]
    summary = import_verdicts(record, campaign.slug, elsewhere)
    assert (summary.n_new, summary.n_known, summary.n_unanswered, summary.n_kept_out) == (2, 1, 1, 0)
    again = import_verdicts(record, campaign.slug, elsewhere)
    assert (again.n_new, again.n_known) == (0, 3)
    stored = [row for row in take_snapshot(record, campaign.slug).rows if isinstance(row, VerdictRecord)]
    assert Counter(row.answer for row in stored) == {"accept": 1, "reject": 1, None: 1, "unsure": 1}
    (rejected,) = (row for row in stored if row.answer == "reject")
    assert (rejected.reasons, rejected.note, rejected.rt_ms, rejected.flags) == (
        ("cropped",),
        "a\nb",
        7,
        ("imported",),
    )


def test_an_imported_verdict_does_not_replace_the_one_that_stands(record: Store) -> None:
    campaign = small_campaign(record)
    campaign.send(verdict(campaign.assignments[0]))
    (row, *_) = (row for row in take_snapshot(record, campaign.slug).rows if isinstance(row, VerdictRecord))
    changed = row.model_copy(update={"answer": "unsure", "event_id": "another"})
    assert import_verdicts(record, campaign.slug, [changed]).n_kept_out == 1
    assert campaign.standing() == {campaign.assignments[0]: "accept"}


def test_a_verdict_on_a_picture_that_the_review_does_not_have_is_refused(record: Store) -> None:
    campaign = small_campaign(record)
    with pytest.raises(
        ProblemsError, match=f"pictures that it does not have: 1 problem\n  shape cue {sha256('picture')}"
    ):
        import_verdicts(record, campaign.slug, [a_verdict()])


def test_a_verdict_that_makes_no_sense_is_refused(record: Store) -> None:
    campaign = small_campaign(record)
    (row, *_) = (row for row in take_snapshot(record, campaign.slug).rows if isinstance(row, VerdictRecord))
    with pytest.raises(
        ProblemsError, match=r"(?s)answers that make no sense: 1 problem.*no such answer: maybe"
    ):
        import_verdicts(record, campaign.slug, [row.model_copy(update={"answer": "maybe"})])


def test_a_review_that_is_over_takes_no_verdicts(record: Store) -> None:
    campaign = small_campaign(record, state="frozen")
    with pytest.raises(CuebenchError, match="is frozen; only an open review takes verdicts"):
        import_verdicts(record, campaign.slug, [])


def test_an_exported_study_becomes_the_same_study_elsewhere(
    record: Store, migrated_file: Path, tmp_path: Path
) -> None:
    campaign = small_campaign(record, "study")
    first, second, _ = campaign.assignments
    campaign.send(verdict(first, "dog"), act(second, "timeout"))
    url = str(tmp_path / "responses.parquet")
    rows = export_ratings(record, campaign.slug, "study", url).rows
    responses, _ = read_table(url, ResponseRecord)
    other = open_store(str(tmp_path / "other.db"))
    import_responses(other, campaign.slug, responses)
    own = {"server_utc", "session", "event_id", "flags"}
    copies = take_snapshot(other, campaign.slug).rows
    assert [row.model_dump(exclude=own) for row in copies] == [row.model_dump(exclude=own) for row in rows]
    assert [row.event_id for row in copies] == [row.event_id for row in rows]
    with other.read() as session:
        assert session.query(Campaign).one().state == "frozen"
    other.close()


def test_responses_to_a_picture_that_is_known_as_another_class_are_refused(record: Store) -> None:
    campaign = small_campaign(record, "study")
    rows = [row for row in take_snapshot(record, campaign.slug).rows if isinstance(row, ResponseRecord)]
    changed = [row.model_copy(update={"superclass": "dog"}) for row in rows]
    with pytest.raises(
        ProblemsError, match=r"cues/0\.png: known as cat, here it is dog; a picture has one class"
    ):
        import_responses(record, "elsewhere", changed)


def test_a_study_planned_here_is_not_added_to(record: Store) -> None:
    campaign = small_campaign(record, "study")
    rows = [row for row in take_snapshot(record, campaign.slug).rows if isinstance(row, ResponseRecord)]
    with pytest.raises(CuebenchError, match="was not imported, and takes no responses from elsewhere"):
        import_responses(record, campaign.slug, rows)
    with pytest.raises(CuebenchError, match="there are no responses to import"):
        import_responses(record, "new", [])


def test_an_export_that_does_not_fit_is_refused(record: Store, tmp_path: Path) -> None:
    campaign, other = small_campaign(record), small_campaign(record)
    with pytest.raises(CuebenchError, match=r"crowd-kit is a CSV; expected a name that ends in \.csv"):
        export_ratings(record, campaign.slug, "review", str(tmp_path / "t.json"), layout="crowd-kit")
    with pytest.raises(CuebenchError, match="expected a study campaign, got a review campaign"):
        export_ratings(record, campaign.slug, "study", str(tmp_path / "t.json"))
    table = take_snapshot(record, other.slug)
    with pytest.raises(
        CuebenchError, match=f"snapshot {table.snapshot_id}: is of campaign {other.slug}, not of"
    ):
        export_ratings(
            record, campaign.slug, "review", str(tmp_path / "t.json"), snapshot_id=table.snapshot_id
        )


# --- the commands -------------------------------------------------------------------------------------------


def run(command: click.Command, *args: str) -> str:
    result = CliRunner().invoke(command, list(args), catch_exceptions=False, standalone_mode=False)
    assert result.exit_code == 0
    return result.stdout


@pytest.fixture
def small(migrated_file: Path, tmp_path: Path) -> tuple[str, str, str]:
    """Give a database with a review and a study, each with an answer: its path, and their names."""
    path = str(tmp_path / "record.db")
    store = open_store(path)
    review, study = small_campaign(store), small_campaign(store, "study")
    review.send(verdict(review.assignments[0]))
    study.send(verdict(study.assignments[0], "cat"))
    store.close()
    return path, review.slug, study.slug


def test_a_review_goes_out_and_comes_back_by_command(small: tuple[str, str, str], tmp_path: Path) -> None:
    db, slug, _ = small
    out = str(tmp_path / "verdicts.csv")
    assert run(review_export, "--db", db, slug, "--out", out) == f"{out}: 1 answers in 3 rows, snapshot 1\n"
    with pytest.raises(CuebenchError, match="there is already a file; choose another name"):
        run(review_export, "--db", db, slug, "--out", out)
    told = json.loads(run(review_export, "--db", db, slug, "--out", out, "--force", "--format", "json"))
    assert (told["file"], told["n_rows"], told["n_answers"], told["snapshot"]) == (out, 3, 1, 1)
    assert run(review_import_verdicts, "--db", db, slug, out) == (
        f"{slug}: 3 rows: 0 new answers, 1 known, 0 kept out (another answer stands), 2 without an answer\n"
    )


def test_a_study_goes_out_and_comes_back_by_command(small: tuple[str, str, str], tmp_path: Path) -> None:
    db, _, slug = small
    out, trials = str(tmp_path / "responses.jsonl"), str(tmp_path / "trials.csv")
    run(study_export, "--db", db, slug, "--out", out)
    run(study_export, "--db", db, slug, "--out", trials, "--layout", "model-vs-human")
    assert Path(trials).read_text().startswith(",".join(COLUMNS))
    other = str(tmp_path / "other.db")
    told = json.loads(run(study_import, "--db", other, "copy", out, "--format", "json"))
    assert (told["n_rows"], told["n_new"], told["n_unanswered"]) == (3, 1, 2)
    foreign = ("--layout", "model-vs-human", "--cue-kind", "shape", "--choices", "cat, dog")
    told = json.loads(run(study_import, "--db", db, "foreign", trials, *foreign, "--format", "json"))
    assert (told["n_rows"], told["n_new"]) == (1, 1)
    with pytest.raises(
        CuebenchError, match=f"are in this database already, in {slug}; import them into another"
    ):
        run(study_import, "--db", db, "copy", out)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--layout", "model-vs-human"], "--cue-kind goes with --layout model-vs-human"),
        (["--cue-kind", "shape"], "--cue-kind goes with --layout model-vs-human"),
        (["--choices", "a,b"], "--choices goes with --layout model-vs-human"),
    ],
)
def test_options_that_do_not_go_together_are_refused(args: list[str], message: str) -> None:
    with pytest.raises(click.UsageError, match=message):
        run(study_import, "--db", "none.db", "slug", "table.csv", *args)
