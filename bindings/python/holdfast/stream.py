"""Streams: changes and live queries, as iterators or with callbacks."""

import ctypes
import functools
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable, Generic, Optional, TypeVar, overload

from . import errors
from ._codec import Codec, Id, native_text, options_of
from ._doors import Blocking, threaded
from ._handles import Closing, Handle, OfOneProcess, call, native_buffer, text_of
from ._inbox import Inbox
from ._interrupts import OnError, OnFinished, tell, tell_error
from ._library import lib
from ._limits import LIMITS
from ._options import deadline_of, takes
from ._plain import done
from ._query import Filter, query_options
from ._sources import ChangeOptions, ChangeSource, QuerySource, Source, as_members, change_options, decoder
from .aggregation import (
    AggregateEvent,
    AggregateOptions,
    AggregateSource,
    Pipeline,
    aggregate_options,
    pipeline_text,
)
from .changes import ChangeBatch
from .difference import QueryEvent
from .events import Events, is_event_thread

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._query import QueryOptions, QueryParts
    from .store import Store

T = TypeVar("T")
E = TypeVar("E")


class _Signal:
    """What an inbox calls when it has changed. Refers to the stream only while that serves a subscriber."""

    def __init__(self) -> None:
        self.condition = threading.Condition()
        self.serve: Optional[Callable[[], None]] = None

    def __call__(self) -> None:
        with self.condition:
            self.condition.notify_all()
        serve = self.serve
        if serve is not None:
            serve()


