"""Calls: what is asked of a repository, by the functions of the library's, or as an operation."""

import ctypes
from collections.abc import Iterable
from typing import Any, Callable, NamedTuple, Optional

from . import errors
from ._answers import Answer
from ._codec import Codec, dump
from ._handles import call, native_list
from ._library import lib, without_signature
from ._query import PredicateCall, is_meant
from ._signatures import FUNCTIONS

# The functions of a repository, by the operations that do the same; and as they are called in a third of the
# time where no number of the program's is passed, nor a length that is no C int.
_PREFIX = "hf_repository_"
_NAMES = {name[len(_PREFIX) :]: name for name in FUNCTIONS if name.startswith(_PREFIX)}
_functions: dict[str, Callable[..., int]] = {it: getattr(lib, name) for it, name in _NAMES.items()}
_fast_functions = {it: without_signature(name) for it, name in _NAMES.items()}
_MOST = (1 << 31) - 1

# Which arguments are plain text, the others being JSON or numbers.
_TEXTS = ("id", "path")


def ask(
    repository: Any,
    transaction: Any,
    operation: str,
    answer: Answer[Any],
    given: Any,
    arguments: "dict[str, Any]",
) -> Any:
    """Has the library do what an operation of these arguments does, which its function takes in this order,
    as a part of a transaction where one is given."""
    function = _fast_functions[operation]
    native = [repository, transaction]
    for name, value in arguments.items():
        native.append(value)
        if name == "expected_version":
            function = _functions[operation]
        elif name != "options" and name != "path":
            length = 0 if value is None else len(value)
            native.append(length)
            if length > _MOST:
                function = _functions[operation]
    try:
        return answer.ask(function, native, transaction is not None, given)
    except errors.CorruptError as error:
        _correct(error, transaction is not None)
        raise


def ask_each(
    repository: Any,
    transaction: Any,
    predicate: Callable[[Any], object],
    codec: Codec[Any],
    answer: Answer[Any],
    options: Optional[bytes],
) -> Any:
    """The answer of a query that a function of the program's decides."""
    with PredicateCall(predicate, codec).calling() as token, native_list() as entities:
        arguments = (repository, transaction, is_meant, token, options, ctypes.byref(entities))
        call(lib.hf_repository_find_if, *arguments)
        return answer.of_list(entities)


def member(argument: "tuple[str, Any]") -> bytes:
    """A further member of an operation; nothing for what is None or 0. Bytes are JSON, unless the name says
    that they are text."""
    name, value = argument
    if value is None or value == 0:
        return b""
    if not isinstance(value, bytes):
        value = dump(value)
    elif name in _TEXTS:
        value = dump(value.decode())
    return b"," + dump(name) + b":" + value


class Description(NamedTuple):
    """What an operation does, in the library's JSON, and its answer."""

    #: The JSON, cut where the numbers of these repositories belong.
    pieces: "tuple[bytes, ...]"
    #: Those that are open; others stand there by their names.
    repositories: "tuple[Any, ...]"
    answer: Answer[Any]
    #: Hears that there was a result.
    note: Callable[[], object] = lambda: None

    @property
    def text(self) -> bytes:
        """The JSON, with the repositories' numbers."""
        return self._joined(str(number).encode() for number in range(len(self.repositories)))

    @property
    def title(self) -> str:
        """The beginning of the JSON, with the repositories' names."""
        return self._joined(dump(repository.name) for repository in self.repositories[:2]).decode()[:80]

    def _joined(self, repositories: Iterable[bytes]) -> bytes:
        first, *others = self.pieces
        return first + b"".join(map(bytes.__add__, repositories, others))

    def result(self, text: bytes, version: int, is_part: bool = False) -> Any:
        """The result of a run, which may be a part of a transaction."""
        self.note()
        try:
            return self.answer.read_text(text, version)
        except errors.CorruptError as error:
            _correct(error, is_part)
            raise


def _correct(error: errors.CorruptError, is_part: bool) -> None:
    if is_part:
        # What becomes of it, the transaction's end tells.
        error.commit_state = errors.CommitState.NONE
