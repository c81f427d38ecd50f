"""One store for threads and for event loops: `store.aio` and `store.blocking`."""

import asyncio
import concurrent.futures
import gc
import itertools
import threading
import time
import weakref
from typing import Any

import pytest
from loops import Run, eventually
from programs import in_child, refuses
from threads import hold_event_thread

import holdfast
import holdfast.aio
from holdfast._handles import call
from holdfast._library import lib
from holdfast.events import NO_CALLBACK, NO_DESTRUCTOR
from holdfast.operation import native

COMMITS = 200


async def opened(kind: str, path: str, **options: Any) -> "tuple[holdfast.Store, holdfast.aio.Store]":
    """Both faces of a store that is opened by one of them."""
    if kind == "blocking":
        store = holdfast.open(path, **options)
        return store, store.aio
    awaited = await holdfast.aio.open(path, **options)
    return awaited.blocking, awaited


@pytest.fixture(params=["blocking", "aio"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


async def test_each_face_sees_what_the_other_has_stored_and_the_file_is_open_once(
    run: Run, kind: str, path: str
) -> None:
    before = holdfast.handle_count("store")
    store, awaited = await opened(kind, path)
    songs, awaited_songs = store.repository("songs"), awaited.repository("songs")
    assert holdfast.handle_count("store") == before + 1
    songs.add({"id": "s1"})
    await awaited_songs.add({"id": "s2"})
    assert await awaited_songs.ids() == songs.ids() == ["s1", "s2"]
    assert (await awaited.describe())["cache"].keys() == store.describe()["cache"].keys()
    assert awaited.blocking is store.blocking is store
    assert awaited.aio.blocking is store
    await awaited.close()


async def test_threads_and_a_loop_commit_at_once_and_each_hears_of_its_own_in_order(
    run: Run, kind: str, path: str
) -> None:
    store, awaited = await opened(kind, path)
    songs, heard = store.repository("songs"), []
    ends: list[concurrent.futures.Future[Any]] = []

    def submit() -> None:
        for number in range(COMMITS):
            ends.append(store.submit(lambda number=number: songs.add({"id": f"submitted-{number}"})))
            songs.add({"id": f"added-{number}"})

    thread = threading.Thread(target=submit)
    thread.start()
    operations = [awaited.repository("songs").deferred.add({"id": f"awaited-{it}"}) for it in range(COMMITS)]
    futures = [operation.submit() for operation in operations]
    for future in futures:
        future.add_done_callback(lambda ended: heard.append(ended.receipt.sequence))
    await asyncio.gather(*futures)
    await asyncio.to_thread(thread.join)
    concurrent.futures.wait(ends)
    assert await awaited.repository("songs").count() == 3 * COMMITS
    assert heard == sorted(heard)
    assert len(heard) == COMMITS
    await awaited.close()


async def test_streams_of_both_faces_tell_all_commits_of_both(run: Run, kind: str, path: str) -> None:
    store, awaited = await opened(kind, path)
    told: list[str] = []
    songs, awaited_songs = store.repository("songs"), awaited.repository("songs")
    with songs.changes() as changes:
        changes.subscribe(
            lambda batch: told.extend(it.id for commit in batch.commits for it in commit.changes)
        )
        async with awaited_songs.changes() as awaited_changes:
            for number in range(10):
                songs.add({"id": f"{number}a"})
                await awaited_songs.add({"id": f"{number}b"})
            expected = [f"{number}{letter}" for number in range(10) for letter in "ab"]
            seen: list[str] = []
            while len(seen) < len(expected):
                batch = await awaited_changes.next()
                seen += [it.id for commit in batch.commits for it in commit.changes]
            assert seen == expected
            await eventually(lambda: len(told) == len(expected))
            assert told == expected
    await awaited.close()


async def test_a_store_that_a_loop_has_used_alone_loses_nothing_when_threads_come(
    run: Run, path: str
) -> None:
    awaited = await holdfast.aio.open(path)
    songs = awaited.repository("songs")
    futures = [songs.deferred.add({"id": f"{number}"}).submit() for number in range(COMMITS)]
    await asyncio.sleep(0)
    end = awaited.blocking.submit(lambda: awaited.blocking.repository("songs").add({"id": "submitted"}))
    await asyncio.gather(*futures)
    await asyncio.wrap_future(end)
    assert await songs.count() == COMMITS + 1
    await awaited.close()


async def test_a_store_is_closed_by_the_face_that_is_closed_first(run: Run, path: str) -> None:
    for kind, order in itertools.product(("blocking", "aio"), ("blocking", "aio")):
        store, awaited = await opened(kind, path)
        songs, awaited_songs = store.repository("songs"), awaited.repository("songs")
        with songs.observe() as query:
            query.subscribe(lambda _: None)
            future = awaited_songs.deferred.save({"id": "s1"}).submit()
            end = store.submit(lambda: songs.save({"id": "s2"}))  # noqa: B023
            if order == "blocking":
                store.close()
                await awaited.close()
            else:
                await awaited.close()
                store.close()
            assert await future == {"id": "s1"}
            assert end.result(120) == {"id": "s2"}
        with pytest.raises(holdfast.ClosedError):
            await awaited_songs.fetch("s1")
        with pytest.raises(holdfast.ClosedError):
            songs.fetch("s1")
        with pytest.raises(holdfast.ClosedError):
            _ = store.aio


async def test_both_faces_may_be_closed_at_once(run: Run, kind: str, path: str) -> None:
    store, awaited = await opened(kind, path)
    songs = awaited.repository("songs")
    futures = [songs.deferred.save({"id": f"{number}"}).submit() for number in range(COMMITS)]
    await asyncio.gather(asyncio.to_thread(store.close), awaited.close(), awaited.close())
    ended = await asyncio.gather(*futures, return_exceptions=True)
    assert all(isinstance(it, (dict, holdfast.ClosedError)) for it in ended)


async def test_a_store_may_be_closed_by_a_thread_while_a_loop_waits_for_a_change(
    run: Run, kind: str, path: str
) -> None:
    store, awaited = await opened(kind, path)
    async with awaited.changes() as changes:
        closing = asyncio.ensure_future(asyncio.to_thread(store.close))
        assert [batch async for batch in changes] == []
        await closing


async def test_a_face_that_nobody_keeps_is_not_the_store(run: Run, path: str) -> None:
    store = holdfast.open(path)
    for number in range(3):
        assert await store.aio.repository("songs").add({"id": f"{number}"})
        gc.collect()
    future = store.aio.repository("songs").deferred.add({"id": "s"}).submit()
    gc.collect()
    assert await future == {"id": "s"}
    store.close()


async def test_a_store_lives_as_long_as_one_of_its_faces(run: Run, kind: str, path: str) -> None:
    before = holdfast.handle_count("store")
    store, awaited = await opened(kind, path)
    kept = weakref.ref(store)
    del store
    gc.collect()
    await awaited.repository("songs").add({"id": "s1"})
    store = awaited.blocking
    del awaited
    gc.collect()
    assert store.repository("songs").ids() == ["s1"]
    with pytest.warns(ResourceWarning, match="unclosed store"):
        del store
        gc.collect()
    assert kept() is None
    await eventually(lambda: holdfast.handle_count("store") == before)


def test_each_loop_has_a_face_of_its_own_also_behind_one_that_has_ended(path: str) -> None:
    with holdfast.open(path) as store:

        async def add(name: str) -> None:
            songs = store.aio.repository("songs")
            await asyncio.gather(*(songs.add({"id": f"{name}-{number}"}) for number in range(COMMITS)))

        for name in ("first", "second"):
            asyncio.run(add(name))
        threads = [threading.Thread(target=asyncio.run, args=(add(name),)) for name in ("third", "fourth")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert store.repository("songs").count() == 4 * COMMITS


def test_what_a_loop_has_left_behind_when_it_ended_is_stored_and_holds_up_nobody(path: str) -> None:
    with holdfast.open(path) as store:

        async def leave() -> None:
            for number in range(10):
                store.aio.repository("songs").deferred.add({"id": f"{number}"}).submit()

        asyncio.run(leave())
        songs = store.repository("songs")
        store.submit(lambda: songs.add({"id": "s"})).result(120)
    with holdfast.open(path) as store:
        assert store.repository("songs").count() == 11


async def test_a_loop_waits_for_a_place_that_a_thread_s_commit_holds_without_standing_still(
    run: Run, path: str
) -> None:
    store = holdfast.open(path, max_in_flight=2)
    gate = hold_event_thread(store)
    # Its end is not told, and neither is that of the one that holds the thread.
    end = store.submit(lambda: None)
    future = store.aio.repository("songs").deferred.add({"id": "s1"}).submit()
    for _ in range(100):
        await asyncio.sleep(0)
    gate.set()
    assert await future == {"id": "s1"}
    await asyncio.wrap_future(end)
    store.close()


async def test_a_loop_waits_without_standing_still_for_a_place_of_which_it_does_not_know(
    run: Run, path: str
) -> None:
    async with holdfast.aio.open(path, max_in_flight=1) as store:
        songs = store.repository("songs")
        await songs.save({"id": "s0"})
        operation = songs.deferred.count()
        for write in (songs.deferred.save({"id": "s1"}).submit, store.begin().submit):
            # Such as a host in C submits, whose end is told to that.
            call(
                lib.hf_operation_submit, native(operation).pointer, None, NO_CALLBACK, 0, NO_DESTRUCTOR, None
            )
            began = time.monotonic()
            future = write()
            assert time.monotonic() < began + 10 and not future.done()
            await asyncio.wait_for(future, 120)
        assert await songs.ids() == ["s0", "s1"]


async def test_threads_and_loops_share_few_places(run: Run, kind: str, path: str) -> None:
    store, awaited = await opened(kind, path, max_in_flight=3)
    songs = store.repository("songs")

    def submit() -> None:
        ends = [store.submit(lambda it=it: songs.add({"id": f"submitted-{it}"})) for it in range(COMMITS)]
        concurrent.futures.wait(ends)

    thread = threading.Thread(target=submit)
    thread.start()
    awaited_songs = awaited.repository("songs")
    await asyncio.gather(*(awaited_songs.add({"id": f"{it}"}) for it in range(COMMITS)))
    await asyncio.to_thread(thread.join)
    assert songs.count() == 2 * COMMITS
    await awaited.close()


async def test_calls_on_threads_join_a_transaction_that_is_awaited(run: Run, path: str) -> None:
    with holdfast.open(path) as store:
        songs, awaited_songs = store.repository("songs"), store.aio.repository("songs")

        def work() -> None:
            assert isinstance(store.current_transaction, holdfast.Transaction)
            songs.add({"id": "s2"})
            with pytest.raises(ZeroDivisionError), store.transaction() as transaction:
                assert isinstance(transaction, holdfast.Transaction)
                songs.add({"id": "s3"})
                _ = 1 / 0
            with pytest.raises(ZeroDivisionError), store.savepoint():
                songs.add({"id": "s4"})
                _ = 1 / 0
            store.transact(lambda: songs.add({"id": "s5"}))

        with pytest.raises(KeyError):
            async with store.aio.transaction():
                await awaited_songs.add({"id": "s1"})
                await asyncio.to_thread(work)
                assert await awaited_songs.ids() == ["s1", "s2", "s5"]
                raise KeyError
        assert songs.ids() == []
        async with store.aio.transaction():
            await awaited_songs.add({"id": "s1"})
            await asyncio.to_thread(work)
        assert songs.ids() == ["s1", "s2", "s5"]


@pytest.mark.parametrize("end", ["commit", "submit", "rollback"])
async def test_an_awaited_transaction_may_be_ended_by_the_blocking_face(
    run: Run, path: str, end: str
) -> None:
    with holdfast.open(path) as store:
        async with store.aio.transaction() as transaction:
            await store.aio.repository("songs").add({"id": "s1"})
            current = store.current_transaction
            assert current is not None
            ended = getattr(current, end)()
            if end == "submit":
                ended = await asyncio.wrap_future(ended)
        assert store.repository("songs").ids() == ([] if end == "rollback" else ["s1"])
        assert transaction.receipt == ended
        assert transaction.state.name == ("ROLLED_BACK" if end == "rollback" else "COMMITTED")


async def test_what_is_awaited_joins_no_transaction_of_the_blocking_face(run: Run, path: str) -> None:
    with holdfast.open(path) as store:
        awaited = store.aio
        songs = awaited.repository("songs")
        with store.transaction():
            for call in (lambda: songs.add({"id": "s1"}), lambda: awaited.transact(lambda: songs.ids())):
                with pytest.raises(holdfast.InvalidStateError, match=r"store\.aio"):
                    await call()
            for block in (awaited.transaction, awaited.savepoint):
                with pytest.raises(holdfast.InvalidStateError, match=r"store\.aio"):
                    async with block():
                        pass
        assert await songs.ids() == []


async def test_a_face_knows_the_key_of_a_repository_that_the_other_has_made(run: Run, path: str) -> None:
    with holdfast.open(path) as store:
        store.repository("books", key="isbn").add({"isbn": "b1"})
        awaited = store.aio
        store.repository("discs", key="ean").add({"ean": "d1"})
        assert await awaited.repository("books").fetch("b1") == {"isbn": "b1"}
        assert awaited.repository("books").key == "isbn"
        assert awaited.repository("discs").key == "ean"


async def test_a_face_knows_the_key_of_a_repository_that_was_renamed_or_made_anew(
    run: Run, kind: str, path: str
) -> None:
    store, awaited = await opened(kind, path)
    store.repository("books", key="isbn").add({"isbn": "b1"})
    await awaited.rename("books", "tomes")
    assert awaited.repository("tomes").key == "isbn"
    assert await awaited.repository("tomes").fetch("b1") == {"isbn": "b1"}
    assert awaited.repository("books").key == "id"
    await awaited.drop("tomes")
    tomes = awaited.repository("tomes")
    assert tomes.key == "id"
    assert await tomes.add({"id": "t1"}) == {"id": "t1"}
    await awaited.close()


def test_a_face_for_a_loop_is_asked_for_in_one(path: str) -> None:
    with holdfast.open(path) as store, pytest.raises(holdfast.InvalidStateError, match="coroutine"):
        _ = store.aio


async def test_both_faces_are_refused_in_a_forked_child(run: Run, kind: str, path: str) -> None:
    store, awaited = await opened(kind, path)
    calls = [
        lambda: store.aio,
        lambda: awaited.aio,
        store.begin,
        lambda: store.repository("songs"),
        store.close,
    ]
    assert in_child(lambda: all(map(refuses, calls))) == 0
    assert await awaited.repository("songs").add({"id": "s1"})
    await awaited.close()
