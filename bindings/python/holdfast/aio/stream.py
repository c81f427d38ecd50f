"""Streams: changes and live queries, as asynchronous iterators."""

import asyncio
import functools
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable, Generic, Optional, TypeVar, overload

from .. import errors
from .. import stream as blocking
from .._codec import Codec, native_text
from .._doors import Awaited
from .._handles import Handle, OfOneProcess, call
from .._inbox import Inbox
from .._interrupts import OnError, OnFinished, tell, tell_error
from .._library import lib
from .._limits import LIMITS
from .._options import deadline_of, takes
from .._plain import done
from .._query import Filter, query_options
from .._sources import ChangeOptions, ChangeSource, QuerySource, Source, as_members, change_options, decoder
from ..aggregation import (
    AggregateEvent,
    AggregateOptions,
    AggregateSource,
    Pipeline,
    aggregate_options,
    pipeline_text,
)
from ..changes import ChangeBatch
from ..difference import QueryEvent
from ._events import Closing, in_thread, started

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._query import QueryOptions, QueryParts
    from .store import Store

T = TypeVar("T")
E = TypeVar("E")
S = TypeVar("S", bound="Stream[Any]")


class Stream(OfOneProcess, Closing, Generic[E]):
    """Events in the order of commits: an asynchronous iterator, and a context manager that closes it.

    It is opened when it is entered or its first event is awaited, and tells of what is committed from then
    on. Iterating ends when the stream or the store is closed. The rest as `holdfast.Stream`.
    """

    _inbox: Inbox
    _handle: Optional[Handle] = None
    _opening: "Optional[asyncio.Task[None]]" = None
    _task: "Optional[asyncio.Task[None]]" = None
    _is_closed = False

    def __init__(self, store: "Store", source: Callable[[], Source[E]]) -> None:
        self._store = store
        self._make_source = source
        self._source: Optional[Source[E]] = None
        self._changed = asyncio.Event()

    async def __aenter__(self: S) -> S:
        if self._handle is None:
            await self._begin()
        return self

    def __aiter__(self) -> "Stream[E]":
        return self

    async def __anext__(self) -> E:
        try:
            return await self.next()
        except errors.ClosedError:
            raise StopAsyncIteration from None

    def _title(self) -> str:
        return f"{'closed' if self._is_closed else 'open'} at {self.position!r}"

    @property
    def position(self) -> Optional[str]:
        """The place in the store's history behind the last event that was taken; None before the first."""
        return self._source and self._source.position

    async def next(self, timeout: Optional[float] = None) -> E:
        """The next event, waited for at most `timeout` seconds. Cancelling the wait loses none.

        Raises TimeoutError, and ClosedError when nothing comes any more.
        """
        deadline = deadline_of(timeout)
        while True:
            # What became of an opening that nobody awaited to its end is told first.
            if self._is_closed and self._opening is None:
                raise errors.ClosedError("The stream was closed.")
            if self._handle is None or self._opening is not None:
                await self._begin()
            await self._wait(deadline)
            event = await self._take()
            if event is not None:
                return event

    def subscribe(
        self, on_event: Callable[[E], object], on_finished: OnFinished = None, on_error: OnError = None
    ) -> "Stream[E]":
        """Has each event handed to a function, on the loop, until the stream is closed; answers the stream.
        `on_finished` hears that the store was closed; `on_error` of errors, and of what `on_event` raises;
        without it they are logged. Raises InvalidStateError in another loop than the store's."""
        self._store._events.check_loop()
        self._task = asyncio.ensure_future(self._serve(on_event, on_finished, on_error))
        return self

    def close(self) -> "asyncio.Future[None]":
        """Ends the stream at once: its events reach nobody any more. May be called again. What it answers
        is there to be awaited, and need not be."""
        self._is_closed = True
        if self._handle is not None:
            self._inbox.close()
            self._handle.free()
        closed = asyncio.get_running_loop().create_future()
        closed.set_result(None)
        return closed

    async def _begin(self) -> None:
        """Opens the native stream; again, where it had to be left. That goes on when who waits for it is
        cancelled, for whoever asks next."""
        self._store._blocking._handle.check_process()
        self._store._events.check_loop()
        if self._opening is None:
            self._opening = started(self._open_native())
        opening = self._opening
        try:
            await asyncio.shield(opening)
        finally:
            if opening.done() and self._opening is opening:
                self._opening = None

    async def _open_native(self) -> None:
        if self._handle is not None:
            self._handle.free()
        events = self._store._events
        inbox = Inbox(self._changed.set)
        token = events.register(inbox)
        try:
            async with self._store._events.threads:
                open = functools.partial(self._open, token)
                pointer = await in_thread(open, discard=lib.hf_stream_free)
        except BaseException as error:
            events.forget(token)
            # Where the stream went on it goes on still, from a later position.
            self._is_closed = self._handle is None or not isinstance(error, errors.CursorLostError)
            raise
        self._inbox = inbox
        self._handle = Handle(pointer, functools.partial(blocking.free, events, token))
        if self._is_closed:
            self.close()

    def _open(self, token: int) -> Any:
        if self._source is None:
            self._source = self._make_source()
        return self._source.open(token)

    async def _wait(self, deadline: Optional[float]) -> None:
        # No wait_for: before Python 3.12 one that is cancelled just as its time is up may go on as if not.
        while not self._inbox.is_ready:
            self._changed.clear()
            timer = None
            if deadline is not None:
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    await asyncio.sleep(0)  # what has come may be taken
                    if self._inbox.is_ready:
                        return
                    raise errors.TimeoutError("No event came in time; the stream goes on.")
                # Each round has its own: a loop whose clock is coarse, as uvloop's, calls before it is time.
                timer = asyncio.get_running_loop().call_later(remaining, self._changed.set)
            try:
                await self._changed.wait()
            finally:
                if timer is not None:
                    timer.cancel()

    async def _take(self) -> Optional[E]:
        """The next event; None where there is none yet."""
        assert self._source is not None
        event = self._source.take(self._inbox)
        if event is not None:
            return event
        if self._inbox.is_closed:
            raise errors.ClosedError("The stream has ended.")
        if self._inbox.is_full:
            await self._begin()
        return None

    async def _serve(
        self, on_event: Callable[[E], object], on_finished: OnFinished, on_error: OnError
    ) -> None:
        while True:
            try:
                event = await self.next()
            except errors.ClosedError:
                if not self._is_closed:
                    tell(on_finished)
                return
            except Exception as error:
                tell_error(on_error, error)
                if self._handle is None and self._opening is None:
                    return  # it was never opened
                continue
            try:
                done(on_event(event), "A subscribed function", "write `def`; it may begin a task.")
            except Exception as error:
                tell_error(on_error, error)


