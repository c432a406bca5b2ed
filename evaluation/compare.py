"""What the scores of several models say together: families against a baseline, and how scores go with each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from data_manifests.errors import CuebenchError
from evaluation.model_statistics import (
    N_RESAMPLES,
    Correlation,
    FamilyEffect,
    OneSample,
    correlate,
    family_effects,
    one_sample,
)
from evaluation.scores import ScoreTable


@dataclass(frozen=True)
class PairCorrelation:
    """How two scores go together over the models."""

    x: str
    y: str
    correlation: Correlation


@dataclass(frozen=True)
class Comparison:
    """The comparison of models.

    `families`: score -> families against the baseline. `preferences`: score -> test against no preference (.5), over
    models. `correlations`: every pair of scores that was asked for.
    """

    n_models: int
    baseline: str | None
    families: dict[str, tuple[FamilyEffect, ...]]
    preferences: dict[str, OneSample]
    correlations: tuple[PairCorrelation, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as plain JSON types."""
        return {
            "n_models": self.n_models,
            "baseline": self.baseline,
            "families": {
                score: [{"family": e.family, "p_holm": e.p_holm, **asdict(e.test)} for e in effects]
                for score, effects in self.families.items()
            },
            "preferences": {
                score: {"unit": "models", **asdict(test)} for score, test in self.preferences.items()
            },
            "correlations": [{"x": p.x, "y": p.y, **asdict(p.correlation)} for p in self.correlations],
        }


def compare(
    table: ScoreTable,
    x: str,
    scores: Sequence[str],
    *,
    baseline: str | None = None,
    seed: int = 0,
    n_resamples: int = N_RESAMPLES,
) -> Comparison:
    """Return what the scores say together.

    Parameters
    ----------
    x : the score that the others are held against, such as `accuracy`, or `bits` for a trend over precision
    scores : the scores to compare
    baseline : the model that every family is tested against; it belongs to no family

    Raises
    ------
    CuebenchError
        If there is no such column or model, no score to compare, or no model beside the baseline.
    """
    if not scores:
        raise CuebenchError(
            f"{table.where}: no score to compare; name one with --score; there are: {', '.join(table.columns)}"
        )
    others = table.without([baseline] if baseline else [])
    if not others.rows:
        raise CuebenchError(f"{table.where}: there is no model beside the baseline {baseline}")
    clusters = [row.cluster for row in table.rows]
    independent = len(set(clusters)) == len(clusters)
    correlations = tuple(
        PairCorrelation(
            x,
            score,
            correlate(
                table.column(x),
                table.column(score),
                clusters=None if independent else clusters,
                n_resamples=n_resamples,
                seed=seed,
            ),
        )
        for score in scores
    )
    families = {}
    if baseline is not None:
        reference = table.row(baseline).values
        for score in scores:
            table.column(score)  # says what is missing
            groups: dict[str, list[float]] = {}
            for row in others.rows:
                groups.setdefault(row.family or "no family", []).append(row.values[score])
            families[score] = tuple(family_effects(groups, reference[score]))
    preferences = {
        score: one_sample(table.column(score), 0.5) for score in scores if score.endswith("_preference")
    }
    return Comparison(len(table.rows), baseline, families, preferences, correlations)
