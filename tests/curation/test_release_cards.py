from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from curation.gate import run_gate
from curation.gate_source import GateSource
from curation.release import prepare_release
from curation.release_cards import front_matter, render_card, render_datasheet
from curation.release_content import About, ReleaseContent
from curation.release_croissant import CROISSANT_VERSION, croissant
from curation.release_texts import agreement_line, describe
from data_manifests.records import SourceRecord
from tests.curation.release_run import make_run, request

STATED = About(
    name="my-cues",
    title="My cues",
    creators=("Ada", "Grace"),
    contact="ada@example.org",
    citation="Ada and Grace (2026)",
    payment="12 EUR an hour.",
    maintenance="Ada answers within a week.",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def source(run: Path) -> GateSource:
    return make_run(run)


@pytest.fixture(scope="module")
def content(source: GateSource, run: Path) -> ReleaseContent:
    return prepare_release(source, str(run), replace(request(), about=STATED), None)


def with_sources(
    content: ReleaseContent, change: Callable[[int, SourceRecord], SourceRecord]
) -> ReleaseContent:
    sources = tuple(change(number, row) for number, row in enumerate(content.data.sources))
    return replace(content, data=replace(content.data, sources=sources))


def fields_of(text: str) -> dict[str, object]:
    """Return the front matter: a key, a colon and JSON on every line, which is YAML."""
    return {
        name: json.loads(value) for name, _, value in (line.partition(": ") for line in text.splitlines())
    }


def test_the_card_begins_with_what_the_hub_reads(content: ReleaseContent) -> None:
    report = run_gate(content.data, "0.1.0")
    card = render_card(content, report)
    assert card.startswith("---\n")
    assert card.count("\n---\n") == 1
    fields = fields_of(front_matter(content, report))
    assert fields["pretty_name"] == "My cues"
    assert fields["license"] == "cc-by-4.0"
    assert fields["size_categories"] == ["n<1K"]
    assert fields["task_categories"] == ["image-classification"]
    configs = fields["configs"]
    assert isinstance(configs, list)
    assert [row["config_name"] for row in configs] == ["shape", "texture"]
    assert configs[0]["data_files"] == [{"split": "test", "path": "data/shape/**"}]
    names = {"0": "shape_0", "1": "shape_1", "2": "shape_2", "3": "shape_3"}
    assert {"name": "label", "dtype": {"class_label": {"names": names}}} in configs[0]["features"]


def test_the_card_says_how_well_people_agree_and_what_the_gate_says(content: ReleaseContent) -> None:
    report = run_gate(content.data, "0.1.0")
    card = render_card(content, report)
    agreement = report.evidence[0].agreement
    assert agreement is not None
    assert f"shape: Fleiss' kappa {agreement.kappa.value:.4f}" in card
    assert "**The release gate says PASS**" in card
    assert "| shape_0 | 5 | n04548280 |" in card
    assert "Ada and Grace (2026)" in card


def test_the_datasheet_holds_what_was_stated_and_says_what_was_not(content: ReleaseContent) -> None:
    sheet = render_datasheet(content, run_gate(content.data, "0.1.0"))
    assert "- Created by: Ada, Grace" in sheet
    assert "- Payment: 12 EUR an hour." in sheet
    assert "- Ethics review: Not stated." in sheet
    assert "Ada answers within a week." in sheet
    assert "What did not go out: 3 rejected." in sheet
    assert "| shape: people agree | PASS |" in sheet
    for question in (
        "Motivation",
        "Composition",
        "Collection",
        "Preprocessing",
        "Uses",
        "Distribution",
        "Maintenance",
    ):
        assert f"\n## {question}\n" in sheet


def test_photographs_under_several_licences_are_listed_one_by_one(content: ReleaseContent) -> None:
    mixed = with_sources(
        content, lambda number, row: row.model_copy(update={"license_spdx": "CC0-1.0"}) if number < 3 else row
    )
    report = run_gate(mixed.data, "0.1.0")
    fields = fields_of(front_matter(mixed, report))
    assert (fields["license"], fields["license_name"]) == ("other", "per-image")
    assert fields["license_link"] == "LICENSES.csv"
    assert "- CC-BY-4.0: 37 photographs\n- CC0-1.0: 3 photographs" in render_card(mixed, report)


def test_a_licence_that_the_hub_does_not_know_is_not_passed_off_as_one(content: ReleaseContent) -> None:
    own = with_sources(content, lambda _, row: row.model_copy(update={"license_spdx": "LicenseRef-Own"}))
    assert describe(own, run_gate(own.data, "0.1.0")).license_id == "other"


def test_the_croissant_names_every_file_by_its_hash_and_answers_the_questions_of_rai(
    content: ReleaseContent,
) -> None:
    report = run_gate(content.data, "0.1.0")
    names = ("data/shape/metadata.jsonl", "data/texture/metadata.jsonl", "manifests/cues.jsonl")
    sums = {name: name.ljust(64, "0") for name in (*names, "ratings/responses.jsonl")}
    found = croissant(content, report, sums)
    assert CROISSANT_VERSION in found["conformsTo"]
    assert CROISSANT_VERSION.endswith("/1.1")
    files = {
        row["@id"]: row.get("sha256") for row in found["distribution"] if row["@type"] == "cr:FileObject"
    }
    assert files == sums
    sets = {row["@id"]: row["includes"] for row in found["distribution"] if row["@type"] == "cr:FileSet"}
    assert sets == {"shape-pictures": "data/shape/*/*.png", "texture-pictures": "data/texture/*/*.png"}
    for name in (
        "dataCollection", "dataAnnotationProtocol", "dataLimitations", "dataBiases", "personalSensitiveInformation",
        "dataUseCases", "dataSocialImpact", "dataReleaseMaintenancePlan", "hasSyntheticData",
    ):  # fmt: skip
        assert found[f"rai:{name}"], name
    assert found["version"] == "1.0.0"
    assert found["creator"] == [
        {"@type": "sc:Person", "name": "Ada"},
        {"@type": "sc:Person", "name": "Grace"},
    ]
    assert "url" not in found, "what was not stated is left out"


def test_a_kappa_that_cannot_be_estimated_is_said_in_words(content: ReleaseContent) -> None:
    report = run_gate(replace(content.data, responses=()), "0.1.0")
    assert agreement_line(report.evidence[0]) == "shape: Fleiss' kappa can't be estimated."
    assert "can't be estimated" in render_card(content, report)
