"""Arrays that hold objects beside other values, and arrays in arrays: what indexes over their members, and
sorts by them, make of them is what MongoDB does.
"""

import os
import random
import sqlite3
from typing import Any, Callable

import pytest
from mongodb_keys import ordered, tuples

import holdfast

Things = holdfast.Repository[dict[str, Any]]
MIXED = {"id": "mixed", "a": [5, {"b": 7}]}
PAIRS = {"id": "pairs", "a": [{"b": 1, "c": 4}, {"b": 3, "c": 2}]}


@pytest.fixture
def things(store: holdfast.Store) -> Things:
    return store.repository("things")


def ids(entities: Any) -> list[str]:
    return [entity["id"] for entity in entities]


def test_two_bounds_may_be_met_by_two_elements_of_an_array_with_an_index_too(things: Things) -> None:
    things.create_index("a")
    things.save_many([{"id": "both", "a": [0, 5]}, {"id": "between", "a": [2]}, {"id": "beyond", "a": 7}])
    assert sorted(ids(things.find({"a": {"$gt": 1, "$lt": 3}}))) == ["between", "both"]


@pytest.mark.parametrize("is_built", [True, False], ids=["built", "kept"])
def test_an_element_without_members_counts_as_null_with_an_index_too(things: Things, is_built: bool) -> None:
    if not is_built:
        things.create_index({"a.b": 1})
    things.save_many([MIXED, {"id": "six", "a": {"b": 6}}])
    if is_built:
        things.create_index({"a.b": 1})
    assert ids(things.find(sort={"a.b": 1})) == ["mixed", "six"]
    assert ids(things.find(sort={"a.b": 1}, limit=1)) == ["mixed"]
    assert ids(things.find(sort={"a.b": -1}, limit=1)) == ["mixed"]
    assert [index["arrays"] for index in things.indexes()] == [True]
    report = things.verify()
    assert report["ok"]
    assert report["indexes"][0]["entries"] == 3
    # As a filter, null means a member that is missing or null, which an element without members has not.
    assert ids(things.find({"a.b": None})) == []


@pytest.mark.parametrize("other", [{"a": [6, {"b": 8}]}, {"a": None}, {}, {"a": []}, {"a": [[{"b": 8}]]}])
def test_a_unique_index_allows_one_null(things: Things, other: dict[str, Any]) -> None:
    things.create_index("a.b", unique=True)
    things.save(MIXED)
    with pytest.raises(holdfast.UniqueViolationError):
        things.save({"id": "other", **other})
    assert ids(things.find()) == ["mixed"]


def test_paths_through_one_array_go_through_the_same_element(things: Things) -> None:
    things.create_index({"a.b": 1, "a.c": 1}, unique=True)
    things.save(PAIRS)
    assert things.verify()["indexes"][0]["entries"] == 2
    # No element of the pairs' array has both.
    things.save({"id": "across", "a": {"b": 1, "c": 2}})
    with pytest.raises(holdfast.UniqueViolationError):
        things.save({"id": "same", "a": [{"b": 1, "c": 4}]})
    # Conditions may be met by several elements.
    assert ids(things.find({"a.b": 1, "a.c": 2})) == ["across", "pairs"]
    assert ids(things.find({"a.b": 3, "a.c": {"$gt": 3}})) == ["pairs"]
    assert ids(things.find({"a": {"$elemMatch": {"b": 1, "c": 2}}})) == []


def test_a_sort_by_several_members_takes_the_element_that_comes_first_with_both(things: Things) -> None:
    things.save_many([PAIRS, {"id": "single", "a": {"b": 1, "c": 3}}])
    assert ids(things.find(sort={"a.b": 1, "a.c": 1})) == ["single", "pairs"]
    assert ids(things.find(sort={"a.b": -1, "a.c": 1})) == ["pairs", "single"]
    assert ids(things.find(sort={"a.b": 1, "a.c": -1}, limit=1)) == ["pairs"]


@pytest.mark.parametrize(
    ("member", "first", "second"),
    [
        ("a.0.b", {"a": [{"b": 1}, {"b": 9}]}, {"a": [{"b": 2}]}),
        # An array that a number picks counts as a whole, and so behind every number.
        ("a.0", {"a": [9]}, {"a": [[1, 2]]}),
        ("a.1", {"a": [3]}, {"a": [3, 0]}),
    ],
)
def test_a_number_picks_the_element_by_which_is_sorted(
    things: Things, member: str, first: dict[str, Any], second: dict[str, Any]
) -> None:
    things.save_many([{"id": "2", **first}, {"id": "1", **second}])
    assert ids(things.find(sort={member: 1})) == ["2", "1"]