class Stream(OfOneProcess, Closing, Generic[E]):
    """Events in the order of commits: an iterator, and a context manager that closes it.

    Iterating waits for the next event, and ends when the stream or the store is closed. An error is raised
    where it belongs among the events; iterating again goes on behind it, unless nothing comes any more.
    Breaking out of a loop over a stream that has no other name closes it, and so does the garbage collector.

    A consumer that does not keep up loses nothing of what matters and takes little memory: what waits for it
    is bounded, and beyond that told again, more briefly, when it comes.
    """

    def __init__(self, events: Events, source: Source[E]) -> None:
        self._events = events
        self._source = source
        self._signal = _Signal()
        # Held while an event is read, so that lists follow in order, and while a subscriber is called.
        self._reading = threading.RLock()
        self._begin()

    def __iter__(self) -> Iterator[E]:
        return self

    def __next__(self) -> E:
        try:
            return self.next()
        except errors.ClosedError:
            raise StopIteration from None

    def _title(self) -> str:
        return f"{'closed' if self._inbox.is_closed else 'open'} at {self.position!r}"

    @property
    def position(self) -> Optional[str]:
        """The place in the store's history behind the last event that was taken; None before the first."""
        return self._source.position

    def next(self, timeout: Optional[float] = None) -> E:
        """The next event, waited for at most `timeout` seconds.

        Raises TimeoutError, ClosedError when nothing comes any more, and WouldDeadlockError rather than wait
        on the store's event thread.
        """
        self._handle.check_process()
        deadline = deadline_of(timeout)
        while True:
            self._wait(deadline)
            with self._reading:
                event = self._take()
            if event is not None:
                return event

    def subscribe(
        self, on_event: Callable[[E], object], on_finished: OnFinished = None, on_error: OnError = None
    ) -> "Stream[E]":
        """Has each event handed to a function, on the store's event thread, until the stream is closed.

        Answers the stream, which goes on also if nobody keeps it. What has come already is handed over now,
        on this thread. `on_finished` hears that the store was closed; `on_error` of errors, and of what
        `on_event` raises; without it they are logged. The functions may close this stream, others, and the
        store, and should not wait for commits. Ctrl-C in them on this thread is raised here, and then nobody
        is subscribed.
        """
        self._handle.check_process()
        with self._reading:
            self._signal.serve = functools.partial(self._serve, on_event, on_finished, on_error)
            try:
                self._signal.serve()
            except BaseException:
                self._signal.serve = None
                raise
        return self

    def close(self) -> None:
        """Ends the stream: when this returns its events reach nobody any more, except through a call that
        this is called from. Waits for a function of `subscribe` that is running. May be called again."""
        if self._handle.is_foreign:
            return
        self._signal.serve = None
        self._inbox.close()
        with self._reading:
            self._inbox.close()
            self._handle.free()

    def _begin(self) -> None:
        """Opens the native stream; again, where it had to be left."""
        inbox = Inbox(self._signal)
        token = self._events.register(inbox)
        try:
            pointer = self._source.open(token)
        except BaseException:
            self._events.forget(token)
            raise
        self._inbox = inbox
        self._handle = Handle(pointer, functools.partial(free, self._events, token))

    def _begin_anew(self) -> None:
        self._handle.free()
        try:
            self._begin()
        except BaseException as error:
            # Where the position is lost it goes on from a later one; behind Ctrl-C, from the same.
            goes_on = isinstance(error, errors.CursorLostError) or not isinstance(error, errors.Error)
            self._inbox.is_closed = not goes_on
            raise

    def _wait(self, deadline: Optional[float]) -> None:
        inbox, condition = self._inbox, self._signal.condition
        with condition:
            while not inbox.is_ready:
                if is_event_thread():
                    raise errors.WouldDeadlockError("This thread takes the store's events; wait on another.")
                remaining = None if deadline is None else deadline - time.monotonic()
                if remaining is not None and remaining <= 0:
                    raise errors.TimeoutError("No event came in time; the stream goes on.")
                condition.wait(remaining)

    def _take(self) -> Optional[E]:
        """The next event; None where there is none yet."""
        inbox = self._inbox
        event = self._source.take(inbox)
        if event is not None:
            return event
        if inbox.is_closed:
            raise errors.ClosedError("The stream has ended.")
        if inbox.is_full:
            self._begin_anew()
        return None

    def _serve(self, on_event: Callable[[E], object], on_finished: OnFinished, on_error: OnError) -> None:
        """Hands over what there is."""
        with self._reading:
            while self._signal.serve is not None:
                try:
                    event = self._take()
                except errors.ClosedError:
                    self._signal.serve = None
                    tell(on_finished)
                    return
                except BaseException as error:
                    tell_error(on_error, error)
                    continue
                if event is None:
                    return
                try:
                    done(on_event(event), "A subscribed function")
                except BaseException as error:
                    tell_error(on_error, error)


class ChangeStream(Stream[ChangeBatch[T]], Generic[T]):
    """Changes as they are committed, by this process and others: a `Stream` of `ChangeBatch`.

    Raises CursorLostError, and goes on from its `position`, where the log was trimmed before it was read.
    """

    def acknowledge(self, position: str) -> None:
        """Notes that everything up to this position of a batch is dealt with: a subscription of this name
        goes on behind it when it is opened again. Raises InvalidStateError where it is not durable."""
        call(lib.hf_stream_acknowledge, self._handle.pointer, native_text(position))


