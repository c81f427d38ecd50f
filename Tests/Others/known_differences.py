"""Where implementations of MongoDB's filters depart from MongoDB: the one table. The comparisons leave out exactly
what it covers; each entry has an example, on which the implementation is held to be wrong and Holdfast right, so that
an entry which a later version makes needless is found. What Holdfast itself means to do otherwise is in docs/mongodb.md, and
in bindings/python/tests/test_mongodb_differences.py.

In each case MongoDB's manual decides, and Holdfast does what it says. "Query" and "Update" are its reference pages of
operators (mongodb.com/docs/manual/reference/operator), "Null" its page on querying for null or missing fields, "Arrays"
the one on querying an array, "Order" that on the comparison and sort order of BSON types.
"""

from typing import Any, Callable

from explained import Condition, Difference, reached

COMPARISONS = ("$gt", "$gte", "$lt", "$lte")
EQUALITIES = ("$eq", "$ne", "$in", "$nin", "$all")


def operands(condition: Condition) -> list[Any]:
    operand = condition.operand
    return operand if condition.operator in ("$in", "$nin", "$all") else [operand]


def values(condition: Condition) -> list[Any]:
    return reached(condition.document, condition.path).values


def contains(value: Any, wanted: Callable[[Any], bool]) -> bool:
    """Whether it is in the value, however deep."""
    if wanted(value):
        return True
    parts = (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, list)
        else ()
    )
    return any(contains(part, wanted) for part in parts)


def is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def is_list(value: Any) -> bool:
    return isinstance(value, list)


def of(*operators: str) -> Callable[[Condition], bool]:
    return lambda condition: condition.operator in operators


def with_list_operand(condition: Condition) -> bool:
    return any(contains(operand, is_list) for operand in operands(condition))


def with_empty_object(condition: Condition) -> bool:
    return any(
        contains(operand, lambda value: value == {}) for operand in operands(condition)
    )


def with_object(condition: Condition) -> bool:
    return any(
        contains(operand, lambda value: isinstance(value, dict))
        for operand in operands(condition)
    )


def ends_in_nested_array(condition: Condition) -> bool:
    return condition.path[-1].isdigit() and any(map(is_list, values(condition)))


def ends_in_what_is_false(condition: Condition) -> bool:
    return "." in condition.path and not all(values(condition))


def ends_early(condition: Condition) -> bool:
    found = reached(condition.document, condition.path)
    return found.is_cut_short or not found.values


def has_arrays(condition: Condition) -> bool:
    """On the way, at its end, or in what it is compared with."""
    found = reached(condition.document, condition.path)
    return (
        found.by_index
        or found.by_element
        or any(
            contains(value, is_list) for value in (*found.values, *operands(condition))
        )
        or any(
            contains(condition.document.get(part), is_list)
            for part in condition.path.split(".")[:1]
        )
    )


def is_null_meant(condition: Condition) -> bool:
    return any(value is None for value in operands(condition))


def kind(value: Any) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "number"
    return type(value).__name__


def crosses_types(condition: Condition) -> bool:
    kinds = {kind(value) for value in (*values(condition), *operands(condition))}
    return len(kinds) > 1 or not kinds <= {"number", "str"}


def mixes_booleans_and_numbers(condition: Condition) -> bool:
    return any(
        contains(value, is_boolean)
        for value in (*values(condition), *operands(condition))
    )


def all_of(*conditions: Callable[[Condition], bool]) -> Callable[[Condition], bool]:
    return lambda condition: all(each(condition) for each in conditions)


def any_of(*conditions: Callable[[Condition], bool]) -> Callable[[Condition], bool]:
    return lambda condition: any(each(condition) for each in conditions)


def inner(covers: Callable[[Condition], bool]) -> Callable[[Condition], bool]:
    """Of what stands in `$not`, too."""

    def covered(condition: Condition) -> bool:
        if condition.operator == "$not":
            return any(
                covered(condition._replace(operator=name, operand=operand))
                for name, operand in condition.operand.items()
            )
        return covers(condition)

    return covered


def compares_null(condition: Condition) -> bool:
    return condition.operator in ("$gte", "$lte") and condition.operand is None


