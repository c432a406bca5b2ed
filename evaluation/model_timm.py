"""`timm:NAME[@random]`: a network of timm with its own weights, or `@random` ones, and its own preprocessing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from data_manifests.errors import CuebenchError
from data_manifests.shipped import nearest
from evaluation.checkpoints import download_errors, load_checkpoint
from evaluation.model_torch import SEED, TorchModel, finish, require
from evaluation.models import RANDOM, ModelSpec, Runtime

if TYPE_CHECKING:
    from torch import nn


def load(spec: ModelSpec, runtime: Runtime) -> TorchModel:
    """Return a network of timm.

    Raises
    ------
    CuebenchError
        If timm does not know it, or its weights can't be had.
    """
    require("timm", str(spec))
    import timm
    import torch
    from timm.data import create_transform, resolve_model_data_config

    if spec.weights not in ("", RANDOM):
        raise CuebenchError(
            f"{spec}: timm's weights are part of the name ({spec.name}.{spec.weights}); only @{RANDOM} stands apart"
        )
    if not timm.is_model(spec.name):
        known = timm.list_models(pretrained=True)
        raise CuebenchError(f"{spec}: timm {timm.__version__} has no such network{nearest(spec.name, known)}")
    pretrained = spec.weights != RANDOM and not spec.checkpoint
    torch.manual_seed(SEED)
    with download_errors(spec):
        module = timm.create_model(spec.name, pretrained=pretrained)
    load_checkpoint(module, spec, runtime)
    settings = resolve_model_data_config(module)
    transform = create_transform(**settings, is_training=False)
    how = f"timm {timm.__version__} {sorted(settings.items())}"
    return finish(spec, runtime, module, transform, how, wnids_of(module))


def wnids_of(module: nn.Module) -> list[str] | None:
    """Return the WordNet ids of the outputs of a network by timm's lists, which go by how many there are."""
    from timm.data import ImageNetInfo, infer_imagenet_subset

    subset = infer_imagenet_subset(module)
    return list(ImageNetInfo(subset).label_names()) if subset else None
