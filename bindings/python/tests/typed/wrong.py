"""A program of mistakes: a checker of types is to tell of each line that is marked, and of no other."""

from dataclasses import dataclass
from typing import Optional

import holdfast
import holdfast.aio
from holdfast import F


@dataclass
class Song:
    id: str
    plays: int = 0


def blocking(store: holdfast.Store, songs: holdfast.Repository[Song]) -> None:
    print(songs.add(Song("s1")).title)  # wrong
    songs.add()  # wrong
    songs.ad(Song("s1"))  # wrong
    songs.update(Song("s1"), expected_versio=3)  # wrong
    songs.update(Song("s1"), expected_version="3")  # wrong
    songs.patch("s1", "plays")  # wrong
    songs.delete(3.5)  # wrong
    print(songs.fetch("s1").plays)  # wrong
    songs.fetch(["s1"])  # wrong
    print(songs.get("s1").plays)  # wrong
    songs.find("plays")  # wrong
    songs.find(limits=3)  # wrong
    songs.find(limit="3")  # wrong
    songs.find(sort=["plays"])  # wrong
    songs.find(damaged="ignore")  # wrong
    songs.aggregate({"$limit": 1})  # wrong
    songs.aggregate([], limit=1)  # wrong
    print(songs.aggregate([], cls=Song)[0].title)  # wrong
    songs.find(lambda song: song.title)  # wrong
    print(songs.find()[0].title)  # wrong
    print(songs.find(fields=["plays"])[0].plays)  # wrong
    print(songs.first().plays)  # wrong
    songs.first(limit=1)  # wrong
    songs.iterate(limits=3)  # wrong
    print(next(songs.iterate()).title)  # wrong
    print(songs.observe().next().entities[0].title)  # wrong
    songs.observe(lambda song: True)  # wrong
    songs.count(parameters=3)  # wrong
    print(songs.deferred.add(Song("s1")).plays)  # wrong
    print(songs.deferred.find().perform()[0].title)  # wrong
    songs.deferred.count(lambda song: True)  # wrong
    song: Song = store.repository("songs").fetch("s1")  # wrong
    number: int = songs.first()  # wrong
    store.transaction(time_out=3)  # wrong
    store.begin(timeout="long")  # wrong
    store.transact(3)  # wrong
    text: str = store.transact(lambda: songs.count())  # wrong
    store.repository("songs", cls=3)  # wrong
    songs.create_index(plays=1)  # wrong
    songs.set_validator()  # wrong
    store.verify(progress=3)  # wrong
    holdfast.opne("memory:")  # wrong
    holdfast.open("memory:", cash_bytes=0)  # wrong
    holdfast.open("memory:", cache_bytes="1 MiB")  # wrong
    holdfast.open("memory:", durability="medium")  # wrong
    holdfast.open("memory:", concurrent_calls=True)  # wrong
    holdfast.open_provider(holdfast.StorageProvider(), concurrent_call=True)  # wrong
    holdfast.aio.open("memory:", read_only="no")  # wrong
    store.begin(isolation="snapshots")  # wrong
    with holdfast.aio.open("memory:") as other:  # wrong
        del other
    del song, number, text


async def awaited(store: holdfast.aio.Store, songs: holdfast.aio.Repository[Song]) -> Optional[Song]:
    songs.add(Song("s1"))  # wrong
    songs.set_validator(Song)  # wrong
    songs.create_index("plays")  # wrong
    store.backup("copy.db")  # wrong
    print((await songs.add(Song("s1"))).title)  # wrong
    print((await songs.fetch("s1")).plays)  # wrong
    print((await songs.find())[0].title)  # wrong
    print((await songs.find(fields=["plays"]))[0].plays)  # wrong
    print((await songs.first()).plays)  # wrong
    await songs.find(lambda song: True)  # wrong
    await songs.find(limits=3)  # wrong
    await songs.update(Song("s1"), expected_version="3")  # wrong
    await songs.iterate()  # wrong
    for song in songs:  # wrong
        del song
    with store.transaction():  # wrong
        pass
    store.begin(timeout="long")  # wrong
    await store.transact(lambda: 3)  # wrong
    number: str = await store.transact(songs.count)  # wrong
    songs.deferred.add(Song("s1")).result()  # wrong
    print(store.repository("songs", cls=Song).add(Song("s1")).plays)  # wrong
    holdfast.aio.open("memory:").repository("songs")  # wrong
    blocking(store, songs)  # wrong
    del number
    return songs.fetch("s1")  # wrong


def conditions() -> None:
    F.plays.is_in(3)  # wrong
    holdfast.CachePolicy(strategy="random")  # wrong
    holdfast.await_result(3)  # wrong
