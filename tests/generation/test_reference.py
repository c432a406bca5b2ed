"""The tables of the README say what the code says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import get_args

import cv2
import numpy as np
import pytest
from PIL import Image

from generation.gallery import LARGE_PAGE_BYTES
from generation.outcome import CUE_FLAGS, CUE_STATUSES, SOURCE_FLAGS, SOURCE_STATUSES, Meaning, Unavailable
from generation.provenance import COLUMNS
from generation.recipe import Recipe, read_recipe
from generation.shape_quality import SHAPE_QUALITY
from generation.sniffing import ContentStatus
from generation.source_cues import flag_outside
from generation.texture import render_texture
from generation.texture_quality import TEXTURE_QUALITY
from tests.repository import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
MODULES = {
    path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "generation").glob("*.py")
}


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(
        f"| {' | '.join(cells)} |\n" if cells[0] != "---" else f"|{'|'.join(cells)}|\n" for cells in lines
    )


def table_of_statuses(meanings: Mapping[str, Meaning]) -> str:
    rows = [
        (f"`{name}`", *(text.replace("|", "\\|") for text in meaning)) for name, meaning in meanings.items()
    ]
    return table(["status", "what it means", "what to do"], rows)


def table_of_numbers(meanings: Mapping[str, str], header: str) -> str:
    rows = [(f"`{name}`", text.replace("|", "\\|")) for name, text in meanings.items()]
    return table([header, "what it means"], rows)


TABLES = {
    "statuses of photographs": table_of_statuses(SOURCE_STATUSES),
    "statuses of cues": table_of_statuses(CUE_STATUSES),
    "flags of photographs": table_of_numbers(SOURCE_FLAGS, "flag"),
    "flags of cues": table_of_numbers(CUE_FLAGS, "flag"),
    "numbers of shapes": table_of_numbers(SHAPE_QUALITY, "number"),
    "numbers of textures": table_of_numbers(TEXTURE_QUALITY, "number"),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_readme_holds_the_table_of(name: str) -> None:
    assert TABLES[name] in README


def calls(module: ast.Module, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if called == name:
                yield node


def texts_in(node: ast.AST) -> set[str]:
    return {
        found.value
        for found in ast.walk(node)
        if isinstance(found, ast.Constant) and isinstance(found.value, str)
    }


def test_every_status_in_the_code_is_documented_and_every_documented_one_is_in_the_code() -> None:
    constants: dict[str, str] = {}
    found: set[str] = set(get_args(ContentStatus)) - {"decodable"}
    for module in MODULES.values():
        for node in ast.walk(module):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.Tuple):
                names = [n.id for n in ast.walk(node.targets[0]) if isinstance(n, ast.Name)]
                values = [v.value for v in ast.walk(node.value) if isinstance(v, ast.Constant)]
                constants |= {n: v for n, v in zip(names, values, strict=False) if isinstance(v, str)}
    for module in MODULES.values():
        firsts = [call.args[0] for call in calls(module, "Unavailable") if call.args]
        firsts += [call.args[2] for call in calls(module, "failed_source")]
        firsts += [k.value for call in calls(module, "Examined") for k in call.keywords if k.arg == "status"]
        for first in firsts:
            if isinstance(first, ast.Constant):
                found |= texts_in(first)
            elif isinstance(first, ast.Name) and first.id.isupper():
                found.add(constants[first.id])
    found |= {constants["DUPLICATE"], constants["HASH_MISMATCH"]}
    assert found == {*SOURCE_STATUSES, *CUE_STATUSES}


def test_every_flag_in_the_code_is_documented_and_every_documented_one_is_in_the_code() -> None:
    found: set[str] = set()
    for name in ("colour", "photograph"):
        for call in calls(MODULES[name], "add"):
            found |= texts_in(call.args[0])
        for node in ast.walk(MODULES[name]):
            if isinstance(node, ast.Set):
                found |= texts_in(node)
            elif isinstance(node, ast.Assign) and "own_flags" in ast.dump(node.targets[0]):
                assert isinstance(node.value, ast.Dict)
                found |= {str(key.value) for key in node.value.keys if isinstance(key, ast.Constant)}
    for call in calls(MODULES["ingest"], "_flag"):
        found |= texts_in(call.args[2])
    assert found == set(SOURCE_FLAGS)


def test_the_readme_names_every_column_of_the_provenance_csv() -> None:
    section = README.partition("### 1. `ingest`")[2].partition("### 2.")[0]
    assert [column for column in COLUMNS if f"`{column}`" not in section] == []


def test_the_readme_names_every_key_of_a_recipe() -> None:
    section = README.partition("All its keys")[2].partition("**Masks.**")[0]
    keys = [name for name in Recipe.model_fields if name not in ("mask", "shape", "texture")]
    assert [key for key in keys if f"`{key}" not in section] == []


def test_the_readme_says_when_a_page_is_large() -> None:
    assert f"{LARGE_PAGE_BYTES // 1_000_000} MB" in README


def sizes_of_the_readme(side_px: int) -> list[tuple[int, int]]:
    (row,) = re.findall(rf"^\| {side_px} px \| (.*) \|$", README, re.MULTILINE)
    pairs = [cell.split(" / ") for cell in row.split(" | ")]
    return [(int(least), int(unflagged)) for least, unflagged in pairs]


@pytest.mark.parametrize("place", range(4))
def test_a_photograph_of_the_size_in_the_readme_gives_its_texture(place: int) -> None:
    recipe = read_recipe("refined-bias")
    grid = recipe.grids[place]
    least, unflagged = sizes_of_the_readme(recipe.side_px)[place]
    with Image.open(str(files("skimage").joinpath("data", "gravel.png"))) as picture:
        gravel = np.asarray(picture.convert("RGB"))

    def flags(size_px: int) -> tuple[str, ...] | None:
        image = np.asarray(cv2.resize(gravel, (size_px, size_px), interpolation=cv2.INTER_AREA), np.uint8)
        full = np.ones((size_px, size_px), bool)
        cue = render_texture(image, full, recipe.side_px, grid, 1, recipe.texture)
        return (
            None
            if isinstance(cue, Unavailable)
            else flag_outside(cue.quality, recipe.limits.of("texture", grid))
        )

    assert flags(unflagged) == ()
    assert flags(least) is not None
    assert flags(least * 3 // 4) is None
