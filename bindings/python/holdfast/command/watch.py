"""The command `watch`: what any process commits, as it is committed."""

import ctypes
import itertools
import time
from collections.abc import Iterator
from typing import Any, Optional

import click

from .._codec import load
from .._handles import native_list
from ..repository import Repository
from .parameters import filter_argument, repository_argument, store_argument
from .session import Session

# How often the store is asked whether something was committed.
INTERVAL = 0.1


@click.command()
@store_argument
@repository_argument
@filter_argument
@click.option("--initial", is_flag=True, help="Begin with what is there, as if it were added now.")
@click.option("--count", type=click.IntRange(min=1), help="End after so many changes.")
@click.pass_obj
def watch(
    session: Session,
    store: str,
    repository: str,
    filter: Optional[dict[str, Any]],
    initial: bool,
    count: Optional[int],
) -> None:
    """Print changes as any process commits them.

    Goes on until Ctrl-C. With a filter, an entity that no longer matches counts as removed. Of changes that
    follow each other within a tenth of a second the last is seen.

    \b
    Example:
        holdfast watch music.db songs '{"plays": {"$gte": 10}}'
    """
    with session.open(store) as opened:
        found = changes(opened.repository(repository, create=False), filter, initial=initial)
        for change in itertools.islice(found, count):
            session.output.change(change)


def changes(
    repository: "Repository[Any]", filter: Optional[dict[str, Any]], *, initial: bool
) -> Iterator[dict[str, Any]]:
    """Changes of what the filter finds: "change", "id", and unless it was removed "version" and "entity".

    The result is read again after every commit and compared by ids and versions.
    """
    sequence: Optional[int] = None
    versions: Optional[dict[str, int]] = {} if initial else None
    while True:
        newest = repository.store.describe()["sequence"]
        if newest == sequence:
            time.sleep(INTERVAL)
            continue
        sequence = newest
        result = _versioned(repository, filter)
        if versions is not None:
            for id, (version, text) in result.items():
                if versions.get(id) != version:
                    kind = "changed" if id in versions else "added"
                    yield {"change": kind, "id": id, "version": version, "entity": load(text)}
            for id in versions.keys() - result.keys():
                yield {"change": "removed", "id": id}
        versions = {id: version for id, (version, _) in result.items()}


def _versioned(
    repository: "Repository[Any]", filter: Optional[dict[str, Any]]
) -> dict[str, tuple[int, bytes]]:
    """What a filter finds: the version and the JSON by the id."""
    with native_list() as entities:
        repository._find(entities, filter)
        return {
            ctypes.string_at(view.id, view.id_length).decode(): (
                view.version,
                ctypes.string_at(view.data, view.length),
            )
            for view in (entities.items[index] for index in range(entities.count))
        }
