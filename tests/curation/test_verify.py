from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from curation.release_content import CUES, EXCLUSIONS, GATE, META, RESPONSES, ROW_SUMS, VERDICTS, WITHDRAWN
from curation.release_signature import is_signed_by
from curation.release_sums import SIGNATURE, SUMS
from curation.verify import Verification, differences, verify_release
from data_manifests.errors import CuebenchError
from generation.cue_files import encode_png
from tests.curation.release_run import edit_row, make_run, publish, sign_off


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("run")
    folder = tmp_path_factory.mktemp("releases") / "1.0.0"
    publish(make_run(run), run, folder)
    return folder


@pytest.fixture
def release(original: Path, tmp_path: Path) -> Path:
    """Return a copy to do harm to."""
    shutil.copytree(original, tmp_path / "release")
    return tmp_path / "release"


def said(found: Verification, kind: str) -> list[tuple[str, str]]:
    return [(row.where, row.detail) for row in found.findings if row.kind == kind]


def kinds(found: Verification) -> set[str]:
    return {row.kind for row in found.findings}


def pictures(release: Path, kind: str = "shape") -> list[Path]:
    return sorted((release / "data" / kind).rglob("*.png"))


def name_of(path: Path, release: Path) -> str:
    return path.relative_to(release).as_posix()


def test_a_release_as_it_was_made_is_intact(original: Path) -> None:
    found = verify_release(str(original))
    assert found.is_intact
    assert (found.name, found.version, found.outcome) == ("cuebench-cues", "1.0.0", "PASS")
    assert found.signature == "none"
    assert found.n_files == len([path for path in original.rglob("*") if path.is_file()]) - 1
    gate = json.loads((original / GATE).read_text())
    assert found.kappa == {row["cue_kind"]: row["agreement"]["kappa"] for row in gate["evidence"]}
    assert json.loads(json.dumps(found.to_json()))["intact"] is True


def test_every_file_that_is_missing_added_or_changed_is_named(release: Path) -> None:
    (release / "DATASHEET.md").unlink()
    (release / "data" / "shape" / "extra.txt").write_text("x")
    (release / "README.md").write_text("other")
    found = verify_release(str(release))
    assert [where for where, _ in said(found, "missing")] == ["DATASHEET.md"]
    assert [where for where, _ in said(found, "added")] == ["data/shape/extra.txt"]
    assert [where for where, _ in said(found, "changed")] == ["README.md"]


def test_an_edited_rating_is_named_by_file_and_row(release: Path) -> None:
    row = json.loads((release / RESPONSES).read_text().splitlines()[6])
    wrong = next(choice for choice in row["choices"] if choice != row["answer"])
    edit_row(release / RESPONSES, 7, answer=wrong)
    found = verify_release(str(release))
    assert said(found, "rating") == [(f"{RESPONSES}:7", "this row was edited")]
    assert [where for where, _ in said(found, "changed")] == [RESPONSES]
    assert any("agreement.kappa" in detail for _, detail in said(found, "gate"))


def test_an_edited_rating_is_found_though_its_hashes_were_made_again(release: Path) -> None:
    """Who hides the edit from SHA256SUMS and the row hashes still leaves the numbers that rest on it."""
    from curation.release_content import RATINGS
    from curation.release_tables import dump_row_sums

    edit_row(release / RESPONSES, 7, rt_ms=12)
    (release / ROW_SUMS).write_bytes(dump_row_sums({name: (release / name).read_bytes() for name in RATINGS}))
    sign_off(release)
    found = verify_release(str(release))
    assert kinds(found) == {"gate"}
    assert any(detail.startswith("input.responses: ") for _, detail in said(found, "gate"))


