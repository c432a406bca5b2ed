"""The ratings of a campaign, or of a long table that was exported from one, of which agreement is reported."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from sqlalchemy import func, select

from curation.campaigns import find_campaign
from curation.database import Store
from curation.exchange_table import RECORDS, read_table, suffix_of
from curation.gate_review import first_verdicts
from curation.rating_records import RatingRecord, ResponseRecord, VerdictRecord, is_simulated
from curation.ratings import Ratings, make_ratings
from curation.review_votes import OUTCOMES
from curation.screening import ExclusionRules, counted, screen
from curation.snapshots import read_rows
from curation.study_record import n_check_failures, protocol_of
from curation.tables import Campaign, Event
from data_manifests.errors import CuebenchError
from data_manifests.storage import read_bytes

COLUMNS = ("sha256", "rater", "answer")


@dataclass(frozen=True)
class Choice:
    """Which rows and columns count: `columns` name item, rater and label; a label of `missing` is no rating.

    With `all_raters` raters who met a rule of exclusion count, too; `categories` are what was offered, where that is
    not what the rows say.
    """

    cue_kind: str | None = None
    all_raters: bool = False
    columns: tuple[str, str, str] = COLUMNS
    missing: Sequence[str] = ()
    categories: Sequence[str] | None = None


@dataclass(frozen=True)
class CampaignRatings:
    """The ratings of each cue kind, and the codes of the raters whom a rule left out.

    `simulated` says whether a program gave any of the answers.
    """

    campaign: str
    kind: str
    simulated: bool
    excluded: tuple[str, ...]
    by_cue_kind: dict[str, Ratings]


def read_campaign(store: Store, slug: str | None, choice: Choice) -> CampaignRatings:
    """Return the ratings of a campaign as they stand: first answers that count, after the rules of its protocol.

    Raises
    ------
    CuebenchError
        If there is no such campaign or several and none is named, it is one of mask picking, or nothing counts.
    """
    with store.read() as session:
        campaign = find_campaign(session, slug or _only_campaign(session.scalars(_CAMPAIGNS).all()))
        last = session.scalar(select(func.max(Event.id))) or 0
        rows = tuple(read_rows(session, campaign, last))
        is_study, name, kind = campaign.kind == "study", campaign.slug, campaign.kind
        rules = protocol_of(campaign).exclusions if is_study else ExclusionRules()
        failures = n_check_failures(session, campaign) if is_study else {}
    responses = [row for row in rows if isinstance(row, ResponseRecord)]
    flagged = {flag.rater for flag in screen(responses, failures, rules)} if is_study else set[str]()
    return _ratings(_Table(f"campaign {name}", kind, name, rows, flagged, rules), choice)


_CAMPAIGNS = select(Campaign.slug).where(Campaign.kind.in_(RECORDS)).order_by(Campaign.slug)


def _only_campaign(slugs: Sequence[str]) -> str:
    if len(slugs) != 1:
        listed = f"{len(slugs)} campaigns ({', '.join(slugs)})" if slugs else "no campaign of review or study"
        raise CuebenchError(
            f"there {'are' if slugs else 'is'} {listed} in the database; name one with --campaign"
        )
    return slugs[0]


def read_long_table(url: str, choice: Choice) -> CampaignRatings:
    """Return the ratings of an exported table; raters whom the table names as excluded do not count.

    Raises
    ------
    CuebenchError
        If the file is no such table, a column is none of its, or nothing counts.
    ProblemsError
        If rows are not valid.
    """
    columns = _columns_of(url)
    if absent := [name for name in COLUMNS if name not in columns]:
        raise CuebenchError(
            f"{url}: no column {', '.join(absent)}, so this is no exported table; the columns are: "
            f"{', '.join(columns) or 'none'}; name them with --item, --rater and --label (of a CSV)"
        )
    kind = "study" if "choices" in columns else "review"
    rows = tuple(read_table(url, RECORDS[kind])[0])
    flagged = {row.rater for row in rows if isinstance(row, ResponseRecord) and row.excluded}
    campaigns = ", ".join(sorted({row.campaign for row in rows}))
    # the table does not tell its protocol: what it calls excluded is, and no answer is too fast
    return _ratings(_Table(url, kind, campaigns, rows, flagged, ExclusionRules(trial_min_rt_ms=0)), choice)


def _columns_of(url: str) -> list[str]:
    data, suffix = read_bytes(url), suffix_of(url)
    if suffix == ".parquet":
        import pyarrow as pa
        from pyarrow import parquet

        try:
            return list(parquet.read_schema(io.BytesIO(data)).names)
        except pa.ArrowException as error:
            raise CuebenchError(f"{url}: not a Parquet file ({str(error).splitlines()[0]})") from error
    text = data.decode("utf-8-sig", "replace")
    if suffix == ".csv":
        return [name.strip().lower() for name in next(csv.reader(io.StringIO(text, newline="")), [])]
    try:
        rows = (
            json.loads(text)
            if suffix == ".json"
            else [json.loads(line) for line in islice(text.splitlines(), 1)]
        )
    except ValueError as error:
        raise CuebenchError(f"{url}: not JSON ({error})") from error
    first = rows[0] if isinstance(rows, list) and rows else {}
    return list(first) if isinstance(first, dict) else []


@dataclass(frozen=True)
class _Table:
    """The rows of a campaign, and what is known of it: `flagged` are the raters who met a rule of exclusion."""

    where: str
    kind: str
    campaign: str
    rows: tuple[RatingRecord, ...]
    flagged: set[str]
    rules: ExclusionRules


def _ratings(table: _Table, choice: Choice) -> CampaignRatings:
    left_out = set[str]() if choice.all_raters else table.flagged
    used: Sequence[RatingRecord]
    if table.kind == "study":
        valid = [row for row in table.rows if isinstance(row, ResponseRecord) and not row.stale]
        used = counted(valid, left_out, table.rules)
    else:
        used = first_verdicts([row for row in table.rows if isinstance(row, VerdictRecord)])
    found: dict[str, Ratings] = {
        cue_kind: _make([row for row in used if row.cue_kind == cue_kind], table.where, choice)
        for cue_kind in sorted({row.cue_kind for row in used})
        if choice.cue_kind in (None, cue_kind)
    }
    if not found:
        kinds = f" to {choice.cue_kind} cues" if choice.cue_kind else ""
        raise CuebenchError(f"{table.where}: no answer{kinds} counts yet")
    simulated = is_simulated(table.rows)
    return CampaignRatings(table.campaign, table.kind, simulated, tuple(sorted(left_out)), found)


def _make(rows: Sequence[RatingRecord], where: str, choice: Choice) -> Ratings:
    fields = type(rows[0]).model_fields
    for name in choice.columns:
        if name not in fields:
            raise CuebenchError(f"{where}: no column {name}; the columns are: {', '.join(fields)}")
    offered = choice.categories
    if offered is None and choice.columns[2] == "answer":
        choices = {name for row in rows if isinstance(row, ResponseRecord) for name in row.choices}
        offered = sorted(choices) or list(OUTCOMES)
        offered = [name for name in offered if name not in choice.missing]
    cells = [[_text(getattr(row, name)) for name in choice.columns] for row in rows]
    return make_ratings(
        [item or "" for item, _, _ in cells],
        [rater or "" for _, rater, _ in cells],
        [None if label in ("", *choice.missing) else label for _, _, label in cells],
        offered,
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)
