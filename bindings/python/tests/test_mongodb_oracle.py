"""Queries against MontyDB, an independent implementation of MongoDB's semantics.

Where the two are known to differ, Holdfast does what MongoDB does, and the generators leave the case out:

- `{"$gte": null}` and `{"$lte": null}` match a missing member in MongoDB; in MontyDB they do not.
- `{"$all": []}` matches nothing in MongoDB; in MontyDB it is an IndexError.
- `$mod` has the sign of the dividend in MongoDB; in MontyDB it has that of the divisor.
- `$type` "int" and "long" need BSON's integers, which MontyDB does not tell apart without the bson package.
- `{"$elemMatch": {filter}}` looks at objects alone in MongoDB; in MontyDB a scalar element counts as an empty
  object. So what stands in it here asks for a member that exists.
- `{"$elemMatch": {"$regex": ...}}` matches elements that are objects in MontyDB; in MongoDB, strings alone.
- `{}` as an operand equals nothing in MontyDB, and in a list of `$in` it is a RuntimeError.
- `distinct` gives a value once in MongoDB; in MontyDB, one that an array holds twice comes twice.
- By three keys, MontyDB sorts wrongly (`{"a": false}` before `{}` by a, b and _id). So sorting has one, and
  the id.
"""

from collections.abc import Iterator
from typing import Any

import montydb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast

