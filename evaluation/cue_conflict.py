"""Shape bias from cue-conflict images: the shape of one class filled with the texture of another.

shape bias = shape / (shape + texture), over the images whose two classes differ, counting the answers that name one of
the two classes [1]_. Chance and label space differ from the sensitivities of `evaluation.sensitivity`: this module is
for putting the two side by side.

References
----------
.. [1] Geirhos et al. (2019), ICLR, arXiv 1811.12231; its published code, and that of model-vs-human.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import softmax

from data_manifests.errors import CuebenchError
from data_manifests.shipped import read_toml
from data_manifests.storage import read_bytes, write_bytes
from evaluation.label_space import LabelSpace
from evaluation.ranks import LogitArray

Aggregation = Literal["mean", "max"]

COLUMNS = ("subj", "session", "trial", "rt", "object_response", "category", "condition", "imagename")
NO_ANSWER = "na"
_CLASSES = re.compile(r"([a-z]+)\d+-([a-z]+)\d+\.[a-z]+$")


@dataclass(frozen=True)
class ConflictTrial:
    """One answer to one image; `response` is None where there was none."""

    subject: str
    image: str
    shape: str
    texture: str
    response: str | None


@dataclass(frozen=True)
class ShapeBias:
    """The counts behind a shape bias.

    `n_other` answers name neither class, `n_missing` trials have none, `n_same` images show one class twice and are
    left out. `value` is None where no answer names a class of its image; `macro` is the mean over shape classes.
    """

    subject: str
    n_shape: int
    n_texture: int
    n_other: int
    n_missing: int
    n_same: int
    value: float | None
    macro: float | None

    @property
    def cue_accuracy(self) -> float | None:
        """The share of answers that name either class: a bias among few such answers says little."""
        n = self.n_shape + self.n_texture + self.n_other
        return (self.n_shape + self.n_texture) / n if n else None


def conflict_classes(image: str) -> tuple[str, str]:
    """Return the shape and the texture class of an image by its name.

    >>> conflict_classes("0001_s5n_dnn_0_airplane_00_airplane1-bicycle2.png")
    ('airplane', 'bicycle')

    Raises
    ------
    CuebenchError
        If the name is not of this form.
    """
    match = _CLASSES.search(image)
    if match is None:
        raise CuebenchError(f"{image}: expected a name that ends in SHAPE1-TEXTURE2.png")
    return match[1], match[2]


def read_trials(url: str) -> list[ConflictTrial]:
    """Return the trials of a CSV of the model-vs-human format; the case of its header does not matter.

    Raises
    ------
    CuebenchError
        If a column is missing, a row is cut short or an image's name does not tell its classes; the line is named.
    """
    reader = csv.DictReader(io.StringIO(read_bytes(url).decode("utf-8-sig"), newline=""))
    names = {name.strip().lower(): name for name in reader.fieldnames or ()}
    if missing := sorted({"subj", "object_response", "imagename"} - set(names)):
        raise CuebenchError(
            f"{url}: no column {', '.join(missing)}; the columns are {', '.join(names) or 'none'}"
        )
    trials = []
    for row in reader:
        subject, image, response = (row[names[name]] for name in ("subj", "imagename", "object_response"))
        if subject is None or image is None or response is None:
            raise CuebenchError(f"{url}: line {reader.line_num}: expected {len(names)} fields, got fewer")
        try:
            shape, texture = conflict_classes(image)
        except CuebenchError as error:
            raise CuebenchError(f"{url}: line {reader.line_num}: {error}") from error
        answer = None if response == NO_ANSWER else response
        trials.append(ConflictTrial(subject, image, shape, texture, answer))
    return trials


def write_trials(url: str, trials: Iterable[ConflictTrial], session: int = 1) -> None:
    """Write trials as a CSV of the model-vs-human format; `category` is the shape class, times are `NaN`."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for number, trial in enumerate(trials, 1):
        answer = NO_ANSWER if trial.response is None else trial.response
        writer.writerow([trial.subject, session, number, "NaN", answer, trial.shape, 0, trial.image])
    write_bytes(url, text.getvalue().encode())


