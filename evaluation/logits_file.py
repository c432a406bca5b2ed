"""Logits from files: .npz (memory-mapped unless compressed), .npy with a table of labels beside it, Parquet."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from data_manifests.errors import CuebenchError
from data_manifests.storage import is_local, local_path, read_bytes, write_bytes
from evaluation.ranks import LogitArray

_TEXTS = ("superclass", "file_name", "source")
_WNID = re.compile(r"n\d{8}")
_GRID = re.compile(r"(?:^|/)(\d{1,3})x\1_[^/]*$")


@dataclass(frozen=True)
class LogitTable:
    """The outputs of a model for N images.

    Attributes
    ----------
    logits : (N, K) float, perhaps a memory map
    superclass : the N right answers
    wnids : the WordNet id of each column, or None where the file does not say
    file_names, sources : of each image, or None; images of one source are drawn together by the bootstrap
    own_grids : the texture grid of each image, where the file says so
    """

    where: str
    logits: LogitArray
    superclass: tuple[str, ...]
    wnids: tuple[str, ...] | None = None
    file_names: tuple[str, ...] | None = None
    sources: tuple[str, ...] | None = None
    own_grids: tuple[int | None, ...] | None = None

    @property
    def grids(self) -> list[int | None] | None:
        """The texture grid of each image, its own or by names like `16x16_broccoli_214.png`; None: none has one."""
        if self.own_grids is not None:
            return list(self.own_grids)
        if self.file_names is None:
            return None
        found = [_GRID.search(name) for name in self.file_names]
        return [int(match[1]) if match else None for match in found] if any(found) else None


def read_logits(url: str) -> LogitTable:
    """Return the logits of a file.

    `.npz`: arrays `logits` (N, K), `superclass` (N,), and perhaps `wnid` (K,), `file_name` (N,), `source` (N,),
    `grid` (N,) int (0: none).
    `.npy`: (N, K), with a CSV of the same name beside it: columns `superclass`, and perhaps `file_name`, `source`.
    `.parquet`: a column for each WordNet id, `superclass`, and perhaps `file_name`, `source`, `grid`.

    Raises
    ------
    CuebenchError
        If there is no such file, it is of another kind, an array is missing or has a shape that does not fit, a grid
        is no whole number, or a column of a Parquet file is nothing that is expected there.
    """
    if url.endswith(".npz"):
        return _read_npz(url)
    if url.endswith(".npy"):
        return _read_npy(url)
    if url.endswith(".parquet"):
        return _read_parquet(url)
    raise CuebenchError(f"{url}: expected logits in a file .npz, .npy or .parquet")


def _table(
    url: str,
    logits: LogitArray,
    superclass: Sequence[str],
    wnids: Sequence[str] | None,
    file_names: Sequence[str] | None,
    sources: Sequence[str] | None,
    grids: Sequence[int | None] | None = None,
) -> LogitTable:
    if logits.ndim != 2:
        raise CuebenchError(f"{url}: logits: expected two dimensions, images and labels, got {logits.shape}")
    columns: dict[str, Sequence[object] | None] = {
        "superclass": superclass,
        "file_name": file_names,
        "source": sources,
        "grid": grids,
    }
    for name, values in columns.items():
        if values is not None and len(values) != len(logits):
            raise CuebenchError(
                f"{url}: {name}: expected {len(logits)} values, one an image, got {len(values)}"
            )

    def texts(values: Sequence[str] | None) -> tuple[str, ...] | None:
        return None if values is None else tuple(map(str, values))

    if grids is not None and not all(grid is None or (isinstance(grid, int) and grid >= 0) for grid in grids):
        raise CuebenchError(f"{url}: grid: expected whole numbers, 0 for an image that has none")
    own_grids = None if grids is None else tuple(grid or None for grid in grids)
    return LogitTable(
        url, logits, tuple(map(str, superclass)), texts(wnids), texts(file_names), texts(sources), own_grids
    )


def write_logits(url: str, table: LogitTable) -> None:
    """Write a table as an .npz that `read_logits` reads, uncompressed, so that it can be memory-mapped."""
    columns = {
        "superclass": table.superclass,
        "wnid": table.wnids,
        "file_name": table.file_names,
        "source": table.sources,
        "grid": table.own_grids and [grid or 0 for grid in table.own_grids],
    }
    buffer = io.BytesIO()
    arrays = {name: np.asarray(values) for name, values in columns.items() if values is not None}
    np.savez(buffer, logits=table.logits, **arrays)  # type: ignore[arg-type]
    write_bytes(url, buffer.getvalue())


def _read_npz(url: str) -> LogitTable:
    content = read_bytes(url) if not is_local(url) else None
    try:
        loaded = np.load(local_path(url) if content is None else io.BytesIO(content), allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            raise CuebenchError(
                f"{url}: it holds one array alone; call it .npy, with a CSV of the labels beside it"
            )
        with loaded as arrays:
            names = set(arrays.files)
            if missing := sorted({"logits", "superclass"} - names):
                raise CuebenchError(
                    f"{url}: no array {' and no '.join(missing)}; the arrays are: {', '.join(sorted(names)) or 'none'}"
                )
            rest = {name: arrays[name] for name in names - {"logits"}}
            mapped = _mapped_member(local_path(url), "logits.npy") if content is None else None
            logits = arrays["logits"] if mapped is None else mapped
    except FileNotFoundError as error:
        raise CuebenchError(f"{url}: no such file") from error
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise CuebenchError(f"{url}: not an .npz that can be read without pickle ({error})") from error
    columns = {
        name: _column(url, name, rest[name]) if name in rest else None
        for name in ("superclass", "wnid", "file_name", "source", "grid")
    }
    return _table(url, logits, columns.pop("superclass") or [], *columns.values())


def _column(url: str, name: str, array: npt.NDArray[Any]) -> list[Any]:
    if array.ndim != 1:
        raise CuebenchError(f"{url}: {name}: expected one dimension, got {array.shape}")
    values: list[Any] = (np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array).tolist()
    return values


def _mapped_member(path: Path, member: str) -> npt.NDArray[Any] | None:
    """Return an array of an .npz as a memory map, or None where it is compressed."""
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(member)
        if info.compress_type != zipfile.ZIP_STORED:
            return None
        with archive.open(info) as stream:
            version = np.lib.format.read_magic(stream)
            read_header = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }.get(version)
            if read_header is None:
                return None
            shape, fortran_order, dtype = read_header(stream)
            header = stream.tell()
    with path.open("rb") as raw:
        raw.seek(info.header_offset + 26)
        n_name, n_extra = np.frombuffer(raw.read(4), "<u2").tolist()
    offset = info.header_offset + 30 + n_name + n_extra + header
    return np.memmap(path, dtype, "r", offset, shape, "F" if fortran_order else "C")


def _read_npy(url: str) -> LogitTable:
    try:
        logits = (
            np.load(local_path(url), mmap_mode="r", allow_pickle=False)
            if is_local(url)
            else np.load(io.BytesIO(read_bytes(url)), allow_pickle=False)
        )
    except FileNotFoundError as error:
        raise CuebenchError(f"{url}: no such file") from error
    except (ValueError, OSError) as error:
        raise CuebenchError(f"{url}: not an .npy that can be read without pickle ({error})") from error
    if isinstance(logits, np.lib.npyio.NpzFile):
        logits.close()
        raise CuebenchError(f"{url}: it holds several arrays; call it .npz")
    columns = _read_labels(f"{url.removesuffix('.npy')}.csv")
    return _table(url, logits, columns["superclass"], None, columns.get("file_name"), columns.get("source"))


def _read_labels(url: str) -> dict[str, list[str]]:
    """Return the columns of the CSV beside an .npy."""
    try:
        text = read_bytes(url).decode("utf-8-sig")
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise CuebenchError(f"{url}: not a CSV in UTF-8 ({error})") from error
    header = [name.strip() for name in rows[0]] if rows else []
    if "superclass" not in header:
        raise CuebenchError(f"{url}: expected a column superclass, one row an image")
    if odd := next((number for number, row in enumerate(rows) if len(row) != len(header)), None):
        raise CuebenchError(f"{url}: row {odd}: expected {len(header)} fields, got {len(rows[odd])}")
    return {name: [row[place] for row in rows[1:]] for place, name in enumerate(header)}


def _read_parquet(url: str) -> LogitTable:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(io.BytesIO(read_bytes(url)))
    except pa.ArrowInvalid as error:
        raise CuebenchError(
            f"{url}: not a Parquet file that can be read ({str(error).splitlines()[0]})"
        ) from error
    names = [name for name in table.column_names if name not in {*_TEXTS, "grid"}]
    if "superclass" not in table.column_names or not names:
        raise CuebenchError(
            f"{url}: expected a column superclass and one for each label, got {', '.join(table.column_names)}"
        )
    # a column of anything else, such as an index of pandas, would be a label that competes with the others
    if others := [name for name in names if not _WNID.fullmatch(name)]:
        raise CuebenchError(
            f"{url}: columns that are no label: {', '.join(others[:5])}; expected WordNet ids such as n01440764, and "
            f"{', '.join(_TEXTS)} or grid"
        )
    logits = np.column_stack([table[name].to_numpy() for name in names])
    columns = {
        name: table[name].to_pylist() if name in table.column_names else None for name in (*_TEXTS, "grid")
    }
    return _table(url, logits, columns.pop("superclass") or [], names, *columns.values())
