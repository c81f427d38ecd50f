"""A store that closes while its server says nothing waits about as long as for a lock, whatever reads."""

import contextlib
import threading
import time
from typing import Any, Callable

import pytest
from proxy import Proxy
from server import new_store
from test_silent_server import LONGEST, ctrl_c, no_longer_than

import holdfast

Things = holdfast.Repository[dict[str, Any]]


def watch(things: Things) -> object:
    return things.observe({"n": {"$gt": 3}})


def observe(things: Things) -> object:
    return things.changes()


def subscribe(things: Things) -> object:
    return things.store.subscribe("watcher")


def read_what_may_be_stale(things: Things) -> object:
    return things.fetch("t0")


UNDER_WAY: "dict[str, Callable[[Things], object]]" = {
    "nothing": lambda things: None,
    "a live query": watch,
    "a stream of changes": observe,
    "a durable subscription": subscribe,
    "a follower of the newest state": read_what_may_be_stale,
}


def open_store(proxy: Proxy, lock_timeout_ms: int = 1_000) -> holdfast.Store:
    return holdfast.open(f"{proxy.url}?{new_store()}", lock_timeout_ms=lock_timeout_ms, max_staleness_ms=100)


@pytest.mark.parametrize("under_way", UNDER_WAY)
def test_a_store_closes_though_its_server_says_nothing(proxy: Proxy, under_way: str) -> None:
    store = open_store(proxy)
    things = store.repository("things")
    things.save({"id": "t0"})
    kept = UNDER_WAY[under_way](things)
    # It asks by now, and gets no answer.
    time.sleep(0.1)
    proxy.fall_silent()
    time.sleep(0.1)
    with no_longer_than(LONGEST), contextlib.suppress(holdfast.Error):
        store.close()
    del kept


def test_ctrl_c_ends_the_wait_for_the_end_of_a_store(proxy: Proxy) -> None:
    store = open_store(proxy)
    things = store.repository("things")
    kept = observe(things)
    proxy.fall_silent()
    with ctrl_c(0.2):
        store.close()
    with no_longer_than(LONGEST), contextlib.suppress(holdfast.Error):
        store.close()
    del kept


def test_streams_hear_of_what_was_committed_before(proxy: Proxy) -> None:
    """Also of a server that takes its time."""
    store = open_store(proxy, lock_timeout_ms=30_000)
    things = store.repository("things")
    heard: list[Any] = []
    changes = things.changes()
    listening = threading.Thread(target=lambda: heard.extend(changes))
    listening.start()
    for number in range(20):
        things.save({"id": f"t{number}"})
    proxy.fall_silent()
    threading.Timer(0.5, proxy.heal).start()
    store.close()
    listening.join()
    assert sum(len(batch.commits) for batch in heard) == 20
