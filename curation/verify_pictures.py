"""Whether the pictures of a release, their names, their labels and their manifest say the same."""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
from PIL import Image

from curation.release_content import CUES, ReleaseContent, picture_name
from curation.release_tables import metadata_name
from data_manifests import storage
from data_manifests.errors import CuebenchError
from data_manifests.records import CueKind, CueRecord
from generation.hashing import pixel_sha256

FindingRow = tuple[str, str, str]


def picture_findings(url: str, content: ReleaseContent) -> Iterator[FindingRow]:
    """Yield (kind, where, detail) of everything on which pictures, folders, metadata and manifest differ."""
    cues = content.data.cues
    for name, n in sorted(Counter(cue.cue_id for cue in cues).items()):
        if n > 1:
            yield "manifest", CUES, f"{n} rows for cue {name}"
    named = {cue.file_name or "": cue for cue in cues}
    there = {
        name for name in storage.list_files(url) if name.startswith("data/") and not name.endswith(".jsonl")
    }
    for name in sorted(there - named.keys()):
        yield "manifest", name, f"{CUES} has no row for this file"
    for name, cue in sorted(named.items()):
        if name not in there:
            yield "manifest", CUES, f"the row of {cue.cue_id} names {name}, which is not there"
        else:
            yield from _pixel_findings(url, name, cue)
        if name != picture_name(cue):
            yield "label", name, f"{CUES} says that it is {_label(cue)}: expected {picture_name(cue)}"
    yield from _source_findings(content)
    for kind in content.cues_by_kind:
        yield from _metadata_findings(url, kind, [cue for cue in cues if cue.cue_kind == kind])


def _label(cue: CueRecord) -> str:
    return f"{cue.cue_kind}/{cue.superclass}"


def _pixel_findings(url: str, name: str, cue: CueRecord) -> Iterator[FindingRow]:
    data = storage.read_bytes(storage.join(url, name))
    found = hashlib.sha256(data).hexdigest()
    try:
        with Image.open(io.BytesIO(data)) as picture:
            size, pixels = picture.size, pixel_sha256(np.asarray(picture))
    except (OSError, ValueError, SyntaxError) as error:
        yield "pixels", name, f"it can't be decoded ({error})"
        return
    is_same = cue.pixel_sha256 is None or pixels == cue.pixel_sha256
    if not is_same:
        yield (
            "pixels",
            name,
            f"the pixels are others than {CUES} says ({pixels}, expected {cue.pixel_sha256})",
        )
    if found != cue.sha256:
        same = "; the pixels are the same" if is_same and cue.pixel_sha256 else ""
        yield "file", name, f"its SHA-256 is {found}, {CUES} says {cue.sha256}{same}"
    if (cue.width, cue.height) != size:
        yield "pixels", name, f"it is {size[0]} x {size[1]} px, {CUES} says {cue.width} x {cue.height}"


def _source_findings(content: ReleaseContent) -> Iterator[FindingRow]:
    classes: dict[str, set[str]] = {}
    for source in content.data.sources:
        classes.setdefault(source.source_id, set()).add(f"{source.cue_kind}/{source.superclass}")
    for cue in content.data.cues:
        for parent in cue.parent_source_ids:
            if parent in classes and _label(cue) not in classes[parent]:
                listed = ", ".join(sorted(classes[parent]))
                yield (
                    "label",
                    cue.file_name or "",
                    f"it is {_label(cue)}, and its photograph {parent} is {listed}",
                )


def _metadata_findings(url: str, kind: CueKind, cues: Iterable[CueRecord]) -> Iterator[FindingRow]:
    """Yield where the rows for Hugging Face and the manifest differ: one row a picture, with its class."""
    table = metadata_name(kind)
    try:
        lines = storage.read_bytes(storage.join(url, table)).decode().splitlines()
        rows = [(str(row["file_name"]), str(row["label"])) for row in map(json.loads, lines)]
    except (CuebenchError, ValueError, KeyError, TypeError) as error:
        yield "unreadable", table, f"expected rows with `file_name` and `label` ({error})"
        return
    expected = {f"{cue.superclass}/{cue.cue_id}.png": cue.superclass for cue in cues}
    for name, n in sorted(Counter(name for name, _ in rows).items()):
        if n > 1:
            yield "manifest", table, f"{n} rows for {name}"
    labels = dict(rows)
    for name in sorted(expected.keys() | labels.keys()):
        if name not in labels:
            yield "manifest", table, f"no row for {name}: the loader would leave it out without a word"
        elif name not in expected:
            yield "manifest", table, f"a row for {name}, which {CUES} does not have"
        elif labels[name] != expected[name]:
            yield "label", f"data/{kind}/{name}", f"{table} calls it {labels[name]}, {CUES} {expected[name]}"
