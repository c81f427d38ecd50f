"""Functions of the program's that the library calls while one call lasts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable, Optional

from . import errors
from ._signatures import hf_progress

#: Hears how far long work is: done and total, 0 where that is not known.
Progress = Callable[[int, int], object]


class Callbacks:
    """The functions of one call. Once one has raised, none is called any more, and the call raises that."""

    def __init__(self) -> None:
        self._raised: Optional[BaseException] = None

    def native(self, kind: Any, function: Callable[..., Any], failure: Any) -> Any:
        """A function of the native kind, to be kept as long as the call lasts. `failure` ends the call."""

        def guarded(*arguments: Any) -> Any:
            if self._raised is not None:
                return failure
            try:
                return function(*arguments)
            except BaseException as error:
                self._raised = error
                return failure

        return kind(guarded)

    def progress(self, progress: Optional[Progress]) -> Any:
        """A native progress callback."""

        def hear(done: int, total: int, _: object) -> bool:
            if progress is not None:
                progress(done, total)
            return True

        return self.native(hf_progress, hear, False)

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Around the native call."""
        try:
            yield
        except errors.Error:
            if self._raised is not None:
                raise self._raised from None
            raise
