"""Reading: what the page asks of entities."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Optional

from .. import errors
from .._limits import LIMITS
from ..difference import Snapshot, apply_difference
from ..stream import LiveQuery
from .advice import advised
from .answers import json_text, row, rows, text_of
from .recorder import told
from .shape import shape
from .shown import ShownStore


def find(shown: ShownStore, given: dict[str, Any]) -> dict[str, Any]:
    """A page of what a filter finds. "next" goes on behind it: where all entities are listed by id it has the
    last id, which the next page begins behind at once, however many come before."""
    repository, filter, options = query(shown, given)
    key, after = repository.key, given.get("after")
    is_all = filter is None and not options["sort"]
    if isinstance(after, str) and is_all:
        behind_it, at_once = {key: {"$gt": after}}, {**options, "skip": 0}
        plan = repository.explain(behind_it, **at_once)
        # Ids that are numbers are among the others in the order of their digits, but no filter of texts
        # finds them: where it met one, the page is counted off.
        if plan["access"] == "id" and plan["examined"] == plan["matched"]:
            filter, options = behind_it, at_once
    found = rows(repository, filter, options)
    more = len(found) == options["limit"]
    by_id = is_all and found and found[-1]["members"].get(key, "").startswith('"')
    following: dict[str, Any] = {"skip": whole(given, "skip", 0) + len(found)}
    if by_id:
        following["after"] = found[-1]["id"]
    return {"key": key, "rows": found, "next": following if more else None}


def count(shown: ShownStore, given: dict[str, Any]) -> dict[str, Any]:
    """How many entities a filter finds."""
    return {"count": shown.count(text(given, "repository"), filter_of(given))}


def explain(shown: ShownStore, given: dict[str, Any]) -> dict[str, Any]:
    """How a query is carried out, and the index that would help it."""
    repository, filter, options = query(shown, given)
    plan = repository.explain(filter, **options)
    parsed = None if filter is None else json.loads(filter)
    advice = advised(plan, parsed, options["sort"], repository.key, repository.indexes())
    return {"plan": plan, "advice": advice, "can_write": shown.can_write}


def entity(shown: ShownStore, given: dict[str, Any]) -> dict[str, Any]:
    """An entity as it is stored. Its changes are another question."""
    repository, id = shown.repository(given.get("repository")), text(given, "id")
    found = text_of(repository, id)
    if found is None:
        raise errors.NotFoundError(f'There is no entity "{id}" in the repository "{repository.name}".')
    return {
        "key": repository.key,
        "id": id,
        "version": str(found[1]),
        "bytes": len(found[0]),
        "text": found[0].decode(),
        "can_write": shown.can_write,
    }


def history(shown: ShownStore, given: dict[str, Any]) -> dict[str, Any]:
    """The commits of the log that changed an entity, newest first. The log has no contents."""
    name, id = text(given, "repository"), text(given, "id")
    batch = shown.store.changes_since(None, name, id=id, entities=False, limit=100_000)
    changes = [told(change, it.sequence, it.time) for it in batch.commits for change in it.changes]
    return {"changes": changes[-LIMITS.told_changes :][::-1], "count": len(changes)}


def sampled(shown: ShownStore, given: dict[str, Any]) -> dict[str, Any]:
    """A sketch of a repository's shape, and its indexes."""
    repository = shown.repository(given.get("repository"))
    found = shape(repository, shown.count(repository.name))
    return {**found, "key": repository.key, "indexes": repository.indexes()}


def aggregate(shown: ShownStore, given: dict[str, Any]) -> dict[str, Any]:
    """What a pipeline makes, up to a page, and how; with "upto" what so many stages of it make."""
    repository = shown.repository(given.get("repository"))
    stages = json.loads(text(given, "pipeline"))
    if not isinstance(stages, list):
        raise ValueError("A pipeline is an array of stages.")
    upto = whole(given, "upto", len(stages))
    if upto < len(stages) or "upto" in given:
        return _stage(repository, stages[:upto])
    # The text as it was typed, so that errors tell a position in it.
    pipeline = text(given, "pipeline").encode()
    documents = repository.aggregate(pipeline)
    plan = repository.explain_aggregate(pipeline)
    return {"rows": _documents(documents[: LIMITS.page_rows]), "count": len(documents), "plan": plan}


def _stage(repository: Any, stages: list[Any]) -> dict[str, Any]:
    """What a pipeline makes up to a stage: how much, and some of it."""
    found = repository.aggregate([*stages, {"$limit": LIMITS.previewed}])
    counted = repository.aggregate([*stages, {"$count": "count"}])
    return {"rows": _documents(found), "count": counted[0]["count"] if counted else 0}


def _documents(documents: list[Any]) -> list[Any]:
    return [{**row(document, "_id", 0), "id": str(number)} for number, document in enumerate(documents)]


def live(shown: ShownStore, given: dict[str, Any]) -> Iterator[Any]:
    """The query's result, and again whenever it has changed."""
    repository, filter, options = query(shown, given)
    observed = repository.observe(filter, **options)

    def lines() -> Iterator[Any]:
        with observed as live_query:
            for found in _results(live_query, repository.key, shown):
                yield None if found is None else {"rows": found, "key": repository.key}

    return lines()


def _results(live_query: "LiveQuery[Any]", key: str, shown: ShownStore) -> Iterator[Optional[list[Any]]]:
    """The rows of a live query, again after each change; None where nothing has changed for a while."""
    found: list[dict[str, Any]] = []
    while not shown.closing.is_set():
        try:
            event = live_query.next(LIMITS.heartbeat / 1000)
        except errors.TimeoutError:
            yield None
            continue
        if isinstance(event, Snapshot):
            found = [row(entity, key, version) for entity, version in zip(event.entities, event.versions)]
        else:
            placed: dict[str, Any] = {
                name: [replace(it, entity=row(it.entity, key, it.version)) for it in getattr(event, name)]
                for name in ("inserted", "changed")
            }
            found = apply_difference(found, replace(event, **placed))
        yield found


def query(shown: ShownStore, given: dict[str, Any]) -> "tuple[Any, Any, dict[str, Any]]":
    """The repository, filter and options that are named."""
    repository = shown.repository(given.get("repository"))
    limit = whole(given, "limit", LIMITS.page_rows) or LIMITS.page_rows
    sort = given.get("sort") or None
    if sort is not None and not isinstance(sort, dict):
        raise ValueError('The order is an object such as {"plays": -1}.')
    options = {"sort": sort, "skip": whole(given, "skip", 0), "limit": min(limit, LIMITS.page_rows)}
    return repository, filter_of(given), options


def filter_of(given: dict[str, Any]) -> Optional[bytes]:
    """The text of the filter, so that errors tell a position in it; None for all."""
    filter = given.get("filter")
    if filter is None or filter == {}:
        return None
    if isinstance(filter, str):
        return filter.encode() if filter.strip() not in ("", "{}") else None
    return json_text(filter).encode()


def text(given: dict[str, Any], name: str) -> str:
    """A member that is a text."""
    value = given.get(name)
    if not isinstance(value, str):
        raise ValueError(f'The member "{name}" is a text.')
    return value


def whole(given: dict[str, Any], name: str, otherwise: int) -> int:
    """A member that is a whole number, if it is given."""
    value = given.get(name)
    if value is None:
        return otherwise
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 31:
        raise ValueError(f'The member "{name}" is a whole number.')
    return value
