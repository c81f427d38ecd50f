"""Pipelines against mongomock, an independent implementation of MongoDB's aggregation, and expressions
against a plain model of them in Python, because mongomock lacks many of them.

Where mongomock is known to differ from MongoDB, Holdfast does what MongoDB does, and the generators leave the
case out:

- An array of expressions is evaluated in MongoDB; in mongomock it is often a literal.
- What is missing is compared in MongoDB, as less than null; in mongomock the result is missing.
- `{"$not": null}` is true in MongoDB; in mongomock, false.
- `$unset` as a stage is unknown to mongomock, and a group of no documents is one with `{"_id": null}`, where
  MongoDB has none.
- `$slice` from a position before the array's beginning begins at the array's beginning in MongoDB.
"""

import datetime
import json
import math
from typing import Any

import mongomock
import pytest
from aggregation_model import MISSING, evaluate
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast

MANY = settings(max_examples=300, derandomize=True)

NUMBERS = st.integers(-5, 5) | st.sampled_from([0.5, -1.5, 2.0, 2.5, 2**40])
TEXTS = st.sampled_from(["", "a", "ab", "a-b-c", "é", "Hello", "\U0001f600b"])
DOCUMENT = st.fixed_dictionaries(
    {
        "n": NUMBERS,
        "m": NUMBERS,
        "t": TEXTS,
        "f": st.booleans(),
        "a": st.lists(NUMBERS, max_size=4),
        "b": st.lists(NUMBERS | TEXTS | st.none(), max_size=3),
        "o": st.fixed_dictionaries({"x": NUMBERS, "y": TEXTS}),
        "l": st.lists(st.fixed_dictionaries({"k": NUMBERS, "v": TEXTS}), max_size=3),
        "z": st.none(),
    }
)


def calls(name: str, *operands: Any) -> Any:
    return st.tuples(*operands).map(lambda given: {name: list(given)})


def one_of(names: list[str], *operands: Any) -> Any:
    return st.sampled_from(names).flatmap(lambda name: calls(name, *operands))


def several(names: list[str], operand: Any) -> Any:
    return st.builds(
        lambda name, given: {name: given}, st.sampled_from(names), st.lists(operand, min_size=2, max_size=3)
    )


