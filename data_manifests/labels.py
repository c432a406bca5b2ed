"""The label space of ImageNet-1k: 1,000 WordNet ids with their names, in index order."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def imagenet_labels() -> dict[str, str]:
    """Return WordNet id -> name of the 1,000 classes; the order of the dict is the index of the logit.

    >>> list(imagenet_labels()).index("n03584254")
    605
    """
    text = files("data_manifests").joinpath("imagenet_1k.tsv").read_text(encoding="utf-8")
    return dict(line.split("\t", 1) for line in text.splitlines())
