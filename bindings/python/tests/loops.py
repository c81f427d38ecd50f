"""Loops of asyncio for tests."""

import asyncio
from collections.abc import Awaitable, Iterator
from typing import Any, Callable

import pytest
import uvloop

Run = Callable[[Awaitable[Any]], Any]


async def eventually(condition: Callable[[], Any]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """Runs a coroutine in a loop of each kind; what a loop was not told of must not be lost."""
    loop = uvloop.new_event_loop() if request.param == "uvloop" else asyncio.new_event_loop()
    unheard: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: unheard.append(context))
    yield lambda main: loop.run_until_complete(asyncio.wait_for(main, 300))
    loop.close()
    assert not unheard
