"""Files that cuebench ships, found by name: taxonomies and recipes."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from importlib.resources import files
from typing import Any

from data_manifests.errors import CuebenchError, ProblemsError
from data_manifests.storage import read_bytes


def shipped_names(folder: str) -> list[str]:
    """Return the sorted names of the TOML files shipped in a folder of `data_manifests`."""
    entries = files("data_manifests").joinpath(folder).iterdir()
    return sorted(entry.name.removesuffix(".toml") for entry in entries if entry.name.endswith(".toml"))


def nearest(name: str, known: list[str]) -> str:
    """Return ` (did you mean X?)` for the nearest known name, or nothing.

    >>> nearest("hourgalss", ["clock", "hourglass"])
    ' (did you mean `hourglass`?)'
    """
    lowered = {candidate.lower(): candidate for candidate in known}
    found = get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    return f" (did you mean `{lowered[found[0]]}`?)" if found else ""


def read_toml(name_or_path: str, folder: str) -> tuple[str, dict[str, Any]]:
    """Return where a TOML file is and its content; a bare name is a shipped file of `folder`.

    Raises
    ------
    CuebenchError
        If there is no such file or shipped name.
    ProblemsError
        If the file is not UTF-8 or not TOML.
    """
    names = shipped_names(folder)
    if name_or_path in names:
        where = f"shipped {folder.removesuffix('s')} {name_or_path}"
        text = files("data_manifests").joinpath(folder, f"{name_or_path}.toml").read_text(encoding="utf-8")
    elif name_or_path.endswith(".toml"):
        where = name_or_path
        try:
            text = read_bytes(name_or_path).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ProblemsError(where, [f"byte {error.start}: not UTF-8; save the file as UTF-8"]) from error
    else:
        raise CuebenchError(
            f"{name_or_path}: neither a .toml file nor a shipped name{nearest(name_or_path, names)}; "
            f"shipped are: {', '.join(names)}"
        )
    try:
        return where, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProblemsError(where, [f"not valid TOML: {error}"]) from error
