"""What `cuebench review rank` says: how far the sieve can be trusted, and what it would save."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace

from curation.sieve_calibration import Calibration
from curation.sieve_cut import LEVEL, Cut, fewest_proposed
from curation.sieve_model import MIN_JUDGED, MIN_OF_EACH
from curation.sieve_savings import Savings


@dataclass(frozen=True)
class Proposal:
    """What the sieve proposes for a cue that waits; `chance` of acceptance is None before there is a model."""

    cue_id: str
    sha256: str
    cue_kind: str
    superclass: str
    chance: float | None
    proposal: str


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
                "answer; the queue shows first what flags and quality numbers make doubtful"
            )
        else:
            yield from _calibration_lines(self.calibration)
            yield from _savings_lines(self.savings)
            for other in self.comparisons:
                yield f"  by {other.name:38} AUC {other.auc:.2f}, {other.saved_share:.0%} saved"
        for reviewer, n_moved in sorted(self.moved.items()):
            yield f"queue of {reviewer}: {n_moved} pictures moved"


def _calibration_lines(found: Calibration) -> Iterator[str]:
    yield ""
    yield "chance of acceptance, by models that saw no verdict on the same photograph"
    yield f"{'cues':>8}{'chance':>9}{'accepted':>10}   interval"
    for row in found.bins:
        interval = f"{row.lower:.2f} to {row.upper:.2f}"
        yield f"{row.n:>8}{row.mean_chance:>9.2f}{row.accepted_share:>10.2f}   {interval}"
    yield f"Brier score {found.brier:.3f}, of the base rate {found.brier_of_base:.3f}"
    yield f"expected calibration error {found.calibration_error:.3f}"
    yield f"AUC {found.auc:.2f} ({found.auc_lower:.2f} to {found.auc_upper:.2f})"
    if found.brier >= found.brier_of_base:
        yield "the chances tell no more than the base rate: do not go by the proposals"


def _savings_lines(found: Savings) -> Iterator[str]:
    yield ""
    yield f"at a miss rate of at most {found.miss_rate:g} (sure to {LEVEL:.0%}, each way by itself)"
    needed = fewest_proposed(found.miss_rate, found.design_effect)
    yield _cut_line("accept", found.accept, found.n_accept, needed)
    yield _cut_line("reject", found.reject, found.n_reject, needed)
    yield (
        f"{found.n_saved} of the {found.n_waiting} waiting cues would need no look: "
        f"{found.saved_share:.0%} ({found.lower:.0%} to {found.upper:.0%} over draws of photographs)"
    )


def _cut_line(name: str, cut: Cut | None, n_proposed: int, needed: int) -> str:
    if cut is None:
        return (
            f"  {name}: none; no cut is sure enough, and the smallest needs {needed} verdicts without a miss"
        )
    return (
        f"  {name}: {n_proposed} proposed; of {cut.n_proposed} judged ones {cut.n_missed} were misses "
        f"({cut.miss_rate:.3f}, {cut.rate_lower:.3f} to {cut.rate_upper:.3f}; one-sided at most {cut.upper:.3f})"
    )
