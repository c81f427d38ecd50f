"""Objects for the tests of trees, which count their calls and do what a test wants in them."""

from typing import Callable, Optional

import holdfast

PHASES = ("begin", "validate", "commit", "rollback")


class Node(holdfast.Transactable):
    """Counts its calls, and does what the test wants in them."""

    def __init__(self, name: str, parent: "Optional[Node]" = None, calls: Optional[list[str]] = None) -> None:
        self.name = name
        self.calls: list[str] = parent.calls if parent is not None else calls if calls is not None else []
        self.hooks: dict[str, Callable[[], object]] = {}
        self.seen: list[Optional[bytes]] = []
        if parent is not None:
            self.attach(parent)

    def on_begin(self, transaction: bytes) -> None:
        assert transaction == self.active_transaction
        self._note("begin")

    def on_validate_commit(self) -> None:
        self._note("validate")

    def on_commit(self, transaction: bytes) -> None:
        assert transaction == self.active_transaction
        self._note("commit")

    def on_rollback(self, transaction: bytes) -> None:
        self._note("rollback")

    def _note(self, phase: str) -> None:
        self.seen.append(self.active_transaction)
        self.calls.append(f"{phase} {self.name}")
        self.hooks.get(phase, lambda: None)()

    def counts(self) -> list[int]:
        return [self.calls.count(f"{phase} {self.name}") for phase in PHASES]


class Family:
    """A root with two children, the first of which has one of its own."""

    def __init__(self) -> None:
        self.root = Node("root")
        self.first = Node("first", self.root)
        self.second = Node("second", self.root)
        self.leaf = Node("leaf", self.first)
        self.all = (self.root, self.first, self.leaf, self.second)

    @property
    def calls(self) -> list[str]:
        return self.root.calls

    def expect(self, *counts: int) -> None:
        for node in self.all:
            assert node.counts() == list(counts), node.name
            assert not node.transaction_is_active
            assert node.active_transaction is None


class Refusal(Exception):
    """What a validator raises."""


def refuse() -> None:
    raise Refusal("mine")


class no_error:
    """Expects nothing."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


class Counter(Node):
    """Goes back to savepoints."""

    def __init__(self, name: str, parent: Optional[Node] = None) -> None:
        super().__init__(name, parent)
        self.value = 0
        self.marks: dict[int, int] = {}

    def on_begin(self, transaction: bytes) -> None:
        super().on_begin(transaction)
        self.marks = {0: self.value}

    def on_savepoint(self, savepoint: int) -> None:
        self.marks[savepoint] = self.value

    def on_rollback_to(self, savepoint: int) -> None:
        self.value = self.marks.get(savepoint, self.marks[0])
