from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_manifests.errors import ProblemsError
from data_manifests.jsonl import canonical_json, dump_records, parse_records, read_records, write_records
from data_manifests.records import SourceRecord


def source(number: int, **fields: object) -> SourceRecord:
    known: dict[str, object] = {
        "source_id": f"{number:064x}",
        "n_bytes": 1,
        "file_name": f"clock/{number}.jpg",
        "superclass": "clock",
        "cue_kind": "shape",
    }
    return SourceRecord.model_validate({**known, **fields})


def test_order_of_the_rows_does_not_change_the_bytes() -> None:
    rows = [source(number) for number in range(20)]
    shuffled = [rows[(7 * number) % 20] for number in range(20)]
    assert dump_records(shuffled) == dump_records(rows)


@given(title=st.text(), author=st.text())
def test_any_text_survives_a_round_trip(title: str, author: str) -> None:
    rows = [source(1, title=title, author=author), source(2)]
    data = dump_records(rows)
    assert data.count(b"\n") == 2
    assert parse_records(data, SourceRecord, "memory") == rows


def test_a_row_is_canonical_json() -> None:
    assert dump_records([source(1)]).startswith(b'{"attribution_text":"","author":"",')


def test_nan_has_no_canonical_json() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(float("nan"))


def test_every_bad_row_is_named(tmp_path: Path) -> None:
    path = tmp_path / "sources.jsonl"
    good = dump_records([source(1)])
    path.write_bytes(
        good + b"{broken\n" + good.replace(b'"shape"', b'"colour"').replace(b'"mode"', b'"mood"')
    )
    with pytest.raises(ProblemsError) as caught:
        read_records(str(path), SourceRecord)
    assert [problem.split(": ")[:2] for problem in caught.value.problems] == [
        ["line 2", "row"],
        ["line 3", "cue_kind"],
        ["line 3", "mood"],
    ]


def test_many_problems_are_cut_with_their_count() -> None:
    with pytest.raises(ProblemsError, match="and 5 more"):
        parse_records(b"{}x\n" * 25, SourceRecord, "memory")


def test_remote_and_local_stores_give_the_same_bytes(tmp_path: Path) -> None:
    rows = [source(number) for number in range(3)]
    local, remote = str(tmp_path / "deep" / "rows.jsonl"), "memory://test/deep/rows.jsonl"
    for url in (local, remote):
        write_records(url, rows)
        assert read_records(url, SourceRecord) == rows


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    rows = [source(1), source(2)]
    path = tmp_path / "sources.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + dump_records(rows).replace(b"\n", b"\r\n"))
    assert read_records(str(path), SourceRecord) == rows


@pytest.mark.parametrize("name", ["../../elsewhere", "", "a/b", ".."])
def test_a_superclass_that_is_no_folder_name_is_refused(name: str) -> None:
    data = dump_records([source(1)]).replace(b'"clock"', f'"{name}"'.encode())
    with pytest.raises(ProblemsError, match="line 1: superclass: String should match pattern"):
        parse_records(data, SourceRecord, "memory")
