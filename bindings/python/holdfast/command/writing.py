"""Commands that write entities: put, patch, modify."""

from typing import Any, Optional

import click

from .entities import entities_in, text_of
from .parameters import either, filter_option, ids_argument, repository_argument, store_argument
from .session import Session


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

    They are JSON objects, one after the other or in an array, in a file, on the standard input (-), or
    written as the argument itself. Without an id they get one. The store and the repository are created where
    there are none. For more than fits in memory there is import. Answers a list of "id" and "version".

    \b
    Examples:
        holdfast put music.db songs '{"id": "s1", "title": "Gloria", "plays": 1}'
        holdfast put music.db songs --add < songs.ndjson
    """
    entities = entities_in(text_of(source))
    with session.open(store, write=True, create=True) as opened:
        target = opened.repository(repository, key=key)
        write = {"add": target.add_many, "update": target.update_many, "save": target.save_many}[way]
        _, receipt = opened.transact(lambda: write(entities), receipt=True)
        session.output.stored(receipt)


@click.command()
@store_argument
@repository_argument
@click.argument("id")
@click.argument("changes", default="-", metavar="[CHANGES|FILE|-]")
@click.pass_obj
def patch(session: Session, store: str, repository: str, id: str, changes: str) -> None:
    """Change some members of an entity.

    CHANGES is a JSON merge patch (RFC 7396): its members replace those of the entity, null removes them, and
    objects merge. Answers a list of "id" and "version".

    \b
    Examples:
        holdfast patch music.db songs s1 '{"plays": 3, "draft": null}'
        holdfast patch music.db songs s1 changes.json
    """
    text = text_of(changes).encode()
    with session.open(store, write=True) as opened:
        target = opened.repository(repository, create=False)
        _, receipt = opened.transact(lambda: target.patch(id, text), receipt=True)
        session.output.stored(receipt)


@click.command()
@store_argument
@repository_argument
@ids_argument
@click.argument("update", metavar="UPDATE|FILE|-")
@filter_option
@click.pass_obj
def modify(
    session: Session,
    store: str,
    repository: str,
    ids: "tuple[str, ...]",
    update: str,
    filter: Optional["dict[str, Any]"],
) -> None:
    """Change entities by an update, all of them or none.

    UPDATE is JSON in MongoDB's operators: $set, $unset, $inc, $mul, $min, $max, $push, $pull, $addToSet,
    $rename. The entities are those of the ids, and then it answers a list of "id" and "version"; or with
    --filter those that match, and then it answers "matched" and "modified" (how many were not so already).

    \b
    Examples:
        holdfast modify music.db songs s1 '{"$inc": {"plays": 1}}'
        holdfast modify music.db songs --filter '{"plays": 0}' '{"$set": {"unheard": true}}'
        holdfast modify music.db songs --filter '{}' '{"$rename": {"name": "title"}}'
    """
    either(ids, filter)
    text = text_of(update).encode()
    with session.open(store, write=True) as opened:
        target = opened.repository(repository, create=False)
        if filter is None:
            _, receipt = opened.transact(lambda: [target.modify(id, text) for id in ids], receipt=True)
            session.output.stored(receipt)
        else:
            result = target.modify_all(filter, text)
            session.output.done({"matched": result.matched, "modified": result.modified})
