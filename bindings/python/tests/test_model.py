"""Random sequences of calls against a plain dict."""

import gc
import tempfile
from pathlib import Path
from typing import Any, Callable, Optional

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import holdfast

IDS = st.sampled_from(["a", "b", "c", "42", "é"])
VALUES = st.dictionaries(
    st.sampled_from(["x", "y", "z"]),
    st.none() | st.integers(-5, 5) | st.text(max_size=3) | st.lists(st.integers(0, 3), max_size=2),
    max_size=3,
)
Entities = dict[str, dict[str, Any]]


class Model(RuleBasedStateMachine):
    """What the store must do, said with dicts: `committed`, and `working` while a transaction is open."""

    url = "memory:"

    @initialize()
    def open(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.committed: Entities = {}
        self.working: Optional[Entities] = None
        self.savepoints: list[tuple[int, Entities]] = []
        self.transaction: Optional[holdfast.Transaction] = None
        self.open_store()

    def open_store(self) -> None:
        url = self.url if self.url == "memory:" else str(Path(self.directory.name) / self.url)
        self.store = holdfast.open(url)
        self.songs = self.store.repository("songs")

    @property
    def entities(self) -> Entities:
        return self.committed if self.working is None else self.working

    def call(self, function: Callable[[], Any]) -> Any:
        """Calls in the open transaction, or in one of its own; answers the exception's class on failure."""
        try:
            if self.transaction is None:
                return function()
            with self.transaction.joined():
                return function()
        except holdfast.Error as error:
            return type(error)

    @rule(id=IDS, value=VALUES)
    def add(self, id: str, value: dict[str, Any]) -> None:
        answer = self.call(lambda: self.songs.add({"id": id, **value}))
        if id in self.entities:
            assert answer is holdfast.ExistsError
        else:
            self.entities[id] = {"id": id, **value}
            assert answer == self.entities[id]

    @rule(id=IDS, value=VALUES)
    def update(self, id: str, value: dict[str, Any]) -> None:
        answer = self.call(lambda: self.songs.update({"id": id, **value}))
        if id in self.entities:
            self.entities[id] = {"id": id, **value}
            assert answer == self.entities[id]
        else:
            assert answer is holdfast.NotFoundError

    @rule(values=st.lists(st.tuples(IDS, VALUES), max_size=4))
    def save_many(self, values: list[tuple[str, dict[str, Any]]]) -> None:
        self.call(lambda: self.songs.save_many([{"id": id, **value} for id, value in values]))
        self.entities.update({id: {"id": id, **value} for id, value in values})

    @rule(values=st.lists(st.tuples(IDS, VALUES), max_size=4))
    def add_many(self, values: list[tuple[str, dict[str, Any]]]) -> None:
        answer = self.call(lambda: self.songs.add_many([{"id": id, **value} for id, value in values]))
        ids = [id for id, _ in values]
        if len(set(ids)) < len(ids) or any(id in self.entities for id in ids):
            assert answer is holdfast.ExistsError
        else:
            self.entities.update({id: {"id": id, **value} for id, value in values})

    @rule(id=IDS, changes=VALUES)
    def patch(self, id: str, changes: dict[str, Any]) -> None:
        answer = self.call(lambda: self.songs.patch(id, changes))
        if id not in self.entities:
            assert answer is holdfast.NotFoundError
            return
        merged = {**self.entities[id], **changes}
        removed = [name for name, value in changes.items() if value is None]
        self.entities[id] = {name: value for name, value in merged.items() if name not in removed}
        assert answer == self.entities[id]

    @rule(id=IDS)
    def delete(self, id: str) -> None:
        answer = self.call(lambda: self.songs.delete(id))
        assert answer is (None if id in self.entities else holdfast.NotFoundError)
        self.entities.pop(id, None)

    @rule(value=st.integers(-5, 5))
    def delete_all(self, value: int) -> None:
        matching = [id for id, entity in self.entities.items() if matches(entity, value)]
        assert self.call(lambda: self.songs.delete_all({"x": value})) == len(matching)
        for id in matching:
            del self.entities[id]

    @rule(id=IDS)
    def fetch(self, id: str) -> None:
        assert self.call(lambda: self.songs.fetch(id)) == self.entities.get(id)
        assert self.call(lambda: id in self.songs) is (id in self.entities)

    @rule(value=st.integers(-5, 5))
    def find(self, value: int) -> None:
        expected = [self.entities[id] for id in in_order(self.entities) if matches(self.entities[id], value)]
        assert self.call(lambda: self.songs.find({"x": value})) == expected
        assert self.call(lambda: self.songs.count({"x": value})) == len(expected)

    @rule()
    def fetch_all(self) -> None:
        expected = [self.entities[id] for id in in_order(self.entities)]
        assert self.call(self.songs.fetch_all) == expected
        assert self.songs.fetch_all() == [self.committed[id] for id in in_order(self.committed)]

    @precondition(lambda self: self.transaction is None)
    @rule()
    def begin(self) -> None:
        self.transaction = self.store.begin()
        self.working = dict(self.committed)
        self.savepoints = []

    @precondition(lambda self: self.transaction is not None)
    @rule()
    def savepoint(self) -> None:
        self.savepoints.append((self.transaction.savepoint(), dict(self.working)))

    @precondition(lambda self: self.transaction is not None and self.savepoints)
    @rule(data=st.data())
    def rollback_to(self, data: st.DataObject) -> None:
        index = data.draw(st.integers(0, len(self.savepoints) - 1))
        savepoint, entities = self.savepoints[index]
        del self.savepoints[index + 1 :]
        self.transaction.rollback_to(savepoint)
        self.working = dict(entities)

    @precondition(lambda self: self.transaction is not None)
    @rule(how=st.sampled_from(["commit", "submit", "rollback"]))
    def end(self, how: str) -> None:
        if how == "commit":
            self.transaction.commit()
        elif how == "submit":
            self.transaction.submit().result(120)
        else:
            self.transaction.rollback()
        if how != "rollback":
            self.committed = self.working
        self.transaction = self.working = None

    @precondition(lambda self: self.url != "memory:")
    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.transaction = self.working = None
        self.open_store()

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.directory.cleanup()
            vars(self).clear()
            gc.collect()


class FileModel(Model):
    """The same in a file, which may be closed and opened at any time."""

    url = "model.db"


def matches(entity: dict[str, Any], value: int) -> bool:
    member = entity.get("x")
    return value in member if isinstance(member, list) else member == value


def in_order(entities: Entities) -> list[str]:
    return sorted(entities, key=str.encode)


TestMemory = Model.TestCase
TestMemory.settings = settings(max_examples=100, stateful_step_count=40)
TestFile = FileModel.TestCase
TestFile.settings = settings(max_examples=40, stateful_step_count=40)
