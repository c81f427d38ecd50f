"""Entities that are damaged where they are stored, or do not fit the class that reads them."""

import asyncio
import dataclasses
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast
import holdfast.aio

BODIES = ["", "{", "[1,2]", '{"id":"b","n":}', '{"id":"c","n":2}', '{"n":2}']


@dataclasses.dataclass
class Song:
    id: str
    n: int


def damage(path: str, body: str) -> None:
    """Stores three entities, and puts something else in the place of "b"."""
    with holdfast.open(path) as store:
        store.repository("songs").save_many([{"id": id, "n": n} for n, id in enumerate("abc")])
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE holdfast_entity SET body = ? WHERE id = 'b'", (body,))
    connection.close()


# Not what comes in, but JSON with the right id all the same.
UNUSUAL = [
    '{"id":"b","n":1,"n":2}',
    '{"id":"\\u0062","n":1,"n":2}',
    '{"id":"b","n":123456789012345678901234567890}',
    '{"id":"b","n":1e999}',
    '{"id":"b","\\u0000":1}',
    '{"id":"b","n":' + 199 * "[" + 199 * "]" + "}",
]
# Nothing that a store can have taken, and beyond what filters and sorts can walk.
UNREADABLE = [
    '{"id":"b","n":' + 300 * "[" + 300 * "]" + "}",
    '{"id":"b","n":"\\ud800"}',
    '{"id":"c","id":"b","n":1}',
]


def test_what_an_index_tells_alone_is_counted_without_reading_entities(path: str) -> None:
    with holdfast.open(path) as store:
        store.repository("songs").create_index("n")
    damage(path, "{")
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        assert songs.count({"n": {"$gte": 1}}) == 2 and songs.exists({"n": 1})
        assert songs.count({"n": {"$gte": 1}}, damaged="skip") == 1
        for refused in (
            lambda: songs.count({"n": {"$gte": 1}, "id": {"$gt": ""}}),
            lambda: songs.find({"n": 1}),
            lambda: songs.count(),
        ):
            with pytest.raises(holdfast.CorruptError):
                refused()


