"""Pipelines: what they make of entities, in transactions, live, awaited and explained."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

import holdfast
from holdfast import F

PLAYS: list[dict[str, Any]] = [
    {"$match": F.plays > 0},
    {"$group": {"_id": "$album", "plays": {"$sum": "$plays"}, "titles": {"$push": "$id"}}},
    {"$sort": {"plays": -1, "_id": 1}},
]


@dataclass
class Album:
    _id: str
    plays: int


@pytest.fixture
def songs(store: holdfast.Store) -> "holdfast.Repository[dict[str, Any]]":
    songs = store.repository("songs")
    songs.save_many(
        {"id": f"s{number}", "album": ("Easter", "Wave")[number % 2], "plays": number} for number in range(6)
    )
    return songs


def test_a_pipeline_makes_documents(songs: "holdfast.Repository[dict[str, Any]]") -> None:
    assert songs.aggregate(PLAYS) == [
        {"_id": "Wave", "plays": 9, "titles": ["s1", "s3", "s5"]},
        {"_id": "Easter", "plays": 6, "titles": ["s2", "s4"]},
    ]
    assert songs.aggregate([]) == songs.find()
    assert songs.aggregate(b'[{"$count":"n"}]') == [{"n": 6}]
    limited = songs.aggregate([{"$limit": {"$param": "n"}}], parameters={"n": 1})
    assert [it["id"] for it in limited] == ["s0"]


def test_documents_are_objects_of_a_class(songs: "holdfast.Repository[dict[str, Any]]") -> None:
    chosen = [*PLAYS, {"$unset": "titles"}]
    assert songs.aggregate(chosen, cls=Album) == [Album("Wave", 9), Album("Easter", 6)]
    with pytest.raises(holdfast.InvalidArgumentError, match=r"document 0 is no Album: .*\$project"):
        songs.aggregate([{"$project": {"id": 1}}], cls=Album)


def test_an_index_changes_nothing_but_what_is_looked_at(
    songs: "holdfast.Repository[dict[str, Any]]",
) -> None:
    pipeline = [{"$match": {"album": "Wave"}}, {"$sort": {"id": 1}}, {"$project": {"plays": 1}}]
    before = songs.aggregate(pipeline)
    assert songs.explain_aggregate(pipeline)["access"] == "scan"
    songs.create_index("album")
    told = songs.explain_aggregate(pipeline)
    assert (told["access"], told["index"], told["matched"], told["returned"]) == ("index", "album", 3, 3)
    assert [it["stage"] for it in told["stages"]] == ["$project"]
    assert songs.aggregate(pipeline) == before


def test_another_repository_is_looked_up_at_the_same_snapshot(store: holdfast.Store) -> None:
    songs, albums = store.repository("songs"), store.repository("albums")
    songs.save({"id": "s1", "album": "a1"})
    albums.save({"id": "a1", "title": "Easter"})
    lookup = {"from": "albums", "localField": "album", "foreignField": "id", "as": "albums"}
    with store.transaction():
        albums.save({"id": "a1", "title": "Wave"})
        (song,) = songs.aggregate([{"$lookup": lookup}])
        assert [it["title"] for it in song["albums"]] == ["Wave"]
    with pytest.raises(holdfast.NotFoundError, match="none"):
        songs.aggregate([{"$lookup": {**lookup, "from": "none"}}])


def test_a_transaction_s_own_writes_count_and_what_was_read_may_not_change(
    store: holdfast.Store, songs: "holdfast.Repository[dict[str, Any]]"
) -> None:
    transaction = store.begin()
    with transaction.joined():
        songs.save({"id": "s9", "album": "Easter", "plays": 100})
        assert songs.aggregate(PLAYS)[0]["plays"] == 106
    songs.save({"id": "s7", "album": "Radio", "plays": 7})
    with pytest.raises(holdfast.ConflictError):
        transaction.commit()


def test_what_is_wrong_is_named(songs: "holdfast.Repository[dict[str, Any]]") -> None:
    with pytest.raises(holdfast.InvalidQueryError) as raised:
        songs.aggregate([{"$limit": 1}, {"$nope": 1}])
    assert (raised.value.detail["stage"], raised.value.detail["operator"]) == (1, "$nope")
    with pytest.raises(holdfast.InvalidJsonError):
        songs.aggregate(b"[")
    with pytest.raises(holdfast.NoMemoryError) as refused:
        songs.aggregate(PLAYS, max_memory_bytes=1)
    assert refused.value.detail["option"] == "max_memory_bytes"
    wrong: list[Any] = [{"$limit": 1}, "[]", None, ["$limit"], [F.plays > 0]]
    for pipeline in wrong:
        with pytest.raises(TypeError, match="stage"):
            songs.aggregate(pipeline)
    with pytest.raises(TypeError):
        songs.aggregate([], limit=1)  # type: ignore[call-overload]


def test_limits_are_options_and_are_refused_by_name(
    songs: "holdfast.Repository[dict[str, Any]]",
) -> None:
    limits: dict[str, tuple[int, int]] = {
        "max_stages": (3, 1000),
        "max_groups": (2, 2**53),
        "max_depth": (2, 200),
    }
    for name, (needed, most) in limits.items():
        for allowed in (needed, most):
            assert len(songs.aggregate(PLAYS, **{name: allowed})) == 2  # type: ignore[call-overload]
        for few in range(1, needed):
            with pytest.raises(holdfast.InvalidQueryError, match=name) as refused:
                songs.aggregate(PLAYS, **{name: few})  # type: ignore[call-overload]
            assert (refused.value.detail["option"], refused.value.detail["limit"]) == (name, few)
        for wrong in (0, -1, most + 1, 2**70, 1.5, float("nan"), float("inf"), "1"):
            for call in (songs.aggregate, songs.explain_aggregate, songs.observe_aggregate):
                with pytest.raises(holdfast.InvalidOptionError, match=name) as named:
                    call(PLAYS, **{name: wrong})  # type: ignore[operator]
                assert named.value.detail["option"] == name


def test_a_live_pipeline_tells_its_documents_each_time_they_are_others(
    songs: "holdfast.Repository[dict[str, Any]]",
) -> None:
    with songs.observe_aggregate([*PLAYS, {"$unset": "titles"}], cls=Album) as live:
        first = live.next(120)
        assert (first.documents, first.merged) == ([Album("Wave", 9), Album("Easter", 6)], 0)
        songs.save({"id": "s8", "album": "Easter", "plays": 0})
        songs.save({"id": "s9", "album": "Easter", "plays": 4})
        event = live.next(120)
        assert event.documents == [Album("Easter", 10), Album("Wave", 9)] and event.merged >= 1
        assert live.position == event.position


def test_in_a_loop_it_is_the_same(
    store: holdfast.Store, songs: "holdfast.Repository[dict[str, Any]]"
) -> None:
    async def main() -> None:
        awaited = store.aio
        same = awaited.repository("songs")
        assert await same.aggregate(PLAYS) == songs.aggregate(PLAYS)
        assert await same.aggregate([*PLAYS, {"$limit": 1}], cls=Album)
        assert (await same.explain_aggregate(PLAYS))["returned"] == 2
        async with awaited.transaction():
            await same.save({"id": "s9", "album": "Easter", "plays": 100})
            assert (await same.aggregate(PLAYS))[0]["plays"] == 106
        async with same.observe_aggregate([{"$count": "n"}]) as live:
            assert (await live.next(120)).documents == [{"n": 7}]
            await same.delete("s9")
            assert (await live.next(120)).documents == [{"n": 6}]
        with pytest.raises(holdfast.InvalidQueryError):
            await same.aggregate([{"$nope": 1}])
        for wrong in ({"max_groups": 1}, {"max_stages": 2}, {"max_depth": 1}):
            with pytest.raises(holdfast.InvalidQueryError, match=next(iter(wrong))):
                await same.aggregate(PLAYS, **wrong)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("accumulator", "values", "expected"),
    [
        ("$min", ["z" * 99, "a"], "a"),
        ("$max", ["a" * 99, "z"], "z"),
        ("$last", ["a" * 99, "z"], "z"),
        ("$last", [[1, 2, 3], "z", 1], 1),
        ("$min", [{"x": 1}, 1], 1),
    ],
)
def test_what_a_group_keeps_may_become_smaller(
    store: holdfast.Store, accumulator: str, values: list[Any], expected: Any
) -> None:
    things = store.repository("things")
    things.save_many({"id": str(number), "v": value} for number, value in enumerate(values))
    assert things.aggregate([{"$group": {"_id": None, "made": {accumulator: "$v"}}}]) == [
        {"_id": None, "made": expected}
    ]
