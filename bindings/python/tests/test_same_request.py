"""The same request at every door, where another one is faster: what fails on what that has stored is answered
as that is."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Optional

import pytest
from loops import Run

import holdfast
import holdfast.aio

KEY = "order 17"
Store = holdfast.Store
Body = Callable[[], Any]


def by_block(store: Store, body: Body) -> Optional[holdfast.Receipt]:
    with store.transaction(idempotency_key=KEY) as transaction:
        body()
    return transaction.receipt


def by_submit(store: Store, body: Body, **options: Any) -> Optional[holdfast.Receipt]:
    future = store.submit(body, idempotency_key=KEY, **options)
    assert future.result() is None
    return future.receipt


def by_decorator(store: Store, body: Body) -> Any:
    value, receipt = store.transactional(receipt=True, idempotency_key=KEY)(body)()  # type: ignore[call-overload]
    assert value is None
    return receipt


def by_operation(store: Store, body: Body) -> Any:
    assert store.operation(body, idempotency_key=KEY).perform() is None
    return by_transact(store, body)


def by_transact(store: Store, body: Body) -> holdfast.Receipt:
    value, receipt = store.transact(body, idempotency_key=KEY, receipt=True)
    assert value is None
    return receipt


DOORS = [by_transact, by_decorator, by_operation, by_submit, by_block]


@pytest.fixture
def store(engine: str, path: str) -> Iterator[Store]:
    with holdfast.open("memory:" if engine == "memory" else path) as store:
        store.repository("lamps").save({"id": "lamp", "stock": 1})
        yield store


def refuse_below_zero(_: str, entity: Optional[dict[str, Any]]) -> None:
    if entity is not None and entity["stock"] < 0:
        raise ValueError("below zero")


def add(store: Store) -> None:
    store.repository("orders").add({"id": "order"})


def take(store: Store) -> None:
    lamps = store.repository("lamps")
    stock = lamps["lamp"]["stock"]
    if stock < 1:
        raise ValueError("out of stock")
    lamps.patch("lamp", {"stock": stock - 1})


def take_unseen(store: Store) -> None:
    store.repository("lamps").modify("lamp", {"$inc": {"stock": -1}})
    store.repository("orders").save({"at": threading.get_ident()})


def once_faster(store: Store, work: Callable[[Store], None]) -> Body:
    """Does this, the first time behind another thread, which was asked for the same and is through."""
    is_first = [True]

    def body() -> str:
        if is_first.pop() if is_first else False:
            faster = threading.Thread(target=lambda: store.transact(lambda: work(store), idempotency_key=KEY))
            faster.start()
            faster.join()
        work(store)
        return "stored"

    return body


@pytest.mark.parametrize("work", [add, take, take_unseen])
@pytest.mark.parametrize("door", DOORS)
def test_who_fails_on_what_the_same_request_has_just_stored_gets_its_receipt(
    store: Store, door: Callable[[Store, Body], holdfast.Receipt], work: Callable[[Store], None]
) -> None:
    store.repository("lamps").set_validator(refuse_below_zero)
    receipt = door(store, once_faster(store, work))
    assert receipt.replayed
    again = store.transact(lambda: pytest.fail("it runs again"), idempotency_key=KEY, receipt=True)
    assert again == (None, receipt)


def test_a_sequence_that_the_same_request_has_outrun_answers_nothing_of_its_own(store: Store) -> None:
    orders, checked = store.repository("orders"), store.repository("checked")
    faster = once_faster(store, lambda store: store.repository("orders").add({}))
    checked.set_validator(lambda id, entity: faster() and None)
    steps = orders.deferred.add({}), checked.deferred.save({"id": "v"})
    sequence = store.sequence(*steps, idempotency_key=KEY)
    assert sequence.perform() is None
    assert checked.count() == 0


def test_of_sequences_that_are_submitted_at_once_none_answers_what_is_not_stored(store: Store) -> None:
    orders = store.repository("orders")
    for key in map(str, range(20)):
        sequence = store.sequence(orders.deferred.add({"key": key}), idempotency_key=key)
        futures = [sequence.submit() for _ in range(8)]
        answers = [(future.result(60), future.receipt) for future in futures]
        stored = orders.find({"key": key})
        assert len(stored) == 1
        for value, receipt in answers:
            assert receipt is not None
            assert value == (None if receipt.replayed else stored)
        assert sum(value is not None for value, _ in answers) == 1


@pytest.mark.parametrize("door", DOORS)
def test_a_failure_is_told_where_nobody_has_used_the_key(
    store: Store, door: Callable[[Store, Body], object]
) -> None:
    def fail() -> None:
        add(store)
        raise ValueError("of its own")

    add(store)
    with pytest.raises(holdfast.ExistsError):
        door(store, lambda: add(store))
    store.repository("orders").delete_all()
    with pytest.raises(ValueError, match="of its own"):
        door(store, fail)
    assert store.repository("orders").count() == 0


@pytest.mark.parametrize("door", DOORS)
def test_an_interrupt_is_no_failure_of_the_request(
    store: Store, door: Callable[[Store, Body], object]
) -> None:
    def interrupted(store: Store) -> None:
        if store.repository("orders").count():
            raise SystemExit(3)
        add(store)

    with pytest.raises(SystemExit):
        door(store, once_faster(store, interrupted))


def test_what_was_submitted_and_is_refused_behind_the_same_request_gets_its_receipt(store: Store) -> None:
    store.repository("lamps").set_validator(refuse_below_zero)
    for attempts in (1, 100):
        store.repository("lamps").save({"id": "lamp", "stock": 1})
        receipt = by_submit(store, once_faster(store, take), max_attempts=attempts)
        assert receipt is not None and receipt.replayed


def test_a_block_that_runs_again_with_its_key_stores_nothing_and_has_the_first_receipt(store: Store) -> None:
    first = by_block(store, lambda: add(store))
    again = by_block(store, lambda: add(store))
    assert first is not None and again is not None
    assert (first.replayed, again.replayed, again.sequence) == (False, True, first.sequence)


def test_what_fails_in_a_block_behind_its_commit_is_told(store: Store) -> None:
    def fail(end: Callable[[holdfast.Transaction], object]) -> None:
        with store.transaction(idempotency_key=KEY) as transaction:
            store.repository("orders").save({"id": "order"})
            end(transaction)
            raise ValueError("behind it")

    for end in (holdfast.Transaction.commit, lambda transaction: transaction.submit().result()):
        with pytest.raises(ValueError, match="behind it"):
            fail(end)


def test_what_writes_nothing_uses_no_key_and_runs_again(store: Store) -> None:
    runs: list[int] = []
    for _ in range(2):
        store.transact(lambda: runs.append(store.repository("orders").count()), idempotency_key=KEY)
    assert len(runs) == 2


# --- Awaited ---------------------------------------------------------------------------------------


async def by_awaited_transact(store: holdfast.aio.Store, body: Callable[[], Awaitable[Any]]) -> Any:
    return (await store.transact(body, idempotency_key=KEY, receipt=True))[1]


async def by_awaited_block(store: holdfast.aio.Store, body: Callable[[], Awaitable[Any]]) -> Any:
    async with store.transaction(idempotency_key=KEY) as transaction:
        await body()
    return transaction.receipt


@pytest.mark.parametrize("door", [by_awaited_transact, by_awaited_block])
async def test_awaited_requests_that_come_at_once_all_get_the_receipt_of_the_fastest(
    run: Run, engine: str, path: str, door: Callable[..., Awaitable[holdfast.Receipt]]
) -> None:
    async with holdfast.aio.open("memory:" if engine == "memory" else path) as store:
        orders = store.repository("orders")
        have_begun = 0

        async def order() -> None:
            nonlocal have_begun
            have_begun += 1
            while have_begun < 5:
                await asyncio.sleep(0.001)
            if await orders.count() > 0:
                raise ValueError("there is one")
            await orders.add({"id": "order"})

        receipts = await asyncio.gather(*[door(store, order) for _ in range(5)])
        assert len({receipt.sequence for receipt in receipts}) == 1
        assert [receipt.replayed for receipt in receipts].count(False) == 1
        with pytest.raises(ValueError, match="there is one"):
            await store.transact(order, idempotency_key="another")


async def test_who_is_answered_by_the_faster_one_holds_up_nobody_in_the_line(run: Run) -> None:
    async with holdfast.aio.open("memory:") as store:
        shelves = store.repository("shelves")
        await shelves.save_many([{"id": f"p{number}", "taken": 0} for number in range(3)])

        async def place() -> None:
            shelf = await shelves.first(sort={"taken": 1})
            assert shelf is not None
            await shelves.modify(shelf["id"], {"$inc": {"taken": 1}})

        requests = [store.transact(place, idempotency_key=f"k{number % 20}") for number in range(60)]
        # A turn that nobody gives back lasts a second: of these twenty would.
        await asyncio.wait_for(asyncio.gather(*requests), 15)
        assert sum(shelf["taken"] for shelf in await shelves.find()) == 20


# --- While it waits in the line of those who collided ----------------------------------------------------


class Line:
    """Somebody who has met a conflict at an entity, and holds up for a while who meets the next there."""

    def __init__(self, store: Store) -> None:
        self.entities = store.repository("line")
        self.entities.save({"id": "c", "n": 0})
        self.runs = 0
        self.is_held, self.is_over = threading.Event(), threading.Event()
        self.holder = threading.Thread(target=lambda: store.transact(self._hold))
        self.holder.start()
        assert self.is_held.wait(60)

    def collide(self) -> None:
        """Reads what another commit then changes."""
        self.entities.fetch("c")
        other = threading.Thread(target=lambda: self.entities.modify("c", {"$inc": {"n": 1}}))
        other.start()
        other.join()

    def _hold(self) -> None:
        self.runs += 1
        if self.runs == 1:
            self.collide()
        else:
            self.entities.fetch("c")
            self.is_held.set()
            self.is_over.wait(60)
        self.entities.save({"id": "c", "n": -1})

    def end(self) -> None:
        self.is_over.set()
        self.holder.join()


def later_by_transact(store: Store, body: Body) -> Any:
    return store.transact(body, receipt=True, idempotency_key=KEY, timeout=0.6)[1]


def later_by_operation(store: Store, body: Body) -> Any:
    future = store.operation(body, idempotency_key=KEY, timeout=0.6).submit()
    assert future.result(60) is None
    return future.receipt


def stored_meanwhile(store: Store, slow: Callable[[], Any], waits: threading.Event, line: Line) -> None:
    """Holds that this gets the receipt of what the same request stores while it waits in the line."""
    with ThreadPoolExecutor(1) as pool:
        try:
            told = pool.submit(slow)
            assert waits.wait(60)
            # Until it has met its conflict.
            time.sleep(0.2)
            with store.transaction(idempotency_key=KEY) as fast:
                store.repository("orders").add({"id": "o"})
            receipt = told.result(60)
        finally:
            line.end()
    assert fast.receipt is not None
    assert receipt.replayed and receipt.sequence == fast.receipt.sequence
    assert store.repository("orders").count() == 1


@pytest.mark.parametrize("door", [later_by_transact, later_by_operation])
def test_who_waits_in_line_until_the_time_is_up_gets_the_receipt_of_what_was_stored_meanwhile(
    store: Store, door: Callable[[Store, Body], Any]
) -> None:
    line, orders, waits = Line(store), store.repository("orders"), threading.Event()

    def slow() -> None:
        line.collide()
        waits.set()
        line.entities.save({"id": "c", "n": -2})
        orders.add({"id": "o"})

    stored_meanwhile(store, lambda: door(store, slow), waits, line)


def test_a_sequence_that_waits_in_line_until_the_time_is_up_gets_it_too(store: Store) -> None:
    line, orders, waits = Line(store), store.repository("orders"), threading.Event()
    checked = store.repository("checked")

    def collide(id: str, entity: Any) -> None:
        if not waits.is_set():
            line.collide()
            waits.set()

    checked.set_validator(collide)
    write = line.entities.deferred.modify("c", {"$inc": {"n": 1}})
    others = checked.deferred.save({"id": "v"}), orders.deferred.add({"id": "o"})

    def slow() -> Any:
        future = store.sequence(write, *others, idempotency_key=KEY, timeout=0.6).submit()
        assert future.result(60) is None
        return future.receipt

    stored_meanwhile(store, slow, waits, line)
