"""A live query tells its result, and then how each commit changes it."""

import dataclasses
from typing import Any, Callable

import pytest

import holdfast
from holdfast import Difference, Moved, Placed, Removed, Snapshot, apply_difference

Songs = holdfast.Repository[dict[str, Any]]


@pytest.fixture
def songs(store: holdfast.Store) -> Songs:
    """Six songs."""
    songs = store.repository("songs")
    songs.save_many([song(number) for number in range(6)])
    return songs


def song(number: int, **members: Any) -> dict[str, Any]:
    return {"id": f"s{number}", "plays": number, **members}


def ids(event: Any) -> list[str]:
    return [entity["id"] for entity in event.entities]


def nothing_else(query: Any, songs: Songs) -> None:
    """What was committed before has told nothing more: the next event is that of a commit made now."""
    songs.save({"id": "marker", "plays": -1})
    event = query.next(120)
    assert [it.id for it in event.inserted] == ["marker"] and event.merged == 1
    assert (event.removed, event.moved, event.changed) == ((), (), ())


def test_six_rows_three_deleted_and_one_inserted_are_a_snapshot_and_two_differences(songs: Songs) -> None:
    with songs.observe(sort={"plays": 1}) as query:
        first = query.next(120)
        assert isinstance(first, Snapshot) and not first.is_reset
        assert first.entities == songs.find(sort={"plays": 1}) and len(first.entities) == 6
        assert len(first.versions) == 6
        songs.delete_many(["s1", "s3", "s4"])
        second = query.next(120)
        assert isinstance(second, Difference) and second.merged == 1
        assert second.removed == (Removed(1, "s1"), Removed(3, "s3"), Removed(4, "s4"))
        assert (second.inserted, second.moved, second.changed) == ((), (), ())
        songs.add(song(1))
        third = query.next(120)
        (placed,) = third.inserted
        _, version = songs.fetch_versioned("s1") or (None, 0)
        assert placed == Placed(1, "s1", version, song(1))
        assert (third.removed, third.moved, third.changed) == ((), (), ())
        assert third.entities == songs.find(sort={"plays": 1})
        assert ids(first) == ["s0", "s1", "s2", "s3", "s4", "s5"], "an event's list stays what it was"
        followed: list[Any] = []
        for event in (first, second, third):
            followed = apply_difference(followed, event)
            assert followed == event.entities


def test_a_commit_that_changes_nothing_relevant_tells_nothing(store: holdfast.Store, songs: Songs) -> None:
    with songs.observe({"plays": {"$lt": 3}}, sort={"plays": 1}, limit=2, fields=["plays"]) as query:
        assert query.next(120).entities == [song(0), song(1)]
        store.repository("others").save({"id": "s0", "plays": 0})
        songs.save(song(9))
        songs.save(song(2, title="beyond the limit"))
        songs.save(song(0, title="not among the fields"))
        songs.save(song(0))
        with store.transaction():
            songs.save(song(7, plays=0))
            songs.delete("s7")
        with store.transaction():
            assert len(songs.find()) > 0
        songs.save({"id": "marker", "plays": -1})
        event = query.next(120)
        assert ids(event) == ["marker", "s0"]
        assert event.removed == (Removed(1, "s1"),) and len(event.inserted) == 1


def test_an_entity_moves_in_the_order_and_says_whence(songs: Songs) -> None:
    with songs.observe(sort={"plays": -1}) as query:
        assert ids(query.next(120)) == ["s5", "s4", "s3", "s2", "s1", "s0"]
        songs.patch("s1", {"plays": 100})
        event = query.next(120)
        assert event.moved == (Moved(4, 0, "s1"),)
        assert [(it.position, it.id) for it in event.changed] == [(0, "s1")]
        assert (event.removed, event.inserted) == ((), ())
        assert event.entities == songs.find(sort={"plays": -1})
        songs.patch("s1", {"title": "Gloria"})
        event = query.next(120)
        assert event.moved == () and [it.position for it in event.changed] == [0]
        nothing_else(query, songs)


def test_an_entity_leaves_the_filter_and_enters_it(songs: Songs) -> None:
    with songs.observe({"plays": {"$lt": 3}}) as query:
        assert ids(query.next(120)) == ["s0", "s1", "s2"]
        songs.patch("s1", {"plays": 50})
        event = query.next(120)
        assert event.removed == (Removed(1, "s1"),) and ids(event) == ["s0", "s2"]
        songs.patch("s5", {"plays": 0})
        event = query.next(120)
        assert [(it.position, it.id) for it in event.inserted] == [(2, "s5")]
        assert ids(event) == ["s0", "s2", "s5"]
        nothing_else(query, songs)


