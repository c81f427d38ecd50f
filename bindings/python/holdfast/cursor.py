"""Cursor: what a query finds, in pieces, so that any number of entities takes little memory."""

import ctypes
from collections.abc import Iterator
from typing import Any, Callable, Generic, TypeVar

from ._handles import Closing, Handle, OfOneProcess, call, native_list
from ._library import lib
from ._signatures import hf_cursor

T = TypeVar("T")


class Cursor(OfOneProcess, Closing, Generic[T]):
    """Iterates over what a query finds, on one snapshot; `Repository.iterate` opens it.

    A snapshot that is too old, or in the way of others, is taken back; the cursor then goes on with a newer
    one if nothing that it has read is different there, and else raises ConflictError. Closing it, leaving its
    `with` block, or coming to its end gives the snapshot back.
    """

    def __init__(self, decode_many: Callable[[bytes], list[T]], *arguments: Any) -> None:
        pointer = ctypes.POINTER(hf_cursor)()
        self._handle = Handle(pointer, lib.hf_cursor_free)
        call(lib.hf_cursor_open, *arguments, ctypes.byref(pointer))
        self._decode_many = decode_many
        self._piece: Iterator[T] = iter(())
        self._is_at_end = False

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        for entity in self._piece:
            return entity
        if not self._is_at_end:
            self._piece = iter(self._next_piece())
            for entity in self._piece:
                return entity
            self.close()
        raise StopIteration

    def close(self) -> None:
        """Ends the iteration and gives the snapshot back. May be called again."""
        self._is_at_end = True
        self._piece = iter(())
        self._handle.free()

    def _next_piece(self) -> list[T]:
        with native_list() as entities:
            call(lib.hf_cursor_next, self._handle.pointer, 0, ctypes.byref(entities))
            return self._decode_many(ctypes.string_at(entities.json, entities.json_length))
