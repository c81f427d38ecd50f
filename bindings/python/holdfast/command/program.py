"""The command's name, its options, and the list of its parts."""

from typing import Optional

import click

from ..version import version_text
from .completion import completion
from .inspect import inspect
from .maintenance import backup, compact, restore, verify
from .output import Output
from .reading import find, get, info
from .session import Commands, Session
from .shell import shell
from .transfer import export, import_
from .watch import watch
from .writing import delete, put


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--format",
    type=click.Choice(["table", "json", "lines"]),
    help="How answers are printed: a table (on a terminal), JSON, or JSON Lines (elsewhere).",
)
@click.option("--read-only", is_flag=True, help="Refuse to write.")
@click.version_option(version_text(), package_name="holdfast")
@click.pass_context
def program(ctx: click.Context, format: Optional[str], read_only: bool) -> None:
    """Look into Holdfast stores, fill them, and maintain them.

    STORE is a path or a URL. What only reads opens the store read-only, and creates none.

    Ends with 0; 1 after a failure; 2 when it was called wrongly; 3 where something was not found; 4 where it
    was taken or busy, or changed meanwhile; 5 where it is damaged; 130 after Ctrl-C.
    """
    ctx.obj = Session(Output(format), read_only)


for command in (
    info,
    get,
    put,
    delete,
    find,
    import_,
    export,
    backup,
    restore,
    verify,
    compact,
    watch,
    inspect,
    shell,
):
    program.add_command(command)
program.add_command(completion)
