"""Sources of masks, one a file."""

from __future__ import annotations

from data_manifests.errors import CuebenchError
from data_manifests.shipped import nearest
from generation.masks import Segmenter

PLAIN = ("alpha", "backdrop", "fullframe", "grabcut")
PREFIXED = ("folder:DIR", "rembg:MODEL", "sam:CHECKPOINT")


def segmenter_for(name: str, *, accept_non_commercial: bool = False) -> Segmenter:
    """Return the segmenter that a recipe names; nothing is loaded before it is used.

    Raises
    ------
    CuebenchError
        If there is no such segmenter or model, it sends images elsewhere, or its licence was not accepted.
    """
    kind, _, argument = name.partition(":")
    if kind == "alpha" and not argument:
        from generation.segmenters.alpha import AlphaSegmenter

        return AlphaSegmenter()
    if kind == "backdrop" and not argument:
        from generation.segmenters.backdrop import BackdropSegmenter

        return BackdropSegmenter()
    if kind == "fullframe" and not argument:
        from generation.segmenters.fullframe import FullFrameSegmenter

        return FullFrameSegmenter()
    if kind == "grabcut" and not argument:
        from generation.segmenters.grabcut import GrabCutSegmenter

        return GrabCutSegmenter()
    if kind == "folder" and argument:
        from generation.segmenters.folder import FolderSegmenter

        return FolderSegmenter(argument)
    if kind == "rembg":
        from generation.segmenters.rembg import RembgSegmenter

        return RembgSegmenter.of(argument, accept_non_commercial=accept_non_commercial)
    if kind == "sam" and argument:
        from generation.segmenters.sam import SamSegmenter

        return SamSegmenter(argument)
    known = [*PLAIN, *PREFIXED]
    raise CuebenchError(f"{name}: no such segmenter{nearest(name, known)}; known are {', '.join(known)}")
