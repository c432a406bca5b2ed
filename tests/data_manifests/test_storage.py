from __future__ import annotations

from pathlib import Path

import pytest

from data_manifests import storage
from data_manifests.errors import CuebenchError


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    storage.write_bytes(str(path), b"old")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(CuebenchError, match=r"file: can't be written \(No space left on device\)"):
        storage.write_bytes(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(CuebenchError, match="none: no such file"):
        storage.read_bytes(str(tmp_path / "none"))
    with pytest.raises(CuebenchError, match="none: no such folder"):
        storage.list_files(str(tmp_path / "none"))
    with pytest.raises(CuebenchError, match="no such folder"):
        storage.list_files("memory://nothing/here")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(CuebenchError, match="can't be read"):
        storage.read_bytes(str(tmp_path))


@pytest.mark.parametrize("base", ["local", "memory://listing"])
def test_files_are_listed_sorted_and_relative(base: str, tmp_path: Path) -> None:
    root = str(tmp_path / base) if base == "local" else base
    for name in ("b/2.txt", "a.txt", "b/1.txt"):
        storage.write_bytes(storage.join(root, name), b"x")
    assert storage.list_files(root) == ["a.txt", "b/1.txt", "b/2.txt"]
    assert storage.exists(storage.join(root, "b/1.txt"))
    storage.remove_tree(root)
    storage.remove_tree(root)
    assert not storage.exists(storage.join(root, "b/1.txt"))


def test_names_join_and_relate() -> None:
    assert storage.join("s3://bucket/photos/", "clock/1.jpg") == "s3://bucket/photos/clock/1.jpg"
    assert storage.join("runs", "s3://bucket/1.jpg") == "s3://bucket/1.jpg"
    assert storage.relative("s3://bucket/1.jpg", "runs") == "s3://bucket/1.jpg"
    assert storage.parent("sources.jsonl") == "."
    assert storage.parent("/sources.jsonl") == "/"
    assert storage.parent("s3://bucket/sources.jsonl") == "s3://bucket"
