"""The verb `verify`: whether a release is as it was made."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from curation.verify import Verification

N_NUMBERS = 3  # as many are named before they are only counted


@click.command(epilog="Example: cuebench verify cues-1.0.0 --public-key maintainer.pub")
@click.argument("folder", metavar="RELEASE")
@click.option("--public-key", metavar="FILE", help="SHA256SUMS has to be signed with it (OpenSSH or PEM).")
@click.option("--verbose", is_flag=True, help="Name every number that differs, not only how many.")
@click.option("--format", "form", default="text", show_default=True, type=click.Choice(["text", "json"]))
@click.pass_context
def verify(ctx: click.Context, folder: str, public_key: str | None, verbose: bool, form: str) -> None:
    """Check a release: every file, picture and label, and all numbers, computed again from the ratings in it.

    Exit code 0: it is as it was made. 3: it is not; every file that is missing, added or changed is named.
    """
    from curation.verify import verify_release

    found = verify_release(folder, public_key)
    text = (
        json.dumps(found.to_json(), indent=2)
        if form == "json"
        else _verification_text(found, verbose=verbose)
    )
    click.echo(text)
    ctx.exit(0 if found.is_intact else 3)


def _verification_text(found: Verification, *, verbose: bool) -> str:
    """Return the verdict, then every finding; of many numbers that differ from gate.json only how many."""
    simulated = " (SIMULATED answers)" if found.simulated else ""
    verdict = "intact" if found.is_intact else f"NOT INTACT: {len(found.findings)} findings"
    lines = [f"{found.name} {found.version}{simulated}: {verdict}, {found.n_files} files"]
    if found.outcome is not None:
        kappas = ", ".join(
            f"{kind} {'-' if kappa is None else f'{kappa:.4f}'}" for kind, kappa in found.kappa.items()
        )
        doubt = "" if found.is_intact else "; from what is here now: numbers not to be trusted"
        lines.append(f"gate {found.outcome}, computed again; kappa: {kappas}{doubt}")
    lines.append(f"signature {found.signature}; release id {found.release_id}")
    return "\n".join([*lines, *([""] if found.findings else []), *_finding_lines(found, verbose=verbose)])


def _finding_lines(found: Verification, *, verbose: bool) -> Iterator[str]:
    from curation.release_content import GATE

    numbers = [row for row in found.findings if row.kind == "gate" and row.where == GATE]
    folded = [] if verbose or len(numbers) <= N_NUMBERS else numbers
    for row in found.findings:
        if row not in folded:
            yield f"{row.kind:<10} {row.where}: {row.detail}"
    if folded:
        places = ", ".join(row.detail.partition(":")[0] for row in folded[:N_NUMBERS])
        yield f"{'gate':<10} {GATE}: {len(folded)} numbers differ ({places}, ...; all of them: --verbose)"
