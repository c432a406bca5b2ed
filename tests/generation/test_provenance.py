from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from data_manifests.errors import ProblemsError
from generation.provenance import Claim, read_provenance


def written(tmp_path: Path, text: str, encoding: str = "utf-8") -> str:
    path = tmp_path / "sources.csv"
    path.write_bytes(text.encode(encoding))
    return str(path)


def problems_of(tmp_path: Path, text: str) -> tuple[str, ...]:
    with pytest.raises(ProblemsError, match=r"sources\.csv: \d+ problem") as caught:
        read_provenance(written(tmp_path, text))
    return caught.value.problems


def test_a_row_becomes_a_claim_and_empty_cells_say_nothing(tmp_path: Path) -> None:
    text = 'file_name,cue,author,title,license_spdx\nclock/1.jpg,shape,"Ada, A.",,CC-BY-4.0\n\n'

    claims = read_provenance(written(tmp_path, text))

    assert claims == {"clock/1.jpg": [Claim(cue_kind="shape", author="Ada, A.", license_spdx="CC-BY-4.0")]}
    assert claims["clock/1.jpg"][0].record_fields() == {"author": "Ada, A.", "license_spdx": "CC-BY-4.0"}


def test_a_file_of_a_spreadsheet_is_read(tmp_path: Path) -> None:
    text = "\ufefffile_name,superclass\r\n.\\clock\\1.jpg , clock\r\n"

    assert read_provenance(written(tmp_path, text)) == {"clock/1.jpg": [Claim(superclass="clock")]}


def test_composed_and_decomposed_names_are_the_same(tmp_path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "clock/ñ.jpg")

    assert list(read_provenance(written(tmp_path, f"file_name\n{decomposed}\n"))) == ["clock/ñ.jpg"]


def test_a_photograph_may_serve_two_kinds(tmp_path: Path) -> None:
    claims = read_provenance(written(tmp_path, "file_name,cue_kind\n1.jpg,shape\n1.jpg,texture\n"))

    assert [claim.cue_kind for claim in claims["1.jpg"]] == ["shape", "texture"]


@pytest.mark.parametrize("license_spdx", ["CC0-1.0", "LicenseRef-own", "(MIT OR Apache-2.0)", "NOASSERTION"])
def test_spdx_expressions_are_taken(tmp_path: Path, license_spdx: str) -> None:
    claims = read_provenance(written(tmp_path, f"file_name,license_spdx\n1.jpg,{license_spdx}\n"))

    assert claims["1.jpg"][0].license_spdx == license_spdx


def test_all_mistakes_of_the_header_are_listed_with_the_nearest_column(tmp_path: Path) -> None:
    problems = problems_of(tmp_path, "filename,licence_spdx,author,author,cue,cue_kind\n")

    assert len(problems) == 5
    assert problems[0].startswith("line 1: no column file_name")
    assert problems[1] == "line 1: author: 2 columns of this name"
    assert problems[2].startswith("line 1: filename: unknown column (did you mean `file_name`?); known are")
    assert problems[3].startswith("line 1: licence_spdx: unknown column (did you mean `license_spdx`?)")
    assert problems[4] == "line 1: cue and cue_kind are the same; keep one of them"


def test_all_mistakes_of_the_rows_are_listed_with_their_lines(tmp_path: Path) -> None:
    text = (
        "file_name,cue,redistributable,sha256,license_spdx\n"
        "../1.jpg,,,,\n"
        ",,,,\n"
        " ,shape,,,\n"
        "2.jpg,shapes,maybe,abc,CC BY 4.0\n"
        "3.jpg,shape\n"
        "4.jpg,,,,\n"
        "4.jpg,,,,\n"
        "/etc/5.jpg,,,,\n"
    )

    assert problems_of(tmp_path, text) == (
        "line 2: file_name: expected a path below the folder of photographs, got ../1.jpg",
        "line 4: file_name: empty",
        "line 5: cue: expected shape or texture, got 'shapes' (did you mean `shape`?)",
        "line 5: redistributable: expected one of yes, derivative-only, no, unknown, got 'maybe'",
        "line 5: sha256: expected 64 hexadecimal digits, got 'abc'",
        "line 5: license_spdx: expected an SPDX id or LicenseRef-..., got 'CC BY 4.0' "
        "(did you mean `CC-BY-4.0`?)",
        "line 6: expected 5 cells, got 2; quote commas in text",
        "line 8: file_name: 4.jpg is already in line 7",
        "line 9: file_name: expected a path below the folder of photographs, got /etc/5.jpg",
    )


def test_an_empty_file_has_no_column(tmp_path: Path) -> None:
    assert problems_of(tmp_path, "")[0].startswith("line 1: no column file_name")


def test_another_encoding_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProblemsError, match="byte 16: not UTF-8; save the file as UTF-8"):
        read_provenance(written(tmp_path, "file_name\nclock/ñ.jpg\n", "latin-1"))