def test_at_the_edge_of_a_limit_one_pushes_another_out_and_one_that_goes_lets_another_in(
    songs: Songs,
) -> None:
    with songs.observe(sort={"plays": 1}, skip=1, limit=3) as query:
        assert ids(query.next(120)) == ["s1", "s2", "s3"]
        for change, expected in (
            (lambda: songs.add({"id": "new", "plays": 2.5}), ["s1", "s2", "new"]),
            (lambda: songs.delete("s1"), ["s2", "new", "s3"]),
            (lambda: songs.patch("s5", {"plays": -5}), ["s0", "s2", "new"]),
            (lambda: songs.patch("s0", {"plays": 99}), ["s2", "new", "s3"]),
            (lambda: songs.delete_many(["new", "s2"]), ["s3", "s4", "s0"]),
            (lambda: songs.delete("s4"), ["s3", "s0"]),
            (lambda: songs.delete_all({"id": {"$ne": "s0"}}), []),
            (lambda: songs.add_many([song(1), song(2)]), ["s2", "s0"]),
        ):
            change()
            event = query.next(120)
            assert ids(event) == expected
            assert event.entities == songs.find(sort={"plays": 1}, skip=1, limit=3)


def test_of_three_queries_the_middle_one_is_closed_and_the_others_go_on(songs: Songs) -> None:
    queries = [songs.observe({"plays": {"$gte": least}}) for least in (0, 1, 2)]
    assert [len(query.next(120).entities) for query in queries] == [6, 5, 4]
    first, middle, last = queries
    middle.close()
    songs.add(song(6))
    assert len(first.next(120).entities) == 7 and len(last.next(120).entities) == 5
    with pytest.raises(holdfast.ClosedError):
        middle.next(0)
    assert list(middle) == []
    for query in (first, last):
        query.close()
        query.close()


def test_what_is_rolled_back_tells_nothing(store: holdfast.Store, songs: Songs) -> None:
    with songs.observe() as query, store.changes() as changes:
        query.next(120)
        with pytest.raises(ZeroDivisionError), store.transaction():
            songs.delete_many(["s1", "s2"])
            songs.add(song(8))
            raise ZeroDivisionError
        with store.transaction():
            with pytest.raises(ZeroDivisionError), store.savepoint():
                songs.add(song(9))
                raise ZeroDivisionError
        nothing_else(query, songs)
        assert [change.id for change in changes.next(120)] == ["marker"]


def test_a_hundred_commits_in_a_burst_end_in_the_final_state(store: holdfast.Store, songs: Songs) -> None:
    with songs.observe(sort={"plays": -1}, limit=10) as query:
        result = query.next(120).entities
        futures = [
            store.submit(lambda number=number: songs.save(song(number % 20, plays=number)))
            for number in range(100)
        ]
        for future in futures:
            future.result(120)
        songs.save({"id": "last", "plays": 1000})
        merged, kept_up = 0, True
        while not (result and result[0]["id"] == "last"):
            event = query.next(120)
            result = apply_difference(result, event)
            assert result == event.entities
            if isinstance(event, holdfast.Snapshot):
                kept_up = False
            else:
                merged += event.merged
        assert result == songs.find(sort={"plays": -1}, limit=10)
        assert not kept_up or 1 <= merged <= 101


def test_entities_are_of_the_repository_s_class_and_fields_are_dicts(
    store: holdfast.Store, songs: Songs
) -> None:
    @dataclasses.dataclass
    class Song:
        id: str
        plays: int

    typed = store.repository("songs", cls=Song)
    with typed.observe(limit=1) as query, typed.observe(limit=1, fields=["plays"]) as projected:
        assert query.next(120).entities == [Song("s0", 0)]
        assert projected.next(120).entities == [song(0)]
        songs.save(song(0, plays=7))
        assert query.next(120).changed[0].entity == Song("s0", 7)
        assert projected.next(120).changed[0].entity == song(0, plays=7)


def test_the_filter_is_a_dict_or_an_expression_and_may_have_parameters(songs: Songs) -> None:
    filter: dict[str, Any] = {"plays": {"$gte": {"$param": "least"}}}
    with songs.observe(filter, parameters={"least": 4}) as one, songs.observe(holdfast.F.plays >= 4) as other:
        assert ids(one.next(120)) == ids(other.next(120)) == ["s4", "s5"]


Wrong = Callable[[Songs], Any]
WRONG: dict[str, tuple[Wrong, type[BaseException]]] = {
    "operator": (lambda songs: songs.observe({"plays": {"$near": 1}}), holdfast.InvalidQueryError),
    "parameter": (lambda songs: songs.observe({"plays": {"$param": "x"}}), holdfast.InvalidQueryError),
    "function": (lambda songs: songs.observe(lambda song: True), TypeError),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", WRONG)
def test_a_query_that_is_none_is_refused_when_it_is_opened(songs: Songs, name: str) -> None:
    wrong, expected = WRONG[name]
    with pytest.raises(expected):
        wrong(songs)
