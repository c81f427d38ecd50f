"""Maintenance of a store, awaited."""

from typing import Optional

from .. import maintenance as blocking
from .._doors import Awaited
from ._events import threaded

restore = threaded(blocking.restore)


class Maintenance(Awaited, blocking.StoreMaintenance):
    """Maintenance of an open store, as `holdfast.Maintenance`. Each call has a thread of its own while it
    lasts, on which `progress` is told; those of `upgrade` are called with a blocking store."""

    async def schema_version(self) -> Optional[int]:
        """The recorded version of the program's schema; None where none is."""
        return await self._in_thread(lambda store: store.schema_version)