def shape_bias(trials: Sequence[ConflictTrial], subject: str = "all") -> ShapeBias:
    """Return the shape bias of trials, pooled, and its mean over shape classes.

    Raises
    ------
    CuebenchError
        If there are no trials.
    """
    if not trials:
        raise CuebenchError("there are no trials")
    conflicts = [trial for trial in trials if trial.shape != trial.texture]
    n_shape = sum(trial.response == trial.shape for trial in conflicts)
    n_texture = sum(trial.response == trial.texture for trial in conflicts)
    n_missing = sum(trial.response is None for trial in conflicts)
    return ShapeBias(
        subject=subject,
        n_shape=n_shape,
        n_texture=n_texture,
        n_other=len(conflicts) - n_shape - n_texture - n_missing,
        n_missing=n_missing,
        n_same=len(trials) - len(conflicts),
        value=n_shape / (n_shape + n_texture) if n_shape + n_texture else None,
        macro=_macro(conflicts),
    )


def _macro(conflicts: Sequence[ConflictTrial]) -> float | None:
    values = []
    for name in sorted({trial.shape for trial in conflicts}):
        own = [trial for trial in conflicts if trial.shape == name]
        n_shape = sum(trial.response == trial.shape for trial in own)
        n_both = n_shape + sum(trial.response == trial.texture for trial in own)
        if n_both:
            values.append(n_shape / n_both)
    return float(np.mean(values)) if values else None


def by_subject(trials: Sequence[ConflictTrial]) -> list[ShapeBias]:
    """Return the shape bias of each subject, in the order of their names."""
    names = sorted({trial.subject for trial in trials})
    return [shape_bias([trial for trial in trials if trial.subject == name], name) for name in names]


def read_label_groups(name_or_path: str = "geirhos-16") -> dict[str, tuple[str, ...]]:
    """Return class -> WordNet ids, from a shipped grouping or a TOML file.

    Raises
    ------
    CuebenchError
        If there is no such name or file.
    ProblemsError
        If the file is not TOML.
    """
    _, content = read_toml(name_or_path, "label_groups")
    return {name: tuple(wnids) for name, wnids in content.items()}


def decide(
    logits: LogitArray,
    space: LabelSpace,
    groups: Mapping[str, Sequence[str]],
    aggregation: Aggregation = "mean",
) -> list[str]:
    """Return the class of each row: probabilities over the full label space, put together by class.

    Parameters
    ----------
    logits : (N, K) float
    aggregation : `mean` of the members' probabilities (recommended since), or their `max`, as in the first paper

    Raises
    ------
    CuebenchError
        If a class has no label in the space, or a logit is not finite.
    """
    _check_finite(logits)
    columns = {name: space.columns(wnids) for name, wnids in groups.items()}
    if empty := [name for name, own in columns.items() if not own]:
        raise CuebenchError(f"class {', '.join(empty)}: no label of it is in {space.name}")
    probabilities = softmax(np.asarray(logits, np.float64), axis=1)
    members = [probabilities[:, own] for own in columns.values()]
    table = np.stack([m.mean(1) if aggregation == "mean" else m.max(1) for m in members], 1)
    names = list(columns)
    return [names[index] for index in table.argmax(1)]


def decide_full(
    logits: LogitArray, space: LabelSpace, groups: Mapping[str, Sequence[str]]
) -> list[str | None]:
    """Return the class of the highest of all K logits, or None where it belongs to no class: the full label space.

    Raises
    ------
    CuebenchError
        If a logit is not finite.
    """
    _check_finite(logits)
    owner: dict[int, str] = {
        column: name for name, wnids in groups.items() for column in space.columns(wnids)
    }
    return [owner.get(int(column)) for column in np.asarray(logits).argmax(1)]


def _check_finite(logits: LogitArray) -> None:
    """Refuse logits that are not finite: the highest of them would be the first NaN."""
    finite = np.isfinite(np.asarray(logits)).all(1)
    if not finite.all():
        row = int(np.flatnonzero(~finite)[0])
        raise CuebenchError(f"logits: row {row} holds a value that is not finite; expected finite logits")
