"""The picture of a sieve: do its chances hold, and what would it save at which miss rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from curation.sieve_calibration import Calibration
from curation.sieve_report import SieveReport
from curation.sieve_savings import Savings
from data_manifests.errors import CuebenchError
from data_manifests.storage import write_bytes
from evaluation.figures import COLOURS, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def write_figure(url: str, report: SieveReport) -> None:
    """Write calibration and savings side by side, as the suffix says: .png or .svg.

    Raises
    ------
    CuebenchError
        If there are too few verdicts to draw anything, or the suffix is neither.
    """
    if report.calibration is None or report.savings is None:
        raise CuebenchError(f"{url}: nothing to draw yet: {report.n_judged} verdicts are too few for a model")
    figure, axes = new_figure(9.6, 4.0)
    axes.remove()
    left, right = figure.subplots(1, 2)
    _draw_calibration(left, report.calibration)
    _draw_savings(right, report.savings)
    figure.tight_layout()
    write_bytes(url, save_figure(figure, url.rpartition(".")[2].lower()))


def _draw_calibration(axes: Axes, found: Calibration) -> None:
    axes.plot([0, 1], [0, 1], color="#888", linewidth=0.8, linestyle="--")
    x = [row.mean_chance for row in found.bins]
    y = [row.accepted_share for row in found.bins]
    below = [row.accepted_share - row.lower for row in found.bins]
    above = [row.upper - row.accepted_share for row in found.bins]
    axes.errorbar(x, y, [below, above], fmt="o", color=COLOURS[0], capsize=3)
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("chance of acceptance")
    axes.set_ylabel("share accepted")
    axes.set_title(
        f"Brier {found.brier:.3f} (base {found.brier_of_base:.3f}), AUC {found.auc:.2f}", fontsize=10
    )


def _draw_savings(axes: Axes, found: Savings) -> None:
    for index, (name, curve) in enumerate((("accept", found.accept_curve), ("reject", found.reject_curve))):
        shares = [point.proposed_share for point in curve]
        axes.plot(shares, [point.miss_rate for point in curve], color=COLOURS[index], label=f"{name}: misses")
        axes.plot(
            shares, [point.upper for point in curve], color=COLOURS[index], linestyle=":", label="at most"
        )
    axes.axhline(found.miss_rate, color="#333", linewidth=0.8, linestyle="--")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, min(1.0, 8 * found.miss_rate))
    axes.set_xlabel("judged cues that need no look, share")
    axes.set_ylabel("miss rate")
    axes.set_title(
        f"{found.saved_share:.0%} of the waiting cues at a miss rate of {found.miss_rate:g}", fontsize=10
    )
    axes.legend(frameon=False, fontsize=8)
