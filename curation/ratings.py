"""Ratings in long form: who put which item into which category; counted, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from data_manifests.errors import CuebenchError

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

MOST_LABELS = 1_000  # as many as ImageNet has: a column with more is one of times, or of ids


@dataclass(frozen=True, eq=False)
class Ratings:
    """R ratings of N items by M raters in q categories; a missing rating has no row.

    Attributes
    ----------
    item, rater, category : (R,) int64
        Indices into `items`, `raters` and `categories`.
    items, raters, categories : names
        The categories are those that were offered, used or not, for p_e of some coefficients depends on their number.
    n_missing : how many ratings were given as missing
    """

    item: IntArray
    rater: IntArray
    category: IntArray
    items: tuple[str, ...]
    raters: tuple[str, ...]
    categories: tuple[str, ...]
    n_missing: int = 0

    @property
    def n_ratings(self) -> int:
        """R, the number of ratings."""
        return len(self.item)

    @cached_property
    def counts(self) -> IntArray:
        """The (N, q) table: how many raters put an item into a category."""
        n_items, n_categories = len(self.items), len(self.categories)
        flat = np.bincount(self.item * n_categories + self.category, minlength=n_items * n_categories)
        return flat.reshape(n_items, n_categories).astype(np.int64)

    def without(self, *, raters: Sequence[str] = ()) -> Ratings:
        """Return the ratings of everybody else; the categories stay those that were offered."""
        dropped = np.isin(np.asarray(self.raters, dtype=object), list(raters))
        keep = ~dropped[self.rater]
        return _renumbered(self, keep)


def _renumbered(ratings: Ratings, keep: npt.NDArray[np.bool_]) -> Ratings:
    items, item = np.unique(ratings.item[keep], return_inverse=True)
    raters, rater = np.unique(ratings.rater[keep], return_inverse=True)
    return Ratings(
        item.astype(np.int64),
        rater.astype(np.int64),
        ratings.category[keep],
        tuple(ratings.items[index] for index in items),
        tuple(ratings.raters[index] for index in raters),
        ratings.categories,
        ratings.n_missing,
    )


def make_ratings(
    items: Sequence[str],
    raters: Sequence[str],
    labels: Sequence[str | None],
    categories: Sequence[str] | None = None,
) -> Ratings:
    """Return ratings from three columns of equal length; a label of None is a missing rating.

    Parameters
    ----------
    categories : what was offered; by default the labels that occur, sorted

    Raises
    ------
    CuebenchError
        If a rater rated an item twice, a label was not offered, the categories have an empty or repeated name, the
        labels are too many to be categories, or nothing is left.

    Examples
    --------
    >>> make_ratings(["a", "a", "b"], ["x", "y", "x"], ["cat", "dog", None]).counts
    array([[1, 1]])
    """
    present = [index for index, label in enumerate(labels) if label is not None]
    if not present:
        raise CuebenchError("there are no ratings: every label is missing, or the table is empty")
    given = [str(labels[index]) for index in present]
    offered = tuple(sorted(set(given)) if categories is None else categories)
    _check_offered(offered, named=categories is not None)
    if unknown := sorted(set(given) - set(offered)):
        raise CuebenchError(
            f"labels that are no category: {', '.join(unknown[:5])}; the categories are {', '.join(offered)}; "
            "name a missing response with --missing"
        )
    item_names, item = _encode([items[index] for index in present])
    rater_names, rater = _encode([raters[index] for index in present])
    code = {name: index for index, name in enumerate(offered)}
    category = np.array([code[label] for label in given], np.int64)
    _check_once(item, rater, item_names, rater_names)
    return Ratings(item, rater, category, item_names, rater_names, offered, len(labels) - len(present))


def _check_offered(offered: Sequence[str], *, named: bool) -> None:
    """Refuse categories that would be counted twice: some coefficients depend on how many there are."""
    if not named:
        if len(offered) > MOST_LABELS:
            raise CuebenchError(
                f"{len(offered)} different labels, e.g. {', '.join(offered[:3])}: expected at most {MOST_LABELS}; is "
                "this the column with the category that was chosen? If so, name them all with --categories"
            )
        return
    twice = sorted(name for name, n in Counter(offered).items() if n > 1)
    if twice or not all(offered):
        what = f"{', '.join(twice)} stands there twice" if all(offered) else "one of them has no name"
        raise CuebenchError(f"categories {', '.join(offered)}: {what}; name each category once")


def _encode(values: Sequence[str]) -> tuple[tuple[str, ...], IntArray]:
    names = sorted(set(values))
    code = {name: index for index, name in enumerate(names)}
    return tuple(names), np.array([code[value] for value in values], np.int64)


def _check_once(item: IntArray, rater: IntArray, items: Sequence[str], raters: Sequence[str]) -> None:
    pairs = item * len(raters) + rater
    unique, n_times = np.unique(pairs, return_counts=True)
    if (n_times > 1).any():
        first = int(unique[n_times > 1][0])
        where, who = divmod(first, len(raters))
        raise CuebenchError(
            f"{int((n_times > 1).sum())} items were rated more than once by one rater, e.g. item {items[where]} by "
            f"{raters[who]}; keep one rating of each (the first counts)"
        )
