"""What a study's page needs besides the phase: the settings of the trial loop, and the participant's own code."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from curation.database import Store
from curation.protocol import NONE_ANSWER, StudyProtocol
from curation.tables import Campaign, Rater
from data_manifests.errors import CuebenchError


@dataclass(frozen=True)
class ParticipantFacts:
    """A participant's study and the code by which they are known outside."""

    campaign_id: int
    public_code: str
    protocol: StudyProtocol


def participant_facts(store: Store, rater_id: int) -> ParticipantFacts:
    """Return what a page needs to know of a participant.

    Raises
    ------
    CuebenchError
        If the rater takes part in no study.
    """
    with store.read() as session:
        rater = session.get_one(Rater, rater_id)
        if rater.campaign_id is None:
            raise CuebenchError(f"rater {rater_id}: not a participant of a study")
        campaign = session.get_one(Campaign, rater.campaign_id)
        return ParticipantFacts(campaign.id, rater.public_code, _protocol(campaign.protocol_json))


@lru_cache(maxsize=16)
def _protocol(text: str) -> StudyProtocol:
    return StudyProtocol.model_validate_json(text)


def trial_settings(protocol: StudyProtocol) -> dict[str, Any]:
    """Return the settings of the trial loop that a protocol asks for: exposure, floor, labels."""
    exposure = protocol.exposure.model_dump()
    if protocol.exposure.mode == "unlimited":
        exposure["response_ms"] = 0
    options = {option for listed in protocol.options.values() for option in listed}
    labels = {option: option.replace("_", " ") for option in options if "_" in option}
    if protocol.none_choice:
        labels[NONE_ANSWER] = protocol.none_label
    return {"too_fast_ms": protocol.min_rt_ms, "exposure": exposure, "option_labels": labels}
