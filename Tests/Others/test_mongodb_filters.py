"""Filters and sorts against the implementations of MongoDB's language that the Python package index has.

Random documents, filters and sorts; what known_differences.py covers is left out, and everything else must agree.
"""

import random
from collections.abc import Iterator
from typing import Any

import pytest
from drawn import Drawing
from explained import Condition, conditions, each_example, explanation
from implementations import COLLECTIONS, Holdfast, Unknown, implementation
from known_differences import TABLE


NAMES = [*COLLECTIONS, "mongoquery"]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_documents_match(
    own: Holdfast, name: str, drawing: Drawing, cases: int
) -> None:
    other = implementation(name)
    compared = covered = 0
    for _ in range(cases):
        documents = [drawing.document() for _ in range(4)]
        filter = drawing.filter()
        found = own.matches(documents, filter)
        try:
            expected = other.matches(documents, filter)
        except Unknown:
            continue
        for place, document in enumerate(documents):
            if any(True for _ in known(document, filter, name)):
                covered += 1
                continue
            compared += 1
            assert (place in found) == (place in expected), (document, filter)
    print(f"{name}: {compared} compared, {covered} left out")
    assert compared > covered / 50


def known(
    document: dict[str, Any], filter: dict[str, Any], name: str
) -> Iterator[Condition]:
    """The conditions that the table covers."""
    return (
        condition
        for condition in conditions(document, filter)
        if explanation(condition, name, TABLE)
    )


@pytest.mark.parametrize("name", NAMES)
def test_single_conditions_hold_of_the_same_documents(
    own: Holdfast, name: str, drawing: Drawing, cases: int
) -> None:
    other = implementation(name)
    for _ in range(cases):
        for condition in conditions(drawing.document(), drawing.condition()):
            if explanation(condition, name, TABLE):
                continue
            try:
                expected = other.matches([condition.document], condition.filter)
            except Unknown:
                continue
            assert own.matches([condition.document], condition.filter) == expected, (
                condition
            )


@each_example(TABLE)
def test_each_entry_of_the_table_has_an_example(
    own: Holdfast, name: str, entry: Any
) -> None:
    document, filter, is_match = entry.example
    assert own.matches([document], filter) == ({0} if is_match else set())
    assert implementation(name).matches([document], filter) != (
        {0} if is_match else set()
    )
    assert any(entry.covers(condition) for condition in conditions(document, filter))


#: By three keys montydb sorts wrongly, {"a": false} before {} by a, b and _id. So the sort has one path and the id. By
#: mongomock an array is sorted as a whole, in MongoDB by its least or greatest element; mongita and neosqlite know no order
#: of types. ("Order" in known_differences.py.) So they get what they can sort.
SORTED = {
    "montydb": "all",
    "mongomock": "no arrays",
    "mongita": "one type",
    "neosqlite": "one type",
}


@pytest.mark.parametrize("name", SORTED)
def test_the_order_is_the_same(
    own: Holdfast, name: str, chance: random.Random, drawing: Drawing, cases: int
) -> None:
    other = implementation(name)
    for _ in range(cases // 4):
        documents = [drawing.document() for _ in range(5)]
        if SORTED[name] == "no arrays":
            documents = [
                {"a": drawing.scalar()} if chance.random() < 0.8 else {}
                for _ in range(5)
            ]
        elif SORTED[name] == "one type":
            pool = chance.choice([[0, 1, -1, 0.5, 2, 7], ["", "a", "ab", "b"]])
            documents = [{"a": chance.choice(pool)} for _ in range(5)]
        direction = chance.choice([1, -1])
        sort = [("a", direction), ("_id", direction)]
        try:
            expected = other.order(documents, sort)
        except Unknown:
            continue
        assert own.order(documents, sort) == expected, (documents, sort)
