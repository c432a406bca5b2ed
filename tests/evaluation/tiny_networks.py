"""Networks of torch that are made in a moment, and factories that make something else."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

NUMBER = 3


def classifier() -> nn.Module:
    """Return a network from (n, 3, H, W) to logits (n, 1000)."""
    from torch import nn

    parts = {
        "conv": nn.Conv2d(3, 4, 3),
        "pool": nn.AdaptiveAvgPool2d(1),
        "flat": nn.Flatten(),
        "fc": nn.Linear(4, 1000),
    }
    return nn.Sequential(OrderedDict(parts))


def wrapped() -> nn.Module:
    """Return the same network as a part of another, called `model`."""
    from torch import nn

    return nn.Sequential(OrderedDict({"model": classifier()}))


def every_layer() -> nn.Module:
    """Return layers with weights that are quantised, and some that are not."""
    from torch import nn

    return nn.ModuleDict(
        {
            "conv": nn.Conv2d(3, 4, 3),
            "up": nn.ConvTranspose2d(4, 6, 3),
            "line": nn.Linear(40, 7),
            "attention": nn.MultiheadAttention(8, 2),
            "norm": nn.BatchNorm2d(4),
            "embedding": nn.Embedding(5, 4),
        }
    )


def no_network() -> dict[str, int]:
    """Return something else."""
    return {}


def two_outputs() -> nn.Module:
    """Return a network that gives a tuple."""
    from torch import nn

    return nn.Sequential(nn.AdaptiveMaxPool2d(1, return_indices=True))


def wrong_size() -> nn.Module:
    """Return a network for pictures of 5 x 5."""
    from torch import nn

    return nn.Sequential(nn.Flatten(), nn.Linear(75, 1000))
