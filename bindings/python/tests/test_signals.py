"""What runs in the middle of a call, and Ctrl-C in what the library calls."""

import asyncio
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from actions import WAIT, save
from nodes import Counter, Family, Node
from programs import start_program

import holdfast
import holdfast.aio

Songs = holdfast.Repository[dict[str, Any]]


def test_a_signal_handler_that_reads_leaves_the_interrupted_reader_its_own_entity(songs: Songs) -> None:
    songs.add_many({"id": id, "text": id * 1000} for id in "ab")
    handled: list[Any] = []
    before = signal.signal(signal.SIGALRM, lambda *_: handled.append(songs.fetch_bytes("b")))
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        read = set()
        while len(handled) < 50:
            read.add(songs.fetch_bytes("a"))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert {songs.fetch_bytes("a")} == read
    assert {songs.fetch_bytes("b")} == set(handled)


# --- Ctrl-C ------------------------------------------------------------------------------------------


def press(*_: object) -> None:
    """Ctrl-C."""
    signal.raise_signal(signal.SIGINT)
    time.sleep(WAIT)


def fail(*_: object) -> None:
    raise LookupError


def test_ctrl_c_ends_a_program_whose_subscriber_is_called_by_subscribe() -> None:
    program = start_program("""
        import holdfast
        with holdfast.open("memory:") as store:
            songs = store.repository("songs")
            def hear(_):
                print("inside", flush=True)
                while True:
                    pass
            changes = store.changes()
            store.submit(lambda: songs.save({"id": "a"})).result()
            changes.subscribe(hear)
            print("behind")
    """)
    assert program.wait_for_line() == "inside"
    program.process.send_signal(signal.SIGINT)
    end = program.wait()
    assert (end.returncode, end.stdout) == (-signal.SIGINT, "")
    assert end.stderr.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.parametrize("role", ["on_event", "on_error", "on_finished"])
def test_ctrl_c_in_a_subscriber_is_raised_by_subscribe_and_nobody_is_subscribed(
    role: str, store: holdfast.Store, songs: Songs
) -> None:
    changes = store.changes()
    store.submit(lambda: songs.save({"id": "a"})).result(WAIT)
    roles = {"on_event": fail if role == "on_error" else str, role: press}
    if role == "on_finished":
        store.close()
    with pytest.raises(KeyboardInterrupt):
        changes.subscribe(**roles)
    if role != "on_finished":
        songs.save({"id": "b"})
        assert [change.id for change in changes.next(WAIT)] == ["b"]


def test_ctrl_c_in_the_subscriber_of_an_operation_is_raised_by_subscribe(store: holdfast.Store) -> None:
    with pytest.raises(KeyboardInterrupt):
        store.operation(fail).subscribe(print, on_error=press)


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_ctrl_c_at_the_end_of_a_tree_s_transaction_is_raised_by_the_call_once_all_have_heard_of_it(
    ending: str, family: Family, store: holdfast.Store
) -> None:
    def work() -> None:
        if ending == "rollback":
            raise LookupError

    family.leaf.hooks[ending] = press
    family.root.begin_transaction()
    with pytest.raises(KeyboardInterrupt):
        getattr(family.root, f"{ending}_transaction")()
    with pytest.raises(KeyboardInterrupt), store.transaction(family.root):
        work()
    with pytest.raises(KeyboardInterrupt):
        store.transact(work, trees=[family.root])
    family.expect(*((3, 3, 3, 0) if ending == "commit" else (3, 0, 0, 3)))
    assert store.repository("songs").count() == 0


