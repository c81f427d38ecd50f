"""The command `holdfast`, for stores at a prompt and in scripts: `pip install 'holdfast-store[command]'`.

The package itself uses the standard library only; this part of it wants click, rich and prompt_toolkit, and
`import holdfast` does not load it.
"""

import os
import signal
import sys
from importlib.util import find_spec
from typing import Any

NEEDED = ("click", "rich", "prompt_toolkit")


def _tell_unless_interrupted(unraisable: Any) -> None:
    """Tells what was raised where nobody could catch it, but for Ctrl-C: the library's call raises that."""
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


def main() -> None:
    """Runs the command with the program's arguments, and ends the program."""
    sys.unraisablehook = _tell_unless_interrupted
    try:
        missing = [name for name in NEEDED if find_spec(name) is None]
        if missing:
            cure = "pip install 'holdfast-store[command]'"
            sys.exit(f"holdfast: the command needs {', '.join(missing)}: {cure}")
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            # Whoever closed it wants nothing there; a file of the store must not take its number.
            if getattr(sys, name) is None:
                setattr(sys, name, open(os.devnull, mode))
        from .program import program

        program(prog_name="holdfast")
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        # How it ends is decided; another Ctrl-C would only print what was interrupted while it ends.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
