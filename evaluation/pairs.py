"""All or nothing: the share of photographs whose every cue a model gets right.

The configural shape score counts a pair of anagrams only if both are right, since one right answer may come from parts
alone [1]_. Here the pair is the shape cue and the texture cues of one photograph: it says how many objects a model
knows by either cue alone, which two separate accuracies can't.

References
----------
.. [1] Doshi et al. (2025), "Visual Anagrams Reveal Hidden Differences in Holistic Shape Processing", arXiv 2507.00493.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data_manifests.errors import CuebenchError
from data_manifests.records import CueKind


@dataclass(frozen=True)
class PairScore:
    """Photographs by which of their cues are right; a kind is right where all of its cues are.

    `value` = n_both / n_pairs. `expected` is what it would be if the two kinds were right independently of each
    other: the product of their shares. `n_unpaired` photographs have one kind only and are left out.
    """

    n_pairs: int
    n_both: int
    n_shape_only: int
    n_texture_only: int
    n_neither: int
    n_unpaired: int
    value: float
    expected: float


def pair_score(sources: Sequence[str], cue_kinds: Sequence[CueKind], correct: Sequence[bool]) -> PairScore:
    """Return the all-or-nothing score of N cues.

    Parameters
    ----------
    sources : the photograph of each cue
    correct : whether the model's first answer to each cue is right

    Raises
    ------
    CuebenchError
        If the lengths differ, or no photograph has cues of both kinds.

    Examples
    --------
    >>> pair_score(["a", "a", "b", "b"], ["shape", "texture"] * 2, [True, True, True, False]).value
    0.5
    """
    if not len(sources) == len(cue_kinds) == len(correct):
        lengths = f"{len(sources)}, {len(cue_kinds)} and {len(correct)}"
        raise CuebenchError(f"expected as many sources, kinds and answers, got {lengths}")
    right: dict[tuple[str, CueKind], bool] = {}
    for source, kind, is_right in zip(sources, cue_kinds, correct, strict=True):
        right[source, kind] = right.get((source, kind), True) and bool(is_right)
    known = sorted(set(sources))
    paired = [source for source in known if (source, "shape") in right and (source, "texture") in right]
    if not paired:
        raise CuebenchError(f"none of the {len(known)} photographs has both a shape and a texture cue")
    table = np.array([[right[source, "shape"], right[source, "texture"]] for source in paired])
    n_both = int(table.all(1).sum())
    n_shape, n_texture = (int(n) for n in table.sum(0))
    return PairScore(
        n_pairs=len(paired),
        n_both=n_both,
        n_shape_only=n_shape - n_both,
        n_texture_only=n_texture - n_both,
        n_neither=len(paired) - n_shape - n_texture + n_both,
        n_unpaired=len(known) - len(paired),
        value=n_both / len(paired),
        expected=n_shape * n_texture / len(paired) ** 2,
    )
