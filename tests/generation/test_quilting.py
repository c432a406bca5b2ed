from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from generation.patch_costs import MAX_SAMPLES
from generation.quilt_seams import min_cut
from generation.quilting import (
    GUIDE_WEIGHT,
    N_CANDIDATES,
    Guide,
    Quilt,
    Random,
    draw_candidates,
    guide_box_px,
    lay_quilt,
    overlap_px,
)

Ints = npt.NDArray[np.int64]
Pixels = npt.NDArray[np.uint8]


def speckles(height: int, width: int, seed: int = 5) -> Pixels:
    noise = np.random.Generator(np.random.PCG64(seed)).integers(0, 256, (height, width, 3), np.uint8)
    return np.asarray(cv2.GaussianBlur(noise, (0, 0), 1.5), np.uint8)


def every_position(source: Pixels, cell_px: int) -> Ints:
    patch_px = cell_px + overlap_px(cell_px)
    rows, columns = source.shape[0] - patch_px + 1, source.shape[1] - patch_px + 1
    return np.argwhere(np.ones((rows, columns), bool)).astype(np.int64)


def quilt_of(
    source: Pixels,
    n_cells: int,
    cell_px: int,
    max_share: float = 0.4,
    seed: int = 1,
    guide: Guide | None = None,
) -> Quilt:
    positions = every_position(source, cell_px)
    quilt = lay_quilt(source, positions, n_cells, cell_px, max_share, Random(seed), guide)
    assert quilt is not None
    return quilt


