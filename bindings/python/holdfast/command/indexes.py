"""The command `index`: the indexes of a store."""

from typing import Any, Optional

import click

from .commands import Commands
from .parameters import Sort, complete_index, complete_repository, repository_argument, store_argument
from .progress import progress
from .session import Session


@click.group(cls=Commands)
def index() -> None:
    """List, create or drop indexes.

    \b
    Examples:
        holdfast index create music.db songs plays
        holdfast index create music.db songs album.year:-1 title --unique --name by_album
        holdfast index list music.db
        holdfast index drop music.db songs by_album
    """


@index.command("list")
@store_argument
@click.argument("repository", required=False, shell_complete=complete_repository)
@click.pass_obj
def list_(session: Session, store: str, repository: Optional[str]) -> None:
    """Print the indexes of a repository, or of all.

    Answers a list of "repository", "name", "fields" (1 ascending, -1 descending), "unique", "state" and
    "arrays" (whether an entity has one there), "expire_after_ms" where entities expire by it, and "outdated"
    where it is to be created again.

    \b
    Example:
        holdfast index list music.db songs
    """
    with session.open(store) as opened:
        names = [repository] if repository else opened.repositories()
        found = {name: opened.repository(name, create=False).indexes() for name in names}
    session.output.rows({"repository": name, **index} for name in found for index in found[name])


@index.command()
@store_argument
@repository_argument
@click.argument("paths", nargs=-1, required=True, type=Sort(), metavar="PATH[:-1]...")
@click.option("--unique", is_flag=True, help="No two entities may have the same values.")
@click.option("--name", help="Its name (the paths, with underscores between them).")
@click.option(
    "--expire-after",
    type=click.FloatRange(min=0, max=1e12),
    metavar="SECONDS",
    help="Delete an entity so long after the time at the path, in milliseconds since 1970.",
)
@click.pass_obj
def create(
    session: Session,
    store: str,
    repository: str,
    paths: "tuple[dict[str, int], ...]",
    unique: bool,
    name: Optional[str],
    expire_after: Optional[float],
) -> None:
    """Create an index over one or several paths.

    Returns when queries use it; others read and write meanwhile. Where there is an equal one, nothing is
    done; where it fails or is interrupted, there is none. Answers "repository",
    "name", "fields" and "unique".

    \b
    Examples:
        holdfast index create music.db songs album.year:-1 title
        holdfast index create music.db people email --unique
        holdfast index create music.db sessions seen --expire-after 3600
    """
    fields = {path: direction for part in paths for path, direction in part.items()}
    name = name or "_".join(path if direction > 0 else f"-{path}" for path, direction in fields.items())
    options: dict[str, Any] = {"unique": unique, "name": name, "expire_after": expire_after}
    with session.open(store, write=True) as opened:
        target = opened.repository(repository, create=False)
        with progress(session, "Indexing", total=target.count()) as tell:
            target.create_index(fields, **options, progress=tell)
        # At once: Ctrl-C from here on must not hide that it is there.
        session.output.done({"repository": repository, "name": name, "fields": fields, "unique": unique})


@index.command()
@store_argument
@repository_argument
@click.argument("name", shell_complete=complete_index)
@click.pass_obj
def drop(session: Session, store: str, repository: str, name: str) -> None:
    """Take an index away, never what it is over.

    Answers "repository" and "dropped", its name. One that begins with a hyphen, as the name of an index whose
    first path descends does by default, is told from an option by -- before it.

    \b
    Examples:
        holdfast index drop music.db songs plays
        holdfast index drop music.db songs -- -plays_title
    """
    with session.open(store, write=True) as opened:
        opened.repository(repository, create=False).drop_index(name)
        session.output.done({"repository": repository, "dropped": name})
