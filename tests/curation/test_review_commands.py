from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from curation.review_commands import review_group
from data_manifests.errors import CuebenchError
from data_manifests.jsonl import read_records
from data_manifests.records import MaskRecord
from tests.curation.review_run import write_cues, write_images
from tests.curation.test_mask_picks import render
from tests.generation.photographs import write_photographs


def review(*args: str) -> None:
    """Run `cuebench review` as the command line does; its errors are raised."""
    review_group.main(list(args), prog_name="cuebench review", standalone_mode=False)


@pytest.fixture
def db(tmp_path: Path) -> str:
    return str(tmp_path / "review.db")


def walk(group: click.Group, path: str) -> list[tuple[str, click.Command]]:
    found = []
    for name, command in sorted(group.commands.items()):
        found.append((f"{path} {name}", command))
        if isinstance(command, click.Group):
            found.extend(walk(command, f"{path} {name}"))
    return found


@pytest.mark.parametrize(("path", "command"), walk(review_group, "cuebench review"))
def test_every_command_shows_an_example_of_itself(path: str, command: click.Command) -> None:
    assert command.epilog is not None
    assert command.epilog.startswith(f"Example: {path}")
    assert command.help


def test_a_review_from_import_to_status(db: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(write_cues(tmp_path / "run", 5))
    bad = str(write_images(tmp_path / "bad", ["shape/clock/a.png"]))
    guide = tmp_path / "guide.md"
    guide.write_text("\ufeffLook — closely.", encoding="utf-8")
    options = ("--overlap", "1", "--seed", "3", "--raters", "1", "--repeats", "0", "--guideline", str(guide))
    review("import", "--db", db, "first", run, *options, "--known-bad", bad, "--format", "json")
    captured = capsys.readouterr()
    assert json.loads(captured.out)["n_new"] == 10
    assert captured.err == f"next: cuebench review assign --db {db} first --reviewer NAME\n"
    review("assign", "--db", db, "first", "--reviewer", "ada", "--reviewer", "bo", "--format", "json")
    captured = capsys.readouterr()
    queues = json.loads(captured.out)["reviewers"]
    assert [(queue["reviewer"], queue["n_new"]) for queue in queues] == [("ada", 11), ("bo", 11)]
    assert captured.err == f"next: cuebench annotate --db {db}\n"
    review("assign", "--db", db, "first", "--release", "bo")
    assert "bo                                     0      11" in capsys.readouterr().out
    review("status", "--db", db, "first", "--format", "json")
    assert json.loads(capsys.readouterr().out)["states"]["undecided"] == 10
    review("status", "--db", db, "first")
    assert capsys.readouterr().out.startswith("review first: open\n")
    review("import", "--db", db, "first", run)
    assert capsys.readouterr().out == "review first\n      10 pictures that were there\n"


def test_a_guideline_that_is_no_text_is_refused(db: str, tmp_path: Path) -> None:
    guide = tmp_path / "guide.docx"
    guide.write_bytes(b"PK\x03\x04\xff\xfe")
    with pytest.raises(CuebenchError, match=r"guide.docx: not a text in UTF-8 \(byte 4\)"):
        review("import", "--db", db, "first", str(write_cues(tmp_path / "run", 1)), "--guideline", str(guide))
    assert not Path(db).exists()


@pytest.mark.parametrize("command", ["assign", "status"])
def test_what_needs_a_review_makes_no_database(db: str, command: str) -> None:
    with pytest.raises(CuebenchError, match="no such database"):
        review(command, "--db", db, "first")
    assert not Path(db).exists()


def test_masks_are_imported_and_picks_written(
    db: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photos = tmp_path / "photos"
    write_photographs(photos, n_shape=1, n_texture=0)
    run, out = str(render(photos, tmp_path / "run")), tmp_path / "picks/masks.jsonl"
    review("masks", "import", "--db", db, "masks", run, "--cue-kind", "shape", "--format", "json")
    assert json.loads(capsys.readouterr().out)["n_photographs"] == 1
    review("assign", "--db", db, "masks", "--reviewer", "ada")
    capsys.readouterr()
    review("masks", "picks", "--db", db, "masks", "--out", str(out), "--format", "json")
    captured = capsys.readouterr()
    assert json.loads(captured.out)["n_open"] == 1
    assert captured.err.startswith(f"wrote {out}; render with it: cuebench generate")
    assert read_records(str(out), MaskRecord) == []
    with pytest.raises(CuebenchError, match="there is already a file; choose another name, or overwrite it"):
        review("masks", "picks", "--db", db, "masks", "--out", str(out))
    review("masks", "picks", "--db", db, "masks", "--out", str(out), "--force")
    assert "1 not answered yet" in capsys.readouterr().out
