"""Cursor: what a query finds, in pieces, so that any number of entities takes little memory."""

import ctypes
import threading
from collections.abc import Iterator
from typing import Any, Generic, Optional, TypeVar

from . import errors
from ._codec import Codec, load
from ._handles import Closing, Handle, OfOneProcess, call, json_of
from ._library import lib
from ._types import hf_cursor, hf_entity_list

T = TypeVar("T")


class Cursor(OfOneProcess, Closing, Generic[T]):
    """Iterates over what a query finds, on one snapshot; `Repository.iterate` opens it.

    A snapshot that is too old, or in the way of others, is taken back; the cursor then goes on with a newer
    one if nothing that it has read is different there, and else raises ConflictError. Closing it, leaving its
    `with` block, or coming to its end gives the snapshot back.

    What is raised ends only the call in which it is: the next one goes on. An entity that cannot be read as
    one of the repository's class raises CorruptError when it is its turn, and is left out from then on, as is
    one at which a signal's handler raises.
    """

    def __init__(self, codec: Optional[Codec[T]], *arguments: Any) -> None:
        pointer = ctypes.POINTER(hf_cursor)()
        self._handle = Handle(pointer, lib.hf_cursor_free)
        call(lib.hf_cursor_open, *arguments, ctypes.byref(pointer))
        # Makes an entity of its members; None where they are the entity.
        self._read = None if codec is None else codec.reader
        self._load = load if codec is None else codec.loader()
        # What the library has handed out, until it was made a piece: it hands nothing out twice.
        self._unread = hf_entity_list()
        self._memory = Handle(ctypes.byref(self._unread), lib.hf_entity_list_free)
        # With whether it stands for all that was handed out. Both change at once, whatever is raised when.
        self._piece: tuple[Iterator[T], bool] = (iter(()), True)
        self._lock = threading.RLock()
        self._is_reading = False
        self._is_at_end = False

    def _title(self) -> str:
        return "at its end" if self._is_at_end else "open"

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        while True:
            piece = self._piece[0]
            for entity in piece:
                return entity
            if self._is_at_end:
                raise StopIteration
            self._go_on(piece)

    def close(self) -> None:
        """Ends the iteration and gives the snapshot back. May be called again."""
        self._is_at_end = True
        self._piece = (iter(()), True)
        self._handle.free()

    def _rest(self) -> tuple[list[T], Optional[Exception]]:
        """The entities of a piece up to one that raises something, and that; none at the end."""
        entities: list[T] = []
        try:
            entities.append(next(self))
            for entity in self._piece[0]:
                entities.append(entity)
        except StopIteration:
            pass
        except Exception as error:
            return entities, error
        return entities, None

    def _go_on(self, spent: Iterator[T]) -> None:
        """Reads the next piece in place of a spent one, unless another thread has."""
        self._handle.check_process()
        with self._lock:
            if self._is_reading:
                raise errors.ReentrantError("The cursor is just being read by what has called this.")
            try:
                self._is_reading = True
                if self._piece[0] is spent:
                    self._next_piece(spent)
            finally:
                self._is_reading = False

    def _next_piece(self, spent: Iterator[T]) -> None:
        if self._piece[1]:
            self._forget()
            self._piece = (spent, False)
        # Else something was raised before it was read, perhaps by the very call that filled it.
        if not self._unread.json:
            call(lib.hf_cursor_next, self._handle.pointer, 0, self._memory.pointer)
        if self._unread.count:
            entities = self._load(json_of(self._unread))
            self._piece = (iter(entities) if self._read is None else map(self._read, entities), True)
            self._forget()
        else:
            self.close()

    def _forget(self) -> None:
        lib.hf_entity_list_free(self._memory.pointer)
