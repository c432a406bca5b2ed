"""`torchvision:NAME[@WEIGHTS]`: a network of torchvision, its weights by name (`DEFAULT`), or `@random` ones."""

from __future__ import annotations

from data_manifests.errors import CuebenchError
from data_manifests.shipped import nearest
from evaluation.checkpoints import download_errors, load_checkpoint
from evaluation.model_torch import SEED, TorchModel, finish, require
from evaluation.models import RANDOM, ModelSpec, Runtime


def load(spec: ModelSpec, runtime: Runtime) -> TorchModel:
    """Return a network of torchvision, with the preprocessing of its weights.

    Raises
    ------
    CuebenchError
        If torchvision does not know it or its weights, or they can't be had.
    """
    require("torchvision", str(spec))
    import torch
    import torchvision
    from torchvision import models

    known = models.list_models(module=models)
    if spec.name not in known:
        raise CuebenchError(
            f"{spec}: torchvision {torchvision.__version__} has no such network{nearest(spec.name, known)}"
        )
    entries = {entry.name: entry for entry in models.get_model_weights(spec.name)}
    entries["DEFAULT"] = models.get_model_weights(spec.name).DEFAULT
    tag = spec.weights if spec.weights not in ("", RANDOM) else "DEFAULT"
    if tag not in entries:
        raise CuebenchError(f"{spec}: no weights {tag}; there are: {', '.join([*entries, RANDOM])}")
    # A checkpoint takes the place of the named weights, and keeps their preprocessing.
    pretrained = None if spec.weights == RANDOM or spec.checkpoint else entries[tag]
    torch.manual_seed(SEED)
    with download_errors(spec):
        module = models.get_model(spec.name, weights=pretrained)
    load_checkpoint(module, spec, runtime)
    transform = entries[tag].transforms()
    return finish(spec, runtime, module, transform, f"torchvision {torchvision.__version__} {transform!r}")