def test_rows_that_are_gone_or_new_are_named(release: Path) -> None:
    path = release / VERDICTS
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], *lines[5:]]))
    ((where, detail),) = said(verify_release(str(release)), "rating")
    assert (where, detail) == (
        VERDICTS,
        f"{len(lines) - 1} rows, expected {len(lines)}: row 5 of before is gone",
    )
    path.write_bytes(b"".join([*lines, lines[0].replace(b'"position":0', b'"position":9')]))
    ((_, detail),) = said(verify_release(str(release)), "rating")
    assert detail.endswith(f"row {len(lines) + 1} is new")
    path.write_bytes(b"".join([*lines, lines[0]]))
    found = verify_release(str(release))
    ((_, detail),) = said(found, "rating")
    assert detail.endswith("rows are there twice, or once less")
    ((_, detail),) = said(found, "gate")
    assert detail.startswith("nothing can be computed from them (1 items were rated more than once")
    assert (found.outcome, found.kappa) == (None, {})


def test_many_edited_rows_are_counted_and_the_first_are_named(release: Path) -> None:
    for number in range(1, 31):
        edit_row(release / RESPONSES, number, rt_ms=1)
    rows = said(verify_release(str(release)), "rating")
    assert len(rows) == 21
    assert rows[-1] == (RESPONSES, "30 rows were edited, and 10 more")


def test_a_flipped_pixel_is_found_though_every_sum_was_made_again(release: Path) -> None:
    path = pictures(release)[0]
    image = np.array(Image.open(path))
    image[0, 0, 0] ^= 1
    path.write_bytes(encode_png(image))
    sign_off(release)
    found = verify_release(str(release))
    assert kinds(found) == {"pixels", "file"}
    assert {where for where, _ in said(found, "pixels")} == {name_of(path, release)}


def test_a_picture_that_was_only_stored_anew_is_told_from_another_picture(release: Path) -> None:
    path = pictures(release)[0]
    with Image.open(path) as picture:
        picture.load()
        picture.save(path, compress_level=0)
    found = verify_release(str(release))
    assert kinds(found) == {"changed", "file"}
    assert said(found, "file")[0][1].endswith("; the pixels are the same")


def test_a_damaged_picture_and_one_of_another_size_are_named(release: Path) -> None:
    first, second = pictures(release)[:2]
    first.write_bytes(first.read_bytes()[:50])
    second.write_bytes(encode_png(np.zeros((9, 8, 3), np.uint8)))
    found = verify_release(str(release))
    details = dict(said(found, "pixels"))
    assert "it can't be decoded" in details[name_of(first, release)]
    assert details[name_of(second, release)].startswith("it is 8 x 9 px")


@pytest.mark.parametrize("hidden", [False, True])
def test_two_pictures_that_changed_places_are_named(release: Path, hidden: bool) -> None:
    first, last = pictures(release)[0], pictures(release)[-1]
    one, other = first.read_bytes(), last.read_bytes()
    first.write_bytes(other)
    last.write_bytes(one)
    if hidden:
        sign_off(release)
    found = verify_release(str(release))
    both = [name_of(first, release), name_of(last, release)]
    assert [where for where, _ in said(found, "pixels")] == both
    assert [where for where, _ in said(found, "changed")] == ([] if hidden else both)


def test_a_picture_in_the_folder_of_another_class_is_named(release: Path) -> None:
    path = pictures(release)[0]
    path.rename(release / "data" / "shape" / "shape_3" / path.name)
    sign_off(release)
    found = verify_release(str(release))
    assert [where for where, _ in said(found, "manifest")] == [f"data/shape/shape_3/{path.name}", CUES]


def test_a_swapped_label_in_the_metadata_is_named(release: Path) -> None:
    edit_row(release / "data/shape/metadata.jsonl", 1, label="shape_3")
    sign_off(release)
    ((where, detail),) = said(verify_release(str(release)), "label")
    assert where == name_of(pictures(release)[0], release)
    assert detail == "data/shape/metadata.jsonl calls it shape_3, manifests/cues.jsonl shape_0"