class LiveResult(Stream[E], Generic[E, T]):
    """A result as it changes, whole in each event."""

    #: The result that an event has.
    _result: Callable[[E], list[T]]

    # What `throttle` or `debounce` had taken when it was ended in its wait, as by Ctrl-C.
    _held: Optional[E] = None

    def next(self, timeout: Optional[float] = None) -> E:
        """The next event: see `Stream.next`."""
        held, self._held = self._held, None
        return super().next(timeout) if held is None else held

    def close(self) -> None:
        """Ends it: see `Stream.close`."""
        self._held = None
        super().close()

    def throttle(self, seconds: float) -> Iterator[list[T]]:
        """The results of the events, at most one in so many seconds: the first at once, then the newest each
        time. What came between is not told; the last one is. Raises InvalidOptionError for what is no number
        of seconds that can be waited."""
        return self._throttled(pause_of(seconds))

    def _throttled(self, seconds: float) -> Iterator[list[T]]:
        at = time.monotonic()
        for event in self:
            newest = self._newest(event, at)
            at = time.monotonic() + seconds
            yield self._result(newest)

    def debounce(self, seconds: float) -> Iterator[list[T]]:
        """The results of the events, each once no other has come for so many seconds, or a thousand have come
        faster. What came between is not told; the last one is. Errors: see `throttle`."""
        seconds = pause_of(seconds)
        return (self._result(self._newest(event, None, seconds)) for event in self)

    def _newest(self, event: E, until: Optional[float], wait: float = 0.0) -> E:
        """The newest event from this one on: of those that come until then, or each after so long a wait."""
        try:
            with suppress(errors.TimeoutError, errors.ClosedError):
                for _ in range(LIMITS.inbox_events):
                    event = self.next(wait if until is None else max(0.0, until - time.monotonic()))
        except BaseException:
            self._held = event
            raise
        return event


class LiveQuery(LiveResult[QueryEvent[T], T], Generic[T]):
    """A query's result as it changes: a `Stream` whose first event is a `Snapshot`, and each after it a
    `Difference`, or another `Snapshot` where the consumer could not keep up."""

    def _result(self, event: "QueryEvent[T]") -> list[T]:
        return event.entities


class LiveAggregation(LiveResult[AggregateEvent[T], T], Generic[T]):
    """What a pipeline makes, as it changes: a `Stream` of `AggregateEvent`."""

    def _result(self, event: "AggregateEvent[T]") -> list[T]:
        return event.documents


def pause_of(seconds: float) -> float:
    """A number of seconds, if it is one that can be waited."""
    if not 0 <= seconds <= threading.TIMEOUT_MAX:
        most = int(threading.TIMEOUT_MAX)
        raise errors.InvalidOptionError(f"Results are held back for 0 to {most} seconds, not {seconds!r}.")
    return seconds


class StoreHistory:
    """What a store tells of earlier commits, whoever waits for it."""

    pointer: Any

    @threaded
    def changes_since(
        self,
        position: Optional[str] = None,
        repository: Optional[str] = None,
        *,
        id: Optional[Id] = None,
        filter: Filter = None,
        entities: bool = True,
        limit: Optional[int] = None,
    ) -> "ChangeBatch[dict[str, Any]]":
        """What was committed behind a position, or since the log begins, at most `limit` commits (1000).

        Its `position` is the one to ask with next. Other options: see `changes`. Raises CursorLostError.
        """
        options = change_options(repository, id=id, filter=filter, entities=entities)
        with native_buffer() as answer:
            call(
                lib.hf_store_changes_since,
                self.pointer,
                None if position is None else native_text(position),
                options_of({**options, "limit": limit}),
                ctypes.byref(answer),
            )
            return ChangeBatch.from_json(text_of(answer), as_members)


