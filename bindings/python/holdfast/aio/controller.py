"""Controller: persistence for programs with one direction of flow, awaited."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any, Callable, Generic, Optional, TypeVar, Union

from .. import errors
from .._codec import load
from .._controllers import (
    Action,
    Middleware,
    NativeController,
    State,
    action_of,
    entities_of,
    initial,
    named,
)
from .._handles import OfOneProcess
from .._interrupts import tell
from .._options import deadline_of
from .._plain import done
from ._events import Closing, in_thread
from .repository import Repository

T = TypeVar("T")


class Controller(OfOneProcess, Closing, Generic[T]):
    """Saves, deletes and requests by actions, of one repository: an asynchronous context manager that closes
    it.

    It is opened when it is entered or its first action is dispatched. Middleware and `on_state` are
    functions, called on the loop; what they dispatch they leave to a task. The rest as `holdfast.Controller`.
    """

    _native: Optional[NativeController] = None
    # Whether none is told of new states any more.
    _is_over = False

    def __init__(
        self,
        repository: "Repository[T]",
        middleware: Optional[Middleware] = None,
        on_state: Optional[Callable[[dict[str, Any]], object]] = None,
    ) -> None:
        self._repository = repository
        self._middleware = middleware
        self._on_state = on_state
        self._opening = asyncio.Lock()
        # Set, and replaced, when there is a new state.
        self._changed = asyncio.Event()

    async def __aenter__(self) -> "Controller[T]":
        await self._open()
        return self

    def _title(self) -> str:
        return f"of {self._repository!r}, closed" if self._is_over else f"of {self._repository!r}"

    @property
    def state(self) -> dict[str, Any]:
        """The state as it is now; inside the middleware, as it is before the action."""
        return load(self._state())

    async def dispatch(self, action: Union[Action, bytes]) -> Any:
        """Dispatches an action: see `holdfast.Controller.dispatch`. Once opened this waits for nothing."""
        action, name = named(action)
        await self._open()
        self._dispatch(action)
        return name

    def entities(self, token: Union[str, int, None] = None, state: Optional[State] = None) -> list[T]:
        """The result of a request, by default the latest, as entities of the class: see
        `holdfast.Controller.entities`."""
        repository = self._repository
        given = self._state() if state is None else state
        return entities_of(repository._codec, repository.name, token, given)

    async def states(self, timeout: Optional[float] = None) -> AsyncIterator[dict[str, Any]]:
        """The state now, and then each new one: `async for state in controller.states()`. See
        `holdfast.Controller.states`."""
        text: Optional[bytes] = None
        while True:
            try:
                text = await self._next(text, deadline_of(timeout))
            except errors.ClosedError:
                return
            yield load(text)

    async def wait_for(
        self, predicate: Callable[[dict[str, Any]], object], timeout: Optional[float] = None
    ) -> dict[str, Any]:
        """The first state of which the predicate is true: see `holdfast.Controller.wait_for`."""
        deadline = deadline_of(timeout)
        text: Optional[bytes] = None
        while True:
            text = await self._next(text, deadline)
            state = load(text)
            if done(predicate(state), "A predicate"):
                return state
            if deadline is not None and time.monotonic() >= deadline:
                raise errors.TimeoutError("No such state came in time.")

    def close(self) -> "asyncio.Future[None]":
        """Ends the requests at once: neither middleware nor `on_state` is called any more. What is being
        saved or deleted goes on. May be called again. What it answers is there to be awaited, and need not
        be."""
        if self._native is not None:
            self._native.close()
        self._end()
        closed = asyncio.get_running_loop().create_future()
        closed.set_result(None)
        return closed

    async def _open(self) -> None:
        async with self._opening:
            if self._native is not None:
                return
            store = self._repository._store
            store._blocking._handle.check_process()
            async with store._events.threads:
                repository = await in_thread(self._repository._open)
            if self._is_over:
                raise errors.ClosedError("The controller was closed.")
            self._native = NativeController(self, repository, store._events, self._middleware is not None)

    def _dispatch(self, action: Union[Action, bytes]) -> None:
        assert self._native is not None
        text = action_of(action, self._repository._codec)
        self._repository._store._events.expect_effect()
        self._native.dispatch(text)

    def _state(self) -> bytes:
        return initial() if self._native is None else self._native.state()

    async def _next(self, last: Optional[bytes], deadline: Optional[float]) -> bytes:
        """The next state that is not this one."""
        while True:
            changed, is_over = self._changed, self._is_over
            text = self._state()
            if text != last:
                return text
            if is_over:
                raise errors.ClosedError("The controller, or its store, was closed.")
            remaining = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                await asyncio.wait_for(changed.wait(), remaining)
            except asyncio.TimeoutError:
                if not changed.is_set():
                    raise errors.TimeoutError("No such state came in time.") from None

    # --- Called by the library -------------------------------------------------------------------

    def _see(self, action: bytes, state: bytes) -> None:
        tell(self._middleware, load(action), load(state))

    def _hear(self) -> None:
        self._wake()
        if self._on_state is not None:
            tell(self._on_state, self.state)

    def _end(self) -> None:
        self._is_over = True
        self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
