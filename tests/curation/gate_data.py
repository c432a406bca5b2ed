"""A cue set and the answers to it, made by a program: input of the gate without a database."""

from __future__ import annotations

import hashlib

import numpy as np

from curation.gate import GateInput
from curation.gate_rules import GateRules
from curation.power import Crowd, Design, simulate
from curation.rating_records import AdjudicationRecord, ResponseRecord, VerdictRecord
from curation.screening import ExclusionRules
from data_manifests.records import CueKind, CueRecord, SourceRecord

ZERO = "0" * 64


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def make_source(name: str, superclass: str, kind: CueKind, license_spdx: str = "CC-BY-4.0") -> SourceRecord:
    return SourceRecord(
        source_id=digest(name),
        n_bytes=1,
        file_name=f"{name}.jpg",
        superclass=superclass,
        cue_kind=kind,
        license_spdx=license_spdx,
    )


def make_cue(name: str, superclass: str, kind: CueKind) -> CueRecord:
    return CueRecord(
        cue_id=digest(name)[:32],
        cue_kind=kind,
        superclass=superclass,
        file_name=f"cues/{kind}/{superclass}/{name}.png",
        sha256=digest(f"file {name}"),
        pixel_sha256=digest(f"pixels {name}"),
        width=224,
        height=224,
        grid=4 if kind == "texture" else None,
        variant=0 if kind == "texture" else None,
        parent_source_ids=(digest(name),),
        recipe_sha256=ZERO,
        generator_version="0",
        seed=0,
    )


def make_responses(
    kind: CueKind, design: Design, hard_share: float, crowd: Crowd, seed: int = 0
) -> tuple[list[CueRecord], list[SourceRecord], list[ResponseRecord]]:
    """Return a cue of each item of a simulated study, its photograph, and all responses."""
    ratings = simulate(design, hard_share, crowd, np.random.default_rng(seed))
    classes = [f"{kind}_{index}" for index in range(crowd.n_categories)]
    truth = ratings.counts.argmax(1)
    names = [f"{kind}-{index:04d}" for index in range(design.n_items)]
    cues = [make_cue(name, classes[k], kind) for name, k in zip(names, truth, strict=True)]
    sources = [make_source(name, classes[k], kind) for name, k in zip(names, truth, strict=True)]
    positions: dict[int, int] = {}
    responses = []
    for item, rater, category in zip(ratings.item, ratings.rater, ratings.category, strict=True):
        cue, position = cues[item], positions.get(int(rater), 0)
        positions[int(rater)] = position + 1
        responses.append(
            ResponseRecord(
                campaign="study",
                protocol_sha256=ZERO,
                rater=f"P{rater:03d}",
                sha256=cue.sha256 or "",
                cue_kind=kind,
                superclass=cue.superclass,
                grid=cue.grid,
                role="main",
                block=0 if kind == "shape" else 1,
                position=position,
                answer=classes[category],
                rt_ms=700 + int(rater) % 90,
                choices=tuple(classes),
                expected=cue.superclass,
                reached=True,
                n_events=1,
            )
        )
    return cues, sources, responses


def make_verdict(cue: CueRecord, rater: str, answer: str | None = "accept", **other: object) -> VerdictRecord:
    fields = {
        "campaign": "review",
        "protocol_sha256": ZERO,
        "rater": rater,
        "sha256": cue.sha256,
        "cue_kind": cue.cue_kind,
        "superclass": cue.superclass,
        "role": "main",
        "position": 0,
        "answer": answer,
        **other,
    }
    return VerdictRecord.model_validate(fields)


def make_review(cues: list[CueRecord]) -> list[VerdictRecord]:
    """Return verdicts that pass: everything accepted, every fifth twice, 30 planted defects of which one passed."""
    verdicts = [make_verdict(cue, "ann") for cue in cues]
    verdicts += [make_verdict(cue, "bob") for cue in cues[::5]]
    for index in range(30):
        bad = make_cue(f"bad-{index}", cues[0].superclass, cues[0].cue_kind)
        verdicts.append(
            make_verdict(bad, "ann", "reject" if index else "accept", role="known_bad", position=index)
        )
    return verdicts


def make_input(
    *,
    hard_share: float = 0.01,
    design: Design | None = None,
    rules: GateRules | None = None,
    adjudications: tuple[AdjudicationRecord, ...] = (),
) -> GateInput:
    """Return the input of a set that passes by default: shape and texture, 440 pictures each, 88 people."""
    design = design or Design(440, 10, 88, 50)
    kinds: tuple[CueKind, ...] = ("shape", "texture")
    crowd = Crowd(careless_share=0)
    parts = [make_responses(kind, design, hard_share, crowd, seed) for seed, kind in enumerate(kinds)]
    cues = [cue for part in parts for cue in part[0]]
    return GateInput(
        cues=tuple(cues),
        sources=tuple(source for part in parts for source in part[1]),
        responses=tuple(row for part in parts for row in part[2]),
        verdicts=tuple(make_review(cues)),
        adjudications=adjudications,
        rules=rules or GateRules(name="default"),
        exclusions=ExclusionRules(),
        n_check_failures={},
    )
