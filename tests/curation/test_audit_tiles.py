from __future__ import annotations

import cv2
import numpy as np
import pytest

from curation.audit_tiles import find_grid, measure_tiles, piece_hashes, sample_pieces
from tests.curation.audit_cues import Image, cut_tiles, draw_noise


def grey_of(image: Image) -> Image:
    return cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.uint8, copy=False)


@pytest.mark.parametrize("grid", [4, 8, 16, 32])
def test_the_grid_is_found_by_its_seams(grid: int) -> None:
    assert find_grid(grey_of(cut_tiles(draw_noise(1), grid, seed=grid))) == grid


@pytest.mark.parametrize("shape", [(224, 224), (224, 200), (1, 1), (15, 15), (225, 225)])
def test_no_grid_is_found_where_there_is_none(shape: tuple[int, int]) -> None:
    assert find_grid(grey_of(draw_noise(2, *shape))) is None


@pytest.mark.parametrize("grid", [4, 8])
def test_tiles_cut_from_a_small_photograph_join_to_one_piece(grid: int) -> None:
    tiles = measure_tiles(cut_tiles(draw_noise(3, 120, 120), grid, seed=0), grid)
    assert tiles.unique_share == tiles.overlap_share == tiles.joined_share == 1
    assert 0.5 < tiles.largest_share < 1


@pytest.mark.parametrize("grid", [4, 8, 16, 32])
def test_tiles_of_different_places_share_nothing(grid: int) -> None:
    tiles = measure_tiles(draw_noise(4), grid)
    assert (tiles.unique_share, tiles.overlap_share, tiles.largest_share) == (1, 0, 0)
    assert tiles.joined_share == 1 / grid**2


def test_what_two_tiles_share_is_counted_to_the_pixel() -> None:
    photograph = draw_noise(5, 56, 96)
    cue = draw_noise(6)
    # They lie 40 px apart: 16 of 56 columns are in both.
    cue[:56, :56] = photograph[:, :56]
    cue[112:168, 168:] = photograph[:, 40:]
    tiles = measure_tiles(cue, 4)
    assert tiles.largest_share == 16 / 56
    assert tiles.overlap_share == tiles.joined_share == 2 / 16


def test_a_pool_of_four_tiles_is_told_by_the_share_of_different_ones() -> None:
    pool = [draw_noise(seed, 28, 28) for seed in range(4)]
    rows = [np.concatenate([pool[(3 * row + column) % 4] for column in range(8)], axis=1) for row in range(8)]
    tiles = measure_tiles(np.concatenate(rows), 8)
    assert tiles.unique_share == 4 / 64
    assert tiles.largest_share == 0  # copies are counted by the other number
    assert tiles.overlap_share == 1


def test_plain_tiles_are_no_overlap() -> None:
    assert measure_tiles(np.full((224, 224, 3), 255, np.uint8), 4).overlap_share == 0


def test_pieces_have_equal_hashes_if_and_only_if_their_pixels_are_equal() -> None:
    random = np.random.Generator(np.random.PCG64(7))
    image = random.choice(np.array([0, 200], np.uint8), (24, 24, 1)).repeat(3, axis=2)
    image[12:, 12:] = image[:12, :12]
    hashes, row, column = piece_hashes(image, 4, 12)
    pixels = [image[r : r + 4, c : c + 4].tobytes() for r, c in zip(row, column, strict=True)]
    assert len(hashes) == 4 * 9 * 9
    same_hash = hashes[:, None] == hashes[None, :]
    same_pixels = np.array(pixels)[:, None] == np.array(pixels)[None, :]
    assert (same_hash == same_pixels).all()
    assert same_pixels.sum() >= len(hashes) + 2 * 81


@pytest.mark.parametrize(("grid", "other"), [(4, 4), (4, 8), (4, 32), (16, 32)])
def test_cues_of_one_photograph_keep_the_same_pieces(grid: int, other: int) -> None:
    photograph = draw_noise(8, 150, 150)
    one = sample_pieces(cut_tiles(photograph, grid, seed=1), grid)
    two = sample_pieces(cut_tiles(photograph, other, seed=2), other)
    elsewhere = sample_pieces(cut_tiles(draw_noise(9, 150, 150), other, seed=2), other)
    assert len(np.intersect1d(one, two)) >= 5
    assert len(np.intersect1d(one, elsewhere)) == 0


@pytest.mark.parametrize(("shape", "grid"), [((5, 5), None), ((3, 300), None), ((24, 24), 4)])
def test_a_picture_smaller_than_a_piece_has_none(shape: tuple[int, int], grid: int | None) -> None:
    assert len(sample_pieces(draw_noise(0, *shape), grid)) == 0
