"""Advice: the index that would help a query."""

from collections.abc import Iterator, Mapping
from typing import Any, Optional

RANGES = {"$gt", "$gte", "$lt", "$lte", "$in", "$regex"}


def advised(
    plan: dict[str, Any],
    filter: Any,
    sort: Optional[Mapping[str, int]],
    key: str,
    indexes: list[Any],
) -> Optional[dict[str, Any]]:
    """Fields and a name of an index, where the plan looked at much to find little, or sorted in memory: what
    is equal first, then the order, then ranges, as an index is read. None where the plan is good."""
    wasteful = plan["access"] == "scan" and plan["examined"] > 10 * max(1, plan["matched"])
    if plan["access"] == "index" and plan["examined"] > 100:
        wasteful = plan["examined"] > 10 * max(1, plan["matched"])
    slow = plan["access"] == "scan" and plan["examined"] > 0 and plan["time_us"] > 20_000
    sorts = plan["sort"] == "memory" and plan["matched"] > 100
    if not (wasteful or slow or sorts):
        return None
    equal, ranges = {}, {}
    for path, condition in _conditions(filter):
        operators = set(condition) if isinstance(condition, Mapping) else set()
        if path == key:
            continue
        if not operators & {name for name in operators if name.startswith("$")} or operators == {"$eq"}:
            equal[path] = 1
        elif operators & RANGES:
            ranges[path] = 1
    order = {path: way for path, way in (sort or {}).items() if way in (1, -1) and path != key}
    fields = {**equal, **{path: way for path, way in order.items() if path not in equal}}
    fields.update({path: 1 for path in ranges if path not in fields})
    fields = dict(list(fields.items())[:16])
    if not fields or any(list(it["fields"].items()) == list(fields.items()) for it in indexes):
        return None
    name = "_".join(path if way > 0 else f"-{path}" for path, way in fields.items())
    return {"fields": fields, "name": name}


def _conditions(filter: Any) -> Iterator[tuple[str, Any]]:
    """The conditions that must all hold, each with its path."""
    if not isinstance(filter, Mapping):
        return
    for name, condition in filter.items():
        if name == "$and" and isinstance(condition, list):
            for part in condition:
                yield from _conditions(part)
        elif not name.startswith("$"):
            yield name, condition
