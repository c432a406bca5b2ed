"""The gallery: one page, `gallery.html`, that shows a whole run and works from disk without a network."""

from __future__ import annotations

import base64
import hashlib
import html
import logging
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from importlib.resources import files
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from data_manifests.errors import CuebenchError
from data_manifests.jsonl import canonical_json, read_records
from data_manifests.records import OK, CueRecord, SourceRecord
from data_manifests.shipped import read_toml
from data_manifests.storage import exists, join, read_bytes, write_bytes
from generation.gallery_pictures import cue_picture, decode_picture, mask_outline, photograph_picture
from generation.gallery_rows import Row, cue_state, first_of_each_group, make_rows, rows_of_classes
from generation.outcome import CUE_FLAGS, SOURCE_FLAGS, Unavailable
from generation.photograph import decode_photograph
from generation.shape_quality import SHAPE_QUALITY
from generation.texture_quality import TEXTURE_QUALITY

_log = logging.getLogger(__name__)

GALLERY_NAME = "gallery.html"
# A browser on a small machine takes seconds to open more.
LARGE_PAGE_BYTES = 60_000_000

LoadPhotograph = Callable[[SourceRecord], npt.NDArray[np.uint8] | None]
"""Returns the upright photograph of a record, (H, W, 3) uint8 sRGB, or None where it can't be had."""

_SOURCE_FACTS = (
    *("source_id", "file_name", "width", "height", "format", "mode", "origin", "source_item", "landing_url"),
    *("source_url", "author", "title", "license_spdx", "license_url", "attribution_text"),
    *("redistributable", "retrieved_at"),
)
_CUE_FACTS = (
    *("cue_id", "file_name", "sha256", "width", "height", "grid", "variant", "status", "status_detail"),
    *("flags", "seed", "generator_version", "recipe_sha256", "origin_file_name"),
)
_MASK_FACTS = ("mask_sha256", "mask_file_name", "segmenter", "mask_reason", "mask_candidates")


