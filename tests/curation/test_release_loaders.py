"""The four ways in which people load a release: each has to see every picture once, with its label."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.release_content import read_release
from tests.curation.release_run import make_run, publish, request

pytestmark = [
    pytest.mark.loaders,
    # what the loaders warn of in each other's names: rdflib's old classes, files that webdataset leaves open
    pytest.mark.filterwarnings("default"),
]

KINDS = ("shape", "texture")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("run")
    folder = tmp_path_factory.mktemp("releases") / "1.0.0"
    publish(make_run(run), run, folder, request(exports=("parquet", "webdataset")))
    return folder


def expected(release: Path, kind: str) -> list[tuple[str, str]]:
    """Return (cue id, label) of every picture of a kind, by the manifest."""
    return sorted(
        (cue.cue_id, cue.superclass) for cue in read_release(str(release)).data.cues if cue.cue_kind == kind
    )


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give a folder for caches, and keep the libraries from asking anybody."""
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    return tmp_path / "cache"


@pytest.mark.parametrize("kind", KINDS)
def test_hugging_face_datasets_loads_a_release(release: Path, offline: Path, kind: str) -> None:
    datasets = pytest.importorskip("datasets")
    found = datasets.load_dataset(str(release), kind, split="test", cache_dir=str(offline))
    label = found.features["label"]
    assert sorted((row["cue_id"], label.int2str(row["label"])) for row in found) == expected(release, kind)
    assert label.names == [f"{kind}_{number}" for number in range(4)]
    assert {row["image"].size for row in found} == {(8, 8)}
    assert all(feature.dtype != "null" for name, feature in found.features.items() if name != "image")


@pytest.mark.parametrize("kind", KINDS)
def test_the_imagefolder_loader_needs_nothing_but_the_folder_of_a_kind(
    release: Path, offline: Path, kind: str
) -> None:
    datasets = pytest.importorskip("datasets")
    folder = str(release / "data" / kind)
    found = datasets.load_dataset("imagefolder", data_dir=folder, split="train", cache_dir=str(offline))
    assert sorted((row["cue_id"], row["label"]) for row in found) == expected(release, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_torchvision_loads_the_folder_of_a_kind(release: Path, kind: str) -> None:
    torchvision = pytest.importorskip("torchvision.datasets")
    found = torchvision.ImageFolder(str(release / "data" / kind))
    seen = sorted((Path(path).stem, found.classes[number]) for path, number in found.samples)
    assert seen == expected(release, kind)
    picture, number = found[0]
    assert (picture.size, number) == ((8, 8), 0)


@pytest.mark.parametrize("kind", KINDS)
def test_mlcroissant_validates_a_release_without_a_warning_and_loads_it(release: Path, kind: str) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    found = mlcroissant.Dataset(str(release / "croissant.json"))
    assert list(found.metadata.ctx.issues.errors) == []
    assert list(found.metadata.ctx.issues.warnings) == []
    records = list(found.records(kind))
    seen = sorted((row[f"{kind}/cue_id"].decode(), row[f"{kind}/label"].decode()) for row in records)
    assert seen == expected(release, kind)
    assert {row[f"{kind}/image"].size for row in records} == {(8, 8)}


@pytest.mark.parametrize("kind", KINDS)
def test_webdataset_loads_the_shards(release: Path, kind: str) -> None:
    webdataset = pytest.importorskip("webdataset")
    shards = sorted(str(path) for path in (release / "webdataset").glob(f"{kind}-*.tar"))
    found = list(webdataset.WebDataset(shards, shardshuffle=False).decode("pil"))
    classes = sorted({label for _, label in expected(release, kind)})
    assert sorted((row["json"]["cue_id"], row["json"]["label"]) for row in found) == expected(release, kind)
    assert sorted((row["json"]["cue_id"], classes[row["cls"]]) for row in found) == expected(release, kind)
    assert {row["png"].size for row in found} == {(8, 8)}
    assert {row["__key__"].partition("_")[0] for row in found} == {kind}
