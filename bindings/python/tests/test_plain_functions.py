"""A coroutine function, or a generator, where a function must have done its work when it returns: it is
refused."""

import asyncio
import contextlib
import queue
import sys
from collections.abc import Callable
from typing import Any

import pytest

import holdfast
import holdfast.aio


@pytest.fixture
def store() -> Any:
    with holdfast.open("memory:") as store:
        store.repository("songs").save({"id": "s1", "name": "Gloria"})
        yield store


async def later(*_: Any) -> None: ...


async def piece_by_piece_later(*_: Any) -> Any:
    yield


def piece_by_piece(*_: Any) -> Any:
    yield


REFUSED = "must not be a (coroutine|generator) function"
FUNCTIONS: "list[Callable[..., Any]]" = [
    later,
    lambda *arguments: later(*arguments),
    piece_by_piece,
    piece_by_piece_later,
]
METHODS = ["on_begin", "on_validate_commit", "on_commit", "on_rollback", "on_savepoint", "on_rollback_to"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_step_of_an_upgrade_is_no_coroutine_and_no_version_is_noted(store: Any, function: Any) -> None:
    with pytest.raises(TypeError, match=REFUSED):
        store.upgrade({0: function})
    assert store.schema_version is None


def test_a_step_of_an_upgrade_is_none_in_a_loop_either() -> None:
    async def main() -> None:
        async with holdfast.aio.open("memory:") as store:
            await store.repository("songs").save({"id": "s1"})
            with pytest.raises(TypeError, match=REFUSED):
                await store.upgrade({0: later})
            assert await store.schema_version() is None

    asyncio.run(main())


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_validator_is_none_and_refuses_what_it_would_let_through(store: Any, function: Any) -> None:
    songs = store.repository("songs")
    songs.set_validator(function)
    with pytest.raises(TypeError, match=REFUSED):
        songs.save({"id": "s2"})
    assert songs.count() == 1


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_that_is_told_of_progress_is_none(store: Any, function: Any) -> None:
    songs = store.repository("songs")
    with pytest.raises(TypeError, match=REFUSED):
        songs.create_index("name", progress=function)
    assert songs.indexes() == []


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_subscribed_function_is_none(store: Any, function: Any) -> None:
    told: queue.SimpleQueue[BaseException] = queue.SimpleQueue()
    with store.repository("songs").observe() as live:
        live.subscribe(function, on_error=told.put)
        with pytest.raises(TypeError, match=REFUSED):
            raise told.get(timeout=60)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_subscriber_of_an_operation_is_none(store: Any, function: Any) -> None:
    told: queue.SimpleQueue[BaseException] = queue.SimpleQueue()
    store.operation(lambda: 1).subscribe(function, on_error=told.put)
    with pytest.raises(TypeError, match=REFUSED):
        raise told.get(timeout=60)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_predicate_is_none_and_nothing_matches_it(store: Any, function: Any) -> None:
    songs = store.repository("songs")
    for verb in (songs.find, songs.count):
        with pytest.raises(TypeError, match=REFUSED):
            verb(function)
    assert songs.ids() == ["s1"]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", METHODS)
def test_a_method_of_a_tree_is_none(store: Any, name: str, function: Any) -> None:
    class Chart(holdfast.Transactable):
        def on_savepoint(self, _: int) -> None: ...

        def on_rollback_to(self, _: int) -> None: ...

    def rename(name: str) -> None:
        songs.save({"id": "s1", "name": name})

    setattr(Chart, name, function)
    songs, chart = store.repository("songs"), Chart()
    told: list[str] = []
    hook, sys.unraisablehook = sys.unraisablehook, lambda event: told.append(str(event.exc_value))
    try:
        with store.transaction(chart) as transaction:
            with contextlib.suppress(ZeroDivisionError), store.savepoint():
                rename("discarded")
                raise ZeroDivisionError
            if name == "on_rollback":
                raise ZeroDivisionError
            rename("Land")
    except (TypeError, ZeroDivisionError) as error:
        told.append(str(error))
    finally:
        sys.unraisablehook = hook
    refusals = [text for text in told if text]
    assert refusals and all(text.startswith(f"{name} must not be a") for text in refusals)
    is_stored = songs["s1"]["name"] == "Land"
    assert is_stored is (name in ("on_commit", "on_savepoint", "on_rollback_to"))
    if name == "on_commit":
        assert [str(error) for error in transaction.receipt.secondary] == refusals


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_that_hears_of_a_controller_is_none(
    store: Any, caplog: pytest.LogCaptureFixture, function: Any
) -> None:
    songs = store.repository("songs")
    with holdfast.Controller(songs, middleware=function, on_state=function) as controller:
        controller.dispatch({"action": "save", "element": {"id": "s2"}})
        with pytest.raises(TypeError, match=REFUSED):
            controller.wait_for(function)
    logged = [str(record.exc_info) for record in caplog.records]
    assert logged and all("must not be a" in text for text in logged)
    caplog.clear()  # with the tracebacks, which have the store


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_starter_is_none(function: Any) -> None:
    with pytest.raises(TypeError, match=REFUSED):
        holdfast.await_result(function)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_that_a_loop_calls_are_none(caplog: pytest.LogCaptureFixture, function: Any) -> None:
    async def main() -> None:
        async with holdfast.aio.open("memory:") as store:
            songs = store.repository("songs")
            with pytest.raises(TypeError, match=REFUSED):
                await holdfast.aio.await_result(function)
            async with holdfast.aio.Controller(songs) as controller:
                with pytest.raises(TypeError, match=REFUSED):
                    await controller.wait_for(function)
            told: asyncio.Queue[BaseException] = asyncio.Queue()
            async with songs.observe() as live:
                live.subscribe(function, on_error=told.put_nowait)
                with pytest.raises(TypeError, match=REFUSED):
                    raise await asyncio.wait_for(told.get(), 60)
            songs.deferred.count().subscribe(function, on_error=function)
            while not caplog.records:
                await asyncio.sleep(0.001)

    asyncio.run(main())
    assert "must not be a" in str(caplog.records[0].exc_info)
    caplog.clear()


@pytest.mark.parametrize("name", ["save", "delete", "apply"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_method_of_a_provider_is_none_and_nothing_is_told_as_stored(name: str, function: Any) -> None:
    class Provider(holdfast.StorageProvider):
        def save(self, repository: str, id: str, body: bytes) -> None: ...

        def delete(self, repository: str, id: str) -> None: ...

        def fetch(self, repository: str, id: str) -> bytes:
            return b'{"id":"s1"}'

        def fetch_all(self, repository: str) -> Any:
            return [("s1", b'{"id":"s1"}')]

    setattr(Provider, name, function)
    with holdfast.open_provider(Provider()) as store:
        songs = store.repository("songs")
        with pytest.raises(holdfast.HostError) as refused:
            songs.delete("s1") if name == "delete" else songs.save({"id": "s1", "name": "Land"})
        assert f"{name} must not be a" in str(refused.value.__cause__)


def test_a_transaction_s_function_is_none_but_may_answer_a_generator(store: Any) -> None:
    for function in FUNCTIONS:
        for door in (store.transact, store.submit, store.transactional):
            with pytest.raises(TypeError, match=REFUSED):
                door(function)() if door == store.transactional else door(function)
    songs = store.repository("songs").find()
    names = store.transact(lambda: (song["name"] for song in songs))
    assert list(names) == ["Gloria"]
