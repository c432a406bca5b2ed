from __future__ import annotations

import numpy as np
import pytest

from data_manifests.errors import CuebenchError
from generation.outcome import Unavailable
from generation.peers.conflict import ConflictParams, fill_shape
from generation.shape import ShapeParams, render_shape
from generation.texture import TextureParams, render_texture
from tests.generation.peers.objects import disk_picture, speckled_frame

SIDE_PX = 224


def test_inside_is_the_texture_cue_outside_is_white() -> None:
    shape, texture = disk_picture(), speckled_frame()
    filled = fill_shape(shape, texture, SIDE_PX, ConflictParams(), 3)
    assert not isinstance(filled, Unavailable)
    cue = render_texture(*texture, SIDE_PX, 8, 3, TextureParams())
    outline = render_shape(*shape, SIDE_PX, ShapeParams(style="silhouette"))
    assert not isinstance(cue, Unavailable)
    assert not isinstance(outline, Unavailable)
    light = outline.image[..., 0]
    np.testing.assert_array_equal(filled[light == 255], cue.image[light == 255])
    assert (filled[light == 0] == 255).all()
    assert 0.3 < (light == 255).mean() < 0.7


def test_inner_lines_only_darken_the_inside() -> None:
    shape, texture = disk_picture(), speckled_frame()
    plain = fill_shape(shape, texture, SIDE_PX, ConflictParams(), 3)
    lined = fill_shape(shape, texture, SIDE_PX, ConflictParams(line_opacity=0.7), 3)
    assert not isinstance(plain, Unavailable)
    assert not isinstance(lined, Unavailable)
    assert (lined <= plain).all()
    assert 0.005 < (lined < plain).any(2).mean() < 0.2


def test_a_photograph_without_an_object_is_told() -> None:
    image, mask = disk_picture()
    found = fill_shape((image, np.zeros_like(mask)), speckled_frame(), SIDE_PX, ConflictParams(), 0)
    assert isinstance(found, Unavailable)
    assert found.status == "mask_empty"


def test_a_texture_without_patches_enough_is_told() -> None:
    tiny = np.zeros((8, 8, 3), np.uint8), np.ones((8, 8), bool)
    found = fill_shape(disk_picture(), tiny, SIDE_PX, ConflictParams(), 0)
    assert isinstance(found, Unavailable)
    assert found.status == "grid_unavailable"


def test_an_opacity_out_of_range_is_refused() -> None:
    with pytest.raises(CuebenchError, match="line_opacity: expected 0 to 1, got 2"):
        ConflictParams(line_opacity=2)