class NaiveQuilt:
    """The quilt as a loop over cells, pixels and paths: slow, and short enough to be seen to be right."""

    def __init__(self, source: Pixels, n_cells: int, cell_px: int) -> None:
        self.source, self.n, self.cell, self.overlap = (
            source.astype(np.int64),
            n_cells,
            cell_px,
            overlap_px(cell_px),
        )
        side = n_cells * cell_px + self.overlap
        self.canvas = np.zeros((side, side, 3), np.int64)
        self.placed: dict[tuple[int, int], tuple[int, int]] = {}

    def patch(self, at: tuple[int, int]) -> Ints:
        size = self.cell + self.overlap
        return self.source[at[0] : at[0] + size, at[1] : at[1] + size]

    def squares(self, i: int, j: int, at: tuple[int, int]) -> Ints:
        size = self.cell + self.overlap
        laid = self.canvas[
            i * self.cell : i * self.cell + size,
            j * self.cell : j * self.cell + size,
        ]
        return np.asarray(((self.patch(at) - laid) ** 2).sum(-1))

    def cost(self, i: int, j: int, at: tuple[int, int], guide: Guide | None) -> int:
        squares, size, o = self.squares(i, j, at), self.cell + self.overlap, self.overlap
        strip = [(y, x) for y, x in product(range(size), repeat=2) if y < o or x < o]
        cost = sum(int(squares[y, x]) for y, x in thinned(strip) if (y >= o or i > 0) and (x >= o or j > 0))
        if guide is not None:
            box = guide_box_px(self.cell)
            patch, wanted = self.patch(at)[o:, o:], guide.image[i * self.cell :, j * self.cell :]
            for y, x in product(range(0, self.cell - box + 1, box), repeat=2):
                means = [of[y : y + box, x : x + box].sum((0, 1)) // box**2 for of in (patch, wanted)]
                cost += GUIDE_WEIGHT * int(((means[0].astype(int) - means[1].astype(int)) ** 2).sum())
        return cost

    def shown_by(self, guide: Guide, i: int, j: int, at: tuple[int, int]) -> bool:
        half = self.cell // 2
        middle = i * self.cell + half, j * self.cell + half
        shown = guide.rows[middle] - half - self.overlap, guide.columns[middle] - half - self.overlap
        return bool(max(abs(at[0] - shown[0]), abs(at[1] - shown[1])) <= max(4, self.cell // 4))

    def continues(self, i: int, j: int, at: tuple[int, int]) -> bool:
        tolerance = max(4, self.cell // 4)
        for di, dj in ((0, -1), (-1, -1), (-1, 0), (-1, 1)):
            if (i + di, j + dj) in self.placed:
                y, x = self.placed[i + di, j + dj]
                away = max(abs(at[0] - (y - di * self.cell)), abs(at[1] - (x - dj * self.cell)))
                if away <= tolerance:
                    return True
        return False

    def alike(self, at: tuple[int, int], max_share: float) -> bool:
        for y, x in self.placed.values():
            common = max(0, self.cell - abs(y - at[0])) * max(0, self.cell - abs(x - at[1]))
            if common > max_share * self.cell**2:
                return True
        return False

    def lay(self, i: int, j: int, at: tuple[int, int]) -> None:
        squares, o = self.squares(i, j, at), self.overlap
        size = self.cell + o
        left = cheapest_path(squares[:, :o]) if j > 0 else [0] * size
        top = cheapest_path(squares[:o, :].T) if i > 0 else [0] * size
        for y, x in product(range(size), repeat=2):
            if x >= left[y] and y >= top[x]:
                self.canvas[i * self.cell + y, j * self.cell + x] = self.patch(at)[y, x]
        self.placed[i, j] = at

    @property
    def image(self) -> Pixels:
        return self.canvas[self.overlap :, self.overlap :].astype(np.uint8)


def thinned(at: list[tuple[int, int]]) -> list[tuple[int, int]]:
    step = -(-len(at) // MAX_SAMPLES)
    return at[step // 2 :: step]


def cheapest_path(costs: Ints) -> list[int]:
    """Return the cheapest path by a table from the top, leftmost where two are equal."""
    totals = [[int(cost) for cost in costs[0]]]
    for row in costs[1:]:
        above = totals[-1]
        totals.append([int(cost) + min(above[max(0, x - 1) : x + 2]) for x, cost in enumerate(row)])
    path = [totals[-1].index(min(totals[-1]))]
    for above in totals[-2::-1]:
        near = range(max(0, path[-1] - 1), min(len(above), path[-1] + 2))
        path.append(min(near, key=lambda x: (above[x], x)))
    return path[::-1]


def cells_in_waves(n: int) -> Iterator[list[tuple[int, int]]]:
    """Yield the cells that touch none of each other: two columns to the left, one row further down."""
    for wave in range(3 * n - 2):
        yield [(i, wave - 2 * i) for i in range(n) if 0 <= wave - 2 * i < n]


def choose_naively(
    source: Pixels, n: int, cell_px: int, max_share: float, seed: int, guide: Guide | None
) -> NaiveQuilt:
    naive, random = NaiveQuilt(source, n, cell_px), Random(seed)
    drawn = draw_candidates(every_position(source, cell_px), random)
    candidates = [(int(y), int(x)) for y, x in drawn]
    first = candidates[int(random.integers(len(candidates), 1)[0])]
    for cells in cells_in_waves(n):
        for i, j in cells:
            left = [
                at
                for at in candidates
                if not naive.alike(at, max_share)
                and not naive.continues(i, j, at)
                and not (guide is not None and naive.shown_by(guide, i, j, at))
            ]
            free = (i, j) == (0, 0) and guide is None
            naive.lay(i, j, first if free else min(left, key=lambda at: naive.cost(i, j, at, guide)))
    return naive


def guide_of(source: Pixels, side_px: int, seed: int = 4) -> Guide:
    """Return a guide that shows one corner of the source, every pixel known by its place."""
    rows, columns = np.indices((side_px, side_px)) + seed
    return Guide(source[rows, columns], rows.astype(np.int64), columns.astype(np.int64))


@pytest.mark.parametrize("is_guided", [False, True])
@pytest.mark.parametrize(("n", "cell_px", "max_share"), [(2, 15, 0.5), (3, 10, 0.3), (4, 7, 0.42)])
def test_waves_lay_the_same_bytes_as_a_loop_over_single_cells(
    n: int, cell_px: int, max_share: float, is_guided: bool
) -> None:
    source = speckles(38, 46)
    guide = guide_of(source, n * cell_px) if is_guided else None
    naive = choose_naively(source, n, cell_px, max_share, 9, guide)
    quilt = quilt_of(source, n, cell_px, max_share, 9, guide)
    assert [tuple(at) for at in quilt.positions.tolist()] == [naive.placed[i, j] for i, j in np.ndindex(n, n)]
    np.testing.assert_array_equal(quilt.image, naive.image)


def test_costs_are_exact_for_the_largest_differences() -> None:
    # Black and white patches, no grey between: the sums are the largest there are.
    source = np.zeros((36, 40, 3), np.uint8)
    source[:, 20:] = 255
    naive = choose_naively(source, 2, 12, 0.5, 3, None)
    quilt = quilt_of(source, 2, 12, 0.5, 3)
    assert [tuple(at) for at in quilt.positions.tolist()] == [naive.placed[i, j] for i, j in np.ndindex(2, 2)]


def test_sums_stay_below_the_whole_numbers_that_float32_holds() -> None:
    n_boxes = max(cell_px // guide_box_px(cell_px) for cell_px in range(4, 1025))
    # Squares and twice the products of three channels.
    assert 3 * 3 * max(MAX_SAMPLES, n_boxes**2) * 128**2 < 2**24


def test_a_quilt_looks_like_its_guide_and_shows_none_of_it_in_its_place() -> None:
    source, n, cell_px = speckles(120, 120), 8, 7
    guide = guide_of(source, n * cell_px)
    guided, free = (quilt_of(source, n, cell_px, 0.5, 1, follows) for follows in (guide, None))
    errors = [np.abs(quilt.image.astype(int) - guide.image).mean() for quilt in (guided, free)]
    assert errors[0] < 0.8 * errors[1]
    at = guided.positions.reshape(n, n, 2) + overlap_px(cell_px) + cell_px // 2
    middles = np.arange(n) * cell_px + cell_px // 2
    shown = np.stack([guide.rows[np.ix_(middles, middles)], guide.columns[np.ix_(middles, middles)]], -1)
    assert np.abs(at - shown).max(-1).min() > max(4, cell_px // 4)


def test_candidates_are_drawn_evenly_where_there_are_many() -> None:
    many = np.stack([np.arange(N_CANDIDATES * 3 + 5)] * 2, -1).astype(np.int64)
    drawn = draw_candidates(many, Random(0))
    assert len(drawn) == N_CANDIDATES
    assert np.diff(drawn[:, 0]).min() >= 1
    assert np.diff(drawn[:, 0]).max() <= 6
    few = many[:N_CANDIDATES]
    np.testing.assert_array_equal(draw_candidates(few, Random(0)), few)


def test_raster_order_lays_the_same_bytes_as_waves() -> None:
    source, n, cell_px = speckles(120, 130), 5, 9
    quilt, naive = quilt_of(source, n, cell_px), NaiveQuilt(source, n, cell_px)
    for (i, j), (y, x) in zip(np.ndindex(n, n), quilt.positions.tolist(), strict=True):
        naive.lay(i, j, (y, x))
    np.testing.assert_array_equal(quilt.image, naive.image)


@pytest.mark.parametrize(("height", "width"), [(1, 3), (4, 1), (5, 3), (6, 4)])
def test_min_cut_is_the_cheapest_of_all_paths_and_the_leftmost_of_equals(height: int, width: int) -> None:
    costs = np.random.Generator(np.random.PCG64(2)).integers(0, 4, (40, height, width))
    paths = [
        path
        for path in product(range(width), repeat=height)
        if all(abs(a - b) <= 1 for a, b in pairwise(path))
    ]
    for strip, found in zip(costs, min_cut(costs), strict=True):
        # Equal ones are compared from the bottom, where a path begins to be read.
        best = min(paths, key=lambda path: (sum(strip[range(height), path]), path[::-1]))
        assert tuple(found) == best


def test_min_cut_follows_a_valley_drawn_by_hand() -> None:
    valley = [2, 1, 1, 0, 1]
    costs = np.full((1, 5, 4), 50, np.int64)
    costs[0, range(5), valley] = 1
    assert min_cut(costs).tolist() == [valley]


@pytest.mark.parametrize(("cell_px", "expected"), [(4, 3), (7, 4), (14, 5), (28, 7), (56, 12), (256, 45)])
def test_a_patch_reaches_a_sixth_of_a_cell_and_three_pixels_over_its_neighbours(
    cell_px: int, expected: int
) -> None:
    assert overlap_px(cell_px) == expected


def test_random_integers_are_the_raw_stream_of_pcg64_modulo_the_bound() -> None:
    random = Random(7)
    raw = np.random.PCG64(7).random_raw(8)
    assert random.integers(1000, 5).tolist() == [int(word) % 1000 for word in raw[:5]]
    assert random.integers(3, 3).tolist() == [int(word) % 3 for word in raw[5:]]


def test_the_stream_of_a_seed_is_pinned() -> None:
    assert Random(0).integers(1000, 4).tolist() == [271, 617, 24, 533]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_same_seed_lays_the_same_bytes_and_another_seed_others(n_threads: int) -> None:
    source = speckles(120, 120)
    first, before = quilt_of(source, 4, 14), cv2.getNumThreads()
    cv2.setNumThreads(n_threads)
    try:
        again, other = quilt_of(source, 4, 14), quilt_of(source, 4, 14, seed=2)
    finally:
        cv2.setNumThreads(before)
    np.testing.assert_array_equal(again.image, first.image)
    np.testing.assert_array_equal(again.owner, first.owner)
    assert not np.array_equal(other.image, first.image)


def test_every_pixel_shows_the_source_at_the_place_of_its_owner() -> None:
    source, n, cell_px = speckles(120, 110), 4, 13
    quilt, overlap = quilt_of(source, n, cell_px), overlap_px(cell_px)
    for y, x in np.ndindex(quilt.owner.shape):
        i, j = divmod(int(quilt.owner[y, x]), n)
        at = quilt.positions[i * n + j] + [y - i * cell_px + overlap, x - j * cell_px + overlap]
        assert quilt.image[y, x].tolist() == source[at[0], at[1]].tolist()


def test_a_pixel_belongs_to_its_square_or_to_a_patch_that_reaches_over_it() -> None:
    n, cell_px = 5, 12
    owner = quilt_of(speckles(120, 120), n, cell_px).owner
    rows, columns = np.indices(owner.shape)
    for at, owned in ((rows, owner // n), (columns, owner % n)):
        past = at - owned * cell_px
        assert past.min() >= -overlap_px(cell_px)
        assert past.max() < cell_px


@pytest.mark.parametrize("seed", range(6))
def test_no_cell_continues_a_neighbour_and_no_two_share_more_than_allowed(seed: int) -> None:
    n, cell_px, max_share = 5, 16, 0.34
    at = quilt_of(speckles(110, 110), n, cell_px, max_share, seed).positions
    grid = at.reshape(n, n, 2)
    for i, j, (di, dj) in product(range(n), range(n), ((0, 1), (1, 0), (1, 1), (1, -1))):
        if i + di < n and 0 <= j + dj < n:
            away = grid[i + di, j + dj] - grid[i, j] - [di * cell_px, dj * cell_px]
            assert np.abs(away).max() > max(4, cell_px // 4)
    common = np.maximum(cell_px - np.abs(at[:, None] - at[None]), 0).prod(-1)
    np.fill_diagonal(common, 0)
    assert common.max() <= max_share * cell_px**2


@pytest.mark.parametrize(
    ("side_px", "what"), [(14, "no place"), (16, "few places"), (28, "too few for all cells")]
)
def test_running_out_of_patches_gives_no_quilt(side_px: int, what: str) -> None:
    source = speckles(side_px, side_px)
    positions = every_position(source, 10)[: 0 if what == "no place" else None]
    assert lay_quilt(source, positions, 3, 10, 0.3, Random(0)) is None


def test_a_patch_that_another_cell_of_the_wave_took_is_passed_over() -> None:
    # Twelve places of their own for nine cells, all alike: every cell would take the first.
    source = np.full((13 * 3, 13 * 4, 3), 90, np.uint8)
    positions = np.array(list(product(range(0, 39, 13), range(0, 52, 13))), np.int64)
    found = [lay_quilt(source, positions, 3, 9, 0.3, Random(seed)) for seed in range(20)]
    laid = [quilt for quilt in found if quilt is not None]
    assert laid
    assert all(len(np.unique(quilt.positions, axis=0)) == 9 for quilt in laid)
