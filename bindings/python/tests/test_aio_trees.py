"""Object trees with holdfast.aio: the loop is the one that calls the objects."""

import asyncio
import threading
from typing import Any

import pytest
from nodes import Node, Refusal, refuse

import holdfast
import holdfast.aio


class Song(Node):
    """Goes back on a rollback, and notes the threads on which it is called."""

    def __init__(self) -> None:
        super().__init__("song")
        self.plays = 0
        self.threads: set[int] = set()

    def on_begin(self, transaction: bytes) -> None:
        super().on_begin(transaction)
        self.before = self.plays

    def on_rollback(self, transaction: bytes) -> None:
        super().on_rollback(transaction)
        self.plays = self.before

    def _note(self, phase: str) -> None:
        super()._note(phase)
        self.threads.add(threading.get_ident())


def test_objects_and_entities_change_together(path: str) -> None:
    async def main() -> None:
        song = Song()
        async with holdfast.aio.open(path) as store:
            songs = store.repository("songs")
            async with store.transaction(song) as transaction:
                song.plays = 1
                await songs.add({"id": "s1"})
            assert transaction.receipt.changes[0].id == "s1" and song.counts() == [1, 1, 1, 0]
            with pytest.raises(LookupError):
                async with store.transaction(song):
                    song.plays = 2
                    await songs.add({"id": "s2"})
                    raise LookupError
            assert (song.plays, await songs.ids()) == (1, ["s1"])
            song.hooks["validate"] = refuse
            with pytest.raises(Refusal):
                async with store.transaction(song):
                    song.plays = 2
                    await songs.add({"id": "s2"})
            assert (song.plays, await songs.ids()) == (1, ["s1"])
            explicit = store.begin()
            explicit.enlist(song)
            with pytest.raises(Refusal):
                await explicit.commit()
            assert explicit.state is holdfast.TransactionState.OPEN
            song.hooks.clear()
            song.plays = 3
            await explicit.commit()
            assert song.plays == 3 and not song.transaction_is_active
        assert song.threads == {threading.get_ident()}

    asyncio.run(main())


def test_a_conflict_takes_objects_back_before_the_function_runs_again(path: str) -> None:
    async def main() -> None:
        song = Song()
        async with holdfast.aio.open(path) as store:
            songs = store.repository("songs")
            await songs.add({"id": "clock", "time": 0})
            runs: list[int] = []

            async def tick() -> None:
                await songs.modify("clock", {"$inc": {"time": 1}})

            ticking: list[Any] = []
            asked, ticked = asyncio.Event(), asyncio.Event()

            async def tick_when_asked() -> None:
                await asked.wait()
                await tick()
                ticked.set()

            ticking.append(asyncio.ensure_future(tick_when_asked()))

            async def play() -> None:
                runs.append(song.plays)
                await songs.fetch("clock")
                asked.set()
                await ticked.wait()
                song.plays += 1
                await songs.save({"id": "s1", "plays": song.plays})

            _, receipt = await store.transact(play, trees=[song], receipt=True)
            assert (runs, song.plays, receipt.attempts) == ([0, 0], 1, 2)
            assert (await songs.fetch("s1"))["plays"] == 1
            assert song.counts() == [2, 2, 1, 1]

    asyncio.run(main())


def test_ctrl_c_in_a_validator_ends_the_loop_and_stores_nothing(path: str) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    song = Song()
    song.hooks["validate"] = interrupt

    async def main() -> None:
        async with holdfast.aio.open(path) as store, store.transaction(song):
            song.plays = 1
            await store.repository("songs").add({"id": "s1"})

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    assert song.plays == 0 and song.counts() == [1, 1, 0, 1]
    with holdfast.open(path) as store:
        assert store.repository("songs").count() == 0


def test_a_cancelled_commit_tells_its_objects_what_became_of_it(path: str) -> None:
    async def main() -> None:
        outcomes = set()
        async with holdfast.aio.open(path) as store:
            songs = store.repository("songs")
            await songs.add({"id": "first"})
            for turn in range(500):
                # Until one was withdrawn in time, which the machine's load decides.
                if turn >= 20 and None in outcomes:
                    break
                submitted = []
                for number in range(8):
                    transaction, song = store.begin(), Song()
                    transaction.enlist(song)
                    song.plays = 1
                    with transaction.joined():
                        await songs.add({"id": f"{turn}-{number}"})
                    submitted.append((f"{turn}-{number}", song, transaction))
                futures = [transaction.submit() for _, _, transaction in submitted]
                if turn % 2:
                    await asyncio.sleep(0.0001 * (turn % 20))
                for future in futures:
                    future.cancel()
                for future, (name, song, _) in zip(futures, submitted):
                    try:
                        outcomes.add(bool(await (future.outcome or future)))
                    except holdfast.CancelledError:
                        outcomes.add(None)
                    stored = await songs.contains(name)
                    assert song.plays == stored == song.counts()[2]
                    assert song.counts()[3] == (not stored)
        assert None in outcomes

    asyncio.run(main())
