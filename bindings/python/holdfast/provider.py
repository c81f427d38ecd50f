"""StorageProvider: a place of the program's own where a store's entities live."""

import ctypes
import functools
import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional

from . import errors
from ._callbacks import native
from ._codec import load
from ._interrupts import is_interrupt
from ._library import lib
from ._plain import done
from ._types import (
    HF_CORRUPT,
    HF_HOST_ERROR,
    HF_NOT_FOUND,
    HF_OK,
    destructor,
    hf_provider,
    hf_provider_apply_fn,
    hf_provider_change_token_fn,
    hf_provider_delete_fn,
    hf_provider_fetch_all_fn,
    hf_provider_fetch_fn,
    hf_provider_find_fn,
    hf_provider_save_fn,
    hf_provider_sync_fn,
)
from .store import Store

if TYPE_CHECKING:
    from ctypes import _Pointer

    from typing_extensions import Unpack

    from ._options import ProviderOptions


class ProviderWrite(NamedTuple):
    """One write of a commit, for `apply`."""

    repository: str
    id: str
    #: None to delete the entity.
    body: Optional[bytes]


class StorageProvider:
    """A place of the program's own where a store's entities live: `holdfast.open_provider(MyProvider())`.

    Subclasses write four methods: `save`, `fetch`, `fetch_all`, `delete`. A body is an entity's JSON object
    as bytes. Everything else that a store does works on top of them; what lives where, and what is promised
    when, stands in holdfast/provider.h.

    Four more are optional, and used where a subclass has them:

    `apply(writes: list[ProviderWrite]) -> None` carries out all of a commit's writes, or none and raises;
    without it they come one by one, and are taken back if one fails.
    `find(repository: str, filter: dict) -> Iterable[tuple[str, bytes]]` is as `fetch_all`, but may leave out
    what does not match.
    `change_token() -> int` answers another number after every change, whoever makes it. Without it nothing
    is cached unless `cache_bytes` is given.
    `sync() -> None` makes everything before durable.

    What a method raises becomes a HostError, whose `__cause__` it is; a CorruptError remains one. Methods are
    called on the thread that reads or commits, which may be one of the library's own, one call at a time
    unless the store was opened with `concurrent_calls=True`. They must not use the store that calls them, or
    wait for a thread that does.
    """

    def save(self, repository: str, id: str, body: bytes) -> None:
        """Stores an entity, in place of one that is there."""
        raise NotImplementedError

    def fetch(self, repository: str, id: str) -> Optional[bytes]:
        """An entity's body; None where there is none."""
        raise NotImplementedError

    def fetch_all(self, repository: str) -> Iterable[tuple[str, bytes]]:
        """The ids and bodies of all entities of a repository, in any order."""
        raise NotImplementedError

    def delete(self, repository: str, id: str) -> None:
        """Deletes an entity, if it is there."""
        raise NotImplementedError


def open_provider(provider: StorageProvider, **options: "Unpack[ProviderOptions]") -> Store:
    """Opens a store whose entities live with a provider of the program's own.

    The options are those of `open`, without `create` and what belongs to SQLite, and `concurrent_calls`:
    whether reads may call the provider at the same time as others. The provider is kept until the store is
    closed.
    """
    return Store._over(f"provider:{type(provider).__name__}", functools.partial(_open, provider), options)


# Without a lock: each access is atomic, and the library lets go of a provider on any of its threads.
_providers: dict[int, StorageProvider] = {}
_tokens = itertools.count(1)


def _open(provider: StorageProvider, options: bytes, out_store: Any, out_error: Any) -> int:
    token = next(_tokens)
    _providers[token] = provider
    functions = hf_provider(ctypes.sizeof(hf_provider), token, _free, _save, _fetch, _fetch_all, _delete)
    for name, function in _OPTIONAL.items():
        if hasattr(provider, name):
            setattr(functions, f"on_{name}", function)
    # On a failure the destructor takes it out again.
    return lib.hf_store_open_provider(ctypes.byref(functions), options, out_store, out_error)