def test_a_swapped_label_in_the_manifest_is_named(release: Path) -> None:
    edit_row(release / CUES, 1, superclass="shape_3")
    sign_off(release)
    found = verify_release(str(release))
    details = [detail for _, detail in said(found, "label")]
    assert any(
        detail.startswith(f"{CUES} says that it is shape/shape_3: expected data/shape/shape_3/")
        for detail in details
    )
    assert any("its photograph" in detail and "is shape/shape_0" in detail for detail in details)
    assert "gate" in kinds(found)


def test_rows_of_the_metadata_and_pictures_are_one_to_one(release: Path) -> None:
    path = release / "data/texture/metadata.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    more = lines[1].replace("texture_0/", "texture_0/0")
    path.write_text("".join([*lines[1:], lines[1], more]))
    sign_off(release)
    details = [detail for where, detail in said(verify_release(str(release)), "manifest")]
    assert any("no row for texture_0/" in detail and "without a word" in detail for detail in details)
    assert any("2 rows for texture_0/" in detail for detail in details)
    assert any("a row for texture_0/0" in detail for detail in details)


def test_a_cue_with_two_rows_in_the_manifest_is_named(release: Path) -> None:
    path = release / CUES
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], *lines]))
    cue_id = json.loads(lines[0])["cue_id"]
    assert (CUES, f"2 rows for cue {cue_id}") in said(verify_release(str(release)), "manifest")


def test_a_verdict_of_the_gate_that_its_ratings_do_not_give_is_named(release: Path) -> None:
    path = release / GATE
    report = json.loads(path.read_text())
    report["evidence"][0]["agreement"]["kappa"] = 0.999
    path.write_text(json.dumps(report))
    sign_off(release)
    found = verify_release(str(release))
    ((where, detail),) = said(found, "gate")
    assert where == GATE
    assert detail.startswith("evidence[0].agreement.kappa: it says 0.999, and what ships gives 0.96")


def test_a_release_that_hides_that_its_answers_were_simulated_is_named(
    tmp_path: Path,
) -> None:
    source = make_run(tmp_path / "run")
    rows = tuple(row.model_copy(update={"flags": ("simulated",)}) for row in source.data.responses)
    publish(replace(source, data=replace(source.data, responses=rows)), tmp_path / "run", tmp_path / "out")
    found = verify_release(str(tmp_path / "out"))
    assert (found.is_intact, found.simulated) == (True, True)
    assert "SIMULATED" in (tmp_path / "out" / "README.md").read_text()
    meta = json.loads((tmp_path / "out" / META).read_text())
    (tmp_path / "out" / META).write_text(json.dumps({**meta, "simulated": False}))
    sign_off(tmp_path / "out")
    found = verify_release(str(tmp_path / "out"))
    assert found.simulated
    assert said(found, "simulated") == [
        (META, "it does not say so, and answers are marked as made by a program")
    ]


def test_rules_that_were_made_milder_afterwards_are_found(release: Path) -> None:
    path = release / "gate_rules.json"
    rules = json.loads(path.read_text())
    rules["volume"]["min_participants"] = 1
    path.write_text(json.dumps(rules))
    sign_off(release)
    places = [detail.partition(":")[0] for _, detail in said(verify_release(str(release)), "gate")]
    assert "input.rules" in places
    assert "rules.volume.min_participants" in places


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (GATE, "{"),
        (META, "{"),
        (META, None),
        (EXCLUSIONS, "\x00"),
        (ROW_SUMS, "[]\n"),
        ("data/shape/metadata.jsonl", "{}\n"),
        (CUES, "{}\n"),
        (GATE, None),
        (CUES, None),
    ],
)
def test_a_file_that_cannot_be_read_is_a_finding_not_a_crash(
    release: Path, name: str, content: str | None
) -> None:
    if content is None:
        (release / name).unlink()
    else:
        (release / name).write_text(content)
    found = verify_release(str(release))
    assert kinds(found) & {"unreadable", "gate"}
    assert any(name in row.where + row.detail for row in found.findings if row.kind in {"unreadable", "gate"})


