from __future__ import annotations

from itertools import pairwise

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from data_manifests.errors import CuebenchError
from generation.peers.tiles import random_cycle, random_order, rotate_tiles, shuffle_tiles, tile_edges
from generation.quilting import Random

Pixels = npt.NDArray[np.uint8]


def noise(height: int, width: int, seed: int = 3) -> Pixels:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def tiles_of(image: Pixels, grid: int) -> list[bytes]:
    rows = np.array_split(image, grid, 0)
    return [tile.tobytes() for row in rows for tile in np.array_split(row, grid, 1)]


def numbered(grid: int, tile_px: int) -> Pixels:
    """Return a picture whose tiles are of one value each: 0, 1, 2, ..."""
    values = np.arange(grid * grid, dtype=np.uint8).reshape(grid, grid)
    return np.repeat(np.kron(values, np.ones((tile_px, tile_px), np.uint8))[..., None], 3, 2)


@pytest.mark.parametrize("grid", [2, 4, 7, 8, 14, 16])
def test_a_shuffle_moves_whole_tiles_and_loses_none(grid: int) -> None:
    image = noise(112, 112)
    shuffled = shuffle_tiles(image, grid, Random(grid))
    assert sorted(tiles_of(shuffled, grid)) == sorted(tiles_of(image, grid))


def test_a_shuffle_lays_the_tiles_in_the_order_that_was_drawn() -> None:
    shuffled = shuffle_tiles(numbered(4, 5), 4, Random(11))
    assert shuffled[::5, ::5, 0].ravel().tolist() == random_order(Random(11), 16).tolist()


def test_tiles_of_unequal_size_change_places_among_their_own() -> None:
    image = noise(224, 224)
    shuffled = shuffle_tiles(image, 6, Random(1))
    edges = tile_edges(224, 6)
    before, after = (
        sorted(
            picture[top:bottom, left:right].tobytes()
            for top, bottom in pairwise(edges)
            for left, right in pairwise(edges)
        )
        for picture in (image, shuffled)
    )
    assert before == after
    assert (shuffled != image).any()


def test_no_tile_stays_where_none_may() -> None:
    for seed in range(20):
        shuffled = shuffle_tiles(numbered(3, 2), 3, Random(seed), may_stay=False)
        assert not (shuffled[::2, ::2, 0].ravel() == np.arange(9)).any()


def test_a_cycle_goes_through_every_place() -> None:
    cycle = random_cycle(Random(4), 10)
    at, seen = 0, []
    for _ in range(10):
        at = int(cycle[at])
        seen.append(at)
    assert sorted(seen) == list(range(10))
    assert random_cycle(Random(4), 1).tolist() == [0]


def test_every_order_of_three_comes_up_about_as_often() -> None:
    random = Random(0)
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(1200):
        order = tuple(random_order(random, 3).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert 150 < min(counts.values()) <= max(counts.values()) < 250


def test_tiles_are_turned_by_the_quarters_that_were_drawn() -> None:
    image, grid, tile_px = noise(48, 48), 4, 12
    turned = rotate_tiles(image, grid, Random(9))
    quarters = Random(9).integers(4, 16)
    assert set(quarters.tolist()) == {0, 1, 2, 3}
    codes = {1: cv2.ROTATE_90_COUNTERCLOCKWISE, 2: cv2.ROTATE_180, 3: cv2.ROTATE_90_CLOCKWISE}
    for index, quarter in enumerate(quarters.tolist()):
        at = tuple(slice(tile_px * i, tile_px * (i + 1)) for i in divmod(index, grid))
        expected = cv2.rotate(image[at], codes[quarter]) if quarter else image[at]
        np.testing.assert_array_equal(turned[at], expected)


def test_a_picture_that_the_grid_does_not_fit_is_stretched_and_keeps_its_size() -> None:
    image = noise(60, 90)
    turned = rotate_tiles(image, 7, Random(2))
    assert turned.shape == image.shape
    one = rotate_tiles(np.full((60, 90, 3), 77, np.uint8), 7, Random(2))
    assert (one == 77).all()


def test_the_picture_that_comes_in_is_left_alone() -> None:
    image = noise(32, 32)
    kept = image.copy()
    shuffle_tiles(image, 4, Random(1))
    rotate_tiles(image, 4, Random(1))
    np.testing.assert_array_equal(image, kept)


def test_one_tile_is_the_picture_itself() -> None:
    image = noise(9, 11)
    np.testing.assert_array_equal(shuffle_tiles(image, 1, Random(0)), image)


def test_the_same_seed_gives_the_same_bytes_and_another_one_others() -> None:
    image = noise(64, 64)
    for move in (shuffle_tiles, rotate_tiles):
        first, again, other = (move(image, 4, Random(seed)) for seed in (1, 1, 2))
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()


def test_a_grid_finer_than_the_picture_is_refused() -> None:
    with pytest.raises(CuebenchError, match="grid: expected 1 to 8 tiles on 8 px, got 9"):
        rotate_tiles(noise(8, 20), 9, Random(0))


def test_a_grid_of_tiles_of_which_none_can_move_is_refused() -> None:
    with pytest.raises(CuebenchError, match="no two of 2 x 2 tiles of 225 x 225 px are of one size"):
        shuffle_tiles(noise(225, 225), 2, Random(0))


def test_a_grey_picture_is_refused() -> None:
    with pytest.raises(CuebenchError, match=r"image: expected \(H, W, 3\) uint8, got \(8, 8\) uint8"):
        shuffle_tiles(np.zeros((8, 8), np.uint8), 2, Random(0))
