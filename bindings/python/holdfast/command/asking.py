"""Questions before what cannot be taken back."""

import sys

import click

from .failures import Failure


def confirm(question: str, *, yes: bool, otherwise: str = "") -> None:
    """Goes on where --yes was given, or whoever is at the terminal agrees; elsewhere --yes is needed, or what
    can be done `otherwise`."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{question} Nobody can be asked here: say --yes{otherwise}.")
    click.echo(f"{question} [y/N] ", err=True, nl=False)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Failure("nothing was done", error="declined")
