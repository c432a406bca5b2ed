"""The benchmark's figures as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from benchmarks.cue_quality.cues import PHOTOGRAPHS, WAYS, Answer, Cue, Way
from benchmarks.cue_quality.figures import Figure, recognised, recognised_at_all_grids, spread
from benchmarks.cue_quality.leaks import WIDTHS
from data_manifests.records import OK, CueKind
from generation.recipe import Limit, Recipe

N_WORST = 10
LEGEND = (
    "A cue is recognised (top-1) where no label of another class comes before those of its own. Of a class: the share,",
    "recognised/made, +n that could not be made, which count as misses. MACRO: the mean over classes, its 95 %",
    "interval (photographs drawn within classes; a class of one adds no width), n made, +n missing. Probability (of",
    "all labels of the class) and rank are means over the cues that were made.",
)
NUMBERS_LEGEND = (
    "Median [5th, 95th percentile] of the numbers of the cues; n%!: the share outside of the recipe's bounds.",
)
_FIRST, _WIDTH = 34, 26

ByWay = Mapping[Way, Sequence[Cue]]


def by_way(cues: Sequence[Cue], kind: CueKind, grid: int | None = None) -> dict[Way, list[Cue]]:
    """Return way -> its cues of a kind and grid; those of a way that has no grids stand beside every grid."""
    found = {way: [c for c in cues if c.way == way and c.kind == kind] for way in WAYS[kind]}
    return {way: [c for c in own if c.grid in (grid, None)] for way, own in found.items()}


def grids_of(cues: Sequence[Cue], kind: CueKind) -> list[int | None]:
    """Return the grids of a kind; [None] where it has none."""
    return [*sorted({cue.grid for cue in cues if cue.kind == kind and cue.grid})] or [None]


def recognition(cues: Sequence[Cue], right_masks: Mapping[str, bool] | None) -> Iterator[str]:
    """Yield the table of what is recognised, by kind, grid and class.

    `right_masks` says of photographs whether their mask shows the right object; those have a line of their own.
    """
    yield from LEGEND
    for kind in WAYS:
        if not any(cue.kind == kind for cue in cues):
            continue
        yield ""
        yield _line(f"{kind}: top-1", WAYS[kind])
        for grid in grids_of(cues, kind):
            yield from _block(by_way(cues, kind, grid), kind if grid is None else f"{grid}x{grid}")
        if kind == "shape" and right_masks is not None:
            own = by_way(cues, kind)
            right = {way: [c for c in v if right_masks.get(c.photograph)] for way, v in own.items()}
            yield from _means(right, "right masks")
        elif kind == "texture":
            every = [[c for c in cues if c.way == way and c.kind == kind] for way in WAYS[kind]]
            yield _line("all grids MACRO", [_cell(recognised_at_all_grids(own)) for own in every])


def _line(first: str, cells: Sequence[str]) -> str:
    return (f"{first:<{_FIRST}} " + "".join(f"{cell:<{_WIDTH}}" for cell in cells)).rstrip()


def _block(ways: ByWay, name: str) -> Iterator[str]:
    for superclass in sorted({cue.superclass for own in ways.values() for cue in own}):
        cells = [_class_cell([cue for cue in own if cue.superclass == superclass]) for own in ways.values()]
        yield _line(f"  {name:<7} {superclass}", cells)
    yield from _means(ways, name)
    answers = [[cue.answer for cue in own if cue.answer] for own in ways.values()]
    probability = [[answer.probability for answer in own] for own in answers]
    log_rank = [[float(np.log10(answer.rank)) for answer in own] for own in answers]
    for what, values in (("probability", probability), ("log10 rank", log_rank)):
        yield _line(f"{name} mean {what}", [f"{np.mean(v):.3f}" if v else "-" for v in values])


def _means(ways: ByWay, name: str) -> Iterator[str]:
    yield _line(f"{name} MACRO", [_cell(recognised(own, missing_count=True)) for own in ways.values()])
    if any(cue.status != OK for own in ways.values() for cue in own):
        cells = [_cell(recognised(own, missing_count=False)) for own in ways.values()]
        yield _line(f"{name} MACRO of those made", cells)
    yield _line(f"{name} micro", [_class_cell(own) for own in ways.values()])


def _cell(found: Figure) -> str:
    if found.n + found.n_missing == 0:
        return "-"
    lacking = f"+{found.n_missing}" if found.n_missing else ""
    return f"{found.value:.2f} [{found.lower:.2f} {found.upper:.2f}] {found.n}{lacking}"


def _class_cell(cues: Sequence[Cue]) -> str:
    if not cues:
        return "-"
    n_made, n_right = sum(cue.status == OK for cue in cues), sum(cue.is_right for cue in cues)
    lacking = f"+{len(cues) - n_made}" if n_made < len(cues) else ""
    return f"{n_right / len(cues):.2f} {n_right}/{n_made}{lacking}"


def numbers(cues: Sequence[Cue], recipe: Recipe) -> Iterator[str]:
    """Yield the table of the numbers of the cues, beside the recipe's bounds, and what their low-pass tells."""
    yield from ("", *NUMBERS_LEGEND)
    for kind in WAYS:
        for grid in grids_of(cues, kind):
            ways = {way: own for way, own in by_way(cues, kind, grid).items() if way not in PHOTOGRAPHS}
            names = sorted({name for own in ways.values() for cue in own for name in cue.numbers})
            limits = recipe.limits.of(kind, grid)
            if not names:
                continue
            yield ""
            yield _line(kind if grid is None else f"{kind} {grid}x{grid}", list(ways))
            for name in names:
                limit = limits.get(name)
                yield _line(f"  {name}{_bound(limit)}", [_spread(own, name, limit) for own in ways.values()])
            if grid is not None:
                yield from _blurred(ways)


