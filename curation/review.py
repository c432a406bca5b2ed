"""A review: people accept or reject cues, some of them judged twice, all of them blind.

What others call is here: `import_review` and `assign` set a review up, `review_status` and `splits` say where it
stands, `adjudicate` decides, `accepted_hashes` is what a release takes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from curation.adjudication import Split, adjudicate, splits
from curation.campaigns import create_campaign
from curation.cue_sources import CueSet, read_cue_set
from curation.database import Store
from curation.item_placement import in_parts, place_items
from curation.queue_rows import open_for_work
from curation.review_queue import AssignSummary, assign, drop_pending
from curation.review_status import ReviewStatus, review_status
from curation.review_votes import accepted_hashes
from curation.tables import Assignment, Campaign, CurrentAnswer
from data_manifests.errors import CuebenchError, ProblemsError
from data_manifests.records import CueKind

__all__ = [
    "AssignSummary",
    "ImportSummary",
    "ReviewStatus",
    "Split",
    "accepted_hashes",
    "adjudicate",
    "assign",
    "import_review",
    "review_status",
    "splits",
]

MAX_SEED = 2**31 - 1  # what an integer of PostgreSQL holds
MAX_REPEAT_SHARE = 0.5


@dataclass(frozen=True)
class ReviewSettings:
    """How a review is done; fixed once it has begun.

    Every picture is judged by `n_raters` people, a share `overlap` of each class by one more; a share
    `repeat_share` of what a reviewer judges comes back to them once, unannounced.
    """

    n_raters: int = 1
    overlap: float = 0.1
    repeat_share: float = 0.03
    guideline: str = ""

    def __post_init__(self) -> None:
        if self.n_raters < 1:
            raise CuebenchError(f"n_raters: expected 1 or more, got {self.n_raters}")
        for name, value, most in (
            ("overlap", self.overlap, 1.0),
            ("repeat_share", self.repeat_share, MAX_REPEAT_SHARE),
        ):
            if not 0 <= value <= most:
                raise CuebenchError(f"{name}: expected a share from 0 to {most:g}, got {value:g}")


@dataclass(frozen=True)
class ImportSummary:
    """What an import changed; counts of pictures, but for `n_stale` (verdicts on the retired pictures).

    `n_absent` are in the review but not in what was imported: they stay. `n_failed` cues gave no picture.
    """

    slug: str
    n_new: int
    n_kept: int
    n_retired: int
    n_stale: int
    n_absent: int
    n_failed: int
    n_equal: int
    n_other: int
    n_known_bad: int

    def to_text(self) -> str:
        """Return the counts for people, one a line, those of nothing left out."""
        lines = [
            (self.n_new, "new pictures to judge"),
            (self.n_kept, "pictures that were there"),
            (self.n_retired, f"pictures replaced or gone, {self.n_stale} verdicts on them are stale"),
            (self.n_absent, "pictures of the review that are not in this import (they stay)"),
            (self.n_failed, "cues without a picture (their rows say why)"),
            (self.n_equal, "pictures left out: their class holds the same one"),
            (self.n_other, "files left out: no image, or not in <kind>/<superclass>/"),
            (self.n_known_bad, "known-bad pictures"),
        ]
        return "\n".join([f"review {self.slug}", *(f"{n:>8} {what}" for n, what in lines if n)])


def import_review(
    store: Store,
    slug: str,
    cues_url: str,
    *,
    seed: int | None = None,
    guideline: str | None = None,
    overlap: float | None = None,
    n_raters: int | None = None,
    repeat_share: float | None = None,
    known_bad: str | None = None,
    cue_kind: CueKind | None = None,
) -> ImportSummary:
    """Begin a review of the cues of a run (or of a folder of images), or bring one up to a run made again.

    A cue that was made again is a new picture: the old one is retired and the verdicts on it are stale. What was
    not made again keeps its verdicts. Settings that are not given are those of the review, or `ReviewSettings`'.

    Parameters
    ----------
    cues_url : a run folder, its cues.jsonl, or a folder (see `curation.cue_sources.read_cue_set`)
    known_bad : a folder of images that every reviewer should reject, laid out as a folder of cues

    Raises
    ------
    CuebenchError
        If pictures are missing, changed or unreadable, a setting is out of range or differs from what the review
        began with, or the review is frozen.
    """
    cues = read_cue_set(cues_url, cue_kind)
    bad = read_cue_set(known_bad, cue_kind) if known_bad else CueSet([])
    _check_apart(known_bad or "", cues, bad)
    given = {"guideline": guideline, "overlap": overlap, "n_raters": n_raters, "repeat_share": repeat_share}
    with store.write() as session:
        campaign = _campaign(session, slug, seed, {k: v for k, v in given.items() if v is not None})
        main = place_items(session, campaign, cues.items, failed=cues.failed)
        place = place_items(session, campaign, bad.items, "known_bad", expected="reject")
        drop_pending(session, campaign, [*main.retired, *place.retired])
        return ImportSummary(
            slug=slug,
            n_new=len(main.new),
            n_kept=len(main.kept),
            n_retired=len(main.retired),
            n_stale=_count_verdicts(session, campaign, main.retired),
            n_absent=main.n_absent,
            n_failed=len(cues.failed),
            n_equal=cues.n_equal,
            n_other=cues.n_other,
            n_known_bad=len(bad.items),
        )


def _check_apart(where: str, cues: CueSet, bad: CueSet) -> None:
    known = {(item.cue_kind, item.sha256) for item in cues.items}
    if both := [item.file_url for item in bad.items if (item.cue_kind, item.sha256) in known]:
        raise ProblemsError(where, [f"{url}: known to be bad, and a cue of the review" for url in both])


def _campaign(session: Session, slug: str, seed: int | None, given: dict[str, object]) -> Campaign:
    """Return the review, made where there is none.

    Raises
    ------
    CuebenchError
        If a given setting differs from that of the review.
    """
    if session.scalar(select(Campaign.id).where(Campaign.slug == slug)) is None:
        if not 0 <= (seed or 0) <= MAX_SEED:
            raise CuebenchError(f"seed: expected 0 to {MAX_SEED}, got {seed}")
        settings = asdict(ReviewSettings(**given))  # type: ignore[arg-type]
        return create_campaign(session, slug, "review", settings, seed or 0)
    campaign = open_for_work(session, slug)
    if campaign.kind != "review":
        raise CuebenchError(f"campaign {slug}: expected a review campaign, got a {campaign.kind} campaign")
    before = {**json.loads(campaign.protocol_json), "seed": campaign.seed}
    wanted = {**given, **({} if seed is None else {"seed": seed})}
    for name, value in wanted.items():
        if before[name] != value:
            raise CuebenchError(
                f"campaign {slug}: {name} is {before[name]!r} since it began, got {value!r}; leave it out, or begin "
                "another review"
            )
    return campaign


def _count_verdicts(session: Session, campaign: Campaign, item_ids: Sequence[int]) -> int:
    count = 0
    for part in in_parts(item_ids):
        query = (
            select(func.count())
            .select_from(Assignment)
            .join(CurrentAnswer, CurrentAnswer.assignment_id == Assignment.id)
            .where(Assignment.campaign_id == campaign.id, Assignment.item_id.in_(part))
        )
        count += session.scalar(query) or 0
    return count
