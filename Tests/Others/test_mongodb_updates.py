"""Updates against the implementations of MongoDB's language that the Python package index has.

Random documents and updates of one operator and path each. `UPDATE_DIFFERENCES` is the table of where the others depart
from MongoDB: what it covers is left out, and everything else must agree, refusals included. Each entry has an
example, on which they are held to be wrong and Holdfast right.
"""

from typing import Any, Callable, NamedTuple, Optional

import pytest
from drawn import Drawing
from explained import each_example
from implementations import Holdfast, Refused, as_json, implementation
from known_differences import contains, is_boolean


#: mongita has three operators of these, and neosqlite carries most out in SQLite's own language, which has neither
#: MongoDB's types nor its refusals: of the index's implementations these two are ones of the update language.
NAMES = ["montydb", "mongomock"]


class Change(NamedTuple):
    """One operator on one path of one document."""

    document: dict[str, Any]
    path: str
    operator: str
    operand: Any

    @property
    def update(self) -> dict[str, Any]:
        return {self.operator: {self.path: self.operand}}


def values(change: Change) -> list[Any]:
    return plainly_reached(change.document, change.path)


def replaced(change: Change) -> list[Any]:
    """What stands where something is put."""
    path = change.operand if has(change, "$rename") else change.path
    return plainly_reached(change.document, path)


def put(change: Change) -> list[Any]:
    return values(change) if has(change, "$rename") else [change.operand]


def plainly_reached(value: Any, path: str) -> list[Any]:
    """What stands there, as updates go: an array's elements by their indexes alone."""
    for part in path.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return []
    return [value]


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def kind(value: Any) -> str:
    return "number" if is_number(value) else type(value).__name__


def crosses_types(change: Change) -> bool:
    kinds = {kind(value) for value in (*values(change), change.operand)}
    return len(kinds) > 1 or not kinds <= {"number", "str"}


def goes_through_array(change: Change) -> bool:
    return goes_through(change.document, change.path, list) or (
        change.operator == "$rename"
        and goes_through(change.document, change.operand, list)
    )


def goes_through(value: Any, path: str, cls: Any) -> bool:
    for part in path.split("."):
        if isinstance(value, cls):
            return True
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return False
    return False


def goes_through_scalar(change: Change) -> bool:
    scalars = (str, int, float, bool, type(None))
    return goes_through(change.document, change.path, scalars) or (
        change.operator == "$rename"
        and goes_through(change.document, change.operand, scalars)
    )


def has(change: Change, *operators: str) -> bool:
    return change.operator in operators


def is_condition(operand: Any) -> bool:
    return isinstance(operand, dict)


def mixes_booleans(change: Change) -> bool:
    return any(
        contains(value, is_boolean) for value in (*values(change), change.operand)
    )


def has_empty_object(change: Change) -> bool:
    return contains(change.operand, lambda value: value == {})


def is_inexact(change: Change) -> bool:
    """Beyond 2^53, or 0, of which a double has two."""
    return not values(change) or any(
        is_number(value) and (abs(value) >= 2**53 or value == 0)
        for value in values(change)
    )


def has_lists_in_lists(change: Change) -> bool:
    return any(
        isinstance(value, list) and any(isinstance(part, list) for part in value)
        for value in values(change)
    )


class Difference(NamedTuple):
    implementations: list[str]
    #: What they do, and what MongoDB does.
    what: str
    covers: Callable[[Change], bool]
    #: A document and an update, and what the manual says comes of it; None where it is refused.
    example: tuple[dict[str, Any], dict[str, Any], Optional[dict[str, Any]]]


