"""A table of scores: one row a model, as `evaluate` writes it and `compare` reads it."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from data_manifests.errors import CuebenchError, ProblemsError
from data_manifests.shipped import nearest
from data_manifests.storage import read_bytes

TEXT_COLUMNS = ("model", "family", "cluster")


@dataclass(frozen=True)
class ModelScores:
    """One model: its family (training strategy), the cluster of variants that it belongs to, and its numbers."""

    model: str
    family: str
    cluster: str
    values: dict[str, float]


@dataclass(frozen=True)
class ScoreTable:
    """The scores of several models; `columns` are the numbers that there are."""

    where: str
    rows: tuple[ModelScores, ...]
    columns: tuple[str, ...]

    def column(self, name: str) -> list[float]:
        """Return a number of every model.

        Raises
        ------
        CuebenchError
            If there is no such column, or a model has no value in it.
        """
        if name not in self.columns:
            known = ", ".join(self.columns)
            raise CuebenchError(
                f"{self.where}: no column {name}{nearest(name, list(self.columns))}; there are: {known}"
            )
        if missing := [row.model for row in self.rows if name not in row.values]:
            raise CuebenchError(
                f"{self.where}: {name} is empty for {', '.join(missing[:5])}; fill it in or leave them out"
            )
        return [row.values[name] for row in self.rows]

    def without(self, models: Sequence[str]) -> ScoreTable:
        """Return the table of the other models."""
        return ScoreTable(
            self.where, tuple(row for row in self.rows if row.model not in models), self.columns
        )

    def row(self, model: str) -> ModelScores:
        """Return the scores of one model.

        Raises
        ------
        CuebenchError
            If there is no such model.
        """
        for row in self.rows:
            if row.model == model:
                return row
        names = [row.model for row in self.rows]
        raise CuebenchError(
            f"{self.where}: no model {model}{nearest(model, names)}; there are: {', '.join(names)}"
        )


def _read_cells(url: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the header of a table and its rows, each with the number of its (last) line."""
    try:
        # strict: a quotation mark that is never closed would swallow the rows behind it in silence
        reader = csv.reader(io.StringIO(read_bytes(url).decode("utf-8-sig"), newline=""), strict=True)
        names = [name.strip() for name in next(reader, [])]
        lines = [(reader.line_num, fields) for fields in reader if fields]
    except (UnicodeDecodeError, csv.Error) as error:
        raise CuebenchError(f"{url}: not a CSV in UTF-8 ({error})") from error
    if "model" not in names:
        one = len(names) == 1 and any(sign in names[0] for sign in ";\t")
        advice = "; separate the columns by commas" if one else ""
        raise CuebenchError(f"{url}: no column model; the columns are: {', '.join(names) or 'none'}{advice}")
    if twice := sorted(name for name, n in Counter(names).items() if n > 1):
        raise CuebenchError(f"{url}: more than one column is called {', '.join(twice)}; rename all but one")
    return names, lines


def read_scores(url: str) -> ScoreTable:
    """Return the scores of a CSV: a column `model`, perhaps `family` and `cluster`, and numbers.

    Raises
    ------
    CuebenchError
        If it is no CSV, a column stands there twice, there is no column `model`, or no model.
    ProblemsError
        If a row has other fields than the header, a value is not a finite number or a model stands there twice; lists
        every place.
    """
    names, lines = _read_cells(url)
    columns = tuple(name for name in names if name not in TEXT_COLUMNS)
    rows: list[ModelScores] = []
    problems: list[str] = []
    for number, fields in lines:
        if len(fields) != len(names):
            problems.append(f"line {number}: expected {len(names)} fields, got {len(fields)}")
            continue
        cells = {name: value.strip() for name, value in zip(names, fields, strict=True)}
        values = {}
        for name in columns:
            if not cells.get(name):
                continue
            try:
                values[name] = float(cells[name])
            except ValueError:
                values[name] = math.nan
            if not math.isfinite(values[name]):
                problems.append(f"line {number}: {name}: expected a finite number, got {cells[name]!r}")
        model = cells["model"]
        if not model or any(row.model == model for row in rows):
            problems.append(f"line {number}: model {model!r}: expected a name of its own for every row")
        rows.append(ModelScores(model, cells.get("family", ""), cells.get("cluster") or model, values))
    if problems:
        raise ProblemsError(url, problems)
    if not rows:
        raise CuebenchError(f"{url}: there is no model in it")
    return ScoreTable(url, tuple(rows), columns)
