"""Members: objects of the host's in transactions, and what they raise when the library calls them."""

import ctypes
import itertools
import sys
import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, Optional

from . import errors
from ._callbacks import answer, native
from ._handles import Handle, Result, call
from ._interrupts import is_interrupt, raise_kept, tell_late
from ._library import lib
from ._types import (
    HF_CONFLICT,
    HF_HOST_ERROR,
    HF_OK,
    HF_REFUSED,
    destructor,
    hf_participant,
    hf_participant_callbacks,
    hf_participant_fn,
    hf_participant_savepoint_fn,
    hf_participant_validate_fn,
)

if TYPE_CHECKING:
    from .transaction import TransactionHandle
    from .tree import Transactable

DESCRIPTOR_BYTES = 16


class Raised:
    """What the members that one native call calls have raised."""

    __slots__ = ("begin", "refusal", "transaction")

    def __init__(self, transaction: "Optional[TransactionHandle]" = None) -> None:
        #: The transaction of a store that is being validated.
        self.transaction = transaction
        #: The first exception of an on_begin.
        self.begin: Optional[BaseException] = None
        #: That of the validator that refused.
        self.refusal: Optional[BaseException] = None


class _Calls(threading.local):
    raised: Optional[Raised] = None


_calls = _Calls()


def call_members(
    function: Callable[..., int],
    *arguments: Any,
    raised: Optional[Raised] = None,
    stored: Optional[Callable[[], Any]] = None,
) -> None:
    """`_handles.call` for functions that call members. A refusal raises what the validator raised; what an
    on_begin raised is in `raised`."""
    result = Result.take()
    raised = raised or Raised()
    statuses: list[int] = []
    try:
        ask_members(statuses, raised, function, *arguments, result.error_reference)
        status = statuses[0]
        if status and raised.refusal is not None:
            lib.hf_error_free(result.error)
            raise_kept()
            raise raised.refusal
        result.check(status, stored)
    except BaseException as error:
        tell_late(error, statuses, stored)
        raise
    finally:
        result.put_back()


def ask_members(statuses: list[int], raised: Raised, function: Callable[..., int], *arguments: Any) -> None:
    """Makes a native call that calls members, and notes its status before a signal can be handled."""
    outer, _calls.raised = _calls.raised, raised
    try:
        statuses += itertools.starmap(function, (arguments,))
    finally:
        _calls.raised = outer


class Member(weakref.ref):  # type: ignore[type-arg]
    """The native participant of an object, which it does not keep alive: it is freed when the object goes.

    It stands beside the object, not in it, so that copies, comparisons and dumps of the object know nothing
    of it.
    """

    __slots__ = ("backup", "handle", "is_stored", "key", "repository")

    def __new__(cls, owner: "Transactable") -> "Member":
        return super().__new__(cls, owner, _end)

    def __init__(self, owner: "Transactable") -> None:
        super().__init__(owner, _end)  # type: ignore[call-arg]
        self.key = id(owner)
        # For models alone: what a rollback restores, and where the object is stored.
        self.backup: Any = None
        self.repository: Any = None
        self.is_stored = False
        token = next(_tokens)
        pointer = ctypes.POINTER(hf_participant)()
        callbacks = _CALLBACKS[hasattr(owner, "on_savepoint") and hasattr(owner, "on_rollback_to")]
        self.handle = Handle(pointer, lib.hf_participant_free)
        _by_token[token] = self
        # On a failure the destructor takes it out again.
        try:
            call(
                lib.hf_participant_create,
                None,
                ctypes.byref(callbacks),
                token,
                _free_token,
                ctypes.byref(pointer),
            )
        except BaseException:
            self.handle.let_go()
            raise

    @property
    def pointer(self) -> Any:
        """The native handle."""
        return self.handle.pointer


# Plain dicts, without a lock: each access is atomic, and a lock could be held when the garbage collector
# frees a member, which takes it out again.
_by_token: "dict[int, Member]" = {}
_by_object: "dict[int, Member]" = {}
_tokens = itertools.count(1)
_creating = threading.RLock()


def member_of(owner: "Transactable") -> Member:
    """The member of an object, made when it is first needed."""
    member = _by_object.get(id(owner))
    if member is None or member() is not owner:
        with _creating:
            member = _by_object.get(id(owner))
            if member is None or member() is not owner:
                member = _by_object[id(owner)] = Member(owner)
    return member


def _end(member: Member) -> None:
    """The object is gone."""
    if sys.is_finalizing():
        return
    if _by_object.get(member.key) is member:
        del _by_object[member.key]
    if hasattr(member, "handle"):
        member.handle.let_go()


