"""The closed lists of reasons for which a reviewer rejects a cue, by cue kind."""

from __future__ import annotations

REASONS: dict[str, dict[str, str]] = {
    "shape": {
        "wrong_class": "wrong class",
        "silhouette_broken": "silhouette broken",
        "part_missing": "key part missing",
        "background_left": "background left in",
        "texture_left": "texture or shading left",
        "text_or_logo": "text, logo or watermark",
        "several_objects": "several objects",
        "cropped": "cropped",
        "ambiguous": "ambiguous",
        "duplicate": "duplicate",
    },
    "texture": {
        "wrong_class": "wrong class",
        "shape_visible": "outline or object shape visible",
        "seams": "seams",
        "blurred": "blurred or low resolution",
        "not_repeating": "pattern not repeating",
        "scale_unreadable": "scale unreadable",
        "mixed_materials": "mixed materials",
        "text_or_logo": "text or watermark",
        "duplicate": "duplicate",
    },
}
