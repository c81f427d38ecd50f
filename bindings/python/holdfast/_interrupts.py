"""What the program's functions raise where nobody hears of it. It is logged, but for Ctrl-C, which is raised
by the call that the program made."""

import logging
import threading
from typing import Any, Callable, Optional

#: Ctrl-C that cannot pass through the library: to be raised, by `raise_kept`, when that has returned to the
#: thread of this number. Almost always empty.
kept: dict[int, KeyboardInterrupt] = {}

_log = logging.getLogger("holdfast")


def is_interrupt(error: Optional[BaseException]) -> bool:
    """Whether this is Ctrl-C, which Python raises on the main thread alone."""
    return isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()


def raise_kept() -> None:
    """Raises the Ctrl-C that was kept for this thread."""
    interrupt = kept.pop(threading.get_ident(), None)
    if interrupt is not None:
        raise interrupt


class Keeping:
    """Around what the library calls: keeps a Ctrl-C. One that was kept before is not raised inside."""

    def __enter__(self) -> None:
        self._outer = kept.pop(threading.get_ident(), None)

    def __exit__(self, kind: Any, error: Optional[BaseException], traceback: Any) -> bool:
        is_kept = is_interrupt(error)
        interrupt = error if is_kept else self._outer
        if interrupt is not None:
            kept[threading.get_ident()] = interrupt  # type: ignore[assignment]
        return is_kept


def tell(function: Optional[Callable[..., Any]], *arguments: Any) -> Any:
    """Calls a function of the program's, and answers what it answers. Whatever it raises must not end the
    delivery to others: it is logged, and None answered. Ctrl-C is raised."""
    try:
        return None if function is None else function(*arguments)
    except BaseException as error:
        if is_interrupt(error):
            raise
        _log.exception("%r failed", function)
    return None


def tell_error(on_error: Optional[Callable[[BaseException], object]], error: BaseException) -> None:
    """Tells a subscriber of an error; it is logged where none wants to hear. Ctrl-C is raised."""
    if is_interrupt(error):
        raise error
    if on_error is None:
        _log.error("a subscriber without on_error failed", exc_info=error)
    else:
        tell(on_error, error)
