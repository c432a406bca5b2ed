"""The adapters for networks of torch, on networks with random weights: nothing is downloaded."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from data_manifests.errors import CuebenchError
from data_manifests.labels import imagenet_labels
from evaluation.label_space import KNOWN_SIZES
from evaluation.models import Bits, Runtime, load_model, parse_spec
from evaluation.preprocessing import read_preprocessing
from evaluation.zero_shot import read_prompts

pytestmark = pytest.mark.classifier

HERE = "tests.evaluation.tiny_networks"
TORCHVISION = "torchvision:squeezenet1_1@random"
TIMM = "timm:test_vit.r160_in1k@random"
FACTORY = f"torch:{HERE}:classifier?preprocessing=imagenet"


def pictures(n: int = 3) -> list[Image.Image]:
    rng = np.random.default_rng(0)
    return [Image.fromarray(rng.integers(0, 256, (240, 250, 3), np.uint8)) for _ in range(n)]


@pytest.fixture(scope="module")
def tiny_clip(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A CLIP of two narrow towers of one layer each."""
    import open_clip

    path = tmp_path_factory.mktemp("clip") / "Tiny.json"
    vision = {"image_size": 32, "layers": 1, "width": 16, "patch_size": 16, "head_width": 8}
    text = {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1}
    path.write_text(json.dumps({"embed_dim": 16, "vision_cfg": vision, "text_cfg": text}))
    open_clip.add_model_config(path)
    return "open_clip:Tiny@random"


@pytest.mark.parametrize("spec", [TORCHVISION, TIMM, FACTORY])
def test_a_network_gives_one_row_a_picture_whatever_the_batch(spec: str) -> None:
    model = load_model(parse_spec(spec))
    found = model.logits(pictures())
    assert found.shape == (3, 1000)
    assert found.dtype == np.float32
    assert model.labels.labels == tuple(imagenet_labels())
    alone = np.concatenate([model.logits([picture]) for picture in pictures()])
    np.testing.assert_allclose(found, alone, atol=1e-4)


@pytest.mark.parametrize("spec", [TORCHVISION, TIMM, FACTORY])
def test_the_same_network_has_the_same_fingerprint_and_another_another(spec: str) -> None:
    first = load_model(parse_spec(spec))
    assert load_model(parse_spec(spec)).fingerprint == first.fingerprint
    separator = "&" if "?" in spec else "?"
    fewer = load_model(parse_spec(f"{spec}{separator}bits=4"))
    halved = load_model(parse_spec(spec), Runtime(precision="bfloat16"))
    assert len({first.fingerprint, fewer.fingerprint, halved.fingerprint}) == 3
    assert np.abs(fewer.logits(pictures()) - first.logits(pictures())).max() > 0


@pytest.mark.parametrize(
    ("name", "n_labels"),
    [("vit_tiny_patch16_224.augreg_in21k", 21843), ("mobilenetv3_large_100.miil_in21k", 11221)],
)
def test_a_head_of_21k_labels_is_named_by_timms_lists(name: str, n_labels: int) -> None:
    from timm.data import ImageNetInfo

    model = load_model(parse_spec(f"timm:{name}@random"))
    assert (len(model.labels), model.labels.name) == (n_labels, KNOWN_SIZES[n_labels])
    tabby = model.labels.labels.index("n02123045")
    subset = {21843: "imagenet-21k-goog", 11221: "imagenet-21k-miil"}[n_labels]
    assert ImageNetInfo(subset).index_to_label_name(tabby) == "n02123045"


def test_a_zero_shot_logit_is_the_cosine_with_the_sentences_of_a_label(tiny_clip: str) -> None:
    import open_clip
    import torch

    model = load_model(parse_spec(tiny_clip))
    found = model.logits(pictures(1))
    assert found.shape == (1, 1000)
    assert np.abs(found).max() <= 1 + 1e-5
    torch.manual_seed(0)
    clip, _, transform = open_clip.create_model_and_transforms("Tiny")
    clip.eval()
    prompts = read_prompts("imagenet-1k")
    sentences = open_clip.get_tokenizer("Tiny")(prompts.sentences(prompts.wnids[673]))
    with torch.inference_mode():
        text = clip.encode_text(sentences, normalize=True).mean(0)
        shown = clip.encode_image(transform(pictures(1)[0])[None], normalize=True)[0]
        cosine = torch.nn.functional.cosine_similarity(shown, text, dim=0)
    assert found[0, 673] == pytest.approx(float(cosine), abs=1e-5)


