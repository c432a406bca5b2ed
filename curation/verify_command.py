"""The verb `verify`: whether a release is as it was made."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from curation.verify import Verification


@click.command(epilog="Example: cuebench verify cues-1.0.0 --public-key maintainer.pub")
@click.argument("folder", metavar="RELEASE")
@click.option("--public-key", metavar="FILE", help="SHA256SUMS has to be signed with it (OpenSSH or PEM).")
@click.option("--format", "form", default="text", show_default=True, type=click.Choice(["text", "json"]))
@click.pass_context
def verify(ctx: click.Context, folder: str, public_key: str | None, form: str) -> None:
    """Check a release: every file, picture and label, and all numbers, computed again from the ratings in it.

    Exit code 0: it is as it was made. 3: it is not; every file that is missing, added or changed is named.
    """
    from curation.verify import verify_release

    found = verify_release(folder, public_key)
    click.echo(json.dumps(found.to_json(), indent=2) if form == "json" else _verification_text(found))
    ctx.exit(0 if found.is_intact else 3)


def _verification_text(found: Verification) -> str:
    lines = [f"{row.kind:<10} {row.where}: {row.detail}" for row in found.findings]
    lines += [""] if lines else []
    simulated = " (SIMULATED answers)" if found.simulated else ""
    verdict = "intact" if found.is_intact else f"NOT INTACT: {len(found.findings)} findings"
    lines.append(f"{found.name} {found.version}{simulated}: {verdict}, {found.n_files} files")
    if found.outcome is not None:
        kappas = ", ".join(
            f"{kind} {'-' if kappa is None else f'{kappa:.4f}'}" for kind, kappa in found.kappa.items()
        )
        lines.append(f"gate {found.outcome}, computed again; kappa: {kappas}")
    lines.append(f"signature {found.signature}; release id {found.release_id}")
    return "\n".join(lines)
