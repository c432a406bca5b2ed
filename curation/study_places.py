"""How many people a study has places for, and how many were asked."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sqlalchemy import func, select

from curation.campaigns import find_campaign
from curation.database import Store
from curation.study_record import protocol_of
from curation.tables import Rater, Slot


@dataclass(frozen=True)
class Places:
    """The places of a study, the invitations that they call for, and the people who were invited.

    Those who withdrew are not among `n_invited`; top-ups are among `n_places`.
    """

    n_places: int
    n_invitations: int
    n_invited: int


def n_to_invite(n_places: int, over_recruit_share: float) -> int:
    """Return how many people to invite, so that enough of them stay.

    >>> n_to_invite(88, 0.1)
    98
    """
    return math.ceil(n_places / (1 - over_recruit_share))


def places(store: Store, slug: str) -> Places:
    """Return the places of a study and who is to take them.

    Raises
    ------
    CuebenchError
        If there is no such study.
    """
    with store.read() as session:
        campaign = find_campaign(session, slug, "study")
        n_places = session.scalar(select(func.count()).where(Slot.campaign_id == campaign.id)) or 0
        invited = select(func.count()).where(Rater.campaign_id == campaign.id, Rater.state != "withdrawn")
        n_invited = session.scalar(invited) or 0
        share = protocol_of(campaign).over_recruit_share
    return Places(n_places, n_to_invite(n_places, share), n_invited)
