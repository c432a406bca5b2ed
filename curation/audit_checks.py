"""Everything that an audit can find, with what it means and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generation.shape_quality import SHAPE_QUALITY
from generation.texture_quality import TEXTURE_QUALITY

# check -> (what was found, what to do); the numbers of a recipe's limits are checks by their own name
CHECKS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "missing": ("files that are not there or can't be opened", "render the run again, or mend the link"),
        "changed": ("files that are not the bytes of their row in the manifest", "render the run again"),
        "unreadable": (
            "files that give no picture: truncated, damaged, no image, of an unsupported mode",
            "make them again; detail of the file says what is wrong",
        ),
        "blank": ("pictures of one colour", "leave them out, or make them again"),
        "faint": (
            "shapes without a pixel brighter than half of white (127)",
            "draw the strokes brighter: networks and people miss faint ones",
        ),
        "duplicate": ("groups of byte-identical files", "keep one file of each group"),
        "pixel_duplicate": (
            "groups of files with the same pixels in other bytes",
            "keep one file of each group",
        ),
        "near_duplicate": (
            "groups of nearly the same picture (correlation of .95 and more at 56 x 56 px)",
            "look at them; keep one of each group",
        ),
        "cross_class_duplicate": (
            "those of the groups above that lie in several classes",
            "decide what the picture shows; keep it in that class alone",
        ),
        "wrong_size": ("files of another size than the usual one", "make them again at the usual size"),
        "wrong_mode": ("files of another mode than the usual one", "save them in the usual mode"),
        "misplaced": ("images in no class folder", "move them into <kind>/<class>/"),
        "unknown_class": (
            "class folders that the taxonomy does not know",
            "rename the folder, or name another taxonomy with --taxonomy",
        ),
        "wrong_kind": ("class folders of the other cue kind by the taxonomy", "move the folder to its kind"),
        "dotted_name": ("file names with more dots than that of the suffix", "rename them"),
        "long_name": ("file names of more than 100 bytes, which tar archives cut", "rename them"),
        "unportable_name": (
            "names with other characters than letters, digits, `.`, `_`, `-` and blanks",
            "rename them",
        ),
        "case_clash": (
            "groups of names that differ in case alone: one overwrites the other on macOS and Windows",
            "rename all but one of each group",
        ),
        "unbalanced": (
            "classes with less than half or more than twice the median number of files of their kind",
            "add cues to the small ones, or leave some of the large ones out",
        ),
        "licence_gap": (
            "photographs whose licence is missing or does not say that cues of them may be published",
            "add license_spdx and redistributable to the provenance, and ingest again",
        ),
        "uneven_stroke_width": (
            "shapes whose light per length of stroke is far from the set's median, in a set that varies",
            "draw all strokes equally wide: the width tells how large the photograph was",
        ),
        "uneven_stroke_level": (
            "shapes whose strokes are far brighter or darker than the set's median, in a set that varies",
            "draw all strokes equally bright: the brightness tells how large the photograph was",
        ),
        "reassembly": (
            "textures whose tiles overlap by more than the limit and join for half of them and more: "
            "the photograph can be put together again",
            "draw tiles that share less, or from a larger photograph",
        ),
        "shared_source": (
            "groups of textures with equal pieces: made of the same photograph",
            "use each photograph once",
        ),
    }
)

# number of a limit -> what to do about a cue outside of it
QUALITY_TO_DO: Mapping[str, str] = MappingProxyType(
    {
        "peak": "draw the strokes brighter: networks and people miss faint ones",
        "lit_median": "draw the strokes brighter: networks and people miss faint ones",
        "lit_share": "draw fewer or more strokes",
        "light_cut_share": "leave a margin of 1/16 of the side: Resize(256) and CenterCrop(224) cut it away",
        "seam_ratio": "blend the tiles, or cut where they agree",
        "low_pass_share": "flatten the illumination, or use a finer grid",
        "unique_cell_share": "use a larger photograph, or a coarser grid: the same tiles come again and again",
        "max_shared_share": "draw tiles that overlap less",
    }
)
LOOK_AT_THEM = "look at them; leave out those that are not fit for use"


def known_checks() -> list[str]:
    """Return the names of all checks, those of the quality numbers included, sorted."""
    return sorted({*CHECKS, *SHAPE_QUALITY, *TEXTURE_QUALITY})
