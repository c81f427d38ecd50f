"""Where two answers differ: down to the single conditions, and whether the table knows each.

A filter is made of conditions of one operator on one path. `$and`, `$or`, `$nor`, `$not` and `$elemMatch` only
combine what those say, so where two implementations differ about a filter they differ about one of those, or one
of them combines wrongly.
"""

from collections.abc import Iterator
from typing import Any, Callable, NamedTuple, Optional

import pytest

Document = dict[str, Any]


class Condition(NamedTuple):
    """One operator on one path of one document."""

    document: Document
    path: str
    operator: str
    operand: Any

    @property
    def filter(self) -> Document:
        return {self.path: {self.operator: self.operand}}


class Reached(NamedTuple):
    """Where a path leads."""

    #: What stands at its end, elements of arrays there not among it.
    values: list[Any]
    #: Whether it goes through an array: by an index, and into each element.
    by_index: bool
    by_element: bool
    #: Whether it ends before its end, somewhere.
    is_cut_short: bool


def reached(value: Any, path: str) -> Reached:
    values: list[Any] = []
    seen = {"index": False, "element": False, "short": False}

    def walk(value: Any, parts: list[str]) -> None:
        if not parts:
            values.append(value)
        elif isinstance(value, dict) and parts[0] in value:
            walk(value[parts[0]], parts[1:])
        elif isinstance(value, list):
            if parts[0].isdigit():
                seen["index"] = True
                if int(parts[0]) < len(value):
                    walk(value[int(parts[0])], parts[1:])
            for element in value:
                if isinstance(element, dict):
                    seen["element"] = True
                    walk(element, parts)
            if not value or not all(isinstance(element, dict) for element in value):
                seen["short"] = True
        else:
            seen["short"] = True

    walk(value, path.split("."))
    return Reached(values, seen["index"], seen["element"], seen["short"])


def conditions(document: Document, filter: Document) -> Iterator[Condition]:
    """The single conditions of a filter, with the documents that each is held against."""
    for name, operand in filter.items():
        if name in ("$and", "$or", "$nor"):
            for part in operand:
                yield from conditions(document, part)
        else:
            yield from of_path(document, name, operand)


def of_path(document: Document, path: str, operand: Any) -> Iterator[Condition]:
    if not (
        isinstance(operand, dict) and any(name.startswith("$") for name in operand)
    ):
        yield Condition(document, path, "$eq", operand)
        return
    for name, value in operand.items():
        yield Condition(document, path, name, value)
        if name == "$not":
            yield from of_path(document, path, value)
        elif name == "$elemMatch":
            for array in reached(document, path).values:
                for element in array if isinstance(array, list) else []:
                    if any(part.startswith("$") for part in value):
                        yield from of_path({"e": element}, "e", value)
                    elif isinstance(element, dict):
                        yield from conditions(element, value)


def explanation(
    condition: Condition, implementation: str, table: "list[Difference]"
) -> "Optional[Difference]":
    """The table's first entry that covers a condition."""
    for entry in table:
        if implementation in entry.implementations and entry.covers(condition):
            return entry
    return None


class Difference(NamedTuple):
    """An entry of the table: where implementations depart from MongoDB, with an example that shows it."""

    implementations: list[str]
    #: What it does, and what MongoDB does.
    what: str
    #: The manual's page that says so.
    manual: str
    covers: Callable[[Condition], bool]
    #: A document and a filter about which it is wrong, and whether they match in MongoDB.
    example: tuple[Document, Document, bool]


def each_example(table: Any) -> pytest.MarkDecorator:
    """Has a test run for each entry of a table, and each implementation that it is about."""
    examples = [(name, entry) for entry in table for name in entry.implementations]
    ids = [f"{name}: {entry.what}" for name, entry in examples]
    return pytest.mark.parametrize(("name", "entry"), examples, ids=ids)