@pytest.mark.parametrize("phase", ["on_savepoint", "on_rollback_to"])
def test_ctrl_c_at_a_savepoint_is_raised_by_the_call(
    phase: str, store: holdfast.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = Counter("counter")
    monkeypatch.setattr(counter, phase, press)
    with store.transaction(counter) as transaction:
        with pytest.raises(KeyboardInterrupt):
            transaction.rollback_to(transaction.savepoint())
        assert transaction.state is holdfast.TransactionState.OPEN


def test_what_a_model_s_savepoint_raises_is_told_once(
    store: holdfast.Store, songs: Songs, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Chart(holdfast.Model):
        def on_savepoint(self, savepoint: int) -> None:
            raise LookupError

    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda it: told.append(it.exc_type))
    with store.transaction(Chart()):
        with store.savepoint():
            songs.save({"id": "a"})
    assert told == [LookupError]


def test_ctrl_c_in_a_middleware_is_raised_by_dispatch(songs: Songs) -> None:
    with holdfast.Controller(songs, lambda action, _: action["action"] == "save" and press()) as controller:
        with pytest.raises(KeyboardInterrupt):
            controller.dispatch(save({"id": "a"}))
        controller.wait_for(lambda state: state["persist"]["state"] == "succeeded", WAIT)


def test_ctrl_c_in_a_clock_is_raised_by_the_call_that_asks_for_the_time(store: holdfast.Store) -> None:
    pressing: list[bool] = []
    store.set_clock(lambda: 0 if not pressing else press() or 0)
    songs = store.repository("songs", cache=holdfast.CachePolicy.DEFAULT)
    for read in (songs.fetch, songs.fetch_bytes, songs.fetch_versioned):
        pressing.clear()
        songs.save({"id": "a"})
        songs.fetch("a")
        pressing.append(True)
        with pytest.raises(KeyboardInterrupt):
            read("a")
    pressing.clear()


async def subscribe(store: holdfast.aio.Store, role: str) -> None:
    songs = store.repository("songs")
    await songs.save({"id": "a"})
    heard = asyncio.Event()
    hear = fail if role == "on_error" else lambda _: heard.set()
    songs.observe().subscribe(**{"on_event": hear, role: press})
    await heard.wait()


async def subscribe_operation(store: holdfast.aio.Store, role: str) -> None:
    operation = store.repository("songs").deferred.save({"id": "a"})
    operation.subscribe(**{"on_value": fail if role == "on_error" else str, role: press})
    await asyncio.sleep(WAIT)


async def end_a_tree_s_transaction(store: holdfast.aio.Store, role: str) -> None:
    node = Node("node")
    node.hooks[role] = press
    async with store.transaction(node):
        await store.repository("songs").save({"id": "a"})
        if role == "rollback":
            raise LookupError


async def control(store: holdfast.aio.Store, role: str) -> None:
    # Once: the next state may come while asyncio.run ends the tasks, and must not keep it from that.
    presses = [press]
    controller = holdfast.aio.Controller(
        store.repository("songs"), **{role: lambda *_: presses and presses.pop()()}
    )
    await controller.dispatch(save({"id": "a"}))
    await asyncio.sleep(WAIT)


@pytest.fixture
def handler_of_its_own() -> Iterator[None]:
    """In the place of Python's: where it finds that one asyncio cancels the main task at the first Ctrl-C."""
    before = signal.signal(signal.SIGINT, lambda *_: signal.default_int_handler(*_))
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("handler_of_its_own")
@pytest.mark.parametrize(
    "starts, role",
    [
        (subscribe, "on_event"),
        (subscribe, "on_error"),
        (subscribe, "on_finished"),
        (subscribe_operation, "on_value"),
        (subscribe_operation, "on_error"),
        (subscribe_operation, "on_finished"),
        (end_a_tree_s_transaction, "commit"),
        (end_a_tree_s_transaction, "rollback"),
        (control, "middleware"),
        (control, "on_state"),
    ],
)
def test_ctrl_c_in_what_a_loop_calls_ends_the_loop(starts: Any, role: str) -> None:
    async def main() -> None:
        async with holdfast.aio.open("memory:") as store:
            await starts(store, role)
        await asyncio.sleep(WAIT)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