class GalleryParams(BaseModel):
    """How large the page may grow.

    Attributes
    ----------
    photograph_px
        Longer side of the photographs in the page, in pixels.
    cue_px
        Longer side of the cues in the page, in pixels; larger cues are reduced to it.
    n_lossless_cues
        With more cues than this in the page, their pictures are compressed with loss.
    max_cue_pictures
        With more cues than this in the run, only the first photographs of each class come with pictures;
        the others are listed with all of their facts, and their cues can be opened from the run folder.
    max_sources
        With more photographs than this in the run, only the first ones of each class are listed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    photograph_px: Annotated[int, Field(ge=64, le=1024)] = 224
    cue_px: Annotated[int, Field(ge=64, le=2048)] = 224
    n_lossless_cues: Annotated[int, Field(ge=0)] = 400
    max_cue_pictures: Annotated[int, Field(ge=1)] = 1000
    max_sources: Annotated[int, Field(ge=1)] = 10_000


def write_gallery(
    run_url: str,
    load_photograph: LoadPhotograph | None = None,
    params: GalleryParams | None = None,
    classes: Collection[str] = (),
) -> str:
    """Write `gallery.html` into a run folder and return its URL. The same run gives the same bytes.

    With `classes` only these superclasses are in the page, whose name is then `gallery-CLASS-CLASS.html`.

    Parameters
    ----------
    run_url
        The run folder: `recipe.toml`, `sources.jsonl`, `cues.jsonl`, masks and cues.
    load_photograph
        Returns the upright photograph of a source, (H, W, 3) uint8 sRGB; None shows a placeholder. By
        default: `read_photograph` with file names relative to the run folder.
    params
        How large the page may grow.
    classes
        Superclasses to show; all, if there are none.

    Raises
    ------
    CuebenchError
        If the folder holds no run or an unfinished one, has none of a superclass, one of the manifests can't
        be read, or the page can't be written. A missing mask or cue file is no error: the page says so in
        its place.
    """
    _check_run(run_url)
    params = params or GalleryParams()
    load_photograph = load_photograph or partial(read_photograph, run_url)
    _, recipe = read_toml(join(run_url, "recipe.toml"), "recipes")
    rows = make_rows(
        read_records(join(run_url, "sources.jsonl"), SourceRecord),
        read_records(join(run_url, "cues.jsonl"), CueRecord),
    )
    rows = rows_of_classes(rows, classes, run_url)
    listed = first_of_each_group(rows, params.max_sources, lambda _: 1)
    pictured = first_of_each_group(listed, params.max_cue_pictures, lambda row: len(row.cues))
    with_picture = {id(row) for row in pictured}
    lossless = sum(len(row.cues) for row in pictured) <= params.n_lossless_cues
    pictures = {
        index: _row_pictures(row, run_url, load_photograph, params, lossless=lossless)
        for index, row in enumerate(listed)
        if id(row) in with_picture
    }
    _warn_of_gaps(pictured, list(pictures.values()))
    data = {
        "run": _run_facts(run_url, recipe, rows),
        "groups": _group_counts(rows),
        "limits": recipe.get("limits", {}),
        "flag_meanings": {**SOURCE_FLAGS, **CUE_FLAGS},
        "meanings": {**SHAPE_QUALITY, **TEXTURE_QUALITY},
        "notices": _notices(rows, listed, pictured, lossless=lossless),
        "cards": [_card(row, has_pictures=index in pictures) for index, row in enumerate(listed)],
    }
    url = join(run_url, "-".join(["gallery", *sorted(set(classes))]) + ".html")
    write_bytes(url, _render_page(data, pictures).encode())
    return url


def _check_run(run_url: str) -> None:
    for name, missing in (
        ("recipe.toml", "holds no run; name the folder that was the --out of `generate`"),
        ("sources.jsonl", "holds no run; name the folder that was the --out of `generate`"),
        ("cues.jsonl", "the run is not finished; the same `generate` command goes on with it"),
    ):
        if not exists(join(run_url, name)):
            raise CuebenchError(f"{run_url}: {missing} ({name} is missing)")


def read_photograph(base: str, source: SourceRecord) -> npt.NDArray[np.uint8] | None:
    """Return the upright photograph of a record, (H, W, 3) uint8 sRGB; its name is relative to `base`.

    None (logged as info) where the file is gone, is no longer the one of the record, or can't be decoded.
    """
    url = join(base, source.file_name)
    try:
        data = read_bytes(url)
    except CuebenchError as error:
        _log.info("%s; left out of the gallery", error)
        return None
    if hashlib.sha256(data).hexdigest() != source.source_id:
        _log.info("%s: not the bytes of the manifest; left out of the gallery", url)
        return None
    photograph = decode_photograph(data, source.file_name)
    if isinstance(photograph, Unavailable):
        _log.info("%s: %s; left out of the gallery", url, photograph.detail)
        return None
    return photograph.image


def _run_facts(run_url: str, recipe: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    cues = [cue for row in rows for cue in row.cues]
    return {
        "folder": run_url.rstrip("/").rpartition("/")[2],
        "recipe": str(recipe.get("name", "")),
        "recipe_sha256": sorted({cue.recipe_sha256 for cue in cues}),
        "generator_version": sorted({cue.generator_version for cue in cues}),
        "segmenter": sorted({cue.segmenter for cue in cues if cue.segmenter}),
        "side_px": recipe.get("side_px"),
        "seed": recipe.get("seed"),
        "n_sources": len(rows),
        "n_cues": len(cues),
    }


def _group_counts(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the counts of each kind and class over the whole run."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in rows:
        counter = counts[row.group]
        counter["n_sources"] += 1
        counter.update(cue_state(cue) for cue in row.cues)
        counter["none"] += not row.cues
    names = ("n_sources", OK, "flagged", "failed", "none")
    return [
        {"kind": kind, "superclass": superclass, **{name: counter[name] for name in names}}
        for (kind, superclass), counter in sorted(counts.items())
    ]


def _notices(
    rows: Sequence[Row], listed: Sequence[Row], pictured: Sequence[Row], *, lossless: bool
) -> list[str]:
    notices = []
    pick = "the same number of each class, those with a flag or a failure first, up to half"
    if len(listed) < len(rows):
        notices.append(
            f"This run has {len(rows):,} photographs; the page lists {len(listed):,} of them ({pick}). "
            "The counts by class are of the whole run."
        )
    if len(pictured) < len(listed):
        notices.append(
            f"{len(pictured):,} of {len(listed):,} photographs come with pictures ({pick}). "
            "The others are listed with their numbers; their cues open from the run folder."
        )
    if not lossless:
        notices.append("Cues are compressed with loss in this page; the files in the run folder are exact.")
    return notices


def _card(row: Row, *, has_pictures: bool) -> dict[str, Any]:
    kind, superclass = row.group
    masked = next((cue for cue in row.cues if cue.mask_file_name or cue.mask_reason), None)
    return {
        "kind": kind,
        "superclass": superclass,
        "source": _facts(row.source, _SOURCE_FACTS),
        "status": row.source.status if row.source else "not-listed",
        "status_detail": row.source.status_detail
        if row.source
        else "The photograph is not in sources.jsonl.",
        "flags": list(row.source.flags) if row.source else [],
        "mask": _facts(masked, _MASK_FACTS),
        "cues": [
            {**_facts(cue, _CUE_FACTS), "state": cue_state(cue), "quality": _rounded(cue.quality)}
            for cue in row.cues
        ],
        "has_pictures": has_pictures,
    }


def _facts(record: BaseModel | None, names: Sequence[str]) -> dict[str, Any]:
    """Return the fields that say something, as JSON types; the seed as text, for it exceeds a double."""
    if record is None:
        return {}
    content = record.model_dump(mode="json", include=set(names))
    if "seed" in content:
        content["seed"] = str(content["seed"])
    return {name: value for name, value in content.items() if value not in (None, "", [])}


def _rounded(quality: Mapping[str, float]) -> dict[str, float]:
    return {name: float(f"{value:.4g}") for name, value in quality.items()}


def _row_pictures(
    row: Row, run_url: str, load_photograph: LoadPhotograph, params: GalleryParams, *, lossless: bool
) -> dict[str, Any]:
    """Return the pictures of a card: data URIs, None where there is none, and the outline of its mask."""
    photograph = load_photograph(row.source) if row.source and row.source.status == OK else None
    mask_name = next((cue.mask_file_name for cue in row.cues if cue.mask_file_name), None)
    mask = decode_picture(join(run_url, mask_name), "L") if mask_name else None
    cues = [
        decode_picture(join(run_url, cue.file_name), "RGB") if cue.file_name else None for cue in row.cues
    ]
    return {
        "photograph": None if photograph is None else photograph_picture(photograph, params.photograph_px),
        "outline": None if mask is None else mask_outline(mask > 127, 2 * params.photograph_px),
        "cues": [None if cue is None else cue_picture(cue, params.cue_px, lossless=lossless) for cue in cues],
    }


def _warn_of_gaps(rows: Sequence[Row], pictures: Sequence[Mapping[str, Any]]) -> None:
    """Log one line on what the run should have had and the page can't show."""
    gaps: Counter[str] = Counter()
    for row, shown in zip(rows, pictures, strict=True):
        usable = row.source is not None and row.source.status == OK
        gaps["photographs"] += usable and shown["photograph"] is None
        gaps["masks"] += any(cue.mask_file_name for cue in row.cues) and shown["outline"] is None
        gaps["cues"] += sum(
            picture is None for cue, picture in zip(row.cues, shown["cues"], strict=True) if cue.file_name
        )
    if gaps.total():
        text = ", ".join(f"{name}: {number}" for name, number in gaps.items() if number)
        _log.warning("files missing or unreadable (%s); the gallery says so in their places", text)


def _render_page(data: Mapping[str, Any], pictures: Mapping[int, Mapping[str, Any]]) -> str:
    package = files("generation")
    style, script, page = (
        package.joinpath(f"gallery_page.{suffix}").read_text(encoding="utf-8")
        for suffix in ("css", "js", "html")
    )
    blocks = (_json_block(f"pictures-{index}", content) for index, content in pictures.items())
    parts = {
        "title": html.escape(f"{data['run']['recipe']} - {data['run']['folder']} - cuebench gallery"),
        "style_hash": _csp_hash(style),
        "script_hash": _csp_hash(script),
        "style": style,
        "script": script,
        "data": "\n".join([_json_block("data", data), *blocks]),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], page)


def _json_block(name: str, content: object) -> str:
    # Without `<`, no text of a user can end the block.
    text = canonical_json(content).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>'


def _csp_hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
