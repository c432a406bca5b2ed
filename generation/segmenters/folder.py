"""Masks that the user made."""

from __future__ import annotations

from pathlib import PurePosixPath

from data_manifests import storage
from data_manifests.errors import CuebenchError
from generation.masks import MaskCandidate, propose_from, read_mask
from generation.photograph import Photograph


class FolderSegmenter:
    """Reads `<folder>/<superclass>/<name of the photograph>.png`, or the same without superclass.

    Raises
    ------
    CuebenchError
        If there is no such folder.
    """

    def __init__(self, folder: str) -> None:
        if not storage.exists(folder):
            raise CuebenchError(f"folder:{folder}: no such folder of masks")
        self.folder = folder
        self.name = f"folder:{folder}"

    def propose(self, photograph: Photograph) -> list[MaskCandidate]:
        """Return the mask made for the photograph; nothing if there is none.

        Raises
        ------
        CuebenchError
            If the mask has another size than the upright photograph or can't be read.
        """
        path = PurePosixPath(photograph.file_name).with_suffix(".png")
        # A photograph without a folder of its own has no superclass to look below.
        has_superclass = path.parent.name not in ("", "..")
        for name in (*((f"{path.parent.name}/{path.name}",) if has_superclass else ()), path.name):
            url = storage.join(self.folder, name)
            if storage.exists(url):
                return self._read(url, photograph)
        return []

    def _read(self, url: str, photograph: Photograph) -> list[MaskCandidate]:
        try:
            mask = read_mask(storage.read_bytes(url))
        except CuebenchError as error:
            raise CuebenchError(f"{url}: {error}") from error
        height, width = photograph.image.shape[:2]
        if mask.shape != (height, width):
            raise CuebenchError(
                f"{url}: expected {width}x{height} pixels as the upright photograph has, "
                f"got {mask.shape[1]}x{mask.shape[0]}"
            )
        return propose_from(mask.astype("float32"), self.name)[:1]
