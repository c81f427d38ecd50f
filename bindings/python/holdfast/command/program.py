"""The command's name, its options, and the list of its parts."""

import dataclasses

import click

from ..version import version_text
from .commands import SHARED, Commands
from .completion import completion
from .inspect import inspect
from .maintenance import restore
from .session import Session
from .shell import COMMANDS, shell


@click.group(cls=Commands, params=list(SHARED), context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--read-only", is_flag=True, help="Refuse to write.")
@click.version_option(version_text(), package_name="holdfast")
@click.pass_context
def program(ctx: click.Context, read_only: bool) -> None:
    """Look into Holdfast stores, fill them, and maintain them.

    STORE is a path or a URL. What only reads opens the store read-only, and creates none.

    Answers go to the standard output; errors, questions and progress to the standard error output. With
    --json each answer is a line of JSON, a list one line for each of its elements, and an error one object:
    {"error": its kind, "message": a sentence, "exit_code": a number, "detail": an object}.

    Ends with 0; 1 after a failure; 2 when it was called wrongly, as with a filter that is no JSON or a file
    to read that is not there; 3 where a store, or something in it, was not found; 4 where it was taken or
    busy, or changed meanwhile; 5 where it is damaged; 130 after Ctrl-C, with a line that tells what was
    stored by then, if anything was.
    """
    ctx.obj = dataclasses.replace(ctx.obj or Session(), read_only=read_only)


for command in (*COMMANDS, restore, inspect, shell, completion):
    program.add_command(command)
