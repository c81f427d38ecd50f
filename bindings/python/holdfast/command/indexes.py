"""The command `index`: the indexes of a store."""

from typing import Any, Optional

import click

from .commands import Commands
from .parameters import Fields, complete_index, complete_repository, repository_argument, store_argument
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

    Answers a list of "repository", "name", "fields" (1 ascending, -1 descending; of a text index weights, and
    then "kind", "language" and "stop_words", too), "unique", "state" and
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
@click.argument("paths", nargs=-1, required=True, type=Fields(), metavar="PATH[:-1|:WEIGHT]...")
@click.option("--unique", is_flag=True, help="No two entities may have the same values.")
@click.option("--text", is_flag=True, help="An index of words, for $text; behind a path stands its weight.")
@click.option("--language", help="Of a text index: whose endings are taken off (english); none takes none.")
@click.option("--stop-word", "stop_words", multiple=True, help="Of a text index: a word that does not count.")
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
    paths: "tuple[list[str], ...]",
    unique: bool,
    text: bool,
    language: Optional[str],
    stop_words: "tuple[str, ...]",
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
        holdfast index create music.db songs title:10 lyrics --text --language english --stop-word the
    """
    fields = {path: number for part in paths for path, number in map(_numbered, part)}
    if not text:
        wrong = next((path for path, number in fields.items() if number not in (1, -1)), None)
        if wrong is not None:
            raise click.BadParameter(f"{wrong!r}: the direction is 1 or -1; only --text has weights.")
        if language is not None or stop_words:
            raise click.UsageError("--language and --stop-word are for --text.")
    default = "_".join(path if text or number > 0 else f"-{path}" for path, number in fields.items())
    name = name or (f"{default}_text" if text else default)
    options: dict[str, Any] = {"unique": unique, "name": name, "expire_after": expire_after}
    if text:
        options |= {"kind": "text", "language": language, "stop_words": stop_words or None}
    with session.open(store, write=True) as opened:
        target = opened.repository(repository, create=False)
        with progress(session, "Indexing", total=target.count()) as tell:
            target.create_index(fields, **options, progress=tell)
        # At once: Ctrl-C from here on must not hide that it is there.
        session.output.done({"repository": repository, "name": name, "fields": fields, "unique": unique})


def _numbered(part: str) -> "tuple[str, int]":
    """A path with what stands behind its colon, 1 where nothing does."""
    path, _, number = part.partition(":")
    try:
        return path, int(number or 1)
    except ValueError:
        raise click.BadParameter(f"{part!r}: behind the colon stands -1, or a weight.") from None


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
