"""Which labels a network's outputs stand for, and which of them belong to a superclass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from data_manifests.errors import CuebenchError
from data_manifests.labels import imagenet_labels
from data_manifests.records import CueKind
from data_manifests.storage import read_bytes
from data_manifests.taxonomy import Taxonomy

# How many outputs the heads in use have. Only the first has an order that is the same everywhere.
KNOWN_SIZES: Mapping[int, str] = {
    1000: "ImageNet-1k",
    11221: "ImageNet-21k, cleaned by MIIL",
    11821: "ImageNet-12k",
    21841: "ImageNet-22k (fall 2011)",
    21842: "ImageNet-22k of Swin and ConvNeXt",
    21843: "ImageNet-21k of Google's ViT",
}


@dataclass(frozen=True)
class LabelSpace:
    """K labels in the order of the columns: WordNet ids, or names where a network has none."""

    name: str
    labels: tuple[str, ...]

    def __len__(self) -> int:
        """Return K."""
        return len(self.labels)

    def columns(self, wnids: Sequence[str]) -> list[int]:
        """Return the columns of those of the WordNet ids that are in this space."""
        index = {label: column for column, label in enumerate(self.labels)}
        return [index[wnid] for wnid in wnids if wnid in index]

    def members(self, taxonomy: Taxonomy, kind: CueKind) -> dict[str, list[int]]:
        """Return superclass -> columns, for the superclasses of a cue kind that have any."""
        found = {name: self.columns(wnids) for name, wnids in taxonomy.of_kind(kind).items()}
        return {name: columns for name, columns in found.items() if columns}

    def restricted(self, wnids: Sequence[str]) -> list[int]:
        """Return the columns of a restricted label space, in this space's own order."""
        return sorted(self.columns(wnids))


def label_space(n_labels: int, wnids: Sequence[str] | None = None) -> LabelSpace:
    """Return the label space of K columns.

    Parameters
    ----------
    wnids : their WordNet ids in order; needed for every size but 1,000, whose order is ImageNet's

    Raises
    ------
    CuebenchError
        If the ids do not fit the columns or repeat, or K says nothing about which labels they are.
    """
    if wnids is not None:
        if len(wnids) != n_labels:
            raise CuebenchError(f"wnid: expected one for each of the {n_labels} columns, got {len(wnids)}")
        if len(set(wnids)) != len(wnids):
            twice = sorted({wnid for wnid in wnids if list(wnids).count(wnid) > 1})
            raise CuebenchError(
                f"wnid: {', '.join(twice[:5])} stands for more than one column; every label once"
            )
        return LabelSpace(KNOWN_SIZES.get(n_labels, f"{n_labels} labels"), tuple(map(str, wnids)))
    if n_labels == len(imagenet_labels()):
        return LabelSpace(KNOWN_SIZES[n_labels], tuple(imagenet_labels()))
    known = "; ".join(f"{size}: {name}" for size, name in KNOWN_SIZES.items())
    advice = "give the WordNet id of each column as `wnid`"
    if n_labels in KNOWN_SIZES:
        raise CuebenchError(
            f"{n_labels} columns look like {KNOWN_SIZES[n_labels]}, whose order differs from file to file: {advice}"
        )
    raise CuebenchError(f"{n_labels} columns: no label space of this size is known ({known}); {advice}")


def read_wnids(url: str) -> list[str]:
    """Return the WordNet ids of a text file, the first word of each line."""
    return [line.split()[0] for line in read_bytes(url).decode("utf-8-sig").splitlines() if line.strip()]
