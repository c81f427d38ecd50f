"""A forked child owns nothing of its parent's."""

import asyncio
import concurrent.futures
import gc
import os
import threading
import time
import warnings
from typing import Any, Callable

import pytest
from programs import exit_code, fork, in_child, refuses, run_program
from threads import hold_event_thread

import holdfast
import holdfast.aio

OpenStore = Callable[..., holdfast.Store]


def test_everything_of_the_parent_s_is_refused_in_a_forked_child(store: holdfast.Store) -> None:
    songs = store.repository("songs")
    songs.save({"id": "s1"})
    transaction = store.begin()
    future = store.submit(lambda: songs.save({"id": "s2"}))
    calls = [
        lambda: songs.fetch("s1"),
        lambda: songs.save({"id": "s3"}),
        lambda: songs.as_mapping()["s1"],
        lambda: list(songs),
        lambda: store.repository("others"),
        lambda: store.submit(lambda: None),
        lambda: store.transact(lambda: None),
        lambda: store.transaction().__enter__(),
        store.begin,
        store.describe,
        store.sync,
        store.close,
        transaction.commit,
        transaction.submit,
        transaction.rollback,
        transaction.savepoint,
        lambda: transaction.rollback_to(1),
        lambda: transaction.state,
    ]
    assert in_child(lambda: all(map(refuses, calls))) == 0
    future.result(120)
    assert songs.ids() == ["s1", "s2"]
    transaction.rollback()


def test_a_forked_child_may_open_a_store_of_its_own_and_so_may_its_child(
    store: holdfast.Store, tmp_path: Any
) -> None:
    store.submit(lambda: None).result(120)

    def work(url: str) -> bool:
        with holdfast.open(url) as own:
            songs = own.repository("songs")
            own.submit(lambda: songs.save({"id": "s1"})).result(120)
            own.transact(lambda: songs.save({"id": "s2"}))
            if url.endswith("child.db"):
                assert in_child(lambda: refuses(own.begin) and work(str(tmp_path / "grand"))) == 0
            return songs.ids() == ["s1", "s2"]

    assert in_child(lambda: work("memory:") and work(str(tmp_path / "child.db"))) == 0


def test_a_file_that_was_open_at_the_fork_cannot_be_opened_in_the_child(path: str) -> None:
    with holdfast.open(path) as store:
        assert in_child(lambda: refuses(lambda: holdfast.open(path))) == 0
        store.repository("songs").save({"id": "s1"})
    with holdfast.open(path) as store:
        assert store.repository("songs").ids() == ["s1"]


def test_a_future_that_is_pending_at_the_fork_fails_in_the_child_and_goes_on_in_the_parent(
    store: holdfast.Store,
) -> None:
    songs = store.repository("songs")
    called: list[int] = []
    gate = hold_event_thread(store)
    futures = [store.submit(lambda: songs.save({"id": "s1"})) for _ in range(3)]
    by_hand = store.begin()
    futures.append(by_hand.submit())
    for future in futures:
        future.add_done_callback(lambda _: called.append(os.getpid()))
    waiting = threading.Thread(target=concurrent.futures.wait, args=(futures, 120))
    waiting.start()
    time.sleep(0.05)

    def child() -> bool:
        done, _ = concurrent.futures.wait(futures, 120)
        asked: list[bool] = []
        futures[0].add_done_callback(lambda future: asked.append(future.done()))
        return (
            done == set(futures)
            and all(refuses(lambda future=future: future.result(120)) for future in futures)
            and not any(future.cancel() or future.cancelled() for future in futures)
            and futures[0].receipt is None
            and asked == [True]
            and called == []
        )

    assert in_child(child) == 0
    gate.set()
    for future in futures:
        future.result(120)
    waiting.join()
    assert called == [os.getpid()] * len(futures)


def test_a_future_that_is_being_run_again_at_the_fork_fails_in_the_child(store: holdfast.Store) -> None:
    songs = store.repository("songs")
    songs.save({"id": "s1", "plays": 0})
    running, gate = threading.Event(), threading.Event()

    def play() -> None:
        plays = songs["s1"]["plays"]
        if threading.current_thread() is threading.main_thread():
            in_other_thread(lambda: songs.patch("s1", {"plays": 10}))
        else:
            running.set()
            gate.wait(120)
        songs.patch("s1", {"plays": plays + 1})

    def in_other_thread(function: Callable[[], Any]) -> None:
        thread = threading.Thread(target=function)
        thread.start()
        thread.join()

    future = store.submit(play)
    assert running.wait(120)
    assert in_child(lambda: refuses(lambda: future.result(120))) == 0
    gate.set()
    future.result(120)
    assert songs["s1"]["plays"] == 11


def test_a_future_that_was_done_at_the_fork_keeps_its_result_in_the_child(store: holdfast.Store) -> None:
    future = store.submit(lambda: 7)
    assert future.result(120) == 7
    assert in_child(lambda: future.result(0) == 7 and future.receipt is not None) == 0


