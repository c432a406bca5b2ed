from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from data_manifests.errors import CuebenchError, MissingExtraError
from evaluation.model_onnx import OnnxModel
from evaluation.models import Runtime, load_model, parse_spec, quantised
from tests.evaluation.drawn_cues import COLOURS, colour_matrix
from tests.evaluation.tiny_onnx import write_tiny_onnx

HERE = "tests.evaluation.drawn_cues"
PICTURES = [Image.new("RGB", (12, 10), colour) for colour in COLOURS["shape"]]


@pytest.mark.parametrize(
    "text",
    [
        "timm:resnet50.a1_in1k",
        "torchvision:resnet50@IMAGENET1K_V1?checkpoint=a.pth,b.pth&bits=4",
        "open_clip:ViT-B-32@laion2b_s34b_b79k?prompts=imagenet-1k",
        "onnx:models/a@b.onnx?preprocessing=imagenet",
        "torch:package.module:factory?preprocessing=imagenet&labels=wnids.txt",
        "callable:module:function",
    ],
)
def test_a_specification_is_read_as_it_is_written(text: str) -> None:
    assert str(parse_spec(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("resnet50", "--model resnet50: expected ADAPTER:NAME, e.g. timm:.*adapters are callable, onnx"),
        ("tim:resnet50", r"no such adapter \(did you mean `timm`\?\)"),
        ("callable:a:b?bits=4", "bits=4: no option of callable; those are: none"),
        ("timm:resnet50?bits", "bits: no option of timm; those are: bits, checkpoint, labels"),
        ("timm:resnet50?bits=3", "bits: Input should be 8, 4 or 2, got 3"),
    ],
)
def test_a_wrong_specification_is_refused(text: str, message: str) -> None:
    with pytest.raises(CuebenchError, match=message):
        parse_spec(text)


def test_weights_are_quantised_where_they_can_be_reached() -> None:
    assert str(quantised(parse_spec("timm:resnet18"), 4)) == "timm:resnet18?bits=4"
    assert str(quantised(parse_spec("timm:resnet18?bits=2"), None)) == "timm:resnet18?bits=2"
    with pytest.raises(
        CuebenchError, match="given as onnx can't be quantised; quantise before it is exported"
    ):
        quantised(parse_spec("onnx:a.onnx"), 8)


def test_a_function_of_ones_own_gets_pixels_and_gives_logits() -> None:
    model = load_model(parse_spec(f"callable:{HERE}:colours"))
    found = model.logits(PICTURES)
    assert found.shape == (3, 1000)
    assert found.dtype == np.float32
    np.testing.assert_allclose(
        found, np.array(COLOURS["shape"], np.float32) @ colour_matrix(), rtol=1e-4, atol=1e-5
    )
    assert model.fingerprint is None


def test_a_function_names_its_labels_and_its_state() -> None:
    assert load_model(parse_spec(f"callable:{HERE}:few")).labels.labels[1] == "n03584254"
    assert load_model(parse_spec(f"callable:{HERE}:counted")).fingerprint == f"callable:{HERE}:counted 1"


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("colours", "expected MODULE:NAME, e.g. my_models:resnet"),
        (
            "no_such_module:f",
            "no module no_such_module; install its package, or start cuebench in the folder",
        ),
        (f"{HERE}:colour", rf"{HERE} has no colour \(did you mean `colours`\?\)"),
        (f"{HERE}:no_function", "expected a function, got int"),
    ],
)
def test_a_function_that_is_not_there_is_named(place: str, message: str) -> None:
    with pytest.raises(CuebenchError, match=message):
        load_model(parse_spec(f"callable:{place}"))


