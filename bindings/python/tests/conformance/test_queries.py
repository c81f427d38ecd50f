"""Queries: filters as dicts, expressions and functions, and what they are asked with."""

import re
from dataclasses import dataclass, field
from typing import Any, Callable

import pytest
from threads import in_thread

import holdfast
from holdfast import F


@dataclass
class Person:
    id: str
    name: str = ""
    age: float = 0
    tags: list[str] = field(default_factory=list)
    address: dict[str, Any] = field(default_factory=dict)


@pytest.fixture
def people(store: holdfast.Store) -> holdfast.Repository[Person]:
    people = store.repository("people", cls=Person)
    people.save_many(
        [
            Person("a", "Ada", 36, ["x", "y"], {"city": "Paris"}),
            Person("b", "Bob", 28, ["y"], {"city": "Kassel", "odd name": 1}),
            Person("c", "Cid", 36.5, [], {"city": ["Paris", "Rome"]}),
            Person("d", "dot", 17),
        ]
    )
    return people


def ids(found: list[Person]) -> str:
    return "".join(person.id for person in found)


EXPRESSIONS = [
    (F.age >= 30, {"age": {"$gte": 30}}, "ac"),
    (F.age < 30, {"age": {"$lt": 30}}, "bd"),
    ((F.age > 17) & (F.age <= 36), {"$and": [{"age": {"$gt": 17}}, {"age": {"$lte": 36}}]}, "ab"),
    (F.address.city == "Paris", {"address.city": {"$eq": "Paris"}}, "ac"),
    (F.address.city != "Paris", {"address.city": {"$ne": "Paris"}}, "bd"),
    (F["address"]["odd name"].exists(), {"address.odd name": {"$exists": True}}, "b"),
    (F["address.city"].exists(False), {"address.city": {"$exists": False}}, "d"),
    (~(F.age >= 30), {"$nor": [{"age": {"$gte": 30}}]}, "bd"),
    ((F.id == "a") | (F.id == "b") | (F.id == "z"), None, "ab"),
    (F.name.is_in(["Ada", "dot"]), {"name": {"$in": ["Ada", "dot"]}}, "ad"),
    (F.name.not_in(["Ada", "dot"]), {"name": {"$nin": ["Ada", "dot"]}}, "bc"),
    (F.name.matches("^d"), {"name": {"$regex": "^d"}}, "d"),
    (F.name.matches(re.compile("^D", re.IGNORECASE)), {"name": {"$regex": "^D", "$options": "i"}}, "d"),
    (F.tags.has_all(["x", "y"]), {"tags": {"$all": ["x", "y"]}}, "a"),
    (F.tags.has_size(0), {"tags": {"$size": 0}}, "cd"),
    (F.tags["0"] == "y", {"tags.0": {"$eq": "y"}}, "b"),
    (F.tags.any((F >= "x") & (F < "y")), {"tags": {"$elemMatch": {"$gte": "x", "$lt": "y"}}}, "a"),
    (F.tags.any(~(F == "y")), {"tags": {"$elemMatch": {"$not": {"$eq": "y"}}}}, "a"),
    (F.address.city.is_type("array"), {"address.city": {"$type": ["array"]}}, "c"),
    (F.age.remainder(4, 1), {"age": {"$mod": [4, 1]}}, "d"),
]


@pytest.mark.parametrize(("expression", "filter", "expected"), EXPRESSIONS, ids=repr)
def test_an_expression_finds_what_its_filter_finds(
    people: holdfast.Repository[Person], expression: holdfast.Expression, filter: Any, expected: str
) -> None:
    assert filter is None or expression.to_filter() == filter
    assert ids(people.find(expression)) == expected
    assert ids(people.find(expression.to_filter())) == expected
    assert people.count(expression) == len(expected)
    assert people.exists(expression)
    assert people.distinct("id", expression) == list(expected)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: (F.a == 1) and (F.b == 2),
        lambda: (F.a == 1) or (F.b == 2),
        lambda: not (F.a == 1),
        lambda: 1 < F.a < 2,
        lambda: bool(F.a),
        lambda: 1 in F.a,
        lambda: list(F.a),
        lambda: {F.a: 1},
        lambda: (F.a == 1) & True,
        lambda: (F > 1).to_filter(),
        lambda: (F > 1) & (F > 2),
        lambda: (F > 1) | (F > 2),
        lambda: (F.a == 1) & (F > 1),
    ],
)
def test_what_cannot_become_a_filter_is_a_type_error(wrong: Callable[[], Any]) -> None:
    with pytest.raises(TypeError):
        wrong()


