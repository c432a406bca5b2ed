"""The detached signature of SHA256SUMS, checked by programs that are everywhere: ssh-keygen, openssl for PEM keys."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from data_manifests.errors import CuebenchError
from data_manifests.storage import read_bytes

NAMESPACE = "cuebench"


def is_signed_by(public_key: str, signature: bytes, sums: bytes) -> bool:
    """Return whether a signature is that of the owner of a public key.

    An OpenSSH key (`ssh-ed25519 ...`) checks what `ssh-keygen -Y sign -n cuebench -f KEY SHA256SUMS` made, a PEM key
    (RSA, elliptic curve) what `openssl dgst -sha256 -sign KEY -out SHA256SUMS.sig SHA256SUMS` made.

    Raises
    ------
    CuebenchError
        If there is no such key, it is neither, or the program is not installed.
    """
    key = read_bytes(public_key)
    if key.startswith(b"-----BEGIN PUBLIC KEY-----"):
        command = [_program("openssl"), "dgst", "-sha256", "-verify", "key", "-signature", "signature"]
    elif key.startswith((b"ssh-", b"ecdsa-", b"sk-")):
        key = b'release namespaces="%s" %s' % (NAMESPACE.encode(), key)
        command = [_program("ssh-keygen"), "-Y", "verify", "-f", "key", "-I", "release", "-n", NAMESPACE]
        command += ["-s", "signature"]
    else:
        raise CuebenchError(
            f"{public_key}: expected a public key of OpenSSH (`ssh-ed25519 ...`) or in PEM (`BEGIN PUBLIC KEY`)"
        )
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "key").write_bytes(key)
        (Path(folder) / "signature").write_bytes(signature)
        # the programs are found on the path, and all that they are given are the names of these two files
        done = subprocess.run(command, cwd=folder, input=sums, capture_output=True, check=False)  # noqa: S603
    return done.returncode == 0


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise CuebenchError(f"--public-key: {name} is not on the path; install it, or check without a key")
    return path
