"""A coroutine function where a function must have done its work when it returns: it is refused."""

import asyncio
import queue
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


REFUSED = "must not be a coroutine function"
FUNCTIONS: "list[Callable[..., Any]]" = [later, lambda *arguments: later(*arguments)]


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
