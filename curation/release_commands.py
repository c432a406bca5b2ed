"""The verbs `release` and `takedown`: publish a version, and the one after it without what was withdrawn."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from curation.gate import GateReport
    from curation.gate_source import GateSource
    from curation.release import Previous
    from curation.release_content import About, Export, ReleaseContent

N_LISTED = 10

_version = click.option(
    "--version",
    "number",
    metavar="X.Y.Z",
    help="A semantic version; default: the first one after the release before that raises what has to be raised.",
)
_out = click.option("--out", required=True, metavar="DIR", help="The folder of the new release.")
_date = click.option("--date", metavar="YYYY-MM-DD", help="The day of the release; default: today, in UTC.")
_tar = click.option("--tar", metavar="FILE", help="Write the release as one reproducible tar, too.")
_force = click.option("--force", is_flag=True, help="Replace the release in --out.")
_form = click.option(
    "--format", "form", default="text", show_default=True, type=click.Choice(["text", "json"])
)


@click.command(epilog="Example: cuebench release --db study.db --run run --version 1.0.0 --out cues-1.0.0")
@click.option("--db", required=True, metavar="URL", help="The record of review and study.")
@click.option("--run", required=True, metavar="RUN", help="The run folder, with cues.jsonl.")
@_version
@_out
@_date
@click.option("--rules", default="default", show_default=True, metavar="NAME|FILE", help="Of the gate.")
@click.option("--review", metavar="NAME", help="The review campaign, where there are several.")
@click.option("--study", metavar="NAME", help="The study campaign, where there are several.")
@click.option(
    "--previous", metavar="DIR", help="The release before this one: what changed decides the version."
)
@click.option(
    "--about", metavar="FILE", help="A TOML file with what the cards say of people, consent, funding."
)
@click.option(
    "--simulated", is_flag=True, help="Call the answers made by a program, where they are not marked."
)
@click.option("--keep-notes", is_flag=True, help="Ship what reviewers and participants wrote.")
@click.option(
    "--allow-derived", is_flag=True, help="Ship cues of photographs that can't be passed on themselves."
)
@click.option("--webdataset", is_flag=True, help="Add WebDataset shards.")
@click.option("--parquet", is_flag=True, help="Add Parquet twins of the tables.")
@_tar
@_force
@_form
@click.pass_context
def release(
    ctx: click.Context,
    /,
    db: str,
    run: str,
    number: str | None,
    out: str,
    date: str | None,
    rules: str,
    review: str | None,
    study: str | None,
    previous: str | None,
    about: str | None,
    form: str,
    tar: str | None,
    **flags: bool,
) -> None:
    """Write a release of the accepted cues of RUN, if the gate lets it pass.

    Otherwise nothing is written, the checks that hold it back are named, and the exit code is that of `gate`: 3 where
    one fails, 4 where one can't be decided.

    What changed since --previous decides the version: MAJOR for other classes, other pixels or pictures gone, MINOR
    for more pictures, PATCH for the rest. A first release needs --version.
    """
    from curation.database import open_store
    from curation.gate import run_gate
    from curation.gate_rules import read_gate_rules
    from curation.gate_source import read_gate_source
    from curation.release import ReleaseRequest, prepare_release
    from data_manifests import storage

    request = ReleaseRequest(
        version=_checked_version(number),
        date=_checked_day(date),
        about=_read_about(about),
        code=_code(),
        keep_notes=flags["keep_notes"],
        exports=_exports(flags),
    )
    source = read_gate_source(
        open_store(db, create=False),
        storage.join(run, "cues.jsonl"),
        read_gate_rules(rules),
        review=review,
        study=study,
        simulated=flags["simulated"],
    )
    content = prepare_release(source, run, request, _read_previous(previous))
    _check_rights(content, allow_derived=flags["allow_derived"])
    report = run_gate(content.data, request.code)
    if report.outcome != "PASS":
        _say_why_not(report, source)
        ctx.exit(report.exit_code)
    _publish(content, report, out, tar, form, force=flags["force"])


@click.command(
    epilog="Example: cuebench takedown cues-1.0.0 --source 3f2a90c1 --reason 'asked for by the author' --out cues-next"
)
@click.argument("old", metavar="RELEASE")
@click.option(
    "--source", "sources", multiple=True, metavar="ID", help="A source id, or how it begins; may be repeated."
)
@click.option(
    "--cue", "cues", multiple=True, metavar="ID", help="A cue id, or how it begins; may be repeated."
)
@click.option("--reason", required=True, metavar="TEXT", help="Why; it is published.")
@_version
@_out
@_date
@_tar
@_force
@_form
def takedown(
    old: str,
    sources: tuple[str, ...],
    cues: tuple[str, ...],
    reason: str,
    number: str | None,
    out: str,
    date: str | None,
    tar: str | None,
    force: bool,
    form: str,
) -> None:
    """Write the version after RELEASE without photographs or cues, and without all that was made from them.

    withdrawn.jsonl keeps their hashes. The gate decides anew on what is left, and its verdict is in the new version;
    whatever it is, the new version is written, for what has to go must not wait. It is a PATCH, or MAJOR where a
    class loses its last picture: leave --version out, and it is the right one.
    """
    from curation.gate import run_gate
    from curation.release_content import read_release
    from curation.takedown import Takedown, take_down
    from curation.verify import verify_release
    from data_manifests.errors import ProblemsError

    found = verify_release(old)
    if not found.is_intact:
        problems = [f"{row.where}: {row.detail}" for row in found.findings[:N_LISTED]]
        raise ProblemsError(
            f"{old}: not intact; take down from a copy that `cuebench verify` accepts", problems
        )
    request = Takedown(sources, cues, reason, _checked_version(number), _checked_day(date))
    content = take_down(read_release(old), request, release_id=found.release_id, code=_code())
    report = run_gate(content.data, content.meta.code)
    if report.outcome != "PASS":
        click.echo(
            f"the gate says {report.outcome} to what is left; the cards of the release say so", err=True
        )
    _publish(content, report, out, tar, form, force=force)
    click.echo(f"now delete or hide {old} wherever it is published", err=True)


def _publish(
    content: ReleaseContent, report: GateReport, out: str, tar: str | None, form: str, *, force: bool
) -> None:
    """Write a release, read it back as anybody will, and say what was written."""
    from curation.release import write_release
    from curation.release_archive import write_tar
    from curation.verify import verify_release
    from data_manifests.errors import ProblemsError

    digest = write_release(content, report, out, force=force)
    found = verify_release(out)
    if not found.is_intact:
        problems = [f"{row.where}: {row.detail}" for row in found.findings[:N_LISTED]]
        raise ProblemsError(f"{out}: written, and not what was meant; do not publish it", problems)
    said: dict[str, Any] = {
        "release": content.meta.label,
        "version": content.meta.version,
        "simulated": content.meta.simulated,
        "release_id": digest,
        "n_files": found.n_files,
        "outcome": report.outcome,
        "out": out,
    }
    if tar is not None:
        said["tar_sha256"] = write_tar(out, tar, folder=content.meta.label, date=content.meta.date)
    if form == "json":
        click.echo(json.dumps(said, indent=2))
        return
    simulated = " (SIMULATED answers)" if content.meta.simulated else ""
    click.echo(f"{said['release']}{simulated}: {found.n_files} files, gate {report.outcome}")
    click.echo(f"release id {digest}")
    if tar is not None:
        click.echo(f"tar {said['tar_sha256']}")
    click.echo(f"wrote {out}; check it: cuebench verify {out}", err=True)


def _say_why_not(report: GateReport, source: GateSource) -> None:
    from curation.gate_command import gate_text

    held = [check.name for check in report.checks if check.outcome != "PASS"]
    click.echo(gate_text(report, source.left_out))
    click.echo(f"not released: the gate says {report.outcome} ({'; '.join(held)})", err=True)


def _check_rights(content: ReleaseContent, *, allow_derived: bool) -> None:
    """Refuse, or with `allow_derived` name, cues of photographs that can't be passed on."""
    from curation.release import not_redistributable
    from data_manifests.errors import ProblemsError

    closed = not_redistributable(content.data)
    if not closed:
        return
    shown = [f"{cue.cue_id} ({cue.cue_kind}/{cue.superclass})" for cue in closed]
    if not allow_derived:
        shown = [
            *shown[:N_LISTED],
            *([f"... and {len(shown) - N_LISTED} more"] if len(shown) > N_LISTED else []),
        ]
        raise ProblemsError(
            "cues of photographs whose row says `redistributable: no`; leave them out, or --allow-derived if their "
            "terms let derived pictures be passed on",
            shown,
        )
    click.echo(f"{len(closed)} cues of photographs that can't be passed on themselves go out:", err=True)
    for line in shown:
        click.echo(f"  {line}", err=True)


