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
    [limits.texture]
    seam_ratio = {}
    """
    problems = problems_of(tmp_path, text)
    assert problems[0].startswith("shape.polarity: Input should be 'white-on-black' or 'black-on-white'")
    assert problems[1:] == [
        "shape.styel: unknown key (did you mean `style`?)",
        "limits.texture.seam_ratio: expected `min`, `max` or both, got {}",
        "side: unknown key (did you mean `side_px`?)",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('name = "x"\ngrids = [4, 4]', "recipe: grids: every grid once, got [4, 4]"),
        ('name = "x"\nside_px = 300\ngrids = [32]', "recipe: side_px: 300 is no multiple of the grid 32"),
        (
            'name = "x"\n[limits.shape]\npeek = {min = 1}',
            "limits: `peek` is not a quality number (did you mean `peak`?)",
        ),
        (
            'name = "x"\n[limits.shape]\npeak = {min = 2, max = 1}',
            "limits.shape.peak: no number can hold it: `min` is larger than `max`, got {'min': 2, 'max': 1}",
        ),
        (
            'name = "x"\n[limits.shape]\npeak = {max = nan}',
            "limits.shape.peak.max: Input should be a finite number, got nan",
        ),
        ("side_px = 224", "name: Field required"),
        ('name = "x"\nside_px = 100', "side_px: Input should be greater than or equal to 224, got 100"),
    ],
)
def test_a_mistake_is_named(text: str, problem: str, tmp_path: Path) -> None:
    (found,) = problems_of(tmp_path, text)
    assert found.startswith(problem)


def test_unknown_recipe_gets_a_suggestion() -> None:
    with pytest.raises(CuebenchError, match="refind-bias: .*did you mean `refined-bias`"):
        read_recipe("refind-bias")


def test_limits_do_not_change_the_pixels_but_the_recipe() -> None:
    plain = Recipe(name="x")
    strict = Recipe.model_validate({"name": "x", "limits": {"shape": {"peak": {"min": 250}}}})
    assert plain.sha256 != strict.sha256
    assert plain.params_sha256("shape") == strict.params_sha256("shape")
    assert plain.params_sha256("shape") != Recipe(name="x", seed=1).params_sha256("shape")
    assert plain.params_sha256("shape") != plain.params_sha256("texture")


def test_a_grid_adds_to_the_limits_of_all_textures() -> None:
    recipe = read_recipe("refined-bias")
    assert recipe.limits.of("texture", 4)["low_pass_share"] == Limit(max=0.25)
    assert recipe.limits.of("texture", 32)["low_pass_share"] == Limit(max=0.06)
    assert "low_pass_share" not in recipe.limits.of("texture", 64)
    assert "seam_ratio" not in recipe.limits.of("shape", None)


def test_both_ends_of_a_limit_are_part_of_it() -> None:
    assert [Limit(min=1, max=2).holds(value) for value in (0.9, 1, 2, 2.1)] == [False, True, True, False]
