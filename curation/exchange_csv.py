"""Cells of a CSV that spreadsheets leave alone, and that read back as what they were.

A text that a spreadsheet would take for a formula gets a leading `'`, and loses it again when it is read. Nothing is
guessed from a text: `NA`, `None`, `null` and `00003` stay what they are.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from data_manifests.errors import CuebenchError
from data_manifests.shipped import nearest

FORMULA_STARTS = "=+-@\t\r\n＝＋－＠"
_MARK = "'"


def defuse(text: str) -> str:
    """Return a text as a cell that no spreadsheet runs as a formula.

    >>> defuse("=1+1"), defuse("plain"), defuse("'quoted'")
    ("'=1+1", 'plain', "''quoted'")
    """
    return _MARK + text if text[:1] in (*FORMULA_STARTS, _MARK) and text else text


def restore(cell: str) -> str:
    """Return the text of which `defuse` made a cell.

    >>> restore("'=1+1"), restore("'tis"), restore("''tis")
    ('=1+1', "'tis", "'tis")
    """
    return cell[1:] if cell[:1] == _MARK and cell[1:2] in (*FORMULA_STARTS, _MARK) and cell[1:] else cell


def dump_csv(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    r"""Return a table as CSV in UTF-8 (RFC 4180: rows end with `\r\n`); cells are written as they are."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\r\n")  # with less, the writer leaves a bare `\r` unquoted
    writer.writerow(columns)
    writer.writerows(rows)
    return stream.getvalue().encode()


def parse_csv(
    data: bytes, where: str, columns: Sequence[str], *, required: Iterable[str] = ()
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line and cells by column of a CSV whose header has some of the columns, in any order and case.

    Raises
    ------
    CuebenchError
        If it is not UTF-8, the header has an unknown column, one twice or lacks a required one, or a row has more or
        fewer cells than the header.
    """
    reader = csv.reader(io.StringIO(_decode(data, where), newline=""), strict=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        _check_header(header, where, columns, required)
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                raise CuebenchError(
                    f"{where}: line {reader.line_num}: expected {len(header)} cells, got {len(cells)}"
                )
            yield reader.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise CuebenchError(f"{where}: line {reader.line_num}: not a CSV ({error})") from error


def _decode(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CuebenchError(f"{where}: byte {error.start}: not UTF-8; save the table as UTF-8") from error


def _check_header(header: Sequence[str], where: str, columns: Sequence[str], required: Iterable[str]) -> None:
    for name in header:
        if name not in columns:
            meant = nearest(name, list(columns))
            raise CuebenchError(
                f"{where}: unknown column {name or '(empty)'}{meant}; expected {', '.join(columns)}"
            )
        if header.count(name) > 1:
            raise CuebenchError(f"{where}: the column {name} is there twice")
    if missing := [name for name in required if name not in header]:
        raise CuebenchError(f"{where}: no column {', '.join(missing)}; the columns are: {', '.join(header)}")
