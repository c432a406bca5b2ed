from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from data_manifests.errors import CuebenchError
from data_manifests.jsonl import write_records
from data_manifests.records import CueKind, CueRecord
from evaluation.cue_pictures import by_kind, decode_picture, find_pictures
from tests.evaluation.drawn_cues import draw_cues

SOURCE = "5" * 64


def cue(number: int, kind: CueKind, superclass: str, file: Path | None, **fields: object) -> CueRecord:
    row = {
        "cue_id": f"{number:032x}",
        "cue_kind": kind,
        "superclass": superclass,
        "file_name": f"cues/{kind}/{superclass}/{number}.png" if file else None,
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest() if file else None,
        "parent_source_ids": (SOURCE,),
        "recipe_sha256": "0" * 64,
        "generator_version": "1",
        "seed": 0,
        "status": "ok" if file else "no_foreground",
        **fields,
    }
    return CueRecord.model_validate(row)


def lay(folder: Path, cues: list[tuple[CueRecord, Path]], *, as_release: bool) -> None:
    """Put the files of cues where a run or a release has them, and write the manifest."""
    for record, file in cues:
        name = (
            f"data/{record.cue_kind}/{record.superclass}/{record.cue_id}.png"
            if as_release
            else record.file_name or ""
        )
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(file.read_bytes())
    failed = cue(99, "shape", "clock", None)
    write_records(
        str(folder / ("manifests/cues.jsonl" if as_release else "cues.jsonl")),
        [*(record for record, _ in cues), failed],
    )


def some_cues(tmp_path: Path) -> list[tuple[CueRecord, Path]]:
    drawn = draw_cues(tmp_path / "drawn", 1)
    files = drawn / "shape" / "clock" / "clock_0.png", drawn / "texture" / "tiger" / "tiger_0.png"
    return [
        (cue(1, "shape", "clock", files[0]), files[0]),
        (cue(2, "texture", "tiger", files[1], grid=8, variant=0), files[1]),
    ]


def test_a_folder_of_kinds_and_classes_is_enough(tmp_path: Path) -> None:
    draw_cues(tmp_path, 2)
    (tmp_path / "shape" / "clock" / "notes.txt").write_text("not a picture")
    found = find_pictures(str(tmp_path))
    assert {kind: len(own) for kind, own in by_kind(found).items()} == {"shape": 6, "texture": 6}
    assert found[0].file_name == "clock/clock_0.png"
    assert (found[0].superclass, found[0].source, found[0].grid, found[0].sha256) == (
        "clock",
        None,
        None,
        None,
    )


@pytest.mark.parametrize("as_release", [False, True])
@pytest.mark.parametrize("by_manifest", [False, True])
def test_a_run_and_a_release_say_where_their_pictures_lie(
    as_release: bool, by_manifest: bool, tmp_path: Path
) -> None:
    cues = some_cues(tmp_path)
    lay(tmp_path / "set", cues, as_release=as_release)
    manifest = "/manifests/cues.jsonl" if as_release else "/cues.jsonl"
    found = find_pictures(f"{tmp_path}/set" + (manifest if by_manifest else ""))
    assert [(picture.superclass, picture.source, picture.grid) for picture in found] == [
        ("clock", SOURCE, None),
        ("tiger", SOURCE, 8),
    ]
    assert [picture.read() for picture in found] == [file.read_bytes() for _, file in cues]


def test_a_picture_that_was_swapped_is_refused(tmp_path: Path) -> None:
    cues = some_cues(tmp_path)
    lay(tmp_path / "set", cues, as_release=False)
    (clock, tiger) = find_pictures(str(tmp_path / "set"))
    Path(clock.url).write_bytes(tiger.read())
    with pytest.raises(
        CuebenchError, match=r"1.png: not the picture of the manifest \(SHA-256 [0-9a-f]{64}\)"
    ):
        clock.read()


def test_nothing_to_show_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CuebenchError, match=r"no pictures; expected a run .*shape\|texture/<superclass>"):
        find_pictures(str(tmp_path))
    write_records(str(tmp_path / "cues.jsonl"), [cue(1, "shape", "clock", None)])
    with pytest.raises(CuebenchError, match="it has no cue whose status is ok"):
        find_pictures(str(tmp_path))


def test_a_file_that_is_no_picture_is_named() -> None:
    with pytest.raises(CuebenchError, match=r"x.png: not a picture that can be decoded"):
        decode_picture(b"no picture", "x.png")
