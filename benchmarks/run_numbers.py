"""Print what a finished run says about its set: `python -m benchmarks.run_numbers RUN`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from data_manifests.jsonl import read_records
from data_manifests.records import OK, CueRecord
from data_manifests.storage import join


def values(cues: Sequence[CueRecord], name: str) -> list[float]:
    """Return one quality number of all cues."""
    return [cue.quality[name] for cue in cues]


def print_shapes(cues: Sequence[CueRecord], n_attempted: int) -> None:
    """Print the numbers of the shape cues."""
    strokes = np.array(values(cues, "stroke_px"))
    print(f"shape: {len(cues)} of {n_attempted} ok")
    print(f"  peak, least                        {min(values(cues, 'peak')):.0f}")
    print(f"  brightness of lit pixels, median   {np.median(values(cues, 'lit_median')):.0f}")
    print(f"  light that the usual crop cuts     {max(values(cues, 'light_cut_share')):.4f} at most")
    print(
        f"  stroke width, mean and variation   {strokes.mean():.2f} px, {strokes.std() / strokes.mean():.3f}"
    )
    print(f"  outline closed, least              {min(values(cues, 'outline_closed_share')):.3f}")


def print_textures(cues: Sequence[CueRecord], n_attempted: int, grid: int) -> None:
    """Print the numbers of the texture cues of one grid."""
    medians = {
        name: float(np.median(values(cues, name)))
        for name in ("seam_ratio", "cut_ratio", "low_pass_share", "reassembly_share", "native_scale")
    }
    worst = {name: max(values(cues, name)) for name in ("max_shared_share", "copy_share", "n_outside_px")}
    print(f"texture {grid}x{grid}: {len(cues)} of {n_attempted} ok")
    print("  median  " + "  ".join(f"{name} {value:.3f}" for name, value in medians.items()))
    print("  most    " + "  ".join(f"{name} {value:.3f}" for name, value in worst.items()))


def main() -> None:
    """Read the run that the command line names and print its numbers."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m benchmarks.run_numbers RUN")
    cues = read_records(join(sys.argv[1], "cues.jsonl"), CueRecord)
    shapes = [cue for cue in cues if cue.cue_kind == "shape"]
    if made := [cue for cue in shapes if cue.status == OK]:
        print_shapes(made, len(shapes))
    for grid in sorted({cue.grid for cue in cues if cue.grid is not None}):
        textures = [cue for cue in cues if cue.grid == grid]
        if made := [cue for cue in textures if cue.status == OK]:
            print_textures(made, len(textures), grid)


if __name__ == "__main__":
    main()
