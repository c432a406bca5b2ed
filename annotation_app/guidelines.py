"""The guideline of a campaign: its text, and who has opened this version of it."""

from __future__ import annotations

import json

from curation.campaigns import sha256_text
from curation.database import Store, utc_now
from curation.reasons import REASONS
from curation.tables import Campaign, Consent

_ACCEPT = {
    "shape": (
        "one object of the named class stands alone and its outline is whole; a drawing may have the edges inside the "
        "object too (an eye, a handle, a wheel), but no shading, pattern or colour of its surface"
    ),
    "texture": "the surface of the named class fills the picture, and no outline of the object can be seen",
}
_MASK = """
Each photograph comes with masks that a program found. Choose the mask that covers **the whole object and nothing
else**. Where none does, draw a box around the object; where the object can't be told from its background, choose
**none**.
"""


def guideline_of(campaign: Campaign, cue_kinds: tuple[str, ...]) -> str:
    """Return the guideline (Markdown) that came with a campaign, or else what holds for its kinds of cue."""
    written = str(json.loads(campaign.protocol_json).get("guideline") or "").strip()
    if written:
        return written
    if campaign.kind == "mask":
        return _MASK.strip()
    parts = [_for_kind(kind) for kind in cue_kinds if kind in REASONS]
    return "\n\n".join(
        [*parts, "**Unsure** is an answer and is counted. **Later** puts the picture to the end."]
    )


def _for_kind(kind: str) -> str:
    listed = "; ".join(REASONS[kind].values())
    return f"**A {kind} cue.** Accept it if {_ACCEPT[kind]}.\n\nReject it for any of these reasons: {listed}."


def has_opened(store: Store, rater_id: int, campaign_id: int, text: str) -> bool:
    """Return whether a rater has opened this very text before."""
    with store.read() as session:
        return session.get(Consent, (rater_id, campaign_id, sha256_text(text))) is not None


def mark_opened(store: Store, rater_id: int, campaign_id: int, text: str) -> None:
    """Keep that a rater opened a text; a second time changes nothing."""
    key = (rater_id, campaign_id, sha256_text(text))
    with store.write() as session:
        if session.get(Consent, key) is None:
            session.add(
                Consent(rater_id=rater_id, campaign_id=campaign_id, text_sha256=key[2], accepted_at=utc_now())
            )
