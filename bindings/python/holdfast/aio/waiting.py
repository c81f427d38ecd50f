"""Waiting: a call that answers by callback, awaited."""

import asyncio
import threading
import time
from typing import Any, Callable, Optional

from .. import errors
from ..waiting import Done, timed_out


async def await_result(
    starter: Callable[[Done], object], timeout: Optional[float] = 10, identifier: Optional[str] = None
) -> Any:
    """Runs the starter, and awaits that what it started calls `done`.

    `starter(done)` starts something that will call `done(result)`, or `done(error=exception)`, from any
    thread, perhaps at once. The first call wins, and answers True; later ones answer False and change
    nothing. What the starter itself raises is raised here.

    `timeout` is in seconds from before the starter runs, on a steady clock; None waits for ever, 0 not at
    all. When it has passed TimeoutError is raised, with the `identifier` and the pending `future`, which can
    be awaited again.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
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

    starter(done)
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
