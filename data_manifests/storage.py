"""Bytes in and out of any fsspec URL; a plain path is a local one.

A local file is written to a temporary name and moved into place, so a reader never sees half of one. Remote
stores write an object whole or not at all.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import fsspec

from data_manifests.errors import CuebenchError

try:
    import fcntl
except ImportError:  # Windows has no locks on folders
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger(__name__)

_PARTIAL_SUFFIX = ".part"


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
    """Return `url` relative to the folder `base`, POSIX; a place of its own where only one of them is local.

    >>> relative("photos/a.jpg", "runs/first")
    '../../photos/a.jpg'
    """
    if not is_local(url):
        inside = base.rstrip("/") + "/"
        return url.removeprefix(inside)
    # The system climbs `..` from where a symbolic link leads, not from where it stands. Behind the last one
    # links keep their names: a folder's is the superclass.
    parts = local_path(url).parts
    n_climbed = len(parts) - [*parts[::-1], ".."].index("..")
    place = Path(*parts[:n_climbed]).resolve().joinpath(*parts[n_climbed:])
    if not is_local(base):
        return place.as_posix()
    try:
        return Path(os.path.relpath(place, local_path(base).resolve())).as_posix()
    except ValueError:  # another drive
        return place.as_posix()


def parent(url: str) -> str:
    """Return the URL of the folder that holds `url` (`.` for a bare file name)."""
    head, separator, _ = url.rpartition("/")
    return head or ("/" if separator else ".")


@contextmanager
def _failures_named(url: str, what: str) -> Iterator[None]:
    """Turn what a file system raises into our own error: `url` can't be `what` (`read`, `written`)."""
    try:
        yield
    except OSError as error:
        raise CuebenchError(f"{url}: can't be {what} ({error.strerror or error})") from error
    # An unknown scheme, a NUL byte in a path; a scheme whose package is not installed.
    except (ValueError, ImportError) as error:
        raise CuebenchError(f"{url}: can't be {what} ({error})") from error


def read_bytes(url: str) -> bytes:
    """Return the content of a file.

    Raises
    ------
    CuebenchError
        If there is no such file, or it can't be read.
    """
    with _failures_named(url, "read"):
        try:
            if is_local(url):
                return local_path(url).read_bytes()
            with fsspec.open(url, "rb") as stream:
                return bytes(stream.read())
        except FileNotFoundError as error:
            raise CuebenchError(f"{url}: no such file") from error


def write_bytes(url: str, data: bytes) -> None:
    """Write a file whole or not at all, making its folders.

    Raises
    ------
    CuebenchError
        If it can't be written.
    """
    with _failures_named(url, "written"):
        if is_local(url):
            _write_local(local_path(url), data)
            return
        with fsspec.open(url, "wb", auto_mkdir=True) as stream:
            stream.write(data)


def _write_local(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=_PARTIAL_SUFFIX)
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


def is_partial(name: str) -> bool:
    """Return whether a file is one that `write_bytes` was writing when its process was killed."""
    last = name.rpartition("/")[2]
    return last.startswith(".") and last.endswith(_PARTIAL_SUFFIX)


@contextmanager
def sole_writer(url: str) -> Iterator[None]:
    """Make a folder and keep it from every other process that asks for the same.

    Nothing guards a remote folder, or one on a file system without locks.

    Raises
    ------
    CuebenchError
        If another process holds the folder, or it can't be made.
    """
    if fcntl is None or not is_local(url):
        yield
        return
    path = local_path(url)
    with _failures_named(url, "written"):
        if path.is_file():
            raise CuebenchError(f"{url}: expected a folder, or a name that is free; this is a file")
        path.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CuebenchError(
                f"{url}: another process is writing it; wait for it, or end it first"
            ) from error
        except OSError as error:
            log.info("%s: not locked (%s)", url, error.strerror)
        yield
    finally:
        os.close(handle)


def exists(url: str) -> bool:
    """Return whether there is a file or folder at the URL.

    Raises
    ------
    CuebenchError
        If nobody can tell: no permission to look, a name that is too long, an unknown kind of URL.
    """
    with _failures_named(url, "looked up"):
        if is_local(url):
            return local_path(url).exists()
        filesystem, path = fsspec.core.url_to_fs(url)
        return bool(filesystem.exists(path))


def remove_tree(url: str) -> None:
    """Delete a folder and all below it, or a file; nothing happens where there is none.

    Raises
    ------
    CuebenchError
        If it can't be deleted.
    """
    with _failures_named(url, "deleted"):
        filesystem, path = fsspec.core.url_to_fs(url)
        if filesystem.exists(path):
            filesystem.rm(path, recursive=True)


def list_files(url: str) -> list[str]:
    """Return the paths of all files below a folder, relative to it, POSIX, sorted.

    Links to folders are followed, but for one that leads back to a folder that it lies in.

    Raises
    ------
    CuebenchError
        If there is no such folder, or a folder below it can't be read.
    """
    with _failures_named(url, "listed"):
        if is_local(url):
            root = local_path(url)
            if not root.is_dir():
                raise CuebenchError(f"{url}: no such folder" + ", but a file" * root.exists())
            return sorted(_walk(root, "", ()))
        filesystem, path = fsspec.core.url_to_fs(url)
        if not filesystem.isdir(path):
            raise CuebenchError(f"{url}: no such folder")
        root_path = path.rstrip("/") + "/"
        return sorted(str(name).removeprefix(root_path) for name in filesystem.find(path))


def _walk(folder: Path, name: str, above: tuple[tuple[int, int], ...]) -> Iterator[str]:
    """Yield the names of the files below a folder; `above` are device and inode of those that it lies in."""
    with _failures_named(str(folder), "listed"):
        status = folder.stat()
        with os.scandir(folder) as found:
            entries = [(entry.name, _is_folder(entry)) for entry in found]
    key = (status.st_dev, status.st_ino)
    if key in above:
        return
    for child, is_folder in entries:
        if is_folder:
            yield from _walk(folder / child, f"{name}{child}/", (*above, key))
        else:
            yield f"{name}{child}"


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself: whoever reads it will say so
        return False