def test_sums_that_cannot_be_read_are_a_finding_and_the_rest_is_checked(release: Path) -> None:
    edit_row(release / CUES, 1, superclass="shape_3")
    (release / SUMS).write_text("nonsense\n")
    found = verify_release(str(release))
    assert [where for where, _ in said(found, "unreadable")] == [SUMS]
    assert said(found, "label")


def test_a_file_that_is_no_text_any_more_is_a_changed_file(release: Path) -> None:
    (release / "recipe.toml").write_bytes(b"\xff\xfe")
    assert [(row.kind, row.where) for row in verify_release(str(release)).findings] == [
        ("changed", "recipe.toml")
    ]


def test_what_was_taken_down_and_is_here_is_named(release: Path) -> None:
    cue = json.loads((release / CUES).read_text().splitlines()[0])
    tombstone = {
        "what": "source",
        "sha256": cue["parent_source_ids"][0],
        "reason": "x",
        "date": "2026-11-30",
        "version": "1.0.0",
    }
    (release / WITHDRAWN).write_text(json.dumps(tombstone) + "\n")
    assert said(verify_release(str(release)), "withdrawn") == [
        (cue["file_name"], "it was taken down, and is here")
    ]


def test_differences_of_json_are_named_by_their_place() -> None:
    was = {"a": [1, {"b": 2}], "c": {"x": 1}, "same": None}
    now = {"a": [1, {"b": 3}, 4], "same": None}
    assert list(differences(was, now)) == [
        ("a[1].b", 2, 3),
        ("a[2]", None, 4),
        ("c", "1 entries", None),
    ]


@pytest.fixture
def ssh_key(tmp_path: Path) -> Path:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    path = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


def test_a_signature_of_ssh_holds_until_the_sums_change(release: Path, ssh_key: Path, tmp_path: Path) -> None:
    public = f"{ssh_key}.pub"
    unsigned = verify_release(str(release), public)
    assert said(unsigned, "signature") == [(SIGNATURE, f"{SUMS} is not signed by the owner of {public}")]
    command = ["ssh-keygen", "-q", "-Y", "sign", "-n", "cuebench", "-f", str(ssh_key), str(release / SUMS)]
    subprocess.run(command, check=True, capture_output=True)
    assert verify_release(str(release)).signature == "not checked"
    assert verify_release(str(release)).is_intact
    found = verify_release(str(release), public)
    assert (found.signature, found.is_intact) == ("good", True)
    (release / "README.md").write_text("other")
    sign_off(release)
    found = verify_release(str(release), public)
    assert (found.signature, kinds(found)) == ("bad", {"signature"})
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    assert not is_signed_by(f"{other}.pub", (release / SIGNATURE).read_bytes(), (release / SUMS).read_bytes())


def test_a_signature_of_openssl_holds_until_the_sums_change(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, public, signed = tmp_path / "key.pem", tmp_path / "public.pem", tmp_path / "signature"
    (tmp_path / "sums").write_bytes(b"sums")
    for arguments in (
        ["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(key)],
        ["ec", "-in", str(key), "-pubout", "-out", str(public)],
        ["dgst", "-sha256", "-sign", str(key), "-out", str(signed), str(tmp_path / "sums")],
    ):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)
    assert is_signed_by(str(public), signed.read_bytes(), b"sums")
    assert not is_signed_by(str(public), signed.read_bytes(), b"other sums")


def test_a_file_that_is_no_public_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("-----BEGIN PRIVATE KEY-----\n")
    with pytest.raises(CuebenchError, match=r"expected a public key of OpenSSH .* or in PEM"):
        is_signed_by(str(tmp_path / "key"), b"", b"")


def test_a_program_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("ssh-ed25519 AAAA\n")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CuebenchError, match="--public-key: ssh-keygen is not on the path; install it"):
        is_signed_by(str(tmp_path / "key"), b"", b"")