@pytest.mark.parametrize("engine", ["sqlite"])
def test_an_index_of_the_former_kind_is_told_and_not_relied_upon(
    open_store: Callable[..., holdfast.Store], path: str
) -> None:
    with open_store() as store:
        things = store.repository("things")
        things.create_index("a.b", unique=True)
        things.save_many([MIXED, {"id": "six", "a": {"b": 6}}])
    # As it was built before definitions said of which kind their entries are.
    with sqlite3.connect(path) as file:
        file.execute(
            'UPDATE holdfast_index SET has_arrays = 0, definition = \'{"fields":{"a.b":1},"unique":true}\''
        )
        (number,) = file.execute("SELECT id FROM holdfast_index").fetchone()
        assert file.execute(f"DELETE FROM holdfast_index_{number} WHERE key = x'10'").rowcount == 1
    file.close()
    with open_store() as store:
        things = store.repository("things")
        assert things.indexes()[0]["outdated"] is True
        assert ids(things.find(sort={"a.b": 1}, limit=1)) == ["mixed"]
        assert things.explain({"a.b": {"$gt": 6}})["index"] == "a.b"
        assert ids(things.find({"a.b": {"$gt": 6}})) == ["mixed"]
        report = things.verify()
        assert not report["ok"]
        assert report["indexes"][0]["missing"] == 1
        # What it was begun as, it is kept as: nothing leads to what is gone.
        things.save({"id": "mixed", "a": [5, {"b": 8}, 7]})
        things.create_index("a.b", unique=True)
        assert ids(things.find({"a.b": {"$gt": 6}})) == ["mixed"]
        assert things.count({"a.b": 7}) == 0
        things.delete("mixed")
        assert things.verify()["ok"]
        with pytest.raises(holdfast.UniqueViolationError):
            things.add({"id": "again", "a": {"b": 6}})
        # Dropped and created again it is of the present kind.
        things.drop_index("a.b")
        things.create_index("a.b", unique=True)
        assert "outdated" not in things.indexes()[0]
        things.save(MIXED)
        assert things.verify()["ok"]


@pytest.mark.parametrize("engine", ["sqlite"])
def test_an_index_of_a_former_kind_gets_entries_of_that_kind(
    open_store: Callable[..., holdfast.Store], path: str
) -> None:
    with open_store() as store:
        store.repository("things").create_index({"a.b": 1, "a.c": 1})
    with sqlite3.connect(path) as file:
        file.execute('UPDATE holdfast_index SET definition = \'{"fields":{"a.b":1,"a.c":1}}\'')
        (number,) = file.execute("SELECT id FROM holdfast_index").fetchone()
    file.close()
    with open_store() as store:
        store.repository("things").save(PAIRS)
    with sqlite3.connect(path) as file:
        # Each value of one path with each of the other.
        assert file.execute(f"SELECT count(*) FROM holdfast_index_{number}").fetchone() == (4,)
    file.close()
    with open_store() as store:
        store.repository("things").delete("pairs")
    with sqlite3.connect(path) as file:
        assert file.execute(f"SELECT count(*) FROM holdfast_index_{number}").fetchone() == (0,)
    file.close()


@pytest.mark.parametrize("engine", ["sqlite"])
def test_creating_it_again_renews_an_index_of_the_former_kind(
    open_store: Callable[..., holdfast.Store], path: str
) -> None:
    with open_store() as store:
        things = store.repository("things")
        things.create_index("a.b")
        things.save(MIXED)
    with sqlite3.connect(path) as file:
        file.execute('UPDATE holdfast_index SET has_arrays = 0, definition = \'{"fields":{"a.b":1}}\'')
        (number,) = file.execute("SELECT id FROM holdfast_index").fetchone()
        assert file.execute(f"DELETE FROM holdfast_index_{number} WHERE key = x'10'").rowcount == 1
    file.close()
    with open_store() as store:
        things = store.repository("things")
        assert things.indexes()[0]["outdated"] is True
        things.create_index("a.b")
        assert "outdated" not in things.indexes()[0]
        assert things.verify()["indexes"] == [{"name": "a.b", "entries": 2, "wrong": 0, "missing": 0}]