def test_a_module_that_needs_another_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "needy_module.py").write_text("import no_such_package\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(CuebenchError, match=r"needy_module can't be imported.*no_such_package"):
        load_model(parse_spec("callable:needy_module:f"))


def test_modules_of_the_working_folder_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "module_beside.py").write_text(f"from {HERE} import colours\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    assert load_model(parse_spec("callable:module_beside:colours")).logits(PICTURES).shape == (3, 1000)


def test_a_function_runs_where_it_likes() -> None:
    with pytest.raises(CuebenchError, match="where and how a function of your own runs is its own matter"):
        load_model(parse_spec(f"callable:{HERE}:colours"), Runtime("cuda"))


@pytest.mark.parametrize("fixed_n", [None, 2, 7])
def test_onnx_gives_the_logits_of_its_network_for_any_batch(fixed_n: int | None, tmp_path: Path) -> None:
    options = {} if fixed_n is None else {"fixed_n": fixed_n}
    model = load_model(parse_spec(write_tiny_onnx(tmp_path, colour_matrix(), **options)))
    expected = np.array(COLOURS["shape"], np.float32) / 255 @ colour_matrix()
    np.testing.assert_allclose(model.logits(PICTURES), expected, rtol=1e-4, atol=1e-5)


def test_onnx_in_a_worker_process_takes_one_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = parse_spec(write_tiny_onnx(tmp_path, colour_matrix()))

    def n_threads() -> int:
        model = load_model(spec)
        assert isinstance(model, OnnxModel)
        return int(model.session.get_session_options().intra_op_num_threads)

    monkeypatch.setattr("multiprocessing.parent_process", lambda: None)
    assert n_threads() == 0  # as many as there are cores
    monkeypatch.setattr("multiprocessing.parent_process", object)
    assert n_threads() == 1


def test_the_fingerprint_of_onnx_changes_with_network_and_preprocessing(tmp_path: Path) -> None:
    spec = parse_spec(write_tiny_onnx(tmp_path, colour_matrix()))
    first = load_model(spec).fingerprint
    assert load_model(spec).fingerprint == first
    write_tiny_onnx(tmp_path, 2 * colour_matrix())
    second = load_model(spec).fingerprint
    with (tmp_path / "tiny.toml").open("a") as stream:
        stream.write('channels = "BGR"\n')
    assert len({first, second, load_model(spec).fingerprint}) == 3


def test_labels_of_another_number_come_from_a_file(tmp_path: Path) -> None:
    spec = write_tiny_onnx(tmp_path, colour_matrix()[:, :3])
    (tmp_path / "labels.txt").write_text("n04548280 wall clock\nn03584254 iPod\n\nn03793489\n")
    with pytest.raises(CuebenchError, match="3 columns: no label space of this size is known"):
        load_model(parse_spec(spec))
    model = load_model(parse_spec(f"{spec}?labels={tmp_path}/labels.txt"))
    assert model.labels.labels == ("n04548280", "n03584254", "n03793489")


def test_onnx_without_preprocessing_says_what_to_write(tmp_path: Path) -> None:
    spec = write_tiny_onnx(tmp_path, colour_matrix())
    (tmp_path / "tiny.toml").unlink()
    with pytest.raises(CuebenchError, match=r"how does it take pictures\? Write .*tiny.toml \(resize_px"):
        load_model(parse_spec(spec))
    with pytest.raises(CuebenchError, match=r"it does not take \(1, 3, 224, 224\)"):
        load_model(parse_spec(f"{spec}?preprocessing=imagenet"))


def test_a_file_that_is_no_network_is_refused(tmp_path: Path) -> None:
    spec = write_tiny_onnx(tmp_path, colour_matrix())
    (tmp_path / "tiny.onnx").write_bytes(b"no network")
    with pytest.raises(CuebenchError, match="not a network that onnxruntime can run"):
        load_model(parse_spec(spec))


def test_a_network_of_other_inputs_or_outputs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CuebenchError, match="expected one input, pictures; it has 2"):
        load_model(parse_spec(write_tiny_onnx(tmp_path, colour_matrix(), inputs=("x", "z"))))
    with pytest.raises(
        CuebenchError, match=r"expected a first output of logits \(n, K\), got \(1, 3, 1, 1\)"
    ):
        load_model(parse_spec(write_tiny_onnx(tmp_path, colour_matrix(), flat=False)))


def test_onnx_refuses_what_it_can_not_do(tmp_path: Path) -> None:
    spec = parse_spec(write_tiny_onnx(tmp_path, colour_matrix()))
    with pytest.raises(CuebenchError, match=r"no device mps for ONNX here; onnxruntime has .*CPU"):
        load_model(spec, Runtime("mps"))
    with pytest.raises(CuebenchError, match="the precision of an ONNX model is its file's"):
        load_model(spec, Runtime(precision="float16"))


@pytest.mark.parametrize(
    "spec", ["timm:resnet18", "torchvision:resnet18", "open_clip:ViT-B-32@openai", "torch:a:b"]
)
def test_a_missing_extra_is_named(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(
        MissingExtraError, match=rf"{spec} needs the extra `torch`: pip install 'cuebench\[torch\]'"
    ):
        load_model(parse_spec(spec))
