from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data_manifests.errors import CuebenchError
from generation.masks import MaskCandidate, MaskChoice, choose_mask, encode_mask
from generation.photograph import Photograph
from generation.segmenters import segmenter_for
from generation.segmenters.grabcut import Box, GrabCutSegmenter
from generation.segmenters.sam import SamSegmenter
from tests.generation.photographs import draw_photograph

pytestmark = pytest.mark.sam

BOX: Box = (40, 30, 200, 170)


def build_tiny(checkpoint: str | None = None) -> Any:
    """Return a SAM as segment-anything builds it, with an image encoder of one narrow layer."""
    from segment_anything.build_sam import _build_sam

    return _build_sam(
        encoder_embed_dim=16,
        encoder_depth=1,
        encoder_num_heads=2,
        encoder_global_attn_indexes=[],
        checkpoint=checkpoint,
    )


@pytest.fixture
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the weights of a tiny model, random but the same every time, under the name of a `vit_b`."""
    import torch
    from segment_anything import sam_model_registry

    torch.manual_seed(0)
    path = tmp_path / "sam_vit_b_tiny.pth"
    torch.save(build_tiny().state_dict(), path)
    monkeypatch.setitem(sam_model_registry, "vit_b", build_tiny)
    return str(path)


def photograph() -> Photograph:
    """Return a wide photograph with a disk."""
    image = np.pad(draw_photograph(2, 200), ((0, 0), (0, 60), (0, 0)), constant_values=235)
    return Photograph("clock/0.png", image, None, "")


def bytes_of(candidates: list[MaskCandidate]) -> list[bytes]:
    return [encode_mask(candidate.mask) for candidate in candidates]


def prompted(
    segmenter: SamSegmenter, points: list[tuple[float, float]], is_object: list[bool]
) -> list[MaskCandidate]:
    return segmenter.propose_prompted(
        segmenter._load(), photograph().image, points=np.array(points), is_object=np.array(is_object)
    )


def test_a_box_gives_three_masks_of_the_photograph_the_most_trusted_first(checkpoint: str) -> None:
    found = SamSegmenter(checkpoint, box=BOX).propose(photograph())
    assert [(candidate.mask.shape, candidate.mask.dtype.name) for candidate in found] == [
        ((200, 260), "bool")
    ] * 3
    trust = [candidate.scores["predicted_iou"] for candidate in found]
    assert trust == sorted(trust, reverse=True)
    assert {candidate.segmenter for candidate in found} == {"sam:sam_vit_b_tiny.pth"}
    assert all(0 < candidate.scores["area_share"] == candidate.mask.mean() < 1 for candidate in found)


def test_without_a_box_the_prompt_is_the_one_around_what_grabcut_finds(checkpoint: str) -> None:
    photo = photograph()
    rows, columns = np.nonzero(GrabCutSegmenter().propose(photo)[0].mask)
    around = int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1
    assert around == pytest.approx((16, 16, 185, 185), abs=2)
    found = segmenter_for(f"sam:{checkpoint}").propose(photo)
    assert bytes_of(found) == bytes_of(SamSegmenter(checkpoint, box=around).propose(photo))


def test_the_box_steers_the_mask(checkpoint: str) -> None:
    one, other = (SamSegmenter(checkpoint, box=box).propose(photograph()) for box in (BOX, (0, 0, 30, 20)))
    assert bytes_of(one) != bytes_of(other)


def test_points_steer_the_mask_and_so_does_what_they_stand_for(checkpoint: str) -> None:
    segmenter = SamSegmenter(checkpoint)
    points = [(100.0, 100.0), (240.0, 20.0)]
    found = [
        prompted(segmenter, points[:1], [True]),
        prompted(segmenter, points, [True, False]),
        prompted(segmenter, points, [True, True]),
    ]
    assert all(candidate.mask.shape == (200, 260) for candidates in found for candidate in candidates)
    assert len({tuple(bytes_of(candidates)) for candidates in found}) == 3


def test_the_same_weights_give_the_same_masks_twice_and_after_pickling(checkpoint: str) -> None:
    segmenter = SamSegmenter(checkpoint, box=BOX)
    first = segmenter.propose(photograph())
    copied = pickle.loads(pickle.dumps(segmenter))  # noqa: S301
    for again in (segmenter, copied, SamSegmenter(checkpoint, box=BOX)):
        assert bytes_of(again.propose(photograph())) == bytes_of(first)


def test_other_weights_give_other_masks(checkpoint: str, tmp_path: Path) -> None:
    import torch

    torch.manual_seed(1)
    other = tmp_path / "sam_vit_b_other.pth"
    torch.save(build_tiny().state_dict(), other)
    found = [SamSegmenter(path, box=BOX).propose(photograph()) for path in (checkpoint, str(other))]
    assert bytes_of(found[0]) != bytes_of(found[1])


def test_what_sam_proposes_can_be_chosen(checkpoint: str) -> None:
    choice = choose_mask(SamSegmenter(checkpoint, box=BOX).propose(photograph()), "shape")
    assert isinstance(choice, MaskChoice)
    assert (choice.segmenter, choice.reason) == ("sam:sam_vit_b_tiny.pth", "first confident candidate of 3")


def test_a_photograph_in_which_grabcut_finds_nothing_gets_no_prompt(checkpoint: str) -> None:
    blank = Photograph("clock/0.png", np.full((80, 90, 3), 200, np.uint8), None, "")
    assert SamSegmenter(checkpoint).propose(blank) == []


@pytest.mark.parametrize("content", [b"", b"a page that says sorry", b"PK\x03\x04 half of an archive"])
def test_a_file_that_is_no_checkpoint_is_named(content: bytes, checkpoint: str) -> None:
    Path(checkpoint).write_bytes(content)
    with pytest.raises(CuebenchError, match=r"sam_vit_b_tiny.pth: not a vit_b checkpoint of SAM \(.+\)$"):
        SamSegmenter(checkpoint, box=BOX).propose(photograph())


def test_a_checkpoint_of_another_network_is_named(checkpoint: str) -> None:
    import torch

    torch.save({"weight": torch.zeros(3)}, checkpoint)
    with pytest.raises(
        CuebenchError, match=r"not a vit_b checkpoint of SAM \(Error.* loading state_dict for Sam"
    ):
        SamSegmenter(checkpoint, box=BOX).propose(photograph())


@pytest.mark.parametrize("kind", ["vit_b", "vit_l", "vit_h"])
def test_every_type_that_a_file_name_may_say_is_one_that_segment_anything_builds(
    kind: str, tmp_path: Path
) -> None:
    from segment_anything import sam_model_registry

    path = tmp_path / f"sam_{kind}_0.pth"
    path.touch()
    assert SamSegmenter(str(path)).model_type == kind
    assert kind in sam_model_registry
