"""Validators: what checks the entities of a repository before they are stored."""

import ctypes
import itertools
import sys
import weakref
from typing import TYPE_CHECKING, Any, Callable, Optional

from . import errors
from ._callbacks import native
from ._codec import load
from ._handles import call, tokens
from ._interrupts import is_interrupt
from ._library import lib
from ._plain import done
from ._readers import entity_reader
from ._records import fields_of, is_model, is_typed_dict
from ._types import HF_CONFLICT, HF_HOST_ERROR, HF_OK, HF_REFUSED, destructor, hf_validator_fn
from .transaction import TransactionHandle

if TYPE_CHECKING:
    from .store import Store

#: Called with an id and the entity as a dict, or None where it is to be deleted; raises to refuse.
Check = Callable[[str, Optional[dict[str, Any]]], object]


def check_of(validator: Any) -> Check:
    """What a validator does: a pydantic model or another class with `model_validate`, a class with fields, an
    object with `validate`, such as those of jsonschema, or a function."""
    check: Any = getattr(validator, "model_validate", None) or getattr(validator, "validate", None)
    # A class with fields could be called like a function, too, and would refuse nothing. Its instances, as
    # those of jsonschema are, have what they validate by.
    if isinstance(validator, type) and (
        is_model(validator) or is_typed_dict(validator) or fields_of(validator) is not None
    ):
        check = entity_reader(validator)
    if check is not None:
        return lambda _, entity: None if entity is None else check(entity)
    if callable(validator):
        return validator
    raise TypeError(
        "A validator is a class with fields or model_validate, an object with validate, or a function, "
        f"not {type(validator).__name__}."
    )


class Validator:
    """A check of one store's repository. It keeps neither alive."""

    def __init__(self, store: "Store", check: Check) -> None:
        self.store = weakref.ref(store)
        self.check = check


# Without a lock: each access is atomic, and the library lets go of a validator on any of its threads.
_validators: dict[int, Validator] = {}
_tokens = itertools.count(1)
_NONE = hf_validator_fn()


def set_validator(store: "Store", repository: Any, validator: Any) -> None:
    """Sets, replaces or, with None, takes away the validator of a repository's native handle."""
    if validator is None:
        call(lib.hf_repository_set_validator, repository, _NONE, None, destructor())
        return
    token = next(_tokens)
    _validators[token] = Validator(store, check_of(validator))
    # On a failure the destructor takes it out again.
    call(lib.hf_repository_set_validator, repository, _validate, token, _free)


@native(destructor)
def _free(token: int) -> None:
    _validators.pop(token, None)


@native(hf_validator_fn, HF_HOST_ERROR)
def _validate(
    transaction: Any, id: Any, id_length: int, entity: Any, length: int, token: int, out_error: Any
) -> int:
    """On the thread that commits; for an operation in the background, on the store's for operations."""
    begun = next(tokens)
    try:
        validator = _validators[token]
        text = load(ctypes.string_at(entity, length)) if entity else None
        with TransactionHandle(validator.store(), transaction, owned=False).joined():
            done(validator.check(ctypes.string_at(id, id_length).decode(), text), "A validator")
    except errors.ConflictError:
        return HF_CONFLICT
    except BaseException as error:
        if is_interrupt(error):
            raise
        message = str(error).replace("\0", "").encode(errors="replace")
        code = errors.refusals.keep(error) if _is_told(token, begun) else 0
        out_error[0] = lib.hf_error_create(HF_REFUSED, code, message)
        return HF_REFUSED
    return HF_OK


def _is_told(token: int, begun: int) -> bool:
    """Whether anybody can be told what this validator has just raised. On a thread of the library's, where no
    call of Python's is below, only who has submitted something before it began, and not cancelled that."""
    if sys._getframe(2).f_back is not None:
        return True
    validator = _validators.get(token)
    store = None if validator is None else validator.store()
    return store is None or store._events.is_anyone_told(begun)