def test_other_words_are_another_zero_shot_model(tiny_clip: str, tmp_path: Path) -> None:
    path = tmp_path / "words.toml"
    path.write_text('templates = ["a {}."]\n[names]\nn04548280 = "clock"\nn03584254 = "iPod"\n')
    model = load_model(parse_spec(f"{tiny_clip}?prompts={path}"))
    assert model.labels.labels == ("n04548280", "n03584254")
    assert model.logits(pictures()).shape == (3, 2)
    path.write_text(path.read_text().replace("clock", "watch"))
    assert load_model(parse_spec(f"{tiny_clip}?prompts={path}")).fingerprint != model.fingerprint


def test_the_words_of_the_package_can_be_asked_for() -> None:
    from evaluation.model_open_clip import package_prompts

    prompts = package_prompts()
    assert prompts.wnids == list(imagenet_labels())
    assert len(prompts.templates) == 80
    assert len(prompts.sha256) == 64
    assert "a bad photo of a tench." in prompts.sentences("n01440764")


def test_both_towers_of_a_zero_shot_model_are_quantised(tiny_clip: str) -> None:
    exact = load_model(parse_spec(tiny_clip)).logits(pictures())
    fewer = load_model(parse_spec(f"{tiny_clip}?bits=2")).logits(pictures())
    assert np.abs(exact - fewer).max() > 1e-3


@pytest.mark.parametrize("bits", [8, 4, 2])
def test_every_kind_of_weight_is_quantised_along_its_own_outputs(bits: Bits) -> None:
    import torch

    from evaluation.quantise import quantise_module
    from tests.evaluation.tiny_networks import every_layer

    network = every_layer()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    assert quantise_module(network, bits, "tiny") == 5
    after = network.state_dict()
    limit = 2**bits - 1
    for name, axis in (
        ("conv.weight", 0),
        ("up.weight", 1),
        ("line.weight", 0),
        ("attention.in_proj_weight", 0),
    ):
        for channel in torch.movedim(after[name], axis, 0):
            assert len(channel.unique()) <= limit
    kept = ("conv.bias", "norm.weight", "embedding.weight")
    assert all(torch.equal(before[name], after[name]) for name in kept)
    with pytest.raises(CuebenchError, match="tiny: no convolution and no linear layer"):
        quantise_module(torch.nn.ReLU(), bits, "tiny")


def test_a_checkpoint_is_freed_of_its_wrappers(tmp_path: Path) -> None:
    import torch

    from tests.evaluation.tiny_networks import classifier

    torch.manual_seed(5)
    weights = classifier().state_dict()
    wrapped = {f"module.model.{name}": value for name, value in weights.items()} | {
        "module.aux_bn": torch.ones(1)
    }
    torch.save({"epoch": 3, "state_dict": wrapped}, tmp_path / "weights.pth")
    model = load_model(parse_spec(f"{FACTORY}&checkpoint=weights.pth"), Runtime(weights_folder=str(tmp_path)))
    preprocessing = read_preprocessing("imagenet")
    network = classifier()
    network.load_state_dict(weights)
    batch = torch.stack([torch.from_numpy(preprocessing.apply(picture)) for picture in pictures()])
    with torch.inference_mode():
        np.testing.assert_allclose(model.logits(pictures()), network.eval()(batch).numpy(), atol=1e-5)


def test_a_network_may_have_parts_named_like_a_wrapper(tmp_path: Path) -> None:
    import torch

    from tests.evaluation.tiny_networks import wrapped

    torch.save(wrapped().state_dict(), tmp_path / "weights.pth")
    spec = parse_spec(f"torch:{HERE}:wrapped?preprocessing=imagenet&checkpoint=weights.pth")
    assert load_model(spec, Runtime(weights_folder=str(tmp_path))).logits(pictures()).shape == (3, 1000)


