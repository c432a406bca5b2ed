"""Many models on the same cues: a row of scores for each, and a reason for each that could not be run."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass

from data_manifests.errors import CuebenchError
from data_manifests.taxonomy import Taxonomy
from evaluation.cue_pictures import CuePicture, by_kind
from evaluation.evaluate import Evaluation, evaluate
from evaluation.models import Bits, ModelSpec, Runtime, load_model, quantised
from evaluation.ranks import TieRule
from evaluation.registry import Entry
from evaluation.run_model import RunSettings, Show, run_model

FULL_BITS = 32

Cell = str | float | int | None


@dataclass(frozen=True)
class Plan:
    """What every model of a sweep has in common.

    Attributes
    ----------
    bits : of the weights, fake-quantised; None: those of the specification
    show : is told the model, how many pictures are done, and of how many
    """

    pictures: Sequence[CuePicture]
    taxonomy: Taxonomy
    runtime: Runtime
    run: RunSettings
    ties: TieRule = "pessimistic"
    seed: int = 0
    bits: Bits | None = None
    show: Callable[[str, int, int], None] | None = None


def evaluate_model(spec: ModelSpec, plan: Plan) -> Evaluation:
    """Return the scores of one model.

    Raises
    ------
    CuebenchError
        If it can't be loaded or run, or its logits can't be scored.
    """
    spec = quantised(spec, plan.bits)
    show: Show | None = None
    if plan.show is not None:
        tell = plan.show

        def show(n_done: int, n_all: int) -> None:
            tell(str(spec), n_done, n_all)

    # Some libraries print that they loaded weights, where results belong.
    with redirect_stdout(sys.stderr):
        model = load_model(spec, plan.runtime)
        tables = {
            kind: run_model(model, pictures, plan.run, show)
            for kind, pictures in by_kind(plan.pictures).items()
        }
    return evaluate(tables, plan.taxonomy, ties=plan.ties, seed=plan.seed)


def sweep(
    entries: Sequence[Entry], plan: Plan, complain: Callable[[str], None]
) -> Iterator[tuple[Entry, Evaluation]]:
    """Yield the scores of each model that can be run; the others are named to `complain`, each with its reason."""
    for entry in entries:
        try:
            found = evaluate_model(entry.spec, plan)
        except CuebenchError as error:
            where = f"; weights: {entry.weights}" if entry.weights else ""
            complain(f"{entry.name}: not run: {' '.join(str(error).split())}{where}")
            continue
        yield entry, found


def score_row(entry: Entry, found: Evaluation, bits: Bits | None = None) -> dict[str, Cell]:
    """Return the row of a model: the table that `compare` reads has text in the first three columns, else numbers.

    Parameters
    ----------
    bits : of its weights; None: as they are
    """
    row: dict[str, Cell] = {"model": entry.name, "family": entry.family, "cluster": entry.cluster}
    for kind, cue in found.cues.items():
        row |= {
            f"{kind}_sensitivity": cue.sensitivity,
            f"{kind}_sensitivity_lower": cue.ci.lower,
            f"{kind}_sensitivity_upper": cue.ci.upper,
            f"{kind}_top1": cue.top1,
            f"{kind}_n": cue.n,
            f"{kind}_n_ties": cue.n_ties,
            f"{kind}_chance": cue.chance,
        }
    for kind, leaning in found.preferences.items():
        row |= {
            f"{kind}_preference": leaning.value,
            f"{kind}_preference_lower": leaning.ci.lower,
            f"{kind}_preference_upper": leaning.ci.upper,
        }
    for kind in found.cues:
        inside = found.imagenet_1k.get(kind)
        row[f"{kind}_sensitivity_1k"] = None if inside is None else inside.sensitivity
    n_labels = max(cue.n_labels for cue in found.cues.values())
    return row | {"n_labels": n_labels, "bits": bits or FULL_BITS, "accuracy": entry.accuracy}


def csv_lines(rows: Iterator[Mapping[str, Cell]]) -> Iterator[str]:
    """Yield the lines of a CSV, each as soon as its row is there; the first row gives the header."""
    for number, row in enumerate(rows):
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, list(row), lineterminator="\n")
        if number == 0:
            writer.writeheader()
        writer.writerow({name: "" if value is None else value for name, value in row.items()})
        yield buffer.getvalue().removesuffix("\n")
