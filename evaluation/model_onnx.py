"""`onnx:FILE`: a network in ONNX, run by onnxruntime, with its preprocessing in a TOML file beside it."""

from __future__ import annotations

import hashlib
import multiprocessing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from data_manifests.errors import CuebenchError
from data_manifests.jsonl import canonical_sha256
from data_manifests.storage import exists, read_bytes
from evaluation.label_space import LabelSpace, label_space, read_wnids
from evaluation.models import ModelSpec, Runtime
from evaluation.preprocessing import Preprocessing, read_preprocessing

_PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


@dataclass(frozen=True)
class OnnxModel:
    """A network of one input (n, 3, H, W) or (n, H, W, 3), whose first output is the logits (n, K)."""

    name: str
    session: Any
    labels: LabelSpace
    preprocessing: Preprocessing
    fingerprint: str
    fixed_n: int | None

    def logits(self, images: Sequence[Image.Image]) -> npt.NDArray[np.float32]:
        """Return the logits (n, K) float32; a network of a fixed batch is run as often as it takes."""
        batch = np.stack([self.preprocessing.apply(image) for image in images])
        return _run(self.session, batch, self.fixed_n, self.name)


def _run(
    session: Any, batch: npt.NDArray[np.float32], fixed_n: int | None, name: str
) -> npt.NDArray[np.float32]:
    (entry,) = session.get_inputs()
    step = fixed_n or len(batch)
    found = []
    for start in range(0, len(batch), step):
        part = batch[start : start + step]
        filled = np.concatenate([part, np.repeat(part[:1], step - len(part), axis=0)])
        if entry.type == "tensor(float16)":
            filled = filled.astype(np.float16)
        try:
            output = session.run(None, {entry.name: filled})[0]
        except _onnx_errors() as error:
            raise CuebenchError(
                f"{name}: it does not take {filled.shape} ({str(error).splitlines()[0]})"
            ) from error
        found.append(np.asarray(output, np.float32)[: len(part)])
    return np.concatenate(found)


def _onnx_errors() -> tuple[type[Exception], ...]:
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    return (state.Fail, state.InvalidArgument, state.InvalidGraph, state.InvalidProtobuf, state.NotImplemented,
            state.RuntimeException, state.NoSuchFile)  # fmt: skip


def load(spec: ModelSpec, runtime: Runtime) -> OnnxModel:
    """Return the model in a file.

    Its preprocessing is the option's, or that of the file of the same name with the suffix `.toml`.

    Raises
    ------
    CuebenchError
        If a file is missing, it is no ONNX, has more than one input, or the device is not to be had.
    """
    if runtime.precision != "float32":
        raise CuebenchError(f"{spec}: the precision of an ONNX model is its file's; leave --precision out")
    content = read_bytes(spec.name)
    beside = f"{spec.name.removesuffix('.onnx')}.toml"
    if not spec.preprocessing and not exists(beside):
        raise CuebenchError(
            f"{spec}: how does it take pictures? Write {beside} (resize_px, crop_px, mean, std, ...), or add "
            "?preprocessing=NAME"
        )
    preprocessing = read_preprocessing(spec.preprocessing or beside)
    session = _session(content, spec, runtime)
    n_inputs = len(session.get_inputs())
    if n_inputs != 1:
        raise CuebenchError(f"{spec}: expected one input, pictures; it has {n_inputs}")
    first = session.get_inputs()[0].shape[0]
    fixed_n = first if isinstance(first, int) else None
    outputs = _run(session, preprocessing.apply(Image.new("RGB", (224, 224)))[None], fixed_n, str(spec))
    if outputs.ndim != 2:
        raise CuebenchError(f"{spec}: expected a first output of logits (n, K), got {outputs.shape}")
    fingerprint = canonical_sha256(["onnx", hashlib.sha256(content).hexdigest(), str(preprocessing)])
    wnids = read_wnids(spec.labels) if spec.labels else None
    labels = label_space(outputs.shape[1], wnids)
    return OnnxModel(str(spec), session, labels, preprocessing, fingerprint, fixed_n)


def _session(content: bytes, spec: ModelSpec, runtime: Runtime) -> Any:
    import onnxruntime

    kind = runtime.device.partition(":")[0]
    provider = _PROVIDERS.get(kind)
    available = onnxruntime.get_available_providers()
    if provider not in available:
        raise CuebenchError(
            f"{spec}: no device {runtime.device} for ONNX here; onnxruntime has {', '.join(available)}"
        )
    try:
        return onnxruntime.InferenceSession(content, _options(), providers=[provider])
    except _onnx_errors() as error:
        raise CuebenchError(
            f"{spec}: not a network that onnxruntime can run ({str(error).splitlines()[0]})"
        ) from error


def _options() -> Any:
    """Return the options of a session: all cores, or one thread in a worker process, beside which others work."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # A pool that spins takes the cores from whatever else computes.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if multiprocessing.parent_process() is not None:
        options.intra_op_num_threads = options.inter_op_num_threads = 1
    return options