# --- At random ---------------------------------------------------------------------------------------

SEEDS = int(os.environ.get("HOLDFAST_TEST_SEEDS", "12"))
PATHS = ["a", "b", "a.b", "a.c", "b.c", "a.b.c"]


def value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.random()
    if depth < 3 and kind < 0.35:
        return [value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    if depth < 4 and kind < 0.75:
        return {name: value(rng, depth + 1) for name in rng.sample("bc", rng.randint(0, 2))}
    return rng.choice([None, 0, 1, 1.0, 2, 2.5, "", "b", True, False])


def entity(rng: random.Random, id: int) -> dict[str, Any]:
    return {"id": str(id), **{name: value(rng) for name in "ab" if rng.random() < 0.9}}


def fields(rng: random.Random) -> dict[str, int]:
    return {path: rng.choice([1, -1]) for path in rng.sample(PATHS, rng.randint(1, 3))}


def entry_count(document: dict[str, Any], paths: list[str]) -> int:
    distinct: list[Any] = []
    for key in tuples(document, paths):
        if key not in distinct:
            distinct.append(key)
    return len(distinct)


def condition(rng: random.Random) -> Any:
    operand = rng.choice([None, 0, 1, 2.5, "b", True, [], [1], {"b": 1}])
    return rng.choice(
        [
            operand,
            {"$in": [operand, rng.choice([None, 1, "b"])]},
            {rng.choice(["$gt", "$gte", "$lt", "$lte", "$ne"]): operand},
            {"$gte": 0, "$lt": 2},
            {"$exists": rng.choice([True, False])},
            {"$elemMatch": {"b": operand, "c": 1}},
            {"$size": rng.randint(0, 2)},
        ]
    )


@pytest.mark.parametrize("seed", range(SEEDS))
def test_indexes_and_sorts_over_arrays_are_as_in_mongodb(things: Things, seed: int) -> None:
    rng = random.Random(seed)
    plain = things.store.repository("plain")
    documents: dict[str, dict[str, Any]] = {}
    # Few entities, so that one array among them is not always beside others.
    for _ in range(4):
        for index in things.indexes():
            things.drop_index(index["name"])
        with things.store.transaction():
            things.delete_all()
            plain.delete_all()
        documents.clear()
        chosen = [fields(rng) for _ in range(rng.randint(1, 2))]
        is_built = rng.random() < 0.5
        for over in chosen if not is_built else []:
            things.create_index(over)
        for _ in range(rng.randint(1, 6)):
            new = entity(rng, rng.randint(0, 4))
            documents[new["id"]] = new
            things.save(new)
            plain.save(new)
        for over in chosen if is_built else []:
            things.create_index(over)
        report = things.verify()
        assert report["ok"]
        for index, told in zip(things.indexes(), report["indexes"], strict=True):
            paths = list(index["fields"])
            assert told["entries"] == sum(entry_count(document, paths) for document in documents.values())
        for _ in range(10):
            filter = {path: condition(rng) for path in rng.sample(PATHS, rng.randint(0, 2))}
            sort = rng.choice([*chosen, fields(rng)])
            limit = rng.randint(0, 2)
            found = plain.find(filter)
            in_order = ordered(found, sort)[: limit or None]
            what = (list(documents.values()), chosen, filter, sort, limit)
            assert sorted(ids(things.find(filter))) == ids(found), what
            assert things.find(filter, sort=sort, limit=limit) == in_order, what
            assert plain.find(filter, sort=sort, limit=limit) == in_order, what
            assert list(things.iterate(filter, sort=sort, limit=limit)) == in_order, what


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_unique_index_refuses_what_mongodb_does(things: Things, seed: int) -> None:
    rng = random.Random(seed)
    over = fields(rng)
    things.create_index(over, unique=True)
    claimed: dict[str, list[tuple[Any, ...]]] = {}
    for _ in range(40):
        new = entity(rng, rng.randint(0, 9))
        keys = tuples(new, list(over))
        others = [key for id, taken in claimed.items() if id != new["id"] for key in taken]
        if any(key in others for key in keys):
            with pytest.raises(holdfast.UniqueViolationError):
                things.save(new)
        else:
            things.save(new)
            claimed[new["id"]] = keys
    assert things.verify()["ok"]
