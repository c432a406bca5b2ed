"""A comparison of models in words and tables."""

from __future__ import annotations

from evaluation.compare import Comparison
from evaluation.evaluate_text import table_lines
from evaluation.model_statistics import Coefficient


def comparison_text(found: Comparison, *, markdown: bool = False) -> str:
    """Return the comparison as tables, with every note."""
    lines = [f"{found.n_models} models"]
    for score, effects in found.families.items():
        lines += [
            "",
            f"{score}: families against {found.baseline} (one-sample t, two-sided; p corrected by Holm)",
            "",
        ]
        rows = [
            [
                effect.family,
                str(effect.test.n),
                number(effect.test.mean),
                f"{effect.test.difference:+.4f}",
                _interval(effect.test.lower, effect.test.upper),
                number(effect.test.effect_size, 2),
                p_value(effect.test.p),
                p_value(effect.p_holm),
                effect.test.note,
            ]
            for effect in effects
        ]
        head = ["family", "models", "mean", "difference", "95 % interval", "d", "p", "p Holm", "note"]
        lines += table_lines(head, rows, markdown=markdown)
    for score, test in found.preferences.items():
        lines += [
            "",
            f"{score} against no preference (.5), over {test.n} models: mean {number(test.mean)}, "
            f"{_interval(test.lower, test.upper)}, p {p_value(test.p)}"
            + (f" ({test.note})" if test.note else ""),
        ]
    for pair in found.correlations:
        lines += ["", f"{pair.x} and {pair.y}", ""]
        c = pair.correlation
        rows = [_row(coefficient) for coefficient in (c.pearson, c.spearman, c.kendall)]
        lines += table_lines(["", "value", "95 % interval", "p", "p permuted"], rows, markdown=markdown)
        lines += [f"note: {note}" for note in c.notes]
    return "\n".join(lines)


def _row(coefficient: Coefficient) -> list[str]:
    return [
        coefficient.name,
        number(coefficient.value, 3),
        _interval(coefficient.lower, coefficient.upper),
        p_value(coefficient.p),
        p_value(coefficient.p_permutation),
    ]


def number(value: float | None, digits: int = 4) -> str:
    """Return a number for a table, `-` where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def p_value(p: float | None) -> str:
    """Return a p value for a table: two digits, in powers of ten below .001."""
    if p is None:
        return "-"
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"


def _interval(lower: float | None, upper: float | None) -> str:
    return "-" if lower is None or upper is None else f"{lower:.3f} to {upper:.3f}"
