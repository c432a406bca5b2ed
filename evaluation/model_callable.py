"""`callable:MODULE:FUNCTION`: a function of one's own that maps pictures to logits."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import cast

import numpy as np
import numpy.typing as npt
from PIL import Image

from data_manifests.errors import CuebenchError
from data_manifests.shipped import nearest
from evaluation.label_space import LabelSpace, label_space
from evaluation.models import ModelSpec, Runtime

Pixels = npt.NDArray[np.uint8]
Function = Callable[[list[Pixels]], npt.ArrayLike]


@dataclass(frozen=True)
class CallableModel:
    """A function from n pictures, each (H, W, 3) uint8 sRGB, to logits (n, K)."""

    name: str
    function: Function
    labels: LabelSpace
    fingerprint: str | None

    def logits(self, images: Sequence[Image.Image]) -> npt.NDArray[np.float32]:
        """Return the logits (n, K) float32."""
        return np.asarray(self.function([np.asarray(image) for image in images]), np.float32)


def load(spec: ModelSpec, runtime: Runtime) -> CallableModel:
    """Return the model that a function is.

    The function may have attributes: `wnids`, the WordNet id of each column, needed for any K but 1,000; and
    `fingerprint`, a text that changes whenever its logits do, without which they are not kept.

    Raises
    ------
    CuebenchError
        If there is no such function, or a device or precision is asked for, which are the function's own.
    """
    if runtime.device != "cpu" or runtime.precision != "float32":
        raise CuebenchError(f"{spec}: where and how a function of your own runs is its own matter")
    function = load_attribute(spec.name, str(spec))
    if not callable(function):
        raise CuebenchError(f"{spec}: expected a function, got {type(function).__name__}")
    wnids = getattr(function, "wnids", None)
    fingerprint = getattr(function, "fingerprint", None)
    labels = label_space(1000 if wnids is None else len(wnids), wnids)
    return CallableModel(
        str(spec), cast("Function", function), labels, f"{spec} {fingerprint}" if fingerprint else None
    )


def load_attribute(place: str, spec: str) -> object:
    """Return what `MODULE:NAME` is; modules of the working folder are found too.

    Raises
    ------
    CuebenchError
        If there is no such module or name.
    """
    module_name, separator, name = place.partition(":")
    if not separator or not module_name or not name:
        raise CuebenchError(f"{spec}: expected MODULE:NAME, e.g. my_models:resnet")
    if os.getcwd() not in sys.path:  # noqa: PTH109
        sys.path.append(os.getcwd())  # noqa: PTH109
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise CuebenchError(f"{spec}: {module_name} can't be imported ({error})") from error
        raise CuebenchError(
            f"{spec}: no module {error.name}; install its package, or start cuebench in the folder that holds it"
        ) from error
    found: object = getattr(module, name, None)
    if found is None:
        raise CuebenchError(f"{spec}: {module_name} has no {name}{nearest(name, dir(module))}")
    return found
