"""The two texts for people: README.md (the card that Hugging Face shows) and DATASHEET.md (Gebru et al., 2021)."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from curation.gate import GateReport
from curation.release_content import LICENSES, ReleaseContent
from curation.release_tables import metadata_rows
from curation.release_texts import SIMULATED, agreement_line, describe
from data_manifests.jsonl import canonical_json
from data_manifests.records import CueKind

# The classes of size that the Hub knows, by their upper ends.
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))

_DTYPES = {"n_ratings": "int64", "grid": "int64", "variant": "int64", "simulated": "bool"}


def render_card(content: ReleaseContent, report: GateReport) -> str:
    """Return README.md: YAML for the Hub, then what is in the release and how to load it."""
    return f"---\n{front_matter(content, report)}---\n\n{_render('release_card.md', content, report)}"


def render_datasheet(content: ReleaseContent, report: GateReport) -> str:
    """Return DATASHEET.md."""
    return _render("release_datasheet.md", content, report)


def _render(template: str, content: ReleaseContent, report: GateReport) -> str:
    # Markdown is no HTML: what a class or an author is called is shown as it is
    environment = Environment(  # noqa: S701
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    source = files("curation").joinpath(template).read_text(encoding="utf-8")
    return environment.from_string(source).render(
        meta=content.meta,
        about=content.meta.about,
        texts=describe(content, report),
        report=report,
        agreement=[agreement_line(evidence) for evidence in report.evidence],
        kinds=_kinds(content),
        n_cues=len(content.data.cues),
        n_sources=len(content.data.sources),
        n_withdrawn=len(content.withdrawn),
        simulated_line=SIMULATED,
        has_recipe=content.recipe is not None,
    )


def _kinds(content: ReleaseContent) -> list[dict[str, Any]]:
    """Return what the texts say of each kind: its classes with their WordNet ids and numbers of pictures."""
    kinds = []
    for kind, cues in content.cues_by_kind.items():
        classes: dict[str, dict[str, Any]] = {}
        for cue in cues:
            row = classes.setdefault(cue.superclass, {"name": cue.superclass, "wnids": set(), "n": 0})
            row["wnids"].update(cue.wnids)
            row["n"] += 1
        rows = [{**row, "wnids": ", ".join(sorted(row["wnids"]))} for _, row in sorted(classes.items())]
        kinds.append({"name": kind, "n": len(cues), "classes": rows})
    return kinds


def front_matter(content: ReleaseContent, report: GateReport) -> str:
    """Return the YAML of the card; each value is written as JSON, which YAML contains."""
    texts, n = describe(content, report), len(content.data.cues)
    fields: dict[str, Any] = {
        "pretty_name": texts.title,
        "license": texts.license_id,
        "annotations_creators": ["machine-generated" if content.meta.simulated else "crowdsourced"],
        "language_creators": ["other"],
        "source_datasets": ["original"],
        "task_categories": ["image-classification"],
        "size_categories": [next((name for most, name in _SIZES if n < most), "n>1M")],
        "tags": [
            "shape-bias",
            "texture-bias",
            "cuebench",
            *(["simulated"] if content.meta.simulated else []),
        ],
        "configs": [
            {
                "config_name": kind,
                "data_files": [{"split": "test", "path": f"data/{kind}/**"}],
                "features": _features(content, report, kind),
            }
            for kind in content.cues_by_kind
        ],
    }
    if texts.license_id == "other":
        fields |= {"license_name": "per-image", "license_link": LICENSES}
    return "".join(f"{name}: {canonical_json(value)}\n" for name, value in fields.items())


def _features(content: ReleaseContent, report: GateReport, kind: CueKind) -> list[dict[str, Any]]:
    """Return the columns of a kind, so that labels are numbered as torchvision numbers them: by sorted names."""
    classes = sorted({cue.superclass for cue in content.cues_by_kind[kind]})
    label = {"class_label": {"names": {str(number): name for number, name in enumerate(classes)}}}
    columns = list(metadata_rows(content, report, kind)[0])
    found: list[dict[str, Any]] = [{"name": "image", "dtype": "image"}]
    for name in columns:
        if name != "file_name":
            found.append({"name": name, "dtype": label if name == "label" else _DTYPES.get(name, "string")})
    return found
