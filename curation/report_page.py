"""The report of a gate as one self-contained page: numbers in words, pictures, tables; for people new to kappa too."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from curation.gate import GateInput, GateReport, rated_line
from curation.gate_evidence import CueEvidence, ItemEvidence
from curation.gate_people import TimeEvidence
from data_manifests import storage
from data_manifests.records import CueRecord
from data_manifests.storage import write_bytes
from generation.gallery_pictures import cue_picture, decode_picture

N_LOWEST = 12
PICTURE_PX = 160

# REFINED-BIAS (ECCV 2026): Fleiss' kappa of its own cues, and of cue-conflict stimuli
PUBLISHED = {"shape": (0.9836, 0.7276), "texture": (0.7973, 0.2937)}


def write_report_page(path: str, data: GateInput, report: GateReport, manifest: str) -> None:
    """Write the page. Pictures are read from the folder of the manifest; those that can't be read are left out."""
    write_bytes(path, render_report_page(data, report, storage.parent(manifest)).encode())


def render_report_page(data: GateInput, report: GateReport, folder: str) -> str:
    """Return the page as HTML. The same report and pictures give the same text."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = lambda value, digits=3: "–" if value is None else f"{value:.{digits}f}"
    environment.filters["percent"] = lambda value: "–" if value is None else f"{value:.1%}"
    source = files("curation").joinpath("report_page.html").read_text(encoding="utf-8")
    cues = {cue.sha256: cue for cue in data.cues if cue.sha256 is not None}
    return environment.from_string(source).render(
        report=report,
        report_sha256=report.to_json()["report_sha256"],
        kinds=[_kind(evidence, cues, folder, report) for evidence in report.evidence],
        counts={
            outcome: sum(1 for check in report.checks if check.outcome == outcome)
            for outcome in ("PASS", "FAIL", "INSUFFICIENT")
        },
        n_cues=len(data.cues),
        rated=rated_line(report),
        hashes=report.input_hashes,
    )


def _kind(
    evidence: CueEvidence, cues: dict[str, CueRecord], folder: str, report: GateReport
) -> dict[str, Any]:
    summary = evidence.agreement
    bound = report.rules.agreement[evidence.cue_kind]  # type: ignore[index]
    published, conflict = PUBLISHED.get(evidence.cue_kind, (None, None))
    lowest = sorted(
        (item for item in evidence.items if item.agreement is not None),
        key=lambda item: (item.agreement, item.accuracy, item.sha256),
    )[:N_LOWEST]
    names = list(evidence.confusion)
    answers = sorted({answer for row in evidence.confusion.values() for answer in row} | set(names))
    return {
        "name": evidence.cue_kind,
        "evidence": evidence,
        "summary": summary,
        "bound": bound,
        "scale": _scale(evidence, bound, published, conflict),
        "times": None if evidence.times is None else _times(evidence.times),
        "lowest": [_lowest(item, cues, folder) for item in lowest if (item.agreement or 0) < 1],
        "answers": [name for name in names if name in answers]
        + [name for name in answers if name not in names],
        "confusion": evidence.confusion,
    }


def _scale(
    evidence: CueEvidence, bound: float, published: float | None, conflict: float | None
) -> list[dict[str, Any]]:
    """Return the rows of the figure: what is at which share of the way from 0 to 1."""
    rows: list[dict[str, Any]] = []
    summary = evidence.agreement
    if summary is not None and summary.kappa.value is not None:
        ci = summary.ci
        rows.append(
            {
                "label": "this set",
                "value": summary.kappa.value,
                "lower": ci.lower if ci else None,
                "upper": ci.upper if ci else None,
                "own": True,
            }
        )
    for label, value in (("REFINED-BIAS, as published", published), ("cue-conflict, as published", conflict)):
        if value is not None:
            rows.append({"label": label, "value": value, "lower": None, "upper": None, "own": False})
    return [{**row, "bound": bound} for row in rows]


def _times(times: TimeEvidence) -> dict[str, Any]:
    """Return the bars of the histogram, in percent of the tallest, with their labels in s."""
    step, most = times.step_ms / 1000, max(times.counts)
    last = len(times.counts) - 1
    return {
        "quartiles": [value / 1000 for value in times.quartiles_ms],
        "bars": [
            {
                "percent": round(100 * n / most, 1),
                "n": n,
                "label": f"{step * place:g} s and more"
                if place == last
                else f"{step * place:g} to {step * (place + 1):g} s",
            }
            for place, n in enumerate(times.counts)
        ],
        "middle": f"{step * (last + 1) / 2:g}",
        "last": f"{step * last:g}",
    }


def _lowest(item: ItemEvidence, cues: dict[str, CueRecord], folder: str) -> dict[str, Any]:
    cue = cues.get(item.sha256)
    picture = None
    if cue is not None and cue.file_name is not None:
        image = decode_picture(storage.join(folder, cue.file_name), "RGB")
        picture = None if image is None else cue_picture(image, PICTURE_PX, lossless=False)
    answers = sorted(item.answers.items(), key=lambda entry: (-entry[1], entry[0]))
    return {"item": item, "picture": picture, "answers": answers}
