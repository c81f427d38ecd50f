"""Maintenance of a store, awaited."""

import functools
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any, Callable, Optional, Union

from .. import maintenance as blocking
from .._callbacks import Progress
from .._options import takes
from ..maintenance import ExportOptions, StrPath, Upgrade
from ._events import in_thread

if TYPE_CHECKING:
    from typing_extensions import Unpack


@takes(blocking.restore)
async def restore(backup: StrPath, url: StrPath, **options: Any) -> None:
    """Makes a store from a backup: see `holdfast.restore`."""
    await in_thread(functools.partial(blocking.restore, backup, url, **options))


class Maintenance:
    """Maintenance of an open store, as `holdfast.Maintenance`. Each call has a thread of its own while it
    lasts, on which `progress` functions are called."""

    _blocking: Any
    _in_thread: Callable[..., Any]

    async def backup(self, path: StrPath, *, progress: Optional[Progress] = None) -> dict[str, Any]:
        """See `holdfast.Maintenance.backup`."""
        return await self._in_thread(functools.partial(self._blocking.backup, path, progress=progress))

    async def verify(self, *, progress: Optional[Progress] = None) -> dict[str, Any]:
        """See `holdfast.Maintenance.verify`."""
        return await self._in_thread(functools.partial(self._blocking.verify, progress=progress))

    async def compact(self) -> dict[str, Any]:
        """See `holdfast.Maintenance.compact`."""
        return await self._in_thread(self._blocking.compact)

    @takes(blocking.Maintenance.export_lines)
    async def export_lines(
        self, target: Union[StrPath, IO[bytes]], **options: "Unpack[ExportOptions]"
    ) -> dict[str, Any]:
        """See `holdfast.Maintenance.export_lines`."""
        return await self._in_thread(functools.partial(self._blocking.export_lines, target, **options))

    @takes(blocking.Maintenance.import_lines)
    async def import_lines(
        self, source: Union[StrPath, IO[bytes], IO[str]], **options: Any
    ) -> dict[str, Any]:
        """See `holdfast.Maintenance.import_lines`."""
        return await self._in_thread(functools.partial(self._blocking.import_lines, source, **options))

    @takes(blocking.Maintenance.import_table)
    async def import_table(self, path: StrPath, table: str, **options: Any) -> dict[str, Any]:
        """See `holdfast.Maintenance.import_table`."""
        return await self._in_thread(functools.partial(self._blocking.import_table, path, table, **options))

    async def schema_version(self) -> Optional[int]:
        """The recorded version of the program's schema; None where none is."""
        return await self._in_thread(lambda: self._blocking.schema_version)

    async def upgrade(
        self,
        upgrades: Mapping[int, Upgrade],
        *,
        backup: bool = True,
        progress: Optional[Progress] = None,
    ) -> dict[str, Any]:
        """See `holdfast.Maintenance.upgrade`. The functions are called with a blocking store."""
        return await self._in_thread(
            functools.partial(self._blocking.upgrade, upgrades, backup=backup, progress=progress)
        )
