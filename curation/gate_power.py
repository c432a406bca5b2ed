"""What it would take for an agreement to pass that does not."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

MORE = "collect more (`study top-up`)"


def pass_probability(kappa: float, se: float, bound: float, level: float) -> float:
    """Return the chance that a new study of a set with this kappa has a lower bound of at least `bound`.

    On the scale g = log(1 - kappa), where the estimate is normal: Phi((log(1 - bound) - g) / se_g - z).
    """
    if kappa >= 1 or se <= 0:
        return 1.0 if kappa >= bound else 0.0
    normal = NormalDist()
    distance = (np.log1p(-bound) - np.log1p(-kappa)) / (se / (1 - kappa))
    return normal.cdf(float(distance) - normal.inv_cdf(level))


def needed_kappa(se: float, bound: float, level: float, chance: float) -> float:
    """Return the kappa that a set needs to pass with a chance, at a standard error: bound + (z_level + z_chance) se."""
    normal = NormalDist()
    return bound + (normal.inv_cdf(level) + normal.inv_cdf(chance)) * se


def power_line(kappa: float, se: float | None, bound: float, level: float) -> str:
    """Return what would make an agreement pass that does not.

    Where even the estimate says that such a set passes, the ratings are too few for the bound to show it.
    """
    if se is None:
        return "collect more ratings"
    chance = pass_probability(kappa, se, bound, level)
    if chance > 0.5:
        return f"kappa is high enough, and there are too few ratings to vouch for it: {MORE}"
    half, most = (needed_kappa(se, bound, level, chance) for chance in (0.5, 0.9))
    needs = (
        f"it takes a true kappa of {half:.3f} to pass half of the time and {most:.3f} to pass 9 times of 10"
        if most < 1
        else "no set passes 9 times of 10"
    )
    return (
        f"a set as good as this one passes {chance:.0%} of the time; with this many "
        f"ratings (standard error {se:.4f}) {needs}: leave out the pictures that people agree on least, or ask "
        "more people"
    )
