"""Cues whose reviewers follow a hidden rule, for the tests of the sieve: what is true of them is known."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.special import expit
from sqlalchemy import select

from curation.database import Store
from curation.ratings import FloatArray
from curation.review import assign, import_review
from curation.sieve_cases import Case, read_cases
from curation.tables import Campaign
from data_manifests.jsonl import read_records, write_records
from data_manifests.records import CueRecord
from tests.curation.review_run import Showing, write_cues, write_images


def hidden_chances(numbers: FloatArray) -> FloatArray:
    """Return the true chances of acceptance (n,) of cues with three numbers each, (n, 3); the third tells nothing."""
    chances: FloatArray = expit(1.8 + 2.2 * numbers[:, 0] - 1.4 * numbers[:, 1])
    return chances


def drawn_cases(seed: int, n_judged: int, n_waiting: int, n_per_photograph: int = 2) -> list[Case]:
    """Return cues that were judged by the rule, and cues that wait."""
    rng = np.random.default_rng(seed)
    n = n_judged + n_waiting
    numbers = rng.normal(size=(n, 3))
    accepted = rng.random(n) < hidden_chances(numbers)
    return [
        Case(
            item_id=place,
            sha256=hashlib.sha256(f"{seed}/{place}".encode()).hexdigest(),
            cue_id=f"{place:032x}",
            cue_kind="shape",
            superclass=("clock", "book")[place % 2],
            grid=None,
            photograph=f"photograph {place // n_per_photograph}",
            file_url=f"cues/{place}.png",
            numbers=dict(zip(("clutter", "stroke_cv", "peak"), numbers[place].tolist(), strict=True)),
            is_accepted=bool(accepted[place]) if place < n_judged else None,
        )
        for place in range(n)
    ]


def true_chances(cases: Sequence[Case]) -> FloatArray:
    """Return the chances of acceptance that the rule gives cues, (n,)."""
    names = ("clutter", "stroke_cv", "peak")
    return hidden_chances(np.array([[case.numbers[name] for name in names] for case in cases]))


def measured_run(run: Path, n_per_class: int) -> str:
    """Write a run in which photograph number n has the clutter n / 100, and every tenth is flagged."""
    write_cues(run, n_per_class)
    url = str(run / "cues.jsonl")
    counts: dict[str, int] = {}
    records = []
    for record in read_records(url, CueRecord):
        number = counts[record.superclass] = counts.get(record.superclass, 0) + 1
        flags = ("mask_uncertain",) if number % 10 == 0 else ()
        scores: dict[str, str | float] = {"segmenter": "alpha", "area_share": 0.3}
        records.append(
            record.model_copy(
                update={
                    "quality": {"clutter": number / 100},
                    "flags": flags,
                    "segmenter": "alpha",
                    "mask_candidates": (scores,),
                }
            )
        )
    write_records(url, records)
    return str(run)


def clutter(store: Store) -> dict[int, float]:
    """Return item -> its clutter, as the store has it."""
    return {case.item_id: case.numbers["clutter"] for case in cases_of(store)}


def verdict_by_clutter(store: Store) -> Callable[[Showing], str]:
    """Return a verdict that accepts cues with a clutter below .2, and nothing that is known to be bad."""
    numbers = clutter(store)
    return lambda showing: "accept" if numbers.get(showing.item_id, 1) < 0.2 else "reject"


def cases_of(store: Store) -> list[Case]:
    """Return the cues of the one campaign of a store, as the sieve sees them."""
    with store.read() as session:
        return read_cases(session, session.scalars(select(Campaign)).one())


def small_review(store: Store, folder: Path) -> Store:
    """Begin a review of 80 cues by two people, with repeats, second verdicts and known-bad pictures."""
    bad = write_images(folder / "bad", [f"shape/clock/{number}.png" for number in range(3)])
    run = measured_run(folder / "run", 40)
    import_review(store, "first", run, overlap=0.2, repeat_share=0.1, known_bad=str(bad), seed=1)
    assign(store, "first", ["ada", "bo"])
    return store
