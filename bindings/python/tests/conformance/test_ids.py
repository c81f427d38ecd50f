"""Ids are an index: a query by them answers what it would of another member with the same values."""

import random
from typing import Any

import pytest

import holdfast

TEXTS = ["a", "a ", "ab", "abc", "b", "é", "\U0010ffff", "0", "41", "42", "-1", "42a", "Z", "~"]
NUMBERS = [0, 41, 42, -1, 100, -100, 2**53, 2**53 + 1, -(2**63), 2**63 - 1]
STRANGERS = [None, True, 1.5, 42.0, 1e300, ["a"], {"a": 1}, "", "aa", "c", 7]


def operand(rng: random.Random) -> Any:
    return rng.choice(rng.choice([TEXTS, TEXTS, NUMBERS, STRANGERS]))


def condition(rng: random.Random) -> dict[str, Any]:
    names = rng.sample(["$eq", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$regex"], rng.randint(1, 3))
    several = {"$in": 5, "$nin": 2}
    return {
        name: rng.choice(["^a", "^ab", "^4", "^é", "^\U0010ffff", "b", "^(?i)A"])
        if name == "$regex"
        else [operand(rng) for _ in range(rng.randint(0, several[name]))]
        if name in several
        else operand(rng)
        for name in names
    }


def entity(rng: random.Random, ids: list[Any]) -> dict[str, Any]:
    identifier = rng.choice(ids)
    return {"id": identifier, "twin": identifier, "n": rng.randint(0, 3)}


def renamed(query: dict[str, Any]) -> dict[str, Any]:
    return {"twin" if name == "id" else name: value for name, value in query.items()}


def check(rng: random.Random, songs: Any) -> None:
    filter: dict[str, Any] = {"id": condition(rng)} if rng.random() < 0.8 else {}
    if rng.random() < 0.3:
        filter["n"] = {"$lt": 2}
    options = {"limit": rng.choice([0, 0, 1, 3]), "skip": rng.choice([0, 0, 1])}
    whole = songs.find(renamed(filter))
    assert sorted(map(repr, songs.find(filter))) == sorted(map(repr, whole)), filter
    assert songs.count(filter) == len(whole)
    for sort in ({"id": 1}, {"id": -1}, {"id": 1, "n": -1}, {"n": 1, "id": -1}, {"n": -1, "id": -1}):
        expected = songs.find(renamed(filter), sort=renamed(sort), **options)
        assert songs.find(filter, sort=sort, **options) == expected, (filter, sort, options)
        assert list(songs.iterate(filter, sort=sort, **options)) == expected, (filter, sort, options)


@pytest.mark.parametrize("seed", range(4))
def test_a_query_by_ids_answers_what_one_by_another_member_does(open_store: Any, seed: int) -> None:
    rng = random.Random(seed)
    ids: list[Any] = TEXTS + NUMBERS if seed < 2 else TEXTS
    with open_store() as store:
        songs = store.repository("songs")
        if seed % 2:
            songs.create_index("n")
        for _ in range(8):
            songs.save_many([entity(rng, ids) for _ in range(4)])
            for _ in range(12):
                check(rng, songs)
            transaction = store.begin()
            with transaction.joined():
                for _ in range(3):
                    songs.save(entity(rng, TEXTS + NUMBERS))
                    songs.delete(rng.choice(TEXTS), missing_ok=True)
                for _ in range(12):
                    check(rng, songs)
            transaction.rollback()


def test_ids_that_are_listed_or_in_a_range_are_all_that_is_looked_at(open_store: Any) -> None:
    with open_store() as store:
        songs = store.repository("songs")
        songs.save_many([{"id": f"{n:05}", "n": n} for n in range(3000)])
        listed = songs.explain({"id": {"$in": ["00007", "02999", "none", 7, None]}})
        assert (listed.pop("returned"), listed.pop("stages"), listed.pop("memory")) == (2, [], 0)
        assert listed.pop("time_us") >= 0
        assert listed == {
            "access": "id",
            "index": None,
            "bounds": {"id": {"$in": [None, 7, "00007", "02999", "none"]}},
            "exact": False,
            "sort": None,
            "examined": 2,
            "matched": 2,
        }
        page = songs.explain({"id": {"$gt": "01000"}}, sort={"id": 1}, limit=10)
        assert (page["access"], page["sort"], page["matched"]) == ("id", "id", 10)
        assert page["examined"] <= 11
        last = songs.explain({"id": {"$lte": "01000", "$gte": "00500"}}, sort={"id": -1}, limit=10)
        assert (last["sort"], last["matched"]) == ("id", 10) and last["examined"] <= 11
        assert songs.explain({"id": {"$regex": "^0012"}})["examined"] == 10


def test_a_repository_whose_ids_are_texts_is_walked_in_their_order(engine: str, open_store: Any) -> None:
    with open_store() as store:
        songs = store.repository("songs")
        songs.save_many([{"id": f"{n:05}", "n": n, "m": n % 3} for n in range(3000)])
        songs.create_index({"m": 1})
        knows = "provider" not in engine
        for sort, expected in (({"id": 1}, "00000"), ({"id": -1, "n": 1}, "02999")):
            page = songs.explain({}, sort=sort, limit=10)
            assert page["sort"] == ("id" if knows else "memory"), page
            assert songs.first({}, sort=sort)["id"] == expected
            # Behind what an index holds to one value its entries are in the order of the ids.
            page = songs.explain({"m": 1}, sort=sort, limit=10)
            assert (page["access"], page["sort"]) == ("index", "index" if knows else "memory")
            assert page["matched"] == (10 if knows else 1000)
        with store.transaction():
            songs.save({"id": 7, "n": 0, "m": 1})
            assert [song["id"] for song in songs.find({}, sort={"id": 1}, limit=2)] == [7, "00000"]
        assert songs.explain({}, sort={"id": 1}, limit=10)["sort"] == "memory"
        assert [song["id"] for song in songs.find({}, sort={"id": 1}, limit=2)] == [7, "00000"]
        songs.delete("7")
        assert songs.explain({}, sort={"id": 1}, limit=10)["sort"] == "memory"
        if knows:
            store.drop("songs")
            songs.save({"id": "42", "n": 1})
            assert songs.explain({}, sort={"id": 1})["sort"] == "id"


def test_alternatives_are_looked_up_one_by_one(open_store: Any) -> None:
    with open_store() as store:
        songs = store.repository("songs")
        songs.save_many([{"id": f"{n:04}", "n": n, "m": n % 500} for n in range(1000)])
        songs.create_index("n")
        songs.create_index("m")
        query = {"$or": [{"n": {"$lt": 2}}, {"m": 1}, {"id": {"$in": ["0001", "0002"]}}], "m": {"$ne": 501}}
        report = songs.explain(query)
        assert report.pop("examined") == report.pop("matched") == report.pop("returned") == 4
        assert (report.pop("stages"), report.pop("memory")) == ([], 0) and report.pop("time_us") >= 0
        assert report == {
            "access": "alternatives",
            "alternatives": [
                {"access": "index", "index": "n", "bounds": {"n": {"$lt": 2}}},
                {"access": "index", "index": "m", "bounds": {"m": {"$eq": 1}}},
                {"access": "id", "index": None, "bounds": {"id": {"$in": ["0001", "0002"]}}},
            ],
            "index": None,
            "bounds": {},
            "exact": False,
            "sort": None,
        }
        expected = ["0000", "0001", "0002", "0501"]
        assert sorted(song["id"] for song in songs.find(query)) == expected
        assert [song["id"] for song in songs.find(query, sort={"id": 1})] == expected
        assert [song["id"] for song in songs.iterate(query, sort={"id": -1}, limit=3)] == expected[:0:-1]
        assert songs.count(query) == 4
        # One that nothing helps with makes the others useless.
        assert songs.explain({"$or": [*query["$or"], {"x": 1}]})["access"] == "scan"
        with store.transaction():
            songs.save({"id": "0501", "n": 5000, "m": 7})
            songs.delete("0002")
            songs.save({"id": "new", "n": 1, "m": 1})
            assert sorted(song["id"] for song in songs.find(query)) == ["0000", "0001", "new"]
            assert sorted(song["id"] for song in songs.iterate(query)) == ["0000", "0001", "new"]


def test_alternatives_share_the_limit_that_one_list_of_values_has(open_store: Any) -> None:
    with open_store() as store:
        songs = store.repository("songs")
        songs.create_index("n")
        songs.save_many([{"id": f"{n:04}", "n": n} for n in range(100)])

        def either(count: int) -> dict[str, Any]:
            lists: list[dict[str, Any]] = [{"$in": list(range(n, n + count))} for n in (0, count)]
            return {"$or": [{"n": values} for values in lists]}

        assert songs.explain(either(500))["access"] == "alternatives"
        assert songs.explain(either(501))["access"] == "scan"
        assert songs.count(either(500)) == songs.count(either(501)) == 100


def test_a_transaction_that_listed_ids_conflicts_with_a_change_of_one_of_them(open_store: Any) -> None:
    with open_store() as store:
        songs = store.repository("songs")
        songs.save_many([{"id": name, "n": 0} for name in "abcd"])
        for changed, conflicts in (("b", True), ("c", False)):
            transaction = store.begin()
            with transaction.joined():
                assert len(songs.find({"id": {"$in": ["a", "b"]}})) == 2
                songs.save({"id": "e", "n": 1})
            songs.save({"id": changed, "n": 1})
            if conflicts:
                with pytest.raises(holdfast.ConflictError):
                    transaction.commit()
            else:
                transaction.commit()


def test_minus_zero_is_zero(open_store: Any) -> None:
    with open_store() as store:
        songs = store.repository("songs")
        songs.save(b'{"id": -0, "n": 1}')
        assert songs.fetch_bytes("0") == songs.fetch_bytes(0) == b'{"id": -0, "n": 1}'
        assert [song["n"] for song in songs.find({"id": 0})] == [song["n"] for song in songs.find()] == [1]
        assert store.verify()["ok"]
        songs.modify("0", {"$inc": {"n": 1}})
        assert songs.get("-0") is None and songs.fetch("0") == {"id": 0, "n": 2}
