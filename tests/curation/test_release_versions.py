from __future__ import annotations

import pytest

from curation.release_versions import checked_version, compare_cues, needed_bump, next_version
from data_manifests.errors import CuebenchError
from data_manifests.records import CueRecord
from tests.curation.gate_data import make_cue

CUES = [make_cue(f"{name}-{number}", name, "shape") for name in ("clock", "dog") for number in range(3)]


def changed(cue: CueRecord, **fields: object) -> list[CueRecord]:
    return [cue.model_copy(update=fields) if row is cue else row for row in CUES]


@pytest.mark.parametrize(
    ("after", "bump", "text"),
    [
        (CUES, "patch", ""),
        (changed(CUES[0], quality={"ink": 0.5}), "patch", ""),
        ([*CUES, make_cue("clock-9", "clock", "shape")], "minor", "1 picture added"),
        (CUES[1:], "major", "1 picture gone without a tombstone"),
        ([*CUES, make_cue("cat-0", "cat", "shape")], "major", "classes that are new: shape/cat"),
        (CUES[:3], "major", "classes that are gone: shape/dog"),
        (changed(CUES[0], superclass="dog"), "major", "1 picture of another class than before"),
        (changed(CUES[0], pixel_sha256="0" * 64), "major", "1 picture with other pixels than before"),
        (changed(CUES[0], sha256="0" * 64), "patch", ""),
        (changed(CUES[0], wnids=("n04548280",)), "major", "shape/clock stands for other WordNet ids"),
    ],
)
def test_what_changed_decides_the_version(after: list[CueRecord], bump: str, text: str) -> None:
    found = compare_cues(CUES, after, [])
    assert needed_bump(found) == bump
    assert text in "; ".join(row.text for row in found)


def test_a_picture_that_was_taken_down_is_a_patch_unless_its_class_goes_with_it() -> None:
    found = compare_cues(CUES, CUES[1:], {CUES[0].cue_id})
    assert [(row.bump, row.text) for row in found] == [("patch", "1 picture withdrawn")]
    found = compare_cues(CUES, CUES[:3], {cue.cue_id for cue in CUES[3:]})
    assert needed_bump(found) == "major"


@pytest.mark.parametrize(("bump", "version"), [("major", "2.0.0"), ("minor", "1.3.0"), ("patch", "1.2.4")])
def test_the_next_version_starts_again_behind_what_it_raises(bump: str, version: str) -> None:
    assert next_version("1.2.3", bump) == version  # type: ignore[arg-type]


@pytest.mark.parametrize("version", ["2.0.0", "3.1.4"])
def test_a_version_may_raise_more_than_it_has_to(version: str) -> None:
    assert checked_version(version, "1.2.3", compare_cues(CUES, CUES[1:], [])) == version


@pytest.mark.parametrize("version", ["1.2.4", "1.9.0", "1.2.3", "0.9.9"])
def test_a_version_that_raises_too_little_is_refused(version: str) -> None:
    with pytest.raises(CuebenchError, match=f"--version {version}: what changed since 1.2.3 needs a major"):
        checked_version(version, "1.2.3", compare_cues(CUES, CUES[1:], []))


def test_versions_are_numbers_not_text() -> None:
    found = compare_cues(CUES, [*CUES, make_cue("clock-9", "clock", "shape")], [])
    assert checked_version("1.10.0", "1.9.0", found) == "1.10.0"


def test_without_a_version_it_is_the_first_that_raises_enough() -> None:
    assert checked_version(None, "1.2.3", compare_cues(CUES, CUES[1:], [])) == "2.0.0"
    assert checked_version(None, "1.2.3", compare_cues(CUES, CUES[1:], {CUES[0].cue_id})) == "1.2.4"
    assert checked_version(None, "1.2.3", []) == "1.2.4"
