"""Journal: what was changed on the page, so that it can be undone."""

import itertools
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Optional

from .. import errors
from .._limits import LIMITS
from ..repository import Repository
from ..store import Store
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
        """Stores an entity in the place of its `version`; 0: where there is none."""
        return self._change(repository, id, text, version)

    def delete(self, repository: "Repository[Any]", id: str, version: int) -> dict[str, Any]:
        """Deletes an entity of this version."""
        return self._change(repository, id, None, version)

    def undo(self, number: int, repositories: Any) -> dict[str, Any]:
        """Gives an entity back what an edit took, unless it was changed again since."""
        with self._lock:
            edit = next((it for it in self._edits if it.number == number), None)
        if edit is None or edit.is_undone:
            raise errors.NotFoundError("There is nothing to undo.")
        answer = self._change(repositories(edit.repository), edit.id, edit.before, edit.version)
        edit.is_undone = True
        return answer

    def told(self) -> list[dict[str, Any]]:
        """The edits, oldest first."""
        with self._lock:
            return [edit.told() for edit in self._edits]

    def _change(
        self, repository: "Repository[Any]", id: str, text: Optional[bytes], version: int
    ) -> dict[str, Any]:
        store: Store = repository.store

        def change() -> Optional[bytes]:
            found = text_of(repository, id) if version else None
            if text is None:
                repository.delete(id, expected_version=version)
            elif version:
                repository.update(text, expected_version=version)
            else:
                repository.add(text)
            return found[0] if found else None

        before, receipt = store.transact(change, receipt=True)
        stored = [it for it in receipt.changes if it.operation == "put"]
        new = stored[0].version if stored else 0
        changed = receipt.changes[0].id if receipt.changes else id
        what = "delete" if text is None else "update" if version else "add"
        with self._lock:
            edit = Edit(next(self._numbers), repository.name, changed, what, before, new or version)
            if text is None:
                edit.version = 0
            self._edits.append(edit)
            self._forget_the_oldest()
        return {"id": changed, "version": str(new), "sequence": str(receipt.sequence), "edit": edit.told()}

    def _forget_the_oldest(self) -> None:
        while len(self._edits) > 1 and (
            len(self._edits) > LIMITS.kept_edits
            or sum(len(it.before or b"") for it in self._edits) > LIMITS.kept_edit_bytes
        ):
            del self._edits[0]
