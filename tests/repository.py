"""The files of the repository, as the tests of its structure see them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

PACKAGES = ("annotation_app", "curation", "data_manifests", "evaluation", "generation")

FOLDERS = (*PACKAGES, ".ci", "benchmarks", "docs", "tests")

# at the top lie a person's own photographs, runs and databases too
_SUFFIXES_AT_THE_TOP = frozenset({"", ".md", ".toml", ".txt"})

_CACHES = re.compile(r"__pycache__|\.\w+_cache|\.hypothesis|\.benchmarks")


def _walk(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if _CACHES.fullmatch(path.name):
            continue
        if path.is_dir():
            yield from _walk(path)
        else:
            yield path


def repository_files() -> list[Path]:
    """Return every file of the repository, without what is built, cached or a person's own."""
    top = [path for path in ROOT.iterdir() if path.is_file() and path.suffix in _SUFFIXES_AT_THE_TOP]
    return sorted(top) + [path for folder in FOLDERS for path in _walk(ROOT / folder)]


def package_files() -> list[Path]:
    """Return the files of the five packages, data files included."""
    return [path for package in PACKAGES for path in _walk(ROOT / package)]


def package_modules() -> list[Path]:
    """Return the Python files of the five packages."""
    return [path for path in package_files() if path.suffix == ".py"]


def relative(path: Path) -> str:
    """Return the path from the root of the repository, with forward slashes; names a test's case."""
    return path.relative_to(ROOT).as_posix()
