"""The pictures of an evaluation: preference against accuracy, the plane of sensitivities, classes and grids."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from data_manifests.errors import CuebenchError
from data_manifests.storage import join, write_bytes
from evaluation.evaluate import Evaluation
from evaluation.scores import ModelScores, ScoreTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito's colours, which people with colour blindness tell apart; markers tell the rest
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
FORMATS = ("png", "svg")
N_LABELLED = 12

STYLE: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e3e6ea",
    "axes.axisbelow": True,
    "svg.hashsalt": "cuebench",
    "svg.fonttype": "path",
}


def save_figure(figure: Figure, form: str) -> bytes:
    """Return a figure as `png` or `svg`: the same figure gives the same bytes.

    Raises
    ------
    CuebenchError
        If the form is neither.
    """
    if form not in FORMATS:
        raise CuebenchError(f"a figure as {form}: expected {' or '.join(FORMATS)}")
    import matplotlib as mpl

    stream = io.BytesIO()
    metadata = {"Date": None} if form == "svg" else {"Software": None}
    with mpl.rc_context(STYLE):
        figure.savefig(stream, format=form, dpi=160, bbox_inches="tight", metadata=metadata)
    return stream.getvalue()


def new_figure(width: float = 6.4, height: float = 4.6) -> tuple[Figure, Axes]:
    """Return an empty figure of a size in inches, drawn without a screen."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height))
        return figure, figure.add_subplot()


def scatter_scores(table: ScoreTable, x: str, y: str, baseline: str | None = None) -> Figure:
    """Return two scores of all models against each other, families in colours, the baseline as a star."""
    figure, axes = new_figure()
    families = sorted({row.family for row in table.rows if row.model != baseline})
    for index, family in enumerate(families):
        rows = [row for row in table.rows if row.family == family and row.model != baseline]
        axes.scatter(
            [row.values[x] for row in rows],
            [row.values[y] for row in rows],
            s=44,
            color=COLOURS[index % len(COLOURS)],
            marker=MARKERS[index % len(MARKERS)],
            edgecolors="white",
            linewidths=0.6,
            label=family or "models",
        )
    if baseline is not None:
        row = table.row(baseline)
        axes.scatter(
            [row.values[x]], [row.values[y]], s=150, color="#111", marker="*", label=baseline, zorder=3
        )
        axes.axhline(row.values[y], color="#111", linewidth=0.7, linestyle=":")
    if len(table.rows) <= N_LABELLED:
        _label(axes, table.rows, x, y)
    axes.set_xlabel(x.replace("_", " "))
    axes.set_ylabel(y.replace("_", " "))
    if any(families) or baseline is not None:
        axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.01, 1))
    return figure


def _label(axes: Axes, rows: Sequence[ModelScores], x: str, y: str) -> None:
    for row in rows:
        axes.annotate(
            row.model, (row.values[x], row.values[y]), xytext=(5, 4), textcoords="offset points", fontsize=8
        )


def sensitivity_plane(table: ScoreTable, baseline: str | None = None) -> Figure:
    """Return shape against texture sensitivity; on the diagonal a model prefers neither."""
    figure = scatter_scores(table, "shape_sensitivity", "texture_sensitivity", baseline)
    axes = figure.axes[0]
    axes.axline((0.5, 0.5), slope=1, color="#888", linewidth=0.8, linestyle="--")
    axes.set_aspect("equal", adjustable="datalim")
    return figure


def class_bars(found: Evaluation) -> Figure:
    """Return the sensitivity to each class, one panel a cue, the lowest at the bottom."""
    cues = list(found.cues.values())
    n_rows = max(len(cue.per_class) for cue in cues)
    figure, first = new_figure(4.4 * len(cues), 0.9 + 0.32 * n_rows)
    first.remove()
    for place, cue in enumerate(cues):
        axes = figure.add_subplot(1, len(cues), place + 1)
        rows = sorted(cue.per_class, key=lambda row: (row.sensitivity, row.superclass))
        axes.barh(
            [row.superclass.replace("_", " ") for row in rows],
            [row.sensitivity for row in rows],
            color=COLOURS[place % len(COLOURS)],
            height=0.7,
        )
        axes.axvline(cue.sensitivity, color="#333", linewidth=1, linestyle="--")
        axes.set_xlim(0, 1)
        axes.grid(visible=False, axis="y")
        axes.set_title(f"{cue.cue_kind}: {cue.sensitivity:.3f}", fontsize=11)
        axes.set_xlabel("sensitivity")
    figure.tight_layout()
    return figure


def grid_curves(per_model: Mapping[str, Mapping[int, float]]) -> Figure:
    """Return the sensitivity against the grid of a texture, one line a model.

    Raises
    ------
    CuebenchError
        If no model has scores for a grid.
    """
    known = {model: grids for model, grids in per_model.items() if grids}
    if not known:
        raise CuebenchError("no scores by grid: the file names of the texture cues do not tell their grid")
    figure, axes = new_figure(5.6, 4.0)
    for index, (model, grids) in enumerate(known.items()):
        places = sorted(grids)
        axes.plot(
            [str(place) for place in places],
            [grids[place] for place in places],
            marker=MARKERS[index % len(MARKERS)],
            color=COLOURS[index % len(COLOURS)],
            label=model,
        )
    axes.set_ylim(0, 1)
    axes.set_xlabel("cells per side")
    axes.set_ylabel("texture sensitivity")
    if len(known) > 1:
        axes.legend(frameon=False, fontsize=9)
    return figure


def write_evaluation_figures(folder: str, found: Evaluation) -> list[str]:
    """Write the figures of one evaluation as PNG and SVG; return their names."""
    figures = {"classes": class_bars(found)}
    grids = {kind: cue.per_grid for kind, cue in found.cues.items() if cue.per_grid}
    if grids:
        figures["grids"] = grid_curves(grids)
    names = [f"{name}.{form}" for name in figures for form in FORMATS]
    for name in names:
        stem, _, form = name.rpartition(".")
        write_bytes(join(folder, name), save_figure(figures[stem], form))
    return names
