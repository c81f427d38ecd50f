"""Shape: what a repository's entities look like, guessed from a few of them."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from .._limits import LIMITS
from ..repository import Repository
from .answers import json_text, samples

#: So deep and so many paths are told: who has an object whose names are data has thousands.
DEEPEST, MOST = 4, 300


def shape(repository: "Repository[Any]", count: int) -> dict[str, Any]:
    """The paths of the first and the last entities by id: how many have each, of which types, an example,
    and whether the values are few. "bytes" guesses the size of all from theirs."""
    found = samples(repository, limit=LIMITS.sampled)
    if len(found) == LIMITS.sampled:
        known = {str(entity.get(repository.key)) for entity, _ in found}
        last = samples(repository, limit=LIMITS.sampled, sort={repository.key: -1})
        found += [it for it in last if str(it[0].get(repository.key)) not in known]
    fields: dict[str, dict[str, Any]] = {}
    for entity, _ in found:
        # Of several elements that have a path, one counts.
        for path, (depth, kinds, value) in {path: rest for path, *rest in _paths(entity)}.items():
            if path not in fields and len(fields) >= MOST:
                continue
            new = {"path": path, "depth": depth, "in": 0, "types": Counter(), "values": Counter()}
            field = fields.setdefault(path, new)
            field["in"] += 1
            field["types"][kinds] += 1
            if kinds not in ("object", "array") and len(field["values"]) <= 12:
                field["values"][_shortened(value)] += 1
    size = sum(length for _, length in found)
    return {
        "sampled": len(found),
        "count": count,
        "bytes": size * count // len(found) if found else 0,
        "largest": max((length for _, length in found), default=0),
        "fields": [{**it, "types": dict(it["types"]), "values": _few(it)} for it in fields.values()],
    }


def _paths(value: dict[str, Any], prefix: str = "", depth: int = 1) -> Iterator[tuple[str, int, str, Any]]:
    for name, member in value.items():
        path = prefix + name
        yield path, depth, kind_of(member), member
        if isinstance(member, dict) and depth < DEEPEST:
            yield from _paths(member, f"{path}.", depth + 1)
        elif isinstance(member, list):
            # The path goes on through the elements, as a filter's does.
            for element in member[:5]:
                if isinstance(element, dict) and depth < DEEPEST:
                    yield from _paths(element, f"{path}.", depth + 1)


def kind_of(value: Any) -> str:
    """The type of JSON, with whole numbers apart."""
    if value is None:
        return "null"
    names = ((bool, "bool"), (int, "integer"), (str, "text"), (dict, "object"), (list, "array"))
    return next((name for kind, name in names if isinstance(value, kind)), "number")


def _shortened(value: Any) -> str:
    return json_text(value)[:80]


def _few(field: dict[str, Any]) -> dict[str, Any]:
    """The values where they come again, the commonest first; else one as an example."""
    values: Counter[str] = field["values"]
    is_few = len(values) <= 12 and field["in"] >= 2 * len(values)
    return {"few": is_few, "common": [value for value, _ in values.most_common(12 if is_few else 1)]}