# --- Called by the library, on the thread that reads or commits -----------------------------------------


@native(destructor)
def _free(token: int) -> None:
    _providers.pop(token, None)


def _answering(function: Callable[..., Optional[int]]) -> Callable[..., int]:
    """What a function raises is its answer."""

    @functools.wraps(function)
    def answer(*arguments: Any) -> int:
        *arguments, token, out_error = arguments
        try:
            return function(_providers[token], *arguments) or HF_OK
        except BaseException as error:
            if is_interrupt(error):
                raise
            status = HF_CORRUPT if isinstance(error, errors.CorruptError) else HF_HOST_ERROR
            message = f"{type(error).__name__}: {error}".replace("\0", "").encode(errors="replace")
            out_error[0] = lib.hf_error_create(status, errors.refusals.keep(error), message)
            return status

    return answer


def _text(pointer: "_Pointer[ctypes.c_char]", length: int) -> bytes:
    return ctypes.string_at(pointer, length)


def _visit_all(entities: Iterable[tuple[str, bytes]], visit: Callable[..., bool], visitor: Any) -> None:
    for id, body in entities:
        key = id.encode()
        body = bytes(memoryview(body))
        if not visit(_characters(key), len(key), _characters(body), len(body), visitor):
            break


def _characters(text: bytes) -> Any:
    return ctypes.cast(text, ctypes.POINTER(ctypes.c_char))


@native(hf_provider_save_fn, HF_HOST_ERROR)
@_answering
def _save(
    provider: StorageProvider, repository: bytes, id: Any, id_length: int, entity: Any, length: int
) -> None:
    done(provider.save(repository.decode(), _text(id, id_length).decode(), _text(entity, length)), "save")


@native(hf_provider_fetch_fn, HF_HOST_ERROR)
@_answering
def _fetch(provider: StorageProvider, repository: bytes, id: Any, id_length: int, out_entity: Any) -> int:
    body = provider.fetch(repository.decode(), _text(id, id_length).decode())
    if body is None:
        return HF_NOT_FOUND
    body = bytes(memoryview(body))
    if not lib.hf_buffer_set(out_entity, body, len(body)):
        raise MemoryError
    return HF_OK


@native(hf_provider_fetch_all_fn, HF_HOST_ERROR)
@_answering
def _fetch_all(provider: StorageProvider, repository: bytes, visit: Any, visitor: Any) -> None:
    _visit_all(provider.fetch_all(repository.decode()), visit, visitor)


@native(hf_provider_delete_fn, HF_HOST_ERROR)
@_answering
def _delete(provider: StorageProvider, repository: bytes, id: Any, id_length: int) -> None:
    done(provider.delete(repository.decode(), _text(id, id_length).decode()), "delete")


@native(hf_provider_apply_fn, HF_HOST_ERROR)
@_answering
def _apply(provider: Any, writes: Any, count: int) -> None:
    given = [
        ProviderWrite(
            ctypes.string_at(write.repository).decode(),
            ctypes.string_at(write.id, write.id_length).decode(),
            ctypes.string_at(write.entity, write.length) if write.entity else None,
        )
        for write in writes[:count]
    ]
    done(provider.apply(given), "apply")


@native(hf_provider_find_fn, HF_HOST_ERROR)
@_answering
def _find(provider: Any, repository: bytes, filter: Any, length: int, visit: Any, visitor: Any) -> None:
    _visit_all(provider.find(repository.decode(), load(_text(filter, length))), visit, visitor)


@native(hf_provider_change_token_fn, HF_HOST_ERROR)
@_answering
def _change_token(provider: Any, out_token: Any) -> None:
    out_token[0] = provider.change_token() % (1 << 64)


@native(hf_provider_sync_fn, HF_HOST_ERROR)
@_answering
def _sync(provider: Any) -> None:
    done(provider.sync(), "sync")


_OPTIONAL = {"apply": _apply, "find": _find, "change_token": _change_token, "sync": _sync}
