"""Inbox: what the library told a stream and nobody has taken yet."""

import collections
import ctypes
from typing import Callable, Optional, Union

from . import errors
from ._limits import LIMITS
from ._types import EVENT_CHANGES, HF_CLOSED, HF_OK, hf_event

Told = Union[bytes, BaseException]


class Inbox:
    """Takes a stream's events from whoever drains the store's, and keeps them until they are wanted.

    It is bounded: once it is full it refuses everything, and the stream begins again behind what was taken.
    Holds no reference to the stream, so that one can be collected.
    """

    MOST_EVENTS = LIMITS.inbox_events
    MOST_BYTES = LIMITS.inbox_bytes

    def __init__(self, wake: Callable[[], None]) -> None:
        self._told: collections.deque[Told] = collections.deque()
        self._bytes = 0
        self._wake = wake
        #: Whether something was refused.
        self.is_full = False
        #: Whether nothing comes any more.
        self.is_closed = False

    @property
    def is_ready(self) -> bool:
        """Whether who waits need wait no longer."""
        return bool(self._told) or self.is_full or self.is_closed

    def hear(self, event: hf_event) -> None:
        """Keeps what an event tells."""
        if event.status == HF_OK:
            if event.kind == EVENT_CHANGES:
                self._keep(event)
        elif event.status != HF_CLOSED and not self.is_closed:
            self._told.append(errors.from_native(event.status, event.error))
        if event.kind != EVENT_CHANGES:
            self.is_closed = True
        self._wake()

    def abandon(self, _: BaseException) -> None:
        """The store was freed."""
        self.is_closed = True
        self._wake()

    def close(self) -> None:
        """Forgets everything: nothing comes any more."""
        self.is_closed = True
        self._told.clear()
        self._wake()

    def peek(self) -> Optional[Told]:
        """The oldest that is kept; None where there is nothing."""
        try:
            return self._told[0]
        except IndexError:
            return None

    def drop(self) -> None:
        """Forgets the oldest that is kept, if there is one: it was read, or a `close` was faster."""
        try:
            told = self._told.popleft()
        except IndexError:
            return
        if isinstance(told, bytes):
            self._bytes -= len(told)

    def begin_anew(self) -> None:
        """Forgets everything, so that the stream begins again."""
        self.is_full = True
        self._told.clear()

    def _keep(self, event: hf_event) -> None:
        if self.is_closed or self.is_full:
            return
        if len(self._told) >= self.MOST_EVENTS or self._bytes >= self.MOST_BYTES:
            self.is_full = True
            return
        self._bytes += event.value.length
        self._told.append(ctypes.string_at(event.value.data, event.value.length))