NAMES = st.sampled_from(["a", "b", "c"])
NUMBERS = st.integers(-3, 3) | st.sampled_from([0.5, -1.5, 2.0, 2**53, 2**53 + 1, 2.0**53, -(2**62), 1e300])
SCALARS = st.none() | st.booleans() | NUMBERS | st.sampled_from(["", "a", "ab", "é", "\0", "\U0001f600"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=5,
)
DOCUMENTS = st.lists(st.dictionaries(NAMES, VALUES, max_size=3), min_size=1, max_size=8)
PATHS = st.lists(st.sampled_from(["a", "b", "c", "0", "1"]), min_size=0, max_size=2).flatmap(
    lambda rest: NAMES.map(lambda first: ".".join([first, *rest]))
)
OPERANDS = VALUES.filter(lambda value: value != {})
ORDERED = OPERANDS.filter(lambda value: value is not None)
LISTS = st.lists(OPERANDS, max_size=3)
SIMPLE = st.one_of(
    st.fixed_dictionaries({"$eq": OPERANDS}),
    st.fixed_dictionaries({"$ne": OPERANDS}),
    st.fixed_dictionaries({"$gt": ORDERED}),
    st.fixed_dictionaries({"$gte": ORDERED}),
    st.fixed_dictionaries({"$lt": ORDERED, "$gte": ORDERED}),
    st.fixed_dictionaries({"$lte": ORDERED}),
    st.fixed_dictionaries({"$in": LISTS}),
    st.fixed_dictionaries({"$nin": LISTS}),
    st.fixed_dictionaries({"$exists": st.booleans()}),
    st.fixed_dictionaries({"$type": st.sampled_from(["null", "bool", "string", "object", "array"])}),
    st.fixed_dictionaries({"$regex": st.sampled_from(["^a", "b$", "é", "a?"])}),
    st.fixed_dictionaries({"$size": st.integers(0, 3)}),
    st.fixed_dictionaries({"$all": st.lists(OPERANDS, min_size=1, max_size=2)}),
)
OPERATORS = SIMPLE | SIMPLE.map(lambda operators: {"$not": operators})
ELEMENTS = OPERATORS.filter(lambda operators: "$regex" not in str(operators))
CONDITIONS = st.recursive(
    st.dictionaries(PATHS, OPERANDS | OPERATORS, min_size=1, max_size=2),
    lambda inner: st.builds(
        lambda name, filters: {name: filters},
        st.sampled_from(["$and", "$or", "$nor"]),
        st.lists(inner, min_size=1, max_size=2),
    )
    | st.builds(
        lambda path, name, operators: {path: {"$elemMatch": {name: {**operators, "$exists": True}}}},
        PATHS,
        NAMES,
        SIMPLE,
    )
    | st.builds(lambda path, operators: {path: {"$elemMatch": operators}}, PATHS, ELEMENTS),
    max_leaves=4,
)


@pytest.fixture
def oracle() -> Iterator[Any]:
    with montydb.MontyClient(":memory:") as client:
        yield client.holdfast.documents


@pytest.fixture
def documents(store: holdfast.Store) -> holdfast.Repository[dict[str, Any]]:
    return store.repository("documents", key="_id")


Everywhere = list[holdfast.Repository[dict[str, Any]]]


@pytest.fixture
def everywhere(stores: list[holdfast.Store]) -> Everywhere:
    return [store.repository("documents", key="_id") for store in stores]


def fill(everywhere: Everywhere, oracle: Any, contents: list[dict[str, Any]]) -> None:
    numbered = [{"_id": str(index), **content} for index, content in enumerate(contents)]
    for documents in everywhere:
        with documents.store.transaction():
            documents.delete_all()
            documents.save_many(numbered)
    oracle.delete_many({})
    oracle.insert_many([dict(document) for document in numbered])


# The same examples each time: a defect of the oracle that is not listed above must not fail a run by chance.
MANY = settings(
    max_examples=300,
    derandomize=True,
)


@MANY
@given(contents=DOCUMENTS, filter=CONDITIONS)
def test_the_same_entities_match(everywhere: Everywhere, oracle: Any, contents: Any, filter: Any) -> None:
    fill(everywhere, oracle, contents)
    expected = sorted(document["_id"] for document in oracle.find(filter))
    for documents in everywhere:
        assert [document["_id"] for document in documents.find(filter)] == expected
        assert documents.count(filter) == len(expected)
        assert documents.exists(filter) == bool(expected)


@MANY
@given(
    contents=DOCUMENTS,
    path=NAMES,
    direction=st.sampled_from([1, -1]),
    skip=st.integers(0, 3),
    limit=st.integers(0, 5),
)
def test_the_order_is_the_same(
    everywhere: Everywhere, oracle: Any, contents: Any, path: str, direction: int, skip: int, limit: int
) -> None:
    fill(everywhere, oracle, contents)
    expected = [document["_id"] for document in oracle.find().sort([(path, direction), ("_id", direction)])]
    for documents in everywhere:
        found = documents.find(sort={path: direction}, skip=skip, limit=limit)
        assert [document["_id"] for document in found] == expected[skip : skip + limit if limit else None]


@MANY
@given(contents=DOCUMENTS, path=NAMES)
def test_distinct_values_are_the_same(everywhere: Everywhere, oracle: Any, contents: Any, path: str) -> None:
    fill(everywhere, oracle, contents)
    once = []
    for value in oracle.distinct(path):
        if not once or value != once[-1] or isinstance(value, bool) != isinstance(once[-1], bool):
            once.append(value)
    for documents in everywhere:
        assert documents.distinct(path) == once


@pytest.mark.parametrize(
    "filter",
    [
        {"a": {"$size": 0.1}},
        {"a": {"$size": 1.5}},
        {"a": {"$size": -1}},
        {"a": {"$all": [1, {"$elemMatch": {"b": 1}}]}},
        {"a": {"$all": [{"$elemMatch": {"b": 1}}, 1]}},
        {"a": {"$all": [{"$gt": 1}]}},
    ],
)
def test_what_mongodb_refuses_is_refused(documents: Any, filter: dict[str, Any]) -> None:
    documents.save({"_id": "1", "a": [{"b": 1}]})
    with pytest.raises(holdfast.InvalidQueryError) as refused:
        documents.find(filter)
    assert refused.value.detail["operator"] in ("$size", "$all")
    assert refused.value.detail["path"] == "a"


def test_a_size_may_be_written_as_a_real_number(documents: Any) -> None:
    documents.save({"_id": "1", "a": [1, 2]})
    assert documents.count({"a": {"$size": 2.0}}) == 1


def test_new_members_that_are_numbers_come_in_their_order(documents: Any) -> None:
    documents.save({"_id": "1"})
    documents.modify(
        "1", {"$set": {"n.10": 0, "n.9": 0, "n.a": 0, "n.-": 0, "n.01": 0, "n.100": 0, "b": 0, "2": 0}}
    )
    documents.modify("1", {"$inc": {"10": 1, "9": 1}, "$push": {"3": 1}})
    assert list(documents["1"]) == ["_id", "2", "b", "n", "3", "9", "10"]
    assert list(documents["1"]["n"]) == ["-", "01", "9", "10", "100", "a"]
