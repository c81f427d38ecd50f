"""A server that says nothing: what waits for it ends by its deadline, by Ctrl-C, and as the store closes."""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from proxy import Proxy
from server import Server, new_store

import holdfast

#: What nothing ends would take a minute.
LONGEST = 10.0


@contextlib.contextmanager
def no_longer_than(seconds: float) -> Iterator[None]:
    began = time.monotonic()
    try:
        yield
    finally:
        assert time.monotonic() - began < seconds


@contextlib.contextmanager
def ctrl_c(seconds: float) -> "Iterator[pytest.ExceptionInfo[KeyboardInterrupt]]":
    """Has it come after so many seconds, once."""

    def press(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, press)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with pytest.raises(KeyboardInterrupt) as raised, no_longer_than(LONGEST):
            yield raised
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def store(proxy: Proxy) -> Iterator[holdfast.Store]:
    with holdfast.open(f"{proxy.url}?{new_store()}", lock_timeout_ms=2_000) as store:
        store.repository("things").save_many({"id": f"t{number}", "n": number} for number in range(10))
        yield store
        proxy.heal()


def in_a_transaction(store: holdfast.Store) -> object:
    with store.begin().joined():
        return store.repository("things").fetch("t7")


CALLS: "dict[str, Callable[[holdfast.Store], object]]" = {
    "read": lambda store: store.repository("things").fetch("t1"),
    "read of what is cached": lambda store: store.repository("things").fetch("t0"),
    "read in a transaction": in_a_transaction,
    "read of many": lambda store: store.repository("things").fetch_many(["t2", "t3"]),
    "query": lambda store: store.repository("things").find({"n": {"$gt": 3}}),
    "count": lambda store: store.repository("things").count({"n": 3}),
    "commit": lambda store: store.repository("things").save({"id": "new"}),
    "transaction": lambda store: store.transact(lambda: store.repository("things").fetch("t4")),
    "sync": lambda store: store.sync(),
}


@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_ends_a_call_that_waits_for_it(proxy: Proxy, store: holdfast.Store, call: str) -> None:
    things = store.repository("things")
    assert things.fetch("t0") == {"id": "t0", "n": 0}
    proxy.fall_silent()
    with ctrl_c(0.2):
        CALLS[call](store)
    proxy.heal()
    things.save({"id": "t5", "n": 50})
    assert things.fetch("t5") == {"id": "t5", "n": 50}


def test_ctrl_c_ends_a_read_behind_another_threads(proxy: Proxy, store: holdfast.Store) -> None:
    things = store.repository("things")
    transaction = store.begin()
    with transaction.joined():
        assert things.fetch("t0") is not None
        assert things.find({"n": 1}) == [{"id": "t1", "n": 1}]
    proxy.fall_silent()

    def count() -> None:
        with contextlib.suppress(holdfast.Error):
            things.count({"n": 3})

    other = threading.Thread(target=count)
    other.start()
    time.sleep(0.2)
    with ctrl_c(0.2):
        things.find({"n": 2})
    proxy.heal()
    other.join()
    transaction.rollback()


def test_what_is_asked_meanwhile_may_only_close_stores(proxy: Proxy, store: holdfast.Store) -> None:
    things = store.repository("things")
    told: list[Any] = []

    def look(*_: object) -> None:
        try:
            things.fetch("t1")
        except holdfast.Error as error:
            told.append(error)
        store.close(timeout=0)

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    proxy.fall_silent()
    try:
        with pytest.raises(holdfast.ClosedError), no_longer_than(LONGEST):
            things.fetch("t1")
    finally:
        signal.signal(signal.SIGALRM, before)
        proxy.heal()
    assert [type(error) for error in told] == [holdfast.ReentrantError]


@pytest.mark.parametrize("is_connected", [False, True])
def test_a_read_ends_where_the_store_closes_meanwhile(
    proxy: Proxy, store: holdfast.Store, is_connected: bool
) -> None:
    things = store.repository("things")
    if is_connected:
        things.fetch("t1")
        things.find({"n": 1})
    proxy.fall_silent()
    ended: list[type[BaseException]] = []

    def read() -> None:
        try:
            things.find({"n": 1})
        except holdfast.Error as error:
            ended.append(type(error))

    thread = threading.Thread(target=read)
    thread.start()
    time.sleep(0.2)
    with contextlib.suppress(holdfast.TimeoutError):
        store.close(timeout=0)
    with no_longer_than(1):
        thread.join()
    assert ended == [holdfast.ClosedError]


