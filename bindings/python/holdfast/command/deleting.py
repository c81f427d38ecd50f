"""The command `delete`."""

from collections.abc import Iterator
from typing import Any, Optional

import click

from .._limits import LIMITS
from ..repository import Repository
from ..store import Store
from .asking import confirm
from .parameters import either, filter_option, ids_argument, repository_argument, store_argument, yes_option
from .progress import Tell, progress
from .session import Session


@click.command()
@store_argument
@repository_argument
@ids_argument
@filter_option
@click.option("--dry-run", is_flag=True, help="Delete nothing, only tell how many there are.")
@yes_option
@click.pass_obj
def delete(
    session: Session,
    store: str,
    repository: str,
    ids: "tuple[str, ...]",
    filter: Optional["dict[str, Any]"],
    dry_run: bool,
    yes: bool,
) -> None:
    """Delete entities, all of them or none.

    Those of the ids, each of which must be there; or with --filter those that match, after a question.
    Answers "matched" and "deleted", how many of each.

    \b
    Examples:
        holdfast delete music.db songs s1 s2
        holdfast delete music.db songs --filter '{"plays": 0}' --dry-run
        holdfast delete music.db songs --filter '{"plays": 0}' --yes
    """
    either(ids, filter)
    with session.open(store, write=not dry_run) as opened:
        target: Repository[Any] = opened.repository(repository, create=False)
        if filter is None:
            named = list(dict.fromkeys(ids))
            matched = sum(map(target.contains, named)) if dry_run else len(named)
            if not dry_run:
                target.delete_many(named)
        else:
            matched = target.count(filter)
            if matched and not dry_run:
                confirm(
                    f"Delete {matched} of the {target.count()} entities of {repository}?",
                    yes=yes,
                    otherwise=", or --dry-run to look",
                )
                with progress(session, "Deleting", total=matched) as tell:
                    matched = _delete(opened, target, filter, tell)
        # Where it is only looked, that is what was asked for.
        told = session.output.report if dry_run else session.output.done
        told({"matched": matched, "deleted": 0 if dry_run else matched})


def _delete(store: Store, target: "Repository[Any]", filter: "dict[str, Any]", tell: Tell) -> int:
    """Deletes what matches, in one transaction, and answers how much that was."""

    def work() -> int:
        with target.iterate(filter, fields=[target.key]) as found:
            ids = [entity[target.key] for entity in found]
        for done, piece in _pieces(ids):
            target.delete_many(piece)
            tell(done, len(ids))
        return len(ids)

    return store.transact(work)


def _pieces(ids: "list[Any]") -> "Iterator[tuple[int, list[Any]]]":
    """The ids a piece at a time, each with how many there are up to its end."""
    for start in range(0, len(ids), LIMITS.written_entities):
        piece = ids[start : start + LIMITS.written_entities]
        yield start + len(piece), piece
