"""What MongoDB's manual shows of each expression, with other data: both make the same of it."""

from typing import Any

import pytest

import holdfast

#: An expression, and what it makes of DOCUMENT; MISSING where it makes no member.
MISSING = object()
DOCUMENT = {
    "id": "d",
    "item": "Kahvi",
    "qty": 250,
    "price": 12.5,
    "price.usd": 45.99,
    "$price": 7,
    "none": None,
    "empty": [],
    "text": "cafétéria",
    "padded": "  \n good  bye \t  ",
    "grades": [5, 6, 7],
    "scores": [{"n": "a", "s": 87}, {"n": "b", "s": 92}, {"n": "c", "s": 78}],
    "size": {"w": 21, "h": 14, "uom": "cm"},
    "at": "2014-01-01T08:15:39.736Z",
    "end": "2024-01-31T00:00:00Z",
    "discounted": True,
}
EXPRESSIONS: list[tuple[Any, Any]] = [
    # Numbers
    ({"$abs": {"$subtract": ["$price", "$qty"]}}, 237.5),
    ({"$abs": "$none"}, None),
    ({"$abs": "$missing"}, None),
    ({"$add": ["$qty", "$price", 1]}, 263.5),
    ({"$add": ["$qty", "$none"]}, None),
    ({"$ceil": -2.8}, -2),
    ({"$ceil": 7.8}, 8),
    ({"$floor": -2.3}, -3),
    ({"$divide": [80, 8]}, 10),
    ({"$divide": [9, 2]}, 4.5),
    ({"$exp": 0}, 1),
    ({"$ln": 1}, 0),
    ({"$log": [100, 10]}, 2),
    ({"$log10": 1000}, 3),
    ({"$mod": [80, 7]}, 3),
    ({"$mod": [-5, 3]}, -2),
    ({"$multiply": ["$qty", 0.5, 2]}, 250),
    ({"$pow": [5, 0]}, 1),
    ({"$pow": [5, 2]}, 25),
    ({"$pow": [5, -2]}, 0.04),
    ({"$round": [10.5, 0]}, 10),
    ({"$round": [11.5, 0]}, 12),
    ({"$round": [1234.5678, 2]}, 1234.57),
    ({"$round": [19.25, 1]}, 19.2),
    ({"$round": [-45.39, 1]}, -45.4),
    ({"$round": [28.73, -1]}, 30),
    ({"$round": [-45.39, -1]}, -50),
    ({"$trunc": [7.85, 1]}, 7.8),
    ({"$trunc": [-45.39, 1]}, -45.3),
    ({"$trunc": [28.73, -1]}, 20),
    ({"$sqrt": 25}, 5),
    ({"$subtract": ["$qty", 50]}, 200),
    ({"$sum": "$grades"}, 18),
    ({"$sum": ["$qty", "$missing", "text"]}, 250),
    ({"$avg": "$grades"}, 6),
    ({"$avg": ["$qty", "$none"]}, 250),
    ({"$max": ["$qty", "$price"]}, 250),
    ({"$min": ["$missing", "$none"]}, None),
    ({"$max": "$scores.s"}, 92),
    ({"$stdDevPop": [85, 60, 71]}, pytest.approx(10.2307, abs=1e-4)),
    ({"$stdDevSamp": [5]}, None),
    # Comparisons and conditions
    ({"$cmp": ["$qty", 250]}, 0),
    ({"$cmp": ["$qty", 300]}, -1),
    ({"$cmp": ["$item", 300]}, 1),
    ({"$gt": [["a"], 5]}, True),
    ({"$eq": ["$missing", None]}, False),
    ({"$and": []}, True),
    ({"$and": [1, "green"]}, True),
    ({"$and": [[None], [False], [0]]}, True),
    ({"$and": [None, True]}, False),
    ({"$and": [0, True]}, False),
    ({"$or": []}, False),
    ({"$or": [[False], False]}, True),
    ({"$or": [None, 0, None]}, False),
    ({"$not": [True]}, False),
    ({"$not": [[False]]}, False),
    ({"$not": [None]}, True),
    ({"$cond": {"if": {"$gte": ["$qty", 250]}, "then": 30, "else": 20}}, 30),
    ({"$cond": [{"$gt": ["$qty", 250]}, 30, 20]}, 20),
    ({"$ifNull": ["$none", "Unspecified"]}, "Unspecified"),
    ({"$ifNull": ["$none", "$missing", "$qty"]}, 250),
    (
        {
            "$switch": {
                "branches": [
                    {"case": {"$gte": [{"$avg": "$scores.s"}, 90]}, "then": "great"},
                    {"case": {"$gte": [{"$avg": "$scores.s"}, 80]}, "then": "well"},
                ],
                "default": "none",
            }
        },
        "well",
    ),
    # Strings
    ({"$concat": ["$item", " - ", "x"]}, "Kahvi - x"),
    ({"$concat": ["$item", "$none"]}, None),
    ({"$indexOfCP": ["cafeteria", "e"]}, 3),
    ({"$indexOfCP": ["$text", "é"]}, 3),
    ({"$indexOfCP": ["$text", "e"]}, -1),
    ({"$indexOfCP": ["$text", "t"]}, 4),
    ({"$indexOfCP": ["foo.bar.fi", ".", 5]}, 7),
    ({"$indexOfCP": ["vanilla", "ll", 0, 2]}, -1),
    ({"$indexOfCP": ["vanilla", "ll", 12]}, -1),
    ({"$indexOfCP": ["vanilla", "ll", 5, 2]}, -1),
    ({"$indexOfCP": ["vanilla", "nilla", 3]}, -1),
    ({"$indexOfCP": [None, "foo"]}, None),
    ({"$ltrim": {"input": "$padded"}}, "good  bye \t  "),
    ({"$rtrim": {"input": "$padded"}}, "  \n good  bye"),
    ({"$trim": {"input": "$padded"}}, "good  bye"),
    ({"$ltrim": {"input": "  ggggoodbyeeeee", "chars": " gd"}}, "oodbyeeeee"),
    ({"$rtrim": {"input": "  ggggoodbyeeeee", "chars": "e "}}, "  ggggoodby"),
    ({"$trim": {"input": "  ggggoodbyeeeee", "chars": " ge"}}, "oodby"),
    ({"$regexMatch": {"input": "First LINE\nsecond", "regex": "line"}}, False),
    ({"$regexMatch": {"input": "First LINE\nsecond", "regex": "line", "options": "i"}}, True),
    ({"$regexMatch": {"input": "First\nsecond", "regex": "^s", "options": "m"}}, True),
    ({"$regexMatch": {"input": "$missing", "regex": "x"}}, False),
    ({"$replaceAll": {"input": "blue paint, blue", "find": "blue", "replacement": "red"}}, "red paint, red"),
    ({"$replaceOne": {"input": "blue paint, blue", "find": "blue", "replacement": "red"}}, "red paint, blue"),
    ({"$replaceAll": {"input": "$none", "find": "blue", "replacement": "red"}}, None),
    ({"$split": ["June-15-2013", "-"]}, ["June", "15", "2013"]),
    ({"$split": ["banana split", "a"]}, ["b", "n", "n", " split"]),
    ({"$split": ["astronomical", "astro"]}, ["", "nomical"]),
    ({"$split": ["astronomical", "nomical"]}, ["astro", ""]),
    ({"$split": ["pea green boat", "owl"]}, ["pea green boat"]),
    ({"$split": ["$none", "x"]}, None),
    ({"$strLenCP": "$text"}, 9),
    ({"$strLenCP": "寿司sushi"}, 7),
    ({"$substrCP": ["abcde", 1, 2]}, "bc"),
    ({"$substrCP": ["$text", 5, 4]}, "éria"),
    ({"$substrCP": ["$text", 7, 3]}, "ia"),
    ({"$substrCP": ["$none", 0, 3]}, ""),
    ({"$toLower": "$item"}, "kahvi"),
    ({"$toUpper": "$none"}, ""),
    ({"$toLower": 12}, "12"),
    # Arrays
    ({"$arrayElemAt": ["$grades", 0]}, 5),
    ({"$arrayElemAt": ["$grades", -2]}, 6),
    ({"$arrayElemAt": ["$grades", 15]}, MISSING),
    ({"$arrayElemAt": ["$none", 0]}, None),
    ({"$arrayToObject": [[["item", "abc"], ["qty", 25]]]}, {"item": "abc", "qty": 25}),
    ({"$arrayToObject": {"$literal": [{"k": "a", "v": 1}, {"k": "a", "v": 2}]}}, {"a": 2}),
    ({"$concatArrays": [["hello", " "], ["world"]]}, ["hello", " ", "world"]),
    ({"$concatArrays": [["hello"], [["world"], "x"]]}, ["hello", ["world"], "x"]),
    ({"$concatArrays": ["$grades", "$none"]}, None),
    ({"$filter": {"input": "$grades", "as": "g", "cond": {"$gte": ["$$g", 6]}}}, [6, 7]),
    ({"$filter": {"input": "$grades", "cond": {"$gte": ["$$this", 6]}, "limit": 1}}, [6]),
    ({"$filter": {"input": "$none", "cond": True}}, None),
    ({"$first": "$grades"}, 5),
    ({"$last": "$grades"}, 7),
    ({"$first": "$empty"}, MISSING),
    ({"$last": "$none"}, None),
    ({"$in": [2, [1, 2, 3]]}, True),
    ({"$in": ["xy", ["xyz", "abc"]]}, False),
    ({"$in": [["a"], ["a"]]}, False),
    ({"$in": [["a"], [["a"]]]}, True),
    ({"$indexOfArray": [["a", "abc"], "a"]}, 0),
    ({"$indexOfArray": [["a", "abc", "de", ["de"]], ["de"]]}, 3),
    ({"$indexOfArray": [[1, 2, 3], [1, 2]]}, -1),
    ({"$indexOfArray": [[10, 9, 9, 8, 9], 9, 3]}, 4),
    ({"$indexOfArray": [["a", "abc", "b"], "b", 0, 1]}, -1),
    ({"$indexOfArray": [["a", "abc", "b"], "b", 1, 0]}, -1),
    ({"$indexOfArray": [["a", "abc", "b"], "b", 20]}, -1),
    ({"$indexOfArray": [[None, None], None]}, 0),
    ({"$indexOfArray": [None, "foo"]}, None),
    ({"$isArray": ["hello"]}, False),
    ({"$isArray": [["hello"]]}, True),
    ({"$isArray": "$grades"}, True),
    ({"$map": {"input": "$grades", "as": "g", "in": {"$add": ["$$g", 2]}}}, [7, 8, 9]),
    ({"$map": {"input": "$missing", "in": "$$this"}}, None),
    ({"$range": [0, 10, 2]}, [0, 2, 4, 6, 8]),
    ({"$range": [10, 0, -2]}, [10, 8, 6, 4, 2]),
    ({"$range": [0, 10, -2]}, []),
    ({"$range": [0, 5]}, [0, 1, 2, 3, 4]),
    ({"$reduce": {"input": ["a", "b"], "initialValue": "", "in": {"$concat": ["$$value", "$$this"]}}}, "ab"),
    (
        {
            "$reduce": {
                "input": [1, 2, 3, 4],
                "initialValue": {"sum": 5, "product": 2},
                "in": {
                    "sum": {"$add": ["$$value.sum", "$$this"]},
                    "product": {"$multiply": ["$$value.product", "$$this"]},
                },
            }
        },
        {"sum": 15, "product": 48},
    ),
    (
        {
            "$reduce": {
                "input": [[3, 4], [5, 6]],
                "initialValue": [1, 2],
                "in": {"$concatArrays": ["$$value", "$$this"]},
            }
        },
        [1, 2, 3, 4, 5, 6],
    ),
    ({"$reverseArray": {"$literal": [[1, 2], [3]]}}, [[3], [1, 2]]),
    ({"$size": "$empty"}, 0),
    ({"$slice": [[1, 2, 3], 1, 1]}, [2]),
    ({"$slice": [[1, 2, 3], -2]}, [2, 3]),
    ({"$slice": [[1, 2, 3], 15, 2]}, []),
    ({"$slice": [[1, 2, 3], -15, 2]}, [1, 2]),
    ({"$sortArray": {"input": [1, 4, 1, 6, 12, 5], "sortBy": 1}}, [1, 1, 4, 5, 6, 12]),
    (
        {"$sortArray": {"input": "$scores", "sortBy": {"s": -1}}},
        [{"n": "b", "s": 92}, {"n": "a", "s": 87}, {"n": "c", "s": 78}],
    ),
    (
        {
            "$sortArray": {
                "input": {"$literal": [20, {"a": "Free"}, 6, "Gratis", {"a": None}, {"a": {"b": 1}}, 10.23]},
                "sortBy": 1,
            }
        },
        [6, 10.23, 20, "Gratis", {"a": None}, {"a": "Free"}, {"a": {"b": 1}}],
    ),
    ({"$setDifference": [["a", "b", "a"], ["b", "a"]]}, []),
    ({"$setDifference": [["a", "b"], [["a", "b"]]]}, ["a", "b"]),
    ({"$setEquals": [["a", "b", "a"], ["b", "a"]]}, True),
    ({"$setEquals": [["a", "b"], [["a", "b"]]]}, False),
    ({"$setIntersection": [["a", "b", "a"], ["b", "a"]]}, ["a", "b"]),
    ({"$setIntersection": [["a", "b"], [["a", "b"]]]}, []),
    ({"$setIsSubset": [["a", "b", "a"], ["b", "a"]]}, True),
    ({"$setIsSubset": [["a", "b"], [["a", "b"]]]}, False),
    ({"$setUnion": [["a", "b", "a"], ["b", "a"]]}, ["a", "b"]),
    ({"$setUnion": [["a"], "$none"]}, None),
    # Objects
    ({"$getField": "price.usd"}, 45.99),
    ({"$getField": {"$literal": "$price"}}, 7),
    ({"$getField": {"field": "w", "input": "$size"}}, 21),
    ({"$getField": "nowhere"}, MISSING),
    ({"$mergeObjects": [{"a": 1}, None]}, {"a": 1}),
    ({"$mergeObjects": [None, None]}, {}),
    ({"$mergeObjects": [{"a": 1, "b": 2}, {"a": 3, "b": None, "c": 3}]}, {"a": 3, "b": None, "c": 3}),
    ({"$objectToArray": "$size"}, [{"k": "w", "v": 21}, {"k": "h", "v": 14}, {"k": "uom", "v": "cm"}]),
    ({"$setField": {"field": "a.b", "input": {"c": 1}, "value": 2}}, {"c": 1, "a.b": 2}),
    ({"$setField": {"field": "c", "input": {"c": 1}, "value": "$$REMOVE"}}, {}),
    ({"$unsetField": {"field": "w", "input": "$size"}}, {"h": 14, "uom": "cm"}),
    # Dates
    ({"$year": "$at"}, 2014),
    ({"$month": "$at"}, 1),
    ({"$dayOfMonth": "$at"}, 1),
    ({"$hour": "$at"}, 8),
    ({"$minute": "$at"}, 15),
    ({"$second": "$at"}, 39),
    ({"$millisecond": "$at"}, 736),
    ({"$dayOfYear": "$at"}, 1),
    ({"$dayOfWeek": "$at"}, 4),
    ({"$week": "$at"}, 0),
    ({"$isoWeek": "$at"}, 1),
    ({"$isoDayOfWeek": "$at"}, 3),
    ({"$isoWeekYear": "2016-01-01T00:00:00Z"}, 2015),
    ({"$year": "$none"}, None),
    ({"$dateToString": {"format": "%Y-%m-%d", "date": "$at"}}, "2014-01-01"),
    ({"$dateToString": {"format": "%H:%M:%S:%L%z", "date": "$at"}}, "08:15:39:736+0000"),
    ({"$dateToString": {"format": "%j/%u/%V/%G/%%", "date": "$at"}}, "001/3/01/2014/%"),
    ({"$dateToString": {"date": "$at"}}, "2014-01-01T08:15:39.736Z"),
    ({"$dateToString": {"date": "$none", "onNull": "never"}}, "never"),
    ({"$dateToString": {"date": "$missing"}}, None),
    (
        {"$dateToString": {"date": {"$dateAdd": {"startDate": "$end", "unit": "month", "amount": 1}}}},
        "2024-02-29T00:00:00.000Z",
    ),
    (
        {"$dateToString": {"date": {"$dateSubtract": {"startDate": "$end", "unit": "hour", "amount": 3}}}},
        "2024-01-30T21:00:00.000Z",
    ),
    ({"$dateDiff": {"startDate": "2021-02-28", "endDate": "2021-03-31", "unit": "year"}}, 0),
    ({"$dateDiff": {"startDate": "2021-02-28", "endDate": "2021-03-31", "unit": "month"}}, 1),
    ({"$dateDiff": {"startDate": "2021-02-28", "endDate": "2021-03-31", "unit": "day"}}, 31),
    ({"$dateDiff": {"startDate": "2021-01-24", "endDate": "2021-01-25", "unit": "week"}}, 0),
    (
        {
            "$dateDiff": {
                "startDate": "2021-01-24T00:00:00Z",
                "endDate": "2021-01-25T00:00:00Z",
                "unit": "week",
                "startOfWeek": "monday",
            }
        },
        1,
    ),
    (
        {"$dateToString": {"date": {"$dateTrunc": {"date": "2021-03-20T11:30:05Z", "unit": "month"}}}},
        "2021-03-01T00:00:00.000Z",
    ),
    (
        {
            "$dateToString": {
                "date": {
                    "$dateTrunc": {
                        "date": "2021-03-20T11:30:05Z",
                        "unit": "week",
                        "binSize": 2,
                        "startOfWeek": "Monday",
                    }
                }
            }
        },
        "2021-03-15T00:00:00.000Z",
    ),
    # Types and variables
    ({"$convert": {"input": "1.5", "to": "double"}}, 1.5),
    ({"$convert": {"input": 1.999, "to": "int"}}, 1),
    ({"$convert": {"input": "x", "to": "int", "onError": "bad"}}, "bad"),
    ({"$convert": {"input": "$none", "to": "int", "onNull": 0}}, 0),
    ({"$toBool": "false"}, True),
    ({"$toBool": 0}, False),
    ({"$toBool": "$none"}, None),
    ({"$toInt": "-2"}, -2),
    ({"$toInt": True}, 1),
    ({"$toLong": 3.9}, 3),
    ({"$toDouble": "-5.5"}, -5.5),
    ({"$toString": 2.5}, "2.5"),
    ({"$toString": True}, "true"),
    ({"$isNumber": "$qty"}, True),
    ({"$isNumber": "$item"}, False),
    ({"$type": "$qty"}, "int"),
    ({"$type": "$price"}, "double"),
    ({"$type": "$missing"}, "missing"),
    ({"$type": "$grades"}, "array"),
    ({"$literal": {"$add": [2, 3]}}, {"$add": [2, 3]}),
    (
        {
            "$let": {
                "vars": {
                    "total": {"$add": ["$qty", "$price"]},
                    "rate": {"$cond": {"if": "$discounted", "then": 0.5, "else": 1}},
                },
                "in": {"$multiply": ["$$total", "$$rate"]},
            }
        },
        131.25,
    ),
]


