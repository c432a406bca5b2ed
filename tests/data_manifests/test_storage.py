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


def test_a_name_relates_to_where_a_linked_folder_really_is(tmp_path: Path) -> None:
    (tmp_path / "deep" / "disk").mkdir(parents=True)
    (tmp_path / "runs").symlink_to(tmp_path / "deep" / "disk")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").write_bytes(b"a")
    (tmp_path / "photos" / "clock").symlink_to(tmp_path / "photos")
    run = str(tmp_path / "runs" / "first")
    (tmp_path / "runs" / "first").mkdir()
    name = storage.relative(f"{tmp_path}/photos/clock/a.jpg", run)
    assert name == "../../../photos/clock/a.jpg"
    assert storage.read_bytes(storage.join(run, name)) == b"a"
    again = storage.relative(storage.join(run, name), str(tmp_path / "elsewhere"))
    assert again == "../photos/clock/a.jpg"


def test_a_local_file_has_its_whole_path_in_a_remote_run(tmp_path: Path) -> None:
    path = str(tmp_path / "a.jpg")
    assert storage.relative(path, "memory://run") == path
    assert Path(storage.relative("a.jpg", "memory://run")).is_absolute()
    assert storage.relative("memory://run/a.jpg", "memory://run") == "a.jpg"


def test_links_to_folders_are_followed_but_not_in_circles(tmp_path: Path) -> None:
    root = tmp_path / "photos"
    (root / "zebra").mkdir(parents=True)
    (tmp_path / "clocks").mkdir()
    (tmp_path / "clocks" / "1.jpg").write_bytes(b"x")
    (root / "clock").symlink_to(tmp_path / "clocks")
    (root / "zebra" / "all").symlink_to(root)
    (root / "zebra" / "gone.jpg").symlink_to("nowhere")
    (root / "zebra" / "self.jpg").symlink_to("self.jpg")
    assert storage.list_files(str(root)) == ["clock/1.jpg", "zebra/gone.jpg", "zebra/self.jpg"]


@pytest.mark.parametrize(
    ("url", "reason"), [("nonsense://x", "Protocol not known: nonsense"), ("n" * 300, "File name too long")]
)
def test_a_place_that_cannot_be_is_named(url: str, reason: str) -> None:
    with pytest.raises(CuebenchError, match=rf"can't be looked up \({reason}"):
        storage.exists(url)
    with pytest.raises(CuebenchError, match=rf"can't be read \({reason}"):
        storage.read_bytes(url)
    with pytest.raises(CuebenchError, match=rf"can't be written \({reason}"):
        storage.write_bytes(url, b"")


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(CuebenchError, match="file: no such folder, but a file"):
        storage.list_files(str(tmp_path / "file"))


def test_a_folder_that_cannot_be_read_is_no_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "photos").mkdir()

    def refuse(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr("os.scandir", refuse)
    with pytest.raises(CuebenchError, match=r"photos: can't be listed \(Permission denied\)"):
        storage.list_files(str(tmp_path / "photos"))
