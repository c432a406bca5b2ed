"""Planning a study: pictures chosen, dealt to participants, and stored as slots that nobody has taken yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from curation.campaigns import create_campaign
from curation.database import Store
from curation.item_placement import place_items
from curation.protocol import StudyProtocol
from curation.review_votes import accepted_hashes
from curation.study_blocks import Block, plan_blocks
from curation.study_design import CueDesign, Picture, deal
from curation.study_pictures import StudyPictures, gather_pictures
from curation.study_places import n_to_invite
from curation.tables import Campaign, CampaignItem, Item, Slot
from data_manifests.errors import CuebenchError
from data_manifests.jsonl import canonical_json
from data_manifests.records import CueKind

MAX_CREW = 5  # so few people can't certify kappa to better than about .1, however many images they see

Ids = Mapping[tuple[str, str], int]  # (cue kind, SHA-256) -> id of the item


@dataclass(frozen=True)
class PlanSummary:
    """What was planned. Counts are per cue kind; `n_ratings` are the fewest and the most of an image."""

    slug: str
    protocol: str
    protocol_sha256: str
    n_participants: int
    n_invitations: int
    n_images: dict[str, int]
    n_ratings: dict[str, tuple[int, int]]
    n_trials: int
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    def to_text(self) -> str:
        """Return lines for people."""
        lines = [
            f"study {self.slug}: protocol {self.protocol} ({self.protocol_sha256[:12]})",
            f"{self.n_participants} participants with {self.n_trials} trials each; invite {self.n_invitations}",
        ]
        for kind, n in self.n_images.items():
            low, high = self.n_ratings[kind]
            lines.append(f"{kind}: {n} images, {low if low == high else f'{low} to {high}'} ratings each")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def plan_study(
    store: Store,
    slug: str,
    cues_url: str,
    protocol: StudyProtocol,
    *,
    seed: int = 0,
    review: str | None = None,
    catch_url: str | None = None,
) -> PlanSummary:
    """Make a study of the cues of a run: choose pictures, deal them, store the slots.

    Parameters
    ----------
    cues_url : the run folder, its cues.jsonl, or a folder `<kind>/<superclass>/<image>`
    review : only cues that this review accepted
    catch_url : the sources.jsonl with the photographs of the catch trials; by default the one beside the cues

    Raises
    ------
    CuebenchError
        If there is a campaign of this name, or the pictures do not suffice for any design.
    """
    with store.read() as session:
        if session.scalar(select(Campaign.id).where(Campaign.slug == slug)) is not None:
            raise CuebenchError(f"campaign {slug}: exists already; a planned study is never changed")
    accepted = None
    if review is not None:
        accepted = {name for name, outcome in accepted_hashes(store, review).items() if outcome == "accepted"}
    protocol, pictures = gather_pictures(cues_url, protocol, seed, accepted, catch_url)
    designs = deal_all(protocol, pictures.main, seed)
    by_key = {kind: {picture.key: picture for picture in main} for kind, main in pictures.main.items()}
    rows = [
        plan_blocks(
            protocol,
            seed,
            participant,
            {
                kind: [by_key[kind][key] for key in design.seen[participant]]
                for kind, design in designs.items()
            },
            pictures.pools,
        )
        for participant in range(len(next(iter(designs.values())).seen))
    ]
    with store.write() as session:
        campaign = create_campaign(session, slug, "study", protocol.model_dump(mode="json"), seed)
        ids = _place(session, campaign, pictures)
        add_slots(session, campaign, enumerate(rows), ids)
    return _summary(slug, protocol, designs, rows, pictures.notes)


def deal_all(
    protocol: StudyProtocol, main: Mapping[CueKind, Sequence[Picture]], seed: int
) -> dict[CueKind, CueDesign]:
    """Return the design of each cue kind, for as many participants as the kind that needs most of them."""
    n_trials = {kind: min(protocol.n_trials_per_cue or len(p), len(p)) for kind, p in main.items()}
    n_wanted = {kind: len(pictures) * protocol.n_ratings_per_image for kind, pictures in main.items()}
    n_participants = max(-(-n_wanted[kind] // n_trials[kind]) for kind in main)
    return {kind: deal(pictures, n_participants, n_trials[kind], seed) for kind, pictures in main.items()}


def _place(session: Session, campaign: Campaign, pictures: StudyPictures) -> Ids:
    """Put all pictures into the campaign, each with its class as the expected answer."""
    placed: set[tuple[str, str]] = set()
    for kind, main in pictures.main.items():
        pool = pictures.pools[kind]
        for role, group in (("main", main), ("practice", pool.practice), ("catch", pool.catch)):
            for name in sorted({picture.superclass for picture in group}):
                keys = [(kind, picture.key) for picture in group if picture.superclass == name]
                place_items(session, campaign, [pictures.items[key] for key in keys], role, expected=name)
                placed.update(keys)
    return item_ids(session, campaign)


def item_ids(session: Session, campaign: Campaign) -> dict[tuple[str, str], int]:
    """Return (cue kind, SHA-256) -> item id of every picture of a campaign."""
    query = (
        select(Item.cue_kind, Item.sha256, Item.id)
        .join(CampaignItem, CampaignItem.item_id == Item.id)
        .where(CampaignItem.campaign_id == campaign.id)
    )
    return {(kind, sha256): item_id for kind, sha256, item_id in session.execute(query)}


def add_slots(
    session: Session, campaign: Campaign, rows: Iterable[tuple[int, Sequence[Block]]], ids: Ids
) -> None:
    """Store rows of the design, each with its number, as slots that nobody has taken."""
    session.execute(
        insert(Slot),
        [
            {"campaign_id": campaign.id, "design_row": number, "design_json": _design_json(blocks, ids)}
            for number, blocks in rows
        ],
    )


def _design_json(blocks: Sequence[Block], ids: Ids) -> str:
    return canonical_json(
        [
            {
                "cue_kind": block.cue_kind,
                "choices": block.choices,
                "trials": [[ids[block.cue_kind, t.key], t.role, t.presentation] for t in block.trials],
            }
            for block in blocks
        ]
    )


def _summary(
    slug: str,
    protocol: StudyProtocol,
    designs: Mapping[CueKind, CueDesign],
    rows: Sequence[Sequence[Block]],
    notes: Iterable[str],
) -> PlanSummary:
    n = len(rows)
    said = list(notes)
    if n <= MAX_CREW:
        said.append(
            f"{n} participants can't certify kappa to better than about +-.1, however many images they see; "
            "spread the images over more people"
        )
    said += _missing_repeats(protocol, rows)
    n_ratings: dict[str, tuple[int, int]] = {}
    for kind, design in designs.items():
        counts = design.counts.values()
        n_ratings[kind] = (min(counts), max(counts))
    return PlanSummary(
        slug=slug,
        protocol=protocol.name,
        protocol_sha256=protocol.sha256,
        n_participants=n,
        n_invitations=n_to_invite(n, protocol.over_recruit_share),
        n_images={kind: len(design.pictures) for kind, design in designs.items()},
        n_ratings=n_ratings,
        n_trials=sum(t.role != "practice" for block in rows[0] for t in block.trials),
        notes=tuple(said),
    )


def _missing_repeats(protocol: StudyProtocol, rows: Sequence[Sequence[Block]]) -> list[str]:
    """Return a note where participants see fewer pictures again than the protocol asks for."""
    n_again = [sum(t.role == "repeat" for block in row for t in block.trials) for row in rows]
    if min(n_again) >= protocol.n_repeats:
        return []
    told = f"{min(n_again)} to {max(n_again)}" if min(n_again) < max(n_again) else str(n_again[0])
    return [
        f"n_repeats: {protocol.n_repeats} asked for, a participant gets {told}: a picture of the first third "
        "of a block comes again in the last third, and with few trials a third has no more"
    ]
