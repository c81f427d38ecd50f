"""Opening, describing and closing a store."""

import asyncio
import gc
import os
import signal
import threading
import time
from pathlib import Path
from typing import Callable

import pytest
from threads import in_threads

import holdfast

OpenStore = Callable[..., holdfast.Store]


def test_an_entity_is_there_after_reopening(path: str) -> None:
    with holdfast.open(path) as store:
        store.repository("songs").add({"id": "s1", "plays": 1})
    with holdfast.open(path) as store:
        assert store.repository("songs").fetch("s1") == {"id": "s1", "plays": 1}


def test_a_path_object_names_a_store(tmp_path: Path) -> None:
    with holdfast.open(tmp_path / "päth.db") as store:
        assert store.describe()["engine"] == "sqlite"
    assert (tmp_path / "päth.db").exists()


def test_a_url_that_holds_nul_is_refused(tmp_path: Path) -> None:
    with pytest.raises(holdfast.InvalidArgumentError):
        holdfast.open(str(tmp_path / "a\0b"))
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_must_exist_is_not_created(path: str) -> None:
    with pytest.raises(holdfast.CannotOpenError):
        holdfast.open(path, create=False)
    assert not os.path.exists(path)


def test_what_is_no_store_is_refused(path: str) -> None:
    Path(path).write_text("this is no database, and long enough to be looked at" * 20)
    with pytest.raises(holdfast.NotAStoreError):
        holdfast.open(path)


def test_a_read_only_store_reads_and_refuses_writes(path: str) -> None:
    with holdfast.open(path) as store:
        store.repository("songs").add({"id": "s1"})
    with holdfast.open(path, read_only=True) as store:
        songs = store.repository("songs")
        assert songs.fetch("s1") == {"id": "s1"}
        with pytest.raises(holdfast.ReadOnlyError):
            songs.add({"id": "s2"})


def test_a_file_that_is_open_cannot_be_opened_again(path: str) -> None:
    with holdfast.open(path), pytest.raises(holdfast.BusyError) as caught:
        holdfast.open(path)
    assert "holder" in caught.value.detail


def test_the_way_of_delivery_is_not_for_choosing() -> None:
    with pytest.raises(holdfast.InvalidOptionError):
        holdfast.open("memory:", delivery="callback")


def test_a_store_describes_itself(store: holdfast.Store, engine: str) -> None:
    store.repository("songs").add({"id": "s1"})
    description = store.describe()
    assert description["engine"] == engine
    assert description["repositories"] == [{"name": "songs", "key": "id"}]
    assert description["sequence"] > 0
    assert store.position == description["position"]


def test_sync_makes_relaxed_commits_durable(store: holdfast.Store) -> None:
    with store.transaction(durability="relaxed"):
        store.repository("songs").add({"id": "s1"})
    store.sync()


def test_closing_twice_does_nothing_and_work_afterwards_is_refused(store: holdfast.Store) -> None:
    songs = store.repository("songs")
    transaction = store.begin()
    store.close()
    store.close()
    for call in (
        lambda: songs.fetch("s1"),
        lambda: songs.save({"id": "s1"}),
        lambda: store.repository("others"),
        lambda: store.submit(lambda: songs.save({"id": "s1"})),
        lambda: store.transact(lambda: songs.save({"id": "s1"})),
        store.begin,
        store.sync,
        store.describe,
    ):
        with pytest.raises(holdfast.ClosedError):
            call()
    with pytest.raises(holdfast.Error):
        transaction.commit()


def test_an_error_of_the_block_is_not_hidden_by_closing(open_store: OpenStore) -> None:
    with pytest.raises(LookupError, match="mine"), open_store() as store:
        store.close()
        raise LookupError("mine")


def test_things_may_be_dropped_in_any_order(open_store: OpenStore) -> None:
    store = open_store()
    songs = store.repository("songs")
    transaction = store.begin()
    with transaction.joined():
        songs.save({"id": "s1"})
    store.close()
    del store
    gc.collect()
    del songs
    gc.collect()
    del transaction
    gc.collect()


def test_a_store_that_was_forgotten_is_closed_with_a_warning(path: str) -> None:
    store = holdfast.open(path)
    store.submit(lambda: None).result(120)
    with pytest.warns(ResourceWarning, match="unclosed store"):
        del store
        gc.collect()
    with holdfast.open(path):
        pass


def test_closing_from_a_future_s_callback_ends(store: holdfast.Store) -> None:
    songs = store.repository("songs")
    closed = threading.Event()

    def close(_: object) -> None:
        store.close()
        closed.set()

    store.submit(lambda: songs.save({"id": "s1"})).add_done_callback(close)
    assert closed.wait(120)
    with pytest.raises(holdfast.ClosedError):
        songs.count()


def test_ctrl_c_ends_waiting_for_a_commit(store: holdfast.Store) -> None:
    future: holdfast.CommitFuture[None] = store.begin().submit()
    future.result(120)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        holdfast.CommitFuture(store.begin()).result(120)
    assert time.monotonic() - started < 60
    timer.join()


def test_threads_hammer_one_store_and_nothing_is_lost(store: holdfast.Store) -> None:
    songs = store.repository("songs")
    failures: list[BaseException] = []

    def work(worker: int) -> None:
        try:
            for number in range(50):
                id = f"{worker}-{number}"
                songs.add({"id": id, "worker": worker})
                assert songs.fetch(id) == {"id": id, "worker": worker}
                if number % 5 == 0:
                    songs.delete(id)
                assert songs.fetch("missing") is None
        except BaseException as error:
            failures.append(error)

    in_threads(work, range(8))
    assert failures == []
    assert songs.count() == 8 * 40
    assert all(len(songs.find({"worker": worker})) == 40 for worker in range(8))


@pytest.mark.parametrize("reason", [ValueError, SystemExit, GeneratorExit, asyncio.CancelledError])
def test_a_future_ends_whatever_its_class_raises(reason: type[BaseException], store: holdfast.Store) -> None:
    class Refusing:
        to_dict = dict

        @classmethod
        def from_dict(cls, members: dict[str, object]) -> "Refusing":
            raise reason

    store.repository("songs").save({"id": "a"})
    future = store.repository("songs", cls=Refusing).deferred.fetch("a").submit()
    assert future.exception(timeout=60) is not None
