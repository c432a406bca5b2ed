"""The files of the repository, as the tests of its structure see them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

PACKAGES = ("annotation_app", "curation", "data_manifests", "evaluation", "generation")

# what .gitignore leaves out, and the repository's own store
_NOT_OURS = re.compile(r"\.git|\.venv|\.cache|.*\.egg-info|__pycache__|\.\w+_cache|\.hypothesis|\.benchmarks")
_NOT_OURS_AT_THE_TOP = frozenset({"build", "demo", "dist"})


def _walk(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if _NOT_OURS.fullmatch(path.name) or (folder == ROOT and path.name in _NOT_OURS_AT_THE_TOP):
            continue
        if path.is_dir():
            yield from _walk(path)
        else:
            yield path


def repository_files() -> list[Path]:
    """Return every file of the repository, sorted, without what is built or cached."""
    return list(_walk(ROOT))


def package_files() -> list[Path]:
    """Return the files of the five packages, data files included."""
    return [path for package in PACKAGES for path in _walk(ROOT / package)]


def package_modules() -> list[Path]:
    """Return the Python files of the five packages."""
    return [path for path in package_files() if path.suffix == ".py"]


def relative(path: Path) -> str:
    """Return the path from the root of the repository, with forward slashes; names a test's case."""
    return path.relative_to(ROOT).as_posix()
