"""Which pictures of a set are the same, nearly the same, or made of the same photograph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from curation.audit_pictures import Picture
from generation.duplicates import identical_groups

Groups = tuple[tuple[Picture, ...], ...]

# Published shapes: identical ones aside, no two of 164 of them reach .85.
NEAR_CORRELATION = 0.95
MIN_SHARED_PIECES = 5
_BLOCK = 512
# Pieces that very many cues show are a property of the tool or the paper, not of a photograph.
_MAX_SHOWN_BY = 50


@dataclass(frozen=True)
class Duplicates:
    """Groups of pictures, two and more each: the same bytes (`exact`), the same pixels in other bytes, nearly the same.

    Of pictures that are the same in a closer sense only the first is compared further.
    """

    exact: Groups
    pixel: Groups
    near: Groups

    @property
    def cross_class(self) -> Groups:
        """Those of all groups whose pictures lie in several classes."""
        return tuple(group for group in (*self.exact, *self.pixel, *self.near) if _crosses(group))


def find_duplicates(pictures: Sequence[Picture]) -> Duplicates:
    """Return the groups of pictures that are the same, or nearly, wherever in the set they lie."""
    exact = _same(pictures, [picture.sha256 for picture in pictures])
    firsts = _without_repeats(pictures, exact)
    pixel = _same(firsts, [picture.pixel_sha256 for picture in firsts])
    firsts = _without_repeats(firsts, pixel)
    return Duplicates(exact, pixel, _near(firsts))


def _same(pictures: Sequence[Picture], keys: Sequence[str]) -> Groups:
    return tuple(tuple(pictures[index] for index in group) for group in identical_groups(keys))


def _without_repeats(pictures: Sequence[Picture], groups: Groups) -> list[Picture]:
    repeats = {picture.file.name for group in groups for picture in group[1:]}
    return [picture for picture in pictures if picture.file.name not in repeats]


def _crosses(group: Iterable[Picture]) -> bool:
    return len({(picture.file.kind, picture.file.superclass) for picture in group}) > 1


def _near(pictures: Sequence[Picture]) -> Groups:
    """Return the groups that correlations of .95 and more link, within a kind."""
    groups: list[tuple[Picture, ...]] = []
    for kind in dict.fromkeys(picture.file.kind for picture in pictures):
        seen = [picture for picture in pictures if picture.file.kind == kind and picture.look is not None]
        if len(seen) > 1:
            looks = np.stack([picture.look for picture in seen if picture.look is not None])
            groups.extend(_linked(seen, list(_correlated(looks))))
    return tuple(groups)


def _correlated(looks: npt.NDArray[np.float32]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of rows of (N, D) whose product is .95 or more."""
    for start in range(0, len(looks), _BLOCK):
        block = looks[start : start + _BLOCK] @ looks.T
        for row, column in np.argwhere(block >= NEAR_CORRELATION):
            if column > start + row:
                yield int(start + row), int(column)


def _linked(pictures: Sequence[Picture], pairs: Sequence[tuple[int, int]]) -> list[tuple[Picture, ...]]:
    if not pairs:
        return []
    first, second = zip(*pairs, strict=True)
    links = coo_matrix((np.ones(len(pairs)), (first, second)), shape=(len(pictures), len(pictures)))
    _, labels = connected_components(links, directed=False)
    groups: defaultdict[int, list[Picture]] = defaultdict(list)
    for index in sorted({*first, *second}):
        groups[int(labels[index])].append(pictures[index])
    return [tuple(group) for group in groups.values()]


def find_shared_sources(pictures: Sequence[Picture]) -> Groups:
    """Return the groups of textures with at least five equal pieces of 7 x 7 pixels, exact duplicates aside.

    Textures that a run's manifest derives from one photograph on different grids are meant to be so.
    """
    textures = [picture for picture in pictures if picture.pieces is not None and len(picture.pieces)]
    firsts = _without_repeats(textures, _same(textures, [picture.pixel_sha256 for picture in textures]))
    if len(firsts) < 2:
        return ()
    pairs = [(one, two) for one, two in _sharing(firsts) if not _is_meant(firsts[one], firsts[two])]
    return tuple(_linked(firsts, pairs))


def _sharing(pictures: Sequence[Picture]) -> list[tuple[int, int]]:
    """Return the pairs of pictures with enough pieces in common."""
    pieces = np.concatenate([picture.pieces for picture in pictures if picture.pieces is not None])
    owners = np.repeat(np.arange(len(pictures)), [len(p.pieces) for p in pictures if p.pieces is not None])
    order = np.argsort(pieces, kind="stable")
    pieces, owners = pieces[order], owners[order]
    found = []
    for step in range(1, _MAX_SHOWN_BY):
        same = pieces[step:] == pieces[:-step]
        if not same.any():
            break
        found.append(owners[:-step][same] * len(pictures) + owners[step:][same])
    pair, n_pieces = np.unique(np.concatenate(found or [np.empty(0, np.int64)]), return_counts=True)
    enough = pair[n_pieces >= MIN_SHARED_PIECES]
    return [
        (int(one), int(two)) for one, two in zip(enough // len(pictures), enough % len(pictures), strict=True)
    ]


def _is_meant(one: Picture, two: Picture) -> bool:
    records = one.file.record, two.file.record
    if records[0] is None or records[1] is None:
        return False
    same_source = bool(set(records[0].parent_source_ids) & set(records[1].parent_source_ids))
    return same_source and (records[0].grid, records[0].variant) != (records[1].grid, records[1].variant)
