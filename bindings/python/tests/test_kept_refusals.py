"""What validators raise is kept until it arrives where it is told: nothing else is lost by that, or fails."""

import gc
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from threads import in_thread

import holdfast
from holdfast.errors import refusals

KEY = "order 17"


def refuse(*_: object) -> None:
    raise ValueError("mine")


@pytest.fixture
def orders() -> Iterator[Any]:
    with holdfast.open("memory:") as store:
        yield store.repository("orders")


@pytest.fixture
def songs() -> Iterator[Any]:
    """A repository, of another store, that refuses all."""
    with holdfast.open("memory:") as store:
        songs = store.repository("songs")
        songs.set_validator(refuse)
        yield songs


def test_what_is_stored_is_told_as_stored_while_other_threads_are_refused(orders: Any, songs: Any) -> None:
    def be_refused(phase: str, _: object) -> None:
        # The collector stands for another thread: it comes at any moment.
        if phase == "start":
            pytest.raises(ValueError, songs.save, {"id": "s1"})

    kept = [refusals.keep(ValueError()) for _ in range(2000)]
    threshold = gc.get_threshold()
    gc.callbacks.append(be_refused)
    gc.set_threshold(50)
    try:
        for key in range(20):
            orders.store.transact(lambda key=key: orders.add({"id": key}), idempotency_key=str(key))
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(be_refused)
        assert None not in map(refusals.take, kept)


@pytest.mark.parametrize("inner", [{}, {"idempotency_key": KEY}])
@pytest.mark.parametrize("outer", [{}, {"idempotency_key": "another"}])
def test_a_refusal_is_told_also_where_its_rollback_makes_a_request_elsewhere(
    orders: Any, songs: Any, inner: Any, outer: Any
) -> None:
    class Audit(holdfast.Transactable):
        def on_rollback(self, _: bytes) -> None:
            orders.store.transact(lambda: orders.add({"id": "refused"}), **inner)

    audit = Audit()
    with pytest.raises(ValueError, match="mine"):
        songs.store.transact(lambda: songs.save({"id": "s1"}), trees=[audit], **outer)
    assert orders.ids() == ["refused"]


def test_a_refusal_that_the_same_request_answers_is_kept_no_longer(orders: Any) -> None:
    def order() -> None:
        orders.save({"id": "o1"})

    def be_slower() -> None:
        in_thread(lambda: orders.store.transact(order, idempotency_key=KEY))
        orders.set_validator(refuse)
        order()

    before = len(refusals._kept)
    assert orders.store.transact(be_slower, idempotency_key=KEY, receipt=True)[1].replayed
    assert len(refusals._kept) == before


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_the_refusal_of_an_operation_that_was_cancelled_is_not_kept(orders: Any, is_cancelled: bool) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def refuse_slowly(id: str, _: object) -> None:
        if id == "slow":
            begun.set()
            goes_on.wait(60)
            refuse()

    before = len(refusals._kept)
    orders.set_validator(refuse_slowly)
    future = orders.deferred.save({"id": "slow"}).submit()
    assert begun.wait(60)
    if is_cancelled:
        assert future.cancel()
        while orders.store._events.in_flight:
            time.sleep(0.001)
    goes_on.set()
    if not is_cancelled:
        with pytest.raises(ValueError, match="mine"):
            future.result(60)
    # On the same thread of the library's, behind it.
    orders.deferred.save({"id": "next"}).submit().result(60)
    assert len(refusals._kept) == before
