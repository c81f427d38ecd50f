"""Controller: persistence for programs with one direction of flow. Actions go in, state comes out."""

import threading
import time
from collections.abc import Iterator
from typing import Any, Callable, Generic, Optional, TypeVar, Union

from . import errors
from ._codec import load
from ._controllers import (
    Action,
    Middleware,
    NativeController,
    State,
    action_of,
    entities_of,
    json_of,
    named,
    reduced,
)
from ._handles import Closing, OfOneProcess
from ._interrupts import tell
from ._options import deadline_of
from ._plain import done
from .events import is_event_thread
from .repository import Repository

T = TypeVar("T")


def reduce(action: Union[Action, bytes], state: Union[State, bytes, None] = None) -> dict[str, Any]:
    """What an action makes of a state; None is the first one.

    Pure: it knows no store, changes neither argument, and answers the same for the same. So what has no token
    has "default" here, while `dispatch` gives it one of its own.
    """
    return load(reduced(json_of(action), None if state is None else json_of(state)))


class Controller(OfOneProcess, Closing, Generic[T]):
    """Saves, deletes and requests by actions, of one repository: a context manager that closes it.

    Actions and states are the dicts that holdfast/controller.h describes. An action's "element" may be of the
    repository's class, and a request's "filter" an expression of `F`. For each action, one at a time, the
    `middleware` sees it with the state before it, then `reduce` makes the new state, then effects begin; what
    becomes of them comes back as an action.

    `middleware(action, state)` is called on the thread that dispatches, or is dispatching just then, and for
    outcomes on the store's event thread; it must not wait for another thread that dispatches. `on_state` is
    called with the new state, on the store's event thread; where they come fast, with the latest only. Both
    may dispatch and close the controller, `on_state` the store too. What they raise is logged.

    A controller that nobody has any more is closed.
    """

    def __init__(
        self,
        repository: "Repository[T]",
        middleware: Optional[Middleware] = None,
        on_state: Optional[Callable[[dict[str, Any]], object]] = None,
    ) -> None:
        store = repository.store
        store._handle.check_process()
        self._repository = repository
        self._middleware = middleware
        self._on_state = on_state
        # Held while `on_state` is called.
        self._telling = threading.RLock()
        self._changed = threading.Condition()
        # How often there were new states, and whether none is told any more.
        self._count = 0
        self._is_over = False
        # The thread that the middleware is called on.
        self._middleware_thread: Optional[int] = None
        self._native = NativeController(self, repository, store._events, middleware is not None)

    def _title(self) -> str:
        return f"of {self._repository!r}, closed" if self._is_over else f"of {self._repository!r}"

    @property
    def state(self) -> dict[str, Any]:
        """The state as it is now; inside the middleware, as it is before the action."""
        return load(self._native.state())

    def dispatch(self, action: Union[Action, bytes]) -> Any:
        """Dispatches an action. When this returns the state is the new one and effects have begun; inside the
        middleware that is so after its call.

        Answers the "token" of a request, the "id" of a save or delete: a new one where it has none, so that
        two have none in common unless they are to. None for other actions.

        When a "cancelRequest" returns, the middleware and `on_state` hear of its request no more, except in a
        call that this is called from. Raises only for what is no action, such as InvalidOptionError;
        everything else is told by the state.
        """
        action, name = named(action)
        text = action_of(action, self._repository._codec)
        self._native.dispatch(text)
        # An element that holds this word is waited for in vain.
        if b'"cancelRequest"' in text:
            self._wait_for_call()
        return name

    def entities(self, token: Union[str, int, None] = None, state: Optional[State] = None) -> list[T]:
        """The result of a request, by default the latest, as entities of the repository's class; a
        CorruptError in the place of one that is not. Empty where none has come, or the request has ended.
        `state` is by default the one now.
        """
        repository = self._repository
        given = self._native.state() if state is None else state
        return entities_of(repository._codec, repository.name, token, given)

    def states(self, timeout: Optional[float] = None) -> Iterator[dict[str, Any]]:
        """The state now, and then each new one, as an iterator; where they come fast, the latest only.

        Ends when the controller or the store is closed. Raises TimeoutError where the next does not come
        within `timeout` seconds, and WouldDeadlockError rather than wait on the store's event thread or
        inside the middleware.
        """
        text: Optional[bytes] = None
        while True:
            try:
                text = self._next(text, deadline_of(timeout))
            except errors.ClosedError:
                return
            yield load(text)

    def wait_for(
        self, predicate: Callable[[dict[str, Any]], object], timeout: Optional[float] = None
    ) -> dict[str, Any]:
        """The first state, from the one now on, of which the predicate is true.

        A state that lasts no longer than others need to look may be missed. Raises ClosedError when none
        comes any more, and as `states`; `timeout` is for all of it.
        """
        deadline = deadline_of(timeout)
        text: Optional[bytes] = None
        while True:
            text = self._next(text, deadline)
            state = load(text)
            if done(predicate(state), "A predicate"):
                return state
            if deadline is not None and time.monotonic() >= deadline:
                raise errors.TimeoutError("No such state came in time.")

    def close(self) -> None:
        """Ends the requests: when this returns neither middleware nor `on_state` is called any more, except
        in a call that this is called from. What is being saved or deleted goes on. May be called again."""
        if self._native.is_foreign:
            return
        self._native.close()
        self._end()
        self._wait_for_call()

    def _next(self, last: Optional[bytes], deadline: Optional[float]) -> bytes:
        """The next state that is not this one."""
        while True:
            count, is_over = self._count, self._is_over
            text = self._native.state()
            if text != last:
                return text
            if is_over:
                raise errors.ClosedError("The store was closed; its controllers tell of no new state.")
            self._wait(count, deadline)

    def _wait(self, count: int, deadline: Optional[float]) -> None:
        with self._changed:
            while self._count == count and not self._is_over:
                if is_event_thread() or self._is_in_middleware:
                    raise errors.WouldDeadlockError("This thread makes the states; wait on another.")
                remaining = None if deadline is None else deadline - time.monotonic()
                if remaining is not None and remaining <= 0:
                    raise errors.TimeoutError("No such state came in time.")
                self._changed.wait(remaining)

    def _wait_for_call(self) -> None:
        """Waits for an `on_state` that is running, with a state that may be old; not inside the middleware,
        for which that may be waiting."""
        if not self._is_in_middleware:
            with self._telling:
                pass

    @property
    def _is_in_middleware(self) -> bool:
        return self._middleware_thread == threading.get_ident()

    # --- Called by the library -------------------------------------------------------------------

    def _see(self, action: bytes, state: bytes) -> None:
        self._middleware_thread = threading.get_ident()
        try:
            tell(self._middleware, load(action), load(state))
        finally:
            self._middleware_thread = None

    def _hear(self) -> None:
        with self._changed:
            self._count += 1
            self._changed.notify_all()
        if self._on_state is not None:
            with self._telling:
                try:
                    state = self.state
                except errors.ClosedError:
                    return
                tell(self._on_state, state)

    def _end(self) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
