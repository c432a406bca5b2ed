from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image

from curation.cli import cuebench
from curation.masks_run import JUDGED, _keep, _model
from data_manifests.errors import CuebenchError
from data_manifests.jsonl import read_records
from data_manifests.records import CueRecord, MaskRecord, SourceRecord
from generation.executors import WorkerDied
from generation.masks import read_mask
from tests.curation import colour_models
from tests.curation.colour_models import is_red

MODEL = "callable:tests.curation.colour_models:red_means_revolver"
N = 3


def draw(number: int, *, red: bool = True) -> Image.Image:
    """Return a large blue square, which stands out, and a small red one, on grey."""
    image = np.full((160, 240, 3), 190, np.uint8)
    image[20:140, 10 + number : 130 + number] = (20, 30, 160)
    if red:
        image[60:100, 180:220] = (200, 30, 30)
    return Image.fromarray(image)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a manifest of three revolvers, the last of which is none."""
    folder = tmp_path_factory.mktemp("photos")
    (folder / "revolver").mkdir()
    for number in range(N):
        draw(number, red=number < N - 1).save(folder / "revolver" / f"{number}.png")
    manifest = folder / "sources.jsonl"
    run("ingest", str(folder), "--taxonomy", "refined-bias-20", "--out", str(manifest))
    return manifest


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cuebench, list(arguments))


def run(*arguments: str) -> Result:
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result


def masks(sources: Path, out: Path, *more: str, model: str = MODEL) -> Result:
    return invoke(
        "masks", "refined-bias", "--sources", str(sources), "--model", model, "--out", str(out),
        "--segmenter", "backdrop", *more,
    )  # fmt: skip


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(autouse=True)
def _fresh_models() -> None:
    """Have models loaded anew: a process keeps them."""
    _model.cache_clear()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Give the sizes of the batches that the model was asked."""
    sizes: list[int] = []
    original = colour_models.red_means_revolver

    def counted(images: list[np.typing.NDArray[np.uint8]]) -> np.typing.NDArray[np.float32]:
        sizes.append(len(images))
        return original(images)

    counted.fingerprint = "1"  # type: ignore[attr-defined]
    monkeypatch.setattr(colour_models, "counted", counted, raising=False)
    return sizes


COUNTED = "callable:tests.curation.colour_models:counted"


def test_the_picks_show_the_class_and_say_why(sources: Path, tmp_path: Path) -> None:
    result = masks(sources, tmp_path / "picks")
    assert result.exit_code == 0, result.output
    rows = read_records(str(tmp_path / "picks" / "masks.jsonl"), MaskRecord)
    assert len(rows) == N
    photographs = {row.source_id: row for row in read_records(str(sources), SourceRecord)}
    for row in rows:
        name = photographs[row.source_id].file_name
        image = np.asarray(Image.open(sources.parent / name))
        mask = read_mask((tmp_path / "picks" / str(row.file_name)).read_bytes())
        if is_red(image).any():
            assert (mask & is_red(image)).sum() / (mask | is_red(image)).sum() > 0.8
            assert row.flags == ()
        else:
            assert row.flags == ("class_not_seen",)
        assert {"segmenter", "class_probability", "covered_share", "evidence"} <= set(row.candidates[0])
        assert row.reason


def test_the_summary_counts_what_differs_and_what_to_look_at(sources: Path, tmp_path: Path) -> None:
    text = masks(sources, tmp_path / "picks").stdout
    assert re.search(r"^ +3 masks picked, 2 of them other than without the classifier$", text, re.M)
    assert re.search(r"^ +1 doubtful: look at them$", text, re.M)
    assert re.search(r"^class_not_seen: revolver/2.png$", text, re.M)
    found = json.loads(masks(sources, tmp_path / "picks", "--format", "json").stdout)
    assert found["n_photographs"] == found["n_picked"] == N
    assert (found["n_differing"], found["n_doubtful"], found["problems"]) == (2, 1, [])


