"""What one run of the command has in common."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Optional

from .. import store
from .output import Output


@dataclass
class Session:
    """The options that stand before the command, and in a shell its store."""

    output: Output = field(default_factory=Output)
    read_only: bool = False
    kept: Optional[store.Store] = None

    def telling(self, **change: Any) -> "Session":
        """The same with another output."""
        return dataclasses.replace(self, output=dataclasses.replace(self.output, **change))

    @contextmanager
    def open(self, url: str, *, write: bool = False, create: bool = False) -> Iterator[store.Store]:
        """The store of this URL for the block, read-only unless `write`; in a shell that of the shell."""
        if self.kept is not None:
            yield self.kept
            return
        with store.open(url, read_only=self.read_only or not write, create=create) as opened:
            yield opened
