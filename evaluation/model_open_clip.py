"""`open_clip:ARCHITECTURE@WEIGHTS`: a model of pictures and text as a classifier without training (zero-shot).

The logit of a label is the cosine of the picture's embedding with the mean embedding of the sentences about it; the
model's temperature would not change a rank. (Radford et al., 2021, arXiv 2103.00020, 3.1.4.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from data_manifests.errors import CuebenchError
from data_manifests.labels import imagenet_labels
from data_manifests.shipped import nearest
from evaluation.checkpoints import download_errors
from evaluation.model_torch import SEED, TorchModel, finish, require
from evaluation.models import RANDOM, Bits, ModelSpec, Runtime
from evaluation.quantise import quantise_module
from evaluation.zero_shot import DEFAULT, Prompts, read_prompts

if TYPE_CHECKING:
    import torch
    from torch import nn

N_SENTENCES = 256
# in place of a file of words: those of the installed package
PACKAGE = "open_clip"


def load(spec: ModelSpec, runtime: Runtime) -> TorchModel:
    """Return a zero-shot classifier.

    Raises
    ------
    CuebenchError
        If OpenCLIP knows no such architecture or weights, or they can't be had.
    """
    require("open_clip", str(spec))
    import open_clip
    import torch

    known = open_clip.list_models()
    if spec.name not in known:
        raise CuebenchError(f"{spec}: open_clip has no such architecture{nearest(spec.name, known)}")
    tags = open_clip.list_pretrained_tags_by_model(spec.name)
    if spec.weights not in (RANDOM, *tags):
        raise CuebenchError(
            f"{spec}: which weights? Write {spec.name}@TAG with one of {', '.join([*tags, RANDOM])}"
        )
    prompts = package_prompts() if spec.prompts == PACKAGE else read_prompts(spec.prompts or DEFAULT)
    torch.manual_seed(SEED)
    with download_errors(spec):
        clip, _, transform = open_clip.create_model_and_transforms(
            spec.name, pretrained=None if spec.weights == RANDOM else spec.weights
        )
        tokenizer = open_clip.get_tokenizer(spec.name)
    clip.eval()
    classifier = zero_shot_classifier(clip, tokenizer, prompts, spec.bits)
    how = f"open_clip {open_clip.__version__} {transform!r} {prompts.sha256}"
    return finish(spec, runtime, classifier, transform, how, prompts.wnids)


def package_prompts() -> Prompts:
    """Return the names and templates that come with open_clip, by which published accuracies were measured."""
    import open_clip

    templates = [template("{}") for template in open_clip.OPENAI_IMAGENET_TEMPLATES]
    names = dict(zip(imagenet_labels(), open_clip.IMAGENET_CLASSNAMES, strict=True))
    # Unchecked: it calls two pairs of labels by one name each (missile, sunglasses), and they tie with each other.
    return Prompts.model_construct(templates=tuple(templates), names=names)


def zero_shot_classifier(clip: Any, tokenizer: Any, prompts: Prompts, bits: Bits | None = None) -> nn.Module:
    """Return the network from pictures to cosines with the labels (n, K) that a model of both makes."""
    from torch import nn
    from torch.nn.functional import normalize

    if bits is not None:
        quantise_module(clip, bits, "open_clip")

    class ZeroShot(nn.Module):  # type: ignore[misc, unused-ignore]
        """The tower of pictures, and the embeddings of the labels (K, D), which are no weights to be quantised."""

        def __init__(self) -> None:
            super().__init__()
            self.clip = clip
            self.register_buffer("labels", _label_embeddings(clip, tokenizer, prompts))

        def forward(self, batch: torch.Tensor) -> torch.Tensor:
            """Return the cosines (n, K)."""
            return normalize(self.clip.encode_image(batch), dim=-1) @ self.labels.T

    return ZeroShot()


def _label_embeddings(clip: Any, tokenizer: Any, prompts: Prompts) -> torch.Tensor:
    import torch
    from torch.nn.functional import normalize

    n_templates = len(prompts.templates)
    step = max(1, N_SENTENCES // n_templates)
    found = []
    with torch.inference_mode():
        for start in range(0, len(prompts.wnids), step):
            sentences = [
                text for wnid in prompts.wnids[start : start + step] for text in prompts.sentences(wnid)
            ]
            embedded = normalize(clip.encode_text(tokenizer(sentences)), dim=-1)
            mean = embedded.reshape(-1, n_templates, embedded.shape[-1]).mean(1)
            found.append(normalize(mean, dim=-1))
    return torch.cat(found).clone()
