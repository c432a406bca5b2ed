"""Which of two matches lies nearer to an anchor in the features of a model, and which of three is the odd one.

Triplet test [1]_: an anchor, an image of the same shape with another texture, one of the same texture with another
shape; the score is how often the shape match is nearer. Odd one out [2]_: of a photograph and two versions of
disrupted structure, the photograph is to be the one that the other two are unlike.

References
----------
.. [1] Tartaglini et al. (2022), CogSci, arXiv 2202.08340.
.. [2] Wen et al. (2023), DiST, arXiv 2310.07555.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from data_manifests.errors import CuebenchError

Measure = Literal["cosine", "dot", "euclidean"]
MEASURES: tuple[Measure, ...] = ("cosine", "dot", "euclidean")

Features = npt.NDArray[np.floating]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ShapeMatches:
    """How often the shape match was nearer, of `n` triplets; `value` = n_shape / (n_shape + n_texture).

    A tie counts for neither side; `value` is None where there are only ties.
    """

    measure: Measure
    n: int
    n_shape: int
    n_texture: int
    n_ties: int
    value: float | None


def similarity(a: Features, b: Features, measure: Measure) -> FloatArray:
    """Return how alike rows of (N, D) features are, (N,): more is nearer, so a distance comes with a minus.

    Raises
    ------
    CuebenchError
        If a value is not finite, or a row is zero and the measure is `cosine`.
    """
    mine, other = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if not (np.isfinite(mine).all() and np.isfinite(other).all()):
        raise CuebenchError("features: a value is not finite; leave that image out and say so")
    if measure == "euclidean":
        distance: FloatArray = np.linalg.norm(mine - other, axis=1)
        return -distance
    product: FloatArray = np.einsum("nd,nd->n", mine, other)
    if measure == "dot":
        return product
    norms = np.linalg.norm(mine, axis=1) * np.linalg.norm(other, axis=1)
    if not norms.all():
        row = int(np.flatnonzero(norms == 0)[0])
        raise CuebenchError(f"features: row {row} is zero, which has no cosine; use dot or euclidean")
    cosine: FloatArray = product / norms
    return cosine


def build_triplets(shapes: Sequence[str], textures: Sequence[str]) -> IntArray:
    """Return every triplet of images (T, 3): anchor, shape match, texture match.

    Parameters
    ----------
    shapes, textures : the instance (not only the class) of the shape and of the texture of each image

    Raises
    ------
    CuebenchError
        If the lengths differ, or no image has both matches.

    Examples
    --------
    >>> build_triplets(["cat4", "cat4", "dog3"], ["truck3", "boat2", "truck3"])
    array([[0, 1, 2]])
    """
    if len(shapes) != len(textures):
        raise CuebenchError(
            f"textures: expected one for each of the {len(shapes)} shapes, got {len(textures)}"
        )
    of_shape, of_texture = defaultdict(list), defaultdict(list)
    for index, (shape, texture) in enumerate(zip(shapes, textures, strict=True)):
        of_shape[shape].append(index)
        of_texture[texture].append(index)
    triplets = [
        (anchor, same_shape, same_texture)
        for anchor, (shape, texture) in enumerate(zip(shapes, textures, strict=True))
        for same_shape in of_shape[shape]
        if textures[same_shape] != texture
        for same_texture in of_texture[texture]
        if shapes[same_texture] != shape
    ]
    if not triplets:
        raise CuebenchError(
            f"none of the {len(shapes)} images has both a shape match and a texture match among the others"
        )
    return np.array(triplets, np.int64)


def draw_equal(triplets: IntArray, seed: int) -> IntArray:
    """Return as many triplets for each anchor, drawn without replacement: those of the anchor that has fewest.

    Anchors with many matches would weigh more otherwise. The published score is the mean over three draws.
    """
    anchors, counts = np.unique(triplets[:, 0], return_counts=True)
    rng = np.random.default_rng(seed)
    kept = [
        rng.choice(np.flatnonzero(triplets[:, 0] == anchor), counts.min(), replace=False)
        for anchor in anchors
    ]
    drawn: IntArray = triplets[np.sort(np.concatenate(kept))]
    return drawn


def shape_matches(features: Features, triplets: IntArray, measure: Measure = "cosine") -> ShapeMatches:
    """Return how often the shape match is nearer to its anchor than the texture match.

    Parameters
    ----------
    features : (N, D) float, of the layer before the classifier
    triplets : (T, 3) int: anchor, shape match, texture match, as rows of `features`

    Raises
    ------
    CuebenchError
        If there is no triplet, a triplet names no row, or features are unfit (see `similarity`).
    """
    if triplets.ndim != 2 or triplets.shape[1] != 3 or len(triplets) == 0:
        raise CuebenchError(f"triplets: expected (T, 3) with T > 0, got {triplets.shape}")
    if triplets.min() < 0 or triplets.max() >= len(features):
        raise CuebenchError(
            f"triplets: expected rows 0 to {len(features) - 1} of the features, "
            f"got {triplets.min()} to {triplets.max()}"
        )
    anchor, shape, texture = (features[triplets[:, column]] for column in range(3))
    lead = similarity(anchor, shape, measure) - similarity(anchor, texture, measure)
    n_shape, n_texture = int((lead > 0).sum()), int((lead < 0).sum())
    return ShapeMatches(
        measure=measure,
        n=len(triplets),
        n_shape=n_shape,
        n_texture=n_texture,
        n_ties=len(triplets) - n_shape - n_texture,
        value=n_shape / (n_shape + n_texture) if n_shape + n_texture else None,
    )


@dataclass(frozen=True)
class OddOneOut:
    """The share of trials whose odd picture was found; a tie is lost. Guessing gives 1 / 3."""

    measure: Measure
    n: int
    n_ties: int
    accuracy: float


def odd_one_out(features: Features, odd: Sequence[int], measure: Measure = "cosine") -> OddOneOut:
    """Return how often the odd picture is the one left over by the most similar pair.

    Parameters
    ----------
    features : (T, 3, D) float
    odd : which of the three is the odd one in each of the T trials, 0 to 2

    Raises
    ------
    CuebenchError
        If shapes do not fit, an answer is none of 0, 1, 2, or features are unfit (see `similarity`).
    """
    answer = np.asarray(odd, np.int64)
    if features.ndim != 3 or features.shape[1] != 3 or len(features) != len(answer) or len(answer) == 0:
        raise CuebenchError(
            f"features: expected (T, 3, D) for {len(answer)} trials (T > 0), got {features.shape}"
        )
    if not np.isin(answer, (0, 1, 2)).all():
        raise CuebenchError(f"odd: expected 0, 1 or 2, got {answer.min()} to {answer.max()}")
    # The pair without picture k, at k.
    pairs = [((k + 1) % 3, (k + 2) % 3) for k in range(3)]
    alike = np.stack([similarity(features[:, i], features[:, j], measure) for i, j in pairs], 1)
    best = alike.max(1, keepdims=True)
    tied = (alike == best).sum(1) > 1
    found = (alike.argmax(1) == answer) & ~tied
    return OddOneOut(measure, len(answer), int(tied.sum()), float(found.mean()))
