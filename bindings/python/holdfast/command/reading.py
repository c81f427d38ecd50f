"""Commands that read entities: get, find, aggregate."""

from typing import Any, Optional

import click

from ..repository import Repository
from .failures import NOT_FOUND, Failure
from .parameters import Fields, Pipeline, Sort, filter_argument, repository_argument, store_argument
from .session import Session


@click.command()
@store_argument
@repository_argument
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.pass_obj
def get(session: Session, store: str, repository: str, ids: tuple[str, ...]) -> None:
    """Print the entities of these ids.

    Ends with 3 where one is missing, after printing the others. Answers a list of entities.

    \b
    Example:
        holdfast get music.db songs s1 s2
    """
    with session.open(store) as opened:
        entities: Repository[Any] = opened.repository(repository, create=False)
        found = {id: entities.fetch(id) for id in ids}
    session.output.rows(entity for entity in found.values() if entity is not None)
    missing = [id for id, entity in found.items() if entity is None]
    if missing:
        told = f"the repository {repository} has no {', '.join(missing)}"
        detail = {"repository": repository, "ids": missing}
        raise Failure(told, NOT_FOUND, error="not_found", detail=detail)


@click.command()
@store_argument
@repository_argument
@filter_argument
@click.option("--sort", type=Sort(), help="Order: paths with commas between them, path:-1 descending.")
@click.option("--limit", type=click.IntRange(min=0), help="At most so many; 0 is no limit.")
@click.option("--skip", type=click.IntRange(min=0), default=0, help="Leave out so many at first.")
@click.option("--fields", type=Fields(), help="Only these paths, and the id.")
@click.option("--count", is_flag=True, help="Only tell how many there are.")
@click.option("--explain", is_flag=True, help="Tell how they are found, and which index helps.")
@click.pass_obj
def find(
    session: Session,
    store: str,
    repository: str,
    filter: Optional[dict[str, Any]],
    sort: Optional[dict[str, int]],
    limit: Optional[int],
    skip: int,
    fields: Optional[list[str]],
    count: bool,
    explain: bool,
) -> None:
    """Print the entities that match a filter.

    It is JSON in MongoDB's language; without one all match. Answers a list of entities; with --count a
    number, in JSON under "count"; with --explain "access" ("id", "index" or "scan"), "index", "bounds",
    "exact", "sort", "examined", "matched", "stages", "returned", "memory" (bytes) and "time_us".

    \b
    Examples:
        holdfast find music.db songs '{"plays": {"$gte": 10}}' --sort plays:-1 --limit 5
        holdfast find music.db songs '{"album.year": 1979}' --fields title,plays
        holdfast find music.db songs --count
    """
    with session.open(store) as opened:
        entities: Repository[Any] = opened.repository(repository, create=False)
        if count:
            session.output.value("count", entities.count(filter))
        elif explain:
            session.output.report(entities.explain(filter, sort=sort, skip=skip, limit=limit, fields=fields))
        else:
            with entities.iterate(filter, sort=sort, skip=skip, limit=limit, fields=fields) as cursor:
                session.output.rows(cursor)


@click.command()
@store_argument
@repository_argument
@click.argument("pipeline", type=Pipeline())
@click.option("--explain", is_flag=True, help="Tell how it is carried out, and which index helps.")
@click.option("--max-memory-bytes", type=int, help="How much stages may keep at once (100 MiB).")
@click.option("--max-stages", type=int, help="How many stages there may be (1,000).")
@click.option("--max-groups", type=int, help="How many groups a stage may make (10,000,000).")
@click.option("--max-depth", type=int, help="How deep what stages make may be nested (200).")
@click.pass_obj
def aggregate(
    session: Session,
    store: str,
    repository: str,
    pipeline: "list[dict[str, Any]]",
    explain: bool,
    **limits: Optional[int],
) -> None:
    """Print what a pipeline makes of the entities.

    It is a JSON array of stages in MongoDB's language. Answers a list of documents; with --explain what find
    --explain does, of the first stages, and in "stages" the others.

    \b
    Examples:
        holdfast aggregate music.db songs '[{"$group": {"_id": "$album", "plays": {"$sum": "$plays"}}}]'
        holdfast aggregate music.db songs '[{"$sortByCount": "$year"}, {"$limit": 3}]' --json
    """
    with session.open(store) as opened:
        entities: Repository[Any] = opened.repository(repository, create=False)
        if explain:
            session.output.report(entities.explain_aggregate(pipeline, **limits))
        else:
            session.output.rows(entities.aggregate(pipeline, **limits))
