from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from curation import cli
from data_manifests.errors import CuebenchError, MissingExtraError
from generation.hashing import pixel_sha256
from generation.masks import Mask, MaskCandidate, encode_mask, mask_sha256
from generation.models import Model
from generation.photograph import Photograph
from generation.segmenters import segmenter_for
from generation.segmenters.folder import FolderSegmenter
from generation.segmenters.grabcut import Box, GrabCutSegmenter
from generation.segmenters.rembg import RembgSegmenter
from generation.segmenters.sam import SamSegmenter
from tests.generation.photographs import draw_photograph, write_photographs

Pixels = npt.NDArray[np.uint8]


def photograph(image: Pixels, alpha: Pixels | None = None, file_name: str = "clock/0.jpg") -> Photograph:
    return Photograph(file_name, image, alpha, pixel_sha256(image))


def drawn(side_px: int = 240) -> Photograph:
    return photograph(draw_photograph(3, side_px))


def disk(side_px: int = 240) -> Mask:
    """Return the object of a drawn photograph."""
    centre = (side_px // 2, side_px // 2)
    return np.asarray(
        cv2.circle(np.zeros((side_px, side_px), np.uint8), centre, int(side_px * 0.42), 1, -1) > 0
    )


def overlap(one: Mask, other: Mask) -> float:
    """Return the intersection over union."""
    return float((one & other).sum() / (one | other).sum())


def only(candidates: list[MaskCandidate]) -> MaskCandidate:
    (candidate,) = candidates
    return candidate


# --- by name ---


@pytest.mark.parametrize("name", ["alpha", "backdrop", "grabcut", "fullframe"])
def test_a_segmenter_has_the_name_that_recipes_give_it_and_goes_to_other_processes(name: str) -> None:
    segmenter = segmenter_for(name)
    again = pickle.loads(pickle.dumps(segmenter))  # noqa: S301
    assert segmenter.name == again.name == name
    photo = drawn()
    masks = [[mask_sha256(found.mask) for found in one.propose(photo)] for one in (segmenter, again)]
    assert masks[0] == masks[1]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "grabcat",
            r"^grabcat: no such segmenter \(did you mean `grabcut`\?\); known are alpha, backdrop, ",
        ),
        ("alpha:x", r"^alpha:x: no such segmenter"),
        ("folder", r"^folder: no such segmenter \(did you mean `folder:DIR`\?\)"),
        ("sam:", r"^sam:: no such segmenter"),
        ("", r"^: no such segmenter; known are .*rembg:MODEL, sam:CHECKPOINT$"),
    ],
)
def test_an_unknown_segmenter_is_named_with_the_nearest(name: str, message: str) -> None:
    with pytest.raises(CuebenchError, match=message):
        segmenter_for(name)


# --- alpha, full frame ---


def test_alpha_proposes_what_the_photograph_leaves_opaque() -> None:
    alpha = disk().astype(np.uint8) * 255
    found = only(segmenter_for("alpha").propose(photograph(drawn().image, alpha)))
    assert overlap(found.mask, disk()) > 0.99
    assert (found.segmenter, found.scores["max_probability"]) == ("alpha", 1.0)


def test_soft_alpha_counts_as_uncertainty() -> None:
    alpha = np.where(disk(), 160, 90).astype(np.uint8)
    found = only(segmenter_for("alpha").propose(photograph(drawn().image, alpha)))
    assert overlap(found.mask, disk()) > 0.99
    assert found.scores["uncertainty"] > 1


def test_a_photograph_without_alpha_gets_no_mask_from_it() -> None:
    assert segmenter_for("alpha").propose(drawn()) == []


def test_the_full_frame_is_all_of_it() -> None:
    image = np.zeros((70, 90, 3), np.uint8)
    found = only(segmenter_for("fullframe").propose(photograph(image)))
    assert found.mask.shape == (70, 90)
    assert found.mask.all()
    assert found.scores == {"area_share": 1.0, "n_components": 1.0, "border_share": 1.0}


# --- backdrop ---


