from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.repository import PACKAGES, ROOT, package_files, relative

PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT: dict[str, Any] = PYPROJECT["project"]


def _constraint_lines() -> list[str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _requirements(extra: str | None = None) -> list[Requirement]:
    lines = PROJECT["dependencies"] if extra is None else PROJECT["optional-dependencies"][extra]
    return [Requirement(line) for line in lines]


def _applies(requirement: Requirement, extras: frozenset[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in extras | {""})


def _needed(requirements: list[Requirement]) -> Iterator[str]:
    """Yield the canonical name of all that the requirements bring in, as far as it is installed."""
    seen: set[tuple[str, frozenset[str]]] = set()
    open_ones = [(canonicalize_name(each.name), frozenset(each.extras)) for each in requirements]
    while open_ones:
        name, extras = open_ones.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        yield name
        try:
            below = [Requirement(line) for line in importlib.metadata.requires(name) or []]
        except PackageNotFoundError:
            continue
        open_ones += [
            (canonicalize_name(each.name), frozenset(each.extras)) for each in below if _applies(each, extras)
        ]


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory: pytest.TempPathFactory) -> frozenset[str]:
    """The names of all files in the wheel that this tree builds."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = folder.glob("*.whl")
    return frozenset(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_holds_every_file_of_the_five_packages_and_no_other(wheel_names: frozenset[str]) -> None:
    code = {name for name in wheel_names if ".dist-info/" not in name}
    assert code == {relative(path) for path in package_files()}


def test_the_wheel_holds_the_license_and_the_notice(wheel_names: frozenset[str]) -> None:
    names = {name.rpartition("/")[2] for name in wheel_names if ".dist-info/licenses/" in name}
    assert names == {"LICENSE", "NOTICE"}


def test_the_license_is_the_full_text_of_apache_2() -> None:
    text = (ROOT / "LICENSE").read_text("utf-8")
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_wheel_is_built_from_the_five_packages() -> None:
    assert PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == list(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_tells_type_checkers_that_it_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


@pytest.mark.parametrize("line", _constraint_lines())
def test_a_constraint_is_one_exact_version(line: str) -> None:
    requirement = Requirement(line)
    (pin,) = requirement.specifier
    assert pin.operator == "=="
    assert "*" not in pin.version
    assert requirement.url is None


def test_the_constraints_hold_no_address_and_no_option() -> None:
    text = (ROOT / "constraints.txt").read_text("utf-8")
    assert re.findall(r"://|^\s*-", text, re.MULTILINE) == []


def test_no_package_has_two_constraints_on_one_machine() -> None:
    here = [
        canonicalize_name(each.name)
        for each in map(Requirement, _constraint_lines())
        if each.marker is None or each.marker.evaluate()
    ]
    assert sorted(set(here)) == sorted(here)


@pytest.mark.parametrize("extra", [None, "dev", "dev-lint", "heif", "sam", "torch"])
def test_every_direct_dependency_is_pinned(extra: str | None) -> None:
    pinned = {canonicalize_name(Requirement(line).name) for line in _constraint_lines()}
    named = {canonicalize_name(each.name) for each in _requirements(extra)}
    assert named - pinned - {"cuebench"} == set()


@pytest.mark.parametrize("extra", [None, "dev"])
def test_all_that_an_installation_brings_in_is_pinned(extra: str | None) -> None:
    pinned = {canonicalize_name(Requirement(line).name) for line in _constraint_lines()}
    installed = {canonicalize_name(str(each.name)) for each in importlib.metadata.distributions()}
    needed = set(_needed(_requirements(extra))) & installed
    assert {"numpy", "opencv-python-headless"} <= needed or extra is not None
    assert needed - pinned - {"cuebench"} == set()


def test_a_pin_is_a_version_that_its_requirement_allows() -> None:
    pins = {canonicalize_name(each.name): each for each in map(Requirement, _constraint_lines())}
    extras = PROJECT["optional-dependencies"]
    for requirement in [each for extra in (None, *extras) for each in _requirements(extra)]:
        pin = pins.get(canonicalize_name(requirement.name))
        if pin is not None:
            (version,) = (each.version for each in pin.specifier)
            assert requirement.specifier.contains(version), requirement


@pytest.mark.parametrize("extra", [None, "dev"])
def test_torch_comes_in_through_its_extra_only(extra: str | None) -> None:
    needed = set(_needed(_requirements(extra)))
    assert "onnxruntime" in needed or extra is not None
    assert needed & {"torch", "torchvision", "segment-anything"} == set()


def test_the_extra_for_sam_names_what_segment_anything_leaves_out() -> None:
    assert {each.name for each in _requirements("sam")} == {"segment-anything", "torch", "torchvision"}


def _license_of(name: str) -> str:
    metadata = importlib.metadata.metadata(name)
    classifiers = [line for line in metadata.get_all("Classifier", []) if line.startswith("License")]
    texts = metadata.get_all("License", []) + metadata.get_all("License-Expression", [])
    return " | ".join([text.partition("\n")[0] for text in texts] + classifiers)


def test_no_package_under_the_gpl_is_needed_to_run() -> None:
    installed = {canonicalize_name(str(each.name)) for each in importlib.metadata.distributions()}
    licenses = {name: _license_of(name) for name in set(_needed(_requirements())) & installed}
    assert "BSD" in licenses["numpy"]
    gpl = re.compile(r"(?<!L)GPL|(?<!Lesser )General Public License")
    assert {name: text for name, text in licenses.items() if gpl.search(text)} == {}


def test_the_command_is_an_entry_point() -> None:
    (entry,) = (
        each for each in importlib.metadata.entry_points(group="console_scripts") if each.name == "cuebench"
    )
    assert entry.value == PROJECT["scripts"]["cuebench"]
    assert callable(entry.load())


def test_the_changelog_has_a_place_for_what_is_not_released() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(r"^## \[Unreleased\]$", text, re.MULTILINE)


def test_the_source_archive_can_build_and_test(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    top = {"pyproject.toml", "constraints.txt", "Makefile", "LICENSE", "NOTICE", "README.md", "CHANGELOG.md"}
    assert top <= names
    assert {relative(path) for path in package_files()} <= names
    assert {"tests/conftest.py", ".ci/run"} <= names
