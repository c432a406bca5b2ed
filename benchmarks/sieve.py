"""What the sieve tells and saves: `python -m benchmarks.sieve [--photos DIR] [--cues DIR] [--model SPEC]`.

Reviewers made by a program, whose rule is known: how often the truth lies in what is reported. `--photos`: cues of
the masks of photographs against cues of masks that were broken on purpose, a model of one half of the photographs
tried on the other. `--cues`: the same with published cues that have one of the known defects.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.special import expit

from benchmarks.broken_masks import known_cues
from curation.audit_files import find_files
from curation.ratings import FloatArray
from curation.sieve_calibration import measure_calibration, reliability
from curation.sieve_cases import Case, Classifier, classify, measure_missing
from curation.sieve_cut import Cut, choose_cuts, find_savings, propose
from curation.sieve_model import Chances, doubt, estimate_chances, is_enough, photograph_numbers
from curation.sieve_order import Rank, sift

N_SEEDS, N_WAITING = 100, 600
MISS_RATE = 0.1


@dataclass(frozen=True)
class Population:
    """Simulated cues: the first `n_judged` were judged; `truth` (n,) is what reviewers say of each, 1.0 or 0.0."""

    cases: list[Case]
    truth: FloatArray

    def judged(self, places: Sequence[int]) -> list[Case]:
        """Return the cues with the verdicts on those at some places, and on no others."""
        known = set(places)
        return [
            replace(case, is_accepted=bool(said) if place in known else None)
            for place, (case, said) in enumerate(zip(self.cases, self.truth, strict=True))
        ]


def simulate(seed: int, n: int, photograph_sd: float = 0.5) -> Population:
    """Return cues whose acceptance follows a hidden rule of three of six numbers, their photograph, and chance."""
    rng = np.random.default_rng(seed)
    photograph = np.arange(n) // 2
    numbers = rng.normal(size=(n, 6))
    numbers[:, 2] = np.exp(numbers[:, 2])  # a long tail, as counts of pieces have it
    rule = 2.3 + 2 * numbers[:, 0] - 1.5 * numbers[:, 1] - 0.5 * numbers[:, 2]
    of_photograph = photograph_sd * rng.normal(size=n)[photograph]
    truth = (rng.random(n) < expit(rule + of_photograph)).astype(float)
    cases = [
        Case(
            item_id=place,
            sha256=hashlib.sha256(f"{seed}/{place}".encode()).hexdigest(),
            cue_id="",
            cue_kind="shape",
            superclass="clock",
            grid=None,
            photograph=str(photograph[place]),
            file_url="",
            numbers={f"number_{column}": float(value) for column, value in enumerate(numbers[place])},
        )
        for place in range(n)
    ]
    return Population(cases, truth)


def print_simulated(n_seeds: int) -> None:
    """Print how often the truth about waiting cues lies in what is reported of the judged ones."""
    print(
        f"\nsimulated reviewers, {n_seeds} seeds, miss rate {MISS_RATE:g}; shares of the seeds, 0.95 is promised"
    )
    print("judged   a cut   rate held   in interval   bins that hold   saved   interval holds mean saved")
    for n_judged in (100, 200, 400):
        rows = [_simulated_row(seed, n_judged) for seed in range(n_seeds)]
        cuts = [row for row in rows if row.true_rate is not None]
        saved = float(np.mean([row.saved for row in rows]))
        columns = (
            len(cuts) / n_seeds,
            np.mean([row.is_rate_held for row in cuts]),
            np.mean([row.is_in_interval for row in cuts]),
            np.mean([row.bins_held for row in rows]),
            saved,
            np.mean([row.lower <= saved <= row.upper for row in rows]),
        )
        print(f"{n_judged:>6}" + "".join(f"{value:>12.2f}" for value in columns), flush=True)


@dataclass(frozen=True)
class _Row:
    """What one simulated review reports, against the truth; `true_rate` is None where no cut was sure enough."""

    true_rate: float | None
    is_rate_held: bool
    is_in_interval: bool
    bins_held: float
    saved: float
    lower: float
    upper: float


def _simulated_row(seed: int, n_judged: int) -> _Row:
    population = simulate(seed, n_judged + N_WAITING)
    chances = estimate_chances(population.judged(range(n_judged)))
    found = find_savings(chances, MISS_RATE)
    truth = population.truth[n_judged:]
    rate = _rate(1 - truth, chances.waiting, found.accept)
    is_in_interval = False
    if found.accept is not None and rate is not None:
        is_in_interval = found.accept.rate_lower <= rate <= found.accept.rate_upper
    bins = reliability(chances.judged, chances.accepted)
    return _Row(
        true_rate=rate,
        is_rate_held=rate is not None and rate <= MISS_RATE,
        is_in_interval=is_in_interval,
        bins_held=float(np.mean([row.lower <= row.mean_chance <= row.upper for row in bins])),
        saved=found.saved_share,
        lower=found.lower,
        upper=found.upper,
    )


def _rate(is_miss: FloatArray, chance: FloatArray, cut: Cut | None) -> float | None:
    """Return the share of misses among the cues that a cut proposes."""
    if cut is None or not (chance >= cut.threshold).any():
        return None
    return float(is_miss[chance >= cut.threshold].mean())


def print_in_turns(n_seeds: int) -> None:
    """Print what is saved, and missed, where queues are ranked between verdicts, the uncertain first."""
    print(f"\n60 verdicts at a time of {N_WAITING} cues, ranked after each; {n_seeds} seeds")
    columns = "".join(f"{name:>12}" for name in ("a cut", "rate held", "miss rate", "saved", "unfit seen"))
    print(f"judged{columns}, then the same by a random order")
    for n_judged in (120, 240, 360):
        ranked = [_in_turns(seed, n_judged, is_ranked=True) for seed in range(n_seeds)]
        drawn = [_in_turns(seed, n_judged, is_ranked=False) for seed in range(n_seeds)]
        print(f"{n_judged:>6}{_turn_columns(ranked)}{_turn_columns(drawn)}", flush=True)


@dataclass(frozen=True)
class _Turn:
    """A review in turns at its end: what its cut truly misses (None: no cut), and shares of all and of unfit cues."""

    miss_rate: float | None
    saved_share: float
    seen_share: float


def _turn_columns(rows: Sequence[_Turn]) -> str:
    rates = [row.miss_rate for row in rows if row.miss_rate is not None]
    columns = (
        len(rates) / len(rows),
        np.mean([rate <= MISS_RATE for rate in rates]) if rates else np.nan,
        np.mean(rates) if rates else np.nan,
        np.mean([row.saved_share for row in rows]),
        np.mean([row.seen_share for row in rows]),
    )
    return "".join(f"{value:>12.3f}" for value in columns)


def _in_turns(seed: int, n_judged: int, *, is_ranked: bool) -> _Turn:
    """Return where a review stands after so many verdicts, the queue ranked between them or left as it was drawn."""
    population = simulate(seed, N_WAITING)
    known: list[int] = list(np.random.default_rng(seed).permutation(N_WAITING)[:60])
    cases = population.judged(known)
    while len(known) < n_judged:
        waiting = [place for place in range(N_WAITING) if place not in set(known)]
        if is_ranked and is_enough(cases):
            chance = estimate_chances(cases).waiting
            urgency = dict(zip(waiting, (0.5 - np.abs(chance - 0.5)).tolist(), strict=True))
            order = sift("ada", {p: Rank(urgency[p], cases[p].sha256) for p in waiting}, seed)
        else:
            order = sift("ada", {p: Rank(0.0, cases[p].sha256) for p in waiting}, seed)
        known += order[:60]
        cases = population.judged(known)
    chances = estimate_chances(cases)
    waiting = [place for place in range(N_WAITING) if cases[place].is_accepted is None]
    accept, reject = choose_cuts(chances, MISS_RATE, 1.0)
    proposed = propose(chances.waiting, accept, reject)
    n_saved = len(proposed) - proposed.count("look")
    return _Turn(
        miss_rate=_rate(1 - population.truth[waiting], chances.waiting, accept),
        saved_share=n_saved / N_WAITING,
        seen_share=float((1 - population.truth[known]).sum() / (1 - population.truth).sum()),
    )


def print_halves(name: str, cases: Sequence[Case], is_fit: Sequence[bool], half: Sequence[int]) -> None:
    """Print what a model of each half of the photographs tells about the other half, whose answers it never saw."""
    for trained in (1, 0):
        judged = [
            replace(case, is_accepted=fit if own == trained else None)
            for case, fit, own in zip(cases, is_fit, half, strict=True)
        ]
        truth = np.array([float(fit) for fit, own in zip(is_fit, half, strict=True) if own != trained])
        photograph = photograph_numbers([case for case in judged if case.is_accepted is None])
        doubts = doubt(judged)
        n_judged = len(judged) - len(truth)
        print(f"\n{name}: {n_judged} judged, {len(truth)} held out, {truth.mean():.2f} of them fit")
        for method, chances in (
            ("numbers and flags", estimate_chances(judged)),
            ("doubt alone", estimate_chances(judged, doubts[:, None])),
        ):
            found = measure_calibration(chances.waiting, truth, photograph)
            print(
                f"  {method:18} Brier {found.brier:.3f} (base {found.brier_of_base:.3f}), error "
                f"{found.calibration_error:.3f}, AUC {found.auc:.2f} ({found.auc_lower:.2f} to {found.auc_upper:.2f})"
            )
            for miss_rate in (0.05, 0.1, 0.2):
                print(f"    {_saved_line(chances, truth, miss_rate)}")


def _saved_line(chances: Chances, truth: FloatArray, miss_rate: float) -> str:
    found = find_savings(chances, miss_rate)
    proposed = np.array(propose(chances.waiting, found.accept, found.reject))
    n_missed = (proposed == "accept") @ (1 - truth), (proposed == "reject") @ truth
    return (
        f"at {miss_rate:.2f}: saved {found.saved_share:.2f} ({found.lower:.2f} to {found.upper:.2f}); "
        f"accept {found.n_accept}, wrong {n_missed[0]:.0f}; reject {found.n_reject}, wrong {n_missed[1]:.0f}"
    )


def main() -> None:
    """Print the tables for what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", help="a folder <superclass>/*.jpg")
    parser.add_argument("--cues", help="a folder <kind>/<superclass>/*.png of published cues")
    parser.add_argument("--model", help="a classifier that looks too, as of `evaluate --model`")
    parser.add_argument("--seeds", type=int, default=N_SEEDS)
    given = parser.parse_args()
    if given.seeds:
        print_simulated(given.seeds)
        print_in_turns(max(1, given.seeds // 4))
    if given.photos:
        with tempfile.TemporaryDirectory() as folder:
            known = known_cues(given.photos, Path(folder))
            cases = [each.case for each in known]
            fit, half = [each.is_fit for each in known], [each.half for each in known]
            for kind in ("shape", "texture", None):
                rows = [place for place, case in enumerate(cases) if kind in (None, case.cue_kind)]
                own = [cases[place] for place in rows]
                answers, halves = [fit[place] for place in rows], [half[place] for place in rows]
                print_halves(f"masks, {kind or 'both kinds'}", own, answers, halves)
                if given.model:
                    seen = classify(own, Classifier(given.model))
                    print_halves(f"masks, {kind or 'both kinds'}, {given.model}", seen, answers, halves)
    if given.cues:
        print_published(given.cues)


def print_published(folder: str) -> None:
    """Print the same for published shape cues: those of another size, of one channel or dim are unfit."""
    files = [file for file in find_files(folder, "shape").files if file.kind == "shape"]
    cases = measure_missing([_published_case(file.name, file.url, file.superclass) for file in files])
    is_fit = [not _is_defective(case) for case in cases]
    half = [int(case.sha256, 16) % 2 for case in cases]
    print_halves("published shape cues", cases, is_fit, half)


def _published_case(name: str, url: str, superclass: str) -> Case:
    data = Path(url).read_bytes()
    with Image.open(url) as image:
        size = {"width_px": float(image.width), "height_px": float(image.height)}
    return Case(
        item_id=0,
        sha256=hashlib.sha256(data).hexdigest(),
        cue_id="",
        cue_kind="shape",
        superclass=superclass,
        grid=None,
        photograph=name,
        file_url=url,
        numbers=size,
        is_measured=False,
    )


def _is_defective(case: Case) -> bool:
    numbers = case.numbers
    is_usual = numbers["width_px"] == numbers["height_px"] == 224
    return not is_usual or numbers["is_grey"] > 0 or numbers["peak"] <= 127


if __name__ == "__main__":
    main()
