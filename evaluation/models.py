"""The models that can be evaluated: what one is, how it is named, and how it is loaded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt
from PIL.Image import Image

from data_manifests.errors import CuebenchError
from data_manifests.settings import Settings, parse_settings
from data_manifests.shipped import nearest
from data_manifests.storage import join
from evaluation.label_space import LabelSpace

Adapter = Literal["callable", "onnx", "torch", "timm", "torchvision", "open_clip"]
Precision = Literal["float32", "float16", "bfloat16"]
Bits = Literal[8, 4, 2]

# The weights of a network as it is made, before any training: what no training at all gives.
RANDOM = "random"

# adapter -> what may stand behind the question mark of its specification
OPTIONS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "callable": frozenset(),
        "onnx": frozenset({"preprocessing", "labels"}),
        "torch": frozenset({"preprocessing", "checkpoint", "labels", "bits"}),
        "timm": frozenset({"checkpoint", "labels", "bits"}),
        "torchvision": frozenset({"checkpoint", "bits"}),
        "open_clip": frozenset({"prompts", "bits"}),
    }
)
_TAGGED = ("timm", "torchvision", "open_clip")
_SPEC = re.compile(r"(?P<adapter>[a-z_]+):(?P<name>[^?]+)(?:\?(?P<options>.*))?")


class Model(Protocol):
    """A network that tells images apart, with its own preprocessing."""

    @property
    def name(self) -> str:
        """The specification that it was loaded by."""
        ...

    @property
    def labels(self) -> LabelSpace:
        """The K labels of its outputs."""
        ...

    @property
    def fingerprint(self) -> str | None:
        """A hash of all that its logits rest on but the pictures; None if nobody can tell."""
        ...

    def logits(self, images: Sequence[Image]) -> npt.NDArray[np.float32]:
        """Return the outputs (n, K) float32 for n RGB pictures of any size, before a softmax."""
        ...


class ModelSpec(Settings):
    """The name of a model, `ADAPTER:NAME[@WEIGHTS][?option=value&...]`, taken apart.

    Attributes
    ----------
    checkpoint : files with the weights, separated by commas, relative to the folder of weights
    preprocessing : a shipped name or a file
    labels : a file with the WordNet id of each output on a line of its own
    prompts : the class names and templates of a zero-shot model, a shipped name or a file
    bits : of the weights, fake-quantised
    """

    adapter: Adapter
    name: str
    weights: str = ""
    checkpoint: str = ""
    preprocessing: str = ""
    labels: str = ""
    prompts: str = ""
    bits: Bits | None = None

    def __str__(self) -> str:
        """Return the specification as it is written."""
        tag = f"@{self.weights}" if self.weights else ""
        given = {
            name: getattr(self, name) for name in ("checkpoint", "preprocessing", "labels", "prompts", "bits")
        }
        options = "&".join(f"{name}={value}" for name, value in given.items() if value)
        return f"{self.adapter}:{self.name}{tag}" + (f"?{options}" if options else "")


@dataclass(frozen=True)
class Runtime:
    """Where and how models run: a device of torch's (`cpu`, `cuda:0`), and the folder of the checkpoints."""

    device: str = "cpu"
    precision: Precision = "float32"
    weights_folder: str = "."

    def checkpoint(self, name: str) -> str:
        """Return the place of a file with weights."""
        return join(self.weights_folder, name)


def parse_spec(text: str) -> ModelSpec:
    """Return a specification.

    Raises
    ------
    CuebenchError
        If it has another form, names no known adapter, or an option that the adapter does not have.

    Examples
    --------
    >>> parse_spec("torchvision:resnet50@IMAGENET1K_V1?bits=4").bits
    4
    """
    match = _SPEC.fullmatch(text)
    if match is None:
        raise CuebenchError(
            f"--model {text}: expected ADAPTER:NAME, e.g. timm:resnet50.a1_in1k or onnx:model.onnx; adapters are "
            f"{', '.join(get_args(Adapter))}"
        )
    adapter = match["adapter"]
    if adapter not in OPTIONS:
        raise CuebenchError(
            f"--model {text}: no such adapter{nearest(adapter, list(OPTIONS))}; there are: {', '.join(OPTIONS)}"
        )
    name, _, weights = match["name"].partition("@") if adapter in _TAGGED else (match["name"], "", "")
    options = _options(text, adapter, match["options"] or "")
    return parse_settings(
        ModelSpec, {"adapter": adapter, "name": name, "weights": weights, **options}, f"--model {text}"
    )


def _options(text: str, adapter: str, written: str) -> dict[str, str | int]:
    found: dict[str, str | int] = {}
    for part in filter(None, written.split("&")):
        key, separator, value = part.partition("=")
        if not separator or key not in OPTIONS[adapter]:
            known = ", ".join(sorted(OPTIONS[adapter])) or "none"
            raise CuebenchError(f"--model {text}: {part}: no option of {adapter}; those are: {known}")
        found[key] = int(value) if value.isdecimal() else value
    return found


def quantised(spec: ModelSpec, bits: Bits | None) -> ModelSpec:
    """Return the specification with its weights at a number of bits.

    Raises
    ------
    CuebenchError
        If the weights of such a model can't be reached.
    """
    if bits is None:
        return spec
    if "bits" not in OPTIONS[spec.adapter]:
        raise CuebenchError(
            f"{spec}: the weights of a model given as {spec.adapter} can't be quantised; quantise before it is "
            "exported, or give it as torch:MODULE:FACTORY"
        )
    return spec.model_copy(update={"bits": bits})


def load_model(spec: ModelSpec, runtime: Runtime | None = None) -> Model:
    """Return a model that is ready to run.

    Raises
    ------
    MissingExtraError
        If the packages of its adapter are not installed.
    CuebenchError
        If there is no such model, or its weights can't be had.
    """
    adapter = import_module(f"evaluation.model_{spec.adapter}")
    model: Model = adapter.load(spec, runtime or Runtime())
    return model
