"""Reading ratings from a long CSV: one row a rating."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from curation.ratings import Ratings, make_ratings
from data_manifests.errors import CuebenchError
from data_manifests.shipped import nearest
from data_manifests.storage import read_bytes


def read_ratings(
    url: str,
    *,
    item: str,
    rater: str,
    label: str,
    missing: Sequence[str] = (),
    categories: Sequence[str] | None = None,
) -> Ratings:
    """Return the ratings of a CSV. An empty label is missing.

    A column is found by its name, or by its name in another case where only one column has that.

    Parameters
    ----------
    item, rater, label : names of the columns
    missing : labels that mean that no rating was given, such as `na`
    categories : what was offered; by default the labels that occur

    Raises
    ------
    CuebenchError
        If a column is not there, stands there twice or is asked for twice, a row has other fields than the header, a
        token of `missing` occurs in another case only, a rater rated an item twice, or nothing is left.
    """
    rows = _rows(url, (item, rater, label))
    _check_missing(url, missing, {row[2] for row in rows})
    absent = {"", *missing}
    try:
        return make_ratings(
            [row[0] for row in rows],
            [row[1] for row in rows],
            [None if row[2] in absent else row[2] for row in rows],
            categories,
        )
    except CuebenchError as error:
        raise CuebenchError(f"{url}: {error}") from error


def _rows(url: str, columns: tuple[str, str, str]) -> list[tuple[str, str, str]]:
    try:
        text = read_bytes(url).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CuebenchError(f"{url}: byte {error.start}: not UTF-8; save the table as UTF-8") from error
    # strict: a quotation mark that is never closed would swallow the rows behind it in silence
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        places = [_place(url, header, name) for name in columns]
        if len(set(places)) < len(places):
            raise CuebenchError(
                f"{url}: item, rater and label are the columns {', '.join(columns)}; expected three different ones"
            )
        return [_fields(url, reader.line_num, row, header, places) for row in reader if row]
    except csv.Error as error:
        raise CuebenchError(
            f"{url}: line {reader.line_num}: {error}; look for a quotation mark that is never closed"
        ) from error


def _fields(
    url: str, line: int, row: list[str], header: list[str], places: list[int]
) -> tuple[str, str, str]:
    if len(row) <= max(places) or any(field.strip() for field in row[len(header) :]):
        raise CuebenchError(f"{url}: line {line}: expected {len(header)} fields, got {len(row)}")
    item, rater, label = (row[place].strip() for place in places)
    if not item or not rater:
        raise CuebenchError(f"{url}: line {line}: the item or the rater is empty")
    return item, rater, label


def _place(url: str, header: list[str], name: str) -> int:
    same = [place for place, column in enumerate(header) if column == name]
    alike = same or [place for place, column in enumerate(header) if column.lower() == name.lower()]
    if not alike:
        listed = ", ".join(header) or "nothing"
        one = len(header) == 1 and any(sign in header[0] for sign in ";\t")
        advice = "; separate the columns by commas" if one else ""
        raise CuebenchError(
            f"{url}: no column {name}{nearest(name, header)}; the columns are: {listed}{advice}"
        )
    if len(alike) > 1:
        raise CuebenchError(f"{url}: {len(alike)} columns are called {name}; rename all but one")
    return alike[0]


def _check_missing(url: str, missing: Sequence[str], labels: set[str]) -> None:
    for token in missing:
        alike = sorted(label for label in labels if label.casefold() == token.strip().casefold())
        if alike and token not in alike:
            raise CuebenchError(
                f"{url}: no label is {token}, but {alike[0]} is one; say --missing {alike[0]}"
            )
