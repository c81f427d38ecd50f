"""Answers: what a call answers, read from the library's memory, or from the JSON of an operation's result."""

import ctypes
from typing import Any, Callable, Generic, Optional, TypeVar

from ._handles import Result, call, load_list, native_buffer, native_list, text_of
from ._interrupts import kept, raise_kept
from ._json import Load, load
from ._types import HF_NOT_FOUND, hf_entity_list

T = TypeVar("T")
#: A function of the library's that answers a status.
Function = Callable[..., int]


class Answer(Generic[T]):
    """Nothing, and the base of what a call answers."""

    #: Whether it can be the answer of one of several calls.
    is_step = True

    def __init__(
        self,
        read: Callable[[Any], T] = lambda value: value,
        loader: Callable[[], Load] = lambda: load,
        *,
        writes: bool = False,
    ) -> None:
        #: Makes the answer of an operation's result, parsed.
        self.read = read
        #: Tells what parses it, when there is one.
        self.loader = loader
        self._writes = writes

    def read_text(self, text: bytes, version: int) -> T:
        """The answer from an operation's result as the library gave it, with its version."""
        return self.read(self.loader()(text))

    def ask(self, function: Function, arguments: list[Any], is_part: bool, given: Optional[T] = None) -> T:
        """Makes a call of the library's, which may be a part of a transaction. What is given is the answer,
        where that is known."""
        return self._asked(lambda: given, is_part, function, *arguments)  # type: ignore[return-value]

    def of_list(self, entities: hf_entity_list) -> T:
        """The answer of a query, from a list of what was found."""
        return self.read(load_list(entities, self.loader()))

    def _asked(self, answer: Callable[[], T], is_part: bool, *call_of: Any) -> T:
        call(*call_of, stored=answer if self._writes and not is_part else None)
        return answer()


class Entity(Answer[T]):
    """An entity; of what is read, perhaps none."""

    def ask(self, function: Function, arguments: list[Any], is_part: bool, given: Optional[T] = None) -> T:
        """Makes the call."""
        result = Result.take()
        try:
            entity = result.entity_reference if given is None else None
            if self._writes and not is_part:
                call(function, *arguments, entity, stored=lambda: self._of(result, given))
                return self._of(result, given)
            status = function(*arguments, entity, result.error_reference)
            if status or kept:
                if status == HF_NOT_FOUND and not self._writes:
                    raise_kept()  # not where the caller could take it for that failure
                    return self.read(None)
                result.check(status)
            return self._of(result, given)
        finally:
            result.put_back()

    def _of(self, result: Result, given: Optional[T]) -> T:
        return self.read_text(result.bytes(), result.entity.version) if given is None else given

    def of_list(self, entities: hf_entity_list) -> T:
        """The first of them."""
        return self.read(next(iter(load_list(entities, self.loader())), None))


class EntityText(Entity[Any]):
    """What is made of an entity's bytes and version, or None where there is none."""

    is_step = False

    def __init__(self, read_text: Callable[[bytes, int], Any]) -> None:
        super().__init__()
        self._read_text = read_text

    def read_text(self, text: bytes, version: int) -> Any:
        """The answer from what the library gave."""
        return None if text == b"null" else self._read_text(text, version)


class Entities(Answer[T]):
    """What is made of a list of entities."""

    def ask(self, function: Function, arguments: list[Any], is_part: bool, given: Optional[T] = None) -> T:
        """Makes the call."""
        if given is not None:
            return super().ask(function, [*arguments, None], is_part, given)
        with native_list() as entities:
            arguments.append(ctypes.byref(entities))
            return self._asked(lambda: self.of_list(entities), is_part, function, *arguments)


class Views(Entities[list[Any]]):
    """What is made of each entity of a list, as the library lends it."""

    def __init__(
        self, read_view: Callable[[Any], Any], read: Callable[[list[Any]], list[Any]] = list
    ) -> None:
        super().__init__(read)
        self._view = read_view

    def of_list(self, entities: hf_entity_list) -> list[Any]:
        """All of them."""
        return [self._view(entities.items[index]) for index in range(entities.count)]


class Number(Answer[Any]):
    """A number, or whether there is any."""

    def __init__(self, kind: Any, *, writes: bool = False) -> None:
        super().__init__(writes=writes)
        self._kind = kind

    def ask(self, function: Function, arguments: list[Any], is_part: bool, given: Any = None) -> Any:
        """Makes the call."""
        number = self._kind()
        return self._asked(lambda: number.value, is_part, function, *arguments, ctypes.byref(number))

    def of_list(self, entities: hf_entity_list) -> Any:
        """How many there are."""
        return self._kind(entities.count).value


class Counts(Answer[T]):
    """Two numbers, as the fields of a class."""

    def __init__(self, kind: Callable[..., T], *, writes: bool = False) -> None:
        super().__init__(lambda counts: kind(**counts), writes=writes)
        self._kind = kind

    def ask(self, function: Function, arguments: list[Any], is_part: bool, given: Optional[T] = None) -> T:
        """Makes the call."""
        counts = ctypes.c_uint64(), ctypes.c_uint64()
        arguments += map(ctypes.byref, counts)
        return self._asked(lambda: self._kind(*[it.value for it in counts]), is_part, function, *arguments)


class Json(Answer[Any]):
    """A value that the library gives as JSON."""

    def ask(self, function: Function, arguments: list[Any], is_part: bool, given: Any = None) -> Any:
        """Makes the call."""
        with native_buffer() as buffer:
            arguments.append(ctypes.byref(buffer))
            return self._asked(lambda: self.read_text(text_of(buffer), 0), is_part, function, *arguments)
