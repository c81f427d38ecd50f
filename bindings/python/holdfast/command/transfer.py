"""Commands that move entities in and out as text: export, import."""

import os
import stat
import sys
from typing import IO, Any, Optional

import click

from .._query import Damaged
from .failures import piecemeal
from .parameters import (
    complete_repository,
    existing_option,
    indexes_option,
    repositories_option,
    store_argument,
)
from .progress import entities_of, progress
from .session import Session


@click.command("export")
@store_argument
@click.argument("target", default="-", type=click.Path(dir_okay=False, allow_dash=True))
@repositories_option
@click.option("--resume", is_flag=True, help="Go on with an export to this file that was cut short.")
@click.option(
    "--damaged",
    type=click.Choice(["refuse", "skip"]),
    default="refuse",
    help="What becomes of an entity that is damaged (refuse).",
)
@click.pass_obj
def export(
    session: Session, store: str, target: str, repositories: tuple[str, ...], resume: bool, damaged: Damaged
) -> None:
    """Write a store as JSON Lines.

    With ids and versions, and as of one commit. To a file, over what is there by that name, it answers
    "sequence" (of that commit), "entities" (how many were written) and "skipped".

    \b
    Examples:
        holdfast export music.db songs.ndjson --repository songs
        holdfast export music.db | gzip > music.ndjson.gz
    """
    to_output = target == "-"
    if to_output and resume:
        raise click.UsageError("--resume needs a TARGET that is a file.")
    with session.open(store) as opened:
        total = entities_of(opened, repositories)
        shown = not (to_output and sys.stdout.isatty())
        with progress(session, "Exporting", total=total, shown=shown) as tell:
            report = opened.export_lines(
                sys.stdout.buffer if to_output else target,
                repositories=repositories or None,
                resume=resume,
                damaged=damaged,
                progress=tell,
            )
        if not to_output:
            session.output.done(report)


def _size(file: IO[bytes]) -> int:
    """How long a file is, 0 where it is a pipe or the like."""
    status = os.fstat(file.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


@click.command("import")
@store_argument
@click.argument("source", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option(
    "--repository", metavar="NAME", shell_complete=complete_repository, help="Where lines go that name none."
)
@existing_option
@click.option("--resume", metavar="NAME", help="Run again with the same name, it stores only the rest.")
@indexes_option
@click.option("--table", metavar="NAME", help="SOURCE is an SQLite file: take the rows of this table.")
@click.option("--id", "id_column", metavar="COLUMN", help="Of a table: the column with the id.")
@click.option(
    "--json-column", "json_columns", metavar="COLUMN", multiple=True, help="Of a table: holds JSON text."
)
@click.pass_obj
def import_(
    session: Session,
    store: str,
    source: str,
    repository: Optional[str],
    existing: Optional[str],
    resume: Optional[str],
    indexes: bool,
    table: Optional[str],
    id_column: Optional[str],
    json_columns: tuple[str, ...],
) -> None:
    """Store an export, lines of JSON, or a table.

    The store is created where there is none. SOURCE is a file, or - for the standard input; with --table it
    is an SQLite file, and each row becomes an entity. What was stored before a failure or Ctrl-C stays.
    Answers "entities" (how many were read), "stored" and "skipped".

    \b
    Examples:
        holdfast import music.db songs.ndjson --repository songs --existing replace
        holdfast import music.db chinook.sqlite --table tracks --id TrackId
        gunzip -c music.ndjson.gz | holdfast import music.db -
    """
    options: dict[str, Any] = {"repository": repository, "existing": existing, "resume": resume}
    if table is None and (id_column or json_columns):
        raise click.UsageError("--id and --json-column belong to a --table.")
    if table is not None and source == "-":
        raise click.UsageError("A --table is taken from a file.")
    with session.open(store, write=True, create=True) as opened:
        unit = "entities" if table is None else "rows"
        with progress(session, "Importing", unit=unit) as tell, piecemeal(tell):
            if table is not None:
                report = opened.import_table(
                    source, table, id=id_column, json=json_columns, progress=tell, **options
                )
            else:
                with click.open_file(source, "rb") as file:
                    size = _size(file)
                    report = opened.import_lines(
                        file,
                        indexes=indexes,
                        progress=lambda done, _: tell.read(done, file.tell() if size else 0, size),
                        **options,
                    )
        session.output.done(report)
