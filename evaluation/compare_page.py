"""A comparison of models as one self-contained page."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from evaluation.compare import Comparison
from evaluation.compare_text import number, p_value
from evaluation.figures import save_figure, scatter_scores, sensitivity_plane
from evaluation.scores import ScoreTable


def render_compare_page(table: ScoreTable, found: Comparison, x: str, scores: Sequence[str]) -> str:
    """Return the page as HTML: figures, tables, notes. The same scores give the same text."""
    figures = [(f"{x} and {score}", scatter_scores(table, x, score, found.baseline)) for score in scores]
    if {"shape_sensitivity", "texture_sensitivity"} <= set(table.columns):
        figures.append(("what the models can use", sensitivity_plane(table, found.baseline)))
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = number
    environment.filters["p"] = p_value
    source = files("evaluation").joinpath("compare_page.html").read_text(encoding="utf-8")
    pictures = [
        (title.replace("_", " "), base64.b64encode(save_figure(figure, "svg")).decode())
        for title, figure in figures
    ]
    return environment.from_string(source).render(found=found, table=table, pictures=pictures)
