"""The command `upgrade`: the versions of a store's schema, each with the changes that lead to the next."""

import json
import re
from typing import Any, Callable

import click

from .. import errors
from ..store import Store
from .entities import named_once
from .failures import Failure
from .parameters import store_argument
from .progress import progress
from .session import Session

#: What a change does with the entities of its repository, and with a filter those that match.
CHANGES: dict[str, Callable[[Any, Any, Any], dict[str, int]]] = {
    "modify": lambda repository, filter, update: repository.modify_all(filter, update)._asdict(),
    "delete": lambda repository, filter, _: {"deleted": repository.delete_all(filter)},
    "save": lambda repository, _, entities: {"saved": len(repository.save_many(entities))},
}

_VERSION = re.compile("0|[1-9][0-9]*")


@click.command()
@store_argument
@click.argument("steps", type=click.File(encoding="utf-8"), metavar="STEPS")
@click.option("--backup/--no-backup", default=True, help="Copy the store beside itself first (yes).")
@click.pass_obj
def upgrade(session: Session, store: str, steps: Any, backup: bool) -> None:
    """Bring a store to the newest version of its schema.

    STEPS is a file, or - for the standard input, with a JSON object: under each version, without gaps, an
    array of the changes that lead to the next one. A change names a "repository" and has one of "modify" (an
    update in MongoDB's operators), "delete" (true) and "save" (an array of entities), the first two perhaps
    with a "filter". What was done before is not done again; each version is stored as a whole or not at all.
    A store in which no version is recorded has version 0, and a new one gets the newest at once.

    Answers "from", "to", "backup" (its path, or null), and "changes": a list of "to" (the version),
    "repository", "change", and "matched" and "modified", "deleted", or "saved".

    \b
    Example:
        holdfast upgrade music.db steps.json
    with, in steps.json:
        {"0": [{"repository": "songs", "modify": {"$rename": {"name": "title"}}}],
         "1": [{"repository": "songs", "filter": {"plays": 0}, "delete": true},
               {"repository": "settings", "save": [{"id": "theme", "dark": true}]}]}
    """
    chain = steps_in(steps.read())
    told: dict[int, list[dict[str, Any]]] = {}

    def step(version: int) -> Callable[[Store], object]:
        def run(opened: Store) -> None:
            # Again after a conflict.
            told[version] = [{"to": version + 1, **_changed(opened, change)} for change in chain[version]]

        return run

    with session.open(store, write=True) as opened:
        with progress(session, "Upgrading", unit="bytes") as tell:
            try:
                report = opened.upgrade(
                    {version: step(version) for version in chain}, backup=backup, progress=tell
                )
            except (errors.Error, KeyboardInterrupt) as error:
                reached = opened.schema_version or 0
                raise Failure.of(error).but(f"the store has version {reached}") from error
        session.output.done({**report, "changes": [it for version in sorted(told) for it in told[version]]})


def steps_in(text: str) -> "dict[int, list[dict[str, Any]]]":
    """The changes that lead from each version to the next."""
    try:
        chain = json.loads(text, object_pairs_hook=named_once)
    except (ValueError, RecursionError) as error:
        raise Failure(f"the steps are no JSON: {error}") from error
    if not isinstance(chain, dict) or not all(map(_VERSION.fullmatch, chain)):
        raise Failure('the steps are no object with versions such as "0" and "1"')
    for version, changes in chain.items():
        for number, change in enumerate(changes if isinstance(changes, list) else [changes], 1):
            if not isinstance(changes, list) or not _is_change(change):
                raise Failure(
                    f'change {number} of version {version} is none: it needs a "repository", and one of '
                    f"{', '.join(map(json.dumps, CHANGES))} (see holdfast upgrade --help)"
                )
    return {int(version): changes for version, changes in chain.items()}


def _is_change(change: Any) -> bool:
    if not isinstance(change, dict) or not isinstance(change.get("repository"), str):
        return False
    rest = change.keys() - {"repository", "filter"}
    return (
        (rest == {"modify"} and isinstance(change["modify"], dict))
        or (rest == {"delete"} and change["delete"] is True)
        or (rest == {"save"} and _are_entities(change["save"]) and "filter" not in change)
    )


def _are_entities(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(it, dict) for it in value)


def _changed(store: Store, change: "dict[str, Any]") -> "dict[str, Any]":
    """Does it, and tells what came of it."""
    (kind,) = change.keys() - {"repository", "filter"}
    repository = store.repository(change["repository"])
    counts = CHANGES[kind](repository, change.get("filter"), change[kind])
    return {"repository": repository.name, "change": kind, **counts}
