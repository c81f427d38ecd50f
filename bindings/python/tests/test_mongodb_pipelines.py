"""What MongoDB's manual shows of each stage and of searches, with other data: both make the same of it."""

from typing import Any

import pytest

import holdfast

SALES = [
    {"id": "1", "item": "abc", "price": 10, "quantity": 2, "date": "2014-03-01T08:00:00Z"},
    {"id": "2", "item": "jkl", "price": 20, "quantity": 1, "date": "2014-03-01T09:00:00Z"},
    {"id": "3", "item": "xyz", "price": 5, "quantity": 10, "date": "2014-03-15T09:00:00Z"},
    {"id": "4", "item": "xyz", "price": 5, "quantity": 20, "date": "2014-04-04T11:21:39Z"},
    {"id": "5", "item": "abc", "price": 10, "quantity": 10, "date": "2014-04-04T21:23:13Z"},
]
AMOUNT = {"$multiply": ["$price", "$quantity"]}
CLOTHES = [
    {"id": "1", "sizes": ["S", "M"]},
    {"id": "2", "sizes": []},
    {"id": "3", "sizes": "L"},
    {"id": "4"},
    {"id": "5", "sizes": None},
]
ARTISTS = [
    {"id": "1", "name": "Bernard", "born": 1868, "books": {"a": 1, "b": 2}},
    {"id": "2", "name": "Rotluff", "born": 1884, "books": {"a": 3}},
    {"id": "3", "name": "Ensor", "born": 1905},
    {"id": "4", "name": "Lepage"},
]
STAGES: list[tuple[Any, Any, Any]] = [
    (
        SALES,
        [
            {"$group": {"_id": "$item", "total": {"$sum": AMOUNT}}},
            {"$match": {"total": {"$gte": 100}}},
        ],
        [{"_id": "abc", "total": 120}, {"_id": "xyz", "total": 150}],
    ),
    (
        SALES,
        [
            {"$match": {"date": {"$gte": "2014-03-02"}}},
            {
                "$group": {
                    "_id": {"$dateToString": {"format": "%Y-%m-%d", "date": "$date"}},
                    "total": {"$sum": AMOUNT},
                    "average": {"$avg": "$quantity"},
                    "count": {"$sum": 1},
                }
            },
            {"$sort": {"total": -1}},
        ],
        [
            {"_id": "2014-04-04", "total": 200, "average": 15, "count": 2},
            {"_id": "2014-03-15", "total": 50, "average": 10, "count": 1},
        ],
    ),
    (
        SALES,
        [{"$group": {"_id": None, "total": {"$sum": AMOUNT}, "count": {"$count": {}}}}],
        [{"_id": None, "total": 290, "count": 5}],
    ),
    (SALES, [{"$group": {"_id": "$item"}}], [{"_id": "abc"}, {"_id": "jkl"}, {"_id": "xyz"}]),
    (
        SALES,
        [
            {"$sort": {"date": 1}},
            {
                "$group": {
                    "_id": "$item",
                    "first": {"$first": "$quantity"},
                    "last": {"$last": "$quantity"},
                    "least": {"$min": "$quantity"},
                    "most": {"$max": "$quantity"},
                    "all": {"$push": "$quantity"},
                    "prices": {"$addToSet": "$price"},
                }
            },
            {"$limit": 1},
        ],
        [{"_id": "abc", "first": 2, "last": 10, "least": 2, "most": 10, "all": [2, 10], "prices": [10]}],
    ),
    (
        SALES,
        [
            {"$group": {"_id": "$item", "sold": {"$push": {"price": "$price", "n": "$quantity"}}}},
            {"$skip": 1},
            {"$limit": 1},
        ],
        [{"_id": "jkl", "sold": [{"price": 20, "n": 1}]}],
    ),
    (
        SALES,
        [{"$group": {"_id": {"item": "$item", "m": {"$month": "$date"}}, "n": {"$sum": 1}}}, {"$limit": 2}],
        [{"_id": {"item": "abc", "m": 3}, "n": 1}, {"_id": {"item": "abc", "m": 4}, "n": 1}],
    ),
    (SALES, [{"$match": {"quantity": {"$gt": 2}}}, {"$count": "many"}], [{"many": 3}]),
    (SALES, [{"$match": {"quantity": {"$gt": 99}}}, {"$count": "many"}], []),
    (
        SALES,
        [{"$sortByCount": "$item"}],
        [{"_id": "abc", "count": 2}, {"_id": "xyz", "count": 2}, {"_id": "jkl", "count": 1}],
    ),
    (
        SALES,
        [{"$match": {"$expr": {"$gt": ["$quantity", "$price"]}}}, {"$project": {"id": 1}}],
        [{"id": "3"}, {"id": "4"}],
    ),
    (
        CLOTHES,
        [{"$unwind": "$sizes"}],
        [{"id": "1", "sizes": "S"}, {"id": "1", "sizes": "M"}, {"id": "3", "sizes": "L"}],
    ),
    (
        CLOTHES,
        [{"$unwind": {"path": "$sizes", "includeArrayIndex": "at"}}],
        [
            {"id": "1", "sizes": "S", "at": 0},
            {"id": "1", "sizes": "M", "at": 1},
            {"id": "3", "sizes": "L", "at": None},
        ],
    ),
    (
        CLOTHES,
        [{"$unwind": {"path": "$sizes", "preserveNullAndEmptyArrays": True}}],
        [
            {"id": "1", "sizes": "S"},
            {"id": "1", "sizes": "M"},
            {"id": "2"},
            {"id": "3", "sizes": "L"},
            {"id": "4"},
            {"id": "5", "sizes": None},
        ],
    ),
    (
        ARTISTS,
        [
            {
                "$bucket": {
                    "groupBy": "$born",
                    "boundaries": [1860, 1880, 1900],
                    "default": "other",
                    "output": {"count": {"$sum": 1}, "names": {"$push": "$name"}},
                }
            }
        ],
        [
            {"_id": 1860, "count": 1, "names": ["Bernard"]},
            {"_id": 1880, "count": 1, "names": ["Rotluff"]},
            {"_id": "other", "count": 2, "names": ["Ensor", "Lepage"]},
        ],
    ),
    (
        ARTISTS,
        [{"$project": {"id": 0, "name": 1, "both": ["$born", "$nowhere"]}}, {"$limit": 1}],
        [{"name": "Bernard", "both": [1868, None]}],
    ),
    (
        ARTISTS,
        [{"$project": {"books.a": 0, "born": 0}}, {"$limit": 2}],
        [{"id": "1", "name": "Bernard", "books": {"b": 2}}, {"id": "2", "name": "Rotluff", "books": {}}],
    ),
    (
        ARTISTS,
        [{"$project": {"books": {"a": 1}, "late": {"$gt": ["$born", 1880]}}}, {"$limit": 2}],
        [{"id": "1", "books": {"a": 1}, "late": False}, {"id": "2", "books": {"a": 3}, "late": True}],
    ),
    (
        ARTISTS,
        [
            {
                "$project": {
                    "born": {"$cond": {"if": {"$gt": ["$born", 1900]}, "then": "$$REMOVE", "else": "$born"}}
                }
            },
            {"$skip": 1},
        ],
        [{"id": "2", "born": 1884}, {"id": "3"}, {"id": "4"}],
    ),
    (
        ARTISTS,
        [{"$set": {"books.c": "new", "name": "x"}}, {"$skip": 2}],
        [
            {"id": "3", "name": "x", "born": 1905, "books": {"c": "new"}},
            {"id": "4", "name": "x", "books": {"c": "new"}},
        ],
    ),
    (
        CLOTHES,
        [{"$match": {"id": "1"}}, {"$addFields": {"sizes": {"$concatArrays": ["$sizes", ["XL"]]}}}],
        [{"id": "1", "sizes": ["S", "M", "XL"]}],
    ),
    (
        ARTISTS,
        [{"$unset": ["books.b", "born", "nowhere"]}, {"$limit": 1}],
        [{"id": "1", "name": "Bernard", "books": {"a": 1}}],
    ),
    (
        ARTISTS,
        [
            {"$match": {"books": {"$exists": True}}},
            {"$replaceRoot": {"newRoot": {"$mergeObjects": [{"a": 0, "b": 0}, "$books"]}}},
        ],
        [{"a": 1, "b": 2}, {"a": 3, "b": 0}],
    ),
    (
        ARTISTS,
        [{"$sort": {"born": 1, "name": -1}}, {"$project": {"id": 1}}, {"$limit": 2}],
        [{"id": "4"}, {"id": "1"}],
    ),
    (
        SALES,
        [
            {"$match": {"id": {"$in": ["1", "2"]}}},
            {"$lookup": {"from": "inventory", "localField": "item", "foreignField": "sku", "as": "stock"}},
            {"$project": {"item": 1, "stock": "$stock.instock"}},
        ],
        [{"id": "1", "item": "abc", "stock": [120]}, {"id": "2", "item": "jkl", "stock": []}],
    ),
    (
        CLOTHES,
        [
            {"$match": {"id": {"$in": ["1", "4", "5"]}}},
            {"$lookup": {"from": "inventory", "localField": "sizes", "foreignField": "size", "as": "at"}},
            {"$project": {"at": "$at.id"}},
        ],
        [{"id": "1", "at": ["i1", "i2"]}, {"id": "4", "at": ["i3", "i4"]}, {"id": "5", "at": ["i3", "i4"]}],
    ),
]
INVENTORY = [
    {"id": "i1", "sku": "abc", "instock": 120, "size": "S"},
    {"id": "i2", "sku": "def", "instock": 80, "size": "M"},
    {"id": "i3", "sku": None},
    {"id": "i4", "size": None},
]


