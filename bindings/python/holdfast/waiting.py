"""Waiting: a call that answers by callback, turned into one that returns its result."""

import concurrent.futures
import time
from typing import Any, Callable, Optional

from . import _plain, errors
from ._options import deadline_of
from .events import is_event_thread

#: What a starter calls with the result, or with `error`. True for the first call, whose outcome counts.
Done = Callable[..., bool]


def await_result(
    starter: Callable[[Done], object], timeout: Optional[float] = 10, identifier: Optional[str] = None
) -> Any:
    """Runs the starter on this thread, and waits until what it started calls `done`.

    `starter(done)` starts something that will call `done(result)`, or `done(error=exception)`, from any
    thread, perhaps at once. The first call wins, and answers True; later ones answer False and change
    nothing. What the starter itself raises is raised here.

    `timeout` is in seconds from before the starter runs, on a steady clock; None waits for ever, 0 not at
    all. When it has passed TimeoutError is raised, with the `identifier` and the pending `future`, whose
    `result` waits again. Raises WouldDeadlockError on the thread that completes a store's futures.
    """
    if is_event_thread():
        raise errors.WouldDeadlockError("The store's event thread completes futures; wait on another thread.")
    deadline = deadline_of(timeout)
    future: concurrent.futures.Future[Any] = concurrent.futures.Future()
    _plain.done(starter(completion(future)), "A starter")
    try:
        return future.result(None if deadline is None else max(0.0, deadline - time.monotonic()))
    except concurrent.futures.TimeoutError:
        if future.done():  # with a TimeoutError of its own, or just now
            return future.result()
        raise timed_out(identifier, timeout, future) from None
    except KeyboardInterrupt:  # nobody waits any longer: what completes it now is told
        future.cancel()
        raise


def completion(future: "concurrent.futures.Future[Any]") -> Done:
    """What completes a future, once."""

    def done(result: Any = None, error: Optional[BaseException] = None) -> bool:
        if error is None and isinstance(result, BaseException):
            error = result
        try:
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
        except concurrent.futures.InvalidStateError:
            return False
        return True

    return done


def timed_out(identifier: Optional[str], timeout: Optional[float], future: Any) -> errors.TimeoutError:
    """The error of a wait that ended before the future did."""
    name = "The result" if identifier is None else f'"{identifier}"'
    detail = {} if identifier is None else {"identifier": identifier}
    error = errors.TimeoutError(f"{name} was not there within {timeout:g} s and is awaited.", detail=detail)
    error.future = future
    return error
