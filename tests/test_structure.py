from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repository import PACKAGES, ROOT, package_modules, relative, repository_files

# seconds or gigabytes each: these are imported where they are used
LAZY = frozenset(
    {
        "numba",
        "onnxruntime",
        "open_clip",
        "playwright",
        "rembg",
        "segment_anything",
        "sklearn",
        "timm",
        "torch",
        "torchvision",
    }
)

# written in pieces, so that this file passes its own test
HOSTS = tuple(
    ".".join(parts)
    for parts in [
        ("pypi", "org"),
        ("files", "pythonhosted", "org"),
        ("download", "pytorch", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("registry", "yarnpkg", "com"),
        ("deb", "debian", "org"),
        ("security", "debian", "org"),
        ("archive", "ubuntu", "com"),
        ("proxy", "golang", "org"),
        ("crates", "io"),
        ("conda", "anaconda", "org"),
    ]
)
MACHINE_PATH = re.compile(
    "|".join(rf"(?<![\w.~}}-])/{folder}/" for folder in ("work", "root", "home", "opt", "Users"))
    + "|/tmp" + "/models"
)  # fmt: skip


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", errors="replace")


def _imports_when_loaded(node: ast.AST) -> Iterator[str]:
    """Yield the modules that loading imports: not those in functions, and not those for types only."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield node.module or ""
    elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for part in node.orelse if isinstance(node, ast.If) and for_types else ast.iter_child_nodes(node):
            yield from _imports_when_loaded(part)


def test_the_walk_sees_the_repository() -> None:
    names = {relative(path) for path in repository_files()}
    assert {"pyproject.toml", ".ci/run", "tests/test_structure.py", "curation/cli.py"} <= names
    assert not [name for name in names if "__pycache__" in name]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a clone")
def test_the_walk_sees_every_file_that_git_tracks() -> None:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    tracked = {name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()}
    assert tracked - {relative(path) for path in repository_files()} == set()


@pytest.mark.parametrize("path", repository_files(), ids=relative)
def test_no_file_names_a_registry_or_a_machine(path: Path) -> None:
    text = _text(path)
    assert [host for host in HOSTS if host in text] == []
    assert [found[0] for found in MACHINE_PATH.finditer(text)] == []


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("/" + "work/main", True),
        ('open("/' + 'root/x")', True),
        ("file:///" + "opt/wheels", True),
        ("/t" + "mp/models/u2netp", True),
        ("a frame/work/flow", False),
        ("../opt/x and ~/home/x", False),
        ("/workshop/", False),
    ],
)
def test_a_machine_path_is_told_from_a_relative_one(text: str, is_one: bool) -> None:
    assert bool(MACHINE_PATH.search(text)) == is_one


@pytest.mark.parametrize("path", package_modules(), ids=relative)
def test_loading_a_module_imports_nothing_that_takes_seconds(path: Path) -> None:
    loaded = {name.partition(".")[0] for name in _imports_when_loaded(ast.parse(_text(path)))}
    assert loaded & LAZY == set()


def test_an_import_counts_as_loaded_unless_it_is_in_a_function_or_for_types() -> None:
    source = """
import a
try:
    import b.c
except ImportError:
    from d import e
class K:
    import f
    def method(self): import never
if TYPE_CHECKING:
    import never
else:
    import g
def function():
    import never
"""
    assert set(_imports_when_loaded(ast.parse(source))) == {"a", "b.c", "d", "f", "g"}


@pytest.mark.parametrize("path", package_modules(), ids=relative)
def test_no_module_takes_the_name_of_one_of_the_standard_library(path: Path) -> None:
    assert path.stem == "__init__" or path.stem not in sys.stdlib_module_names


@pytest.mark.parametrize(
    "folder",
    sorted({path.parent for path in repository_files() if path.suffix == ".py"} - {ROOT}),
    ids=relative,
)
def test_every_folder_of_code_is_a_package(folder: Path) -> None:
    assert (folder / "__init__.py").is_file() or relative(folder) == "benchmarks"


def test_every_package_has_its_folder_of_tests() -> None:
    assert [name for name in PACKAGES if not (ROOT / "tests" / name / "__init__.py").is_file()] == []


def test_every_folder_of_tests_mirrors_one_of_code() -> None:
    folders = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").glob("*/**/test_*.py")}
    assert [str(folder) for folder in folders if not (ROOT / folder).is_dir()] == []


def test_the_contracts_cover_every_package() -> None:
    config = tomllib.loads(_text(ROOT / "pyproject.toml"))["tool"]["importlinter"]
    assert sorted(config["root_packages"]) == sorted(PACKAGES)
    layers = next(contract for contract in config["contracts"] if contract["type"] == "layers")["layers"]
    assert sorted(name for layer in layers for name in layer.split(" | ")) == sorted(PACKAGES)


def test_make_help_lists_every_target() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", _text(ROOT / "Makefile"), re.MULTILINE)
    assert phony is not None
    done = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    listed = re.findall(r"^make (\w+) +\w", done.stdout, re.MULTILINE)
    assert sorted(listed) == sorted(phony[1].split())
    assert "demo" in listed


def test_make_says_in_one_line_that_python_is_too_old(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    done = subprocess.run(
        ["make", "--no-print-directory", "demo", f"PYTHON={old}", f"VENV={tmp_path / 'venv'}"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "cuebench needs Python 3.11 or newer" in done.stderr.splitlines()[0]
    assert not (tmp_path / "venv").exists()


def test_make_says_in_one_line_that_there_is_no_python(tmp_path: Path) -> None:
    done = subprocess.run(
        ["make", "--no-print-directory", "demo", "PYTHON=", f"VENV={tmp_path / 'venv'}"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "none is on the path" in done.stderr.splitlines()[0]