def test_a_backbone_and_its_head_may_lie_apart(tmp_path: Path) -> None:
    import torch

    from tests.evaluation.tiny_networks import classifier

    weights = classifier().state_dict()
    head = {name.replace("fc.", "module.linear."): value for name, value in weights.items() if "fc." in name}
    torch.save({name: value for name, value in weights.items() if "fc." not in name}, tmp_path / "a.pth")
    torch.save({"state_dict": head}, tmp_path / "b.pth")
    runtime = Runtime(weights_folder=str(tmp_path))
    assert load_model(parse_spec(f"{FACTORY}&checkpoint=a.pth,b.pth"), runtime).fingerprint
    with pytest.raises(CuebenchError, match=r"a.pth holds other weights than the network's 4: 2 are missing"):
        load_model(parse_spec(f"{FACTORY}&checkpoint=a.pth"), runtime)


def test_a_checkpoint_that_can_not_serve_is_refused(tmp_path: Path) -> None:
    import torch

    runtime = Runtime(weights_folder=str(tmp_path))
    spec = parse_spec(f"{FACTORY}&checkpoint=weights.pth")
    with pytest.raises(
        CuebenchError, match=r"no weights at .*weights.pth; put them there, or name their folder"
    ):
        load_model(spec, runtime)
    for content in ({"a": Path("code")}, {"epoch": 3}):
        torch.save(content, tmp_path / "weights.pth")
        with pytest.raises(CuebenchError, match=r"is no file of weights alone|holds no weights"):
            load_model(spec, runtime)
    (tmp_path / "weights.pth").write_bytes(b"no weights")
    with pytest.raises(CuebenchError, match=r"is no file of weights alone, and nothing else is loaded"):
        load_model(spec, runtime)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("torchvision:resnet51", r"torchvision .* has no such network \(did you mean `resnet50`\?\)"),
        ("torchvision:resnet18@V9", "no weights V9; there are: IMAGENET1K_V1, DEFAULT, random"),
        ("timm:resnet10tt", r"timm .* has no such network \(did you mean"),
        (
            "timm:resnet10t@a1",
            r"timm's weights are part of the name \(resnet10t.a1\); only @random stands apart",
        ),
        ("timm:resnet10t.c3_in1k", r"timm:resnet10t.c3_in1k: can't be had \("),
        ("open_clip:ViT-B-31@openai", r"open_clip has no such architecture \(did you mean `ViT-B-32`\?\)"),
        ("open_clip:ViT-B-32", r"which weights\? Write ViT-B-32@TAG with one of openai, "),
        (f"torch:{HERE}:classifier", r"how does it take pictures\? Add \?preprocessing=imagenet"),
        (f"torch:{HERE}:NUMBER?preprocessing=imagenet", "expected a function that makes a network, got int"),
        (f"torch:{HERE}:no_network?preprocessing=imagenet", r"expected a torch.nn.Module, got dict"),
        (f"torch:{HERE}:two_outputs?preprocessing=imagenet", r"expected logits \(n, K\), got tuple"),
        (f"torch:{HERE}:wrong_size?preprocessing=imagenet", r"it fails on pictures \(1, 3, 224, 224\)"),
    ],
)
def test_what_can_not_be_loaded_says_why(spec: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(CuebenchError, match=message):
        load_model(parse_spec(spec))


def test_networks_of_torch_take_their_channels_first(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('layout = "NHWC"\n')
    with pytest.raises(CuebenchError, match="networks of torch take NCHW, the preprocessing says NHWC"):
        load_model(parse_spec(f"torch:{HERE}:classifier?preprocessing={tmp_path}/own.toml"))


def test_a_device_that_is_not_there_is_named() -> None:
    with pytest.raises(CuebenchError, match="no device nowhere here"):
        load_model(parse_spec(FACTORY), Runtime("nowhere"))
