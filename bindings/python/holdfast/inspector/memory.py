"""Memory: what a person chose on the page, kept from one run to the next."""

import json
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Optional

from .._limits import LIMITS

THEMES = ("auto", "light", "dark")


def usual_place() -> Path:
    """The file of this person, where such things belong."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "holdfast" / "inspector.json"


class Memory:
    """Named values as JSON, for each store and for the page as a whole.

    They are in a file and not in the browser, which would forget them with the port, and tell them to
    whatever program listens there next.
    """

    def __init__(self, path: Optional[Path]) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._values: dict[str, dict[str, Any]] = {}
        if path is not None:
            with suppress(OSError, ValueError, RecursionError):
                read = json.loads(path.read_bytes())
                if isinstance(read, dict):
                    self._values = {name: it for name, it in read.items() if isinstance(it, dict)}

    @property
    def theme(self) -> str:
        """The colours that were chosen."""
        theme = self.of("page").get("theme")
        return theme if theme in THEMES else "auto"

    def of(self, owner: str) -> dict[str, Any]:
        """All values of a store's URL, or of the "page"."""
        with self._lock:
            return dict(self._values.get(owner, {}))

    def keep(self, owner: str, name: str, value: Any) -> None:
        """Keeps a value; null forgets it. Raises ValueError where it is too much, and OSError where the file
        cannot be written."""
        with self._lock:
            values = dict(self._values.get(owner, {}))
            values.pop(name, None)
            if value is not None:
                values[name] = value
            text = json.dumps(kept := {**self._values, owner: values})
            if len(text) > LIMITS.remembered_bytes:
                raise ValueError("The page remembers no more than that; nothing was kept.")
            self._values = kept
            if self._path is not None:
                self._write(self._path, text)

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        whole = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            descriptor = os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with open(descriptor, "w") as file:
                file.write(text)
            whole.replace(path)
        except OSError:
            whole.unlink(missing_ok=True)
            raise
