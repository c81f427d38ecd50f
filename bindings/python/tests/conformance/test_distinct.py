"""Distinct values along an index are those that a walk over all entities gives, to the byte."""

import random
from typing import Any

import pytest

import holdfast

VALUES = [
    *(
        b"1",
        b"1.0",
        b"10e-1",
        b"0",
        b"-0.0",
        b"2",
        b"9007199254740993",
        b"9007199254740992.0",
        b"-5",
        b"1e300",
    ),
    *(
        b'"a"',
        b'"\\u0061"',
        b'"ab"',
        b'"a\\u0000b"',
        b'"\xc3\xa9"',
        b'"\\u00e9"',
        b'""',
        b'"' + b"x" * 1100 + b'"',
    ),
    *(b"null", b"true", b"false", b"{}", b'{"b":1}', b'{"b":1.0}', b'{ "b" : {"c":[]} }'),
]
ARRAYS = [
    b"[]",
    b"[1,2]",
    b"[1.0,null]",
    b"[[1],1]",
    b'["a",["a"]]',
    b"[[]]",
    b'[{"b":3},{"b":[4,null]},5,{}]',
    b"[null]",
]
PATHS = ["v", "w", "v.b", "v.0", "v.b.c", "n"]


def entity(rng: random.Random, values: list[bytes]) -> bytes:
    members = [b'"id":"%02d"' % rng.randrange(60)]
    for name in (b"v", b"w"):
        # Few of many, so that most values come again.
        if rng.random() < 0.85:
            members.append(b'"%s":%s' % (name, rng.choice(values[: rng.choice([3, len(values)])])))
    members.append(b'"n":%d' % rng.randint(0, 3))
    rng.shuffle(members)
    return b"{" + b",".join(members) + b"}"


def filter_of(rng: random.Random) -> dict[str, Any]:
    return rng.choice(
        [
            {},
            {"n": rng.randint(0, 4)},
            {"n": {"$in": [0, 2]}},
            {"n": {"$gt": 0}},
            {"v": {"$gte": "a"}},
            {"v": {"$lt": 2}, "n": 1},
            {"w": {"$ne": 1}},
            {"n": 1, "w": {"$exists": True}},
            {"$or": [{"n": 1}, {"v": 1}]},
            {"v": None},
        ]
    )


def check(rng: random.Random, songs: Any, twins: Any, where: str) -> None:
    for path in PATHS:
        filter = filter_of(rng)
        for damaged in ("refuse", "skip"):
            found, expected = (repr(it.distinct(path, filter, damaged=damaged)) for it in (songs, twins))
            assert found == expected, (where, path, filter)


@pytest.mark.parametrize("seed", range(6))
def test_values_are_the_same_with_indexes_and_without(open_store: Any, seed: int) -> None:
    rng = random.Random(seed)
    values = VALUES if seed % 2 else VALUES + ARRAYS
    with open_store() as store:
        songs, twins = store.repository("songs"), store.repository("twins")
        indexes: list[Any] = [
            "v",
            {"w": -1},
            {"n": 1, "v": 1},
            {"n": -1, "w": -1, "v": -1},
            "v.b",
            "v.0",
            {"v": 1, "n": 1},
        ]
        for index in rng.sample(indexes, 4):
            songs.create_index(index)
        for _ in range(4):
            batch = [entity(rng, values) for _ in range(40)]
            for it in (songs, twins):
                it.save_many(batch)
            for _ in range(6):
                check(rng, songs, twins, "outside")
            transaction = store.begin()
            with transaction.joined():
                for _ in range(6):
                    written, gone = entity(rng, values), f"{rng.randrange(60):02}"
                    for it in (songs, twins):
                        it.save(written)
                        it.delete(gone, missing_ok=True)
                for _ in range(6):
                    check(rng, songs, twins, "inside")
            transaction.rollback()