#: MongoDB's manual, under the operator's name among the update operators, decides each: Holdfast does what it says.
UPDATE_DIFFERENCES = [
    Difference(
        ["montydb"],
        "multiplies what is missing to 0.0, and equates 0 and -0; $mul sets zero of the multiplier's type",
        lambda change: has(change, "$mul", "$inc") and is_inexact(change),
        ({}, {"$mul": {"c": 2}}, {"c": 0}),
    ),
    Difference(
        ["montydb"],
        "leaves 2 where 2.0 is set, as Python finds them equal; in MongoDB they are of two types",
        lambda change: any(value in put(change) for value in replaced(change)),
        ({"a": 2}, {"$set": {"a": 2.0}}, {"a": 2.0}),
    ),
    Difference(
        ["montydb"],
        "makes the way to what $unset takes away; $unset does nothing where nothing is",
        lambda change: has(change, "$unset") and not values(change),
        ({}, {"$unset": {"a.a": ""}}, {}),
    ),
    Difference(
        ["montydb"],
        "refuses $pull where there is no array; it does nothing where nothing is",
        lambda change: has(change, "$pull") and not values(change),
        ({}, {"$pull": {"a": {"c": {}}}}, {}),
    ),
    Difference(
        ["montydb"],
        "pulls elements that are arrays and hold an equal value",
        lambda change: has(change, "$pull") and has_lists_in_lists(change),
        ({"a": [["z"], False]}, {"$pull": {"a": "z"}}, {"a": [["z"], False]}),
    ),
    Difference(
        ["montydb"],
        "takes an element that is no object for an empty one where $pull has a filter, and null for all",
        lambda change: has(change, "$pull")
        and (is_condition(change.operand) or change.operand is None),
        ({"c": [""]}, {"$pull": {"c": {"a": {"$nin": [1]}}}}, {"c": [""]}),
    ),
    Difference(
        ["montydb"],
        "takes {} for nothing",
        has_empty_object,
        ({}, {"$set": {"c": {}}}, {"c": {}}),
    ),
    Difference(
        ["montydb"],
        "renames members of an array",
        lambda change: has(change, "$rename") and goes_through_array(change),
        ({"b": []}, {"$rename": {"b.b": "c.b"}}, None),
    ),
    Difference(
        ["montydb"],
        "takes true for 1, as Python does; they are of different types",
        lambda change: mixes_booleans(change) and not has(change, "$set", "$push"),
        ({"c": False}, {"$min": {"c": 0}}, {"c": 0}),
    ),
    Difference(
        ["montydb", "mongomock"],
        "adds what $each has twice, where nothing is",
        lambda change: has(change, "$addToSet")
        and is_condition(change.operand)
        and "$each" in change.operand,
        ({}, {"$addToSet": {"a": {"$each": [None, None]}}}, {"a": [None]}),
    ),
    Difference(
        ["mongomock"],
        "has no $mul",
        lambda change: has(change, "$mul"),
        ({"a": 2}, {"$mul": {"a": 3}}, {"a": 6}),
    ),
    Difference(
        ["mongomock"],
        "has no dots in $rename, and renames what keeps its name",
        lambda change: has(change, "$rename"),
        ({"a": 1}, {"$rename": {"a": "b.c"}}, {"b": {"c": 1}}),
    ),
    Difference(
        ["mongomock"],
        "has no order among types",
        lambda change: has(change, "$min", "$max") and crosses_types(change),
        ({"c": "a"}, {"$max": {"c": {}}}, {"c": {}}),
    ),
    Difference(
        ["mongomock"],
        "does nothing where a path leads through a scalar; MongoDB refuses to make a member of one",
        goes_through_scalar,
        ({"a": 1}, {"$inc": {"a.b": 1}}, None),
    ),
    Difference(
        ["mongomock"],
        "does nothing where a path leads through an array, or fails",
        goes_through_array,
        ({"a": [1]}, {"$max": {"a.0": 3}}, {"a": [3]}),
    ),
    Difference(
        ["mongomock"],
        "pulls from what is no array, and all elements by a condition that it does not know",
        lambda change: has(change, "$pull"),
        ({"b": 1}, {"$pull": {"b": 1}}, None),
    ),
    Difference(
        ["mongomock"],
        "adds to what is no array, if it is that value",
        lambda change: has(change, "$addToSet")
        and any(not isinstance(value, list) for value in values(change)),
        ({"c": "ab"}, {"$addToSet": {"c": "ab"}}, None),
    ),
    Difference(
        ["mongomock"],
        "counts with booleans",
        lambda change: has(change, "$inc", "$addToSet", "$min", "$max")
        and mixes_booleans(change),
        ({"a": True}, {"$inc": {"a": 1}}, None),
    ),
]


def outcome(of: Any, change: Change) -> Optional[str]:
    """The document as JSON, or None where the update is refused."""
    try:
        return as_json(of.updated(change.document, change.update))
    except Refused:
        return None


def is_covered(name: str, change: Change) -> bool:
    return any(
        name in entry.implementations and entry.covers(change)
        for entry in UPDATE_DIFFERENCES
    )


def changes_of(document: dict[str, Any], update: dict[str, Any]) -> list[Change]:
    return [
        Change(document, path, operator, operand)
        for operator, operands in update.items()
        for path, operand in operands.items()
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_comes_of_an_update(
    own: Holdfast, name: str, drawing: Drawing, cases: int
) -> None:
    other = implementation(name)
    compared = covered = 0
    for _ in range(cases):
        change = changes_of(drawing.document(), drawing.update())[0]
        if is_covered(name, change):
            covered += 1
            continue
        compared += 1
        assert outcome(own, change) == outcome(other, change), change
    print(f"{name}: {compared} compared, {covered} left out")
    assert compared > covered / 10


@each_example(UPDATE_DIFFERENCES)
def test_each_entry_of_the_table_has_an_example(
    own: Holdfast, name: str, entry: Any
) -> None:
    document, update, result = entry.example
    (change,) = changes_of(document, update)
    expected = None if result is None else as_json(result)
    assert outcome(own, change) == expected
    assert outcome(implementation(name), change) != expected
    assert entry.covers(change)
