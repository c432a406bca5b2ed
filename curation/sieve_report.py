"""What `cuebench review rank` says: how far the sieve can be trusted, and what it would save."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from curation.sieve_calibration import Calibration
from curation.sieve_cases import Case
from curation.sieve_cut import LEVEL, Cut, Savings, fewest_proposed
from curation.sieve_model import MIN_JUDGED, MIN_OF_EACH
from data_manifests.errors import CuebenchError
from data_manifests.storage import write_bytes
from evaluation.figures import COLOURS, FORMATS, STYLE, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Proposal:
    """What the sieve proposes for a cue that waits; `chance` of acceptance is None before there is a model."""

    cue_id: str
    sha256: str
    cue_kind: str
    superclass: str
    chance: float | None
    proposal: str

    @classmethod
    def on(cls, case: Case, chance: float | None, proposal: str) -> Proposal:
        """Return a proposal on a cue."""
        return cls(case.cue_id, case.sha256, case.cue_kind, case.superclass, chance, proposal)


@dataclass(frozen=True)
class Comparison:
    """Another way to order the same cues: what it tells (AUC), and the share of looks that it would save."""

    name: str
    auc: float
    saved_share: float


@dataclass(frozen=True)
class SieveReport:
    """Where a sieve stands. Without enough verdicts there is neither a calibration nor savings.

    `moved` counts the pictures of each reviewer's queue that have another place now.
    """

    slug: str
    n_judged: int
    n_accepted: int
    n_waiting: int
    proposals: tuple[Proposal, ...]
    calibration: Calibration | None = None
    savings: Savings | None = None
    comparisons: tuple[Comparison, ...] = ()
    moved: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Return the object that `--format json` prints; proposals are for a file of their own."""
        fields = asdict(replace(self, proposals=()))
        del fields["proposals"]
        if self.savings is not None:
            fields["savings"] |= {"n_saved": self.savings.n_saved, "saved_share": self.savings.saved_share}
        return {"ordered_by": self.ordered_by, **fields}

    @property
    def ordered_by(self) -> str:
        """What the queues were ordered by: `verdicts` or `numbers`."""
        return "numbers" if self.calibration is None else "verdicts"

    def to_text(self) -> str:
        """Return the report for people."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        n_others = self.n_judged - self.n_accepted
        yield (
            f"review {self.slug}: {self.n_judged} cues judged ({self.n_accepted} accepted, {n_others} not), "
            f"{self.n_waiting} wait for a first verdict"
        )
        if self.calibration is None or self.savings is None:
            yield (
                f"too few verdicts for a model: it needs {MIN_JUDGED}, and {MIN_OF_EACH} photographs with each "
                "answer; until then what flags and quality numbers make doubtful comes first"
            )
        else:
            yield from _calibration_lines(self.calibration)
            yield from _savings_lines(self.savings)
            for other in self.comparisons:
                yield f"  with {other.name}: {other.saved_share:.0%} (AUC {other.auc:.2f})"
            yield "these are proposals: only people accept or reject a cue"
        for reviewer, n_moved in sorted(self.moved.items()):
            yield f"queue of {reviewer}: {n_moved} pictures moved"


def _calibration_lines(found: Calibration) -> Iterator[str]:
    yield ""
    yield "can the chances be trusted? judged cues, by models that saw no verdict on the same photograph"
    yield f"{'cues':>8}{'mean chance':>14}{'accepted':>11}   {LEVEL:.0%} interval"
    for row in found.bins:
        interval = f"{row.lower:.2f} to {row.upper:.2f}"
        yield f"{row.n:>8}{row.mean_chance:>14.2f}{row.accepted_share:>11.2f}   {interval}"
    yield "of cues with a chance of 0.80 people should accept 80 in 100: the two columns should agree"
    yield f"they differ by {found.calibration_error:.3f} on average (expected calibration error; 0 is perfect)"
    yield f"Brier score {found.brier:.3f} (0 is perfect; one chance for all has {found.brier_of_base:.3f})"
    yield (
        f"AUC {found.auc:.2f} ({found.auc_lower:.2f} to {found.auc_upper:.2f}): of an accepted cue and another, how "
        "often the accepted one has the higher chance (0.50 is guessing)"
    )
    if found.brier >= found.brier_of_base:
        yield "the chances tell no more than one chance for all: do not go by the proposals"


def _savings_lines(found: Savings) -> Iterator[str]:
    yield ""
    yield (
        f"proposals for the waiting cues, at a miss rate of at most {found.miss_rate:g}: the share of proposals that "
        f"people would answer the other way ({LEVEL:.0%} sure, for each kind of proposal by itself)"
    )
    needed = fewest_proposed(found.miss_rate, found.design_effect)
    yield _cut_line("accept", found.accept, found.n_accept, needed)
    yield _cut_line("reject", found.reject, found.n_reject, needed)
    yield (
        f"{found.n_saved} of the {found.n_waiting} waiting cues would need no look: {found.saved_share:.0%} "
        f"({found.lower:.0%} to {found.upper:.0%} over draws of photographs)"
    )


def _cut_line(name: str, cut: Cut | None, n_proposed: int, needed: int) -> str:
    if cut is None:
        return f"  {name}: none, for that can't be claimed yet; it takes {needed} judged cues without a miss"
    return (
        f"  {name}: {n_proposed}; of the {cut.n_proposed} judged cues that would be proposed {cut.n_missed} are "
        f"misses: {cut.miss_rate:.3f} ({cut.rate_lower:.3f} to {cut.rate_upper:.3f}), at most {cut.upper:.3f}"
    )


def write_proposals(url: str, report: SieveReport) -> None:
    """Write the proposals for the waiting cues as a CSV, in the order of their hashes."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["cue_id", "sha256", "cue_kind", "superclass", "chance_of_acceptance", "proposal"])
    for row in report.proposals:
        chance = "" if row.chance is None else f"{row.chance:.4f}"
        writer.writerow([row.cue_id, row.sha256, row.cue_kind, row.superclass, chance, row.proposal])
    write_bytes(url, buffer.getvalue().encode())


