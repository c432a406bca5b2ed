from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime
import pytest
from click.testing import CliRunner
from PIL import Image

from data_manifests.jsonl import read_records
from data_manifests.records import CueRecord, MaskRecord
from generation.commands import generate
from generation.ingest_command import ingest
from generation.masks import MaskCandidate, choose_mask, encode_mask
from generation.models import _download_as_rembg, checked_path, has_digest, model_named
from generation.models_command import models_group
from generation.outcome import Unavailable
from generation.photograph import Photograph, decode_photograph
from generation.segmenters import segmenter_for
from generation.segmenters.rembg import RembgSegmenter

pytestmark = pytest.mark.u2netp

Pixels = npt.NDArray[np.uint8]

PREDICT_WITH_REMBG = """
import sys
from PIL import Image
from rembg import new_session
(mask,) = new_session("u2netp").predict(Image.open(sys.argv[1]))
mask.save(sys.argv[2])
"""


def shipped(name: str) -> Photograph:
    """Return a photograph that scikit-image ships."""
    photograph = decode_photograph(files("skimage").joinpath("data", name).read_bytes(), name)
    assert isinstance(photograph, Photograph)
    return photograph


@pytest.fixture
def segmenter() -> RembgSegmenter:
    return RembgSegmenter.of("u2netp")


def propose(segmenter: RembgSegmenter, name: str) -> list[MaskCandidate]:
    return segmenter.propose(shipped(name))


def box_of(candidate: MaskCandidate) -> tuple[int, ...]:
    """Return left, top, right, bottom of a mask."""
    rows, columns = np.nonzero(candidate.mask)
    return int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1


def test_a_cup_on_its_saucer_is_found_whole(segmenter: RembgSegmenter) -> None:
    (cup,) = propose(segmenter, "coffee.png")
    # The saucer's edges as read off the photograph; the spoon lies on it.
    assert box_of(cup) == pytest.approx((76, 18, 480, 391), abs=8)
    assert cup.scores["area_share"] == pytest.approx(0.476, abs=0.02)
    assert cup.scores["uncertainty"] < 0.1
    assert cup.scores["border_share"] == 0


def test_a_cat_is_found_and_its_background_is_not(segmenter: RembgSegmenter) -> None:
    (cat,) = propose(segmenter, "chelsea.png")
    eyes_and_nose = cat.mask[90:200, 140:280]
    assert eyes_and_nose.mean() > 0.99
    assert not cat.mask[:100, 420:].any()
    assert cat.scores["area_share"] == pytest.approx(0.682, abs=0.03)


def test_a_meadow_has_no_object_and_bricks_none_that_carries_a_shape(segmenter: RembgSegmenter) -> None:
    assert propose(segmenter, "grass.png") == []
    choice = choose_mask(propose(segmenter, "brick.png"), "shape")
    assert isinstance(choice, Unavailable)
    assert choice.status == "mask_empty"


def test_two_segmenters_give_the_same_bytes() -> None:
    photograph = shipped("coffee.png")
    proposals = [segmenter_for("rembg:u2netp").propose(photograph) for _ in range(2)]
    first, second = ([encode_mask(found.mask) for found in found_all] for found_all in proposals)
    assert first == second != []
    assert [found.scores for found in proposals[0]] == [found.scores for found in proposals[1]]


def test_one_and_two_threads_of_the_runtime_give_the_same_mask(segmenter: RembgSegmenter) -> None:
    masks = []
    for n_threads in (1, 2):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = n_threads
        segmenter._session = onnxruntime.InferenceSession(
            str(checked_path(segmenter.model)), options, providers=["CPUExecutionProvider"]
        )
        masks.append([encode_mask(found.mask) for found in propose(segmenter, "chelsea.png")])
    assert masks[0] == masks[1] != []


def test_rembg_itself_finds_the_model_and_predicts_the_same_but_for_its_stretch(
    segmenter: RembgSegmenter, tmp_path: Path
) -> None:
    # At the side of the network neither resizes, which they do differently.
    side = segmenter.model.side_px
    image = Image.fromarray(shipped("coffee.png").image).resize((side, side))
    image.save(tmp_path / "cup.png")
    command = [
        sys.executable,
        "-c",
        PREDICT_WITH_REMBG,
        str(tmp_path / "cup.png"),
        str(tmp_path / "mask.png"),
    ]
    subprocess.run(command, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, check=True, capture_output=True)
    with Image.open(tmp_path / "mask.png") as picture:
        theirs = np.asarray(picture).astype(float)
    own = segmenter.probability(np.asarray(image))
    stretched = 255 * (own - own.min()) / (own.max() - own.min())
    assert np.abs(theirs - stretched).max() <= 2


def test_the_child_that_fetches_a_model_by_rembg_prints_where_it_lies(tmp_path: Path) -> None:
    model = model_named("u2netp")
    there = tmp_path / "models" / "u2netp" / "u2netp.onnx"
    there.parent.mkdir(parents=True)
    shutil.copy(checked_path(model), there)
    # It lies there already, so that nothing is downloaded.
    assert _download_as_rembg(model, tmp_path) == there
    assert has_digest(there, model.digest)


def test_the_installed_model_is_intact_and_listed() -> None:
    verified = CliRunner().invoke(models_group, ["verify", "--format", "json"])
    assert json.loads(verified.stdout)["u2netp"] is True
    listed = CliRunner().invoke(models_group, ["list"])
    (line,) = (line for line in listed.stdout.splitlines() if line.startswith("u2netp "))
    assert line.endswith(str(checked_path(model_named("u2netp"))))


def test_a_run_with_the_model_renders_cues_and_records_it(tmp_path: Path) -> None:
    for superclass, name in (
        ("coffee_cup", "coffee.png"),
        ("motorcycle", "motorcycle_left.png"),
        ("cat", "chelsea.png"),
    ):
        folder = tmp_path / "photos" / superclass
        folder.mkdir(parents=True)
        (folder / name).write_bytes(files("skimage").joinpath("data", name).read_bytes())
    sources, run = str(tmp_path / "sources.jsonl"), tmp_path / "run"
    taxonomy = tmp_path / "mine.toml"
    taxonomy.write_text(
        'name = "mine"\n[shape]\ncoffee_cup = ["n07920052"]\nmotorcycle = ["n03785016"]\n'
        '[texture]\ncat = ["n02123045"]\n',
        encoding="utf-8",
    )
    for command, args in (
        (ingest, [str(tmp_path / "photos"), "--taxonomy", str(taxonomy), "--out", sources]),
        (
            generate,
            [
                "refined-bias",
                "--sources",
                sources,
                "--segmenter",
                "rembg:u2netp",
                "--format",
                "json",
                "--out",
                str(run),
            ],
        ),
    ):
        result = CliRunner().invoke(command, args)
        assert result.exit_code == 0, result.output
    masks = read_records(str(run / "masks.jsonl"), MaskRecord)
    cues = read_records(str(run / "cues.jsonl"), CueRecord)
    assert len(masks) == 3
    assert {(mask.segmenter, mask.reason) for mask in masks} == {
        ("rembg:u2netp", "first confident candidate of 1")
    }
    assert {(cue.superclass, cue.grid, cue.status) for cue in cues} == {
        ("coffee_cup", None, "ok"),
        ("motorcycle", None, "ok"),
        *(("cat", grid, "ok") for grid in (4, 8, 16, 32)),
    }
    assert {cue.segmenter for cue in cues} == {"rembg:u2netp"}
    assert all((run / cue.mask_file_name).is_file() for cue in cues if cue.mask_file_name)
    assert json.loads(result.stdout)["segmenters"] == {"rembg:u2netp": 3}
