"""Bytes in and out of any fsspec URL; a plain path is a local one.

A local file is written to a temporary name and moved into place, so a reader never sees half of one. Remote
stores write an object whole or not at all.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import fsspec

from data_manifests.errors import CuebenchError


def is_local(url: str) -> bool:
    """Return whether the URL names a place on this machine's own file system."""
    return "://" not in url or url.startswith("file://")


def local_path(url: str) -> Path:
    """Return the path of a local URL."""
    return Path(url.removeprefix("file://"))


def join(base: str, name: str) -> str:
    """Return the URL of `name` (POSIX, relative; or a URL or absolute path of its own) below `base`."""
    if "://" in name or Path(name).is_absolute():
        return name
    return f"{base.rstrip('/')}/{name}" if base else name


def relative(url: str, base: str) -> str:
    """Return `url` relative to the folder `base`, POSIX; as it is where only one of them is local.

    >>> relative("photos/a.jpg", "runs/first")
    '../../photos/a.jpg'
    """
    if is_local(url) and is_local(base):
        return Path(os.path.relpath(local_path(url), local_path(base))).as_posix()
    return url


def parent(url: str) -> str:
    """Return the URL of the folder that holds `url` (`.` for a bare file name)."""
    head, separator, _ = url.rpartition("/")
    return head or ("/" if separator else ".")


def read_bytes(url: str) -> bytes:
    """Return the content of a file.

    Raises
    ------
    CuebenchError
        If there is no such file, or it can't be read.
    """
    try:
        if is_local(url):
            return local_path(url).read_bytes()
        with fsspec.open(url, "rb") as stream:
            return bytes(stream.read())
    except FileNotFoundError as error:
        raise CuebenchError(f"{url}: no such file") from error
    except OSError as error:
        raise CuebenchError(f"{url}: can't be read ({error.strerror or error})") from error


def write_bytes(url: str, data: bytes) -> None:
    """Write a file whole or not at all, making its folders.

    Raises
    ------
    CuebenchError
        If it can't be written.
    """
    try:
        if is_local(url):
            _write_local(local_path(url), data)
            return
        with fsspec.open(url, "wb", auto_mkdir=True) as stream:
            stream.write(data)
    except OSError as error:
        raise CuebenchError(f"{url}: can't be written ({error.strerror or error})") from error


def _write_local(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        # mkstemp makes the file private; a shared run folder wants the permissions that `open` gives.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)  # noqa: PTH101
        os.replace(name, path)  # noqa: PTH105
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def exists(url: str) -> bool:
    """Return whether there is a file or folder at the URL."""
    if is_local(url):
        return local_path(url).exists()
    filesystem, path = fsspec.core.url_to_fs(url)
    return bool(filesystem.exists(path))


def remove_tree(url: str) -> None:
    """Delete a folder and all below it; nothing happens where there is none."""
    filesystem, path = fsspec.core.url_to_fs(url)
    if filesystem.exists(path):
        filesystem.rm(path, recursive=True)


def list_files(url: str) -> list[str]:
    """Return the paths of all files below a folder, relative to it, POSIX, sorted.

    Raises
    ------
    CuebenchError
        If there is no such folder.
    """
    if is_local(url):
        root = local_path(url)
        if not root.is_dir():
            raise CuebenchError(f"{url}: no such folder")
        found = (
            Path(folder, name).relative_to(root).as_posix()
            for folder, _, names in os.walk(root)
            for name in names
        )
        return sorted(found)
    filesystem, path = fsspec.core.url_to_fs(url)
    if not filesystem.isdir(path):
        raise CuebenchError(f"{url}: no such folder")
    root_path = path.rstrip("/") + "/"
    return sorted(str(name).removeprefix(root_path) for name in filesystem.find(path))
