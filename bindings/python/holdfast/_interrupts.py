"""What the program's functions raise where nobody hears of it. It is logged, but for Ctrl-C, which is raised
by the call that the program made."""

import concurrent.futures
import logging
import threading
from typing import Any, Callable, Optional

from ._plain import done

#: Ctrl-C, and whatever else a signal's handler raises, that cannot pass through the library: to be raised, by
#: `raise_kept`, when that has returned to the thread of this number. Almost always empty.
kept: dict[int, BaseException] = {}

#: What subscribers may give to hear of the end, and of an error.
OnFinished = Optional[Callable[[], object]]
OnError = Optional[Callable[[BaseException], object]]

_log = logging.getLogger("holdfast")


def is_interrupt(error: Optional[BaseException]) -> bool:
    """Whether this is Ctrl-C, which Python raises on the main thread alone."""
    return isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()


def keep(error: BaseException) -> None:
    """Keeps what a signal's handler has raised, for the call that this thread is in. The first one counts."""
    kept.setdefault(threading.get_ident(), error)


def raise_kept(error: Optional[BaseException] = None, is_piecemeal: bool = False) -> None:
    """Raises the Ctrl-C that was kept for this thread, if one was, by a call that has stored nothing; or that
    has failed with this error, where something may have been stored: the error tells so, or the call is one
    that stores piece by piece."""
    interrupt = kept.pop(threading.get_ident(), None)
    if interrupt is None:
        return
    outcome: Optional[concurrent.futures.Future[Any]] = None
    if error is not None and (is_piecemeal or getattr(error, "commit_state", 0)):
        outcome = concurrent.futures.Future()
        outcome.set_exception(error)
    raise _with(interrupt, outcome)


def untold() -> None:
    """In place of what a call would answer that may have stored something, and has nothing to tell by."""


def raise_kept_after(stored: Callable[[], Any]) -> None:
    """The same by a call that has stored something all the same, and would answer this."""
    interrupt = kept.pop(threading.get_ident(), None)
    if interrupt is None:
        return
    if stored is untold:
        raise interrupt
    raise _with(interrupt, _ended(stored))


def tell_late(error: BaseException, statuses: list[int], stored: Optional[Callable[[], Any]]) -> None:
    """What a signal's handler has raised behind the library's last look whether one has, and before anything
    was made of how the call ended, tells what was stored, too."""
    if statuses == [0] and stored is not None and stored is not untold and not hasattr(error, "outcome"):
        _with(error, _ended(stored))


def _ended(stored: Callable[[], Any]) -> "concurrent.futures.Future[Any]":
    outcome: concurrent.futures.Future[Any] = concurrent.futures.Future()
    try:
        outcome.set_result(stored())
    except Exception as error:  # of the class that the answer was to be read as
        outcome.set_exception(error)
    return outcome


def _with(interrupt: BaseException, outcome: Any) -> BaseException:
    try:
        interrupt.outcome = outcome  # type: ignore[attr-defined]
    except AttributeError:  # of a class with __slots__
        _log.warning("%r has no place for what became of the call that it ended", interrupt)
    return interrupt


class Keeping:
    """Around what the library calls: keeps a Ctrl-C. One that was kept before is not raised inside."""

    def __enter__(self) -> None:
        self._outer = kept.pop(threading.get_ident(), None)

    def __exit__(self, kind: Any, error: Optional[BaseException], traceback: Any) -> bool:
        is_kept = is_interrupt(error)
        interrupt = error if is_kept else self._outer
        if interrupt is not None:
            kept[threading.get_ident()] = interrupt
        return is_kept


def tell(function: Optional[Callable[..., Any]], *arguments: Any) -> Any:
    """Calls a function of the program's, and answers what it answers. Whatever it raises must not end the
    delivery to others: it is logged, and None answered. Ctrl-C is raised."""
    try:
        return None if function is None else done(function(*arguments), "A function that is told")
    except BaseException as error:
        if is_interrupt(error):
            raise
        _log.exception("%r failed", function)
    return None


def tell_error(on_error: OnError, error: BaseException) -> None:
    """Tells a subscriber of an error; it is logged where none wants to hear. Ctrl-C is raised."""
    if is_interrupt(error):
        raise error
    if on_error is None:
        _log.error("a subscriber without on_error failed", exc_info=error)
    else:
        tell(on_error, error)