def _read_previous(folder: str | None) -> Previous | None:
    from curation.release import Previous
    from curation.release_content import read_release
    from curation.release_sums import read_sums, release_id

    return None if folder is None else Previous(read_release(folder), release_id(read_sums(folder)[0]))


def _read_about(path: str | None) -> About:
    from curation.release_content import About
    from data_manifests.errors import CuebenchError
    from data_manifests.settings import parse_settings
    from data_manifests.shipped import read_toml

    if path is None:
        return About()
    if not path.endswith(".toml"):
        raise CuebenchError(f"--about {path}: expected a .toml file; none is shipped")
    where, content = read_toml(path, "gate_rules")
    return parse_settings(About, content, where)


def _exports(flags: dict[str, bool]) -> tuple[Export, ...]:
    names: tuple[Export, ...] = ("parquet", "webdataset")
    return tuple(name for name in names if flags[name])


def _code() -> str:
    from importlib.metadata import version

    return version("cuebench")


def _checked_version(number: str | None) -> str | None:
    import re

    from curation.release_content import VERSION_PATTERN
    from data_manifests.errors import CuebenchError

    if number is not None and not re.fullmatch(VERSION_PATTERN, number):
        raise CuebenchError(
            f"--version {number}: expected three numbers without leading zeros, such as 1.0.0"
        )
    return number


def _checked_day(text: str | None) -> str:
    from datetime import UTC, date, datetime

    from data_manifests.errors import CuebenchError

    if text is None:
        return datetime.now(UTC).date().isoformat()
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise CuebenchError(f"--date {text}: expected a day such as 2026-11-30") from error
