"""The rank of the right answer among all labels, and its reciprocal.

rank = 1 + (labels outside of the superclass whose logit is above the best logit of a member) + ties. The other members
of a superclass never count against it. Ranks are taken on logits: a softmax adds ties that the network does not have.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from data_manifests.errors import CuebenchError
from data_manifests.shipped import nearest

TieRule = Literal["pessimistic", "expected", "optimistic", "published"]
TIE_RULES: tuple[TieRule, ...] = ("pessimistic", "expected", "optimistic", "published")

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
LogitArray = npt.NDArray[np.floating]

CHUNK_BYTES = 64 << 20


@dataclass(frozen=True)
class Ranks:
    """The ranks of N rows.

    Attributes
    ----------
    above : (N,) int64
        How many labels outside of the superclass have a higher logit than its best member.
    ties : (N,) int64
        How many of them have the same logit.
    reciprocal : (N,) float64
        1 / rank under the tie rule, in (0, 1].
    """

    above: IntArray
    ties: IntArray
    reciprocal: FloatArray

    @property
    def pessimistic(self) -> IntArray:
        """The rank with every tie lost, 1 or more."""
        return 1 + self.above + self.ties


def rank_rows(
    logits: LogitArray,
    superclass: Sequence[str],
    members: Mapping[str, Sequence[int]],
    ties: TieRule = "pessimistic",
) -> Ranks:
    """Return the ranks of rows of logits.

    Parameters
    ----------
    logits : (N, K) float; an array, or a memory map far larger than memory: it is read once, in chunks
    superclass : the N right answers
    members : superclass -> columns of its labels
    ties : `pessimistic`: a tie is lost. `expected`: the mean of 1 / rank over all orders of the ties,
        (H(above + ties + 1) - H(above)) / (ties + 1). `optimistic`: a tie is won. `published`: the order of the
        published code, `numpy.flip(numpy.argsort(row))`, which is arbitrary among ties

    Raises
    ------
    CuebenchError
        If a value is not finite (the row is named), shapes do not fit, or a superclass has no column.

    Examples
    --------
    >>> rank_rows(np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]), ["a", "a"], {"a": [0]}).reciprocal
    array([1.        , 0.33333333])
    """
    names = _check(logits, superclass, members)
    n_rows, n_labels = logits.shape
    above, tied = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    published = np.empty(n_rows, np.int64) if ties == "published" else None
    for start, chunk in _chunks(logits):
        for name in np.unique(names[start : start + len(chunk)]):
            rows = np.flatnonzero(names[start : start + len(chunk)] == name)
            columns = np.asarray(members[name], np.int64)
            values = chunk[rows]
            best = values[:, columns].max(1, keepdims=True)
            above[start + rows] = (values > best).sum(1)
            tied[start + rows] = (values == best).sum(1) - (values[:, columns] == best).sum(1)
            if published is not None:
                published[start + rows] = _published_ranks(values, columns)
    if published is not None:
        return Ranks(above, tied, 1 / published)
    return Ranks(above, tied, _reciprocal(above, tied, ties, n_labels))


def _check(
    logits: LogitArray, superclass: Sequence[str], members: Mapping[str, Sequence[int]]
) -> npt.NDArray[np.str_]:
    if logits.ndim != 2 or not np.issubdtype(logits.dtype, np.floating):
        raise CuebenchError(f"logits: expected (N, K) of floats, got {logits.shape} of {logits.dtype}")
    if len(superclass) != len(logits):
        raise CuebenchError(
            f"superclass: expected one for each of the {len(logits)} rows, got {len(superclass)}"
        )
    names = np.asarray(superclass, np.str_)
    for name in np.unique(names):
        if not len(members.get(str(name), ())):
            known = ", ".join(sorted(members)) or "none (are the ids of the columns WordNet ids?)"
            raise CuebenchError(
                f"superclass {name}: it has no label in this label space{nearest(str(name), sorted(members))}; those "
                f"that have: {known}"
            )
    return names


def _chunks(logits: LogitArray) -> Iterator[tuple[int, LogitArray]]:
    n_rows = max(1, CHUNK_BYTES // max(1, logits.shape[1] * logits.dtype.itemsize))
    for start in range(0, len(logits), n_rows):
        chunk = np.asarray(logits[start : start + n_rows])
        finite = np.isfinite(chunk).all(1)
        if not finite.all():
            bad = start + int(np.flatnonzero(~finite)[0])
            n_more = int((~finite).sum()) - 1
            raise CuebenchError(
                f"logits: row {bad} holds a value that is not finite"
                + (f" (as do {n_more} more rows near it)" if n_more else "")
                + "; expected finite logits: look for an overflow in half precision, or leave the row out and say so"
            )
        yield start, chunk
        _let_go(logits)


def _let_go(logits: LogitArray) -> None:
    """Give back the memory of a file that is mapped to be read: what was read would stay until the end."""
    base: object = logits if getattr(logits, "mode", None) == "r" else None
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


def _published_ranks(values: LogitArray, columns: IntArray) -> IntArray:
    order = np.flip(np.argsort(values, axis=1), axis=1)
    first: IntArray = np.isin(order, columns).argmax(1)
    return first + 1


def harmonic(n: int) -> FloatArray:
    """Return the harmonic numbers H(0) ... H(n) (n + 1,).

    >>> harmonic(3)
    array([0.        , 1.        , 1.5       , 1.83333333])
    """
    return np.concatenate([[0.0], np.cumsum(1 / np.arange(1, n + 1))])


def _reciprocal(above: IntArray, ties: IntArray, rule: TieRule, n_labels: int) -> FloatArray:
    if rule == "optimistic":
        return 1 / (1 + above)
    if rule == "expected":
        h = harmonic(n_labels)
        expected: FloatArray = (h[above + ties + 1] - h[above]) / (ties + 1)
        return expected
    return 1 / (1 + above + ties)


def chance_reciprocal_rank(n_labels: int, n_members: int) -> float:
    """Return the mean reciprocal rank of guessing: the best of `n_members` places among `n_labels`.

    sum over r of 1 / r times C(K - r, s - 1) / C(K, s).

    >>> round(chance_reciprocal_rank(1000, 1), 6), round(chance_reciprocal_rank(1000, 3), 6)
    (0.007485, 0.017992)
    """
    if not 1 <= n_members <= n_labels:
        raise CuebenchError(f"expected 1 to {n_labels} labels of the superclass, got {n_members}")
    chance, total = n_members / n_labels, 0.0  # P(best rank = 1)
    for rank in range(1, n_labels - n_members + 2):
        total += chance / rank
        chance *= (n_labels - rank - n_members + 1) / max(n_labels - rank, 1)
    return total
