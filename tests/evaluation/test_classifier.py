"""A real classifier on the published cues and on cues of our own; its ONNX export; its weights at few bits."""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from curation.cli import cuebench
from data_manifests.taxonomy import read_taxonomy
from evaluation.cue_pictures import by_kind, find_pictures
from evaluation.evaluate import evaluate, members_of
from evaluation.logits_file import LogitTable, read_logits
from evaluation.models import Bits, load_model, parse_spec
from evaluation.ranks import rank_rows
from evaluation.run_model import RunSettings, run_model
from tests.evaluation.lite0 import lite0_spec
from tests.paths import SHARED_DATA, needs_shared_data

pytestmark = [pytest.mark.classifier, needs_shared_data]

TAXONOMY = read_taxonomy("refined-bias-20")
CUES = str(SHARED_DATA / "public_cues")
KINDS = ("shape", "texture")
N_PHOTOGRAPHS = 6
STEP = 3  # of every so many published cues one, where all would take minutes


def published(kind: str) -> LogitTable:
    return read_logits(f"{SHARED_DATA}/logits/efficientnet_lite0_{kind}.npz")


def logits_of(spec: str, kind: str, step: int = 1) -> LogitTable:
    """Return the logits of every published cue at hand, or of every so many-th."""
    return run_model(load_model(parse_spec(spec)), by_kind(find_pictures(CUES))[kind][::step], RunSettings())


@pytest.fixture(scope="module")
def real() -> dict[str, LogitTable]:
    return {kind: logits_of(lite0_spec(), kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_a_real_classifier_gives_the_logits_that_were_computed_elsewhere(
    kind: str, real: dict[str, LogitTable]
) -> None:
    known = published(kind)
    row = {name: number for number, name in enumerate(known.file_names or ())}
    found = real[kind]
    rows = [row[name] for name in found.file_names or ()]
    assert len(rows) >= 120
    assert np.abs(found.logits - known.logits[rows]).max() < 1e-3
    assert found.superclass == tuple(known.superclass[number] for number in rows)


def test_an_onnx_export_ranks_the_same(tmp_path: Path, real: dict[str, LogitTable]) -> None:
    import torch

    model = load_model(parse_spec(lite0_spec()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter, about itself
        torch.onnx.export(
            model.module,  # type: ignore[attr-defined]
            (torch.zeros(1, 3, 224, 224),),
            str(tmp_path / "lite0.onnx"),
            dynamo=False,
            input_names=["pictures"],
            output_names=["logits"],
            dynamic_axes={"pictures": {0: "n"}, "logits": {0: "n"}},
        )
    exported = logits_of(f"onnx:{tmp_path}/lite0.onnx?preprocessing=efficientnet-lite0", "texture", STEP)
    ours = real["texture"]
    assert np.abs(exported.logits - ours.logits[::STEP]).max() < 1e-3
    members = members_of(load_model(parse_spec(lite0_spec())).labels, TAXONOMY, "texture")
    ranks = [
        rank_rows(logits, exported.superclass, members).pessimistic
        for logits in (exported.logits, ours.logits[::STEP])
    ]
    np.testing.assert_array_equal(ranks[0], ranks[1])


def test_fewer_bits_move_the_logits_further(
    real: dict[str, LogitTable], capsys: pytest.CaptureFixture[str]
) -> None:
    widths: tuple[Bits, ...] = (8, 4, 2)
    exact = {kind: thinned(real[kind]) for kind in KINDS}
    moved, lines = [], [f"32 bits: {told(exact)}"]
    for bits in widths:
        tables = {kind: logits_of(lite0_spec(bits), kind, STEP) for kind in KINDS}
        moved.append(float(np.abs(tables["shape"].logits - exact["shape"].logits).mean()))
        lines.append(f"{bits} bits: {told(tables)}")
    # the trend itself is a finding, not a requirement
    with capsys.disabled():
        sys.stdout.write("\n" + "\n".join(lines) + "\n")
    assert moved[0] < min(moved[1:])


def thinned(table: LogitTable) -> LogitTable:
    return LogitTable(table.where, table.logits[::STEP], table.superclass[::STEP], table.wnids)


def told(tables: dict[str, LogitTable]) -> str:
    found = evaluate(tables, TAXONOMY)
    scores = ", ".join(f"{kind} {cue.sensitivity:.4f}" for kind, cue in found.cues.items())
    return f"{scores}, shape preference {found.preferences['shape'].value:.4f}"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cuebench, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_photographs_become_cues_and_cues_become_scores(tmp_path: Path) -> None:
    folders = [path for path in sorted((SHARED_DATA / "photos").iterdir()) if path.is_dir()]
    for folder in folders[:: len(folders) // N_PHOTOGRAPHS]:
        (tmp_path / "photos" / folder.name).mkdir(parents=True)
        shutil.copy(min(folder.glob("*.jpg")), tmp_path / "photos" / folder.name)
    sources, out = f"{tmp_path}/sources.jsonl", f"{tmp_path}/run"
    run("ingest", f"{tmp_path}/photos", "--taxonomy", "refined-bias-20", "--out", sources)
    run("generate", "refined-bias", "--sources", sources, "--out", out, "--segmenter", "grabcut")
    printed = run(
        "evaluate", "--model", lite0_spec(), "--cues", out, "--logits", f"{tmp_path}/kept", "--format", "json"
    )
    found = json.loads(printed)
    for kind in KINDS:
        assert found[f"{kind}_sensitivity"] > 3 * found["chance"][kind]
        kept = [read_logits(str(path)) for path in (tmp_path / "kept").glob("*.npz")]
        assert sum(len(table.logits) for table in kept) == sum(found["cues"][each]["n"] for each in KINDS)
        assert all(table.sources is not None for table in kept)
    assert set(found["cues"]["texture"]["per_grid"]) == {"4", "8", "16", "32"}