@pytest.mark.parametrize(("documents", "pipeline", "expected"), STAGES, ids=lambda value: str(value)[:60])
def test_a_pipeline_makes_what_the_manual_shows(documents: Any, pipeline: Any, expected: Any) -> None:
    with holdfast.open("memory:") as store:
        store.repository("inventory").save_many(INVENTORY)
        repository = store.repository("documents")
        repository.save_many(documents)
        assert repository.aggregate(pipeline) == expected


ARTICLES = [
    {"id": "1", "subject": "coffee", "author": "xyz", "views": 50},
    {"id": "2", "subject": "Coffee Shopping", "author": "efg", "views": 5},
    {"id": "3", "subject": "Baking a cake", "author": "abc", "views": 90},
    {"id": "4", "subject": "baking", "author": "xyz", "views": 100},
    {"id": "5", "subject": "Café Con Leche", "author": "abc", "views": 200},
    {"id": "6", "subject": "Сырники", "author": "jkl", "views": 80},
    {"id": "7", "subject": "coffee and cream", "author": "efg", "views": 10},
    {"id": "8", "subject": "Cafe con Leche", "author": "xyz", "views": 10},
]


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ({"$search": "coffee"}, "1 2 7"),
        ({"$search": "bake coffee cake"}, "1 2 3 4 7"),
        ({"$search": '"coffee shop"'}, "2"),
        ({"$search": "coffee -shop"}, "1 7"),
        ({"$search": "leche", "$language": "es"}, "5 8"),
        ({"$search": "Coffee", "$caseSensitive": False}, "1 2 7"),
        ({"$search": "сырники CAFÉS"}, "5 6 8"),
        ({"$search": "CAFÉ", "$diacriticSensitive": False}, "5 8"),
        ({"$search": "-coffee"}, ""),
    ],
    ids=str,
)
def test_a_search_finds_what_the_manual_shows(search: Any, expected: str) -> None:
    with holdfast.open("memory:") as store:
        articles = store.repository("articles")
        articles.save_many(ARTICLES)
        articles.create_index(["subject"], kind="text")
        found = articles.find({"$text": search}, sort={"id": 1})
        assert [article["id"] for article in found] == expected.split()
