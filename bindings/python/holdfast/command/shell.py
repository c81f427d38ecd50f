"""The command `shell`: a prompt for one store."""

import functools
import os
import shlex
import sys
from collections.abc import Iterable, Iterator
from copy import copy as shallow_copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import ShellComplete, split_arg_string

from .. import store as stores
from .commands import Commands
from .copying import copy
from .deleting import delete
from .failures import Failure, tell
from .indexes import index
from .maintenance import backup, compact, verify
from .parameters import store_argument
from .reading import aggregate, find, get
from .repositories import drop, rename
from .session import Session
from .state import info, stats
from .transfer import export, import_
from .upgrading import upgrade
from .watch import watch
from .writing import modify, patch, put

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

#: Those of the program that the shell has, too.
COMMANDS: "tuple[click.Command, ...]" = (
    info,
    stats,
    get,
    find,
    aggregate,
    put,
    patch,
    modify,
    delete,
    index,
    import_,
    export,
    copy,
    drop,
    rename,
    upgrade,
    backup,
    verify,
    compact,
    watch,
)


@click.command()
@store_argument
@click.option("--create", is_flag=True, help="Create the store where there is none.")
@click.pass_context
def shell(ctx: click.Context, store: str, create: bool) -> None:
    """Open a prompt for one store.

    It has the same commands, without STORE.

    Tab completes commands, repositories and fields, the arrow keys go back in the history. Ctrl-D or exit
    leaves. Commands can be piped in, too; then the first that fails ends it with its exit code.

    \b
    Examples:
        holdfast shell music.db
        echo 'find songs --limit 3' | holdfast shell music.db
    """
    session: Session = ctx.obj
    commands = Commands(name="", help=f"Commands on {store}:", commands=dict(_without_store(COMMANDS, store)))
    with stores.open(store, read_only=session.read_only, create=create) as opened:
        session.kept = opened
        try:
            if sys.stdin.isatty():
                for line in _typed(commands, session):
                    _run(commands, session, line)
            else:
                for line in sys.stdin:
                    code = _run(commands, session, line)
                    if code:
                        ctx.exit(code)
        finally:
            session.kept = None


def _without_store(commands: Iterable[click.Command], store: str) -> Iterator[tuple[str, click.Command]]:
    """The commands as they are in the shell, where the store is known."""
    for command in commands:
        own = shallow_copy(command)
        if isinstance(own, click.Group):
            own.commands = dict(_without_store(own.commands.values(), store))
        else:
            own.params = [parameter for parameter in command.params if parameter.name != "store"]
            own.callback = functools.partial(command.callback or (lambda: None), store=store)
        yield str(command.name), own


def _run(commands: click.Group, session: Session, line: str) -> int:
    """Runs a line and answers its exit code."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError as error:
        return tell(Failure(str(error), click.UsageError.exit_code), as_json=session.output.json)
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    if not words:
        return 0
    try:
        commands.main(words, prog_name="", obj=session)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    return 0


def _typed(commands: click.Group, session: Session) -> Iterator[str]:
    """The lines that a person types."""
    prompt = _prompt(commands, session)
    while True:
        try:
            line = prompt.prompt("holdfast> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if line.strip() in ("exit", "quit"):
            return
        yield line


def _prompt(commands: click.Group, session: Session) -> "PromptSession[str]":
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import FileHistory, History, InMemoryHistory

    class Words(Completer):
        """Completes as bash and zsh do."""

        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
            text = document.text_before_cursor
            words = split_arg_string(text)
            incomplete = words.pop() if words and not text[-1].isspace() else ""
            complete = ShellComplete(commands, {"obj": session}, "", "")
            for item in complete.get_completions(words, incomplete):
                if item.type == "plain":
                    yield Completion(item.value, start_position=-len(incomplete))
                else:
                    yield from PathCompleter().get_completions(Document(incomplete), complete_event)

    history: History = InMemoryHistory()
    path = history_path()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        history = FileHistory(path)
    except OSError:
        pass  # a home where nothing can be written
    options: dict[str, Any] = {"complete_while_typing": False}
    return PromptSession(history=history, completer=Words(), **options)


def history_path() -> Path:
    """Where what was typed is kept, by the XDG Base Directory Specification."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "holdfast" / "history"
