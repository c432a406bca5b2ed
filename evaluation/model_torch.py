"""`torch:MODULE:FACTORY`: a network that a function of one's own makes; and what all networks of torch share."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from PIL import Image

from data_manifests.errors import CuebenchError, MissingExtraError
from data_manifests.jsonl import canonical_sha256
from evaluation.checkpoints import download_errors, load_checkpoint
from evaluation.label_space import LabelSpace, label_space, read_wnids
from evaluation.model_callable import load_attribute
from evaluation.models import ModelSpec, Runtime
from evaluation.preprocessing import read_preprocessing
from evaluation.quantise import quantise_module

if TYPE_CHECKING:
    import torch
    from torch import nn

Transform = Callable[[Image.Image], "torch.Tensor"]

SEED = 0


@dataclass(frozen=True)
class TorchModel:
    """A network from (n, 3, H, W) to logits (n, K), with the transform of a picture to (3, H, W)."""

    name: str
    module: nn.Module
    transform: Transform
    labels: LabelSpace
    fingerprint: str
    runtime: Runtime

    def logits(self, images: Sequence[Image.Image]) -> npt.NDArray[np.float32]:
        """Return the logits (n, K) float32."""
        return forward(self.module, self.transform, images, self.runtime, self.name)


def forward(
    module: nn.Module, transform: Transform, images: Sequence[Image.Image], runtime: Runtime, name: str
) -> npt.NDArray[np.float32]:
    """Return the outputs (n, K) float32 of a network for pictures.

    Raises
    ------
    CuebenchError
        If the network fails (a wrong size, no memory left), or gives something else than (n, K).
    """
    import torch

    batch = torch.stack([transform(image) for image in images])
    try:
        with torch.inference_mode():
            output = module(batch.to(runtime.device, getattr(torch, runtime.precision)))
    except RuntimeError as error:
        raise CuebenchError(
            f"{name}: it fails on pictures {tuple(batch.shape)} ({str(error).splitlines()[0]})"
        ) from error
    if not isinstance(output, torch.Tensor) or output.ndim != 2:
        got = tuple(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__
        raise CuebenchError(f"{name}: expected logits (n, K), got {got}")
    found: npt.NDArray[np.float32] = output.float().cpu().numpy()
    return found


def finish(
    spec: ModelSpec,
    runtime: Runtime,
    module: nn.Module,
    transform: Transform,
    how: str,
    wnids: Sequence[str] | None = None,
) -> TorchModel:
    """Return the model of a network: in evaluation mode, quantised if the specification says so, on its device.

    Parameters
    ----------
    how : the transform and the release of the library, in words that change whenever they do
    wnids : of the columns, if the library knows them

    Raises
    ------
    CuebenchError
        If the device is not to be had, or the label space is not known.
    """
    import torch

    module.eval()
    if spec.bits is not None:
        quantise_module(module, spec.bits, str(spec))
    digest = weights_sha256(module)
    try:
        module.to(runtime.device, getattr(torch, runtime.precision))
    except (RuntimeError, AssertionError) as error:  # torch without CUDA asserts
        raise CuebenchError(
            f"{spec}: no device {runtime.device} here ({str(error).splitlines()[0]})"
        ) from error
    grey = Image.new("RGB", (224, 224), (127, 127, 127))
    n_labels = forward(module, transform, [grey], runtime, str(spec)).shape[1]
    given = read_wnids(spec.labels) if spec.labels else wnids
    identity = [str(spec.adapter), spec.name, how, digest, runtime.precision]
    return TorchModel(
        str(spec), module, transform, label_space(n_labels, given), canonical_sha256(identity), runtime
    )


def weights_sha256(module: nn.Module) -> str:
    """Return the SHA-256 (hex) of all weights and buffers of a network, with their names."""
    digest = hashlib.sha256()
    for name, value in sorted(module.state_dict().items()):
        array = value.detach().cpu().float().contiguous().numpy()
        digest.update(f"{name}|{value.dtype}|{tuple(value.shape)}|".encode())
        digest.update(array.data)
    return digest.hexdigest()


def require(package: str, what: str) -> None:
    """Say which extra is missing if a package can't be imported.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise MissingExtraError(what, "torch")


def load(spec: ModelSpec, runtime: Runtime) -> TorchModel:
    """Return the network that a factory without arguments makes.

    Raises
    ------
    CuebenchError
        If there is no such factory, it makes something else, or nothing says how it takes pictures.
    """
    require("torch", str(spec))
    import torch

    if not spec.preprocessing:
        raise CuebenchError(
            f"{spec}: how does it take pictures? Add ?preprocessing=imagenet, or a .toml file"
        )
    preprocessing = read_preprocessing(spec.preprocessing)
    if preprocessing.layout != "NCHW":
        raise CuebenchError(
            f"{spec}: networks of torch take NCHW, the preprocessing says {preprocessing.layout}"
        )
    factory = load_attribute(spec.name, str(spec))
    if not callable(factory):
        raise CuebenchError(f"{spec}: expected a function that makes a network, got {type(factory).__name__}")
    torch.manual_seed(SEED)
    with download_errors(spec):
        module = factory()
    if not isinstance(module, torch.nn.Module):
        raise CuebenchError(f"{spec}: expected a torch.nn.Module, got {type(module).__name__}")
    load_checkpoint(module, spec, runtime)
    return finish(
        spec, runtime, module, lambda image: torch.from_numpy(preprocessing.apply(image)), str(preprocessing)
    )