def test_children_made_while_threads_work_and_futures_complete_never_hang(open_store: OpenStore) -> None:
    store = open_store()
    songs = store.repository("songs")
    stop = threading.Event()
    futures: list[Any] = []

    def work(number: int) -> None:
        while not stop.is_set():
            futures.append(store.submit(lambda: songs.save({"id": str(number)})))
            songs.fetch(str(number))
            store.transact(lambda: songs.save({"id": "s"}))
            del futures[:-100]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()

    def child() -> bool:
        for future in list(futures):
            # Done at the fork, or refused; in any case at once.
            if future.exception(120) is not None and not refuses(future.result):
                return False
        with holdfast.open("memory:") as own:
            own.submit(lambda: own.repository("songs").save({"id": "s1"})).result(120)
        return refuses(store.begin) and refuses(store.close)

    try:
        assert [in_child(child) for _ in range(40)] == [0] * 40
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    store.submit(lambda: None).result(120)


def test_a_transaction_that_forks_is_committed_by_the_parent_alone(store: holdfast.Store) -> None:
    songs = store.repository("songs")
    parent = os.getpid()
    children: list[int] = []

    def fn() -> None:
        songs.save({"id": "s1"})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            children.append(os.fork())

    try:
        store.transact(fn)
    except BaseException as error:
        if os.getpid() == parent:
            raise
        os._exit(0 if isinstance(error, holdfast.ForkedError) else 1)
    if os.getpid() != parent:
        os._exit(2)
    assert exit_code(children[0]) == 0
    assert songs.ids() == ["s1"]

    def block() -> bool:
        with store.transaction():
            pass
        return False

    assert in_child(lambda: refuses(block)) == 0


def test_a_child_that_leaves_the_block_of_a_store_leaves_the_store_alone(path: str) -> None:
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        child = fork(lambda: store.__exit__(None, None, None) is None)
        assert exit_code(child) == 0
        songs.save({"id": "s1"})
    with holdfast.open(path) as store:
        assert store.repository("songs").ids() == ["s1"]


def test_a_child_that_collects_the_parent_s_objects_and_exits_leaves_them_alone(path: str) -> None:
    program = """
        import gc, os, sys, warnings
        import holdfast
        warnings.simplefilter("ignore", DeprecationWarning)
        store = holdfast.open(sys.argv[1])
        songs = store.repository("songs")
        transaction = store.begin()
        with transaction.joined():
            songs.save({"id": "s0"})
        store.submit(lambda: songs.save({"id": "s1"})).result(120)
        child = os.fork()
        if child == 0:
            del songs, store, transaction
            gc.collect()
            sys.exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        songs.save({"id": "s2"})
        transaction.commit()
        assert songs.ids() == ["s0", "s1", "s2"]
        store.close()
    """
    ended = run_program(program, path)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_handles_are_counted_anew_in_a_child(store: holdfast.Store) -> None:
    assert holdfast.handle_count("store") == 1
    assert in_child(lambda: holdfast.handle_count() == 0) == 0


@pytest.mark.parametrize("name", ["store", "repository", "transaction", "future", "mapping"])
def test_what_belongs_to_one_process_cannot_be_pickled(store: holdfast.Store, name: str) -> None:
    import copy
    import pickle

    songs = store.repository("songs")
    transaction = store.begin()
    values = {
        "store": store,
        "repository": songs,
        "transaction": transaction,
        "future": store.begin().submit(),
        "mapping": songs.as_mapping(),
    }
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        if attempt is copy.copy and name == "mapping":
            continue  # a copy of the mapping is a view of the same repository
        with pytest.raises(TypeError, match="open the store in the other process"):
            attempt(values[name])
    transaction.rollback()
    del values
    gc.collect()


@pytest.mark.parametrize("options", [{}, {"idempotency_key": "order 17"}])
@pytest.mark.parametrize("is_awaited", [False, True])
def test_what_a_block_raises_in_a_forked_child_goes_on_its_way(is_awaited: bool, options: Any) -> None:
    children: list[int] = []

    def fork_and_fail() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            children.append(os.fork())
        raise ValueError("mine")

    def block() -> None:
        with holdfast.open("memory:") as store, store.transaction(**options):
            store.repository("songs").save({"id": "s1"})
            fork_and_fail()

    async def awaited_block() -> None:
        async with holdfast.aio.open("memory:") as store, store.transaction(**options):
            await store.repository("songs").save({"id": "s1"})
            fork_and_fail()

    raised: Any = None
    try:
        asyncio.run(awaited_block()) if is_awaited else block()
    except BaseException as error:
        raised = error
    if children == [0]:
        os._exit(0 if str(raised) == "mine" else 1)
    assert str(raised) == "mine"
    assert exit_code(children[0]) == 0