class StoreStreams(Blocking, StoreHistory):
    """What a `Store` tells of its commits."""

    _handle: Handle
    _events: Events

    @property
    def position(self) -> str:
        """The token of the newest visible commit's place in the store's history."""
        with native_buffer() as text:
            call(lib.hf_store_position, self.pointer, ctypes.byref(text))
            return text_of(text).decode()

    @takes(change_options)
    def changes(
        self, repository: Optional[str] = None, **options: "Unpack[ChangeOptions]"
    ) -> "ChangeStream[dict[str, Any]]":
        """Changes from the next commit on, or from behind the position `since`.

        `repository` names the only one that counts, and with it: `id` the only entity; `filter` those that
        match before or after; `fields` the paths one of which must lead to another value in an update. With
        `old` changes have the entities' former forms; without `entities` they have ids alone. Raises
        CursorLostError where the log no longer reaches back to `since`.

        Of other processes' commits, and of those from the log, no former form is known, and not each new one
        (see `EntityChange`): what `filter` and `fields` then cannot decide is told, whether it matches or
        not. Look at each change yourself.
        """
        return _change_stream(self, change_options(repository, **options), as_members)

    @takes(change_options)
    def subscribe(
        self, name: str, repository: Optional[str] = None, **options: "Unpack[ChangeOptions]"
    ) -> "ChangeStream[dict[str, Any]]":
        """A durable subscription: changes from behind what its `acknowledge` noted last under this name, also
        in an earlier run of the program. Each commit is told at least once. It is for one consumer at a time:
        another process under the same name hears everything, too.

        The first time, which is noted, and where the log no longer has its place, it begins behind `since`;
        without that the first time with the next commit. Other options, and of which changes they cannot
        decide: see `changes`. Raises InvalidStateError where one of this name is open in this process, and
        CursorLostError: open it again with the error's `position` as `since`, read what is stored anew, and
        acknowledge that position. While it is open, commits that it is not told of do not leave it behind.
        """
        return _change_stream(self, {**change_options(repository, **options), "durable": name}, as_members)


class RepositoryStreams(Generic[T]):
    """What a `Repository` tells of its entities."""

    _codec: Codec[T]
    _store: "Store"

    if TYPE_CHECKING:

        @property
        def name(self) -> str: ...

    @takes(change_options)
    def changes(self, **options: "Unpack[ChangeOptions]") -> "ChangeStream[T]":
        """Changes of this repository, with entities of its class: see `Store.changes`."""
        return _change_stream(self._store, change_options(self.name, **options), decoder(self._codec))

    @overload
    def observe(self, filter: Filter = None, **options: "Unpack[QueryOptions]") -> "LiveQuery[T]": ...

    @overload
    def observe(
        self, filter: Filter = None, **options: "Unpack[QueryParts]"
    ) -> "LiveQuery[dict[str, Any]]": ...

    @takes(query_options)
    def observe(self, filter: Filter = None, **options: Any) -> "LiveQuery[Any]":
        """What `find` answers, and then how it changes: `for event in songs.observe({"plays": {"$gt": 9}})`.

        Each event has the whole result as `entities`; a `Difference` says what is removed, inserted, moved
        and changed in it. A commit that leaves the result as it is tells nothing. Parameters: see `find`;
        without `sort` the order is that of the ids.
        """
        self._store._handle.check_process()
        return LiveQuery(self._store._events, QuerySource(self, filter, **options))

    @overload
    def observe_aggregate(
        self, pipeline: Pipeline, **options: "Unpack[AggregateOptions]"
    ) -> "LiveAggregation[dict[str, Any]]": ...

    @overload
    def observe_aggregate(
        self, pipeline: Pipeline, *, cls: type[E], **options: "Unpack[AggregateOptions]"
    ) -> "LiveAggregation[E]": ...

    @takes(aggregate_options)
    def observe_aggregate(
        self, pipeline: Pipeline, *, cls: Optional[type] = None, **options: Any
    ) -> "LiveAggregation[Any]":
        """What `aggregate` answers, and again, whole, each time commits have changed it: a stream of
        `AggregateEvent`, which `throttle` and `debounce` hold back. Parameters: see `aggregate`. Where the
        pipeline fails later, the stream ends with its error."""
        self._store._handle.check_process()
        source = AggregateSource(self, pipeline_text(pipeline), aggregate_options(**options), cls)
        return LiveAggregation(self._store._events, source)


def _change_stream(store: Any, options: Mapping[str, Any], decode: Any) -> "ChangeStream[Any]":
    store._handle.check_process()
    return ChangeStream(store._events, ChangeSource(store, options, decode))


def free(events: Any, token: int, pointer: Any) -> None:
    """Frees a native stream, and has its events go nowhere."""
    lib.hf_stream_free(pointer)
    events.forget(token)