class ChangeStream(Stream[ChangeBatch[T]], Generic[T]):
    """Changes as they are committed: see `holdfast.ChangeStream`."""

    async def acknowledge(self, position: str) -> None:
        """Notes that what comes up to here is dealt with: see `holdfast.ChangeStream.acknowledge`."""
        if self._handle is None:
            raise errors.InvalidStateError("The stream was not opened yet.")
        text = native_text(position)
        pointer = self._handle.pointer
        await self._store._in_thread(lambda _: call(lib.hf_stream_acknowledge, pointer, text))


class LiveResult(Stream[E], Generic[E, T]):
    """A result as it changes, whole in each event."""

    #: The result that an event has.
    _result: Callable[[E], list[T]]

    # What `throttle` or `debounce` had taken when it was ended in its wait, as by a cancellation.
    _held: Optional[E] = None

    async def next(self, timeout: Optional[float] = None) -> E:
        """The next event: see `holdfast.aio.Stream.next`."""
        held, self._held = self._held, None
        return await super().next(timeout) if held is None else held

    def close(self) -> "asyncio.Future[None]":
        """Ends it: see `holdfast.aio.Stream.close`."""
        self._held = None
        return super().close()

    def throttle(self, seconds: float) -> AsyncIterator[list[T]]:
        """The results, at most one in so many seconds: see `holdfast.LiveQuery.throttle`."""
        return self._throttled(blocking.pause_of(seconds))

    def debounce(self, seconds: float) -> AsyncIterator[list[T]]:
        """The results, each once no other has come for so long: see `holdfast.LiveQuery.debounce`."""
        return self._debounced(blocking.pause_of(seconds))

    async def _throttled(self, seconds: float) -> AsyncIterator[list[T]]:
        at = time.monotonic()
        async for event in self:
            newest = await self._newest(event, at)
            at = time.monotonic() + seconds
            yield self._result(newest)

    async def _debounced(self, seconds: float) -> AsyncIterator[list[T]]:
        async for event in self:
            yield self._result(await self._newest(event, None, seconds))

    async def _newest(self, event: E, until: Optional[float], wait: float = 0.0) -> E:
        try:
            with suppress(errors.TimeoutError, errors.ClosedError):
                for _ in range(LIMITS.inbox_events):
                    event = await self.next(wait if until is None else max(0.0, until - time.monotonic()))
        except BaseException:
            self._held = event
            raise
        return event


