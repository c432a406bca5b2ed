"""Weights of networks of torch from files, and what goes wrong when a library downloads them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from data_manifests.errors import CuebenchError
from data_manifests.storage import local_path
from evaluation.models import ModelSpec, Runtime

if TYPE_CHECKING:
    import torch
    from torch import nn

# The keys under which training scripts keep the weights, and what they put before the names of their parts.
WRAPPERS = ("state_dict", "model_state_dict", "model", "online_backbone", "resnet")
PREFIXES = ("module.", "model.", "backbone.")
# A linear probe that was trained on a frozen backbone lies in a file of its own.
HEADS = {"linear.": "fc."}
# The normalisation for the other kind of picture, of training with both (shape-texture debiased training).
UNUSED = ("aux_bn", "normalizer.", "new_mean", "new_std")


def load_checkpoint(module: nn.Module, spec: ModelSpec, runtime: Runtime) -> None:
    """Put the weights of the files of a specification, if there are any, into a network; all that it has must be there.

    Raises
    ------
    CuebenchError
        If a file is missing, holds no weights, or not those of the network.
    """
    if not spec.checkpoint:
        return
    own = module.state_dict()
    weights: dict[str, torch.Tensor] = {}
    for name in spec.checkpoint.split(","):
        found = read_weights(runtime.checkpoint(name), str(spec))
        weights |= {key if key in own else _plain(key): value for key, value in found.items()}
    # Counters of old checkpoints: nothing reads them outside of training.
    missing = [key for key in own if key not in weights and not key.endswith("num_batches_tracked")]
    wrong = [key for key in own if key in weights and weights[key].shape != own[key].shape]
    if missing or wrong:
        told = ", ".join((missing + wrong)[:3])
        raise CuebenchError(
            f"{spec}: {spec.checkpoint} holds other weights than the network's {len(own)}: {len(missing)} are missing "
            f"and {len(wrong)} have another shape ({told}, ...)"
        )
    module.load_state_dict({key: weights[key] for key in own if key in weights}, strict=False)


def read_weights(url: str, spec: str) -> dict[str, torch.Tensor]:
    """Return name -> weights of a file, out of their wrappers.

    Raises
    ------
    CuebenchError
        If there is no such file, or it is not one of weights alone.
    """
    import torch

    if not local_path(url).is_file():
        raise CuebenchError(
            f"{spec}: no weights at {url}; put them there, or name their folder with --weights"
        )
    try:
        content = torch.load(local_path(url), map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, ValueError, pickle.UnpicklingError) as error:
        raise CuebenchError(
            f"{spec}: {url} is no file of weights alone, and nothing else is loaded, for a pickle can run code "
            f"({str(error).splitlines()[0]})"
        ) from error
    while isinstance(content, Mapping) and (inner := next((key for key in WRAPPERS if key in content), None)):
        content = content[inner]
    found = {
        key: value
        for key, value in (content.items() if isinstance(content, Mapping) else ())
        if isinstance(value, torch.Tensor) and not any(part in key for part in UNUSED)
    }
    if not found:
        raise CuebenchError(f"{spec}: {url} holds no weights")
    return found


def _plain(key: str) -> str:
    while prefix := next((prefix for prefix in PREFIXES if key.startswith(prefix)), None):
        key = key.removeprefix(prefix)
    for written, own in HEADS.items():
        key = own + key.removeprefix(written) if key.startswith(written) else key
    return key


@contextmanager
def download_errors(spec: ModelSpec) -> Iterator[None]:
    """Turn what libraries raise that can't fetch weights, or know no such network, into our own error."""
    try:
        yield
    except (OSError, RuntimeError, ValueError, LookupError, AssertionError) as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise CuebenchError(f"{spec}: can't be had ({said[0]})") from error