def _bound(limit: Limit | None) -> str:
    if limit is None:
        return ""
    ends = ((">=", limit.min), ("<=", limit.max))
    return "".join(f" {sign}{end:g}" for sign, end in ends if end is not None)


def _spread(cues: Sequence[Cue], name: str, limit: Limit | None) -> str:
    values = [cue.numbers[name] for cue in cues if name in cue.numbers]
    if not values:
        return "-"
    if name.startswith("has_"):
        return f"{np.mean(values):.0%} of {len(values)}"
    low, middle, high = (_number(value) for value in spread(values))
    n_outside = 0 if limit is None else sum(not limit.holds(value) for value in values)
    return f"{middle} [{low} {high}]" + (f" {n_outside / len(values):.0%}!" if n_outside else "")


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) >= 1 else f"{value:.3f}"


def _blurred(ways: ByWay) -> Iterator[str]:
    """Yield what is recognised of the cues of a grid when only their low-pass is seen."""
    for width in WIDTHS:
        seen = [
            [(cue.superclass, cue.blurred[width]) for cue in own if width in cue.blurred]
            for own in ways.values()
        ]
        cells = [_blurred_cell([(name, answer.is_right) for name, answer in own]) for own in seen]
        yield _line(f"  top-1 of the low-pass ({width})", cells)


def _blurred_cell(seen: Sequence[tuple[str, bool]]) -> str:
    if not seen:
        return "-"
    by_class = {name: [right for other, right in seen if other == name] for name, _ in seen}
    value = np.mean([np.mean(right) for right in by_class.values()])
    return f"{value:.2f} {sum(right for _, right in seen)}/{len(seen)}"


def worst(cues: Sequence[Cue]) -> Iterator[str]:
    """Yield the photographs whose cues are recognised least, of each kind, and what was seen in these instead."""
    for kind in WAYS:
        found = worst_photographs(cues, kind)
        if not found:
            continue
        yield ""
        yield f"{kind}: the {len(found)} photographs whose cues are recognised least"
        for name, wrong in found.items():
            seen = [
                (f"{cue.grid}x{cue.grid} " if cue.grid else "") + f"{answer.seen} (rank {answer.rank})"
                for cue, answer in wrong
            ]
            yield f"  {name}: {', '.join(seen)}"


def worst_photographs(cues: Sequence[Cue], kind: CueKind) -> dict[str, list[tuple[Cue, Answer]]]:
    """Return the photographs with the largest mean logarithm of rank, the worst first, and their missed cues."""
    found: dict[str, list[tuple[Cue, Answer]]] = {}
    for cue in cues:
        if cue.way == "ours" and cue.kind == kind and cue.answer and not cue.is_right:
            found.setdefault(cue.photograph, []).append((cue, cue.answer))
    depth = {name: np.mean([np.log(answer.rank) for _, answer in wrong]) for name, wrong in found.items()}
    return {name: found[name] for name in sorted(found, key=lambda name: (-depth[name], name))[:N_WORST]}
