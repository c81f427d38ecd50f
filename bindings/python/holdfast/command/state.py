"""Commands that tell what a store is, holds and does: info, stats."""

from typing import Any

import click

from .parameters import store_argument
from .progress import entities_of, progress
from .session import Session


@click.command()
@store_argument
@click.pass_obj
def info(session: Session, store: str) -> None:
    """Tell what a store is and holds.

    That is its state, and for each repository the number of entities and the indexes.

    Answers "url", "engine", "format", "read_only", "incarnation", "sequence" and "position" (of the newest
    commit), "schema_version" (null where none is recorded), "in_flight", "queue", "snapshots",
    "open_snapshots", "transactions", "sizes", "server", "cache", "handles" (of this process), and
    "repositories" with "name", "key", "entities" and "indexes".

    \b
    Example:
        holdfast info music.db
    """
    with session.open(store) as opened:
        described = opened.describe()
        repositories = []
        for entry in described.pop("repositories"):
            repository = opened.repository(entry["name"], create=False)
            repositories.append({**entry, "entities": repository.count(), "indexes": repository.indexes()})
        session.output.report(
            {**described, "schema_version": opened.schema_version, "repositories": repositories}
        )


@click.command()
@store_argument
@click.option("--entries", is_flag=True, help="Count the entries of the indexes, which reads everything.")
@click.pass_obj
def stats(session: Session, store: str, entries: bool) -> None:
    """Tell how large a store is, and how busy in this process.

    Answers "sequence" (of the newest commit), "sizes" in bytes ("store_bytes" of the file, "log_bytes" of the
    log beside it, "free_bytes" unused in the file; null on a server), "entities" (how many in all),
    "entity_bytes" (what one takes of the file, with its share of indexes and of the log of commits),
    "repositories" ("name", "entities") and "indexes" ("repository", "name", "state", and with --entries
    "entries"); and of this process, of interest in a shell, "queue" and "in_flight" (commits),
    "transactions", "snapshots" and "open_snapshots" (held), and "cache" and "server" (what they have done
    since the store was opened; "server", with "connections", "round_trips", "lag_ms", "lost_races" and
    "resolved_commits", is null for a file).

    \b
    Examples:
        holdfast stats music.db
        holdfast stats music.db --entries --json | jq .sizes.store_bytes
    """
    with session.open(store) as opened:
        described = opened.describe()
        found: dict[str, dict[str, Any]] = {}
        if entries:
            with progress(session, "Counting", total=entities_of(opened)) as tell:
                found = {it["name"]: it for it in opened.verify(progress=tell)["repositories"]}
        repositories, indexes = [], []
        for entry in described["repositories"]:
            repository = opened.repository(entry["name"], create=False)
            counted = {it["name"]: it["entries"] for it in found.get(repository.name, {}).get("indexes", ())}
            for it in repository.indexes():
                told = {"repository": repository.name, "name": it["name"], "state": it["state"]}
                indexes.append({**told, "entries": counted.get(it["name"])} if entries else told)
            repositories.append({"name": repository.name, "entities": repository.count()})
    members = (
        "sequence",
        "sizes",
        "queue",
        "in_flight",
        "transactions",
        "snapshots",
        "open_snapshots",
        "server",
        "cache",
    )
    count, sizes = sum(it["entities"] for it in repositories), described["sizes"]
    used = sizes["store_bytes"] - sizes["free_bytes"] if sizes else 0
    session.output.report(
        {
            **{name: described[name] for name in members},
            "entities": count,
            "entity_bytes": used // count if sizes and count else None,
            "repositories": repositories,
            "indexes": indexes,
        }
    )
