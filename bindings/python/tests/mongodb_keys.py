"""What MongoDB's indexes and sorts see of a document, in a few plain lines: for several paths at once, the
tuples of values to which they lead. Paths that come to one array go through it together, element by element;
of several arrays, which MongoDB refuses, there is every combination. Paths here have no numbers.
"""

from functools import cmp_to_key
from typing import Any

EMPTY = object()
"""Stands for the elements of an array that has none."""

Values = dict[str, Any]


def tuples(document: Values, paths: list[str]) -> list[tuple[Any, ...]]:
    """The values of each tuple as what orders them."""
    found = _tuples(document, {path: path.split(".") for path in paths})
    return [tuple(rank(values[path]) for path in paths) for values in found]


def _tuples(document: Values, open: dict[str, list[str]]) -> list[Values]:
    own: Values = {}
    arrays: dict[int, tuple[list[Any], dict[str, list[str]]]] = {}
    for path, parts in open.items():
        value: Any = document
        rest = list(parts)
        while rest and isinstance(value, dict):
            value = value.get(rest.pop(0))
        if isinstance(value, list):
            arrays.setdefault(id(value), (value, {}))[1][path] = rest
        else:
            own[path] = None if rest else value
    result = [own]
    for elements, through in arrays.values():
        found = []
        for element in elements or [EMPTY]:
            members = element if isinstance(element, dict) else {}
            for values in _tuples(members, {path: rest for path, rest in through.items() if rest}):
                found.append({**values, **{path: element for path, rest in through.items() if not rest}})
        result = [{**left, **right} for left in result for right in found]
    return result


def rank(value: Any) -> Any:
    """Orders as MongoDB does when compared with another one."""
    if value is EMPTY:
        return (0,)
    if value is None:
        return (1,)
    if isinstance(value, bool):
        return (6, value)
    if isinstance(value, (int, float)):
        return (2, value)
    if isinstance(value, str):
        return (3, value.encode())
    if isinstance(value, dict):
        members = [(rank(member)[0], name.encode(), rank(member)) for name, member in value.items()]
        return (4, members)
    return (5, [rank(element) for element in value])


def ordered(documents: list[Values], sort: dict[str, int]) -> list[Values]:
    """The documents in the order of a sort; what is equal in the order of the ids."""
    directions = list(sort.values())

    def compare(left: tuple[Any, ...], right: tuple[Any, ...]) -> int:
        for one, other, direction in zip(left, right, directions):
            if one != other:
                return direction if one > other else -direction
        return 0

    as_sorted = cmp_to_key(compare)
    first = sorted(documents, key=lambda document: document["id"].encode(), reverse=directions[0] < 0)
    return sorted(first, key=lambda document: min(map(as_sorted, tuples(document, list(sort)))))
