"""A network in ONNX of a few hundred bytes, written field by field: the mean colour times a matrix."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

FLOAT = 1
PREPROCESSING = """
resize_px = 8
crop_px = 8
mean = [0.0, 0.0, 0.0]
std = [1.0, 1.0, 1.0]
"""


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _block(field: int, content: bytes | str) -> bytes:
    data = content.encode() if isinstance(content, str) else content
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _value(name: str, shape: tuple[int | str, ...]) -> bytes:
    sizes = [_number(1, side) if isinstance(side, int) else _block(2, side) for side in shape]
    dims = b"".join(_block(1, size) for size in sizes)
    return _block(1, name) + _block(2, _block(1, _number(1, FLOAT) + _block(2, dims)))


def _node(kind: str, inputs: tuple[str, ...], output: str) -> bytes:
    return b"".join(_block(1, name) for name in inputs) + _block(2, output) + _block(4, kind)


def tiny_onnx(
    matrix: npt.NDArray[np.float32],
    *,
    fixed_n: int | None = None,
    inputs: tuple[str, ...] = ("x",),
    flat: bool = True,
) -> bytes:
    """Return a network from (n, 3, 8, 8) to logits (n, K), for a matrix (3, K); not flat: to (n, 3, 1, 1)."""
    n: int | str = "n" if fixed_n is None else fixed_n
    tensor = _number(1, 3) + _number(1, matrix.shape[1]) + _number(2, FLOAT) + _block(8, "w")
    tensor += _block(9, np.ascontiguousarray(matrix, "<f4").tobytes())
    nodes = [_node("GlobalAveragePool", ("x",), "m")]
    if flat:
        nodes += [_node("Flatten", ("m",), "f"), _node("MatMul", ("f", "w"), "y")]
    graph = b"".join(_block(1, node) for node in nodes) + _block(2, "tiny") + _block(5, tensor)
    graph += b"".join(_block(11, _value(name, (n, 3, 8, 8))) for name in inputs)
    graph += _block(12, _value("y", (n, matrix.shape[1])) if flat else _value("m", (n, 3, 1, 1)))
    return _number(1, 8) + _block(7, graph) + _block(8, _number(2, 13))


def write_tiny_onnx(
    folder: Path, matrix: npt.NDArray[np.float32], **options: int | bool | tuple[str, ...]
) -> str:
    """Write a network and its preprocessing; return its specification."""
    path = folder / "tiny.onnx"
    path.write_bytes(tiny_onnx(matrix, **options))  # type: ignore[arg-type]
    path.with_suffix(".toml").write_text(PREPROCESSING)
    return f"onnx:{path}"