def test_generate_renders_from_the_picks(sources: Path, tmp_path: Path) -> None:
    masks(sources, tmp_path / "picks")
    run(
        "generate", "refined-bias", "--sources", str(sources), "--masks", f"{tmp_path}/picks/masks.jsonl",
        "--out", f"{tmp_path}/run",
    )  # fmt: skip
    picks = {row.source_id: row for row in read_records(f"{tmp_path}/picks/masks.jsonl", MaskRecord)}
    cues = read_records(f"{tmp_path}/run/cues.jsonl", CueRecord)
    assert len(cues) == N
    for cue in cues:
        pick = picks[cue.parent_source_ids[0]]
        assert cue.mask_sha256 == pick.mask_sha256
        assert set(pick.flags) <= set(cue.flags)


def test_nothing_is_judged_twice(sources: Path, tmp_path: Path, asked: list[int]) -> None:
    assert masks(sources, tmp_path / "picks", model=COUNTED).exit_code == 0
    n_first = len(asked)
    first = content(tmp_path / "picks")
    again = masks(sources, tmp_path / "picks", model=COUNTED)
    assert len(asked) == n_first > N
    assert "(3 were judged before)" in again.stderr
    assert content(tmp_path / "picks") == first


def test_a_stopped_run_goes_on_where_it_was(
    sources: Path, tmp_path: Path, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    masks(sources, tmp_path / "whole", model=COUNTED)
    n_whole = len(asked)
    n_kept = 0

    def stop(*arguments: object) -> None:
        nonlocal n_kept
        _keep(*arguments)  # type: ignore[arg-type]
        n_kept += 1
        if n_kept == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("curation.masks_run._keep", stop)
        stopped = masks(sources, tmp_path / "picks", model=COUNTED)
    assert stopped.exit_code == 130
    assert f"cuebench: stopped; the same command goes on with {tmp_path}/picks" in stopped.stderr
    resumed = masks(sources, tmp_path / "picks", model=COUNTED)
    assert "(2 were judged before)" in resumed.stderr
    assert len(asked) == 2 * n_whole
    assert content(tmp_path / "picks") == content(tmp_path / "whole")


def test_any_number_of_workers_gives_the_same_files(sources: Path, tmp_path: Path) -> None:
    assert masks(sources, tmp_path / "one").exit_code == 0
    assert masks(sources, tmp_path / "two", "--workers", "2").exit_code == 0
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_a_lost_mask_or_a_damaged_note_is_made_again(
    sources: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    masks(sources, tmp_path / "picks")
    first = content(tmp_path / "picks")
    lost = next(path for path in (tmp_path / "picks" / "masks").iterdir())
    lost.unlink()
    note = next(path for path in (tmp_path / "picks" / JUDGED).iterdir() if path.name != "job.json")
    note.write_text("{")
    again = masks(sources, tmp_path / "picks")
    assert again.exit_code == 0
    assert content(tmp_path / "picks") == first
    assert "damaged; the photograph is judged again" in caplog.text


def test_the_page_shows_the_doubtful_first(sources: Path, tmp_path: Path) -> None:
    masks(sources, tmp_path / "picks")
    page = (tmp_path / "picks" / "masks.html").read_text(encoding="utf-8")
    names = re.findall(r"(\d)\.png</small>", page)
    assert names[0] == "2"
    assert sorted(names) == ["0", "1", "2"]
    assert page.count('class="plain"') == 2
    assert page.count('class="pick"') == N
    assert "http" not in page.replace("http-equiv", "")


def test_a_photograph_that_is_gone_is_left_out_and_tried_again(sources: Path, tmp_path: Path) -> None:
    photo = sources.parent / "revolver" / "1.png"
    data = photo.read_bytes()
    photo.unlink()
    try:
        text = masks(sources, tmp_path / "picks").stdout
    finally:
        photo.write_bytes(data)
    assert re.search(r"^left out: revolver/1.png: no such file$", text, re.M)
    assert re.search(r"^ +1 left out; the same command tries them again$", text, re.M)
    assert len(read_records(f"{tmp_path}/picks/masks.jsonl", MaskRecord)) == N - 1
    assert "left out" not in masks(sources, tmp_path / "picks").stdout
    assert len(read_records(f"{tmp_path}/picks/masks.jsonl", MaskRecord)) == N


def test_a_photograph_without_any_candidate_has_a_row_without_a_mask(tmp_path: Path) -> None:
    noise = np.random.Generator(np.random.PCG64(0)).integers(0, 100, (120, 120, 3)).astype(np.uint8)
    (tmp_path / "photos" / "revolver").mkdir(parents=True)
    Image.fromarray(noise).save(tmp_path / "photos" / "revolver" / "0.png")
    manifest = tmp_path / "sources.jsonl"
    run("ingest", f"{tmp_path}/photos", "--taxonomy", "refined-bias-20", "--out", str(manifest))
    result = masks(manifest, tmp_path / "picks")
    assert failure(result) == f"{tmp_path}/picks: no mask could be picked, for the reasons above"
    text = result.stdout
    assert re.search(r"^ +1 without a mask$", text, re.M)
    assert "no mask: photos/revolver/0.png: no segmenter found an object" in text
    (row,) = read_records(f"{tmp_path}/picks/masks.jsonl", MaskRecord)
    assert (row.mask_sha256, row.file_name, row.segmenter) == (None, None, "backdrop")


# --- bad input ---


def failure(result: Result) -> str:
    assert isinstance(result.exception, CuebenchError), result.output
    return str(result.exception)


def test_picks_of_another_call_are_not_replaced_unasked(sources: Path, tmp_path: Path) -> None:
    masks(sources, tmp_path / "picks")
    message = failure(masks(sources, tmp_path / "picks", "--segmenter", "grabcut"))
    assert message == (
        f"{tmp_path}/picks: holds masks chosen by another model, recipe, person or version; name another folder "
        "or add --force"
    )
    assert masks(sources, tmp_path / "picks", "--segmenter", "grabcut", "--force").exit_code == 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "masks.jsonl").write_text("")
    assert "holds masks chosen by" in failure(masks(sources, tmp_path / "mine"))


def test_a_model_that_does_not_know_a_class_is_refused(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(images: list[object]) -> np.typing.NDArray[np.float32]:
        return np.zeros((len(images), 2), np.float32)

    other.wnids = ["n02084071", "n02121808"]  # type: ignore[attr-defined]
    monkeypatch.setattr(colour_models, "other", other, raising=False)
    spec = "callable:tests.curation.colour_models:other"
    assert failure(masks(sources, tmp_path / "picks", model=spec)) == (
        f"{spec}: none of its 2 labels is of revolver (by the wnids of the manifest); take a model that knows the "
        "classes, or leave them out"
    )


def test_a_model_without_a_fingerprint_is_not_kept_and_says_so(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(
        colour_models, "bare", lambda images: colour_models.red_means_revolver(images), raising=False
    )
    spec = "callable:tests.curation.colour_models:bare"
    assert masks(sources, tmp_path / "picks", model=spec).exit_code == 0
    assert f"{spec}: has no fingerprint, so nothing that it judges is kept" in caplog.text
    assert [path.name for path in (tmp_path / "picks" / JUDGED).iterdir()] == ["job.json"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--segmenter", "grabcat"), r"^grabcat: no such segmenter"),
        (("--weights", "w", "--model", "nonsense"), r"^--model nonsense: expected ADAPTER:NAME"),
    ],
)
def test_bad_input_is_one_clear_line(
    sources: Path, tmp_path: Path, more: tuple[str, ...], message: str
) -> None:
    text = failure(masks(sources, tmp_path / "picks", *more))
    assert re.search(message, text)
    assert "\n" not in text


def test_a_manifest_without_a_usable_photograph_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sources.jsonl").write_text("")
    assert failure(masks(tmp_path / "sources.jsonl", tmp_path / "picks")) == (
        "no usable photograph in the manifest; `ingest` says why"
    )


def test_a_photograph_whose_worker_died_is_left_out(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dying:
        def run(self, _: object, items: list[SourceRecord]) -> Iterator[tuple[SourceRecord, WorkerDied]]:
            for item in items:
                yield item, WorkerDied()

    monkeypatch.setattr("generation.executors.executor_for", lambda *_: Dying())
    text = masks(sources, tmp_path / "picks").stdout
    assert "left out: revolver/0.png: the process that judged it died; out of memory?" in text
