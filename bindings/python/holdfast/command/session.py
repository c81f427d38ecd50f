"""What one run of the command has in common, and how what goes wrong in it is told."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Optional

import click

from .. import errors, store
from .output import Output

NOT_FOUND, TAKEN, DAMAGED, INTERRUPTED = 3, 4, 5, 130
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


class Failure(click.ClickException):
    """What went wrong, told as one line."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(" ".join(message.split()))
        self.exit_code = exit_code

    def show(self, file: Any = None) -> None:
        """Tells it on the standard error output."""
        click.echo(f"holdfast: {self.message}", err=True)


class Commands(click.Group):
    """Commands whose failures become one line and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command that was named."""
        try:
            answer = super().invoke(ctx)
            # What a closed pipe does not take must fail here, where click ends quietly.
            sys.stdout.flush()
            return answer
        except errors.Error as error:
            raise Failure(str(error), EXIT_CODES.get(type(error), 1)) from error
        except BrokenPipeError:
            raise
        # The latter is what Python itself says of numbers and characters that JSON does not have.
        except (OSError, ValueError) as error:
            raise Failure(str(error)) from error
        except KeyboardInterrupt:
            raise click.exceptions.Exit(INTERRUPTED) from None


@dataclass
class Session:
    """The options that stand before the command, and in a shell its store."""

    output: Output
    read_only: bool = False
    kept: Optional[store.Store] = None

    @contextmanager
    def open(self, url: str, *, write: bool = False, create: bool = False) -> Iterator[store.Store]:
        """The store of this URL for the block, read-only unless `write`; in a shell that of the shell."""
        if self.kept is not None:
            yield self.kept
            return
        with store.open(url, read_only=self.read_only or not write, create=create) as opened:
            yield opened
