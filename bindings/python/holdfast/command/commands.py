"""Groups of commands: what all of them take, and how what goes wrong in them is told."""

import itertools
import sys
from typing import Any, NoReturn, Optional

import click

from .. import errors
from .failures import INTERRUPTED, Failure, tell
from .session import Session


def _told(**change: Any) -> Any:
    """What an option does: the command that it stands at, and those below, tell things so."""

    def callback(ctx: click.Context, _: click.Parameter, value: Any) -> None:
        if value:
            output = {name: value if told is None else told for name, told in change.items()}
            ctx.obj = (ctx.obj or Session()).telling(**output)

    return {"expose_value": False, "callback": callback}


#: Options of the program and of each command.
SHARED = (
    click.Option(
        ["--json"],
        is_flag=True,
        help="Answer in JSON Lines, and errors in JSON.",
        **_told(format="lines", json=True),
    ),
    click.Option(
        ["--format"],
        type=click.Choice(["table", "json", "lines"]),
        help="How answers are printed: a table (on a terminal), JSON, or JSON Lines (elsewhere).",
        **_told(format=None),
    ),
    click.Option(["-q", "--quiet"], is_flag=True, help="Tell nothing of what is done.", **_told(quiet=True)),
    click.Option(["--no-progress"], is_flag=True, help="Show no progress bars.", **_told(progress=False)),
)


class Commands(click.Group):
    """Commands whose failures become one line, or one JSON object, and an exit code."""

    def add_command(self, cmd: click.Command, name: Optional[str] = None) -> None:
        """Adds a command, with the options that all have."""
        if not isinstance(cmd, click.Group):
            cmd.params += [option for option in SHARED if option not in cmd.params]
        super().add_command(cmd, name)

    def main(self, args: Any = None, prog_name: Optional[str] = None, **extra: Any) -> NoReturn:  # type: ignore[override]
        """Runs a command line, and ends the program with its exit code."""
        words = list(sys.argv[1:] if args is None else args)
        try:
            code = super().main(words, prog_name, **{**extra, "standalone_mode": False})
        except click.ClickException as error:
            session = extra.get("obj") or Session()
            named = "--json" in itertools.takewhile(lambda word: word != "--", words)
            code = tell(error, as_json=named or session.output.json)
        except click.Abort:
            # Before any command has begun.
            code = INTERRUPTED
        sys.exit(code or 0)

    def make_context(self, *arguments: Any, **extra: Any) -> click.Context:
        """Reads a command line."""
        try:
            return super().make_context(*arguments, **extra)
        except KeyboardInterrupt as error:
            raise Failure.of(error) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command that was named."""
        try:
            super().invoke(ctx)
            # What a closed pipe does not take must fail here, where click ends quietly.
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        # ValueError is what Python itself says of numbers and characters that JSON does not have.
        except (errors.Error, OSError, ValueError, KeyboardInterrupt) as error:
            raise Failure.of(error) from error
