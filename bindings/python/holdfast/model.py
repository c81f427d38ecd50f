"""Model: objects whose state goes back when their transaction does, and is stored when it commits."""

import dataclasses
import types
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

from ._codec import members_of
from ._members import member_of
from .repository import Repository
from .tree import Transactable

T = TypeVar("T", bound="Model")

_CONTAINERS = (dict, list, set, deque, bytearray)
_MISSING = object()


class Model(Transactable):
    """A `Transactable` that needs no methods for it: a rollback brings its attributes back.

        class Chart(Model): ...              # a base class, of plain classes, dataclasses, pydantic models
        @Model                               # or a decorator
        class Chart: ...

    When a transaction begins, or the object joins it, its state is noted: attributes, and what the lists,
    dicts, sets, deques, bytearrays, dataclasses and pydantic models hold that it consists of, at any depth.
    A rollback brings all of that back, in the same objects. Objects of other classes are left as they are,
    and other models go back when they are in the transaction themselves.

    One that is bound to a repository is stored by the commit of a transaction of that store, if it was
    changed in it or is not there yet.
    """

    __slots__ = ()

    def __new__(cls, *arguments: Any, **keywords: Any) -> Any:
        if cls is Model:
            (decorated,) = arguments
            names = {"__module__": decorated.__module__, "__qualname__": decorated.__qualname__}
            documented = {"__doc__": decorated.__doc__, **names}
            return types.new_class(
                decorated.__name__, (decorated, Model), {}, lambda namespace: namespace.update(documented)
            )
        new = super().__new__
        return new(cls) if new is object.__new__ else new(cls, *arguments, **keywords)

    def bind(self: T, repository: Repository[Any]) -> T:
        """Has commits store the object in this repository, and answers the object.

        Bind an object that was fetched, too. The last commit wins: what is to be compared with what others
        stored meanwhile is fetched in the transaction, so that a change of theirs is a conflict.
        """
        if not isinstance(repository, Repository):
            raise TypeError(
                f"A model is bound to a holdfast.Repository, not to a {type(repository).__module__}."
                f"{type(repository).__name__}; with holdfast.aio, save it in the transaction."
            )
        member_of(self).repository = repository
        return self

    def on_savepoint(self, savepoint: int) -> None:
        """Notes the state at a savepoint."""
        member_of(self).backup[savepoint] = Backup.of(self)

    def on_rollback_to(self, savepoint: int) -> None:
        """Brings the state back that was noted at a savepoint, or when the object joined after it."""
        backups = member_of(self).backup
        (backups.get(savepoint) or backups[0]).restore()

    def _transaction_began(self, transaction: bytes) -> None:
        # Savepoints are numbered from 1.
        member_of(self).backup = {0: Backup.of(self)}
        super()._transaction_began(transaction)

    def _transaction_validates(self) -> None:
        super()._transaction_validates()
        member = member_of(self)
        repository = member.repository
        if repository is None or repository.store.current_transaction is None:
            return
        members = _members(self)
        id = members.get(repository.key)
        if member.backup[0].is_changed() or id is None or not repository.contains(id):
            stored = repository._codec.members(members)
            if id is None:
                id = _added_id(repository, stored)
                setattr(self, repository._codec.attribute, id)
            else:
                repository.save(stored)

    def _transaction_committed(self, transaction: bytes) -> None:
        member_of(self).backup = None
        super()._transaction_committed(transaction)

    def _transaction_rolled_back(self, transaction: bytes) -> None:
        member = member_of(self)
        if member.backup is not None:
            member.backup[0].restore()
            member.backup = None
        super()._transaction_rolled_back(transaction)

    def _savepoint_made(self, savepoint: int) -> None:
        # Done twice it is as done once.
        self.on_savepoint(savepoint)

    def _rolled_back_to(self, savepoint: int) -> None:
        self.on_rollback_to(savepoint)


class Slot(NamedTuple):
    """An attribute that stands in no dict."""

    owner: Any
    name: str
    value: Any


class Backup(NamedTuple):
    """The state of an object at one time."""

    containers: list[tuple[Any, Any]]
    slots: list[Slot]

    @classmethod
    def of(cls, owner: Any) -> "Backup":
        """The state of an object now."""
        backup = cls([], [])
        seen: set[int] = set()
        waiting = list(backup._add_object(owner))
        while waiting:
            value = waiting.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, _CONTAINERS):
                waiting.extend(backup._add_container(value))
            elif isinstance(value, tuple):
                waiting.extend(value)
            elif _is_record(value):
                waiting.extend(backup._add_object(value))
        return backup

    def is_changed(self) -> bool:
        """Whether the state is another one now."""
        return any(not _is_same(container, copy) for container, copy in self.containers) or any(
            getattr(slot.owner, slot.name, _MISSING) is not slot.value for slot in self.slots
        )

    def restore(self) -> None:
        """Brings the state back, in the same containers."""
        for container, copy in self.containers:
            if isinstance(container, (list, bytearray)):
                container[:] = copy
            else:
                container.clear()
                (container.extend if isinstance(container, deque) else container.update)(copy)
        for owner, name, value in self.slots:
            if value is not _MISSING:
                object.__setattr__(owner, name, value)
            elif hasattr(owner, name):
                object.__delattr__(owner, name)

    def _add_container(self, container: Any) -> Iterator[Any]:
        if isinstance(container, dict):
            copy: Any = dict(container)
            values = copy.values()
        elif isinstance(container, bytearray):
            copy, values = bytes(container), ()
        elif isinstance(container, set):
            copy, values = set(container), ()  # what is hashable does not change
        else:
            copy = values = list(container)
        self.containers.append((container, copy))
        return iter(values)

    def _add_object(self, owner: Any) -> Iterator[Any]:
        attributes = getattr(owner, "__dict__", None)
        if attributes is not None:
            yield attributes
        for cls in type(owner).__mro__:
            names = vars(cls).get("__slots__", ())
            for name in (names,) if isinstance(names, str) else names:
                if name not in ("__dict__", "__weakref__"):
                    slot = Slot(owner, _mangled(cls, name), getattr(owner, _mangled(cls, name), _MISSING))
                    self.slots.append(slot)
                    yield slot.value


def _mangled(cls: type, name: str) -> str:
    is_private = name.startswith("__") and not name.endswith("__")
    return f"_{cls.__name__.lstrip('_')}{name}" if is_private else name


def _is_record(value: Any) -> bool:
    """Whether a value is a part of the object that holds it."""
    if isinstance(value, (type, Transactable)):
        return False
    return dataclasses.is_dataclass(value) or hasattr(value, "__pydantic_fields_set__")


def _is_same(container: Any, copy: Any) -> bool:
    """Whether a container holds what it held, the very same objects."""
    if len(container) != len(copy):
        return False
    if isinstance(container, dict):
        return all(container.get(key, _MISSING) is value for key, value in copy.items())
    if isinstance(container, (set, bytearray)):
        return container == copy
    return all(one is other for one, other in zip(container, copy))


def _members(model: Any) -> dict[str, Any]:
    """What is stored of a model."""
    if hasattr(model, "model_dump") or hasattr(model, "to_dict") or dataclasses.is_dataclass(model):
        return members_of(model)
    return {name: value for name, value in vars(model).items() if not name.startswith("_")}


def _added_id(repository: Repository[Any], members: dict[str, Any]) -> Any:
    """Stores a new entity and answers the id that it was given."""
    entity = repository.add(members)
    return (
        entity[repository.key] if isinstance(entity, dict) else getattr(entity, repository._codec.attribute)
    )
