"""What the cards and the metadata of a release say in words, from its numbers and from what its makers stated."""

from __future__ import annotations

from dataclasses import dataclass

from curation.gate import GateReport
from curation.gate_checks import percent
from curation.gate_evidence import CueEvidence
from curation.release_content import LICENSES, ReleaseContent

SIMULATED = (
    "SIMULATED: the answers in this release were made by a program. They say nothing about its pictures; do not cite "
    "its numbers."
)

_LIMITATIONS = (
    "Agreement was measured on the pictures that participants saw; the others were accepted by reviewers alone. A cue "
    "says what people recognise in isolation, not what they use in whole photographs."
)
_BIASES = (
    "The photographs, and who reviewed and took part, decide what counts as typical of a class. Pictures that "
    "reviewers rejected were left out, which favours typical views."
)
_USES = (
    "Measuring the sensitivity of vision models to shape and texture. Not for training models that are then measured "
    "on it, and not for conclusions about the people who answered."
)
_IMPACT = "Helps to see what a model relies on. A high score does not make a model safe or fair."

# licences that the Hub of Hugging Face knows by the same id in lower case
_HUB_LICENSES = frozenset(
    {
        "apache-2.0", "cc0-1.0", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0",
        "cc-by-nc-2.0", "cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nc-sa-2.0", "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0",
        "cc-by-nc-nd-4.0", "cc-by-nd-4.0", "mit", "odbl", "pddl", "unlicense",
    }
)  # fmt: skip


@dataclass(frozen=True)
class ReleaseTexts:
    """One paragraph for each question; `license_id` is that of the Hub, `other` where photographs differ."""

    title: str
    summary: str
    citation: str
    license_id: str
    license_url: str
    licenses: tuple[tuple[str, int], ...]
    collection: str
    annotation: str
    analysis: str
    preprocessing: str
    limitations: str
    biases: str
    sensitive: str
    uses: str
    impact: str
    maintenance: str


def describe(content: ReleaseContent, report: GateReport) -> ReleaseTexts:
    """Return what is to be said about a release."""
    meta, about = content.meta, content.meta.about
    simulated = f"{SIMULATED} " if meta.simulated else ""
    licenses = _licenses(content)
    only = licenses[0][0].lower() if len(licenses) == 1 else ""
    is_known = only in _HUB_LICENSES
    sizes = sorted({f"{cue.width} x {cue.height}" for cue in content.data.cues})
    codes = sorted({cue.generator_version for cue in content.data.cues})
    counts = (
        " and ".join(f"{len(cues)} {kind} cues" for kind, cues in content.cues_by_kind.items()) or "no cues"
    )
    return ReleaseTexts(
        title=f"{about.title} (SIMULATED)" if meta.simulated else about.title,
        summary=simulated
        + f"{counts}, made from {len(content.data.sources)} photographs by cuebench, for measuring how far a vision "
        "model relies on shape and on texture. A shape cue shows the outline of an object and no texture, a texture "
        "cue a surface and no outline.",
        citation=about.citation
        or f"{', '.join(about.creators) or 'Unnamed authors'}: {about.title}, version {meta.version}, {meta.date[:4]}.",
        license_id=only if is_known else "other",
        license_url=f"https://spdx.org/licenses/{licenses[0][0]}.html" if is_known else LICENSES,
        licenses=licenses,
        collection=_collection(content),
        annotation=simulated + _annotation(content),
        analysis=simulated
        + " ".join(agreement_line(evidence) for evidence in report.evidence)
        + f" The gate's verdict on these answers: {report.outcome}.",
        preprocessing=f"Rendered by cuebench {', '.join(codes) or 'of no version'} to {', '.join(sizes) or 'no size'} "
        "px by the recipe in recipe.toml; every parameter, mask hash and quality number is in manifests/cues.jsonl.",
        limitations=_LIMITATIONS,
        biases=_BIASES,
        sensitive="The people who answered are known by codes that were drawn anew for this version; tabs, ids and "
        "clock times were removed"
        + (", what they wrote was kept." if meta.keeps_notes else ", and so was what they wrote.")
        + " The photographs are not part of the release.",
        uses=_USES,
        impact=_IMPACT,
        maintenance=f"Maintenance: {about.maintenance} Withdrawn pictures are listed in withdrawn.jsonl: delete your "
        f"copies of them. Contact: {about.contact}",
    )


def _annotation(content: ReleaseContent) -> str:
    about = content.meta.about
    n_people = len({row.rater for row in content.data.responses})
    n_reviewers = len({row.rater for row in content.data.verdicts})
    return (
        f"{n_reviewers} reviewers accepted or rejected cues, and {n_people} participants named the class of cues from "
        "a closed list. Every answer, how long it took and the rules of exclusion are in ratings/ and exclusions.json. "
        f"Participants: {about.participants} Consent: {about.consent} Payment: {about.payment} "
        f"Ethics review: {about.ethics_review}"
    )


def _licenses(content: ReleaseContent) -> tuple[tuple[str, int], ...]:
    counts: dict[str, int] = {}
    for source in content.data.sources:
        counts[source.license_spdx or "NOASSERTION"] = counts.get(source.license_spdx or "NOASSERTION", 0) + 1
    return tuple(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


def _collection(content: ReleaseContent) -> str:
    origins: dict[str, int] = {}
    for source in content.data.sources:
        name = source.origin or "origin not stated"
        origins[name] = origins.get(name, 0) + 1
    listed = ", ".join(f"{n} ({name})" for name, n in sorted(origins.items()))
    return (
        f"Photographs: {listed or 'none on record'}. The origin, author and licence of each is in "
        f"manifests/sources.jsonl and {LICENSES}; the photographs themselves are not part of the release."
    )


def agreement_line(evidence: CueEvidence) -> str:
    """Return one sentence on how well people agreed on a kind of cue."""
    summary = evidence.agreement
    if summary is None or summary.kappa.value is None:
        return f"{evidence.cue_kind}: Fleiss' kappa can't be estimated."
    interval = (
        f" ({percent(summary.ci.level)} interval {summary.ci.lower:.4f} to {summary.ci.upper:.4f})"
        if summary.ci
        else ""
    )
    right = (
        ""
        if evidence.accuracy is None
        else f" {evidence.accuracy:.1%} of the answers name the intended class."
    )
    return (
        f"{evidence.cue_kind}: Fleiss' kappa {summary.kappa.value:.4f}{interval} over {evidence.n_images} pictures and "
        f"{evidence.n_participants} participants.{right}"
    )