def figure_form(url: str) -> str:
    """Return the form of a figure by its suffix.

    Raises
    ------
    CuebenchError
        If it is neither .png nor .svg.
    """
    form = url.rpartition(".")[2].lower()
    if form not in FORMATS:
        raise CuebenchError(f"{url}: a figure is a .{' or a .'.join(FORMATS)} file; give it such a name")
    return form


def write_figure(url: str, report: SieveReport) -> None:
    """Write calibration and savings side by side, as the suffix says: .png or .svg.

    Raises
    ------
    CuebenchError
        If there are too few verdicts to draw anything, or the suffix is neither.
    """
    form = figure_form(url)
    if report.calibration is None or report.savings is None:
        raise CuebenchError(f"{url}: nothing to draw yet: {report.n_judged} verdicts are too few for a model")
    import matplotlib as mpl

    figure, axes = new_figure(10.4, 4.4)
    axes.remove()
    with mpl.rc_context(STYLE):
        left, right = figure.subplots(1, 2)
    _draw_calibration(left, report.calibration)
    _draw_savings(right, report.savings)
    figure.tight_layout(w_pad=2.5)
    write_bytes(url, save_figure(figure, form))


def _draw_calibration(axes: Axes, found: Calibration) -> None:
    axes.plot([0, 1], [0, 1], color="#888", linewidth=0.8, linestyle="--", label="chances that hold")
    x = [row.mean_chance for row in found.bins]
    y = [row.accepted_share for row in found.bins]
    below = [max(0.0, row.accepted_share - row.lower) for row in found.bins]
    above = [max(0.0, row.upper - row.accepted_share) for row in found.bins]
    label = f"judged cues, {LEVEL:.0%} interval"
    axes.errorbar(x, y, [below, above], fmt="o", color=COLOURS[0], capsize=3, label=label)
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    axes.set_aspect("equal")
    axes.set_xlabel("mean chance of acceptance")
    axes.set_ylabel("share accepted by people")
    axes.set_title(
        f"Brier {found.brier:.3f} (one chance for all {found.brier_of_base:.3f}), AUC {found.auc:.2f}",
        fontsize=10,
    )
    axes.legend(frameon=False, fontsize=8, loc="upper left")


def _draw_savings(axes: Axes, found: Savings) -> None:
    ways = (("accept", found.accept_curve), ("reject", found.reject_curve))
    for colour, (name, curve) in zip(COLOURS, ways, strict=False):
        shares = [point.proposed_share for point in curve]
        axes.plot(shares, [point.miss_rate for point in curve], color=colour, label=f"{name}: seen")
        bounds = [point.upper for point in curve]
        axes.plot(shares, bounds, color=colour, linestyle=":", label=f"{name}: at most ({LEVEL:.0%} sure)")
    axes.axhline(found.miss_rate, color="#333", linewidth=0.8, linestyle="--", label="asked for")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, min(1.0, 6 * found.miss_rate))
    axes.set_xlabel("share of the judged cues that is proposed")
    axes.set_ylabel("miss rate")
    axes.set_title(
        f"{found.saved_share:.0%} of the waiting cues need no look at a miss rate of {found.miss_rate:g}",
        fontsize=10,
    )
    axes.legend(fontsize=8, loc="upper left", framealpha=0.9, edgecolor="none")