def _owner(token: int) -> "Optional[Transactable]":
    member = _by_token.get(token)
    return None if member is None else member()


# --- Called by the library --------------------------------------------------------------------------


@native(destructor)
def _free_token(token: int) -> None:
    _by_token.pop(token, None)


@native(hf_participant_fn)
def _on_begin(descriptor: Any, token: int) -> None:
    owner = _owner(token)
    if owner is None:
        return
    try:
        owner._transaction_began(ctypes.string_at(descriptor, DESCRIPTOR_BYTES))
    except BaseException as error:
        raised = _calls.raised
        if raised is None:
            raise
        raised.begin = raised.begin or error


@native(hf_participant_validate_fn, HF_HOST_ERROR)
def _on_validate(transaction: Any, token: int, out_error: Any) -> int:
    owner, raised = _owner(token), _calls.raised
    if owner is None:
        return HF_OK
    try:
        if transaction and raised is not None and raised.transaction is not None:
            with raised.transaction.validating(transaction):
                owner._transaction_validates()
        else:
            owner._transaction_validates()
    except BaseException as error:
        if is_interrupt(error):
            raise
        if raised is not None:
            raised.refusal = error
        if isinstance(error, errors.ConflictError):
            return HF_CONFLICT
        out_error[0] = lib.hf_error_create(
            HF_REFUSED, 0, str(error).replace("\0", "").encode(errors="replace")
        )
        return HF_REFUSED
    return HF_OK


@native(hf_participant_fn)
def _on_commit(descriptor: Any, token: int) -> None:
    owner = _owner(token)
    if owner is not None:
        _tell_end(owner._transaction_committed, ctypes.string_at(descriptor, DESCRIPTOR_BYTES))


@native(hf_participant_fn)
def _on_rollback(descriptor: Any, token: int) -> None:
    owner = _owner(token)
    if owner is not None:
        _tell_end(owner._transaction_rolled_back, ctypes.string_at(descriptor, DESCRIPTOR_BYTES))


@native(hf_participant_savepoint_fn)
def _on_savepoint(savepoint: int, token: int) -> None:
    owner = _owner(token)
    if owner is not None:
        _tell(owner._savepoint_made, savepoint)


@native(hf_participant_savepoint_fn)
def _on_rollback_to(savepoint: int, token: int) -> None:
    owner = _owner(token)
    if owner is not None:
        _tell(owner._rolled_back_to, savepoint)


def _tell(method: Callable[[Any], object], argument: Any) -> None:
    """Calls a method that is called again where Ctrl-C kept it from its work, and not where it failed."""
    try:
        method(argument)
    except Exception:
        answer(0)
        raise


def _tell_end(method: Callable[[bytes], object], descriptor: bytes) -> None:
    """Calls a method that has nobody to tell of its exception: that goes on, for ctypes hands it to the
    unraisable hook, and is noted for the receipt."""
    try:
        _tell(method, descriptor)
    except BaseException as error:
        transaction = None if is_interrupt(error) else receivers.get(descriptor)
        if transaction is not None:
            transaction.secondary.append(error)
        raise


#: The transactions of stores that trees are in, by their descriptors.
receivers: "weakref.WeakValueDictionary[bytes, TransactionHandle]" = weakref.WeakValueDictionary()

_SIZE = ctypes.sizeof(hf_participant_callbacks)
_METHODS = (_on_begin, _on_validate, _on_commit, _on_rollback)
#: Without and with savepoints.
_CALLBACKS = (
    hf_participant_callbacks(_SIZE, *_METHODS),
    hf_participant_callbacks(_SIZE, *_METHODS, _on_savepoint, _on_rollback_to),
)


def enlist(transaction: "TransactionHandle", trees: "Sequence[Transactable]") -> None:
    """Takes trees into a store's transaction."""
    for tree in trees:
        member = member_of(tree)
        raised = Raised()
        call_members(lib.hf_transaction_enlist, transaction.pointer, member.pointer, raised=raised)
        receivers[descriptor_of(member)] = transaction
        if raised.begin is not None:
            raise raised.begin


def descriptor_of(member: Member) -> bytes:
    """Of the transaction that a member is in, all zero where there is none."""
    active = ctypes.c_bool()
    descriptor = (ctypes.c_uint8 * DESCRIPTOR_BYTES)()
    call(lib.hf_participant_active, member.pointer, ctypes.byref(active), descriptor)
    return bytes(descriptor)