TABLE = [
    Difference(
        ["montydb", "mongomock", "mongita", "neosqlite", "mongoquery"],
        "takes a comparison with null for false; in MongoDB $gte and $lte hold of what equals, missing or null",
        "Query: $gte; Null",
        inner(compares_null),
        ({}, {"a": {"$gte": None}}, True),
    ),
    Difference(
        ["montydb", "mongomock", "neosqlite", "mongoquery"],
        "finds null in $all nowhere; in MongoDB it is one more $eq of an $and, and missing equals null",
        "Query: $all",
        inner(all_of(of("$all"), is_null_meant)),
        ({}, {"a": {"$all": [None]}}, True),
    ),
    Difference(
        ["montydb"],
        "gives the remainder of $mod the sign of the divisor; in MongoDB it has that of the dividend",
        "Query: $mod",
        inner(of("$mod")),
        ({"a": 1}, {"a": {"$mod": [-2, 1]}}, True),
    ),
    Difference(
        ["montydb"],
        "finds {} in $all nowhere; in MongoDB an empty object equals one",
        "Query: $all",
        inner(all_of(of(*EQUALITIES), with_empty_object)),
        ({"a": [{}, "a"]}, {"a": {"$all": [{}]}}, True),
    ),
    Difference(
        ["montydb"],
        "takes true for 1 and false for 0 in $all, as Python does; in MongoDB they are of another type",
        "Order",
        inner(all_of(of("$all"), mixes_booleans_and_numbers)),
        ({"a": True}, {"a": {"$all": [1]}}, False),
    ),
    Difference(
        ["montydb"],
        "takes true for 1 and false for 0 within objects and arrays; in MongoDB they are of another type there, too",
        "Order",
        inner(
            all_of(
                of(*EQUALITIES, *COMPARISONS),
                any_of(with_object, with_list_operand),
                mixes_booleans_and_numbers,
            )
        ),
        ({"a": {"b": True}}, {"a": {"b": 1}}, False),
    ),
    Difference(
        ["mongita"],
        "takes what Python holds to be false, as 0 and '', for missing at the end of a path through an object",
        "Query: $lt",
        ends_in_what_is_false,
        ({"a": {"b": ""}}, {"a.b": {"$lt": "a"}}, True),
    ),
    Difference(
        ["mongoquery"],
        "takes an object for a filter of its members; in MongoDB it is equal as a whole, or not",
        "Query: $eq",
        inner(all_of(of("$eq"), with_object)),
        ({"a": {"b": 1, "c": 1}}, {"a": {"b": 1}}, False),
    ),
    Difference(
        ["mongomock", "mongoquery"],
        "takes {} for no condition; in MongoDB it is an empty object, which equals one",
        "Query: $eq",
        inner(all_of(of(*EQUALITIES), with_empty_object)),
        ({}, {"a": {}}, False),
    ),
    Difference(
        ["montydb"],
        "takes an element that is no object for an empty one in $elemMatch; MongoDB looks at objects alone",
        "Query: $elemMatch",
        of("$elemMatch"),
        ({"a": [1]}, {"a": {"$elemMatch": {"b": None}}}, False),
    ),
    Difference(
        ["mongomock"],
        "takes $not for false where the path ends early; in MongoDB what is missing is not what is denied",
        "Query: $not",
        all_of(of("$not"), ends_early),
        ({"a": "ab"}, {"a.b": {"$not": {"$gte": 1}}}, True),
    ),
    Difference(
        ["mongomock"],
        "takes what stands beside $exists for false where a path leads through a scalar; there it is missing",
        "Query: $exists",
        all_of(of("$exists"), ends_early),
        ({"b": 1}, {"b.a": {"$exists": False, "$ne": 1.0}}, True),
    ),
    Difference(
        ["mongomock"],
        "counts the letters of a text; $size holds of arrays alone",
        "Query: $size",
        inner(of("$size")),
        ({"a": "b"}, {"a": {"$size": 1}}, False),
    ),
    Difference(
        ["mongomock"],
        "holds a path through a scalar to be neither missing nor null; in MongoDB it is missing",
        "Null",
        all_of(inner(of(*EQUALITIES)), is_null_meant, ends_early),
        ({"a": 1}, {"a.b": {"$eq": None}}, True),
    ),
    Difference(
        ["mongomock"],
        "searches what is no text, too, by a pattern",
        "Query: $regex",
        inner(all_of(of("$regex"), has_arrays)),
        ({"a": [{}, "b", ["a", []]]}, {"a.2": {"$regex": "a?"}}, False),
    ),
    Difference(
        ["mongomock"],
        "takes an element that is no object for an empty one in $elemMatch; MongoDB looks at objects alone",
        "Query: $elemMatch",
        of("$elemMatch"),
        ({"a": ["ab"]}, {"a": {"$elemMatch": {"c": {"$exists": False}}}}, False),
    ),
    Difference(
        ["mongomock"],
        "looks into an array that an index at the path's end names; in MongoDB's server that is one value",
        "Arrays; its BSONElementPath",
        inner(ends_in_nested_array),
        ({"a": [[1]]}, {"a.0": {"$type": "number"}}, False),
    ),
    Difference(
        ["mongomock"],
        "takes true for 1 and false for 0, as Python does; in MongoDB they are of another type",
        "Order",
        inner(all_of(of(*EQUALITIES), mixes_booleans_and_numbers)),
        ({"a": True}, {"a": {"$eq": 1}}, False),
    ),
    Difference(
        ["mongomock"],
        "holds an array against the whole array, and not against its elements that are arrays, too",
        "Arrays",
        inner(all_of(of(*EQUALITIES, *COMPARISONS), with_list_operand)),
        ({"a": [1, []]}, {"a": {"$eq": []}}, True),
    ),
    Difference(
        ["mongita"],
        "finds an array nowhere by more than its own elements, and through none",
        "Arrays",
        has_arrays,
        ({"a": [1, []]}, {"a": {"$eq": []}}, True),
    ),
    Difference(
        ["mongita"],
        "has no order of objects",
        "Order",
        all_of(of(*COMPARISONS), with_object),
        ({"a": {}}, {"a": {"$lte": {}}}, True),
    ),
    Difference(
        ["mongoquery"],
        "has no order of objects, and takes {} in $all for a filter of nothing",
        "Order; Query: $all",
        inner(all_of(of(*COMPARISONS, "$all"), with_object)),
        ({"a": {}}, {"a": {"$lte": {}}}, True),
    ),
    Difference(
        ["mongita"],
        "compares and equates as Python does: true with 1; and what has no order there",
        "Order",
        mixes_booleans_and_numbers,
        ({"a": True}, {"a": {"$eq": 1}}, False),
    ),
    Difference(
        ["mongoquery"],
        "does not know arrays on the way, and compares them as a whole",
        "Arrays",
        has_arrays,
        ({"a": [1, []]}, {"a": {"$eq": []}}, True),
    ),
    Difference(
        ["mongoquery"],
        "has no null where there is nothing",
        "Null",
        any_of(ends_early, is_null_meant),
        ({}, {"a": {"$eq": None}}, True),
    ),
    Difference(
        ["mongoquery"],
        "compares and equates as Python does: true with 1",
        "Order",
        mixes_booleans_and_numbers,
        ({"a": True}, {"a": {"$eq": 1}}, False),
    ),
    Difference(
        ["mongoquery"],
        "gives the remainder of $mod the sign of the divisor; in MongoDB it has that of the dividend",
        "Query: $mod",
        inner(of("$mod")),
        ({"a": -1}, {"a": {"$mod": [3, -1]}}, True),
    ),
    Difference(
        ["mongoquery"],
        "takes the letters of a text for elements, and it for an array",
        "Query: $elemMatch, $type",
        inner(of("$elemMatch", "$type", "$size")),
        ({"a": "ab"}, {"a": {"$type": "array"}}, False),
    ),
    Difference(
        ["neosqlite"],
        "does not know arrays on the way, at the end or in an operand as MongoDB does",
        "Arrays",
        has_arrays,
        ({"a": [1, []]}, {"a": {"$eq": []}}, True),
    ),
    Difference(
        ["neosqlite"],
        "orders values of different types, and objects, as SQLite does; MongoDB compares within a type",
        "Order",
        inner(all_of(of(*COMPARISONS, *EQUALITIES), crosses_types)),
        ({"a": 0}, {"a": {"$lt": "z"}}, False),
    ),
    Difference(
        ["neosqlite"],
        "takes missing for null in $type, and null for missing in $exists, and tells numbers and booleans differently",
        "Query: $type, $exists",
        inner(of("$type", "$exists")),
        ({}, {"a": {"$type": "null"}}, False),
    ),
    Difference(
        ["neosqlite"],
        "finds arrays alone by $all in $or and $and; anywhere it is an $and of $eq",
        "Query: $all",
        inner(of("$all")),
        ({"a": "b"}, {"$or": [{"a": {"$all": ["b"]}}]}, True),
    ),
    Difference(
        ["neosqlite"],
        "does not hold missing equal to null",
        "Null",
        inner(all_of(of(*EQUALITIES), any_of(is_null_meant, ends_early))),
        ({}, {"a": {"$ne": None}}, False),
    ),
    Difference(
        ["neosqlite"],
        "searches what is no text, too, by a pattern",
        "Query: $regex",
        inner(all_of(of("$regex"), crosses_types)),
        ({"a": 2}, {"a": {"$regex": "a?"}}, False),
    ),
    Difference(
        ["neosqlite"],
        "counts something in what is no array, and gives remainders of what is no number",
        "Query: $size, $mod",
        inner(of("$size", "$mod")),
        ({"a": {}}, {"a": {"$size": 0}}, False),
    ),
]
