from __future__ import annotations

from pathlib import Path

import pytest

from data_manifests.errors import CuebenchError, ProblemsError
from generation.recipe import Limit, Recipe, read_recipe, recipe_names


def problems_of(folder: Path, text: str) -> list[str]:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProblemsError) as caught:
        read_recipe(str(path))
    return list(caught.value.problems)


@pytest.mark.parametrize("name", recipe_names())
def test_every_shipped_recipe_is_valid_and_survives_a_round_trip(name: str, tmp_path: Path) -> None:
    recipe = read_recipe(name)
    assert recipe.name == name
    path = tmp_path / "again.toml"
    path.write_text(recipe.to_toml(), encoding="utf-8")
    again = read_recipe(str(path))
    assert again == recipe
    assert again.sha256 == recipe.sha256
    assert again.to_toml() == recipe.to_toml()


def test_all_mistakes_are_listed_with_the_nearest_key(tmp_path: Path) -> None:
    text = """
    name = "mine"
    side = 224
    grids = [4, 4]
    [shape]
    styel = "outline"
    polarity = "grey"
    [limits.shape]
    contrast_std = { min = 1 }
    peek = { min = 1 }
    [limits.texture]
    seam_ratio = {}
    [limits.texture_by_grid.64]
    seam_ratio = { max = 2 }
    """
    problems = problems_of(tmp_path, text)
    assert problems == [
        "grids: expected every grid once, got [4, 4]",
        "shape.polarity: expected 'white-on-black' or 'black-on-white', got 'grey'",
        "shape.styel: unknown key (did you mean `style`?)",
        "limits.shape.contrast_std: `contrast_std` belongs to limits.texture",
        "limits.shape.peek: `peek` is not a quality number (did you mean `peak`?)",
        "limits.texture.seam_ratio: expected `min`, `max` or both, got {}",
        "side: unknown key (did you mean `side_px`?)",
        "limits: texture_by_grid.64: no grid of this recipe, which has 4, 4",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            'name = "x"\nside_px = 300',
            "side_px: no multiple of 8, 16, 32; 288 and 320 are the nearest multiples of all grids "
            "(4, 8, 16, 32), got 300",
        ),
        (
            'name = "x"\nside_px = 300\ngrids = [32, 33]',
            "side_px: no multiple of 32, 33; 1056 is the nearest multiple of all grids (32, 33), got 300",
        ),
        (
            'name = "x"\ngrids = [63, 64]',
            "side_px: no multiple of 63, 64; no side up to 2048 is a multiple of all grids (63, 64), got 224",
        ),
        (
            'name = "x"\n[limits.texture]\nclutter = {max = 1}',
            "limits.texture.clutter: `clutter` belongs to limits.shape",
        ),
        (
            'name = "x"\ngrids = [4]\n[limits.texture_by_grid.8]\nlow_pass_share = {max = 1}',
            "limits: texture_by_grid.8: no grid of this recipe, which has 4",
        ),
        ('name = "x"\nlimits = 3', "limits: expected a table"),
        ('name = "x"\n[limits]\nshape = 3', "limits.shape: expected a table, got 3"),
        ('name = "x"\ngrids = [1.5]', "grids.0: expected a whole number, got 1.5"),
        ('name = "x"\ngrids = []', "grids: expected at least one, got []"),
        ('name = "two words"', "name: expected letters, digits, `-` and `_`, got 'two words'"),
        (
            'name = "x"\n[limits.shape]\npeak = {min = 2, max = 1}',
            "limits.shape.peak: no number can hold it: `min` is larger than `max`, got {'min': 2, 'max': 1}",
        ),
        (
            'name = "x"\n[limits.shape]\npeak = {max = nan}',
            "limits.shape.peak.max: expected a finite number, got nan",
        ),
        ("side_px = 224", "name: missing; every recipe needs it"),
        ('name = "x"\nside_px = 100', "side_px: expected at least 224, got 100"),
    ],
)
def test_a_mistake_is_named(text: str, problem: str, tmp_path: Path) -> None:
    (found,) = problems_of(tmp_path, text)
    assert found.startswith(problem)


def test_unknown_recipe_gets_a_suggestion() -> None:
    with pytest.raises(CuebenchError, match=r"refind-bias: .*did you mean `refined-bias`"):
        read_recipe("refind-bias")


def test_limits_do_not_change_the_pixels_but_the_recipe() -> None:
    plain = Recipe(name="x")
    strict = Recipe.model_validate({"name": "x", "limits": {"shape": {"peak": {"min": 250}}}})
    assert plain.sha256 != strict.sha256
    assert plain.params_sha256("shape") == strict.params_sha256("shape")
    assert plain.params_sha256("shape") != Recipe(name="x", seed=1).params_sha256("shape")
    assert plain.params_sha256("shape") != plain.params_sha256("texture")


def test_limits_that_a_recipe_leaves_out_are_the_shipped_ones(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = """
    name = "mine"
    grids = [4, 8]
    [limits.shape]
    clutter = { max = 0.9 }
    [limits.texture]
    low_pass_share = { max = 0.5 }
    [limits.texture_by_grid.8]
    low_pass_share = { max = 0.4 }
    """
    path.write_text(text, encoding="utf-8")
    limits = read_recipe(str(path)).limits
    shipped = read_recipe("refined-bias").limits
    assert limits.shape == {**shipped.shape, "clutter": Limit(max=0.9)}
    # One's own word on all textures goes before the shipped one on a grid.
    assert limits.of("texture", 4) == {**shipped.texture, "low_pass_share": Limit(max=0.5)}
    assert limits.of("texture", 8) == {**shipped.texture, "low_pass_share": Limit(max=0.4)}
    assert Recipe(name="mine").limits == shipped
    assert Recipe(name="mine", limits=limits, grids=(4, 8)).limits == limits


def test_a_grid_adds_to_the_limits_of_all_textures() -> None:
    recipe = read_recipe("refined-bias")
    assert recipe.limits.of("texture", 4)["low_pass_share"] == Limit(max=0.25)
    assert recipe.limits.of("texture", 32)["low_pass_share"] == Limit(max=0.06)
    assert "low_pass_share" not in recipe.limits.of("texture", 64)
    assert "seam_ratio" not in recipe.limits.of("shape", None)


def test_both_ends_of_a_limit_are_part_of_it() -> None:
    assert [Limit(min=1, max=2).holds(value) for value in (0.9, 1, 2, 2.1)] == [False, True, True, False]
