"""The command line: one command, `cuebench`, whose verbs are loaded when they are used."""

from __future__ import annotations

import errno
import sys
from importlib import import_module

import click

from data_manifests.errors import CuebenchError

# verb -> (module and name of its click command, the line that `cuebench --help` shows)
VERBS: dict[str, tuple[str, str]] = {
    "demo": ("curation.demo_command:demo", "The whole path on photographs that scikit-image ships."),
    "audit": ("curation.audit_command:audit", "Look for defects in any cue set, ours or not."),
    "compare": ("evaluation.compare_command:compare", "What the scores of several models say together."),
    "evaluate": ("evaluation.commands:evaluate", "How sensitive a model is to each cue."),
    "gallery": ("generation.commands:gallery", "Write the page that shows a run: gallery.html."),
    "generate": ("generation.commands:generate", "Render the cues of a source manifest by a recipe."),
    "gate": ("curation.gate_command:gate", "Whether a cue set may go out."),
    "ingest": ("generation.ingest_command:ingest", "Photographs in, sources.jsonl out."),
    "kappa": ("curation.kappa_command:kappa", "How well raters agree, with intervals."),
    "masks": ("curation.masks_command:masks", "Choose the masks of photographs with a classifier."),
    "models": ("generation.models_command:models_group", "List, fetch and verify segmentation models."),
    "peers": ("generation.peers_command:peers", "Render the stimuli of another system."),
    "power": ("curation.power_command:power", "What a study of a size can show."),
    "release": (
        "curation.release_commands:release",
        "Publish the accepted cues of a run, if the gate lets them pass.",
    ),
    "takedown": ("curation.release_commands:takedown", "Take pictures out of a release, and say why."),
    "verify": ("curation.verify_command:verify", "Whether a release is as it was made."),
    "review": ("curation.review_commands:review_group", "Have people accept or reject cues, and pick masks."),
    "study": ("curation.study_commands:study", "Have people say what cues show."),
    "annotate": ("annotation_app.commands:annotate", "Start the app for reviewers and participants."),
}


class LazyGroup(click.Group):
    """A group that imports the module of a verb only when that verb runs or shows its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all verbs."""
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return one verb."""
        if cmd_name not in VERBS:
            return None
        module, _, attribute = VERBS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb that the arguments name, or say which one was probably meant."""
        from data_manifests.shipped import nearest

        if args and args[0] not in VERBS and not args[0].startswith("-"):
            ctx.fail(f"no such verb: {args[0]}{nearest(args[0], sorted(VERBS))}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the verbs without importing them."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, line) for name, (_, line) in sorted(VERBS.items())])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with `cuebench demo --out demo`.",
)
@click.version_option(package_name="cuebench")
def cuebench() -> None:
    """Turn photographs into pure shape and texture cues.

    Results go to stdout, progress and messages to stderr. Exit codes: 0 done, or the check holds; 1 an
    expected error, in one line; 2 usage; 3 the check ran and the answer is no; 4 it can't be decided.
    """


def main(args: list[str] | None = None) -> None:
    """Run the command line; an expected error becomes one line on stderr and exit code 1."""
    try:
        code = cuebench.main(args=args, prog_name="cuebench", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("cuebench: stopped", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except CuebenchError as error:
        click.echo(f"cuebench: {error}", err=True)
        sys.exit(1)
    except BrokenPipeError:
        # The reader of stdout (`head`) has gone: nothing more to say, and nothing to flush at exit.
        sys.stdout = None
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        sys.stdout = None
        click.echo("cuebench: stdout can't be written (no space left on device)", err=True)
        sys.exit(1)
    # Outside of click's standalone mode, `ctx.exit(3)` and `--help` come back as the return value.
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