class LiveQuery(LiveResult[QueryEvent[T], T], Generic[T]):
    """A query's result as it changes: see `holdfast.LiveQuery`."""

    def _result(self, event: "QueryEvent[T]") -> list[T]:
        return event.entities


class LiveAggregation(LiveResult[AggregateEvent[T], T], Generic[T]):
    """What a pipeline makes, as it changes: see `holdfast.LiveAggregation`."""

    def _result(self, event: "AggregateEvent[T]") -> list[T]:
        return event.documents


class StoreStreams(Awaited, blocking.StoreHistory):
    """What a `Store` tells of its commits."""

    _blocking: Any

    async def position(self) -> str:
        """The token of the newest visible commit's place in the store's history."""
        return await self._in_thread(lambda store: store.position)

    @takes(change_options)
    def changes(
        self, repository: Optional[str] = None, **options: "Unpack[ChangeOptions]"
    ) -> "ChangeStream[dict[str, Any]]":
        """Changes: `async for batch in store.changes("songs")`. Options: see `holdfast.Store.changes`."""
        return _change_stream(self, change_options(repository, **options), as_members)

    @takes(change_options)
    def subscribe(
        self, name: str, repository: Optional[str] = None, **options: "Unpack[ChangeOptions]"
    ) -> "ChangeStream[dict[str, Any]]":
        """A durable subscription. Options: see `holdfast.Store.subscribe`."""
        return _change_stream(self, {**change_options(repository, **options), "durable": name}, as_members)


class RepositoryStreams(Generic[T]):
    """What a `Repository` tells of its entities."""

    _codec: Codec[T]
    _store: "Store"
    _open: Callable[[], Any]

    if TYPE_CHECKING:

        @property
        def name(self) -> str: ...

    @takes(change_options)
    def changes(self, **options: "Unpack[ChangeOptions]") -> "ChangeStream[T]":
        """Changes of this repository, with entities of its class. Options: see
        `holdfast.Repository.changes`."""
        return _change_stream(self._store, change_options(self.name, **options), decoder(self._codec))

    @overload
    def observe(self, filter: Filter = None, **options: "Unpack[QueryOptions]") -> "LiveQuery[T]": ...

    @overload
    def observe(
        self, filter: Filter = None, **options: "Unpack[QueryParts]"
    ) -> "LiveQuery[dict[str, Any]]": ...

    @takes(query_options)
    def observe(self, filter: Filter = None, **options: Any) -> "LiveQuery[Any]":
        """What `find` answers, and then how it changes: `async for event in songs.observe({...})`. Options:
        see `holdfast.Repository.observe`."""
        return LiveQuery(self._store, lambda: QuerySource(self._open(), filter, **options))

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
        """What `aggregate` answers, and again each time commits have changed it: see
        `holdfast.Repository.observe_aggregate`."""
        text, given = pipeline_text(pipeline), aggregate_options(**options)
        return LiveAggregation(self._store, lambda: AggregateSource(self._open(), text, given, cls))


def _change_stream(store: Any, options: Any, decode: Any) -> "ChangeStream[Any]":
    return ChangeStream(store, lambda: ChangeSource(store._blocking, options, decode))
