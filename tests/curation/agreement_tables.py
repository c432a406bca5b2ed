"""Published tables of ratings, as counts or as ratings, with which the coefficients are compared."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np

from curation.ratings import IntArray, Ratings, make_ratings

# Fleiss (1971), psychiatric diagnoses: Depression, Personality disorder, Schizophrenia, Neurosis, Other
DIAGNOSES: IntArray = np.array(
    [
        [int(digit) for digit in row]
        for row in str.split(
            "00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031 "
            "00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006"
        )
    ]
)

FOURTEEN_RATERS: IntArray = np.array(
    [
        [int(count) for count in row.split(",")]
        for row in str.split(
            "0,0,0,0,14 0,2,6,4,2 0,0,3,5,6 0,3,9,2,0 2,2,8,1,1 7,7,0,0,0 3,2,6,3,0 2,5,3,2,2 6,5,2,1,0 0,2,2,3,7"
        )
    ]
)

# Krippendorff (2011), four observers, missing data
FOUR_RATERS = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)
THREE_RATERS = (
    ". . . . . 3 4 1 2 1 1 3 3 . 3",
    "1 . 2 1 3 3 4 3 . . . . . . .",
    ". . 2 1 3 4 4 . 2 1 1 3 3 . 4",
)


def from_rows(rows: tuple[str, ...]) -> Ratings:
    """Return ratings from one row of labels a rater; `.` is missing."""
    cells = [
        (f"unit {unit:02d}", f"rater {rater}", None if label == "." else label)
        for rater, row in enumerate(rows)
        for unit, label in enumerate(row.split())
    ]
    items, raters, labels = zip(*cells, strict=True)
    return make_ratings(items, raters, labels)


def from_counts(counts: IntArray) -> Ratings:
    """Return ratings that have these counts; the raters of an item are as many as it has ratings."""
    cells = [
        (f"{item:04d}", f"{rater:02d}", str(category))
        for item, row in enumerate(counts)
        for rater, category in enumerate(np.repeat(np.arange(len(row)), row))
    ]
    items, raters, labels = zip(*cells, strict=True)
    return make_ratings(items, raters, labels, [str(category) for category in range(counts.shape[1])])


def human_trials(folder: Path, *, na_is_missing: bool = True) -> Ratings:
    """Return the ratings of the people (not the networks) of one experiment."""
    items, raters, labels = [], [], []
    for path in sorted(folder.glob("*subject*.csv")):
        with path.open(newline="", encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                trial = {name.lower(): value for name, value in row.items()}
                items.append(re.sub(r"^\d+_[^_]+_s\d+_", "", trial["imagename"]))
                raters.append(trial["subj"])
                response = trial["object_response"]
                labels.append(None if na_is_missing and response == "na" else response)
    return make_ratings(items, raters, labels)
