"""The command `watch`: what any process commits, as it is committed."""

import itertools
from collections.abc import Iterator
from typing import Any, Optional

import click

from ..difference import Snapshot
from ..repository import Repository
from .parameters import filter_argument, repository_argument, store_argument
from .session import Session


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

    Answers a list of "change" ("added", "changed" or "removed"), "id", and unless it was removed "version"
    and "entity". Goes on until Ctrl-C. With a filter, an entity that no longer matches counts as removed. Of
    changes of an entity that follow each other closely the last may be the only one seen.

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
    """Changes of what the filter finds: "change", "id", and unless it was removed "version" and "entity"."""
    versions: Optional[dict[str, int]] = {} if initial else None
    with repository.observe(filter) as events:
        for event in events:
            if isinstance(event, Snapshot):
                ids = [str(entity[repository.key]) for entity in event.entities]
                found = dict(zip(ids, zip(event.versions, event.entities)))
                if versions is not None:
                    yield from _compared(versions, found)
                versions = {id: version for id, (version, _) in found.items()}
                continue
            assert versions is not None
            for removed in event.removed:
                del versions[removed.id]
                yield {"change": "removed", "id": removed.id}
            for change, placed in (("added", event.inserted), ("changed", event.changed)):
                for it in placed:
                    versions[it.id] = it.version
                    yield {"change": change, "id": it.id, "version": it.version, "entity": it.entity}


def _compared(
    versions: dict[str, int], found: dict[str, tuple[int, dict[str, Any]]]
) -> Iterator[dict[str, Any]]:
    """What has changed where all was told anew."""
    for id in versions.keys() - found.keys():
        yield {"change": "removed", "id": id}
    for id, (version, entity) in found.items():
        if versions.get(id) != version:
            change = "changed" if id in versions else "added"
            yield {"change": change, "id": id, "version": version, "entity": entity}
