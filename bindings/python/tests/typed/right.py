"""A program that uses the package as it is meant: a checker of types has nothing to say about it."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Optional

import pydantic
import rich.progress
from typing_extensions import assert_type

import holdfast
import holdfast.aio
from holdfast import F


@dataclass
class Song:
    id: str
    plays: int = 0


class Album(pydantic.BaseModel):
    id: str
    tracks: list[str] = []


class Chart(holdfast.Model):
    def __init__(self) -> None:
        self.best = ""


def write(store: holdfast.Store, songs: holdfast.Repository[Song]) -> None:
    assert_type(songs.add(Song("s1")), Song)
    assert_type(songs.update(Song("s1"), expected_version=3), Song)
    assert_type(songs.save({"id": "s2", "plays": 1}), Song)
    assert_type(songs.save(b'{"id":"s3"}'), Song)
    assert_type(songs.patch("s1", {"plays": 2}), Song)
    assert_type(songs.modify(7, {"$inc": {"plays": 1}}, initial=Song("s4")), Song)
    assert_type(songs.add_many([Song("s5")]), list[Song])
    assert_type(songs.save_many(Song(str(number)) for number in range(3)), list[Song])
    assert_type(songs.modify_all(F.plays < 3, {"$inc": {"plays": 1}}).modified, int)
    assert_type(songs.delete_all({"plays": 0}), int)
    songs.delete("s1", missing_ok=True)
    songs.create_index("plays", unique=True)
    songs["s6"] = Song("s6")
    assert_type(songs["s6"], Song)


def read(store: holdfast.Store, songs: holdfast.Repository[Song]) -> Iterator[str]:
    assert_type(songs.fetch("s1"), Optional[Song])
    assert_type(songs.get("s1"), Optional[Song])
    assert_type(songs.get("s1", Song("none")), Song)
    assert_type(songs.fetch_many(["s1", 2]), list[Song])
    assert_type(songs.fetch_bytes("s1"), Optional[bytes])
    assert_type(songs.fetch_versioned("s1"), Optional[tuple[Song, int]])
    assert_type(songs.find({"plays": {"$gt": 3}}, sort={"plays": -1}, limit=3), list[Song])
    assert_type(songs.find(F.plays >= 3), list[Song])
    assert_type(songs.find(b'{"plays":3}', damaged="skip"), list[Song])
    assert_type(songs.find(lambda song: song.plays > 3), list[Song])
    assert_type(songs.find(fields=["plays"], limit=3), list[dict[str, Any]])
    assert_type(songs.aggregate([{"$match": F.plays > 3}, {"$count": "n"}]), list[dict[str, Any]])
    assert_type(songs.aggregate(b"[]", cls=Album, parameters={"n": 1}), list[Album])
    assert_type(songs.explain_aggregate([], max_memory_bytes=1 << 20), dict[str, Any])
    assert_type(songs.observe_aggregate([]).next().documents, list[dict[str, Any]])
    assert_type(songs.observe_aggregate([], cls=Album).next().documents, list[Album])
    for albums in songs.observe_aggregate([], cls=Album).throttle(1):
        assert_type(albums, list[Album])
    assert_type(songs.first(F.plays == 3, skip=1), Optional[Song])
    assert_type(songs.first(fields={"plays": 0}), Optional[dict[str, Any]])
    assert_type(songs.count(lambda song: song.id == "s1"), int)
    assert_type(songs.exists({"plays": {"$param": "least"}}, parameters={"least": 3}), bool)
    for song in songs.iterate(F.plays > 1):
        assert_type(song, Song)
    for members in songs.iterate(fields=["plays"]):
        assert_type(members, dict[str, Any])
    for song in songs:
        yield song.id
    for event in songs.observe({"plays": 3}, limit=10):
        assert_type(event.entities, list[Song])
        if isinstance(event, holdfast.Difference):
            assert_type(event.inserted[0].entity, Song)
    for batch in songs.changes(old=True):
        assert_type(batch.commits[0].changes[0].entity, Optional[Song])
    mapping = songs.as_mapping() | {"s7": Song("s7")}
    assert_type(mapping["s7"], Song)


def transact(store: holdfast.Store, songs: holdfast.Repository[Song]) -> None:
    with store.transaction(Chart(), timeout=3.0, durability="relaxed") as transaction:
        songs.add(Song("s1"))
        with store.savepoint():
            songs.delete("s1")
    assert_type(transaction.receipt, Optional[holdfast.Receipt])
    assert_type(store.transact(lambda: songs.count(), max_attempts=3), int)
    count, receipt = store.transact(lambda: songs.count(), receipt=True)
    assert_type(count, int)
    assert_type(receipt.sequence, int)
    assert_type(store.submit(lambda: songs.fetch("s1")).result(3.0), Optional[Song])

    @store.transactional
    def play(id: str) -> Song:
        return songs.modify(id, {"$inc": {"plays": 1}})

    assert_type(play("s1"), Song)
    assert_type(songs.deferred.add(Song("s8")).perform(), Song)
    assert_type(songs.deferred.find(F.plays > 3).submit().result(), list[Song])
    assert_type(songs.deferred.first(fields=["plays"]).perform(), Optional[dict[str, Any]])
    assert_type(store.verify()["ok"], Any)


async def main() -> None:
    assert_type(holdfast.aio.open("memory:"), holdfast.aio.Opening)
    assert_type(holdfast.open("m.db", read_only=True, cache_bytes=0, durability="relaxed"), holdfast.Store)
    assert_type(holdfast.aio.open("m.db", mode="0600", max_in_flight=10), holdfast.aio.Opening)
    provider = holdfast.StorageProvider()
    assert_type(holdfast.open_provider(provider, concurrent_calls=True, max_depth=3), holdfast.Store)
    with holdfast.open("memory:") as blocking:
        assert_type(blocking.aio, holdfast.aio.Store)
        assert_type(blocking.aio.blocking, holdfast.Store)
        assert_type(blocking.blocking, holdfast.Store)
        assert_type(await blocking.aio.repository("songs", cls=Song).fetch("s1"), Optional[Song])
    async with holdfast.aio.open("memory:") as store:
        songs = store.repository("songs", cls=Song)
        assert_type(songs, holdfast.aio.Repository[Song])
        assert_type(store.repository("albums", cls=Album), holdfast.aio.Repository[Album])
        assert_type(store.repository("plain"), holdfast.aio.Repository[dict[str, Any]])
        assert_type(await songs.add(Song("s1")), Song)
        assert_type(await songs.update(Song("s1"), expected_version=3), Song)
        assert_type(await songs.fetch("s1"), Optional[Song])
        assert_type(await songs.get("s1", Song("none")), Song)
        assert_type(await songs.find(F.plays > 3, limit=3), list[Song])
        assert_type(await songs.find(fields=["plays"]), list[dict[str, Any]])
        assert_type(await songs.aggregate([{"$count": "n"}]), list[dict[str, Any]])
        assert_type(await songs.aggregate([], cls=Album), list[Album])
        assert_type((await songs.observe_aggregate([], cls=Album).next()).documents, list[Album])
        assert_type(await songs.first(), Optional[Song])
        assert_type(await songs.count({"plays": 3}), int)
        assert_type(await songs.deferred.add(Song("s2")), Song)
        assert_type(await songs.deferred.add(Song("s3")).perform(), Song)
        assert_type(songs.deferred.count(), holdfast.aio.Operation[int])
        async for song in songs:
            assert_type(song, Song)
        async for members in songs.iterate(fields=["plays"]):
            assert_type(members, dict[str, Any])
        async with songs.observe() as query:
            async for event in query:
                assert_type(event.entities, list[Song])
        async for batch in songs.changes():
            assert_type(batch.commits[0].changes[0].entity, Optional[Song])
        await songs.set_validator(Album)
        await songs.create_index(["plays"], progress=print)
        with rich.progress.Progress() as bars:
            await songs.create_index("plays", progress=bars)
            await store.backup("copy.db", progress=bars)

        async def work() -> int:
            return await songs.count()

        async with store.transaction(timeout=3) as transaction:
            await songs.save(Song("s1"))
        assert_type(transaction, holdfast.aio.Transaction)
        assert_type(await store.transact(work), int)
        value, receipt = await store.transact(work, receipt=True)
        assert_type(value, int)
        assert_type(receipt, holdfast.Receipt)
        assert_type(await store.submit(work), int)

        @store.transactional
        async def play(id: str) -> Song:
            return await songs.modify(id, {"$inc": {"plays": 1}})

        assert_type(await play("s1"), Song)
        assert_type((await store.describe())["in_flight"], Any)
        assert_type(await store.backup("copy.db"), dict[str, Any])


if __name__ == "__main__":
    with holdfast.open("memory:", durability="relaxed") as store:
        assert_type(store, holdfast.Store)
        assert_type(store.repository("plain"), holdfast.Repository[dict[str, Any]])
        assert_type(store.repository("albums", cls=Album), holdfast.Repository[Album])
        write(store, store.repository("songs", cls=Song))
    asyncio.run(main())
    assert_type(holdfast.__version__, str)
