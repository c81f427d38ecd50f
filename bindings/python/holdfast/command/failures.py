"""What goes wrong: how it is told, and the code with which the program ends."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Optional

import click

from .. import errors
from .output import json_text
from .wording import in_own_words

FAILED, NOT_FOUND, TAKEN, DAMAGED, INTERRUPTED = 1, 3, 4, 5, 130
EXIT_CODES: dict[type[errors.Error], int] = {
    errors.NotFoundError: NOT_FOUND,
    errors.CannotOpenError: NOT_FOUND,
    errors.ConflictError: TAKEN,
    errors.BusyError: TAKEN,
    errors.TimeoutError: TAKEN,
    errors.ExistsError: TAKEN,
    errors.UniqueViolationError: TAKEN,
    errors.KeyReusedError: TAKEN,
    errors.CorruptError: DAMAGED,
}


#: Between the words of a class's name.
_WORDS = re.compile("(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Failure(click.ClickException):
    """What went wrong, told as one line. An empty message is for programs alone."""

    def __init__(
        self,
        message: str,
        exit_code: int = FAILED,
        *,
        error: str = "failed",
        detail: Optional[dict[str, Any]] = None,
    ) -> None:
        super().__init__(" ".join(message.split()))
        self.exit_code = exit_code
        self.error = error
        self.detail = detail or {}

    def but(self, stored: str) -> "Failure":
        """The same, with what was stored all the same."""
        message = (self.message or self.error).removesuffix(".")
        return Failure(f"{message}; {stored}", self.exit_code, error=self.error, detail=self.detail)

    @classmethod
    def of(cls, error: BaseException) -> "Failure":
        """What ended a command."""
        if isinstance(error, errors.Error):
            name = _WORDS.sub("_", type(error).__name__.replace("Error", "")).lower()
            code = EXIT_CODES.get(type(error), FAILED)
            return cls(in_own_words(str(error)), code, error=name, detail=error.detail)
        if isinstance(error, KeyboardInterrupt):
            return cls(_what_became(error), INTERRUPTED, error="interrupted")
        return cls(str(error), error="system" if isinstance(error, OSError) else "failed")


@contextmanager
def piecemeal(tell: Any) -> Iterator[None]:
    """Around work that is stored a piece at a time: a failure, or Ctrl-C, says how much of it stays."""
    try:
        yield
    except (errors.Error, OSError, KeyboardInterrupt) as error:
        if tell.done:
            raise Failure.of(error).but(f"the first {tell.done} entities were stored and stay") from error
        raise


def _what_became(interrupt: KeyboardInterrupt) -> str:
    """What was stored although Ctrl-C came; nothing where nothing was."""
    outcome = getattr(interrupt, "outcome", None)
    if outcome is None:
        return ""
    error = outcome.exception()
    if error is None:
        return "interrupted when it was done: it is stored"
    if getattr(error, "commit_state", errors.CommitState.NONE) == errors.CommitState.UNKNOWN:
        return "interrupted, and it may have been stored: look whether it was"
    return ""


def tell(error: click.ClickException, *, as_json: bool) -> int:
    """Tells what went wrong on the standard error output, and answers the exit code."""
    with suppress(BrokenPipeError):
        # What was answered before comes first.
        sys.stdout.flush()
        if as_json:
            failure = error if isinstance(error, Failure) else Failure(error.format_message(), error="usage")
            told = {
                "error": failure.error,
                "message": failure.message or failure.error,
                "exit_code": error.exit_code,
                "detail": failure.detail,
            }
            click.echo(json_text(told), err=True)
        elif not isinstance(error, Failure):
            error.show()
        elif error.message:
            click.echo(f"holdfast: {error.message}", err=True)
    return error.exit_code
