"""Receipt: what a commit answers."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Optional


@dataclass(frozen=True)
class Change:
    """The final change of one entity by a transaction: "put" or "delete", and the version from now on."""

    repository: str
    id: str
    #: "put" or "delete".
    operation: str
    #: The entity's version from now on, to be given as an expected version.
    version: int


@dataclass(frozen=True)
class Receipt:
    """What a commit answers.

    `sequence` is its number in the store's order, 0 when it changed nothing, and `position` an opaque token
    of that place, then None. `changes` has a `Change` for each entity: "repository", "id", "operation" ("put"
    or "delete"), and "version", which is the one to expect from now on. `durable` says whether it is on the
    disk, `attempts` how often the transaction ran, `replayed` whether an earlier commit with the same
    idempotency key is answered again, `atomic` False where several entities were stored one after the other,
    and `secondary` what went wrong on the side.
    """

    #: The commit's number in the store's order; 0 when it changed nothing.
    sequence: int
    #: An opaque token of the place in the store's history; None when the commit changed nothing.
    position: Optional[str]
    #: Whether the commit is on the disk.
    durable: bool
    #: How often the transaction's body ran.
    attempts: int
    #: Whether this is the receipt of an earlier commit with the same idempotency key.
    replayed: bool
    #: One change for each entity, ordered by repository and id.
    changes: tuple[Change, ...]
    #: What went wrong on the side, such as the exceptions of the `on_commit` of objects.
    secondary: tuple[Any, ...]
    #: False where a provider without `apply` has stored several entities one after the other.
    atomic: bool = True

    @classmethod
    def from_json(cls, text: bytes, secondary: Iterable[Any] = ()) -> "Receipt":
        """Reads the library's receipt, and adds what went wrong in Python; members that this version does not
        know are ignored."""
        data = json.loads(text)
        return cls(
            sequence=data["sequence"],
            position=data.get("position"),
            durable=data["durable"],
            attempts=data["attempts"],
            replayed=data["replayed"],
            changes=tuple(
                Change(change["repository"], change["id"], change["operation"], change["version"])
                for change in data["changes"]
            ),
            secondary=(*data["secondary"], *secondary),
            atomic=data.get("atomic", True),
        )
