"""Commands that write entities: put, delete."""

import json
from typing import Any, Optional

import click

from .parameters import repository_argument, store_argument
from .session import Failure, Session


def entities_in(text: str) -> list[bytes]:
    """The JSON of each entity in a text of objects, one after the other or in arrays."""
    found: list[bytes] = []
    decoder = json.JSONDecoder()
    rest = text.lstrip()
    try:
        while rest:
            value, end = decoder.raw_decode(rest)
            # As it was written: 1.50 stays 1.50.
            found += map(_dump, value) if isinstance(value, list) else [rest[:end].encode()]
            rest = rest[end:].lstrip()
    except (ValueError, RecursionError) as error:
        raise Failure(f"entity {len(found) + 1} is no JSON: {error}") from error
    return found


def _dump(value: Any) -> bytes:
    return json.dumps(value).encode()


def _text(source: str) -> str:
    if source.lstrip().startswith(("{", "[")):
        return source
    with click.open_file(source, encoding="utf-8") as file:
        return file.read()


@click.command()
@store_argument
@repository_argument
@click.argument("source", default="-", type=click.Path(allow_dash=True), metavar="[ENTITY|FILE|-]")
@click.option("--add", "way", flag_value="add", help="Refuse ids that are taken.")
@click.option("--update", "way", flag_value="update", help="Refuse ids that are not there.")
@click.option("--save", "way", flag_value="save", default=True, help="Store them, new or not (default).")
@click.option("--key", help="The member that holds the id, where the repository is new (id).")
@click.pass_obj
def put(session: Session, store: str, repository: str, source: str, way: str, key: Optional[str]) -> None:
    """Store entities, all or none.

    Prints their ids and versions. They are JSON objects, one after the other or in an array, in a file, on
    the standard input (-), or written as the argument itself. Without an id they get one. The store and the
    repository are created where there are none. For more than fits in memory there is import.

    \b
    Examples:
        holdfast put music.db songs '{"id": "s1", "title": "Gloria", "plays": 1}'
        holdfast put music.db songs --add < songs.ndjson
    """
    entities = entities_in(_text(source))
    with session.open(store, write=True, create=True) as opened:
        target = opened.repository(repository, key=key)
        write = {"add": target.add_many, "update": target.update_many, "save": target.save_many}[way]
        _, receipt = opened.transact(lambda: write(entities), receipt=True)
    session.output.rows({"id": change.id, "version": change.version} for change in receipt.changes)


@click.command()
@store_argument
@repository_argument
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.pass_obj
def delete(session: Session, store: str, repository: str, ids: tuple[str, ...]) -> None:
    """Delete the entities of these ids.

    All of them or, where one is missing, none.

    \b
    Example:
        holdfast delete music.db songs s1 s2
    """
    with session.open(store, write=True) as opened:
        opened.repository(repository, create=False).delete_many(ids)
