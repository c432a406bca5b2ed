"""Other forms of a release: one reproducible tar, WebDataset shards, Parquet twins of the tables."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from curation.release_content import (
    ADJUDICATIONS,
    CUES,
    RESPONSES,
    SOURCES,
    VERDICTS,
    ReleaseContent,
    picture_name,
)
from curation.release_sums import SIGNATURE, SUMS, read_sums
from data_manifests import storage
from data_manifests.errors import CuebenchError
from data_manifests.jsonl import SortableRecord, canonical_json
from data_manifests.records import CueRecord

SHARD_SIZE = 1000

_CHUNK = 2**20

Write = Callable[[str, bytes], None]


def write_tar(release: str, path: str, *, folder: str, date: str) -> str:
    """Write a release as an uncompressed tar and return its SHA-256.

    USTAR, names sorted, no owner, one mode, the time of every file the release's day: the same release gives the same
    bytes. PNG is compressed already, and gzip differs between versions of zlib.

    Parameters
    ----------
    folder : the one folder in the tar
    date : YYYY-MM-DD

    Raises
    ------
    CuebenchError
        If there is such a file.
    """
    if storage.exists(path):
        raise CuebenchError(f"{path}: is there already; delete it, or choose another --tar")
    _, sums = read_sums(release)
    names = [*sums, SUMS, *([SIGNATURE] if storage.exists(storage.join(release, SIGNATURE)) else [])]
    with (
        fsspec.open(path, "wb", auto_mkdir=True) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name in sorted(names, key=str.encode):
            _add(archive, f"{folder}/{name}", storage.read_bytes(storage.join(release, name)), date)
    digest = hashlib.sha256()
    with fsspec.open(path, "rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _add(archive: tarfile.TarFile, name: str, data: bytes, date: str) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    member.mode = 0o644
    member.mtime = int(datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp())
    archive.addfile(member, io.BytesIO(data))


def write_shards(content: ReleaseContent, write: Write, release: str) -> None:
    """Write `webdataset/<kind>-<number>.tar`: of each picture `.png`, `.cls` (number of its class) and `.json`.

    Keys begin with the kind, so that none occurs twice in the whole release; their order is that of the cue ids, which
    are hashes: neighbours are of different classes.
    """
    for kind, cues in content.cues_by_kind.items():
        classes = sorted({cue.superclass for cue in cues})
        ordered = sorted(cues, key=lambda cue: cue.cue_id)
        for number, start in enumerate(range(0, len(ordered), SHARD_SIZE)):
            buffer = io.BytesIO()
            with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
                for cue in ordered[start : start + SHARD_SIZE]:
                    for suffix, data in _sample(cue, classes, release):
                        _add(archive, f"{kind}_{cue.cue_id}.{suffix}", data, content.meta.date)
            write(f"webdataset/{kind}-{number:06d}.tar", buffer.getvalue())


def _sample(cue: CueRecord, classes: list[str], release: str) -> Iterator[tuple[str, bytes]]:
    yield "cls", str(classes.index(cue.superclass)).encode()
    yield (
        "json",
        canonical_json({"label": cue.superclass, "cue_id": cue.cue_id, "wnids": list(cue.wnids)}).encode(),
    )
    yield "png", storage.read_bytes(storage.join(release, picture_name(cue)))


def write_parquet(content: ReleaseContent, write: Write) -> None:
    """Write a Parquet twin of every table, in canonical order; what is nested in a row is JSON text.

    Another version of pyarrow writes other bytes for the same rows: what counts are the JSONL files.
    """
    data = content.data
    tables: dict[str, Iterable[SortableRecord]] = {
        CUES: data.cues,
        SOURCES: data.sources,
        RESPONSES: data.responses,
        VERDICTS: data.verdicts,
        ADJUDICATIONS: data.adjudications,
    }
    for name, records in tables.items():
        rows = [record.model_dump(mode="json") for record in sorted(records, key=lambda row: row.sort_key)]
        if rows:
            stem = name.rpartition("/")[2].removesuffix(".jsonl")
            write(f"parquet/{stem}.parquet", _parquet(rows))


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    plain = [
        {
            name: canonical_json(value) if isinstance(value, list | dict) else value
            for name, value in row.items()
        }
        for row in rows
    ]
    table = pa.Table.from_pylist(plain)
    # a column without any value would have no type
    fields = [
        field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in table.schema
    ]
    sink = pa.BufferOutputStream()
    pq.write_table(table.cast(pa.schema(fields)), sink)
    return bytes(sink.getvalue().to_pybytes())
