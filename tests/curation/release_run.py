"""A small run with pictures and answers that pass lenient rules, for the tests of releases."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from curation.gate import GateInput, run_gate
from curation.gate_rules import GateRules
from curation.gate_source import GateSource
from curation.power import Crowd, Design
from curation.rating_records import AdjudicationRecord, ResponseRecord
from curation.release import Previous, ReleaseRequest, prepare_release, write_release
from curation.release_content import About, read_release
from curation.release_sums import SIGNATURE, SUMS, dump_sums, file_sha256, read_sums, release_id
from curation.screening import ExclusionRules
from data_manifests.jsonl import write_records
from data_manifests.records import CueKind, CueRecord
from generation.cue_files import encode_png
from generation.hashing import pixel_sha256
from tests.curation.gate_data import ZERO, digest, make_responses, make_review
from tests.curation.review_run import SIDE_PX, draw

DATE = "2026-11-30"

RULES = GateRules.model_validate(
    {
        "name": "lenient",
        "agreement": {"shape": 0.5, "texture": 0.5},
        "correctness": {"shape": 0.5, "texture": 0.5},
        "per_class": {"min_kappa": 0.2},
        "volume": {
            "min_participants": 6,
            "min_images_per_cue": 15,
            "min_images_per_class": 3,
            "min_median_ratings": 3,
        },
        "robustness": {"max_leave_one_out_range": 0.5},
        "review": {"min_ac1_lower_bound": 0.2, "min_known_bad": 10},
    }
)


def make_run(folder: Path) -> GateSource:
    """Write a run of 20 shape and 20 texture cues of four classes each; return the answers of 8 people to them."""
    kinds: tuple[CueKind, ...] = ("shape", "texture")
    design, crowd = Design(20, 4, 8, 10), Crowd(4, careless_share=0)
    parts = [make_responses(kind, design, 0.0, crowd, seed) for seed, kind in enumerate(kinds)]
    drawn = {cue.sha256: _draw(folder, cue) for part in parts for cue in part[0]}
    cues = list(drawn.values())
    responses = [
        _as_recorded(row, number, drawn[row.sha256].sha256 or "")
        for number, row in enumerate(row for part in parts for row in part[2])
    ]
    sources = [source for part in parts for source in part[1]]
    write_records(str(folder / "cues.jsonl"), cues)
    write_records(str(folder / "sources.jsonl"), sources)
    recipe = f'name = "small"\n\n[mask]\nsegmenters = ["folder:{folder}/masks", "grabcut"]\n'
    (folder / "recipe.toml").write_text(recipe, encoding="utf-8")
    decision = AdjudicationRecord(
        campaign="review",
        sha256=cues[0].sha256 or "",
        cue_kind=cues[0].cue_kind,
        round=1,
        adjudicator="eve",
        answer="accept",
        rationale="Eve finds it clear",
        votes_sha256=ZERO,
        decided_at=f"{DATE}T12:34:56.789Z",
    )
    data = GateInput(
        cues=tuple(cues),
        sources=tuple(sources),
        responses=tuple(responses),
        verdicts=tuple(make_review(cues)),
        adjudications=(decision,),
        rules=RULES,
        exclusions=ExclusionRules(same_min_run=None, same_max_share=None),
        n_check_failures={"P001": 1},
    )
    return GateSource(data, (), {"rejected": 3})


def _draw(folder: Path, cue: CueRecord) -> CueRecord:
    """Write the picture of a cue and return its row with the hashes of it."""
    image = draw(cue.cue_id)
    data = encode_png(image)
    path = folder / (cue.file_name or "")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return cue.model_copy(
        update={
            "sha256": file_sha256(str(path)),
            "pixel_sha256": pixel_sha256(image),
            "width": SIDE_PX,
            "height": SIDE_PX,
            "segmenter": f"folder:{folder}/masks",
            "mask_file_name": "masks/1.png",
            "wnids": ("n04548280",),
        }
    )


def _as_recorded(row: ResponseRecord, number: int, sha256: str) -> ResponseRecord:
    """Return a response with all that the record knows of it."""
    return row.model_copy(
        update={
            "sha256": sha256,
            "note": "I know the owner of this dog",
            "client_utc": f"{DATE}T08:00:00.{number:03d}Z",
            "server_utc": f"{DATE}T08:00:01.{number:03d}Z",
            "session": digest(f"tab {row.rater}")[:16],
            "event_id": digest(f"event {number}")[:32],
        }
    )


def request(version: str = "1.0.0", **options: Any) -> ReleaseRequest:
    return ReleaseRequest(version=version, date=DATE, about=About(), code="0.1.0", **options)


def publish(
    source: GateSource,
    run: Path,
    out: Path,
    chosen: ReleaseRequest | None = None,
    previous: Path | None = None,
) -> str:
    """Write a release and return its id."""
    before = None if previous is None else previous_of(previous)
    content = prepare_release(source, str(run), chosen or request(), before)
    return write_release(content, run_gate(content.data, content.meta.code), str(out))


def previous_of(folder: Path) -> Previous:
    return Previous(read_release(str(folder)), release_id(read_sums(str(folder))[0]))


def simulated(source: GateSource) -> GateSource:
    return replace(source, data=replace(source.data, simulated=True))


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def sign_off(folder: Path) -> None:
    """Write SHA256SUMS again, as one would who hides a change."""
    names = files_of(folder).keys() - {SUMS, SIGNATURE}
    (folder / SUMS).write_bytes(dump_sums({name: file_sha256(str(folder / name)) for name in names}))


def edit_row(path: Path, number: int, **changes: object) -> None:
    """Change fields of one row of a JSONL file, its form kept."""
    lines = path.read_text(encoding="utf-8").splitlines()
    row = {**json.loads(lines[number - 1]), **changes}
    lines[number - 1] = json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
