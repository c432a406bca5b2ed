"""The pictures of a rater: the original bytes, and only of what is assigned to them in the campaign of their tab."""

from __future__ import annotations

import logging

from sqlalchemy import select

from annotation_app.payloads import Tab
from curation.database import Store
from curation.tables import Assignment, Item, MaskCandidate
from data_manifests.errors import CuebenchError
from data_manifests.storage import read_bytes

logger = logging.getLogger(__name__)

_SIGNATURES = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (8, b"WEBP", "image/webp"),
    (0, b"GIF8", "image/gif"),
    (0, b"BM", "image/bmp"),
)


def find_picture(store: Store, tab: Tab, name: str) -> tuple[bytes, str] | None:
    """Return bytes and media type of an item or of a candidate mask, by public id; None where it isn't to be had."""
    mine = (Assignment.rater_id == tab.rater_id, Assignment.campaign_id == tab.campaign_id)
    of_item = select(Item.file_url).join(Assignment).where(Item.public_id == name, *mine)
    of_candidate = (
        select(MaskCandidate.file_url)
        .join(Item, Item.id == MaskCandidate.item_id)
        .join(Assignment, Assignment.item_id == Item.id)
        .where(MaskCandidate.public_id == name, *mine)
    )
    with store.read() as session:
        url = session.scalars(of_item.limit(1)).first()
        if url is None and tab.kind == "mask":
            url = session.scalars(of_candidate.limit(1)).first()
    return _read(url)


def find_source(store: Store, tab: Tab, name: str) -> tuple[bytes, str] | None:
    """Return bytes and media type of the photograph that an item was made from; None where it isn't to be had."""
    query = (
        select(Item.source_url)
        .join(Assignment)
        .where(
            Item.public_id == name,
            Assignment.rater_id == tab.rater_id,
            Assignment.campaign_id == tab.campaign_id,
        )
    )
    with store.read() as session:
        url = session.scalars(query.limit(1)).first()
    return _read(url)


def _read(url: str | None) -> tuple[bytes, str] | None:
    """Return bytes and media type of a file; where it can't be read, the log names it, for the browser must not."""
    if url is None:
        return None
    try:
        content = read_bytes(url)
    except CuebenchError as error:
        logger.error("a picture of the campaign is not to be had: %s", error)
        return None
    return content, media_type(content)


def media_type(content: bytes) -> str:
    """Return the media type of a picture by its first bytes.

    >>> media_type(b"BM...")
    'image/bmp'
    """
    for start, signature, name in _SIGNATURES:
        if content[start : start + len(signature)] == signature:
            return name
    return "application/octet-stream"
