"""Sources: what a stream asks the library for, and how it reads what that tells."""

import ctypes
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Generic, Optional, TypedDict, TypeVar

from . import errors
from ._codec import Codec, Id, id_of, misfit, options_of
from ._handles import call
from ._inbox import Inbox, Told
from ._library import lib
from ._query import Filter, filter_arguments, plain_filter, query_options
from ._types import hf_stream
from .changes import ChangeBatch, Decode, loader_of
from .difference import Difference, Moved, Placed, QueryEvent, Removed, Snapshot, follow
from .events import NO_CALLBACK, NO_DESTRUCTOR

T = TypeVar("T")


class Source(Generic[T]):
    """A stream of the library's that can be opened, and opened again behind what was read."""

    #: The place behind what was read last.
    position: Optional[str] = None
    #: What could not be read.
    _failed: Optional[Told] = None

    def open(self, token: int) -> Any:
        """Opens the native stream, whose events will carry the token, and answers its pointer."""
        pointer = ctypes.POINTER(hf_stream)()
        try:
            self._open(NO_CALLBACK, token, NO_DESTRUCTOR, ctypes.byref(pointer))
        except errors.CursorLostError as error:
            self.position = error.position
            raise
        except BaseException:  # such as Ctrl-C, behind it
            lib.hf_stream_free(pointer)
            raise
        return pointer

    def take(self, inbox: Inbox) -> Optional[T]:
        """What the stream's user gets next, or raises what is told. None where there is nothing yet.

        What is told leaves the inbox once it is read: what a signal's handler raises meanwhile loses nothing.
        """
        while (told := inbox.peek()) is not None:
            if isinstance(told, BaseException):
                inbox.drop()
                if isinstance(told, errors.CursorLostError):
                    self.position = told.position
                raise told
            try:
                value = self._read(told)
            except errors.InvalidArgumentError:
                # The difference does not fit: the whole result is needed.
                inbox.begin_anew()
                raise
            except Exception:
                # Of a signal's handler, or of what is told; that is not read again and again.
                if self._failed is told:
                    inbox.drop()
                self._failed = told
                raise
            inbox.drop()
            if value is not None:
                self._note(value)
                self.position = value.position
                return value  # type: ignore[no-any-return]
        return None

    def _open(self, *arguments: Any) -> None:
        raise NotImplementedError

    def _read(self, text: bytes) -> Any:
        """What is told; None for what was read already."""
        raise NotImplementedError

    def _note(self, value: Any) -> None:
        """What was read is handed over."""


class ChangeSource(Source["ChangeBatch[Any]"]):
    """Changes of a store, or of a part of it."""

    def __init__(self, store: Any, options: Mapping[str, Any], decode: Decode) -> None:
        self._store = store
        self._options = dict(options)
        self._decode = decode
        self.position = self._options.pop("since", None)
        #: The last commit that was read.
        self._sequence = 0

    def _open(self, *arguments: Any) -> None:
        options = options_of({**self._options, "since": self.position})
        call(lib.hf_stream_open, self._store.pointer, options, *arguments)

    def _read(self, text: bytes) -> "Optional[ChangeBatch[Any]]":
        batch = ChangeBatch.from_json(text, self._decode)
        # A durable subscription that had to be left begins again behind what was acknowledged.
        commits = tuple(commit for commit in batch.commits if commit.sequence > self._sequence)
        if not commits:
            return None
        return batch if len(commits) == len(batch.commits) else dataclasses.replace(batch, commits=commits)

    def _note(self, value: "ChangeBatch[Any]") -> None:
        self._sequence = value.commits[-1].sequence


class QuerySource(Source[QueryEvent[Any]]):
    """A live query."""

    def __init__(self, repository: Any, filter: Filter = None, **options: Any) -> None:
        self._repository = repository
        self._decode = as_members if options.get("fields") else decoder(repository._codec)
        self._query = (
            *filter_arguments(filter),
            query_options(**options),
        )
        self._entities: Optional[list[Any]] = None

    def _open(self, *arguments: Any) -> None:
        call(lib.hf_stream_open_query, self._repository.pointer, *self._query, *arguments)

    def _read(self, text: bytes) -> QueryEvent[Any]:
        data = loader_of(self._decode)(text)
        if "snapshot" in data:
            is_reset = data.get("reset", self._entities is not None)
            entities = [self._entity(it) for it in data["snapshot"]]
            return Snapshot(data["position"], entities, tuple(data["versions"]), is_reset)
        parts: dict[str, tuple[Any, ...]] = {
            "removed": tuple(Removed(it["position"], it["id"]) for it in data["removed"]),
            "inserted": self._placed(data["inserted"]),
            "moved": tuple(Moved(it["from"], it["to"], it["id"]) for it in data["moved"]),
            "changed": self._placed(data["changed"]),
        }
        entities = follow(self._entities or (), **parts)
        return Difference(data["position"], entities, data["merged"], **parts)

    def _note(self, value: QueryEvent[Any]) -> None:
        # Its user may change the list that he gets.
        self._entities = list(value.entities)

    def _placed(self, items: Sequence[Any]) -> tuple[Placed[Any], ...]:
        return tuple(
            Placed(it["position"], it["id"], it["version"], self._entity(it["entity"], it["id"]))
            for it in items
        )

    def _entity(self, members: Any, id: Any = None) -> Any:
        id = str(members.get(self._repository.key)) if id is None else id
        return self._decode(self._repository.name, id, members)


class ChangeOptions(TypedDict, total=False):
    """Which changes are told, and how much of them: `holdfast.Store.changes` tells of each."""

    id: Optional[Id]
    filter: Filter
    fields: Optional[Sequence[str]]
    old: bool
    entities: bool
    since: Optional[str]


def change_options(
    repository: Optional[str] = None,
    *,
    id: Optional[Id] = None,
    filter: Filter = None,
    fields: Optional[Sequence[str]] = None,
    old: bool = False,
    entities: bool = True,
    since: Optional[str] = None,
) -> dict[str, Any]:
    """The options of a stream by their names in the library; None where it is the default."""
    if isinstance(fields, str):
        raise TypeError("Fields are a list of paths, not one text.")
    return {
        "repository": repository,
        "id": None if id is None else id_of(id).decode(),
        "filter": plain_filter(filter),
        "fields": fields and list(fields),
        "old": old or None,
        "entities": None if entities else False,
        "since": since,
    }


def as_members(repository: str, id: str, members: Any) -> Any:
    """An entity as a dict."""
    return members


class Decoder:
    """Makes entities of a repository's class; a CorruptError where that cannot be done."""

    def __init__(self, codec: Codec[Any]) -> None:
        self._codec = codec
        #: What parses the text that members come from.
        self.loader = codec.loader

    def __call__(self, repository: str, id: str, members: Any) -> Any:
        """The entity of these members."""
        try:
            return self._codec.from_members(members)
        except errors.CorruptError as error:
            return error
        except Exception as raised:  # of the class
            error = misfit(self._codec.cls, repository, id, raised)
            error.__cause__ = raised
            return error


def decoder(codec: Codec[Any]) -> Decode:
    """What makes entities of a repository's class."""
    return as_members if codec.cls is None else Decoder(codec)