def test_a_path_is_not_taken_for_an_operator() -> None:
    with pytest.raises(ValueError):
        F["$where"]
    assert (F.a["$b"] == {"$gt": 1}).to_filter() == {"a.$b": {"$eq": {"$gt": 1}}}
    with pytest.raises(AttributeError):
        F.a = 1


def test_results_are_ordered_cut_and_limited(people: holdfast.Repository[Person]) -> None:
    assert ids(people.find(sort={"age": -1})) == "cabd"
    assert ids(people.find(sort={"tags": 1, "id": -1})) == "dcab"
    assert ids(people.find(F.age > 17, sort={"age": 1}, skip=1, limit=1)) == "a"
    assert people.first(sort={"age": 1}) == Person("d", "dot", 17)
    assert people.first(F.age > 99) is None
    assert people.first(sort={"age": 1}, skip=1, fields=["name"]) == {"id": "b", "name": "Bob"}
    assert people.find({"id": "a"}, fields=["address.city"]) == [{"id": "a", "address": {"city": "Paris"}}]
    assert people.find({"id": "d"}, fields={"tags": 0, "address": 0, "name": 0}) == [{"id": "d", "age": 17}]


def test_parameters_are_literals(people: holdfast.Repository[Person]) -> None:
    filter = F.age >= {"$param": "least"}
    for least, expected in ((30, "ac"), (36.2, "c"), ({"$gt": 1}, "")):
        assert ids(people.find(filter, parameters={"least": least})) == expected
        assert people.count(filter, parameters={"least": least}) == len(expected)
        assert people.exists(filter, parameters={"least": least}) == bool(expected)
    assert people.first(filter, sort={"age": 1}, parameters={"least": 30}).id == "a"
    assert people.distinct("age", filter, parameters={"least": 30}) == [36, 36.5]
    with pytest.raises(holdfast.InvalidQueryError, match="least"):
        people.find(filter)
    assert people.delete_all(filter, parameters={"least": 30}) == 2


def test_a_function_may_choose(people: holdfast.Repository[Person]) -> None:
    def is_young(person: Person) -> bool:
        return person.age < 30 and people.contains(person.id)

    assert ids(people.find(is_young)) == "bd"
    assert ids(people.find(is_young, sort={"age": 1}, limit=1)) == "d"
    assert people.first(is_young).id == "b"
    assert people.first(lambda _: False) is None
    assert people.count(is_young) == 2
    assert people.exists(is_young) and not people.exists(lambda person: person.age > 99)
    for refused in (people.delete_all, lambda function: people.distinct("id", function)):
        with pytest.raises(TypeError):
            refused(is_young)


def test_what_a_choosing_function_raises_comes_out_of_the_call(people: holdfast.Repository[Person]) -> None:
    seen = []

    def fails(person: Person) -> bool:
        seen.append(person.id)
        raise KeyboardInterrupt(person.id)

    with pytest.raises(KeyboardInterrupt, match="a"):
        people.find(fails)
    assert seen == ["a"]


def test_a_function_reads_the_whole_repository(
    store: holdfast.Store, people: holdfast.Repository[Person]
) -> None:
    with pytest.raises(holdfast.ConflictError), store.transaction():
        people.count(lambda person: person.id == "a")
        people.save(Person("new"))
        in_thread(lambda: people.save(Person("other")))


def test_of_many_that_are_equal_in_a_descending_sort_a_limit_keeps_those_with_the_last_ids(
    songs: "holdfast.Repository[dict[str, Any]]",
) -> None:
    songs.save_many([{"id": f"{number:04}", "plays": 1} for number in range(5000)])
    found = songs.find(sort={"plays": -1}, limit=3)
    assert [song["id"] for song in found] == ["4999", "4998", "4997"]
    found = songs.find(sort={"plays": 1}, limit=3)
    assert [song["id"] for song in found] == ["0000", "0001", "0002"]
