"""SHA256SUMS: the hash of every file of a release, in the form of `sha256sum`, sorted by bytes (LC_ALL=C)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from data_manifests import storage
from data_manifests.errors import CuebenchError, ProblemsError

SUMS = "SHA256SUMS"
SIGNATURE = "SHA256SUMS.sig"

_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def file_sha256(url: str) -> str:
    """Return the SHA-256 (hex) of a file."""
    return hashlib.sha256(storage.read_bytes(url)).hexdigest()


def dump_sums(sums: Mapping[str, str]) -> bytes:
    """Return the file for name -> hash."""
    names = sorted(sums, key=str.encode)
    return "".join(f"{sums[name]}  {name}\n" for name in names).encode()


def read_sums(folder: str) -> tuple[bytes, dict[str, str]]:
    """Return the bytes of the file of a release, and name -> hash.

    Raises
    ------
    CuebenchError
        If there is none: it is written last.
    ProblemsError
        If a line is not a hash and the name of a file below the folder, in order and each once.
    """
    url = storage.join(folder, SUMS)
    if not storage.exists(url):
        raise CuebenchError(f"{folder}: no {SUMS}; expected a release, and one whose making was not stopped")
    content = storage.read_bytes(url)
    sums: dict[str, str] = {}
    problems = []
    for number, line in enumerate(content.decode("utf-8", errors="replace").splitlines(), start=1):
        found = _LINE.fullmatch(line)
        if found is None:
            problems.append(
                f"line {number}: expected a SHA-256, two spaces and a file name, got {line[:120]!r}"
            )
        elif found[2] in sums:
            problems.append(f"line {number}: {found[2]} for the second time")
        elif (path := PurePosixPath(found[2])).is_absolute() or ".." in path.parts:
            problems.append(f"line {number}: {found[2]} is not below the folder of the release")
        else:
            sums[found[2]] = found[1]
    if not problems and dump_sums(sums) != content:
        problems.append("the lines are not in their order (LC_ALL=C sort -k 2)")
    if problems:
        raise ProblemsError(url, problems)
    return content, sums


def release_id(sums: bytes) -> str:
    """Return the id of a release: the SHA-256 of its SHA256SUMS."""
    return hashlib.sha256(sums).hexdigest()
