"""Waiting: a call that answers by callback, awaited."""

import asyncio
import threading
import time
from typing import Any, Callable, Optional

from .. import _plain, errors
from .._options import deadline_of
from ..waiting import Done, timed_out


async def await_result(
    starter: Callable[[Done], object], timeout: Optional[float] = 10, identifier: Optional[str] = None
) -> Any:
    """Runs the starter, and awaits that what it started calls `done`. Parameters as of
    `holdfast.await_result`; the `future` of a TimeoutError can be awaited again."""
    deadline = deadline_of(timeout)
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    first = threading.Lock()

    def end(result: Any, error: Optional[BaseException]) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(errors.deliverable(error))

    def done(result: Any = None, error: Optional[BaseException] = None) -> bool:
        if future.done() or not first.acquire(blocking=False):
            return False
        if error is None and isinstance(result, BaseException):
            result, error = None, result
        loop.call_soon_threadsafe(end, result, error)
        return True

    _plain.done(starter(done), "A starter", "write `def`; it may begin a task.")
    if not future.done():
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            await asyncio.wait([future], timeout=left)
        except asyncio.CancelledError:  # nobody waits any longer: what completes it now is told
            future.cancel()
            raise
    if not future.done():
        raise timed_out(identifier, timeout or 0, future)
    return future.result()