@pytest.fixture(scope="module")
def document() -> Any:
    with holdfast.open("memory:") as store:
        repository = store.repository("documents")
        repository.save(DOCUMENT)
        yield repository


@pytest.mark.parametrize(("expression", "expected"), EXPRESSIONS, ids=lambda value: str(value)[:60])
def test_an_expression_makes_what_the_manual_shows(document: Any, expression: Any, expected: Any) -> None:
    (made,) = document.aggregate([{"$project": {"id": 0, "made": expression}}])
    assert made.get("made", MISSING) == expected


REFUSED = [
    {"$indexOfCP": ["vanilla", "ll", -1]},
    {"$split": ["headphone jack", 7]},
    {"$split": ["headphone jack", ""]},
    {"$toInt": "2.5"},
    {"$toInt": 2147483648},
    {"$size": "$item"},
    {"$concat": ["$item", "$qty"]},
    {"$strLenCP": "$none"},
    {"$in": [1, "$none"]},
    {"$divide": [1, 0]},
    {"$switch": {"branches": [{"case": False, "then": 1}]}},
    {"$arrayToObject": {"$literal": [["a", 1, 2]]}},
    {"$range": [0, 5, 0]},
    {"$slice": [[1], 0, -1]},
    {"$setUnion": [["a"], "a"]},
    {"$sqrt": -1},
]


@pytest.mark.parametrize("expression", REFUSED, ids=str)
def test_what_the_manual_says_is_an_error_is_refused(document: Any, expression: Any) -> None:
    with pytest.raises(holdfast.InvalidQueryError):
        document.aggregate([{"$project": {"made": expression}}])
