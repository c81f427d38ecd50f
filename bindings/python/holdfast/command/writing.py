"""Commands that write entities: put, delete."""

import json
import re
from typing import Optional

import click

from .failures import Failure
from .parameters import ids_argument, repository_argument, store_argument
from .session import Session


def entities_in(text: str) -> list[bytes]:
    """The JSON of each entity in a text of objects, one after the other or in arrays: as it was written, so
    that 1.50 stays 1.50 and the store sees a name that comes twice."""
    found: list[bytes] = []
    position = _next_word(text, 0)
    try:
        while position < len(text):
            position = (_array if text[position] == "[" else _entity)(text, position, found)
            position = _next_word(text, position)
    except (ValueError, RecursionError) as error:
        raise Failure(f"entity {len(found) + 1} is no JSON: {error}") from error
    return found


_white_space = re.compile(r"[ \t\n\r]*")
_decoder = json.JSONDecoder()


def _next_word(text: str, position: int) -> int:
    """Where the white space that begins here has ended."""
    space = _white_space.match(text, position)
    return position if space is None else space.end()


def _entity(text: str, start: int, found: list[bytes]) -> int:
    """Takes what begins here, and answers where it ends."""
    _, end = _decoder.raw_decode(text, start)
    found.append(text[start:end].encode())
    return end


def _array(text: str, start: int, found: list[bytes]) -> int:
    """Takes each element of the array that begins here, and answers where it ends."""
    position = _next_word(text, start + 1)
    if text[position : position + 1] == "]":
        return position + 1
    while True:
        position = _next_word(text, _entity(text, position, found))
        sign = text[position : position + 1]
        if sign == "]":
            return position + 1
        if sign != ",":
            raise json.JSONDecodeError("Expecting ',' or ']'", text, position)
        position = _next_word(text, position + 1)


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
    if not session.output.quiet:
        session.output.rows({"id": change.id, "version": change.version} for change in receipt.changes)


@click.command()
@store_argument
@repository_argument
@ids_argument
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
