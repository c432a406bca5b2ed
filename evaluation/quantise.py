"""Weights as they would be at few bits: rounded to a grid, and kept as floats (fake quantisation).

Symmetric and per output channel: of a weight w of channel c, with b bits,

    s_c = max |w_c| / (2 ** (b - 1) - 1),    q(w) = s_c * round(w / s_c),

so 8, 4 and 2 bits leave 255, 15 and 3 values a channel. Zero stays zero; no calibration, no fine-tuning, and
activations, biases and normalisations stay as they are. (Jacob et al., 2018, "Quantization and Training of Neural
Networks for Efficient Integer-Arithmetic-Only Inference", eq. 1, with a zero point of 0.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from data_manifests.errors import CuebenchError
from evaluation.models import Bits

if TYPE_CHECKING:
    from torch import nn


def fake_quantise(weight: npt.NDArray[np.floating], bits: Bits) -> npt.NDArray[np.floating]:
    """Return a weight (C, ...) on the grid of `bits` bits, each of the C output channels with its own step.

    >>> fake_quantise(np.array([[1.0, 0.3, -0.7]]), 2)
    array([[ 1.,  0., -1.]])
    """
    rows = weight.reshape(len(weight), -1)
    step = np.abs(rows).max(1, keepdims=True) / (2 ** (bits - 1) - 1)
    step[step == 0] = 1
    found: npt.NDArray[np.floating] = np.round(rows / step) * step
    return found.reshape(weight.shape).astype(weight.dtype)


def quantise_module(module: nn.Module, bits: Bits, name: str) -> int:
    """Replace the weights of all convolutions, linear layers and attention projections; return how many.

    Raises
    ------
    CuebenchError
        If it has none.
    """
    import torch

    weights = {id(weight): (weight, part) for part in module.modules() for weight in _weights(part)}
    for weight, part in weights.values():
        # The output channels of a transposed convolution are its second axis.
        swapped = isinstance(part, torch.nn.modules.conv._ConvTransposeNd)
        values = weight.detach().cpu().float().numpy()
        values = values.swapaxes(0, 1) if swapped else values
        found = fake_quantise(values, bits)
        found = np.ascontiguousarray(found.swapaxes(0, 1) if swapped else found)
        with torch.no_grad():
            weight.copy_(torch.from_numpy(found))
    if not weights:
        raise CuebenchError(f"{name}: no convolution and no linear layer, so nothing to quantise")
    return len(weights)


def _weights(part: nn.Module) -> list[nn.Parameter]:
    import torch

    if isinstance(part, torch.nn.modules.conv._ConvNd | torch.nn.Linear):
        return [part.weight]
    if isinstance(part, torch.nn.MultiheadAttention):
        own = (part.in_proj_weight, part.q_proj_weight, part.k_proj_weight, part.v_proj_weight)
        return [weight for weight in own if weight is not None]
    return []
