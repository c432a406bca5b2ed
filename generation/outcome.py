"""What a step of generation says when it has no picture to give, or has a doubt, and what that means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple


@dataclass(frozen=True)
class Unavailable:
    """Why there is no mask or cue: a short `status` for the manifest and one sentence for people."""

    status: str
    detail: str


class Meaning(NamedTuple):
    """What a status or flag says, and what to do about it."""

    what: str
    to_do: str


SOURCE_STATUSES: Mapping[str, Meaning] = MappingProxyType(
    {
        "duplicate": Meaning(
            "a second copy in its class: same bytes or same pixels",
            "delete the copies, or leave them: they give no cues",
        ),
        "extreme_aspect": Meaning(
            "one side is more than 8 times the other", "crop the object, or take another photograph"
        ),
        "hash_mismatch": Meaning(
            "not the file that the CSV describes",
            "fetch it again, or correct the CSV",
        ),
        "no_foreground": Meaning("one colour all over", "take another photograph"),
        "not_an_image": Meaning(
            "a web page, an archive, nothing at all, ...",
            "the download failed or saved a page: fetch it again",
        ),
        "too_large": Meaning("more than 100 million pixels, or than the memory holds", "scale it down first"),
        "too_small": Meaning("the shorter side has less than 64 pixels", "take a larger version"),
        "truncated": Meaning("the file ends early", "fetch it again"),
        "unreadable": Meaning(
            "damaged, or not to be read", "fetch or save it again; see status_detail of the row"
        ),
        "unsupported_format": Meaning(
            "an image of a kind that is not read", "save it as JPEG or PNG; see status_detail of the row"
        ),
        "unsupported_mode": Meaning(
            "pixels without a defined range", "save it with 8 or 16 bits per channel"
        ),
    }
)

CUE_STATUSES: Mapping[str, Meaning] = MappingProxyType(
    {
        "full_frame": Meaning(
            "the mask of a shape fills the frame: no outline",
            "name another segmenter, or pick a mask (--masks)",
        ),
        "grid_unavailable": Meaning(
            "too little texture inside of the mask for cells of this size",
            "take a larger photograph, a finer grid or a smaller --side (README: photograph size)",
        ),
        "internal_error": Meaning("a fault of cuebench", "report it, with the traceback on stderr"),
        "mask_empty": Meaning(
            "the mask holds less than 1 % of the frame, or the pick is `none`",
            "name another segmenter, or pick a mask (--masks)",
        ),
        "mask_mismatch": Meaning(
            "the picked mask has another size or hash than it should",
            "make the mask anew from the photograph of the manifest",
        ),
        "mask_unusable": Meaning(
            "a mask file that can't be read or does not fit",
            "save it as 8-bit PNG in the size of the upright photograph",
        ),
        "no_foreground": Meaning(
            "no segmenter found an object",
            "name another segmenter, draw a mask (folder:DIR) or pick one (--masks)",
        ),
        "object_too_thin": Meaning(
            "no part of the object is wide enough to have an outline",
            "take a photograph in which the object is larger",
        ),
        "source_changed": Meaning("the photograph is not the one of the manifest", "run `ingest` again"),
        "source_missing": Meaning(
            "the photograph is not where the manifest says",
            "name the folder of the manifest's file names with --photos; the same command tries again",
        ),
        "worker_died": Meaning(
            "the process that rendered it was killed",
            "use fewer --workers or scale the photograph down; the same command tries again",
        ),
    }
)

SOURCE_FLAGS: Mapping[str, str] = MappingProxyType(
    {
        "alpha": "it has transparent parts, which the segmenter `alpha` takes for background",
        "alpha_ignored": "its transparency says nothing: nearly all or nearly none of it",
        "animated": "the first frame counts",
        "cmyk": "CMYK, converted",
        "exif_bad": "its EXIF data is damaged; taken as upright",
        "extension_mismatch": "the name says another format than the content",
        "gray": "without colour",
        "icc_converted": "another colour space, converted to sRGB",
        "icc_ignored": "a colour profile that can't be used; taken as sRGB",
        "in_two_classes": "the same pixels in another class, of either kind",
        "lab": "CIE Lab, converted",
        "near_duplicate": "nearly the same as another photograph of its class",
        "rotated": "turned upright by its EXIF data",
        "sixteen_bit": "16 bits per channel, reduced to 8",
    }
)

# A quality number outside of its limits is a flag of its name, too.
CUE_FLAGS: Mapping[str, str] = MappingProxyType(
    {
        "class_not_seen": "a classifier sees the class in no candidate mask (`cuebench masks`)",
        "duplicate": "the same pixels as an earlier cue of its class",
        "mask_fallback": "no confident object: the texture is taken to fill the frame",
        "mask_uncertain": "the segmenter is unsure of the object",
        "masks_disagree": "the mask shares less than half with what every other segmenter found",
    }
)