def commit(
    things: "holdfast.Repository[dict[str, Any]]", how: str, timeout: float, ended: "list[holdfast.Error]"
) -> None:
    try:
        with things.store.transaction(timeout=timeout):
            if how == "what was read":
                assert things.fetch("t0") is not None
            things.save({"id": how, "n": 100})
    except holdfast.Error as error:
        ended.append(error)


@pytest.mark.parametrize("is_main", [False, True])
@pytest.mark.parametrize("how", ["blind", "what was read", "what must be known", "behind another"])
def test_a_commit_ends_by_its_deadline(proxy: Proxy, store: holdfast.Store, how: str, is_main: bool) -> None:
    """What the server may have got is unknown until it speaks; what it cannot have is not stored."""
    things, marked = store.repository("things"), store.repository("marked")
    marked.create_index("n", unique=True)
    marked.save({"id": "m", "n": 1})
    assert things.fetch("t0") is not None
    proxy.fall_silent()
    others: list[holdfast.Error] = []
    other = threading.Thread(target=commit, args=(things, "first", 20, others))
    if how == "behind another":
        other.start()
        time.sleep(0.2)
    ended: list[holdfast.Error] = []
    with no_longer_than(1):
        # Of what has a unique index it must be asked what there is.
        operands = (marked if how == "what must be known" else things, how, 0.3, ended)
        if is_main:
            commit(*operands)
        else:
            # It does by itself what the main thread, which Ctrl-C may end, leaves to another.
            thread = threading.Thread(target=commit, args=operands)
            thread.start()
            thread.join()
    is_unknown = ended[0].commit_state is holdfast.CommitState.UNKNOWN
    assert is_unknown == (how in ("blind", "what was read"))
    assert isinstance(ended[0], holdfast.IOError if is_unknown else holdfast.TimeoutError)
    proxy.heal()
    if other.ident:
        other.join()
        assert others == [] and things.fetch("first") is not None
    # Nobody has to do anything for it, but where it was lost it is not stored later.
    things.save({"id": "then"})
    is_stored = things.fetch(how) is not None or marked.fetch(how) is not None
    assert is_unknown or not is_stored
    time.sleep(0.1)
    assert is_stored == (things.fetch(how) is not None or marked.fetch(how) is not None)
    store.verify()


def test_a_commit_that_nobody_waits_for_holds_others_up_no_longer_than_a_while(
    proxy: Proxy, store: holdfast.Store
) -> None:
    things = store.repository("things")
    proxy.lose_all()
    ended: list[holdfast.Error] = []
    commit(things, "left", 0.3, ended)
    assert [error.commit_state for error in ended] == [holdfast.CommitState.UNKNOWN]
    # Another machine has taken the server's place.
    with no_longer_than(3 * LONGEST):
        things.save({"id": "then"})
    assert things.fetch("left") is None


def test_ctrl_c_tells_that_it_is_unknown_what_became_of_a_commit(proxy: Proxy, store: holdfast.Store) -> None:
    things = store.repository("things")
    proxy.fall_silent()
    with ctrl_c(0.2) as raised:
        things.save({"id": "new"})
    proxy.heal()
    assert raised.value.outcome.exception().commit_state is holdfast.CommitState.UNKNOWN  # type: ignore[attr-defined]


def test_a_commit_whose_deadline_comes_soon_takes_nothing_of_others_with_it(server: Server) -> None:
    """The answer is on its way when the time is up, on a healthy server."""
    failed: list[holdfast.Error] = []
    with Proxy(server.url, delay=0.02) as far, holdfast.open(f"{far.url}?{new_store()}") as store:
        things = store.repository("things")
        things.save_many({"id": f"t{number}", "n": number} for number in range(10))
        reading = store.begin(isolation="snapshot")
        with reading.joined():
            assert things.count({"n": {"$gt": 5}}) == 4
        alone = threading.Thread(target=commit, args=(things, "alone", 0.01, failed))
        alone.start()
        alone.join()
        # As long as it takes to find out what became of it.
        things.save({"id": "then"})
        with reading.joined():
            assert things.count({"n": {"$gt": 6}}) == 3
        reading.rollback()
        hurried = [threading.Thread(target=commit, args=(things, f"h{n}", 0.05, failed)) for n in range(20)]
        patient = [threading.Thread(target=commit, args=(things, f"p{n}", 20, failed)) for n in range(20)]
        for one, other in zip(hurried, patient):
            one.start()
            other.start()
        for thread in (*hurried, *patient):
            thread.join()
        # Who has got no answer in time may have stored it; those that had time have.
        assert all(isinstance(error, (holdfast.IOError, holdfast.TimeoutError)) for error in failed)
        assert all(things.fetch(f"p{n}") is not None for n in range(20))
