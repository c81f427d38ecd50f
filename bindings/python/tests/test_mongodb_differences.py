"""Where Holdfast means to differ from MongoDB: each point of docs/mongodb.md, held against implementations
of MongoDB's way where they show it. What these tests hold, the comparisons in test_mongodb_oracle.py and
test_updates.py leave out.
"""

from typing import Any

import mongomock
import montydb
import pytest

import holdfast

Documents = holdfast.Repository[dict[str, Any]]


@pytest.fixture
def documents(store: holdfast.Store) -> Documents:
    return store.repository("documents", key="_id")


def mongodb_finds(filter: dict[str, Any], *contents: dict[str, Any]) -> list[Any]:
    with montydb.MontyClient(":memory:") as client:
        collection = client.holdfast.differences
        collection.delete_many({})
        collection.insert_many([dict(document) for document in contents])
        return [document["_id"] for document in collection.find(filter)]


def mongodb_updates(document: dict[str, Any], update: dict[str, Any]) -> Any:
    collection = mongomock.MongoClient().database.collection
    collection.insert_one(dict(document))
    collection.update_one({"_id": document["_id"]}, update, upsert=True)
    return collection.find_one({"_id": document["_id"]})


def test_an_integer_and_its_decimal_text_are_one_id(documents: Documents) -> None:
    assert mongodb_finds({}, {"_id": 42}, {"_id": "42"}) == [42, "42"]
    documents.save({"_id": 42})
    documents.save({"_id": "42"})
    assert documents.find() == [{"_id": "42"}]


@pytest.mark.parametrize(
    "filter",
    [{"a": {"$exists": 1}}, {"a": {"$exists": 2}}, {"a": {"$regex": "x", "$options": "u"}}],
)
def test_operands_are_taken_strictly(documents: Documents, filter: dict[str, Any]) -> None:
    documents.save({"_id": "1", "a": "x"})
    assert mongodb_finds(filter, {"_id": "1", "a": "x"}) == ["1"]
    with pytest.raises(holdfast.InvalidQueryError):
        documents.find(filter)


@pytest.mark.parametrize("name", ["$where", "$expr", "$text", "$jsonSchema", "$comment"])
def test_what_the_filter_language_has_not_is_refused_by_name(documents: Documents, name: str) -> None:
    with pytest.raises(holdfast.InvalidQueryError) as refused:
        documents.find({name: "a"})
    assert refused.value.detail["operator"] == name


@pytest.mark.parametrize(
    ("update", "mongodb"),
    [
        ({"$pop": {"a": 1}}, {"a": [3]}),
        ({"$pullAll": {"a": [3]}}, {"a": [2]}),
        ({"$push": {"a": {"$each": [1], "$sort": 1}}}, {"a": [1, 2, 3]}),
        ({"$setOnInsert": {"b": 1}}, {"a": [3, 2]}),
        ({"$set": {"_id": "1"}}, {"a": [3, 2]}),
    ],
)
def test_an_update_that_there_is_not_is_refused(
    documents: Documents, update: dict[str, Any], mongodb: dict[str, Any]
) -> None:
    document = {"_id": "1", "a": [3, 2]}
    documents.save(document)
    assert mongodb_updates(document, update) == {"_id": "1", **mongodb}
    with pytest.raises((holdfast.InvalidQueryError, holdfast.InvalidEntityError)):
        documents.modify("1", update)
    assert documents["1"] == document


def test_the_types_of_numbers_are_told_by_their_values(documents: Documents) -> None:
    documents.save_many([{"_id": text, "n": number} for text, number in [("a", 7), ("b", 2**31), ("c", 7.0)]])
    for name, ids in [("int", ["a"]), ("long", ["b"]), ("double", ["c"]), ("number", ["a", "b", "c"])]:
        assert [found["_id"] for found in documents.find({"n": {"$type": name}})] == ids
    with pytest.raises(holdfast.InvalidQueryError):
        documents.find({"n": {"$type": "decimal"}})


def test_what_is_equal_comes_in_the_order_of_the_ids(documents: Documents) -> None:
    documents.save_many([{"_id": id, "n": 1} for id in "cab"])
    assert [found["_id"] for found in documents.find(sort={"n": 1})] == ["a", "b", "c"]
    assert [found["_id"] for found in documents.find(sort={"n": -1})] == ["c", "b", "a"]


def test_an_index_over_two_arrays_has_every_combination(documents: Documents) -> None:
    documents.create_index({"a": 1, "b": 1})
    documents.save({"_id": "1", "a": [1, 2], "b": [3, 4]})
    assert documents.verify()["indexes"][0]["entries"] == 4
    assert documents.explain({"a": 2, "b": 3})["index"] == "a_b"
    assert documents.count({"a": 2, "b": 3}) == 1


def test_operators_in_each_other_and_paths_end_somewhere(documents: Documents) -> None:
    documents.save({"_id": "1", "a": 1})

    def nested(depth: int) -> dict[str, Any]:
        condition: dict[str, Any] = {"$eq": 1}
        for _ in range(depth):
            condition = {"$not": condition}
        return {"a": condition}

    for depth, filter in [(32, nested(32)), (33, nested(33))]:
        assert mongodb_finds(filter, {"_id": "1", "a": 1}) == ([] if depth % 2 else ["1"])
    assert documents.count(nested(32)) == 1
    with pytest.raises(holdfast.InvalidQueryError, match="more than 32 deep"):
        documents.count(nested(33))
    long = ".".join(["a"] * 64)
    for refused in (lambda: documents.count({long: 1}), lambda: documents.modify("1", {"$set": {long: 1}})):
        with pytest.raises(holdfast.InvalidQueryError, match="64 parts; 63 are allowed"):
            refused()


def test_a_sort_through_two_arrays_takes_what_comes_first_of_each(documents: Documents) -> None:
    documents.save_many([{"_id": "1", "a": [3, 1], "b": [2, 4]}, {"_id": "2", "a": 1, "b": 3}])
    assert [found["_id"] for found in documents.find(sort={"a": 1, "b": 1})] == ["1", "2"]


@pytest.mark.parametrize("engine", ["memory"])
def test_a_pattern_that_proves_too_expensive_is_refused(documents: Documents) -> None:
    documents.save({"_id": "1", "a": "a" * 3000})
    with pytest.raises(holdfast.InvalidQueryError):
        documents.find({"a": {"$regex": "(a+a+)+[bc]$"}})


def test_an_empty_text_is_not_replaced(documents: Documents) -> None:
    documents.save({"_id": "1", "a": "abc"})
    for operator in ("$replaceOne", "$replaceAll"):
        expression = {operator: {"input": "$a", "find": "", "replacement": "x"}}
        with pytest.raises(holdfast.InvalidQueryError, match="cannot find an empty string"):
            documents.aggregate([{"$set": {"a": expression}}])


@pytest.mark.parametrize("stage", ["$sort", "$project", "$addFields"])
def test_the_score_of_a_text_is_for_queries_and_for_no_stage(documents: Documents, stage: str) -> None:
    score: Any = {"score": {"$meta": "textScore"}}
    documents.create_index("title", kind="text")
    documents.save({"_id": "1", "title": "Gloria"})
    text: Any = {"$text": {"$search": "gloria"}}
    assert documents.find(text, sort=score, fields=score)[0]["score"] > 0
    with pytest.raises(holdfast.InvalidQueryError):
        documents.aggregate([{"$match": text}, {stage: score}])
