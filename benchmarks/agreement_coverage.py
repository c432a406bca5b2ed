"""How often the 95 % interval of kappa holds the truth, over simulated studies of the default design.

Run: python -m benchmarks.agreement_coverage [REPLICATIONS]   (default 1,000; about 20 s for each line)
"""

from __future__ import annotations

import sys

from curation.power import Crowd, Design, evaluate_design

DEFAULT_DESIGN = Design(440, 10, 88, 50)
# kappa, share of careless people: near 1 nobody can be careless, or kappa would not be near 1
CASES = ((0.80, 0.05), (0.80, 0.0), (0.98, 0.0))
SEED = 0


def main(n_replications: int) -> None:
    """Print the table."""
    print(
        f"{'kappa':>6}{'careless':>10}{'mean':>9}{'sd':>8}{'items':>8}{'two-way':>9}{'bound':>8}   (seed {SEED})"
    )
    for kappa, careless in CASES:
        crowd = Crowd(careless_share=careless)
        found = evaluate_design(DEFAULT_DESIGN, kappa, crowd, n_replications=n_replications, seed=SEED)
        print(
            f"{kappa:>6}{careless:>10}{found.kappa:>9.4f}{found.sd:>8.4f}{found.item_coverage:>8.3f}"
            f"{found.two_way_coverage:>9.3f}{found.bound_coverage:>8.3f}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