numbers: Any = st.deferred(
    lambda: (
        NUMBERS
        | st.sampled_from(["$n", "$m", "$o.x", "$$ROOT.n"])
        | several(["$add", "$multiply", "$sum", "$avg", "$min", "$max"], numbers)
        | one_of(["$subtract", "$cmp"], numbers, numbers)
        | one_of(["$abs", "$floor", "$ceil", "$trunc", "$round"], numbers)
        | one_of(["$size"], arrays)
        | one_of(["$strLenCP"], texts)
        | one_of(["$indexOfCP"], texts, TEXTS)
        | one_of(["$indexOfArray"], arrays, numbers)
        | one_of(["$cond"], conditions, numbers, numbers)
        | one_of(["$ifNull"], st.sampled_from(["$z", "$missing"]), numbers)
        | numbers.map(lambda number: {"$let": {"vars": {"q": number}, "in": {"$add": ["$$q", 1]}}})
        | st.builds(
            lambda case, then, otherwise: {
                "$switch": {"branches": [{"case": case, "then": then}], "default": otherwise}
            },
            conditions,
            numbers,
            numbers,
        )
        | arrays.map(
            lambda array: {"$reduce": {"input": array, "initialValue": 0, "in": {"$add": ["$$value", 1]}}}
        )
    )
)
texts: Any = st.deferred(
    lambda: (
        TEXTS
        | st.sampled_from(["$t", "$o.y"])
        | several(["$concat"], texts)
        | one_of(["$toLower", "$toUpper"], texts)
        | one_of(["$substrCP"], texts, st.integers(0, 3), st.integers(0, 3))
        | one_of(["$cond"], conditions, texts, texts)
        | one_of(["$arrayElemAt"], one_of(["$split"], texts, st.sampled_from(["-", "a"])), st.just(0))
    )
)
arrays: Any = st.deferred(
    lambda: (
        st.sampled_from(["$a", "$b", "$l.k", "$l.v", "$l"])
        | st.lists(values, max_size=3)
        | several(["$concatArrays"], arrays)
        | one_of(["$setUnion", "$setIntersection", "$setDifference"], arrays, arrays)
        | one_of(["$reverseArray"], arrays)
        | one_of(["$slice"], arrays, st.sampled_from([1, 2, -1, -2]))
        | one_of(["$slice"], arrays, st.integers(-3, 3), st.integers(1, 3))
        | one_of(["$range"], st.integers(-3, 3), st.integers(-3, 6), st.sampled_from([1, 2, -1]))
        | one_of(["$split"], texts, st.just("-"))
        | arrays.map(lambda array: {"$map": {"input": array, "in": ["$$this", "$n"]}})
        | st.builds(
            lambda array, value: {"$filter": {"input": array, "cond": {"$gt": ["$$this", value]}}},
            arrays,
            values,
        )
        | one_of(["$objectToArray"], st.just("$o"))
    )
)
conditions: Any = st.deferred(
    lambda: (
        st.booleans()
        | st.sampled_from(["$f", "$z", "$missing", "$n"])
        | several(["$and", "$or"], conditions)
        | one_of(["$not"], conditions)
        | one_of(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"], values, values)
        | one_of(["$in"], values, arrays)
        | one_of(["$setIsSubset", "$setEquals"], arrays, arrays)
        | one_of(["$isArray", "$isNumber"], values)
    )
)
values: Any = numbers | texts | arrays | conditions | st.just("$o") | st.fixed_dictionaries({"q": numbers})


def same(left: Any, right: Any) -> bool:
    """Whether two results are equal, doubles within a few roundings."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return left == right or math.isclose(left, right, rel_tol=1e-12, abs_tol=1e-12)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(same(left[name], right[name]) for name in left)
    return type(left) is type(right) and left == right


Everywhere = list[holdfast.Repository[dict[str, Any]]]


@pytest.fixture
def everywhere(stores: list[holdfast.Store]) -> Everywhere:
    return [store.repository("documents", key="_id") for store in stores]


@MANY
@given(document=DOCUMENT, expression=values)
def test_an_expression_makes_what_its_model_makes(
    everywhere: Everywhere, document: Any, expression: Any
) -> None:
    expected = evaluate(expression, {"_id": "1", **document}, {})
    for documents in everywhere:
        documents.save({"_id": "1", **document})
        [found] = documents.aggregate([{"$replaceRoot": {"newRoot": {"result": expression}}}])
        assert same(found.get("result", MISSING), expected), (found, expected)


DATES = st.datetimes(timezones=st.just(datetime.timezone.utc))
PARTS = {
    "$year": "%Y",
    "$month": "%m",
    "$dayOfMonth": "%d",
    "$hour": "%H",
    "$minute": "%M",
    "$second": "%S",
    "$dayOfYear": "%j",
    "$week": "%U",
    "$isoWeek": "%V",
    "$isoWeekYear": "%G",
    "$isoDayOfWeek": "%u",
}


@MANY
@given(date=DATES, other=DATES, days=st.integers(-1000, 1000))
def test_dates_are_those_of_python(everywhere: Everywhere, date: Any, other: Any, days: int) -> None:
    expressions: dict[str, Any] = {name[1:]: {name: "$date"} for name in PARTS}
    expressions["text"] = {
        "$dateToString": {"date": "$date", "format": "%Y-%m-%d %H:%M:%S %j %U %V %G %u %B %b"}
    }
    expressions["days"] = {"$dateDiff": {"startDate": "$date", "endDate": "$other", "unit": "day"}}
    expressions["months"] = {"$dateDiff": {"startDate": "$date", "endDate": "$other", "unit": "month"}}
    expressions["hour"] = {"$dateTrunc": {"date": "$date", "unit": "hour"}}
    expected: dict[str, Any] = {name[1:]: int(date.strftime(form)) for name, form in PARTS.items()}
    # The C library of some systems does not pad years.
    padded = date.strftime("-%m-%d %H:%M:%S %j %U %V ")
    expected["text"] = f"{date.year:04}{padded}{date.isocalendar()[0]:04}{date.strftime(' %u %B %b')}"
    expected["days"] = (other.date() - date.date()).days
    expected["months"] = (other.year - date.year) * 12 + other.month - date.month
    expected["hour"] = date.replace(minute=0, second=0, microsecond=0)
    try:
        expected["added"] = date + datetime.timedelta(days=days)
        expressions["added"] = {"$dateAdd": {"startDate": "$date", "unit": "day", "amount": days}}
    except OverflowError:
        pass  # beyond the calendar
    for documents in everywhere:
        documents.save({"_id": "1", "date": date, "other": other})
        documents.save({"_id": "2", **expected})
        [found] = documents.aggregate([{"$match": {"_id": "1"}}, {"$replaceRoot": {"newRoot": expressions}}])
        assert found == {name: value for name, value in documents["2"].items() if name != "_id"}


SMALL = st.fixed_dictionaries(
    {
        "g": st.sampled_from(["x", "y", 1, 2, None]),
        "n": NUMBERS,
        "a": st.lists(st.integers(0, 3), max_size=3),
    },
    optional={"m": NUMBERS, "s": st.sampled_from(["b", "a"])},
)
MATCH = st.sampled_from([{"n": {"$gt": 0}}, {"a": 1}, {"g": {"$in": ["x", 1]}}, {"m": {"$exists": True}}, {}])
GROUP = st.sampled_from(
    [
        {"_id": "$g", "sum": {"$sum": "$n"}, "count": {"$sum": 1}},
        {"_id": "$g", "avg": {"$avg": "$n"}, "least": {"$min": "$n"}, "most": {"$max": "$n"}},
        {"_id": {"g": "$g", "s": "$s"}, "all": {"$push": "$n"}},
        {"_id": None, "first": {"$first": "$n"}, "last": {"$last": "$n"}},
        {"_id": "$s", "total": {"$sum": {"$multiply": ["$n", 2]}}},
    ]
)
STAGE = st.one_of(
    MATCH.map(lambda filter: {"$match": filter}),
    st.builds(lambda n: {"$limit": n}, st.integers(1, 5)),
    st.builds(lambda n: {"$skip": n}, st.integers(0, 3)),
    st.sampled_from(
        [
            {"$sort": {"n": 1, "_id": 1}},
            {"$sort": {"n": -1, "_id": 1}},
            {"$project": {"n": 1, "g": 1}},
            {"$project": {"a": 0}},
            {"$set": {"twice": {"$multiply": ["$n", 2]}}},
            {"$unwind": "$a"},
            {"$unwind": {"path": "$a", "preserveNullAndEmptyArrays": True}},
            {"$unwind": {"path": "$a", "includeArrayIndex": "i"}},
        ]
    ),
)


def in_order(results: list[Any]) -> list[Any]:
    return sorted(results, key=lambda result: json.dumps(result, sort_keys=True))


def unordered(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(unordered(left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(unordered, left, right))
    return same(left, right)


@MANY
@given(contents=st.lists(SMALL, max_size=8), stages=st.lists(STAGE, max_size=4), group=st.none() | GROUP)
def test_a_pipeline_makes_what_mongomock_makes(
    everywhere: Everywhere, contents: Any, stages: Any, group: Any
) -> None:
    numbered = [{"_id": str(index), **content} for index, content in enumerate(contents)]
    collection = mongomock.MongoClient().database.collection
    if numbered:
        collection.insert_many([json.loads(json.dumps(document)) for document in numbered])
    pipeline = [{"$sort": {"_id": 1}}, *stages, *([{"$group": group}] if group else [])]
    arrived = list(collection.aggregate(pipeline[: len(stages) + 1]))
    expected = list(collection.aggregate(pipeline)) if arrived else []
    if group:
        expected = in_order(expected)
    for documents in everywhere:
        with documents.store.transaction():
            documents.delete_all()
            documents.save_many(numbered)
        found = documents.aggregate(pipeline)
        if group:
            found = in_order(found)
        assert unordered(found, expected), (found, expected)