def test_few_values_of_many_entities_are_found_by_few_reads(open_store: Any) -> None:
    with open_store() as store:
        songs = store.repository("songs")
        songs.save_many(
            [{"id": f"{n:05}", "kind": f"k{n % 5}", "n": n % 3, "tags": [n % 2, 7]} for n in range(3000)]
        )
        for index in ("kind", {"n": 1, "kind": -1}, "tags"):
            songs.create_index(index)
        assert songs.distinct("kind") == ["k0", "k1", "k2", "k3", "k4"]
        report = songs.explain(distinct="kind")
        assert (report.pop("returned"), report.pop("stages")) == (5, [])
        assert report.pop("memory") > 5 * 50 and report.pop("time_us") >= 0
        assert report == {
            "access": "index",
            "index": "kind",
            "bounds": {},
            "exact": True,
            "sort": None,
            "examined": 0,
            "matched": 5,
            "leaps": 5,
        }
        report = songs.explain({"n": 1}, distinct="kind")
        assert (report["index"], report["bounds"], report["matched"]) == ("n_-kind", {"n": {"$eq": 1}}, 5)
        assert songs.distinct("kind", {"n": 1}) == ["k0", "k1", "k2", "k3", "k4"]
        # Of an index over several paths the entities of each of its keys are leapt over.
        report = songs.explain({"n": {"$in": [0, 2]}}, distinct="n")
        assert (report["matched"], report["leaps"]) == (10, 10) and songs.distinct("n") == [0, 1, 2]
        assert songs.distinct("tags") == [0, 1, 7] and songs.explain(distinct="tags")["matched"] == 3
        # A filter beside it is asked of the first of each value, until it holds.
        report = songs.explain({"n": {"$ne": 0}}, distinct="kind")
        assert 5 <= report["examined"] <= 10 and songs.distinct("kind", {"n": {"$ne": 0}}) == songs.distinct(
            "kind"
        )


def test_many_values_are_read_as_they_lie(open_store: Any) -> None:
    with open_store() as store:
        songs = store.repository("songs")
        songs.save_many(
            [{"id": f"{n:05}", "n": 2999 - n, "kind": n % 2, "five": n // 5} for n in range(3000)]
        )
        songs.create_index("n")
        songs.create_index("kind")
        assert songs.distinct("n") == list(range(3000))
        report = songs.explain(distinct="n")
        assert (report["access"], report["leaps"]) == ("scan", 0)
        # As many entities as have a value together would be read as fast one by one.
        songs.create_index("five")
        assert songs.distinct("five") == list(range(600))
        assert songs.explain(distinct="five")["access"] == "scan"
        # A filter that holds for hardly any.
        assert songs.distinct("kind", {"x": 1}) == []
        assert songs.explain({"x": 1}, distinct="kind")["access"] == "scan"


def test_what_is_missing_is_no_null(open_store: Any) -> None:
    with open_store() as store:
        songs = store.repository("songs")
        songs.create_index("v")
        songs.save_many([{"id": f"{n:03}"} for n in range(50)] + [{"id": "x1", "v": 1}])
        assert songs.distinct("v") == [1]
        songs.save({"id": "010", "v": None})
        assert songs.distinct("v") == [None, 1]
        with store.transaction():
            songs.save({"id": "010", "v": []})
            assert songs.distinct("v") == [1]


def test_values_found_are_relied_on(open_store: Any) -> None:
    with open_store() as store:
        songs, log = store.repository("songs"), store.repository("log")
        songs.create_index("kind")
        songs.save_many([{"id": f"{n:03}", "kind": n % 2, "n": n} for n in range(100)])
        for filter, changed, conflicts in (
            (None, {"id": "new", "kind": 2, "n": 200}, True),
            (None, {"id": "010", "kind": 3, "n": 10}, True),
            ({"kind": 1}, {"id": "011", "kind": 4, "n": 11}, True),
            ({"kind": 1}, {"id": "012", "kind": 6, "n": 12}, False),
        ):
            transaction = store.begin()
            with transaction.joined():
                songs.distinct("kind", filter)
                log.save({"id": "found"})
            songs.save(changed)
            if conflicts:
                with pytest.raises(holdfast.ConflictError):
                    transaction.commit()
            else:
                transaction.commit()


def test_values_are_explained_without_order_part_or_fields(open_store: Any) -> None:
    with open_store() as store:
        songs = store.repository("songs")
        for options in ({"sort": {"n": 1}}, {"skip": 1}, {"limit": 1}):
            with pytest.raises(
                holdfast.InvalidOptionError, match='"distinct" in the find options asks for values'
            ):
                songs.explain(distinct="n", **options)
        assert songs.explain(distinct="n")["leaps"] == 0
        assert "leaps" not in songs.explain()


def test_a_path_that_is_written_as_an_expression_is_refused(open_store: Any) -> None:
    with open_store() as store:
        songs = store.repository("songs")
        with pytest.raises(
            holdfast.InvalidQueryError, match=r'"\$artist" begins with "\$".*write it without'
        ):
            songs.distinct("$artist")
