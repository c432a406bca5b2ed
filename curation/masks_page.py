"""The picks of a class-aware choice as one self-contained page: photographs with outlines, the doubtful first."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from curation.class_aware_choice import NOT_SEEN
from curation.mask_candidates import read_photograph
from curation.masks_run import JudgedSource, MaskJob, MaskRun, Show
from data_manifests.records import SourceRecord
from data_manifests.storage import join, write_bytes
from generation.gallery_pictures import decode_picture, mask_outline, photograph_picture
from generation.masks import mask_file_name
from generation.outcome import Unavailable

PAGE = "masks.html"
PHOTOGRAPH_PX = 240
# 12 kB each: a page of 10 MB still opens at once.
MAX_PHOTOGRAPHS = 800


def write_masks_page(job: MaskJob, run: MaskRun, show: Show) -> str:
    """Write `masks.html` beside the picks and return its URL. The same picks and photographs give the same bytes."""
    ordered = sorted(run.judged, key=lambda pair: _rank(pair[1]))
    shown = ordered[:MAX_PHOTOGRAPHS]
    cards = []
    for number, pair in enumerate(shown, start=1):
        cards.append(_card(job, *pair))
        show(number, len(shown))
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    source = files("curation").joinpath("masks_page.html").read_text(encoding="utf-8")
    page = environment.from_string(source).render(
        model=str(job.spec),
        segmenters=", ".join(job.recipe.mask.segmenters),
        n_all=len(ordered),
        cards=cards,
    )
    url = join(job.out, PAGE)
    write_bytes(url, page.encode())
    return url


def _rank(judged: JudgedSource) -> int:
    """Return the place of a photograph: without a mask, class not seen, another doubt, another pick, as before."""
    if judged.record is None or judged.record.mask_sha256 is None:
        return 0
    if judged.record.flags:
        return 1 if NOT_SEEN in judged.record.flags else 2
    return 3 if judged.differs else 4


def _card(job: MaskJob, source: SourceRecord, judged: JudgedSource) -> dict[str, Any]:
    photograph = read_photograph(join(job.photos, source.file_name), source.source_id)
    record = judged.record
    return {
        "title": f"{source.cue_kind} · {source.superclass}",
        "file_name": source.file_name.rpartition("/")[2],
        "picture": None
        if isinstance(photograph, Unavailable)
        else photograph_picture(photograph.image, PHOTOGRAPH_PX),
        "pick": _outline(job, record.mask_sha256 if record else None),
        "plain": _outline(job, judged.plain_sha256) if judged.differs else None,
        "segmenter": record.segmenter if record else "",
        "reason": judged.problem or (record.reason if record else ""),
        "flags": record.flags if record else (),
    }


def _outline(job: MaskJob, digest: str | None) -> dict[str, Any] | None:
    mask = None if digest is None else decode_picture(join(job.out, mask_file_name(digest)), "L")
    return None if mask is None else mask_outline(mask > 127, 2 * PHOTOGRAPH_PX)