READS: dict[str, Callable[[Any], Any]] = {
    "fetch": lambda songs: songs.fetch("b"),
    "fetch_bytes": lambda songs: songs.fetch_bytes("b"),
    "fetch_versioned": lambda songs: songs.fetch_versioned("b"),
    "fetch_many": lambda songs: songs.fetch_many(["a", "b"]),
    "fetch_all": lambda songs: songs.fetch_all(),
    "find": lambda songs: songs.find(),
    "find by id": lambda songs: songs.find({"id": "b"}),
    "sorted": lambda songs: songs.find(sort={"n": -1}),
    "patch": lambda songs: songs.patch("b", {"m": 1}),
    "modify": lambda songs: songs.modify("b", {"$set": {"m": 1}}),
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_each_read_of_a_damaged_entity_says_which_it_is(
    path: str, body: str, read: Callable[[Any], Any]
) -> None:
    damage(path, body)

    async def awaited() -> None:
        async with holdfast.aio.open(path) as store:
            await read(store.repository("songs"))

    with holdfast.open(path) as store:
        for songs in (store.repository("songs"), store.repository("songs", cls=Song)):
            with pytest.raises(holdfast.CorruptError) as caught:
                read(songs)
            assert caught.value.detail == {"repository": "songs", "id": "b"}
            assert songs.fetch("a") and songs.fetch("c")
    with pytest.raises(holdfast.CorruptError) as caught:
        asyncio.run(awaited())
    assert caught.value.detail == {"repository": "songs", "id": "b"}


@pytest.mark.parametrize("body", BODIES)
def test_queries_leave_out_what_is_damaged_where_that_is_asked_for(path: str, body: str) -> None:
    damage(path, body)
    with holdfast.open(path) as store:
        songs = store.repository("songs", cls=Song)
        found = [Song("a", 0), Song("c", 2)]
        assert songs.find(damaged="skip") == found
        assert songs.find(lambda song: True, damaged="skip") == found
        assert list(songs.iterate(damaged="skip")) == found
        assert songs.first({"n": {"$gt": 0}}, damaged="skip") == found[1]
        assert songs.count(damaged="skip") == 2
        assert songs.exists({"n": 2}, damaged="skip")
        assert songs.distinct("n", damaged="skip") == [0, 2]
        assert songs.explain(damaged="skip")["matched"] == 2
        report = songs.verify()
        assert report["damaged_ids"] == ["b"]

    async def awaited() -> None:
        async with holdfast.aio.open(path) as store:
            songs = store.repository("songs", cls=Song)
            assert await songs.find(damaged="skip") == found
            assert [song async for song in songs.iterate(damaged="skip")] == found
            assert await songs.first({"n": {"$gt": 0}}, damaged="skip") == found[1]
            assert await songs.count(damaged="skip") == 2
            assert await songs.exists({"n": 2}, damaged="skip")
            assert await songs.distinct("n", damaged="skip") == [0, 2]
            assert await songs.deferred.find(damaged="skip") == found

    asyncio.run(awaited())


class Strict:
    """A class that takes whole numbers alone."""

    def __init__(self, id: str, n: int) -> None:
        self.id, self.n = id, n

    @classmethod
    def from_dict(cls, members: dict[str, Any]) -> "Strict":
        return cls(members["id"], int(members["n"]))


@pytest.mark.parametrize("name", [name for name in READS if name != "fetch_bytes"])
@pytest.mark.parametrize("cls", [Song, Strict])
def test_an_entity_that_does_not_fit_its_class_is_told_with_its_id(path: str, cls: type, name: str) -> None:
    with holdfast.open(path) as store:
        store.repository("songs").save_many([{"id": "a", "n": 1}, {"id": "b"}, {"id": "c", "n": 2}])
        songs = store.repository("songs", cls=cls)
        with pytest.raises(holdfast.CorruptError, match=f'"b" of "songs" is no {cls.__name__}') as caught:
            READS[name](songs)
        assert caught.value.detail == {"repository": "songs", "id": "b"}
        assert isinstance(caught.value.__cause__, (TypeError, KeyError))
        assert songs.fetch("a") is not None


@pytest.mark.parametrize("body", BODIES + UNUSUAL + UNREADABLE, ids=lambda body: body[:40])
def test_verifying_finds_exactly_what_reading_refuses(path: str, body: str) -> None:
    damage(path, body)
    is_damaged = body not in UNUSUAL
    reads = {
        **READS,
        "distinct": lambda songs: songs.distinct("n"),
        "count": lambda songs: songs.find({"n": 2}),
    }
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        assert songs.verify()["damaged_ids"] == ["b"] * is_damaged
        for name, read in reads.items():
            if not is_damaged:
                read(songs)
            elif name != "count":
                with pytest.raises(holdfast.CorruptError) as caught:
                    read(songs)
                assert caught.value.detail == {"repository": "songs", "id": "b"}, name


@pytest.mark.parametrize(
    "change",
    ["version = -1", "id = ''", 'id = \'\', body = \'{"id":"","n":1}\''],
    ids=["version", "id", "both"],
)
def test_a_record_without_a_version_or_an_id_is_damaged_wherever_it_is_met(path: str, change: str) -> None:
    damage(path, '{"id":"b","n":1}')
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(f"UPDATE holdfast_entity SET {change} WHERE id = 'b'")
    connection.close()
    id = "b" if change.startswith("version") else ""
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        report = songs.verify()
        assert (report["ok"], report["damaged_ids"], report["entities"]) == (False, [id], 3)
        assert not store.verify()["ok"]
        for read in (
            songs.fetch_all,
            songs.find,
            lambda: songs.find(sort={"n": 1}),
            lambda: list(songs.iterate()),
        ):
            with pytest.raises(holdfast.CorruptError) as caught:
                read()
            assert caught.value.detail == {"repository": "songs", "id": id}
        assert [song["id"] for song in songs.find(damaged="skip")] == ["a", "c"]
        assert songs.count(damaged="skip") == 2


@pytest.mark.parametrize("body", BODIES)
def test_an_export_and_a_live_query_leave_out_what_is_damaged_where_that_is_asked_for(
    path: str, tmp_path: Path, body: str
) -> None:
    damage(path, body)
    target = tmp_path / "songs.ndjson"
    with holdfast.open(path) as store, holdfast.open("memory:") as other:
        songs = store.repository("songs")
        with pytest.raises(holdfast.CorruptError):
            store.export_lines(target)
        report = store.export_lines(target, damaged="skip")
        assert (report["entities"], report["skipped"]) == (2, 1)
        # As if it had been cut short behind the first entity.
        lines = target.read_bytes().splitlines(keepends=True)
        target.write_bytes(b"".join(lines[:2]))
        assert store.export_lines(target, resume=True, damaged="skip")["entities"] == 1
        assert target.read_bytes().splitlines(keepends=True) == lines
        other.import_lines(target)
        assert other.repository("songs").find() == songs.find(damaged="skip")

        with pytest.raises(holdfast.CorruptError):
            songs.observe()
        with songs.observe(sort={"n": 1}, damaged="skip") as result:
            assert [song["id"] for song in next(result).entities] == ["a", "c"]
            songs.save({"id": "b", "n": 1})
            assert [song["id"] for song in next(result).entities] == ["a", "b", "c"]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("is_unique", [False, True])
def test_what_is_replaced_or_deleted_leaves_no_entries_of_its_lost_text(
    path: str, body: str, is_unique: bool
) -> None:
    with holdfast.open(path) as store:
        store.repository("songs").create_index({"n": 1}, unique=is_unique)
    damage(path, body)
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        assert not songs.verify()["ok"]
        songs.save({"id": "b", "n": 7})
        assert songs.verify()["ok"]
        assert songs.find({"n": 1}) == [] and songs.find({"n": 7}) == [{"id": "b", "n": 7}]
    damage(path, body)
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        songs.delete("b")
        # Another gets its place in the file.
        songs.save({"id": "d", "n": 9})
        assert songs.verify()["ok"]
        assert songs.find({"n": 1}) == [] and songs.find({"n": 9}) == [{"id": "d", "n": 9}]


def test_an_export_leaves_out_an_index_that_cannot_be_understood_where_that_is_asked_for(
    path: str, tmp_path: Path
) -> None:
    with holdfast.open(path) as store:
        store.repository("songs").save({"id": "a", "n": 1})
        store.repository("songs").create_index("n")
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE holdfast_index SET definition = '{'")
    connection.close()
    target = tmp_path / "songs.ndjson"
    with holdfast.open(path) as store, holdfast.open("memory:") as other:
        with pytest.raises(holdfast.CorruptError):
            store.export_lines(target)
        assert store.export_lines(target, damaged="skip")["entities"] == 1
        other.import_lines(target)
        assert other.repository("songs").find() == [{"id": "a", "n": 1}]
        assert other.repository("songs").indexes() == []