def test_what_stands_before_a_plain_backdrop_is_found_with_its_white_parts() -> None:
    image = drawn().image.copy()
    cv2.circle(image, (image.shape[1] // 2, image.shape[0] // 2), 30, (235, 235, 235), -1)
    found = only(segmenter_for("backdrop").propose(photograph(image)))
    assert overlap(found.mask, disk(image.shape[0])) > 0.95


def test_shading_that_runs_over_a_backdrop_belongs_to_it() -> None:
    shade = np.linspace(0, 40, 240).astype(np.int64)[:, None, None]
    image = np.clip(drawn().image[:240, :240].astype(np.int64) - shade * ~disk(240)[..., None], 0, 255)
    (found, *_) = segmenter_for("backdrop").propose(photograph(image.astype(np.uint8)))
    assert overlap(found.mask, disk(240)) > 0.95


def test_a_border_around_a_picture_is_no_backdrop_of_it() -> None:
    bordered = np.zeros((260, 260, 3), np.uint8)
    bordered[6:-6, 6:-6] = drawn(248).image
    (found, *_) = segmenter_for("backdrop").propose(photograph(bordered))
    assert overlap(found.mask, np.pad(disk(248), 6)) > 0.9
    bordered[6:-6, 6:-6] = np.random.Generator(np.random.PCG64(0)).integers(60, 256, (248, 248, 3))
    assert segmenter_for("backdrop").propose(photograph(bordered)) == []


def test_a_flat_object_with_room_around_it_is_no_picture_in_a_border() -> None:
    image = np.full((200, 200, 3), 240, np.uint8)
    image[30:170, 40:160] = (60, 30, 20)
    (found, *_) = segmenter_for("backdrop").propose(photograph(image))
    assert found.mask[30:170, 40:160].mean() > 0.98


def test_a_photograph_without_a_plain_backdrop_gets_no_mask_from_it() -> None:
    noise = np.random.Generator(np.random.PCG64(0)).integers(0, 256, (120, 120, 3)).astype(np.uint8)
    assert segmenter_for("backdrop").propose(photograph(noise)) == []


# --- GrabCut ---


@pytest.fixture
def _threads_again() -> Iterator[None]:
    before = cv2.getNumThreads()
    yield
    cv2.setNumThreads(before)


@pytest.mark.parametrize("side_px", [240, 700])
def test_grabcut_finds_an_object_on_a_plain_background(side_px: int) -> None:
    found = GrabCutSegmenter().propose(drawn(side_px))[0]
    assert found.mask.shape == (side_px, side_px)
    assert overlap(found.mask, disk(side_px)) > 0.97


@pytest.mark.usefixtures("_threads_again")
def test_grabcut_gives_the_same_mask_twice_with_any_number_of_threads_and_whatever_was_drawn_before() -> None:
    noise = np.random.Generator(np.random.PCG64(1)).integers(0, 128, (240, 240, 3), np.uint8)
    photo = photograph(np.asarray(cv2.add(drawn().image // 2, noise), np.uint8))
    hashes = set()
    for threads in (1, 1, 2):
        cv2.setNumThreads(threads)
        hashes.add(tuple(mask_sha256(found.mask) for found in GrabCutSegmenter().propose(photo)))
        cv2.randu(np.zeros(5, np.uint8), np.array(0), np.array(255))
    assert len(hashes) == 1
    assert hashes != {()}


def test_grabcut_looks_for_the_object_in_the_box_that_it_is_given() -> None:
    image = np.full((300, 500, 3), 230, np.uint8)
    image[60:160, 60:160] = (200, 30, 30)
    image[150:250, 330:430] = (30, 30, 200)
    box: Box = (310, 130, 450, 270)
    found = only(GrabCutSegmenter(box=box).propose(photograph(image)))
    assert found.mask[200, 380]
    assert not found.mask[:, :310].any()


def test_a_box_holds_in_a_photograph_that_is_made_smaller() -> None:
    image = np.full((900, 1500, 3), 230, np.uint8)
    image[450:750, 990:1290] = (30, 30, 200)
    truth = (image[..., 0] == 30).astype(bool)
    found = only(GrabCutSegmenter(box=(930, 390, 1350, 810)).propose(photograph(image)))
    assert overlap(found.mask, truth) > 0.97


@pytest.mark.parametrize("box", [(10, 10, 10, 90), (90, 10, 20, 80), (0, 0, 301, 50), (-1, 0, 50, 50)])
def test_a_box_outside_of_the_photograph_or_without_area_is_refused(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("generation.segmenters.sam.find_spec", lambda _: find_spec("numpy"))
    checkpoint = tmp_path / "sam_vit_b.pth"
    checkpoint.touch()
    photo = photograph(draw_photograph(0)[:200, :])
    message = rf"^clock/0.jpg: no box \(left, top, right, bottom\) within 240x200 pixels: \({box[0]}, .*\)$"
    for segmenter in (GrabCutSegmenter(box=box), SamSegmenter(str(checkpoint), box=box)):
        with pytest.raises(CuebenchError, match=message):
            segmenter.propose(photo)


def test_grabcut_proposes_nothing_where_the_box_leaves_no_background() -> None:
    assert GrabCutSegmenter(box=(0, 0, 240, 240)).propose(drawn()) == []


# --- a folder of masks ---


@pytest.fixture
def masks(tmp_path: Path) -> Path:
    folder = tmp_path / "masks"
    (folder / "clock").mkdir(parents=True)
    return folder


def save_mask(path: Path, mask: Mask) -> None:
    path.write_bytes(encode_mask(mask))


def test_a_mask_is_found_by_superclass_and_name_before_the_name_alone(masks: Path) -> None:
    save_mask(masks / "0.png", np.ones((240, 240), bool))
    by_name = only(segmenter_for(f"folder:{masks}").propose(drawn()))
    assert by_name.mask.all()
    save_mask(masks / "clock" / "0.png", disk())
    found = only(segmenter_for(f"folder:{masks}").propose(drawn()))
    assert overlap(found.mask, disk()) > 0.99
    assert found.segmenter == f"folder:{masks}"


@pytest.mark.parametrize("file_name", ["0.jpg", "../0.jpg"])
def test_a_photograph_without_a_folder_is_found_by_its_name_and_nowhere_else(
    file_name: str, masks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photo = photograph(draw_photograph(3), file_name=file_name)
    segmenter = FolderSegmenter(str(masks))
    asked: list[str] = []
    monkeypatch.setattr("generation.segmenters.folder.storage.exists", asked.append)
    assert segmenter.propose(photo) == []
    assert asked == [f"{masks}/0.png"]
    monkeypatch.undo()
    save_mask(masks / "0.png", disk())
    assert len(segmenter.propose(photo)) == 1


def test_a_photograph_for_which_no_mask_was_made_gets_none(masks: Path) -> None:
    assert FolderSegmenter(str(masks)).propose(drawn()) == []


def test_a_folder_that_is_not_there_is_named_before_any_photograph(tmp_path: Path) -> None:
    with pytest.raises(CuebenchError, match=rf"^folder:{tmp_path}/none: no such folder of masks$"):
        segmenter_for(f"folder:{tmp_path}/none")


def test_two_parts_that_the_user_drew_stay_together(masks: Path) -> None:
    mask = np.zeros((240, 240), bool)
    mask[20:100, 20:100] = mask[150:200, 150:200] = True
    save_mask(masks / "clock" / "0.png", mask)
    assert only(FolderSegmenter(str(masks)).propose(drawn())).scores["n_components"] == 2


def test_soft_grey_of_a_drawn_mask_is_cut_in_the_middle(masks: Path) -> None:
    grey = np.where(disk(), 140, 110).astype(np.uint8)
    Image.fromarray(grey).save(masks / "clock" / "0.png")
    assert overlap(only(FolderSegmenter(str(masks)).propose(drawn())).mask, disk()) > 0.99


def test_a_mask_of_another_size_is_refused_with_both_sizes(masks: Path) -> None:
    save_mask(masks / "clock" / "0.png", np.ones((240, 120), bool))
    message = r"clock/0.png: expected 240x240 pixels as the upright photograph has, got 120x240$"
    with pytest.raises(CuebenchError, match=message):
        FolderSegmenter(str(masks)).propose(drawn())


def test_a_file_that_is_no_mask_is_named(masks: Path) -> None:
    (masks / "clock" / "0.png").write_text("no mask")
    with pytest.raises(CuebenchError, match=r"clock/0.png: not a readable mask image"):
        FolderSegmenter(str(masks)).propose(drawn())


# --- rembg's models, on a network written by hand ---


def field(number: int, value: int | bytes | str) -> bytes:
    """Return a field of a protocol buffer: a varint, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(value: int) -> bytes:
    low, high = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + varint(high) if high else bytes([low])


def grey_network(side_px: int) -> bytes:
    """Return an ONNX model (opset 13) that gives (1, 1, S, S), the mean of the channels of (1, 3, S, S)."""

    def tensor(name: str, channels: int) -> bytes:
        shape = b"".join(field(1, field(1, size)) for size in (1, channels, side_px, side_px))
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))

    axes = field(1, "axes") + field(8, 1) + field(20, 7)
    node = field(1, "in") + field(2, "out") + field(4, "ReduceMean") + field(5, axes)
    graph = field(1, node) + field(2, "grey") + field(11, tensor("in", 3)) + field(12, tensor("out", 1))
    return field(1, 8) + field(7, graph) + field(8, field(2, 13))


@pytest.fixture
def grey_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    """Return an installed model that takes light pixels for the object."""
    monkeypatch.delenv("U2NET_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("REMBG_HOME", str(tmp_path / "rembg"))
    network = grey_network(32)
    model = Model(
        name="grey",
        digest=f"sha256:{hashlib.sha256(network).hexdigest()}",
        license="CC0-1.0",
        side_px=32,
        mean=(0.0, 0.0, 0.0),
        std=(1.0, 1.0, 1.0),
        output="probability",
        rank=1,
    )
    model.path.parent.mkdir(parents=True)
    model.path.write_bytes(network)
    return model


def light_bar() -> Pixels:
    """Return a wide photograph with a light bar along its left side."""
    image = np.zeros((96, 160, 3), np.uint8)
    image[:, :40] = 255
    return image


def test_the_probability_lies_over_the_photograph_that_it_is_of(grey_model: Model) -> None:
    probability = RembgSegmenter(grey_model).probability(light_bar())
    assert (probability.shape, probability.dtype) == ((96, 160), np.dtype(np.float32))
    assert probability[:, :32].min() > 0.95
    assert probability[:, 48:].max() < 0.05


def test_a_network_that_gives_logits_gets_its_sigmoid(grey_model: Model) -> None:
    model = grey_model.model_copy(update={"output": "logit", "mean": (0.5,) * 3, "std": (0.25,) * 3})
    probability = RembgSegmenter(model).probability(light_bar())
    assert probability[50, 10] == pytest.approx(1 / (1 + np.exp(-2)), abs=0.005)
    assert probability[50, 150] == pytest.approx(1 / (1 + np.exp(2)), abs=0.005)


def test_each_channel_has_its_own_mean_and_deviation(grey_model: Model) -> None:
    image = np.zeros((40, 40, 3), np.uint8)
    image[...] = (255, 51, 0)
    model = grey_model.model_copy(update={"mean": (0.4, 0.2, 0.0), "std": (0.5, 1.0, 1.0)})
    assert RembgSegmenter(model).probability(image)[20, 20] == pytest.approx(0.4, abs=1e-6)


def test_a_black_photograph_has_no_object(grey_model: Model) -> None:
    assert RembgSegmenter(grey_model).propose(photograph(np.zeros((80, 90, 3), np.uint8))) == []


def test_a_models_segmenter_goes_to_other_processes_after_its_use_too(grey_model: Model) -> None:
    segmenter = RembgSegmenter(grey_model)
    first = only(segmenter.propose(photograph(light_bar())))
    again = pickle.loads(pickle.dumps(segmenter))  # noqa: S301
    assert np.array_equal(first.mask, only(again.propose(photograph(light_bar()))).mask)
    assert first.segmenter == again.name == "rembg:grey"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rembg", r"^rembg: which model\? Write rembg:MODEL with one of birefnet-general, "),
        ("rembg:", r"^rembg: which model\? Write rembg:MODEL"),
        ("rembg:u2ntp", r"^rembg:u2ntp: no such model \(did you mean `u2netp`\?\); name one of "),
        (
            "rembg:withoutbg",
            r"^rembg:withoutbg: sends images to a remote service; use a model that runs here: ",
        ),
        ("rembg:atlascloud", r"^rembg:atlascloud: sends images to a remote service"),
        (
            "rembg:bria-rmbg",
            r"^rembg:bria-rmbg: its licence \(LicenseRef-BRIA-RMBG-2.0\) rules out commercial use; set "
            r"accept_non_commercial = true under \[mask\]",
        ),
    ],
)
def test_a_model_that_can_not_be_used_is_named_with_the_reason(name: str, message: str) -> None:
    with pytest.raises(CuebenchError, match=message):
        segmenter_for(name)


def test_an_accepted_licence_leads_to_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("U2NET_HOME", str(tmp_path))
    message = (
        rf"^rembg:bria-rmbg: not installed \({tmp_path}/.*missing\); run: cuebench models fetch bria-rmbg$"
    )
    with pytest.raises(CuebenchError, match=message):
        segmenter_for("rembg:bria-rmbg", accept_non_commercial=True)


# --- Segment Anything, as far as it goes without its extra ---


@pytest.mark.parametrize("absent", ["segment_anything", "torch", "torchvision"])
def test_without_its_extra_sam_names_the_line_that_installs_it(
    absent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "generation.segmenters.sam.find_spec", lambda name: None if name == absent else find_spec("numpy")
    )
    message = r"^the segmenter `sam` needs the extra `sam`: pip install 'cuebench\[sam\]'$"
    with pytest.raises(MissingExtraError, match=message):
        segmenter_for("sam:sam_vit_b_01ec64.pth")


def test_generate_without_the_extra_says_how_to_install_it_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("generation.segmenters.sam.find_spec", lambda _: None)
    write_photographs(tmp_path / "photos", n_shape=1, n_texture=0)
    sources, run = str(tmp_path / "sources.jsonl"), tmp_path / "run"
    ingest = ["ingest", str(tmp_path / "photos"), "--taxonomy", "refined-bias-20", "--out", sources]
    generate = ["generate", "refined-bias", "--sources", sources, "--segmenter", "sam:sam_vit_b.pth"]
    for args, code in ((ingest, 0), ([*generate, "--out", str(run)], 1)):
        with pytest.raises(SystemExit) as stop:
            cli.main(args)
        assert stop.value.code == code
    captured = capsys.readouterr()
    assert "pip install 'cuebench[sam]'" in captured.err
    assert "Traceback" not in captured.err
    assert not run.exists()


@pytest.mark.parametrize(
    ("checkpoint", "message"),
    [
        (
            "weights.pth",
            r"weights.pth: the name of a SAM checkpoint says its type: vit_h, vit_l, vit_b is not in",
        ),
        ("sam_vit_b.pth", r"sam_vit_b.pth: no such SAM checkpoint$"),
    ],
)
def test_a_checkpoint_must_be_there_and_say_its_type(
    checkpoint: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("generation.segmenters.sam.find_spec", lambda _: find_spec("numpy"))
    with pytest.raises(CuebenchError, match=message):
        SamSegmenter(str(tmp_path / checkpoint))


@pytest.mark.parametrize(
    "image",
    [np.zeros((64, 64), np.uint8), np.zeros((64, 64, 4), np.uint8), np.zeros((64, 64, 3), np.float32)],
)
def test_sam_is_given_no_array_that_it_would_normalise_wrongly(
    image: npt.NDArray[np.uint8], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("generation.segmenters.sam.find_spec", lambda _: find_spec("numpy"))
    checkpoint = tmp_path / "sam_vit_b.pth"
    checkpoint.touch()
    with pytest.raises(
        CuebenchError, match=r"^SAM needs an \(H, W, 3\) uint8 image, got \(64, 64.*\) (uint8|float32)$"
    ):
        SamSegmenter(str(checkpoint)).propose_prompted(None, image, box=(0, 0, 9, 9))


class Predictor:
    """Stands for a `SamPredictor` that gives an empty mask, an object with specks, and its background."""

    def set_image(self, image: Pixels, image_format: str) -> None:
        assert (image.shape, image_format) == ((240, 240, 3), "RGB")

    def predict(self, **prompt: object) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float32], None]:
        assert prompt["multimask_output"] is True
        assert prompt["point_coords"] is prompt["point_labels"] is None
        assert np.array_equal(np.asarray(prompt["box"]), [9, 9, 230, 230])
        speckled = disk()
        speckled[2:4, 2:4] = True
        masks = np.stack([np.zeros_like(speckled), ~disk(), speckled])
        return masks, np.array([0.9, 0.5, 0.8], np.float32), None


def test_the_masks_of_sam_are_cleaned_sorted_and_never_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("generation.segmenters.sam.find_spec", lambda _: find_spec("numpy"))
    checkpoint = tmp_path / "sam_vit_b.pth"
    checkpoint.touch()
    segmenter = SamSegmenter(str(checkpoint))
    found, background = segmenter.propose_prompted(Predictor(), drawn().image, box=(9, 9, 230, 230))
    assert [one.scores["predicted_iou"] for one in (found, background)] == pytest.approx([0.8, 0.5])
    assert overlap(found.mask, disk()) > 0.99
    assert found.scores["n_components"] == 1
