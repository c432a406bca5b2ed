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
    """Return the ratings of a CSV. The case of column names does not matter; an empty label is missing.

    Parameters
    ----------
    item, rater, label : names of the columns
    missing : labels that mean that no rating was given, such as `na`
    categories : what was offered; by default the labels that occur

    Raises
    ------
    CuebenchError
        If a column is not there, a row is cut short, a rater rated an item twice, or nothing is left.
    """
    rows = list(_rows(url, (item, rater, label)))
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
    reader = csv.reader(io.StringIO(text, newline=""))
    header = [name.strip().lower() for name in next(reader, [])]
    places = [_place(url, header, name) for name in columns]
    rows = []
    for row in reader:
        if not row:
            continue
        if len(row) <= max(places):
            raise CuebenchError(
                f"{url}: line {reader.line_num}: expected {len(header)} fields, got {len(row)}"
            )
        item, rater, label = (row[place].strip() for place in places)
        if not item or not rater:
            raise CuebenchError(f"{url}: line {reader.line_num}: the item or the rater is empty")
        rows.append((item, rater, label))
    return rows


def _place(url: str, header: list[str], name: str) -> int:
    if name.lower() not in header:
        listed = ", ".join(header) or "nothing"
        raise CuebenchError(f"{url}: no column {name}{nearest(name, header)}; the columns are: {listed}")
    return header.index(name.lower())
