"""Trials in the tables of other tools: those of model-vs-human, both ways, and the columns of crowd-kit.

A table of model-vs-human has the columns `subj, session, trial, rt, object_response, category, condition, imagename`;
rt is in seconds (`NaN` where nobody answered), a missing response is `na`, and an image name begins with the number
of the trial, the experiment and the subject (`0001_edg_s10_`), which are no part of the picture's own name.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields, replace

from curation.campaigns import CODE_ALPHABET, sha256_text
from curation.exchange_csv import defuse, dump_csv, parse_csv, restore
from curation.rating_records import RatingRecord, ResponseRecord
from data_manifests.errors import ProblemsError
from data_manifests.jsonl import N_PROBLEMS_SHOWN, canonical_json
from data_manifests.records import CueKind
from data_manifests.storage import read_bytes

MISSING = "na"
HASH_OF_NAME = "hash_of_name"  # the picture was not at hand: its hashes are of its name
CROWD_KIT_COLUMNS = ("task", "worker", "label")

_IN_NOTE = ("subj", "session", "trial", "rt", "condition", "imagename")
_SHOWING = re.compile(r"^\d+_[a-z0-9]+_(?:s\d+|dnn)_")


@dataclass(frozen=True)
class Trial:
    """A row of model-vs-human, as it is written; `rt` is seconds as text, so that no digit is lost."""

    subj: str
    session: str
    trial: str
    rt: str
    object_response: str
    category: str
    condition: str
    imagename: str

    @property
    def item(self) -> str:
        """The picture's own name: the image name without trial, experiment and subject.

        >>> Trial("s", "1", "1", "NaN", "na", "cat", "0", "0001_edg_s10_0_cat_00_cat5.png").item
        '0_cat_00_cat5.png'
        """
        return _SHOWING.sub("", self.imagename)

    @property
    def answer(self) -> str | None:
        """The response, None where it is missing."""
        return None if self.object_response.lower() == MISSING else self.object_response

    @property
    def rt_ms(self) -> int | None:
        """The time to the response in ms, rounded; None where there is none."""
        seconds = float(self.rt)
        return round(seconds * 1000) if math.isfinite(seconds) else None


COLUMNS = tuple(field.name for field in fields(Trial))


def read_trials(url: str) -> list[Trial]:
    """Return the rows of a table of model-vs-human; the case of its header does not matter.

    Raises
    ------
    CuebenchError
        If a column is missing or unknown, or a row is cut short.
    ProblemsError
        If values are none; lists them with their lines.
    """
    trials, problems = [], []
    for number, cells in parse_csv(read_bytes(url), url, COLUMNS, required=COLUMNS):
        trial = Trial(**{name: restore(cell) for name, cell in cells.items()})
        problems += [f"line {number}: {problem}" for problem in _problems(trial)]
        trials.append(trial)
    if problems:
        hidden = len(problems) - N_PROBLEMS_SHOWN
        raise ProblemsError(url, problems[:N_PROBLEMS_SHOWN] + [f"... and {hidden} more"] * (hidden > 0))
    return trials


def _problems(trial: Trial) -> list[str]:
    found = [
        f"{name} is empty"
        for name in ("subj", "object_response", "category", "imagename")
        if not getattr(trial, name)
    ]
    for name, least in (("session", 1), ("trial", 0)):
        value = getattr(trial, name)
        if not value.isascii() or not value.isdecimal() or int(value) < least:
            found.append(f"{name}: expected a whole number from {least}, got {value or 'nothing'}")
    try:
        if float(trial.rt) < 0 or math.isinf(float(trial.rt)):
            raise ValueError
    except ValueError:
        found.append(f"rt: expected seconds or NaN, got {trial.rt or 'nothing'}")
    return found


def dump_trials(trials: Iterable[Trial]) -> bytes:
    """Return a table of model-vs-human."""
    return dump_csv(COLUMNS, ([defuse(cell) for cell in astuple(trial)] for trial in trials))


def responses_of(
    trials: Sequence[Trial], campaign: str, cue_kind: CueKind, choices: Sequence[str] | None = None
) -> list[ResponseRecord]:
    """Return trials as rows of the long table; `note` keeps, as JSON, what has no column there.

    Parameters
    ----------
    choices : what was offered; by default every category and every response, sorted

    Notes
    -----
    The pictures are not at hand: `sha256` is of the picture's own name, and the flag `hash_of_name` says so.
    """
    offered = {trial.category for trial in trials} | {t.answer for t in trials if t.answer is not None}
    protocol = sha256_text(canonical_json({"imported_from": "model-vs-human", "campaign": campaign}))
    return [
        ResponseRecord(
            campaign=campaign,
            protocol_sha256=protocol,
            rater=trial.subj,
            sha256=sha256_text(trial.item),
            cue_id=trial.item[:64],
            cue_kind=cue_kind,
            superclass=trial.category,
            role="main",
            block=int(trial.session) - 1,
            position=int(trial.trial),
            answer=trial.answer,
            note=canonical_json({name: getattr(trial, name) for name in _IN_NOTE}),
            rt_ms=trial.rt_ms,
            event_id=_event_id(campaign, trial),
            n_events=1,
            flags=(HASH_OF_NAME,),
            choices=tuple(choices or sorted(offered)),
            expected=trial.category,
            reached=True,
        )
        for trial in trials
    ]


def _event_id(campaign: str, trial: Trial) -> str:
    """Return an id that the same row always has, so that it is stored once however often it is imported."""
    return sha256_text(canonical_json([campaign, *astuple(trial)]))[:36]


def trials_of(responses: Iterable[ResponseRecord]) -> list[Trial]:
    """Return responses to main trials as rows of model-vs-human; those who were not reached are left out.

    Rows that were imported from such a table become what they were. Elsewhere, subjects have numbers in the order
    of their codes in the image names, and trials are numbered anew.
    """
    rows = sorted(
        (row for row in responses if row.role == "main" and row.reached),
        key=lambda row: (row.rater, row.block, row.position),
    )
    numbers = {
        rater: number for number, rater in enumerate(dict.fromkeys(row.rater for row in rows), start=1)
    }
    names = {row.rater: kept["subj"] for row in rows if (kept := _kept(row))}
    counts: Counter[str] = Counter()
    trials = []
    for row in rows:
        counts[row.rater] += 1
        new = _new_trial(row, names.get(row.rater, row.rater), counts[row.rater], numbers[row.rater])
        trials.append(replace(new, **_kept(row)))
    return trials


def _kept(row: ResponseRecord) -> dict[str, str]:
    """Return what the note of a row keeps of the table that it was imported from."""
    if HASH_OF_NAME not in row.flags or not row.note:
        return {}
    kept: dict[str, str] = json.loads(row.note)
    return kept


def _new_trial(row: ResponseRecord, subject: str, number: int, subject_number: int) -> Trial:
    own_name = (row.cue_id or row.sha256[:16]).removesuffix(".png")
    if HASH_OF_NAME not in row.flags:
        own_name = f"0_{row.superclass}_00_{own_name}"
    return Trial(
        subj=subject,
        session=str(row.block + 1),
        trial=str(number),
        rt="NaN" if row.rt_ms is None or row.answer is None else repr(row.rt_ms / 1000),
        object_response=MISSING if row.answer is None else row.answer,
        category=row.superclass,
        condition=str(row.grid or 0),
        imagename=f"{number:04d}_{row.cue_kind[:3]}_s{subject_number:02d}_{own_name}.png",
    )


def code_of(campaign: str, subject: str) -> str:
    """Return the code of a subject of another tool in this record: 12 letters and digits that its name gives."""
    number = int(sha256_text(canonical_json([campaign, subject])), 16)
    code = ""
    for _ in range(12):
        number, place = divmod(number, len(CODE_ALPHABET))
        code += CODE_ALPHABET[place]
    return code


def dump_crowd_kit(rows: Iterable[RatingRecord]) -> bytes:
    """Return `task, worker, label` for each first answer to a main picture that was not made again since."""
    table = (
        [f"{row.cue_kind}:{row.sha256}", defuse(row.rater), defuse(row.answer)]
        for row in rows
        if row.answer is not None and row.role == "main" and row.presentation == 1 and not row.stale
    )
    return dump_csv(CROWD_KIT_COLUMNS, table)
