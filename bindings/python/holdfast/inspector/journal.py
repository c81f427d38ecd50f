"""Journal: what was changed on the page, so that it can be undone."""

import itertools
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Optional

from .. import errors
from .._limits import LIMITS
from ..repository import Repository
from .answers import text_of


@dataclass
class Edit:
    """One change of one entity."""

    number: int
    repository: str
    id: str
    #: "add", "update" or "delete".
    what: str
    #: The text before; None where there was no entity.
    before: Optional[bytes]
    #: The version that it took the place of; 0 where there was no entity.
    replaced: int
    #: The version from then on, which an undo expects; 0 after a deletion.
    version: int
    time: float = field(default_factory=time.time)
    is_undone: bool = False

    def told(self) -> dict[str, Any]:
        """What is shown of it."""
        shown = {name: getattr(self, name) for name in ("number", "repository", "id", "what")}
        return {**shown, "time": round(self.time * 1000), "undone": self.is_undone}


class Journal:
    """Changes one entity in a transaction, if it is still what the person saw, and remembers how it was."""

    def __init__(self) -> None:
        self._edits: list[Edit] = []
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def save(self, repository: "Repository[Any]", id: str, text: bytes, version: int) -> dict[str, Any]:
        """Stores an entity in the place of its `version`; 0: where there is none. It keeps its id."""
        return self._edit(repository, id, text, version)

    def delete(self, repository: "Repository[Any]", id: str, version: int) -> dict[str, Any]:
        """Deletes an entity of this version."""
        return self._edit(repository, id, None, version)

    def undo(self, number: int, repositories: Any) -> dict[str, Any]:
        """Gives an entity back what an edit took, unless it was changed again since by other than an edit
        that was undone. It is no edit itself, so that the one before is the next to be undone."""
        with self._lock:
            edit = next((it for it in self._edits if it.number == number), None)
        if edit is None or edit.is_undone:
            raise errors.NotFoundError("There is nothing to undo.")
        done = _change(repositories(edit.repository), edit.id, edit.before, edit.version)
        with self._lock:
            edit.is_undone = True
            left = (edit.repository, edit.id, edit.replaced)
            for it in self._edits:
                # The entity is again as that edit left it, and only its version is another.
                if not it.is_undone and (it.repository, it.id, it.version) == left:
                    it.version = done.version
        return done.told(edit)

    def told(self) -> list[dict[str, Any]]:
        """The edits, oldest first."""
        with self._lock:
            return [edit.told() for edit in self._edits]

    def _edit(
        self, repository: "Repository[Any]", id: str, text: Optional[bytes], version: int
    ) -> dict[str, Any]:
        done = _change(repository, id, text, version)
        what = "delete" if text is None else "update" if version else "add"
        with self._lock:
            number = next(self._numbers)
            edit = Edit(number, repository.name, done.id, what, done.before, version, done.version)
            self._edits.append(edit)
            self._forget_the_oldest()
        return done.told(edit)

    def _forget_the_oldest(self) -> None:
        while len(self._edits) > 1 and (
            len(self._edits) > LIMITS.kept_edits
            or sum(len(it.before or b"") for it in self._edits) > LIMITS.kept_edit_bytes
        ):
            del self._edits[0]


@dataclass
class _Change:
    """What became of an entity."""

    id: str
    before: Optional[bytes]
    #: 0 after a deletion.
    version: int
    sequence: int

    def told(self, edit: Edit) -> dict[str, Any]:
        stored = {"id": self.id, "version": str(self.version), "sequence": str(self.sequence)}
        return {**stored, "edit": edit.told()}


def _change(repository: "Repository[Any]", id: str, text: Optional[bytes], version: int) -> _Change:
    """Stores a text in the place of an entity's version, or without a text deletes that."""

    def change() -> Optional[bytes]:
        found = text_of(repository, id) if version else None
        if text is None:
            repository.delete(id, expected_version=version)
        elif version:
            _update(repository, id, text, version)
        else:
            repository.add(text)
        return found[0] if found else None

    before, receipt = repository.store.transact(change, receipt=True)
    stored = [it for it in receipt.changes if it.operation == "put"]
    changed = receipt.changes[0].id if receipt.changes else id
    # Nothing is stored where the text is the one that is there.
    kept = 0 if text is None else version
    return _Change(changed, before, stored[0].version if stored else kept, receipt.sequence)


def _update(repository: "Repository[Any]", id: str, text: bytes, version: int) -> None:
    """Replaces the entity, and never the one whose id the text has instead: all that one commit has stored
    have the same version, so that this alone would not tell."""
    try:
        given = str(repository.update(text, expected_version=version)[repository.key])
    except (errors.NotFoundError, errors.VersionMismatchError) as error:
        given = error.detail["id"]
        if given == id:
            raise
    if given != id:
        raise ValueError(f'The entity keeps its id "{id}": with another it is a new entity.')
