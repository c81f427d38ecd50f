"""Persistence for stores in Redux's way, in asyncio."""

import asyncio
from typing import Any, Optional

from .. import errors, redux
from .._controllers import Action
from ._events import Closing
from .controller import Controller
from .repository import Repository


class PersistenceMiddleware(redux.Middleware, Closing):
    """Persistence of one repository for a store in Redux's way: an asynchronous context manager that opens
    and closes it. Outcomes are dispatched from the loop. The rest as `holdfast.PersistenceMiddleware`."""

    def __init__(self, repository: "Repository[Any]", name: Optional[str] = None) -> None:
        loop = repository.store._events.loop
        super().__init__(repository.name if name is None else name, loop.call_soon)
        self._controller = Controller(repository, self._see)

    async def __aenter__(self) -> "PersistenceMiddleware":
        await self._controller._open()
        return self

    def close(self) -> "asyncio.Future[None]":
        """Ends the requests at once: nothing is dispatched any more. May be called again. What it answers is
        there to be awaited, and need not be."""
        self._dispatch = None
        return self._controller.close()

    def _carry_out(self, action: Action) -> None:
        if self._controller._native is None:
            raise errors.InvalidStateError("The middleware is not open: enter it with `async with`.")
        self._controller._dispatch(action)
