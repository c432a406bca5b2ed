"""Heads of more labels than ImageNet-1k: scores over all of them, and over the 1,000, side by side."""

from __future__ import annotations

import json

import numpy as np
import pytest

from data_manifests.taxonomy import Taxonomy
from evaluation.evaluate import Evaluation, evaluate
from evaluation.evaluate_text import evaluation_text
from evaluation.logits_file import LogitTable
from evaluation.registry import Entry
from evaluation.sweep import score_row
from tests.evaluation.drawn_cues import TAXONOMY, WNIDS

N_MORE = 500
OTHERS = tuple(f"n{99000000 + number}" for number in range(N_MORE))


def table(kind: str, *, wnids: tuple[str, ...], seed: int = 0) -> LogitTable:
    """Return logits that are the same for a label wherever it stands."""
    rng = np.random.default_rng(seed)
    classes = sorted(TAXONOMY.shape if kind == "shape" else TAXONOMY.texture)
    names = tuple(classes[row % len(classes)] for row in range(60))
    by_label = {wnid: rng.normal(size=60).astype(np.float32) for wnid in (*WNIDS, *OTHERS)}
    return LogitTable(kind, np.stack([by_label[wnid] for wnid in wnids], 1), names, wnids)


def scores(wnids: tuple[str, ...]) -> Evaluation:
    return evaluate({kind: table(kind, wnids=wnids) for kind in ("shape", "texture")}, TAXONOMY)


def shuffled(wnids: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(wnids[place] for place in np.random.default_rng(3).permutation(len(wnids)))


def test_the_thousand_columns_give_what_a_head_of_a_thousand_gives() -> None:
    small, large = scores(WNIDS), scores(shuffled((*OTHERS, *WNIDS)))
    for kind in ("shape", "texture"):
        assert large.imagenet_1k[kind].sensitivity == small.cues[kind].sensitivity
        assert large.imagenet_1k[kind].n_labels == 1000
        assert large.cues[kind].n_labels == 1000 + N_MORE
        assert large.cues[kind].sensitivity < small.cues[kind].sensitivity
    assert large.has_more_than_1k


def test_a_head_of_a_thousand_has_nothing_beside_it() -> None:
    small = scores(WNIDS)
    assert not small.has_more_than_1k
    assert small.imagenet_1k["shape"] is small.cues["shape"]
    assert "(1000 labels)" not in evaluation_text(small)


def test_both_stand_side_by_side_in_every_form() -> None:
    large = scores((*WNIDS, *OTHERS))
    assert "shape (1000 labels)" in evaluation_text(large)
    printed = json.loads(json.dumps(large.to_json()))
    assert printed["imagenet_1k"]["texture"]["n_labels"] == 1000
    assert printed["shape_sensitivity"] == large.cues["shape"].sensitivity
    row = score_row(Entry(name="large", model="timm:large"), large, 4)
    assert row["shape_sensitivity_1k"] == large.imagenet_1k["shape"].sensitivity
    assert (row["n_labels"], row["bits"], row["accuracy"]) == (1000 + N_MORE, 4, None)


def test_a_label_that_imagenet_1k_lacks_can_not_be_scored_in_it() -> None:
    own = Taxonomy("own", {"clock": (OTHERS[0],), "mouse": ("n03793489",)}, {}, "wordnet")
    logits = table("shape", wnids=(*WNIDS, *OTHERS)).logits[:2]
    found = evaluate({"shape": LogitTable("shape", logits, ("clock", "mouse"), (*WNIDS, *OTHERS))}, own)
    assert found.imagenet_1k == {}
    assert found.to_json()["imagenet_1k"] == {}
    assert score_row(Entry(name="own", model="timm:own"), found)["shape_sensitivity_1k"] is None


@pytest.mark.parametrize("missing", ["n02123045", "n07714990"])
def test_a_head_may_lack_some_of_the_thousand(missing: str) -> None:
    wnids = tuple(wnid for wnid in (*WNIDS, *OTHERS) if wnid != missing)
    found = evaluate({"shape": table("shape", wnids=wnids)}, TAXONOMY)
    assert found.imagenet_1k["shape"].n_labels == 999
